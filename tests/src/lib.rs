//! What the end-to-end stories share: the real binary on a loopback port, an HTTP client that notes
//! when each piece arrived, and a reader of the server's metrics.
//!
//! Stories speak to the program as its users do: by its command line and its sockets. Nothing here
//! knows a type of the server.

mod client;
mod metrics;
mod process;

pub use client::{Answer, Body, Client};
pub use metrics::Metrics;
pub use process::{Promenade, binary};
