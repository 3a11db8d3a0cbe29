//! Who may start: bounded counts, checked before any model work.
//!
//! A place is a value; dropping it frees the place. Full is refused at once, not queued: a queue
//! would only add its wait to the listener's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use session::{Fault, Kind};

/// A count with a limit.
#[derive(Debug, Clone)]
pub struct Gate {
    taken: Arc<AtomicUsize>,
    limit: usize,
}

/// One taken place of a [`Gate`]; dropping it frees the place.
#[derive(Debug)]
pub struct Place {
    taken: Arc<AtomicUsize>,
}

impl Gate {
    /// A gate with `limit` places.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            taken: Arc::new(AtomicUsize::new(0)),
            limit,
        }
    }

    /// A place, if one is free.
    #[must_use]
    pub fn enter(&self) -> Option<Place> {
        let step = |taken| (taken < self.limit).then_some(taken + 1);
        self.taken
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, step)
            .ok()
            .map(|_| Place {
                taken: Arc::clone(&self.taken),
            })
    }

    /// How many places are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }

    /// How many places there are.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The places that one utterance holds.
#[derive(Debug)]
pub struct Admitted {
    _stream: Place,
    _key: Option<Place>,
}

/// All gates of a server.
#[derive(Debug)]
pub struct Admission {
    /// Utterances being spoken.
    pub streams: Gate,
    /// Open speech sockets.
    pub sockets: Gate,
    /// Utterances being spoken, for each key.
    keys: Option<Vec<Gate>>,
}

impl Admission {
    /// Gates with these limits; `per_key` with the number of keys.
    #[must_use]
    pub fn new(streams: usize, sockets: usize, per_key: Option<(usize, usize)>) -> Self {
        Self {
            streams: Gate::new(streams),
            sockets: Gate::new(sockets),
            keys: per_key.map(|(limit, keys)| (0..keys).map(|_| Gate::new(limit)).collect()),
        }
    }

    /// Lets an utterance of the caller with this key in.
    ///
    /// # Errors
    /// [`Kind::RateLimited`] when the key's own limit is reached, [`Kind::Unavailable`] when the
    /// server's is.
    pub fn stream(&self, key: Option<usize>) -> Result<Admitted, Fault> {
        let gate = key.and_then(|key| self.keys.as_ref()?.get(key));
        let own = match gate {
            Some(gate) => Some(gate.enter().ok_or_else(|| key_full(gate.limit()))?),
            None => None,
        };
        let stream = self
            .streams
            .enter()
            .ok_or_else(|| full(self.streams.limit(), "streams"))?;
        Ok(Admitted {
            _stream: stream,
            _key: own,
        })
    }

    /// Lets a speech socket in.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when there are as many as there may be.
    pub fn socket(&self) -> Result<Place, Fault> {
        self.sockets
            .enter()
            .ok_or_else(|| full(self.sockets.limit(), "sockets"))
    }
}

fn full(limit: usize, what: &str) -> Fault {
    Fault::new(
        Kind::Unavailable,
        "overloaded",
        format!("The server is full: {limit} {what} are open, which is its limit. Try again."),
    )
}

fn key_full(limit: usize) -> Fault {
    Fault::new(
        Kind::RateLimited,
        "rate_limit_exceeded",
        format!("This key has {limit} streams open, which is its limit. Try again."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_when_it_is_dropped() {
        let gate = Gate::new(2);
        let first = gate.enter().unwrap();
        let _second = gate.enter().unwrap();
        assert!(gate.enter().is_none());
        drop(first);
        assert!(gate.enter().is_some());
        assert_eq!(gate.taken(), 1);
    }

    #[test]
    fn a_key_has_its_own_limit_and_a_refusal_takes_no_place() {
        let admission = Admission::new(2, 1, Some((1, 2)));
        let _a = admission.stream(Some(0)).unwrap();
        let refused = admission.stream(Some(0)).unwrap_err();
        assert_eq!(refused.kind, Kind::RateLimited);
        let b = admission.stream(Some(1)).unwrap();
        drop(b);
        let _b = admission.stream(Some(1)).unwrap();
        assert_eq!(admission.stream(None).unwrap_err().kind, Kind::Unavailable);
        assert_eq!(admission.streams.taken(), 2);
    }
}
