//! The answers to one conversation while they are made: one engine request for each, read in turn.
//!
//! Polled by the connection, like the speech door's body: nothing is read ahead of the client, and
//! dropping it cancels all of them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use engine::{Engine, Finish, Output, Outputs, Time, Tokens};
use futures_core::Stream;
use session::Fault;
use tokio::time::Sleep;

use crate::admission::Admitted;
use crate::bridge;
use crate::drain::{Drain, Phase};
use crate::http::answer::{closing, cut_short, too_long};
use crate::metrics::Chat;

/// One answer's next bit.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// Some text.
    Text {
        /// Which answer.
        index: usize,
        text: Arc<str>,
    },
    /// It is complete.
    End { index: usize, finish: Finish },
}

/// What [`Choices`] are made of.
pub(super) struct Start {
    /// By index.
    pub(super) outputs: Vec<Outputs>,
    pub(super) engine: Engine,
    pub(super) stats: Chat,
    pub(super) admitted: Vec<Admitted>,
    pub(super) begun_at: Time,
    pub(super) drain: Drain,
    pub(super) limit: Duration,
}

/// See the [module](self).
pub(super) struct Choices {
    /// By index; none once it is complete.
    open: Vec<Option<Outputs>>,
    /// Where to look first, so that each has its turn.
    turn: usize,
    engine: Engine,
    stats: Chat,
    _admitted: Vec<Admitted>,
    begun_at: Time,
    has_begun: bool,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    limit: Pin<Box<Sleep>>,
    /// Read before anybody asked for it.
    first: Option<Piece>,
    tokens: Tokens,
}

impl Choices {
    pub(super) fn new(start: Start) -> Self {
        let drain = start.drain;
        Self {
            open: start.outputs.into_iter().map(Some).collect(),
            turn: 0,
            engine: start.engine,
            stats: start.stats,
            _admitted: start.admitted,
            begun_at: start.begun_at,
            has_begun: false,
            stopping: Box::pin(async move { drain.reached(Phase::Stopping).await }),
            limit: Box::pin(tokio::time::sleep(start.limit)),
            first: None,
            tokens: Tokens::default(),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    /// What was used: the prompt once, all answers together. True once all are complete.
    pub(super) fn tokens(&self) -> Tokens {
        self.tokens
    }

    /// Waits for the first piece, so that what goes wrong before it can have a status.
    pub(super) async fn begin(&mut self) -> Result<(), Fault> {
        self.first = self.next_piece().await?;
        Ok(())
    }

    /// Waits for the next piece; none when all are complete.
    pub(super) async fn next_piece(&mut self) -> Result<Option<Piece>, Fault> {
        std::future::poll_fn(|context| self.poll_piece(context)).await
    }

    pub(super) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Piece>, Fault>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Ok(Some(first)));
        }
        let polled = if self.stopping.as_mut().poll(context).is_ready() {
            Err(closing())
        } else if self.limit.as_mut().poll(context).is_ready() {
            Err(too_long())
        } else {
            ready!(self.poll_open(context))
        };
        if polled.is_err() {
            self.stats.failed();
            // The others are of no use without it.
            self.open.iter_mut().for_each(|open| *open = None);
        }
        Poll::Ready(polled)
    }

    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Piece>, Fault>> {
        let mut is_waiting = false;
        for step in 0..self.open.len() {
            let index = (self.turn + step) % self.open.len();
            match self.poll_one(index, context) {
                Poll::Pending => is_waiting = true,
                Poll::Ready(None) => {}
                Poll::Ready(Some(piece)) => {
                    self.turn = index + 1;
                    return Poll::Ready(piece.map(Some));
                }
            }
        }
        if is_waiting {
            return Poll::Pending;
        }
        Poll::Ready(Ok(None))
    }

    /// The next piece of one answer; none once it is complete.
    fn poll_one(
        &mut self,
        index: usize,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Piece, Fault>>> {
        let Some(outputs) = self.open.get_mut(index).and_then(Option::as_mut) else {
            return Poll::Ready(None);
        };
        loop {
            let piece = match ready!(Pin::new(&mut *outputs).poll_next(context)) {
                Some(Output::Text { text, .. }) => Ok(Piece::Text { index, text }),
                Some(Output::Done { finish, usage, .. }) => {
                    self.complete(index, finish, usage.tokens);
                    Ok(Piece::End { index, finish })
                }
                Some(Output::Failed(error)) => Err(bridge::fault(&error)),
                // Nothing else belongs to a text.
                Some(_) => continue,
                None => Err(cut_short()),
            };
            if !std::mem::replace(&mut self.has_begun, true) && piece.is_ok() {
                let now = self.engine.now();
                self.stats.first_token(bridge::between(self.begun_at, now));
            }
            return Poll::Ready(Some(piece));
        }
    }

    fn complete(&mut self, index: usize, finish: Finish, mut tokens: Tokens) {
        if let Some(open) = self.open.get_mut(index) {
            *open = None;
        }
        self.stats.ended(finish, tokens);
        // All answers are to the same prompt, which is told once.
        (tokens.prompt, tokens.cached) = match index {
            0 => (tokens.prompt, tokens.cached),
            _ => (0, 0),
        };
        self.tokens.add(tokens);
    }
}
