//! The requester's side of a request: what it feeds in, what it takes out.
//!
//! A requester stands outside of every worker, on any thread or task. Between it and the workers
//! lie only queues with a bound and bells without contents:
//!
//! ```text
//!   Feed ──put──▶ Lane ──take──▶ worker ──emit──▶ Outlet ──next──▶ Outputs
//!     ▲ room woken  │ bell                          │ waker, condition │
//!     └─────────────┘                               └──────bell◀───────┘
//! ```
//!
//! What always holds:
//! - A lane that is full refuses what does not fit, and wakes whoever waits for room. An outlet
//!   that is full keeps its producer from being scheduled; taking from it rings the producer.
//! - A bell carries nothing but a request's id and is rung once until it is answered, so that the
//!   bells under way are bounded by the number of requests.
//! - Dropping [`Outputs`] cancels the request. Nothing is emitted to a requester after its end.
//! - No lock here is held while another is taken, or while a waker runs.

mod feed;
mod lane;
mod outlet;
mod outputs;
mod playout;
mod shared;

pub use feed::{Feed, FeedError};
pub use lane::Accepted;
pub(crate) use lane::Arrival;
pub(crate) use lane::Lane;
pub(crate) use outlet::Outlet;
pub use outlet::{Emitted, End, Finish, Usage};
pub use outputs::{Event, Outputs};
pub(crate) use shared::{Bell, Shared};
