//! What waits to be sent, and what was sent and can be sent again.
//!
//! An event gets its `event_id` and its `server_event_seq` when the socket takes it, so numbers
//! have no holes however much was dropped before. Audio waits as bytes and is written as base64
//! only then. What bounds the queue: [`Frames::has_room`] decides whether more of a reply is
//! asked for, and [`Frames::overflows`] whether a client makes us say more than it reads. What
//! was sent is kept up to a number of bytes, for [`Frames::rewind`].

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::command::ReplyId;
use super::ids::Ids;

/// Audio that may wait, in bytes: over 5 s of 24 kHz PCM. More would only make a barge-in dearer.
const AUDIO_BYTES: usize = 256 * 1024;
/// Frames that may wait before no more of a reply is asked for.
const ROOM: usize = 256;
/// Frames that may wait at all; past it the client sends and does not read.
const LIMIT: usize = 4096;

/// One message for the socket or the data channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What to send.
    pub body: Body,
    /// Set on the first frame that carries audio of a reply.
    pub first_audio_of: Option<ReplyId>,
}

/// What a [`Frame`] carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A text message: one event.
    Text(String),
    /// Close the connection with this code and reason; the last frame.
    Close {
        /// The status code of RFC 6455, section 7.4.
        code: u16,
        /// Why, in a few words.
        reason: &'static str,
    },
}

/// Audio of a reply, on its way out.
#[derive(Debug)]
pub(super) struct Delta {
    /// The event without its `delta`.
    pub(super) event: Value,
    pub(super) bytes: Vec<u8>,
    /// Of which reply.
    pub(super) reply: ReplyId,
    /// How many samples at 24 kHz of its item it completes.
    pub(super) samples: u64,
}

#[derive(Debug)]
enum Queued {
    Event(Value),
    Audio(Delta),
    Close { code: u16, reason: &'static str },
}

/// The queue. See the [module](self).
#[derive(Debug)]
pub(super) struct Frames {
    queue: VecDeque<Queued>,
    audio_bytes: usize,
    ids: Ids,
    /// Of the last event that was sent.
    seq: u64,
    /// The replies whose first audio has left, and when: the last few.
    first_audio: VecDeque<(ReplyId, Duration)>,
    sent: VecDeque<(u64, String)>,
    sent_bytes: usize,
    keep_bytes: usize,
    /// Sent events that are to be sent again, from this number on.
    again: Option<u64>,
    greeting: Option<Value>,
}

impl Frames {
    pub(super) fn new(ids: Ids, keep_bytes: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            audio_bytes: 0,
            ids,
            seq: 0,
            first_audio: VecDeque::new(),
            sent: VecDeque::new(),
            sent_bytes: 0,
            keep_bytes,
            again: None,
            greeting: None,
        }
    }

    pub(super) fn event(&mut self, event: Value) {
        self.queue.push_back(Queued::Event(event));
    }

    /// An event that overtakes all that waits, and has no number.
    pub(super) fn greet(&mut self, event: Value) {
        self.greeting = Some(event);
    }

    pub(super) fn audio(&mut self, delta: Delta) {
        self.audio_bytes += delta.bytes.len();
        self.queue.push_back(Queued::Audio(delta));
    }

    pub(super) fn close(&mut self, code: u16, reason: &'static str) {
        self.queue.push_back(Queued::Close { code, reason });
    }

    pub(super) fn has_room(&self) -> bool {
        self.audio_bytes < AUDIO_BYTES && self.queue.len() < ROOM
    }

    pub(super) fn overflows(&self) -> bool {
        self.queue.len() > LIMIT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.again.is_none() && self.greeting.is_none()
    }

    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.audio_bytes = 0;
    }

    /// Drops the audio of a reply that waits. Gives back how many samples it was.
    pub(super) fn drop_audio(&mut self, reply: ReplyId) -> u64 {
        let mut samples = 0;
        let mut bytes = 0;
        self.queue.retain(|queued| match queued {
            Queued::Audio(delta) if delta.reply == reply => {
                samples += delta.samples;
                bytes += delta.bytes.len();
                false
            }
            _ => true,
        });
        self.audio_bytes = self.audio_bytes.saturating_sub(bytes);
        samples
    }

    /// When the first audio of a reply left, if it has.
    pub(super) fn first_audio_at(&self, reply: ReplyId) -> Option<Duration> {
        let found = self.first_audio.iter().find(|(id, _)| *id == reply);
        found.map(|(_, at)| *at)
    }

    /// The number of the last event that was sent.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Has what was sent after `last` sent again. What it gives back, if it cannot: the first
    /// number that is still kept.
    pub(super) fn rewind(&mut self, last: u64) -> Result<(), u64> {
        let oldest = self.sent.front().map_or(self.seq + 1, |(seq, _)| *seq);
        if last > self.seq || last + 1 < oldest {
            return Err(oldest);
        }
        self.again = (last < self.seq).then_some(last + 1);
        Ok(())
    }

    /// The next frame.
    pub(super) fn poll(&mut self, now: Duration) -> Option<Frame> {
        if let Some(mut event) = self.greeting.take() {
            event["event_id"] = json!(self.ids.draw("event_"));
            return Some(Frame {
                body: Body::Text(event.to_string()),
                first_audio_of: None,
            });
        }
        if let Some(text) = self.next_again() {
            return Some(Frame {
                body: Body::Text(text),
                first_audio_of: None,
            });
        }
        let (event, first) = match self.queue.pop_front()? {
            Queued::Event(event) => (event, None),
            Queued::Audio(delta) => self.render(delta, now),
            Queued::Close { code, reason } => {
                return Some(Frame {
                    body: Body::Close { code, reason },
                    first_audio_of: None,
                });
            }
        };
        let text = self.stamp(event);
        Some(Frame {
            body: Body::Text(text),
            first_audio_of: first,
        })
    }

    fn next_again(&mut self) -> Option<String> {
        let from = self.again?;
        let found = self.sent.iter().find(|(seq, _)| *seq >= from);
        let (seq, text) = found.map(|(seq, text)| (*seq, text.clone()))?;
        self.again = (seq < self.seq).then_some(seq + 1);
        Some(text)
    }

    fn render(&mut self, delta: Delta, now: Duration) -> (Value, Option<ReplyId>) {
        self.audio_bytes = self.audio_bytes.saturating_sub(delta.bytes.len());
        let mut event = delta.event;
        event["delta"] = json!(STANDARD.encode(&delta.bytes));
        let first = self.first_audio_at(delta.reply).is_none();
        if first {
            self.note_first_audio(delta.reply, now);
        }
        (event, first.then_some(delta.reply))
    }

    /// The first audio of a reply leaves.
    pub(super) fn note_first_audio(&mut self, reply: ReplyId, now: Duration) {
        self.first_audio.push_back((reply, now));
        if self.first_audio.len() > 16 {
            self.first_audio.pop_front();
        }
    }

    fn stamp(&mut self, mut event: Value) -> String {
        self.seq += 1;
        event["event_id"] = json!(self.ids.draw("event_"));
        event["server_event_seq"] = json!(self.seq);
        let text = event.to_string();
        self.sent_bytes += text.len();
        self.sent.push_back((self.seq, text.clone()));
        while self.sent_bytes > self.keep_bytes
            && let Some((_, oldest)) = self.sent.pop_front()
        {
            self.sent_bytes -= oldest.len();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(frame: Option<Frame>) -> Option<Value> {
        match frame?.body {
            Body::Text(text) => serde_json::from_str(&text).ok(),
            Body::Close { .. } => None,
        }
    }

    #[test]
    fn what_was_sent_is_sent_again_the_same_and_then_goes_on() {
        let mut frames = Frames::new(Ids::new(1), 1 << 20);
        for n in 0..3 {
            frames.event(json!({"type": "x", "n": n}));
        }
        let sent: Vec<_> = std::iter::from_fn(|| text(frames.poll(Duration::ZERO))).collect();
        frames.event(json!({"type": "x", "n": 3}));
        assert_eq!(frames.rewind(1), Ok(()));
        let again: Vec<_> = std::iter::from_fn(|| text(frames.poll(Duration::ZERO))).collect();
        assert_eq!(again[..2], sent[1..]);
        assert_eq!(again[2]["n"], json!(3));
        assert_eq!(again[2]["server_event_seq"], json!(4));
        assert_eq!(frames.rewind(9), Err(1));
    }

    #[test]
    fn only_so_much_is_kept() {
        let mut frames = Frames::new(Ids::new(1), 400);
        for n in 0..100 {
            frames.event(json!({"type": "x", "n": n}));
            frames.poll(Duration::ZERO);
        }
        let oldest = frames.rewind(5).unwrap_err();
        assert!(oldest > 90, "{oldest}");
        assert_eq!(frames.rewind(oldest - 1), Ok(()));
    }
}
