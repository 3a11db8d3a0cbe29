//! What was heard becomes items, and items get their transcripts.

use std::time::Duration;

use serde_json::json;

use super::command::{Command, Role, TranscriptionId};
use super::guess::Guess;
use super::input::{duration, samples};
use super::item::{Item, Part, message};
use super::respond::request;
use super::response::{Outcome, Response};
use super::session::Session;
use crate::{Fault, text};

/// What a transcription is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// An item of the conversation.
    Item(String),
    /// A turn that is probably over.
    Guess,
    /// To show what is being said.
    Interim,
}

/// A transcript that is being written.
#[derive(Debug)]
pub(super) struct Writing {
    id: TranscriptionId,
    purpose: Purpose,
    text: String,
    /// Seconds of audio, for usage.
    seconds: f64,
}

impl Writing {
    pub(super) fn id(&self) -> TranscriptionId {
        self.id
    }
}

impl Session {
    /// Has audio transcribed.
    pub(super) fn transcribe(
        &mut self,
        from: u64,
        to: u64,
        interim: bool,
        purpose: Purpose,
    ) -> TranscriptionId {
        let audio = self.input.audio_16k(from, to);
        let seconds = duration(to.saturating_sub(from)).as_secs_f64();
        self.transcribe_audio(audio, seconds, interim, purpose)
    }

    pub(super) fn transcribe_audio(
        &mut self,
        audio: std::sync::Arc<[f32]>,
        seconds: f64,
        interim: bool,
        purpose: Purpose,
    ) -> TranscriptionId {
        self.next_id += 1;
        let id = TranscriptionId(self.next_id);
        let language = self
            .settings
            .transcription
            .as_ref()
            .and_then(|t| t.language.clone());
        self.commands.push_back(Command::Transcribe {
            id,
            audio,
            interim,
            language,
        });
        self.writings.push(Writing {
            id,
            purpose,
            text: String::new(),
            seconds,
        });
        id
    }

    pub(super) fn forget_transcription(&mut self, id: TranscriptionId) {
        let before = self.writings.len();
        self.writings.retain(|writing| writing.id != id);
        if self.writings.len() < before {
            self.commands.push_back(Command::CancelTranscription { id });
        }
    }

    /// The turn was not over, or its answer is not wanted.
    pub(super) fn drop_guess(&mut self, guess: &Guess) {
        let for_guess = |w: &Writing| w.id == guess.transcription && w.purpose == Purpose::Guess;
        if self.writings.iter().any(for_guess) {
            self.forget_transcription(guess.transcription);
        }
        if let Some(id) = guess.reply() {
            self.commands.push_back(Command::CancelReply { id });
        }
    }

    /// Makes an item of audio and has it transcribed. Gives the guess back, which knows it now.
    pub(super) fn commit_audio(
        &mut self,
        id: &str,
        from: u64,
        to: u64,
        mut guess: Option<Guess>,
    ) -> Option<Guess> {
        let version = self.history.version();
        self.add_user_item(id, None, true);
        if let Some(guess) = &mut guess {
            guess.follow(version, self.history.version());
            let id = id.to_owned();
            let writing = self.writings.iter_mut();
            let known = writing
                .into_iter()
                .find(|writing| writing.id == guess.transcription);
            if let Some(writing) = known {
                writing.purpose = Purpose::Item(id.clone());
                let so_far = writing.text.clone();
                self.say_transcript_delta(&id, &so_far);
            } else if let Some(text) = guess.text.clone() {
                let seconds = duration(to - from).as_secs_f64();
                self.say_transcript_delta(&id, &text);
                let version = self.history.version();
                self.set_transcript(&id, &text, seconds);
                guess.follow(version, self.history.version());
            }
        } else {
            self.transcribe(from, to, false, Purpose::Item(id.to_owned()));
        }
        self.input.drop_before(to);
        guess
    }

    /// An item in which nobody says anything.
    pub(super) fn commit_silence(&mut self, id: &str) {
        self.add_user_item(id, Some(String::new()), false);
        self.input.drop_before(self.input.end());
    }

    fn add_user_item(&mut self, id: &str, transcript: Option<String>, pending: bool) {
        let previous = self.history.last_id().map(str::to_owned);
        self.say(json!({
            "type": "input_audio_buffer.committed",
            "previous_item_id": previous,
            "item_id": id,
        }));
        let part = Part::InputAudio {
            transcript,
            pending,
            shown: self.settings.transcription.is_some(),
        };
        let item = Item::message(id.to_owned(), Role::User, part);
        self.say_item("conversation.item.added", &item, previous.as_deref());
        self.say_item("conversation.item.done", &item, previous.as_deref());
        self.history.push(item);
    }

    /// The next piece of a transcript.
    pub(super) fn on_transcript(
        &mut self,
        id: TranscriptionId,
        piece: &str,
        last: bool,
        now: Duration,
    ) {
        let Some(at) = self.writings.iter().position(|w| w.id == id) else {
            return;
        };
        let writing = &mut self.writings[at];
        let piece = if writing.text.is_empty() {
            piece.trim_start()
        } else {
            piece
        };
        writing.text.push_str(piece);
        if let Purpose::Item(item) = writing.purpose.clone() {
            self.say_transcript_delta(&item, piece);
        }
        if !last {
            return;
        }
        let writing = self.writings.remove(at);
        let said = writing.text.trim();
        match writing.purpose {
            Purpose::Interim => self.on_interim(id, said),
            Purpose::Guess => self.on_guessed(id, said, now),
            Purpose::Item(item) => {
                let version = self.history.version();
                self.set_transcript(&item, said, writing.seconds);
                let to = self.history.version();
                if let Some(guess) = self.auto.as_mut().and_then(|auto| auto.guess.as_mut()) {
                    guess.follow(version, to);
                }
                self.on_item_known(&item, now);
            }
        }
    }

    pub(super) fn on_transcript_failed(
        &mut self,
        id: TranscriptionId,
        fault: &Fault,
        now: Duration,
    ) {
        let Some(at) = self.writings.iter().position(|w| w.id == id) else {
            return;
        };
        let writing = self.writings.remove(at);
        match writing.purpose {
            Purpose::Interim => self.on_interim(id, ""),
            // The turn's end asks again.
            Purpose::Guess => self.guess = None,
            Purpose::Item(item) => {
                let part = self.history.get_mut(&item).and_then(Item::input_audio);
                let mut known = false;
                if let Some(Part::InputAudio { pending, shown, .. }) = part {
                    *pending = false;
                    known = *shown;
                }
                if known {
                    self.say(json!({
                        "type": "conversation.item.input_audio_transcription.failed",
                        "item_id": item,
                        "content_index": 0,
                        "error": {
                            "type": fault.wire_type(),
                            "code": fault.code,
                            "message": fault.message,
                            "param": null,
                        },
                    }));
                } else {
                    self.say_error(fault, None);
                }
                self.on_unheard(&item, fault, now);
            }
        }
    }

    fn set_transcript(&mut self, id: &str, said: &str, seconds: f64) {
        let part = self.history.get_mut(id).and_then(Item::input_audio);
        let Some(Part::InputAudio {
            transcript,
            pending,
            shown,
        }) = part
        else {
            return;
        };
        *transcript = Some(said.to_owned());
        *pending = false;
        if *shown {
            self.say(json!({
                "type": "conversation.item.input_audio_transcription.completed",
                "item_id": id,
                "content_index": 0,
                "transcript": said,
                "usage": {"type": "duration", "seconds": (seconds * 1000.0).round() / 1000.0},
            }));
        }
    }

    fn say_transcript_delta(&mut self, item: &str, delta: &str) {
        let shown = self.history.get(item).is_some_and(Item::shows_transcript);
        if shown && !delta.is_empty() {
            self.say(json!({
                "type": "conversation.item.input_audio_transcription.delta",
                "item_id": item,
                "content_index": 0,
                "delta": delta,
            }));
        }
    }

    /// The item is deleted.
    pub(super) fn forget_transcript_of(&mut self, item: &str) {
        let of_it = |w: &&Writing| matches!(&w.purpose, Purpose::Item(id) if id == item);
        if let Some(id) = self.writings.iter().find(of_it).map(|w| w.id) {
            self.forget_transcription(id);
        }
    }

    /// It is known what was said in an item.
    pub(super) fn on_item_known(&mut self, item: &str, now: Duration) {
        let said = self.history.get(item).map(Item::transcript);
        let said = said.unwrap_or_default().to_owned();
        let answered = |auto: &super::respond::Auto| auto.item.as_deref() == Some(item);
        let answered = self.auto.as_ref().is_some_and(answered);
        let wanted = self.judge_overlap(item, &said, now);
        if answered && let Some(auto) = &mut self.auto {
            auto.timing.transcript.get_or_insert(now);
        }
        if answered && !(wanted && text::is_speakable(&said)) {
            self.forget_auto();
            self.say(json!({
                "type": "promenade.turn.unanswered",
                "item_id": item,
                "reason": if wanted { "no_words" } else { "backchannel" },
            }));
            self.wait_for_user(now);
        }
        self.answer(now);
        self.launch_ready();
    }

    /// It will not be known what was said in an item.
    fn on_unheard(&mut self, item: &str, fault: &Fault, now: Duration) {
        self.judge_overlap(item, "", now);
        let answered = |auto: &mut super::respond::Auto| auto.item.as_deref() == Some(item);
        if let Some(auto) = self.auto.take_if(answered) {
            let reply = self.next_reply();
            let id = self.ids.draw("resp_");
            let response = Response::new(id, reply, self.options(), auto.timing);
            response.created(self);
            self.end_response(response, &Outcome::Failed(fault.clone()), None, now);
        }
        self.launch_ready();
    }

    /// What was probably all of a turn is known: it is answered ahead of time.
    fn on_guessed(&mut self, id: TranscriptionId, said: &str, now: Duration) {
        let wanted = self.config.ahead.replies
            && self.answers_turns()
            && text::is_speakable(said)
            && self.auto.is_none()
            && self.active().is_none()
            && !self.history.is_pending();
        let version = self.history.version();
        let reply = wanted.then(|| self.next_reply());
        let Some(guess) = self.guess.as_mut().filter(|g| g.transcription == id) else {
            return;
        };
        guess.text = Some(said.to_owned());
        guess.known_at = Some(now);
        let Some(reply) = reply else { return };
        guess.begun(reply, version);
        let options = self.options();
        let mut messages = self.history.messages(&options.instructions);
        messages.push(message(Role::User, said.to_owned()));
        let request = request(&options, messages, true);
        self.commands.push_back(Command::Reply {
            id: reply,
            request: Box::new(request),
        });
    }

    /// The least audio that can be committed.
    pub(super) fn least_commit() -> u64 {
        samples(Duration::from_millis(100))
    }
}
