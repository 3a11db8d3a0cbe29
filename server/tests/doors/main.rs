//! The doors over real sockets on loopback, with the toy model behind them.

mod drain;
mod harness;
mod hostile;
mod http;
mod ws;
