//! What waits to be sent, and how it looks on the wire.
//!
//! Audio waits as bytes and is rendered when the socket takes it, so that a cleared context's
//! audio is dropped before it leaves and `audio.done` counts exactly the bytes that did. What
//! bounds the queue: [`Frames::has_room`] decides whether more audio is asked for, and
//! [`Frames::overflows`] whether the client makes us answer more than it reads.

use std::collections::{BTreeMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::message::Encoding;
use super::session::UtteranceId;

/// Audio that may wait, in bytes: over 5 s of 24 kHz PCM. More would only make a clear dearer.
const AUDIO_BYTES: usize = 256 * 1024;
/// Frames that may wait before no more audio is asked for.
const ROOM: usize = 64;
/// Frames that may wait at all; past it the client sends and does not read.
const LIMIT: usize = 1024;

/// One message for the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What to send.
    pub body: Body,
    /// Set on the first frame that carries audio of an utterance.
    pub first_audio_of: Option<UtteranceId>,
}

/// What a [`Frame`] carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A text message: one JSON object.
    Text(String),
    /// A binary message: bytes of audio.
    Binary(Vec<u8>),
    /// Close the socket with this code and reason; the last frame.
    Close {
        /// The status code of RFC 6455, section 7.4.
        code: u16,
        /// Why, in a few words.
        reason: &'static str,
    },
}

/// Which context a queued frame belongs to, and where in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Empty for the unnamed context.
    pub(super) context: String,
    pub(super) utterance: u32,
}

impl Place {
    /// `value` with this place's fields.
    fn stamp(&self, mut value: Value) -> Value {
        value["utterance_index"] = json!(self.utterance);
        if !self.context.is_empty() {
            value["context_id"] = json!(self.context);
        }
        value
    }
}

#[derive(Debug)]
pub(super) enum Queued {
    /// Already a whole message.
    Message(Value),
    /// A message that a clear drops.
    Note {
        place: Place,
        value: Value,
    },
    Start {
        place: Place,
        sentence: u32,
        value: Value,
    },
    Audio {
        place: Place,
        sentence: u32,
        bytes: Vec<u8>,
        first: Option<UtteranceId>,
    },
    Done {
        place: Place,
        sentence: u32,
        error: bool,
    },
    Close {
        code: u16,
        reason: &'static str,
    },
}

impl Queued {
    fn place(&self) -> Option<&Place> {
        match self {
            Self::Note { place, .. }
            | Self::Start { place, .. }
            | Self::Audio { place, .. }
            | Self::Done { place, .. } => Some(place),
            Self::Message(_) | Self::Close { .. } => None,
        }
    }
}

/// The sentence of a context that the client has been told of and whose end it has not.
#[derive(Debug)]
struct Sent {
    place: Place,
    sentence: u32,
    bytes: u64,
}

/// The queue. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Frames {
    queue: VecDeque<Queued>,
    audio_bytes: usize,
    /// By context.
    on_wire: BTreeMap<String, Sent>,
    /// The binary half of an audio frame whose header has just left.
    next: Option<Frame>,
    encoding: Encoding,
    chunk_headers: bool,
}

impl Frames {
    pub(super) fn configure(&mut self, encoding: Encoding, chunk_headers: bool) {
        self.encoding = encoding;
        self.chunk_headers = chunk_headers;
    }

    pub(super) fn push(&mut self, queued: Queued) {
        if let Queued::Audio { bytes, .. } = &queued {
            self.audio_bytes += bytes.len();
        }
        self.queue.push_back(queued);
    }

    pub(super) fn has_room(&self) -> bool {
        self.audio_bytes < AUDIO_BYTES && self.queue.len() < ROOM
    }

    pub(super) fn overflows(&self) -> bool {
        self.queue.len() > LIMIT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.next.is_none()
    }

    /// Drops what waits for `context`. If the client was told of a sentence, it is told that
    /// the sentence is over.
    pub(super) fn clear(&mut self, context: &str) {
        self.queue
            .retain(|queued| queued.place().is_none_or(|place| place.context != context));
        self.audio_bytes = self.queue.iter().map(audio_len).sum();
        if let Some(sent) = self.on_wire.remove(context) {
            let mut done = done_message(&sent.place, sent.sentence, sent.bytes, false);
            done["cleared"] = json!(true);
            self.push(Queued::Message(done));
        }
    }

    /// Drops everything that waits.
    pub(super) fn drop_all(&mut self) {
        self.queue.clear();
        self.audio_bytes = 0;
        self.on_wire.clear();
    }

    /// The next frame.
    pub(super) fn poll(&mut self) -> Option<Frame> {
        if let Some(frame) = self.next.take() {
            return Some(frame);
        }
        Some(match self.queue.pop_front()? {
            Queued::Message(value) => text(&value),
            Queued::Note { place, value } => text(&place.stamp(value)),
            Queued::Start {
                place,
                sentence,
                value,
            } => self.start(place, sentence, value),
            Queued::Audio {
                place,
                sentence,
                bytes,
                first,
            } => self.audio(&place, sentence, bytes, first),
            Queued::Done {
                place,
                sentence,
                error,
            } => self.done(&place, sentence, error),
            Queued::Close { code, reason } => Frame {
                body: Body::Close { code, reason },
                first_audio_of: None,
            },
        })
    }

    fn start(&mut self, place: Place, sentence: u32, value: Value) -> Frame {
        let frame = text(&place.stamp(value));
        let sent = Sent {
            place: place.clone(),
            sentence,
            bytes: 0,
        };
        self.on_wire.insert(place.context, sent);
        frame
    }

    fn audio(
        &mut self,
        place: &Place,
        sentence: u32,
        bytes: Vec<u8>,
        first: Option<UtteranceId>,
    ) -> Frame {
        self.audio_bytes = self.audio_bytes.saturating_sub(bytes.len());
        if let Some(sent) = self.on_wire.get_mut(&place.context) {
            sent.bytes += bytes.len() as u64;
        }
        if self.encoding == Encoding::Base64 {
            let message = json!({
                "type": "audio.delta",
                "sentence_index": sentence,
                "audio": STANDARD.encode(&bytes),
            });
            return Frame {
                first_audio_of: first,
                ..text(&place.stamp(message))
            };
        }
        let header = json!({
            "type": "audio.chunk",
            "sentence_index": sentence,
            "bytes": bytes.len(),
        });
        let binary = Frame {
            body: Body::Binary(bytes),
            first_audio_of: first,
        };
        if place.context.is_empty() && !self.chunk_headers {
            return binary;
        }
        self.next = Some(binary);
        text(&place.stamp(header))
    }

    fn done(&mut self, place: &Place, sentence: u32, error: bool) -> Frame {
        let sent = self.on_wire.remove(&place.context);
        let bytes = sent.map_or(0, |sent| sent.bytes);
        text(&done_message(place, sentence, bytes, error))
    }
}

fn done_message(place: &Place, sentence: u32, bytes: u64, error: bool) -> Value {
    place.stamp(json!({
        "type": "audio.done",
        "sentence_index": sentence,
        "total_bytes": bytes,
        "error": error,
    }))
}

fn audio_len(queued: &Queued) -> usize {
    match queued {
        Queued::Audio { bytes, .. } => bytes.len(),
        _ => 0,
    }
}

fn text(value: &Value) -> Frame {
    Frame {
        body: Body::Text(value.to_string()),
        first_audio_of: None,
    }
}
