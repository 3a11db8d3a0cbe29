//! One response: what of it has been said, and the events that say it.
//!
//! Events of a response keep one order: `response.created`, then for each item
//! `output_item.added`, `conversation.item.added`, its content and deltas, what ends them,
//! `output_item.done`, `conversation.item.done`, and last `response.done`.

use std::time::Duration;

use codecs::SampleRate;
use codecs::audio::Resampler;
use serde_json::{Value, json};

use super::command::{ReplyId, Role, ToolCall};
use super::config::Transport;
use super::event::{Usage, Word};
use super::format::{Encoder, Format, RATE};
use super::frames::Delta;
use super::input::count;
use super::item::{Body, Item, Part, Status};
use super::session::Session;
use super::settings::modalities;
use super::speech::Speech;
use super::tools::{Tools, max_tokens_value};
use crate::Fault;

/// Samples of one delta at most: 200 ms.
const DELTA: usize = 4_800;

/// How a response is to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    pub(super) in_conversation: bool,
    pub(super) audio: bool,
    pub(super) format: Format,
    pub(super) voice: Option<String>,
    pub(super) speed: f32,
    pub(super) instructions: String,
    pub(super) max_tokens: Option<u32>,
    pub(super) tools: Tools,
    pub(super) metadata: Value,
    /// What it answers, instead of the conversation.
    pub(super) input: Option<Vec<Item>>,
}

/// When things happened in a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Timing {
    pub(super) item: Option<String>,
    pub(super) speech_end: Option<Duration>,
    pub(super) committed: Option<Duration>,
    pub(super) transcript: Option<Duration>,
    pub(super) first_text: Option<Duration>,
    pub(super) first_audio: Option<Duration>,
    /// The reply was begun before the turn was over.
    pub(super) speculative: bool,
}

impl Timing {
    /// `promenade.turn.timing`: milliseconds since the user's last speech.
    pub(super) fn value(&self, response: &str, sent: Option<Duration>) -> Value {
        let from = self.speech_end.unwrap_or_default();
        let since = |at: Option<Duration>| {
            at.map(|at| (at.saturating_sub(from).as_secs_f64() * 10_000.0).round() / 10.0)
        };
        json!({
            "type": "promenade.turn.timing",
            "response_id": response,
            "item_id": self.item,
            "speculative": self.speculative,
            "stages": {
                "speech_end": since(self.speech_end),
                "committed": since(self.committed),
                "transcript": since(self.transcript),
                "first_text": since(self.first_text),
                "first_audio": since(self.first_audio),
                "sent": since(sent),
            },
        })
    }
}

/// How a response ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Completed,
    /// By the most tokens.
    Incomplete,
    /// With the reason on the wire.
    Cancelled(&'static str),
    Failed(Fault),
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Response {
    pub(super) id: String,
    pub(super) reply: ReplyId,
    /// The model was asked.
    pub(super) launched: bool,
    pub(super) options: Options,
    pub(super) items: Vec<Item>,
    /// The index of the message that is being said.
    message: Option<usize>,
    /// The calls that are being written: the model's name for them, and their index.
    calls: Vec<(String, usize)>,
    encoder: Encoder,
    resampler: Option<Resampler>,
    pub(super) timing: Timing,
}

impl Response {
    pub(super) fn new(id: String, reply: ReplyId, options: Options, timing: Timing) -> Self {
        Self {
            id,
            reply,
            launched: false,
            encoder: Encoder::new(options.format),
            options,
            items: Vec::new(),
            message: None,
            calls: Vec::new(),
            resampler: None,
            timing,
        }
    }

    pub(super) fn created(&self, session: &mut Session) {
        let value = self.value(session, "in_progress", &Value::Null, &Value::Null);
        session.say(json!({"type": "response.created", "response": value}));
    }

    pub(super) fn text(&mut self, session: &mut Session, text: &str, now: Duration) {
        if text.is_empty() {
            return;
        }
        self.timing.first_text.get_or_insert(now);
        let index = self.open_message(session);
        let kind = match self.part(index) {
            Some(Part::OutputAudio(speech)) => {
                speech.push_text(text);
                "response.output_audio_transcript.delta"
            }
            Some(Part::OutputText(said)) => {
                said.push_str(text);
                "response.output_text.delta"
            }
            _ => return,
        };
        let mut event = self.content_event(kind, index);
        event["delta"] = json!(text);
        session.say(event);
    }

    pub(super) fn words(&mut self, words: &[Word], rate: SampleRate) {
        let speech = self.message.and_then(|index| self.items[index].speech());
        if let Some(speech) = speech {
            speech.push_words(words, rate);
        }
    }

    pub(super) fn audio(
        &mut self,
        session: &mut Session,
        samples: &[f32],
        rate: SampleRate,
        now: Duration,
    ) {
        if !self.options.audio || samples.is_empty() {
            return;
        }
        self.timing.first_audio.get_or_insert(now);
        let index = self.open_message(session);
        let resampler = self
            .resampler
            .get_or_insert_with(|| Resampler::new(rate, RATE));
        let mut out = Vec::with_capacity(samples.len());
        resampler.push(samples, &mut out);
        if session.config.transport == Transport::WebSocket {
            // As if it were played as it arrives.
            session.echo.play(&out, now);
        }
        self.give(session, index, &out);
    }

    /// Hands samples at 24 kHz to the way out.
    fn give(&mut self, session: &mut Session, index: usize, samples: &[f32]) {
        let id = self.items[index].id.clone();
        for piece in samples.chunks(DELTA) {
            let length = count(piece.len());
            if let Some(speech) = self.items[index].speech() {
                speech.samples += length;
            }
            session.speaks(
                &self.id,
                self.reply,
                &id,
                length,
                self.options.in_conversation,
            );
            if session.config.transport == Transport::WebRtc {
                if session.playout.push(self.reply, &self.id, &id, piece) {
                    session.say(json!({
                        "type": "output_audio_buffer.started",
                        "response_id": self.id,
                    }));
                }
                continue;
            }
            let bytes = self.encoder.push(piece);
            self.delta(session, index, bytes, length);
        }
    }

    fn delta(&self, session: &mut Session, index: usize, bytes: Vec<u8>, samples: u64) {
        session.frames.audio(Delta {
            event: self.content_event("response.output_audio.delta", index),
            bytes,
            reply: self.reply,
            samples,
        });
    }

    pub(super) fn tool_call(
        &mut self,
        session: &mut Session,
        call_id: &str,
        name: &str,
        arguments: &str,
        last: bool,
    ) {
        let index = self.open_call(session, call_id, name);
        let Body::Call(call) = &mut self.items[index].body else {
            return;
        };
        call.arguments.push_str(arguments);
        let call_id_shown = call.id.clone();
        if !arguments.is_empty() {
            session.say(json!({
                "type": "response.function_call_arguments.delta",
                "response_id": self.id,
                "item_id": self.items[index].id,
                "output_index": index,
                "call_id": call_id_shown,
                "delta": arguments,
            }));
        }
        if last {
            self.calls.retain(|(_, open)| *open != index);
            self.close_call(session, index, Status::Completed);
        }
    }

    fn open_call(&mut self, session: &mut Session, call_id: &str, name: &str) -> usize {
        if let Some((_, index)) = self.calls.iter().find(|(id, _)| id == call_id) {
            return *index;
        }
        let id = match call_id {
            "" => session.ids.draw("call_"),
            given => given.to_owned(),
        };
        let body = Body::Call(ToolCall {
            id,
            name: name.to_owned(),
            arguments: String::new(),
        });
        let index = self.add_item(session, body);
        self.calls.push((call_id.to_owned(), index));
        index
    }

    fn close_call(&mut self, session: &mut Session, index: usize, status: Status) {
        let Body::Call(call) = &self.items[index].body else {
            return;
        };
        session.say(json!({
            "type": "response.function_call_arguments.done",
            "response_id": self.id,
            "item_id": self.items[index].id,
            "output_index": index,
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }));
        self.close_item(session, index, status);
    }

    /// The message that is being said; begins it if there is none.
    fn open_message(&mut self, session: &mut Session) -> usize {
        if let Some(index) = self.message {
            return index;
        }
        let body = Body::Message {
            role: Role::Assistant,
            parts: Vec::new(),
        };
        let index = self.add_item(session, body);
        let part = if self.options.audio {
            Part::OutputAudio(Speech::default())
        } else {
            Part::OutputText(String::new())
        };
        let mut event = self.content_event("response.content_part.added", index);
        event["part"] = part.part_value(false);
        session.say(event);
        if let Body::Message { parts, .. } = &mut self.items[index].body {
            parts.push(part);
        }
        self.message = Some(index);
        index
    }

    fn add_item(&mut self, session: &mut Session, body: Body) -> usize {
        let index = self.items.len();
        let item = Item {
            id: session.ids.draw("item_"),
            status: Status::InProgress,
            body,
        };
        session.say(json!({
            "type": "response.output_item.added",
            "response_id": self.id,
            "output_index": index,
            "item": item.value(),
        }));
        if self.options.in_conversation {
            let previous = session.history.last_id().map(str::to_owned);
            session.say_item("conversation.item.added", &item, previous.as_deref());
            session.history.push(item.clone());
        }
        self.items.push(item);
        index
    }

    fn close_message(&mut self, session: &mut Session, index: usize, status: Status) {
        let full = match self.part(index) {
            Some(Part::OutputAudio(speech)) => {
                if status == Status::Completed {
                    speech.finish();
                }
                let full = speech.text().to_owned();
                session.say(self.content_event("response.output_audio.done", index));
                let mut done = self.content_event("response.output_audio_transcript.done", index);
                done["transcript"] = json!(full);
                done
            }
            Some(Part::OutputText(said)) => {
                let full = said.clone();
                let mut done = self.content_event("response.output_text.done", index);
                done["text"] = json!(full);
                done
            }
            _ => return,
        };
        session.say(full);
        let part = self.part(index).map(|part| part.part_value(true));
        let mut done = self.content_event("response.content_part.done", index);
        done["part"] = json!(part);
        session.say(done);
        self.close_item(session, index, status);
    }

    fn close_item(&mut self, session: &mut Session, index: usize, status: Status) {
        let item = &mut self.items[index];
        item.status = status;
        session.say(json!({
            "type": "response.output_item.done",
            "response_id": self.id,
            "output_index": index,
            "item": item.value(),
        }));
        if self.options.in_conversation
            && let Some((kept, previous)) = session.history.replace(item.clone())
        {
            session.say_item("conversation.item.done", &kept, previous.as_deref());
        }
    }

    /// The tail of the audio, where all of it was given.
    fn flush_audio(&mut self, session: &mut Session) {
        let Some(index) = self.message else { return };
        if let Some(mut resampler) = self.resampler.take() {
            let mut out = Vec::new();
            resampler.finish(&mut out);
            self.give(session, index, &out);
        }
        if session.config.transport == Transport::WebSocket && self.options.audio {
            let tail = self.encoder.finish();
            if !tail.is_empty() {
                self.delta(session, index, tail, 0);
            }
        }
    }

    /// Says all that ends it.
    pub(super) fn end(mut self, session: &mut Session, outcome: &Outcome, usage: Option<Usage>) {
        let whole = matches!(outcome, Outcome::Completed | Outcome::Incomplete);
        if whole {
            self.flush_audio(session);
        } else {
            let dropped = session.frames.drop_audio(self.reply);
            session.unspeak(&self.id, dropped);
            if let Some(speech) = self.message.and_then(|index| self.items[index].speech()) {
                speech.samples = speech.samples.saturating_sub(dropped);
            }
        }
        session.playout.finish(&self.id);
        let status = match outcome {
            Outcome::Completed => Status::Completed,
            _ => Status::Incomplete,
        };
        if let Some(index) = self.message {
            self.close_message(session, index, status);
        }
        for (_, index) in std::mem::take(&mut self.calls) {
            self.close_call(session, index, status);
        }
        let usage = usage.map_or(Value::Null, usage_value);
        let value = self.value(session, outcome.status(), &outcome.details(), &usage);
        session.say(json!({"type": "response.done", "response": value}));
    }

    fn part(&mut self, index: usize) -> Option<&mut Part> {
        match &mut self.items[index].body {
            Body::Message { parts, .. } => parts.first_mut(),
            _ => None,
        }
    }

    fn content_event(&self, kind: &str, index: usize) -> Value {
        json!({
            "type": kind,
            "response_id": self.id,
            "item_id": self.items[index].id,
            "output_index": index,
            "content_index": 0,
        })
    }

    fn value(&self, session: &Session, status: &str, details: &Value, usage: &Value) -> Value {
        let options = &self.options;
        let conversation = options.in_conversation.then_some(&session.conversation_id);
        let output = json!({"format": options.format.value(), "voice": options.voice});
        json!({
            "id": self.id,
            "object": "realtime.response",
            "status": status,
            "status_details": details,
            "output": self.items.iter().map(Item::value).collect::<Vec<_>>(),
            "conversation_id": conversation,
            "output_modalities": modalities(options.audio),
            "audio": {"output": output},
            "max_output_tokens": max_tokens_value(options.max_tokens),
            "metadata": options.metadata,
            "usage": usage,
        })
    }
}

impl Outcome {
    fn status(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Cancelled(_) => "cancelled",
            Self::Failed(_) => "failed",
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Completed => Value::Null,
            Self::Incomplete => json!({"type": "incomplete", "reason": "max_output_tokens"}),
            Self::Cancelled(reason) => json!({"type": "cancelled", "reason": reason}),
            Self::Failed(fault) => json!({
                "type": "failed",
                "error": {
                    "type": fault.wire_type(),
                    "code": fault.code,
                    "message": fault.message,
                },
            }),
        }
    }
}

fn usage_value(usage: Usage) -> Value {
    json!({
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "input_token_details": {
            "text_tokens": usage.input_tokens,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": usage.cached_tokens,
            "cached_tokens_details": {
                "text_tokens": usage.cached_tokens,
                "audio_tokens": 0,
                "image_tokens": 0,
            },
        },
        "output_token_details": {"text_tokens": usage.output_tokens, "audio_tokens": 0},
    })
}
