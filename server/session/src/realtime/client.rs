//! Client events: read whole, then done. A fault changes nothing.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::command::{Command, Role};
use super::config::Transport;
use super::detection::ms;
use super::format::{Decoder, Format};
use super::hear::Purpose;
use super::history::not_found;
use super::input::{count, duration, samples};
use super::item::{Body, Given, Item, Part};
use super::respond::already_active;
use super::response::{Options, Timing};
use super::session::Session;
use super::settings::{NAME_CHARS, read_modalities, unsupported, voice};
use super::tools;
use crate::{Fault, Fields, Kind, near};

/// The longest audio of one event, in bytes of base64: 15 MiB.
const AUDIO_CHARS: usize = 15 * 1024 * 1024;
/// How far beyond an item's audio a truncation may lie: clients count what they were about to
/// play, which is up to a few packets more.
const TRUNCATE_SLACK_MS: u64 = 100;
/// Items that one response may be given.
const INPUT_ITEMS: usize = 256;

const TYPES: [&str; 14] = [
    "session.update",
    "input_audio_buffer.append",
    "input_audio_buffer.commit",
    "input_audio_buffer.clear",
    "conversation.item.create",
    "conversation.item.retrieve",
    "conversation.item.delete",
    "conversation.item.truncate",
    "response.create",
    "response.cancel",
    "output_audio_buffer.clear",
    "transcription_session.update",
    "session.resume",
    "playback.ack",
];

/// Audio at 16 kHz that came with an item, and its seconds.
type GivenAudio = (std::sync::Arc<[f32]>, f64);

impl Session {
    pub(super) fn on_client(&mut self, text: &str, now: Duration) {
        let mut event_id = None;
        let outcome = Fields::parse(text.as_bytes()).and_then(|mut fields| {
            event_id = fields.short_string("event_id", 512)?;
            fields.clears("event_id");
            self.on_event(fields, now)
        });
        if let Err(fault) = outcome {
            self.say_error(&fault, event_id.as_deref());
        }
    }

    fn on_event(&mut self, mut fields: Fields, now: Duration) -> Result<(), Fault> {
        let kind = fields.one_of("type", &TYPES)?;
        match kind.ok_or_else(|| fields.missing("type"))? {
            "session.update" => self.update(fields),
            "input_audio_buffer.append" => self.append(fields, now),
            "input_audio_buffer.commit" => {
                fields.finish(&["type", "event_id"])?;
                self.commit()
            }
            "input_audio_buffer.clear" => {
                fields.finish(&["type", "event_id"])?;
                self.clear_input();
                Ok(())
            }
            "conversation.item.create" => self.create_item(fields, now),
            "conversation.item.retrieve" => self.retrieve_item(fields),
            "conversation.item.delete" => self.delete_item(fields, now),
            "conversation.item.truncate" => self.truncate_item(fields),
            "response.create" => self.create_response(fields),
            "response.cancel" => self.cancel_response(fields, now),
            "output_audio_buffer.clear" => {
                fields.finish(&["type", "event_id"])?;
                self.clear_output(now)
            }
            "transcription_session.update" => Err(super::beta_disabled(
                "'transcription_session.update' is an event of the beta shape; in the current \
                 one it is 'session.update' with a session of type 'transcription'",
            )),
            "session.resume" => {
                let token = required(&mut fields, "resume_token")?;
                let last = fields.integer_within("last_event_seq", 0, u64::MAX)?;
                let last_seq = last.ok_or_else(|| fields.missing("last_event_seq"))?;
                fields.finish(&["type", "event_id", "resume_token", "last_event_seq"])?;
                self.commands.push_back(Command::Resume { token, last_seq });
                Ok(())
            }
            _ => {
                let item = required(&mut fields, "item_id")?;
                let played = fields.integer_within("played_ms", 0, u64::from(u32::MAX))?;
                let played = played.ok_or_else(|| fields.missing("played_ms"))?;
                fields.finish(&["type", "event_id", "item_id", "played_ms"])?;
                self.acknowledge(&item, samples(Duration::from_millis(played)), now);
                Ok(())
            }
        }
    }

    fn update(&mut self, mut fields: Fields) -> Result<(), Fault> {
        let session = fields.object("session")?;
        let session = session.ok_or_else(|| fields.missing("session"))?;
        fields.finish(&["type", "event_id", "session"])?;
        let next = self.settings.updated(session, &self.config, self.spoken)?;
        if next != self.settings
            && let Some(guess) = self.guess.take()
        {
            self.drop_guess(&guess);
        }
        if next.detection.is_none() {
            // What was said so far waits for the client's commit.
            self.input.stop_listening();
            self.take_turn();
        }
        self.settings = next;
        let event = json!({"type": "session.updated", "session": self.session_value()});
        self.say(event);
        Ok(())
    }

    fn append(&mut self, mut fields: Fields, now: Duration) -> Result<(), Fault> {
        let audio = fields.short_string("audio", AUDIO_CHARS)?;
        let audio = audio.ok_or_else(|| fields.missing("audio"))?;
        fields.finish(&["type", "event_id", "audio"])?;
        if self.config.transport == Transport::WebRtc {
            return Err(Fault::new(
                Kind::Invalid,
                "audio_comes_by_rtp",
                "On a WebRTC connection the microphone's audio comes by its track; \
                 'input_audio_buffer.append' is for WebSockets.",
            ));
        }
        let bytes = decode(&audio, "audio")?;
        let format = self.settings.input_format;
        if self.decoder.format() != format {
            self.decoder = Decoder::new(format);
        }
        let decoded = self.decoder.push(&bytes);
        let most = samples(self.config.limits.turn);
        let waiting = self.input.end() - self.input.start();
        if waiting + count(decoded.len()) > most {
            return Err(Fault::field(
                "audio",
                "input_audio_buffer_full",
                format!(
                    "The audio was not taken: {} ms wait to be committed, and at most {} ms may. \
                     Commit or clear the input audio buffer.",
                    ms(duration(waiting)),
                    ms(duration(most)),
                ),
            ));
        }
        self.on_audio(&decoded, now);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        let to = self.input.end();
        let waiting = to - self.input.start();
        if waiting < Self::least_commit() {
            return Err(Fault::new(
                Kind::Invalid,
                "input_audio_buffer_commit_empty",
                format!(
                    "Error committing input audio buffer: buffer too small. Expected at least \
                     100ms of audio, but buffer only has {}ms of audio.",
                    ms(duration(waiting))
                ),
            ));
        }
        self.room_for_items(1)?;
        let (item, from) = match self.take_turn() {
            Some((item, from)) => {
                self.say(json!({
                    "type": "input_audio_buffer.speech_stopped",
                    "audio_end_ms": ms(duration(to)),
                    "item_id": item,
                }));
                (item, from)
            }
            None => (self.ids.draw("item_"), self.input.start()),
        };
        self.commit_audio(&item, from, to, None);
        Ok(())
    }

    fn clear_input(&mut self) {
        self.take_turn();
        self.input.drop_before(self.input.end());
        self.say(json!({"type": "input_audio_buffer.cleared"}));
    }

    fn create_item(&mut self, mut fields: Fields, _now: Duration) -> Result<(), Fault> {
        let item = fields.object("item")?;
        let item = item.ok_or_else(|| fields.missing("item"))?;
        let previous = fields.short_string("previous_item_id", NAME_CHARS)?;
        fields.clears("previous_item_id");
        fields.finish(&["type", "event_id", "item", "previous_item_id"])?;
        let id = self.ids.draw("item_");
        let Given { mut item, audio } = Item::read(item, id)?;
        if self.find_item(&item.id).is_some() {
            return Err(Fault::field(
                "item.id",
                "item_already_exists",
                format!("There is an item {} already.", near::quoted(&item.id)),
            ));
        }
        self.room_for_items(1)?;
        self.room_for_chars(item.chars())?;
        let heard = self.given_audio(&mut item, audio)?;
        let (at, before) = self.history.place(previous.as_deref())?;
        self.say_item("conversation.item.added", &item, before.as_deref());
        self.say_item("conversation.item.done", &item, before.as_deref());
        let id = item.id.clone();
        self.history.insert(at, item);
        if let Some((audio, seconds)) = heard {
            self.transcribe_audio(audio, seconds, false, Purpose::Item(id));
        }
        Ok(())
    }

    /// Audio that a client gave inside of an item: it is transcribed like what was heard.
    fn given_audio(
        &self,
        item: &mut Item,
        audio: Vec<(usize, String)>,
    ) -> Result<Option<GivenAudio>, Fault> {
        let mut audio = audio.into_iter();
        let Some((index, data)) = audio.next() else {
            return Ok(None);
        };
        if audio.next().is_some() {
            return Err(unsupported(
                "item.content",
                "one part of type 'input_audio' is taken in an item; send one item for each",
            ));
        }
        let Body::Message { parts, .. } = &mut item.body else {
            return Ok(None);
        };
        let Some(Part::InputAudio {
            transcript,
            pending,
            shown,
        }) = parts.get_mut(index)
        else {
            return Ok(None);
        };
        if transcript.is_some() {
            return Ok(None);
        }
        let bytes = decode(&data, "item.content")?;
        let decoded = Decoder::new(self.settings.input_format).push(&bytes);
        let length = duration(count(decoded.len()));
        if length > self.config.limits.turn {
            return Err(Fault::field(
                "item.content",
                "audio_too_long",
                format!(
                    "The audio is {} ms long; at most {} ms are taken.",
                    ms(length),
                    ms(self.config.limits.turn)
                ),
            ));
        }
        *pending = true;
        *shown = self.settings.transcription.is_some();
        let mut input = super::input::Input::new();
        input.push(&decoded, Duration::ZERO);
        let audio = input.audio_16k(0, input.end());
        Ok(Some((audio, length.as_secs_f64())))
    }

    fn find_item(&self, id: &str) -> Option<&Item> {
        let mut running = self.responses.iter().flat_map(|r| r.items.iter());
        running
            .find(|item| item.id == id)
            .or_else(|| self.history.get(id))
    }

    fn retrieve_item(&mut self, mut fields: Fields) -> Result<(), Fault> {
        let id = required(&mut fields, "item_id")?;
        fields.finish(&["type", "event_id", "item_id"])?;
        let item = self
            .find_item(&id)
            .ok_or_else(|| not_found("item_id", &id))?;
        let event = json!({"type": "conversation.item.retrieved", "item": item.value()});
        self.say(event);
        Ok(())
    }

    fn delete_item(&mut self, mut fields: Fields, now: Duration) -> Result<(), Fault> {
        let id = required(&mut fields, "item_id")?;
        fields.finish(&["type", "event_id", "item_id"])?;
        if self.history.remove(&id).is_none() {
            return Err(not_found("item_id", &id));
        }
        self.forget_transcript_of(&id);
        self.say(json!({"type": "conversation.item.deleted", "item_id": id}));
        let awaited = |auto: &super::respond::Auto| auto.item.as_deref() == Some(&id);
        if self.auto.as_ref().is_some_and(awaited) {
            self.forget_auto();
        }
        self.answer(now);
        self.launch_ready();
        Ok(())
    }

    fn truncate_item(&mut self, mut fields: Fields) -> Result<(), Fault> {
        let id = required(&mut fields, "item_id")?;
        let index = fields.integer_within("content_index", 0, u64::from(u32::MAX))?;
        let index = index.ok_or_else(|| fields.missing("content_index"))?;
        let end = fields.integer_within("audio_end_ms", 0, u64::from(u32::MAX))?;
        let end = end.ok_or_else(|| fields.missing("audio_end_ms"))?;
        fields.finish(&[
            "type",
            "event_id",
            "item_id",
            "content_index",
            "audio_end_ms",
        ])?;
        let item = self
            .find_item(&id)
            .ok_or_else(|| not_found("item_id", &id))?;
        let mut item = item.clone();
        let Some(speech) = item.speech().filter(|_| index == 0) else {
            return Err(Fault::field(
                "item_id",
                "invalid_value",
                format!(
                    "The item {} has no audio of an assistant at content_index {index}; only \
                     that can be truncated.",
                    near::quoted(&id)
                ),
            ));
        };
        let length = ms(duration(speech.samples));
        if end > length + TRUNCATE_SLACK_MS {
            return Err(Fault::field(
                "audio_end_ms",
                "invalid_value",
                format!("Audio content of {length}ms is already shorter than {end}ms."),
            ));
        }
        let cut = samples(Duration::from_millis(end)).min(speech.samples);
        self.cut(&id, cut);
        self.say(json!({
            "type": "conversation.item.truncated",
            "item_id": id,
            "content_index": index,
            "audio_end_ms": end,
        }));
        Ok(())
    }

    fn create_response(&mut self, mut fields: Fields) -> Result<(), Fault> {
        if self.only_transcribes() {
            return Err(Fault::new(
                Kind::Invalid,
                "transcription_session",
                "A transcription session has no responses.",
            ));
        }
        let response = fields.object("response")?.unwrap_or_default();
        fields.clears("response");
        fields.finish(&["type", "event_id", "response"])?;
        let options = self.read_options(response)?;
        if options.in_conversation {
            if let Some(active) = self.active() {
                return Err(already_active(&active.id));
            }
            if self.auto.is_some() {
                return Err(already_active("the one to the turn that has just ended"));
            }
        }
        let most = self.config.limits.responses;
        if self.responses.len() >= most {
            return Err(Fault::new(
                Kind::RateLimited,
                "too_many_responses",
                format!("At most {most} responses run at a time in a session."),
            ));
        }
        self.begin(options, Timing::default());
        Ok(())
    }

    fn read_options(&mut self, mut fields: Fields) -> Result<Options, Fault> {
        const KNOWN: [&str; 12] = [
            "output_modalities",
            "instructions",
            "audio",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "reasoning",
            "max_output_tokens",
            "conversation",
            "metadata",
            "prompt",
            "input",
        ];
        let mut options = self.options();
        for (old, new) in [
            ("modalities", "output_modalities"),
            ("voice", "audio.output.voice"),
            ("output_audio_format", "audio.output.format"),
            ("max_response_output_tokens", "max_output_tokens"),
        ] {
            if fields.take(old).is_some() {
                return Err(super::beta_disabled(&format!(
                    "'response.{old}' is a field of the beta shape; in the current one it is \
                     'response.{new}'"
                )));
            }
        }
        if let Some(audio) = read_modalities(&mut fields)? {
            options.audio = audio;
        }
        if let Some(text) = fields.short_string("instructions", self.config.limits.chars)? {
            options.instructions = text;
        }
        if let Some(mut audio) = fields.object("audio")? {
            if let Some(mut output) = audio.object("output")? {
                if let Some(format) = Format::read(&mut output)? {
                    options.format = format;
                }
                if let Some(voice) = voice(&mut output, &self.config)? {
                    options.voice = voice;
                }
                output.finish(&["format", "voice"])?;
            }
            audio.finish(&["output"])?;
        }
        options.tools.read(&mut fields, self.config.limits.tools)?;
        if let Some(max) = tools::max_tokens(&mut fields)? {
            options.max_tokens = max.or(self.config.defaults.max_tokens);
        }
        match fields.take("conversation") {
            None => {}
            Some(Value::String(name)) if name == "auto" => {}
            Some(Value::String(name)) if name == "none" => options.in_conversation = false,
            Some(_) => {
                return Err(Fault::field(
                    "response.conversation",
                    "invalid_value",
                    "Invalid value for 'response.conversation': accepted are \"auto\" and \
                     \"none\".",
                ));
            }
        }
        options.metadata = tools::metadata(&mut fields)?;
        if fields.take("prompt").is_some() {
            return Err(unsupported("response.prompt", "no prompts are stored here"));
        }
        drop(fields.take("reasoning"));
        if let Some(list) = fields.list("input", INPUT_ITEMS)? {
            options.input = Some(self.read_input_items(list)?);
        }
        for name in KNOWN {
            fields.clears(name);
        }
        fields.finish(&KNOWN)?;
        Ok(options)
    }

    fn read_input_items(&mut self, list: Vec<Value>) -> Result<Vec<Item>, Fault> {
        let mut items = Vec::with_capacity(list.len());
        for (n, value) in list.into_iter().enumerate() {
            let at = format!("response.input[{n}]");
            if value.get("type").and_then(Value::as_str) == Some("item_reference") {
                let mut fields = Fields::nested(value, at)?;
                drop(fields.take("type"));
                let id = required(&mut fields, "id")?;
                fields.finish(&["type", "id"])?;
                let found = self.find_item(&id).cloned();
                items.push(found.ok_or_else(|| not_found("response.input", &id))?);
                continue;
            }
            let id = self.ids.draw("item_");
            let Given { item, audio } = Item::read(Fields::nested(value, at)?, id)?;
            let untold = audio.iter().any(|_| {
                matches!(&item.body, Body::Message { role: Role::User, parts }
                    if parts.iter().any(|p| matches!(p, Part::InputAudio { transcript: None, .. })))
            });
            if untold {
                return Err(unsupported(
                    "response.input",
                    "audio without a transcript is taken by conversation.item.create; refer to \
                     that item here",
                ));
            }
            items.push(item);
        }
        self.room_for_chars(items.iter().map(Item::chars).sum())?;
        Ok(items)
    }

    fn cancel_response(&mut self, mut fields: Fields, now: Duration) -> Result<(), Fault> {
        let id = fields.short_string("response_id", NAME_CHARS)?;
        fields.clears("response_id");
        fields.finish(&["type", "event_id", "response_id"])?;
        let at = self.responses.iter().position(|r| match &id {
            Some(id) => r.id == *id,
            None => r.options.in_conversation,
        });
        if let Some(at) = at {
            self.cancel(at, "client_cancelled", now);
            return Ok(());
        }
        if id.is_none()
            && let Some(auto) = self.forget_auto()
        {
            // It had no name yet; now the client hears of it, and that it is over.
            self.begin(self.options(), auto.timing);
            if let Some(at) = self
                .responses
                .iter()
                .position(|r| r.options.in_conversation)
            {
                self.cancel(at, "client_cancelled", now);
            }
            return Ok(());
        }
        Err(Fault::new(
            Kind::Invalid,
            "response_cancel_not_active",
            match id {
                None => "Cancellation failed: no active response found.".to_owned(),
                Some(id) => format!(
                    "Cancellation failed: there is no active response {}.",
                    near::quoted(&id)
                ),
            },
        ))
    }

    fn clear_output(&mut self, now: Duration) -> Result<(), Fault> {
        if self.config.transport == Transport::WebSocket {
            return Err(Fault::new(
                Kind::Invalid,
                "no_output_audio_buffer",
                "'output_audio_buffer.clear' is for WebRTC connections; on a WebSocket the \
                 client holds the audio: stop playing it, and send conversation.item.truncate.",
            ));
        }
        self.clear_playout();
        self.wait_for_user(now);
        Ok(())
    }

    fn room_for_items(&self, more: usize) -> Result<(), Fault> {
        let most = self.config.limits.items;
        if self.history.len() + more <= most {
            return Ok(());
        }
        Err(Fault::new(
            Kind::TooLarge,
            "conversation_full",
            format!("A conversation holds at most {most} items; delete some."),
        ))
    }

    fn room_for_chars(&self, more: usize) -> Result<(), Fault> {
        let (there, most) = (self.history.chars(), self.config.limits.chars);
        if there + more <= most {
            return Ok(());
        }
        Err(Fault::new(
            Kind::TooLarge,
            "conversation_full",
            format!(
                "A conversation holds at most {most} bytes of text: it has {there}, and {more} \
                 more were sent. Delete items."
            ),
        ))
    }
}

fn required(fields: &mut Fields, name: &'static str) -> Result<String, Fault> {
    let value = fields.short_string(name, NAME_CHARS)?;
    value.ok_or_else(|| fields.missing(name))
}

fn decode(data: &str, at: &'static str) -> Result<Vec<u8>, Fault> {
    STANDARD.decode(data).map_err(|error| {
        Fault::field(
            at,
            "invalid_base64",
            format!("Invalid '{at}': not base64: {error}."),
        )
    })
}
