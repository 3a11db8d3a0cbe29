//! What turns the machines: the only threads and the only clocks of this crate.
//!
//! [`Driver`] runs them on real threads; [`Simulation`] runs the same conductor and the same
//! workers on one thread and a clock of its own. Neither decides anything.

mod config;
mod core;
mod simulation;
mod threads;

pub use config::{Admission, Config, Limits, Scheduling};
pub(crate) use core::mix;
pub use simulation::{Costs, Simulation};
pub use threads::Driver;
