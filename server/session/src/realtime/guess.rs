//! Work begun at a probable end of a turn, kept until the turn is over or goes on.

use std::time::Duration;

use codecs::SampleRate;

use super::command::{ReplyId, TranscriptionId};
use super::event::{Finish, ReplyEvent, Usage, Word};
use super::input::count;
use crate::Fault;

/// Audio of a reply that may be held back, in samples: over 2 s.
const MOST_SAMPLES: u64 = 96_000;
/// Pieces of a reply that may be held back.
const MOST_EVENTS: usize = 512;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Guess {
    pub(super) transcription: TranscriptionId,
    /// What was said, once it is known.
    pub(super) text: Option<String>,
    pub(super) known_at: Option<Duration>,
    reply: Option<ReplyId>,
    /// When its first text and its first audio came.
    pub(super) first_text: Option<Duration>,
    pub(super) first_audio: Option<Duration>,
    held: Vec<Held>,
    held_samples: u64,
    /// The history that the reply answers.
    version: u64,
}

impl Guess {
    pub(super) fn new(transcription: TranscriptionId) -> Self {
        Self {
            transcription,
            text: None,
            known_at: None,
            reply: None,
            first_text: None,
            first_audio: None,
            held: Vec::new(),
            held_samples: 0,
            version: 0,
        }
    }

    pub(super) fn reply(&self) -> Option<ReplyId> {
        self.reply
    }

    /// A reply was begun, with this history.
    pub(super) fn begun(&mut self, reply: ReplyId, version: u64) {
        self.reply = Some(reply);
        self.version = version;
    }

    /// Whether the reply answers this history.
    pub(super) fn fits(&self, version: u64) -> bool {
        self.version == version
    }

    /// The history has changed by what the reply knows already.
    pub(super) fn follow(&mut self, from: u64, to: u64) {
        if self.version == from {
            self.version = to;
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.held_samples < MOST_SAMPLES && self.held.len() < MOST_EVENTS
    }

    /// Keeps a piece. A reply that fails is forgotten: another is asked for if it is wanted.
    pub(super) fn hold(&mut self, event: ReplyEvent<'_>, now: Duration) {
        match &event {
            ReplyEvent::Failed(_) => {
                self.reply = None;
                self.held.clear();
                return;
            }
            ReplyEvent::Text(_) => {
                self.first_text.get_or_insert(now);
            }
            ReplyEvent::Audio { samples, .. } => {
                self.first_audio.get_or_insert(now);
                self.held_samples += count(samples.len());
            }
            _ => {}
        }
        self.held.push(Held::from(event));
    }

    pub(super) fn into_held(self) -> Vec<Held> {
        self.held
    }
}

/// A piece of a reply, kept.
#[derive(Debug)]
pub(super) enum Held {
    Text(String),
    Audio(Vec<f32>, SampleRate),
    Words(Vec<Word>, SampleRate),
    ToolCall {
        call_id: String,
        name: String,
        arguments: String,
        last: bool,
    },
    Done(Finish, Usage),
    Failed(Fault),
}

impl From<ReplyEvent<'_>> for Held {
    fn from(event: ReplyEvent<'_>) -> Self {
        match event {
            ReplyEvent::Text(text) => Self::Text(text.to_owned()),
            ReplyEvent::Audio { samples, rate } => Self::Audio(samples.to_vec(), rate),
            ReplyEvent::Words { words, rate } => Self::Words(words, rate),
            ReplyEvent::ToolCall {
                call_id,
                name,
                arguments,
                last,
            } => Self::ToolCall {
                call_id: call_id.to_owned(),
                name: name.to_owned(),
                arguments: arguments.to_owned(),
                last,
            },
            ReplyEvent::Done { finish, usage } => Self::Done(finish, usage),
            ReplyEvent::Failed(fault) => Self::Failed(fault),
        }
    }
}

impl Held {
    pub(super) fn borrow(&self) -> ReplyEvent<'_> {
        match self {
            Self::Text(text) => ReplyEvent::Text(text),
            Self::Audio(samples, rate) => ReplyEvent::Audio {
                samples,
                rate: *rate,
            },
            Self::Words(words, rate) => ReplyEvent::Words {
                words: words.clone(),
                rate: *rate,
            },
            Self::ToolCall {
                call_id,
                name,
                arguments,
                last,
            } => ReplyEvent::ToolCall {
                call_id,
                name,
                arguments,
                last: *last,
            },
            Self::Done(finish, usage) => ReplyEvent::Done {
                finish: *finish,
                usage: *usage,
            },
            Self::Failed(fault) => ReplyEvent::Failed(fault.clone()),
        }
    }
}
