//! The body of an answer: the engine's output queue, seen through an encoder.
//!
//! Polled by the connection. Nothing is done ahead of the client: when the connection's buffer is
//! full, the queue is not read, and its producer is not scheduled. Dropping the body (the client
//! is gone) drops the queue's end, which cancels the request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use codecs::SampleRate;
use codecs::audio::{Encoder, Format};
use engine::{Engine, Feed, Finish, Output, Outputs, Time, Usage};
use futures_core::Stream;
use serde_json::json;
use session::Fault;
use tokio::task::JoinHandle;
use tokio::time::Sleep;

use super::error_event;
use super::request::nothing_to_say;
use crate::admission::Admitted;
use crate::bridge;
use crate::drain::{Drain, Phase};
use crate::http::answer::{closing, cut_short, event, too_long};
use crate::metrics;

/// Samples encoded in one go, at most: 0.2 s at 24 kHz. The slowest encoder takes well under a
/// millisecond for them, which is how long it may keep other streams of this thread waiting.
const SLICE: usize = 4800;
/// One token of `usage` stands for this much audio, as in the public API's audio models.
const TOKEN_SECONDS: f64 = 0.05;
/// How late a listener starts who fills a buffer first; for counting stalls.
const PREBUFFER: Duration = Duration::from_millis(100);

/// How bytes are wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Not at all.
    Plain,
    /// As server-sent events.
    Events,
}

/// What a [`Speech`] is made of.
pub(super) struct Start {
    pub(super) outputs: Outputs,
    pub(super) feeding: Option<Feeding>,
    pub(super) format: Format,
    pub(super) framing: Framing,
    pub(super) engine: Engine,
    pub(super) stats: metrics::Stream,
    pub(super) admitted: Admitted,
    pub(super) begun_at: Time,
    pub(super) drain: Drain,
    pub(super) limit: Duration,
}

/// The task that feeds what did not fit at once; it ends with the body.
pub(super) struct Feeding(JoinHandle<()>);

impl Drop for Feeding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Feeds a text and ends it. What fits is fed now; a task waits for room for the rest.
pub(super) fn feed(feed: Feed, text: &str) -> Option<Feeding> {
    let taken = match feed.text(text) {
        Ok(taken) => taken.0,
        // The request is over already; its outputs tell why.
        Err(_) => return None,
    };
    let Some((at, _)) = text.char_indices().nth(taken) else {
        feed.end();
        return None;
    };
    let rest = text[at..].to_owned();
    Some(Feeding(tokio::spawn(async move {
        match feed.send_text(&rest).await {
            Ok(()) => feed.end(),
            Err(error) => {
                tracing::debug!(%error, "the text could not be fed to its end");
                feed.cancel();
            }
        }
    })))
}

/// Samples that are being encoded.
struct Chunk {
    samples: Arc<[f32]>,
    next: usize,
    at: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Audio comes.
    Running,
    /// Nothing follows.
    Over,
}

/// See the [module](self).
pub(super) struct Speech {
    outputs: Outputs,
    _feeding: Option<Feeding>,
    format: Format,
    framing: Framing,
    engine: Engine,
    stats: metrics::Stream,
    _admitted: Admitted,
    begun_at: Time,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    limit: Pin<Box<Sleep>>,
    state: State,
    encoder: Option<Encoder>,
    rate: u32,
    chunk: Option<Chunk>,
    /// Let other tasks of this thread run before more is encoded.
    pause: bool,
    has_sent: bool,
    usage: Option<Usage>,
    playout: Option<Playout>,
}

impl Speech {
    pub(super) fn new(start: Start) -> Self {
        let drain = start.drain;
        Self {
            outputs: start.outputs,
            _feeding: start.feeding,
            format: start.format,
            framing: start.framing,
            engine: start.engine,
            stats: start.stats,
            _admitted: start.admitted,
            begun_at: start.begun_at,
            stopping: Box::pin(async move { drain.reached(Phase::Stopping).await }),
            limit: Box::pin(tokio::time::sleep(start.limit)),
            state: State::Running,
            encoder: None,
            rate: 0,
            chunk: None,
            pause: false,
            has_sent: false,
            usage: None,
            playout: None,
        }
    }

    /// Waits for the first audio.
    pub(super) async fn begin(&mut self) -> Result<(), Fault> {
        let first = std::future::poll_fn(|context| self.poll_chunk(context)).await;
        match first {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.stats.failed();
                Err(nothing_to_say())
            }
            Err(fault) => {
                self.stats.failed();
                Err(fault)
            }
        }
    }

    /// Waits until there are samples to encode; `false` when there are no more.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<bool, Fault>> {
        loop {
            if self.chunk.is_some() {
                return Poll::Ready(Ok(true));
            }
            let output = ready!(Pin::new(&mut self.outputs).poll_next(context));
            match output {
                Some(Output::Audio {
                    samples,
                    start,
                    rate,
                    at,
                }) => {
                    self.take_audio(samples, start, rate, at)?;
                }
                Some(Output::Done {
                    finish: Finish::Length,
                    ..
                }) => return Poll::Ready(Err(bridge::cut_off())),
                Some(Output::Done { usage, .. }) => {
                    self.finish_stats(&usage);
                    return Poll::Ready(Ok(false));
                }
                Some(Output::Failed(error)) => return Poll::Ready(Err(bridge::fault(&error))),
                Some(_) => {}
                None => return Poll::Ready(Err(cut_short())),
            }
        }
    }

    fn take_audio(
        &mut self,
        samples: Arc<[f32]>,
        start: u64,
        rate: u32,
        at: Time,
    ) -> Result<(), Fault> {
        if self.encoder.is_none() {
            let source = SampleRate::new(rate).map_err(|error| bridge::internal(&error))?;
            let encoder = Encoder::new(self.format, source);
            self.encoder = Some(encoder.map_err(|error| bridge::internal(&error))?);
            self.rate = rate;
        }
        let playout = self.playout.get_or_insert(Playout {
            from: at,
            stalled: false,
        });
        if playout.is_late(start, rate, at) {
            self.stats.stalled();
        }
        let length = samples.len() as u64;
        self.stats
            .audio(bridge::seconds_of(length, rate).unwrap_or_default());
        self.chunk = Some(Chunk {
            samples,
            next: 0,
            at,
        });
        Ok(())
    }

    fn finish_stats(&mut self, usage: &Usage) {
        self.stats
            .done(usage.input_chars, bridge::rtf(usage, self.rate));
        self.usage = Some(*usage);
    }

    /// Encodes the next slice; empty when the codec wants more first.
    fn encode(&mut self) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        let (Some(chunk), Some(encoder)) = (&mut self.chunk, &mut self.encoder) else {
            return Ok(bytes);
        };
        let end = chunk.samples.len().min(chunk.next + SLICE);
        let slice = &chunk.samples[chunk.next..end];
        encoder
            .push(slice, &mut bytes)
            .map_err(|error| bridge::internal(&error))?;
        chunk.next = end;
        let at = chunk.at;
        if end == chunk.samples.len() {
            self.chunk = None;
        }
        self.pause = !matches!(self.format, Format::Pcm | Format::Wav);
        if !self.has_sent && !bytes.is_empty() {
            self.has_sent = true;
            let now = self.engine.now();
            self.stats.handed_over(bridge::between(at, now));
            self.stats.first_chunk(bridge::between(self.begun_at, now));
        }
        Ok(bytes)
    }

    /// What the codec still holds, and for events the last one.
    fn ending(&mut self) -> Result<Option<Bytes>, Fault> {
        self.state = State::Over;
        let mut bytes = Vec::new();
        if let Some(encoder) = self.encoder.take() {
            encoder
                .finish(&mut bytes)
                .map_err(|error| bridge::internal(&error))?;
        }
        match self.framing {
            Framing::Plain => Ok((!bytes.is_empty()).then(|| bytes.into())),
            Framing::Events => {
                let mut events = Vec::new();
                if !bytes.is_empty() {
                    events.extend_from_slice(&delta(&bytes));
                }
                events.extend_from_slice(&self.done_event());
                Ok(Some(events.into()))
            }
        }
    }

    fn done_event(&self) -> Bytes {
        let usage = self.usage.unwrap_or_default();
        let seconds = bridge::seconds_of(usage.output_samples, self.rate).unwrap_or_default();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an answer's length in seconds, far below 2^53 and not negative"
        )]
        let output_tokens = (seconds / TOKEN_SECONDS).ceil() as u64;
        event(&json!({
            "type": "speech.audio.done",
            "usage": {
                "input_tokens": usage.input_chars,
                "output_tokens": output_tokens,
                "total_tokens": usage.input_chars + output_tokens,
            },
            "audio_seconds": seconds,
            "rtf": bridge::rtf(&usage, self.rate),
        }))
    }

    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Fault>> {
        if self.stopping.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(closing()));
        }
        if self.limit.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(too_long()));
        }
        loop {
            if std::mem::take(&mut self.pause) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !ready!(self.poll_chunk(context))? {
                return Poll::Ready(self.ending());
            }
            let bytes = self.encode()?;
            if !bytes.is_empty() {
                return Poll::Ready(Ok(Some(match self.framing {
                    Framing::Plain => bytes.into(),
                    Framing::Events => delta(&bytes),
                })));
            }
        }
    }
}

impl Stream for Speech {
    type Item = Result<Bytes, Fault>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.state == State::Over {
            return Poll::Ready(None);
        }
        let fault = match ready!(this.poll_bytes(context)) {
            Ok(bytes) => return Poll::Ready(bytes.map(Ok)),
            Err(fault) => fault,
        };
        // Running => Over
        this.state = State::Over;
        this.stats.failed();
        tracing::warn!(
            code = fault.code,
            "an answer failed after it had begun: {fault}"
        );
        Poll::Ready(Some(match this.framing {
            Framing::Plain => Err(fault),
            Framing::Events => Ok(error_event(&fault)),
        }))
    }
}

/// A listener who hears the audio while it is made.
struct Playout {
    /// When the first chunk was there.
    from: Time,
    stalled: bool,
}

impl Playout {
    /// Whether the sample at `start` came after it should have been heard, for the first time.
    fn is_late(&mut self, start: u64, rate: u32, at: Time) -> bool {
        let heard = bridge::seconds_of(start, rate).unwrap_or_default() + PREBUFFER.as_secs_f64();
        let late = !self.stalled && bridge::between(self.from, at) > heard;
        self.stalled |= late;
        late
    }
}

fn delta(bytes: &[u8]) -> Bytes {
    event(&json!({"type": "speech.audio.delta", "audio": STANDARD.encode(bytes)}))
}
