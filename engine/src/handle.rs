//! A request from outside: what is asked for, what is fed in, what comes out.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use graph::Modality;
use parking_lot::Mutex;
pub use runtime::{
    Accepted, FeedError, Finish, Options, RequestId, Sound, Time, Timing, Tokens, Value, WordMark,
};
use runtime::{Emitted, End, Event, Payload};
use tensor::Tensor;

use crate::Error;

/// What is asked of the engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// The id of a model.
    pub model: String,
    /// What is asked of the model.
    pub options: Options,
}

/// A request that was let in: its two ends may go to different tasks.
pub struct Handle {
    /// Its name, for logs.
    pub id: RequestId,
    /// The way in.
    pub feed: Feed,
    /// The way out. Dropping it cancels the request.
    pub outputs: Outputs,
}

/// Feeds one request. Clones feed the same one; dropping them all neither ends nor cancels it.
#[derive(Clone)]
pub struct Feed {
    inner: runtime::Feed,
    text: Option<usize>,
    audio: Option<AudioInput>,
    /// Samples that are no whole frame yet; fewer than one.
    rest: Arc<Mutex<Vec<f32>>>,
}

/// An input that takes samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AudioInput {
    pub(crate) index: usize,
    /// Samples of an item, at least 1.
    pub(crate) frame: usize,
}

impl Feed {
    pub(crate) fn new(
        inner: runtime::Feed,
        text: Option<usize>,
        audio: Option<AudioInput>,
    ) -> Self {
        Self {
            inner,
            text,
            audio,
            rest: Arc::default(),
        }
    }

    /// Feeds as many characters as there is room for and says how many; never waits.
    ///
    /// # Errors
    /// Where nothing more can be fed in: after the end, or when the request is over.
    pub fn text(&self, text: &str) -> Result<Accepted, FeedError> {
        self.inner
            .put(self.text_input()?, &mut text.chars().map(Payload::Char))
    }

    /// Feeds all of a text, waiting for room as long as it takes. It needs no particular async
    /// runtime. What was taken when the future is dropped stays taken.
    ///
    /// # Errors
    /// Where nothing more can be fed in: after the end, or when the request is over.
    pub async fn send_text(&self, text: &str) -> Result<(), FeedError> {
        self.inner.send_text(self.text_input()?, text).await
    }

    /// Feeds as many mono samples as there is room for and says how many, at the rate that the
    /// model hears ([`ModelInfo::hears`](runtime::ModelInfo)); never waits. Whole frames go to the
    /// model; what is left of one waits here for its other samples, and goes with the end. Clones
    /// of a feed share it, so that audio may be cut anywhere.
    ///
    /// # Errors
    /// Where nothing more can be fed in: after the end, or when the request is over.
    pub fn audio(&self, samples: &[f32]) -> Result<Accepted, FeedError> {
        let AudioInput { index, frame } = self.audio.ok_or_else(|| FeedError::NoSuchInput {
            name: Modality::Audio.name().to_owned(),
        })?;
        let mut rest = self.rest.lock();
        let waiting = rest.len();
        let whole = (waiting + samples.len()) / frame;
        let mut frames = (0..whole).filter_map(|number| {
            // The first frame begins with what waits.
            let from = (number * frame).saturating_sub(waiting);
            let end = (number + 1) * frame - waiting;
            let begun = if number == 0 { rest.as_slice() } else { &[] };
            let frame_samples = [begun, samples.get(from..end)?].concat();
            Tensor::f32([frame], frame_samples).ok().map(Payload::from)
        });
        let taken = match whole {
            0 => 0,
            _ => self.inner.put(index, &mut frames)?.0,
        };
        let used = (taken * frame).saturating_sub(waiting);
        if taken > 0 {
            rest.clear();
        }
        if taken < whole {
            return Ok(Accepted(used));
        }
        rest.extend_from_slice(samples.get(used..).unwrap_or_default());
        Ok(Accepted(samples.len()))
    }

    /// Asks that what was fed in so far is worked on now, even where more text would make a
    /// better cut. Does nothing after the end.
    pub fn flush(&self) {
        self.inner.flush();
    }

    /// Says that nothing follows.
    pub fn end(&self) {
        self.inner.end();
    }

    /// Ends the request within one step of each worker. Its outputs end with an error of the kind
    /// cancelled. Does nothing once the request is over.
    pub fn cancel(&self) {
        self.inner.cancel();
    }

    fn text_input(&self) -> Result<usize, FeedError> {
        self.text.ok_or_else(|| FeedError::NoSuchInput {
            name: Modality::Text.name().to_owned(),
        })
    }
}

/// What comes out of a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Output {
    /// Sound.
    Audio {
        /// Mono samples from -1 to 1.
        samples: Arc<[f32]>,
        /// The first one's index in the request's whole audio.
        start: u64,
        /// Samples per second.
        rate: u32,
        /// When the model handed it over.
        at: Time,
    },
    /// Words that were or will be spoken, with their places in text and audio.
    Words {
        /// The words, in order.
        words: Arc<[WordMark]>,
        /// When the model handed them over.
        at: Time,
    },
    /// One number: a probability.
    Scalar {
        /// The number.
        value: f32,
        /// When the model handed it over.
        at: Time,
    },
    /// Text.
    Text {
        /// The text.
        text: Arc<str>,
        /// When the model handed it over.
        at: Time,
    },
    /// The request has come to its end; nothing follows.
    Done {
        /// Why.
        finish: Finish,
        /// What it used.
        usage: Usage,
        /// When.
        at: Time,
    },
    /// The request ended early; nothing follows.
    Failed(Error),
}

/// What a finished request has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Characters of text that the model took in.
    pub input_chars: u64,
    /// Samples of audio that it gave out.
    pub output_samples: u64,
    /// Tokens that a language model has read and written. All zero for other models.
    pub tokens: Tokens,
    /// Steps of nodes that the request was a member of.
    pub steps: u64,
    /// When the first of them started.
    pub first_step_at: Option<Time>,
    /// When the last of them ended.
    pub last_step_at: Option<Time>,
}

/// What a request gives out, in order. The last one is [`Output::Done`] or [`Output::Failed`].
/// Dropping it cancels the request, within one step of each worker.
///
/// Its queue is bounded: a request whose outputs are not read is not worked on any further.
pub struct Outputs {
    inner: runtime::Outputs,
    rate: u32,
    samples: u64,
}

impl Outputs {
    pub(crate) fn new(inner: runtime::Outputs, rate: u32) -> Self {
        Self {
            inner,
            rate,
            samples: 0,
        }
    }

    /// What has arrived and was not read yet.
    pub fn try_recv(&mut self) -> Option<Output> {
        loop {
            let event = self.inner.try_next()?;
            if let Some(output) = self.output(event) {
                return Some(output);
            }
        }
    }

    /// The next output, waiting for it up to `timeout` on this thread; none after that, and none
    /// after the last one.
    pub fn recv_blocking(&mut self, timeout: Duration) -> Option<Output> {
        loop {
            let event = self.inner.next_within(timeout)?;
            if let Some(output) = self.output(event) {
                return Some(output);
            }
        }
    }

    fn output(&mut self, event: Event) -> Option<Output> {
        match event {
            Event::Emitted(emitted) => self.emitted(emitted),
            Event::End(End {
                error: Some(error), ..
            }) => Some(Output::Failed(error.into())),
            Event::End(End {
                finish, usage, at, ..
            }) => Some(Output::Done {
                finish,
                usage: self.usage(&usage),
                at,
            }),
        }
    }

    /// What an emitted payload is to a client; none for what has no form outside, such as a mere
    /// signal.
    fn emitted(&mut self, emitted: Emitted) -> Option<Output> {
        let Emitted {
            modality,
            payload,
            at,
            ..
        } = emitted;
        if let Some(words) = payload.as_words() {
            return Some(Output::Words {
                words: Arc::clone(words),
                at,
            });
        }
        if let Some(text) = payload.as_text() {
            return Some(Output::Text {
                text: Arc::clone(text),
                at,
            });
        }
        if let Some(character) = payload.as_char() {
            return Some(Output::Text {
                text: character.to_string().into(),
                at,
            });
        }
        let samples = payload.as_tensor()?.as_f32().ok()?;
        if modality == Modality::Scalar {
            let value = samples.first().copied()?;
            return Some(Output::Scalar { value, at });
        }
        if modality != Modality::Audio {
            return None;
        }
        if samples.is_empty() {
            return None;
        }
        let start = self.samples;
        self.samples += samples.len() as u64;
        Some(Output::Audio {
            samples: samples.into(),
            start,
            rate: self.rate,
            at,
        })
    }

    fn usage(&self, usage: &runtime::Usage) -> Usage {
        Usage {
            input_chars: usage.input_items,
            output_samples: self.samples,
            tokens: usage.tokens,
            steps: usage.steps,
            first_step_at: usage.first_step_at,
            last_step_at: usage.last_step_at,
        }
    }
}

impl Stream for Outputs {
    type Item = Output;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Output>> {
        let this = self.get_mut();
        loop {
            match Pin::new(&mut this.inner).poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(event)) => {
                    if let Some(output) = this.output(event) {
                        return Poll::Ready(Some(output));
                    }
                }
            }
        }
    }
}
