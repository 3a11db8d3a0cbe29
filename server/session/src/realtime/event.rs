//! What models and the way out tell a session.

use std::ops::Range;

use codecs::SampleRate;

use super::command::{ReplyId, TranscriptionId, TurnId};
use crate::Fault;

/// One piece of news. News about what is over or was cancelled is normal, and ignored.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event<'a> {
    /// How probable speech is in the next 512 samples of [`Command::Listen`]: one event for each,
    /// in order.
    ///
    /// [`Command::Listen`]: super::Command::Listen
    Voice {
        /// 0 to 1.
        probability: f32,
    },
    /// Nothing listens any more: turns end only by the client's `input_audio_buffer.commit`.
    VoiceFailed(Fault),
    /// The answer to [`Command::JudgeTurn`](super::Command::JudgeTurn).
    Turn {
        /// What was asked.
        id: TurnId,
        /// How probable it is that the speaker has finished, 0 to 1.
        complete: f32,
    },
    /// The next piece of a transcript.
    Transcript {
        /// Of which transcription.
        id: TranscriptionId,
        /// Follows the pieces before it.
        text: &'a str,
        /// Whether it is the last one; it may be empty then.
        last: bool,
    },
    /// There will be no more of a transcript.
    TranscriptFailed {
        /// Of which transcription.
        id: TranscriptionId,
        /// Why.
        fault: Fault,
    },
    /// The next piece of a reply.
    Reply {
        /// Of which reply.
        id: ReplyId,
        /// What it is.
        event: ReplyEvent<'a>,
    },
    /// The way out has played this much of what [`Session::poll_packet`] has given, all in all,
    /// in samples at 24 kHz. Without such events a packet counts as played when it is taken.
    ///
    /// [`Session::poll_packet`]: super::Session::poll_packet
    Played {
        /// Samples since the session began.
        samples: u64,
    },
    /// What the caller may still ask for; told to the client with each response.
    RateLimits(Vec<RateLimit>),
    /// [`Command::Resume`](super::Command::Resume) led to no session.
    ResumeFailed(Fault),
}

/// One piece of a reply. After `Done` or `Failed` there is no more.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ReplyEvent<'a> {
    /// The next text.
    Text(&'a str),
    /// The next samples.
    Audio {
        /// Mono, -1 to 1, following those before without a hole.
        samples: &'a [f32],
        /// Their rate, the same in a whole reply.
        rate: SampleRate,
    },
    /// When some words are heard. May come before or after their audio.
    Words {
        /// The words, in order.
        words: Vec<Word>,
        /// The rate of their sample positions.
        rate: SampleRate,
    },
    /// A piece of a call of a function.
    ToolCall {
        /// The call's own name, such as `call_1`; the same for all its pieces. Where the model
        /// gives none, the empty string, and one is made.
        call_id: &'a str,
        /// Which function.
        name: &'a str,
        /// The next piece of the arguments' JSON.
        arguments: &'a str,
        /// Whether it is the last piece of this call.
        last: bool,
    },
    /// All has been given.
    Done {
        /// Why it ended.
        finish: Finish,
        /// What it used.
        usage: Usage,
    },
    /// There will be no more.
    Failed(Fault),
}

/// Why a reply that did not fail came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model had nothing more to say.
    Stop,
    /// It reached the most tokens that it may write.
    Length,
}

/// What a reply used, in tokens as the model counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the conversation that was read.
    pub input_tokens: u64,
    /// Those of them that were not computed again.
    pub cached_tokens: u64,
    /// Tokens of text that were written.
    pub output_tokens: u64,
}

/// A word, where it stands in the reply's text and when it is heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its characters, counted from the start of the reply's text.
    pub source: Range<u64>,
    /// Its samples, counted from the start of the reply's audio.
    pub samples: Range<u64>,
}

/// How much of one limit is left.
#[derive(Debug, Clone, PartialEq)]
pub struct RateLimit {
    /// `requests` or `tokens`.
    pub name: &'static str,
    /// The most within the limit's window.
    pub limit: u64,
    /// What is left of it.
    pub remaining: u64,
    /// Seconds until it is full again.
    pub reset_seconds: f64,
}
