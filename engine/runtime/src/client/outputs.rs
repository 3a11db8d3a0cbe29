//! The way out: one reader, as a stream for tasks or by blocking.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;

use super::{Emitted, End, Shared, outlet::Taken};
use crate::RequestId;

/// What a requester reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A node emitted something.
    Emitted(Emitted),
    /// The request is over; nothing follows.
    End(End),
}

/// What a request emits, in order, ended by exactly one [`Event::End`]. Dropping it cancels the
/// request.
pub struct Outputs {
    shared: Arc<Shared>,
}

impl Outputs {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The request that it belongs to.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.shared.id
    }

    /// What has arrived and was not read yet.
    pub fn try_next(&mut self) -> Option<Event> {
        let taken = self.shared.outlet.take(|| self.shared.now(), None);
        self.event(taken)
    }

    /// The next event, waiting for it up to `timeout` on this thread; nothing after that, and
    /// nothing after the end.
    pub fn next_within(&mut self, timeout: Duration) -> Option<Event> {
        let taken = self
            .shared
            .outlet
            .take_within(|| self.shared.now(), timeout);
        self.event(taken)
    }

    fn event(&self, taken: Taken) -> Option<Event> {
        match taken {
            Taken::Item(item, waiting) => {
                self.shared.ring_all(waiting);
                Some(Event::Emitted(item))
            }
            Taken::End(end) => Some(Event::End(end)),
            Taken::Empty | Taken::Over => None,
        }
    }
}

impl Stream for Outputs {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let taken = self
            .shared
            .outlet
            .take(|| self.shared.now(), Some(context.waker()));
        match taken {
            Taken::Empty => Poll::Pending,
            taken => Poll::Ready(self.event(taken)),
        }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.shared.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        task::{Wake, Waker},
    };

    use graph::{Modality, stream::Time};
    use parking_lot::Mutex;

    use super::*;
    use crate::{
        Error, Feed, Payload, Usage, WorkerId,
        client::{Accepted, Bell, FeedError, Finish, Lane, Outlet},
    };

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Bell for Heard {
        fn ring(&self, worker: WorkerId, request: RequestId) {
            self.0
                .lock()
                .push(format!("worker {} for {request}", worker.index()));
        }

        fn cancel(&self, request: RequestId) {
            self.0.lock().push(format!("cancel {request}"));
        }

        fn now(&self) -> Time {
            Time::from_nanos(5)
        }
    }

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    const HOME: WorkerId = WorkerId(2);

    fn request() -> (Arc<Shared>, Arc<Heard>) {
        let heard = Arc::new(Heard::default());
        let lane = Lane::new(HOME, "text".into(), 2, 100);
        let shared = Shared::new(
            RequestId(9),
            [lane].into(),
            Outlet::new(2),
            Arc::clone(&heard) as _,
        );
        (Arc::new(shared), heard)
    }

    fn emit(shared: &Shared, text: &str) {
        let (port, payload) = ("out".into(), Payload::from(text));
        let emitted = Emitted {
            port,
            modality: Modality::Text,
            payload,
            at: Time::ZERO,
        };
        shared.outlet.emit(emitted, Duration::ZERO);
    }

    fn end(shared: &Shared, error: Option<Error>) {
        shared.outlet.end(End {
            finish: Finish::Stop,
            usage: Usage::default(),
            error,
            at: Time::ZERO,
        });
    }

    fn text(event: Option<Event>) -> String {
        match event {
            Some(Event::Emitted(emitted)) => emitted.payload.as_text().unwrap().to_string(),
            Some(Event::End(end)) => end.error.map_or("end".into(), |error| error.to_string()),
            None => "nothing".into(),
        }
    }

    #[test]
    fn a_waker_is_woken_by_what_it_waited_for() {
        let (shared, _) = request();
        let (mut outputs, counted) = (
            Outputs::new(Arc::clone(&shared)),
            Arc::new(Counted::default()),
        );
        let waker = Waker::from(Arc::clone(&counted));
        let mut context = Context::from_waker(&waker);
        assert!(Pin::new(&mut outputs).poll_next(&mut context).is_pending());
        emit(&shared, "a");
        emit(&shared, "b");
        assert_eq!(
            counted.0.load(Ordering::Relaxed),
            1,
            "it did not wait for the second"
        );
        for expected in ["a", "b"] {
            let Poll::Ready(event) = Pin::new(&mut outputs).poll_next(&mut context) else {
                panic!("{expected}")
            };
            assert_eq!(text(event), expected);
        }
        assert!(Pin::new(&mut outputs).poll_next(&mut context).is_pending());
        end(&shared, None);
        assert_eq!(counted.0.load(Ordering::Relaxed), 2);
        assert_eq!(
            [text(outputs.try_next()), text(outputs.try_next())],
            ["end", "nothing"]
        );
    }

    #[test]
    fn room_rings_the_worker_that_waits_for_it_once() {
        let (shared, heard) = request();
        let mut outputs = Outputs::new(Arc::clone(&shared));
        emit(&shared, "a");
        assert!(shared.outlet.has_room(HOME));
        emit(&shared, "b");
        assert!(!shared.outlet.has_room(HOME));
        assert_eq!(
            [text(outputs.try_next()), text(outputs.try_next())],
            ["a", "b"]
        );
        assert_eq!(*heard.0.lock(), ["worker 2 for 9"]);
        shared.answered(HOME);
        assert!(shared.outlet.has_room(HOME));
        end(&shared, None);
        drop(outputs);
        assert_eq!(heard.0.lock().len(), 1, "nothing is left to cancel");
    }

    #[test]
    fn a_cancel_is_told_once_and_drops_what_was_not_read() {
        let (shared, heard) = request();
        let mut outputs = Outputs::new(Arc::clone(&shared));
        let feed = Feed::new(Arc::clone(&shared));
        emit(&shared, "a");
        assert_eq!(shared.cancelled(), None);
        feed.cancel();
        feed.cancel();
        assert_eq!(shared.cancelled(), Some(Time::from_nanos(5)));
        end(&shared, Some(Error::Cancelled));
        emit(&shared, "late");
        assert_eq!(
            [text(outputs.try_next()), text(outputs.try_next())],
            ["cancelled", "nothing"]
        );
        drop(outputs);
        assert_eq!(*heard.0.lock(), ["cancel 9"]);
    }

    #[test]
    fn a_failure_comes_after_what_was_emitted_before_it() {
        let (shared, _) = request();
        let mut outputs = Outputs::new(Arc::clone(&shared));
        emit(&shared, "a");
        end(&shared, Some(Error::ShutDown));
        assert_eq!(
            [text(outputs.try_next()), text(outputs.try_next())],
            ["a", "the engine is shut down"]
        );
    }

    #[test]
    fn feeding_rings_once_until_it_is_answered() {
        let (shared, heard) = request();
        let feed = Feed::new(Arc::clone(&shared));
        let put = |text: &str| feed.put(0, &mut text.chars().map(Payload::Char));
        assert_eq!(
            [put("a"), put("bc"), put("d")],
            [Ok(Accepted(1)), Ok(Accepted(1)), Ok(Accepted(0))]
        );
        assert_eq!(heard.0.lock().len(), 1);
        shared.answered(HOME);
        feed.end();
        feed.end();
        assert_eq!(heard.0.lock().len(), 2);
        assert_eq!(put("e"), Err(FeedError::Ended));
        shared.close_lanes();
        assert_eq!(put("e"), Err(FeedError::Closed));
    }
}
