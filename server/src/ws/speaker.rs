//! One utterance as the engine speaks it: its feed, its outputs, and what is measured of it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use engine::{Feed, FeedError, Handle, Output, Outputs, Time};
use futures_core::Stream;
use session::{Fault, Kind};

use crate::admission::Admitted;
use crate::bridge;
use crate::metrics;

/// What a speaker has to tell.
pub(super) enum News {
    /// All text given so far has been taken.
    Fed,
    /// The engine's next output.
    Output(Output),
    /// It cannot go on.
    Failed(Fault),
}

/// Text that waits for room.
type Feeding = Pin<Box<dyn Future<Output = Result<(), FeedError>> + Send>>;

/// See the [module](self). Dropping it cancels the request.
pub(super) struct Speaker {
    feed: Feed,
    feeding: Option<Feeding>,
    outputs: Outputs,
    pub(super) rate: u32,
    /// Whether the session takes its outputs now.
    pub(super) wanted: bool,
    stats: metrics::Stream,
    _admitted: Admitted,
    begun_at: Time,
    /// When the engine handed over the first audio.
    first_at: Option<Time>,
    is_first_sent: bool,
    is_over: bool,
}

impl Speaker {
    pub(super) fn new(
        handle: Handle,
        admitted: Admitted,
        stats: metrics::Stream,
        rate: u32,
        now: Time,
    ) -> Self {
        Self {
            feed: handle.feed,
            feeding: None,
            outputs: handle.outputs,
            rate,
            wanted: false,
            stats,
            _admitted: admitted,
            begun_at: now,
            first_at: None,
            is_first_sent: false,
            is_over: false,
        }
    }

    /// Gives text; whether all of it was taken at once. If not, [`News::Fed`] follows.
    pub(super) fn feed(&mut self, text: &str) -> bool {
        let taken = match self.feed.text(text) {
            Ok(taken) => taken.0,
            Err(error) => {
                self.feeding = Some(Box::pin(async move { Err(error) }));
                return false;
            }
        };
        let Some((at, _)) = text.char_indices().nth(taken) else {
            return true;
        };
        let (feed, rest) = (self.feed.clone(), text[at..].to_owned());
        self.feeding = Some(Box::pin(async move { feed.send_text(&rest).await }));
        false
    }

    pub(super) fn flush(&self) {
        self.feed.flush();
    }

    pub(super) fn end(&self) {
        self.feed.end();
    }

    /// The next news; of its outputs only if they are wanted.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<News> {
        if let Some(feeding) = &mut self.feeding
            && let Poll::Ready(fed) = feeding.as_mut().poll(context)
        {
            self.feeding = None;
            match fed {
                Ok(()) => return Poll::Ready(News::Fed),
                Err(error @ FeedError::TooLong { .. }) => {
                    return Poll::Ready(News::Failed(Fault::new(
                        Kind::TooLarge,
                        "utterance_too_long",
                        format!("The utterance cannot be spoken: {error}."),
                    )));
                }
                // The request is over; its outputs tell why.
                Err(_) => {}
            }
        }
        if !self.wanted || self.is_over {
            return Poll::Pending;
        }
        match ready!(Pin::new(&mut self.outputs).poll_next(context)) {
            Some(output) => Poll::Ready(News::Output(output)),
            None => {
                self.is_over = true;
                let message = "The model stopped without an end.";
                Poll::Ready(News::Failed(Fault::new(
                    Kind::Internal,
                    "cut_short",
                    message,
                )))
            }
        }
    }

    /// Measures an output before it is told to the session.
    pub(super) fn note(&mut self, output: &Output) {
        match output {
            Output::Audio {
                samples, rate, at, ..
            } => {
                self.rate = *rate;
                self.first_at.get_or_insert(*at);
                let length = samples.len() as u64;
                self.stats
                    .audio(bridge::seconds_of(length, *rate).unwrap_or_default());
            }
            Output::Done { usage, .. } => {
                self.is_over = true;
                self.stats
                    .done(usage.input_chars, bridge::rtf(usage, self.rate));
            }
            Output::Failed(_) => {
                self.is_over = true;
                self.stats.failed();
            }
            _ => {}
        }
    }

    /// The frame with the first audio is on its way.
    pub(super) fn first_sent(&mut self, now: Time) {
        if let Some(at) = self.first_at.filter(|_| !self.is_first_sent) {
            self.stats.handed_over(bridge::between(at, now));
            self.stats.first_chunk(bridge::between(self.begun_at, now));
        }
        self.is_first_sent = true;
    }

    /// There is audio whose first frame is not on its way yet.
    pub(super) fn awaits_first(&self) -> bool {
        self.first_at.is_some() && !self.is_first_sent
    }

    /// Nothing more will come of it, and all of it has been measured.
    pub(super) fn is_spent(&self) -> bool {
        self.is_over && !self.awaits_first()
    }
}
