//! Responses: which ones run, what they are told, how they end.

use std::time::Duration;

use serde_json::json;

use super::command::{Command, Message, ReplyId, Request};
use super::config::{Kind, Transport};
use super::detection::ms;
use super::event::{Finish, ReplyEvent, Usage};
use super::guess::Guess;
use super::history;
use super::input::{duration, samples};
use super::response::{Options, Outcome, Response, Timing};
use super::session::Session;
use super::timer::Timer;
use crate::Fault;

/// A response that follows a turn, as soon as it is known what was said.
#[derive(Debug)]
pub(super) struct Auto {
    /// The user's item, unless there is nothing to wait for.
    pub(super) item: Option<String>,
    /// The reply that was begun before the turn was over.
    pub(super) guess: Option<Guess>,
    pub(super) timing: Timing,
}

/// What was last said aloud in the conversation.
#[derive(Debug)]
pub(super) struct Aloud {
    response: String,
    reply: ReplyId,
    item: String,
    samples: u64,
    /// When the client said how much it had played.
    acked: Option<(Duration, u64)>,
}

impl Session {
    /// How a response is that follows a turn.
    pub(super) fn options(&self) -> Options {
        let settings = &self.settings;
        Options {
            in_conversation: true,
            audio: settings.audio,
            format: settings.output_format,
            voice: settings.voice.clone(),
            speed: settings.speed,
            instructions: settings.instructions.clone(),
            max_tokens: settings.max_tokens,
            tools: settings.tools.clone(),
            metadata: serde_json::Value::Null,
            input: None,
        }
    }

    pub(super) fn active(&self) -> Option<&Response> {
        self.responses.iter().find(|r| r.options.in_conversation)
    }

    pub(super) fn next_reply(&mut self) -> ReplyId {
        self.next_id += 1;
        ReplyId(self.next_id)
    }

    /// Begins a response; the model is asked when all that it is to read is written.
    pub(super) fn begin(&mut self, options: Options, timing: Timing) {
        let reply = self.next_reply();
        let response = Response::new(self.ids.draw("resp_"), reply, options, timing);
        self.introduce(&response);
        self.responses.push(response);
        self.launch_ready();
    }

    /// Begins a response whose reply was begun before the turn was over.
    fn begin_guessed(&mut self, guess: Guess, reply: ReplyId, mut timing: Timing, now: Duration) {
        timing.speculative = true;
        timing.first_text = guess.first_text;
        timing.first_audio = guess.first_audio;
        let options = self.options();
        let mut response = Response::new(self.ids.draw("resp_"), reply, options, timing);
        response.launched = true;
        self.introduce(&response);
        self.responses.push(response);
        self.commands.push_back(Command::CommitReply { id: reply });
        for event in guess.into_held() {
            self.on_reply(reply, event.borrow(), now);
        }
    }

    fn introduce(&mut self, response: &Response) {
        self.timers.set(Timer::Unanswered, None);
        response.created(self);
        if !self.rate_limits.is_empty() {
            let limits: Vec<_> = self
                .rate_limits
                .iter()
                .map(|limit| {
                    json!({
                        "name": limit.name,
                        "limit": limit.limit,
                        "remaining": limit.remaining,
                        "reset_seconds": limit.reset_seconds,
                    })
                })
                .collect();
            self.say(json!({"type": "rate_limits.updated", "rate_limits": limits}));
        }
    }

    /// Asks the model for those responses that wait for nothing any more.
    pub(super) fn launch_ready(&mut self) {
        let pending = self.history.is_pending();
        let mut responses = std::mem::take(&mut self.responses);
        for response in &mut responses {
            let reads_history = response.options.input.is_none();
            if response.launched || (reads_history && pending) {
                continue;
            }
            response.launched = true;
            let options = &response.options;
            let messages = match &options.input {
                Some(items) => history::messages(&options.instructions, items.iter()),
                None => self.history.messages(&options.instructions),
            };
            let request = request(options, messages, false);
            self.commands.push_back(Command::Reply {
                id: response.reply,
                request: Box::new(request),
            });
        }
        self.responses = responses;
    }

    /// Begins the response that follows a turn, if it is known what was said and nothing else
    /// is being answered.
    pub(super) fn answer(&mut self, now: Duration) {
        let waits = |auto: &Auto| {
            let item = auto.item.as_ref().and_then(|id| self.history.get(id));
            item.is_some_and(super::item::Item::is_pending)
        };
        if self.overlap.is_some() || self.active().is_some() || self.auto.as_ref().is_none_or(waits)
        {
            return;
        }
        let Some(mut auto) = self.auto.take() else {
            return;
        };
        let guess = auto.guess.take();
        match guess.and_then(|guess| Some((guess.reply()?, guess))) {
            Some((reply, guess)) if guess.fits(self.history.version()) => {
                self.begin_guessed(guess, reply, auto.timing, now);
            }
            other => {
                if let Some((id, _)) = other {
                    self.commands.push_back(Command::CancelReply { id });
                }
                self.begin(self.options(), auto.timing);
            }
        }
    }

    /// Forgets the response that was to follow a turn.
    pub(super) fn forget_auto(&mut self) -> Option<Auto> {
        let mut auto = self.auto.take()?;
        if let Some(guess) = auto.guess.take() {
            self.drop_guess(&guess);
        }
        Some(auto)
    }

    pub(super) fn on_reply(&mut self, id: ReplyId, event: ReplyEvent<'_>, now: Duration) {
        let Some(at) = self.responses.iter().position(|r| r.reply == id) else {
            return self.hold(id, event, now);
        };
        let mut response = self.responses.remove(at);
        let (outcome, usage) = match event {
            ReplyEvent::Text(text) => {
                response.text(self, text, now);
                return self.responses.insert(at, response);
            }
            ReplyEvent::Audio { samples, rate } => {
                response.audio(self, samples, rate, now);
                return self.responses.insert(at, response);
            }
            ReplyEvent::Words { words, rate } => {
                response.words(&words, rate);
                return self.responses.insert(at, response);
            }
            ReplyEvent::ToolCall {
                call_id,
                name,
                arguments,
                last,
            } => {
                response.tool_call(self, call_id, name, arguments, last);
                return self.responses.insert(at, response);
            }
            ReplyEvent::Done { finish, usage } => match finish {
                Finish::Stop => (Outcome::Completed, usage),
                Finish::Length => (Outcome::Incomplete, usage),
            },
            ReplyEvent::Failed(fault) => (Outcome::Failed(fault), Usage::default()),
        };
        self.end_response(response, &outcome, Some(usage), now);
    }

    /// Keeps a piece of a reply that nobody has committed to yet.
    fn hold(&mut self, id: ReplyId, event: ReplyEvent<'_>, now: Duration) {
        let waiting = self.auto.as_mut().and_then(|auto| auto.guess.as_mut());
        let mut guesses = self.guess.as_mut().into_iter().chain(waiting);
        if let Some(guess) = guesses.find(|guess| guess.reply() == Some(id)) {
            guess.hold(event, now);
        }
    }

    pub(super) fn end_response(
        &mut self,
        response: Response,
        outcome: &Outcome,
        usage: Option<Usage>,
        now: Duration,
    ) {
        let timing = response.timing.clone();
        let (id, reply) = (response.id.clone(), response.reply);
        let in_conversation = response.options.in_conversation;
        response.end(self, outcome, usage);
        let told = matches!(outcome, Outcome::Completed | Outcome::Incomplete);
        if timing.speech_end.is_some() && told {
            self.keep_timing(id, reply, timing);
        }
        self.say_drained(now);
        if in_conversation {
            self.answer(now);
            self.wait_for_user(now);
        }
    }

    /// Cancels a response. What of it has not left does not leave.
    pub(super) fn cancel(&mut self, at: usize, reason: &'static str, now: Duration) {
        let response = self.responses.remove(at);
        if response.launched {
            let id = response.reply;
            self.commands.push_back(Command::CancelReply { id });
        }
        self.end_response(response, &Outcome::Cancelled(reason), None, now);
    }

    /// The user speaks: what is being said in the conversation stops now.
    pub(super) fn interrupt(&mut self, now: Duration) {
        self.overlap = None;
        self.timers.set(Timer::Overlap, None);
        self.echo.cut(now);
        self.clear_playout();
        let at = self
            .responses
            .iter()
            .position(|r| r.options.in_conversation);
        if let Some(at) = at {
            self.cancel(at, "turn_detected", now);
        }
        if self.config.transport == Transport::WebSocket
            && let Some(heard) = self.heard_by(now)
            && let Some(aloud) = self.aloud.take_if(|aloud| heard < aloud.samples)
            && let Some(speech) = self
                .history
                .get_mut(&aloud.item)
                .and_then(super::item::Item::speech)
        {
            speech.guess_at(heard);
        }
    }

    /// Empties what waits to be played, cuts the history to what was, and says where.
    pub(super) fn clear_playout(&mut self) {
        let mut cleared: Vec<String> = Vec::new();
        for heard in self.playout.clear() {
            self.cut(&heard.item, heard.samples);
            if !cleared.contains(&heard.response) {
                self.say(json!({
                    "type": "output_audio_buffer.cleared",
                    "response_id": heard.response,
                }));
                cleared.push(heard.response);
            }
            if self.is_in_conversation(&heard.item) {
                self.say(json!({
                    "type": "conversation.item.truncated",
                    "item_id": heard.item,
                    "content_index": 0,
                    "audio_end_ms": ms(duration(heard.samples)),
                }));
            }
        }
    }

    fn is_in_conversation(&self, item: &str) -> bool {
        let mut running = self.responses.iter();
        running.any(|r| r.options.in_conversation && r.items.iter().any(|i| i.id == item))
            || self.history.get(item).is_some()
    }

    /// Cuts an item to what was heard, wherever it is.
    pub(super) fn cut(&mut self, item: &str, samples: u64) {
        let running = self.responses.iter_mut().flat_map(|r| r.items.iter_mut());
        for found in running.filter(|found| found.id == item) {
            if let Some(speech) = found.speech() {
                speech.cut_at(samples);
            }
        }
        if let Some(speech) = self
            .history
            .get_mut(item)
            .and_then(super::item::Item::speech)
        {
            speech.cut_at(samples);
        }
    }

    /// Audio of a response was handed to the way out.
    pub(super) fn speaks(
        &mut self,
        response: &str,
        reply: ReplyId,
        item: &str,
        length: u64,
        in_conversation: bool,
    ) {
        self.spoken = true;
        if !in_conversation {
            return;
        }
        match &mut self.aloud {
            Some(aloud) if aloud.item == item => aloud.samples += length,
            _ => {
                self.aloud = Some(Aloud {
                    response: response.to_owned(),
                    reply,
                    item: item.to_owned(),
                    samples: length,
                    acked: None,
                });
            }
        }
    }

    /// Audio of a response was taken back.
    pub(super) fn unspeak(&mut self, response: &str, length: u64) {
        if let Some(aloud) = &mut self.aloud
            && aloud.response == response
        {
            aloud.samples = aloud.samples.saturating_sub(length);
        }
    }

    /// The client says how much of an item it has played.
    pub(super) fn acknowledge(&mut self, item: &str, played: u64, now: Duration) {
        if let Some(aloud) = &mut self.aloud
            && aloud.item == item
        {
            aloud.acked = Some((now, played.min(aloud.samples)));
        }
    }

    /// How much of what was last said aloud a WebSocket's client can have played.
    fn heard_by(&self, now: Duration) -> Option<u64> {
        let aloud = self.aloud.as_ref()?;
        let (since, before) = match aloud.acked {
            Some(acked) => acked,
            None => (self.frames.first_audio_at(aloud.reply).unwrap_or(now), 0),
        };
        let heard = before + samples(now.saturating_sub(since));
        Some(heard.min(aloud.samples))
    }

    /// Whether an answer is being made or played.
    pub(super) fn is_answering(&self, now: Duration) -> bool {
        let playing = match self.config.transport {
            Transport::WebRtc => !self.playout.is_empty(),
            Transport::WebSocket => self.playing_until(now) > now,
        };
        playing || self.auto.is_some() || self.active().is_some()
    }

    /// When a WebSocket's client will have played all that it has.
    fn playing_until(&self, now: Duration) -> Duration {
        let left = self.aloud.as_ref().zip(self.heard_by(now));
        left.map_or(now, |(aloud, heard)| now + duration(aloud.samples - heard))
    }

    /// Sets the time by which the user is to say something (`idle_timeout_ms`).
    pub(super) fn wait_for_user(&mut self, now: Duration) {
        let Some(idle) = self.unanswered_limit() else {
            return;
        };
        let from = match self.config.transport {
            Transport::WebSocket => self.playing_until(now),
            Transport::WebRtc if !self.playout.is_empty() => return,
            Transport::WebRtc => now,
        };
        self.timers.set(Timer::Unanswered, Some(from + idle));
    }

    fn unanswered_limit(&self) -> Option<Duration> {
        let detection = self.settings.detection.as_ref()?;
        let idle = self.turn.is_none() && self.auto.is_none() && self.active().is_none();
        match detection.kind {
            super::detection::Kind::Server { idle: limit, .. } if idle => limit,
            _ => None,
        }
    }

    pub(super) fn answers_turns(&self) -> bool {
        let wanted = self.settings.detection.is_some_and(|d| d.create_response);
        wanted && self.settings.kind == Kind::Realtime
    }
}

/// What the model is asked.
pub(super) fn request(options: &Options, messages: Vec<Message>, speculative: bool) -> Request {
    Request {
        messages,
        tools: options.tools.list.clone(),
        tool_choice: options.tools.choice.clone(),
        voice: options.voice.clone(),
        speed: options.speed,
        max_tokens: options.max_tokens,
        audio: options.audio,
        speculative,
    }
}

/// The fault of a second response in the conversation.
pub(super) fn already_active(id: &str) -> Fault {
    Fault::new(
        crate::Kind::Invalid,
        "conversation_already_has_active_response",
        format!(
            "Conversation already has an active response in progress: {id}. Wait until it is \
             finished, or cancel it, before creating a new one."
        ),
    )
}
