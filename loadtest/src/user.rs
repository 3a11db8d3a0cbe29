//! One request of one user: a text, a door, and until when.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::door::{Door, End};
use crate::trace::{Failure, Outcome, Recorder, Trace};

/// What a user wants to hear, and how long they stay.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The text.
    pub text: Arc<str>,
    /// When the request is due. Latencies count from here.
    pub due: Duration,
    /// False in the warm-up.
    pub measured: bool,
    /// The user hangs up this long after `due`, if ever.
    pub patience: Option<Duration>,
    /// The request has failed this long after it was begun.
    pub timeout: Duration,
}

/// Asks for the wish at once and stays until it ends one way or another.
pub async fn ask(door: &Door, clock: &Clock, wish: Wish) -> Trace {
    let begun = clock.now();
    let chars = wish.text.chars().count();
    let mut seen = Recorder::new(door.ask.framing(), wish.due, begun, chars);
    let leaves = wish.patience.map(|patience| wish.due + patience);
    let outcome = tokio::select! {
        end = door.speak(clock, &wish.text, &mut seen) => match end {
            Ok(()) => Outcome::Complete,
            Err(End::Refused(status)) => Outcome::Refused(status),
            Err(End::Failed(failure)) => Outcome::Failed(failure),
        },
        () = clock.sleep_until(leaves.unwrap_or_default()), if leaves.is_some() => {
            Outcome::Cancelled
        }
        () = clock.sleep_until(begun + wish.timeout) => Outcome::Failed(Failure::Timeout),
    };
    let mut trace = seen.finish(clock.now(), outcome);
    trace.measured = wish.measured;
    trace
}
