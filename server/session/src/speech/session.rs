//! The state machine of one socket. See the [module above](super).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::context::Context;
use super::event::Event;
use super::frames::{Frame, Frames, Place, Queued};
use super::message::{Delivery, Message, OpenFields, config_required};
use super::timer::{Timer, Timers};
use super::utterance::Utterance;
use crate::{Catalog, Fault, Kind, Settings, text};

/// Names an utterance between a session and its driver; never used twice in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtteranceId(pub u64);

/// How much one socket may hold, and how long it may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Contexts on one socket. Peers allow 5 to 16.
    pub contexts: usize,
    /// Utterances of one context that are not spoken yet.
    pub utterances: usize,
    /// Characters received and not spoken yet, over all contexts.
    pub buffered_chars: usize,
    /// How long a client may take to send `session.config`.
    pub config: Duration,
    /// How long a client may be silent while nothing is being spoken to its end.
    pub idle: Duration,
    /// How old a session may become.
    pub lifetime: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            contexts: 16,
            utterances: 16,
            buffered_chars: 256 * 1024,
            config: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            lifetime: Duration::from_secs(60 * 60),
        }
    }
}

/// What a session is told when it begins.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which models and voices there are.
    pub catalog: Arc<Catalog>,
    /// How much it may hold.
    pub limits: Limits,
}

impl Config {
    /// With the default limits.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            limits: Limits::default(),
        }
    }
}

/// What the driver must have the engine do.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Begin an utterance. If the engine refuses: [`Event::Failed`].
    Open {
        /// Its name from now on.
        utterance: UtteranceId,
        /// How it is to be spoken.
        settings: Settings,
    },
    /// Give it text, wait until all of it is taken, then call [`Session::handle_fed`].
    Feed {
        /// Whose text.
        utterance: UtteranceId,
        /// The text.
        text: String,
    },
    /// Speak what was given, whether a sentence is complete or not.
    Flush {
        /// Whose text.
        utterance: UtteranceId,
    },
    /// There is no more text.
    End {
        /// Whose text.
        utterance: UtteranceId,
    },
    /// Stop at once and forget it; no more events.
    Cancel {
        /// What to forget.
        utterance: UtteranceId,
    },
}

#[derive(Debug)]
enum State {
    /// The client has not said what it wants.
    AwaitingConfig,
    Open,
    /// No more text; the socket closes when all is spoken and sent.
    Closing {
        code: u16,
        reason: &'static str,
    },
    /// Over. Nothing leads back.
    Closed,
}

/// See the [module above](super).
#[derive(Debug)]
pub struct Session {
    config: Config,
    state: State,
    timers: Timers,
    settings: Option<Settings>,
    delivery: Delivery,
    contexts: BTreeMap<String, Context>,
    next_id: u64,
    commands: VecDeque<Command>,
    frames: Frames,
}

impl Session {
    /// A session whose socket has just been opened.
    #[must_use]
    pub fn new(config: Config, now: Duration) -> Self {
        let mut timers = Timers::default();
        timers.set(Timer::Config, Some(now + config.limits.config));
        timers.set(Timer::Lifetime, Some(now + config.limits.lifetime));
        Self {
            config,
            state: State::AwaitingConfig,
            timers,
            settings: None,
            delivery: Delivery::default(),
            contexts: BTreeMap::new(),
            next_id: 0,
            commands: VecDeque::new(),
            frames: Frames::default(),
        }
    }

    // What happens to it.

    /// A text message of the client.
    pub fn handle_message(&mut self, now: Duration, bytes: &[u8]) {
        if !self.takes_messages() {
            return;
        }
        match Message::parse(bytes, &self.config.catalog) {
            Ok(message) => self.on_message(now, message),
            Err((context, fault)) => self.say_error(&context, &fault),
        }
        self.settle(now);
    }

    /// A binary message of the client: there is no use for one.
    pub fn handle_binary(&mut self, now: Duration) {
        if !self.takes_messages() {
            return;
        }
        let fault = Fault::new(
            Kind::Invalid,
            "binary_not_accepted",
            "Binary messages are not accepted here; send JSON as text messages.",
        );
        self.say_error("", &fault);
        self.settle(now);
    }

    /// A sign of life that is no message, such as a ping frame.
    pub fn handle_keepalive(&mut self, now: Duration) {
        self.settle(now);
    }

    /// All text of the last [`Command::Feed`] of this utterance has been taken.
    pub fn handle_fed(&mut self, now: Duration, utterance: UtteranceId) {
        if let Some(found) = self.utterance(utterance) {
            found.fed();
        }
        self.settle(now);
    }

    /// News about an utterance. News about one that is over is normal, and ignored.
    pub fn handle_event(&mut self, now: Duration, utterance: UtteranceId, event: Event<'_>) {
        let Self {
            contexts, frames, ..
        } = self;
        let found = contexts.iter_mut().find_map(|(name, c)| {
            Some((
                name,
                c.utterances
                    .iter_mut()
                    .find(|u| u.id == utterance && u.is_opened())?,
            ))
        });
        let Some((name, found)) = found else { return };
        let name = name.clone();
        let outcome = match event {
            Event::Audio { samples, rate } => found.audio(samples, rate, frames),
            Event::Words { words, rate } => {
                found.words(&words, rate, frames);
                Ok(())
            }
            Event::Done { rtf } => {
                found.rtf = rtf;
                found
                    .finish(frames)
                    .map(|()| self.end_utterance(&name, utterance))
            }
            Event::Failed(fault) => {
                self.fail_utterance(&name, utterance, &fault);
                Ok(())
            }
        };
        if let Err(fault) = outcome {
            self.commands.push_back(Command::Cancel { utterance });
            self.fail_utterance(&name, utterance, &fault);
        }
        self.settle(now);
    }

    /// The time of [`Session::poll_deadline`] has come.
    pub fn handle_timeout(&mut self, now: Duration) {
        while let Some(timer) = self.timers.take_due(now) {
            let (code, message, close, reason) = match timer {
                // AwaitingConfig => Closing
                Timer::Config => (
                    "config_timeout",
                    "No session.config came in time.",
                    1008,
                    "no session.config in time",
                ),
                // Open => Closing
                Timer::Idle => (
                    "idle_timeout",
                    "Nothing was sent and nothing was being spoken to its end for too long.",
                    1000,
                    "idle",
                ),
                // any => Closing
                Timer::Lifetime => (
                    "session_expired",
                    "The session has reached the age at which one ends; open another.",
                    1001,
                    "session expired",
                ),
            };
            self.say_error("", &Fault::new(Kind::Slow, code, message));
            self.stop(close, reason);
        }
    }

    /// The socket is gone.
    pub fn handle_peer_closed(&mut self) {
        self.cancel_all();
        self.frames.drop_all();
        self.state = State::Closed;
    }

    /// The server is closing: what was given is spoken, more is not taken.
    pub fn handle_drain(&mut self, now: Duration) {
        self.close(1001, "server is closing");
        self.settle(now);
    }

    /// The server can wait no longer: everything stops now.
    pub fn handle_stop(&mut self) {
        if !matches!(self.state, State::Closed) {
            let fault = Fault::new(Kind::Cancelled, "server_closing", "The server is closing.");
            self.say_error("", &fault);
            self.stop(1001, "server is closing");
        }
    }

    // What it wants.

    /// The next thing for the engine to do.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next frame for the socket. To be called when the socket can take one.
    pub fn poll_frame(&mut self) -> Option<Frame> {
        self.frames.poll()
    }

    /// When to call [`Session::handle_timeout`].
    #[must_use]
    pub fn poll_deadline(&self) -> Option<Duration> {
        self.timers.next()
    }

    /// Whether a frame waits for the socket.
    #[must_use]
    pub fn has_frames(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Whether news of this utterance may be handed in now: it is its turn, and there is room.
    #[must_use]
    pub fn wants(&self, utterance: UtteranceId) -> bool {
        let is_first = |context: &Context| {
            let first = context.utterances.front();
            first.is_some_and(|first| first.id == utterance && first.is_opened())
        };
        self.frames.has_room() && self.contexts.values().any(is_first)
    }

    /// Whether all is over: no command, frame or event is left or will come.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed) && self.frames.is_empty() && self.commands.is_empty()
    }

    // Messages.

    fn takes_messages(&self) -> bool {
        !matches!(self.state, State::Closed)
    }

    fn on_message(&mut self, now: Duration, message: Message) {
        match (&self.state, message) {
            // AwaitingConfig => Open
            (
                State::AwaitingConfig,
                Message::Config {
                    settings,
                    delivery,
                    ignored,
                },
            ) => self.configure(now, settings, delivery, &ignored),
            // AwaitingConfig => Closing
            (State::AwaitingConfig, Message::Close) => self.close(1000, "closed by the client"),
            (State::AwaitingConfig, Message::Ping) => self.pong(),
            (State::AwaitingConfig, _) => self.say_error("", &config_required()),
            (State::Open, Message::Config { .. }) => self.say_error("", &configured_already()),
            (State::Open, Message::OpenContext { context, fields }) => {
                self.open_context(&context, fields);
            }
            (State::Open, Message::Text { context, text }) => self.on_text(&context, &text),
            (State::Open, Message::Flush { context }) => {
                if let Some(utterance) = self.contexts.get_mut(&context).and_then(Context::current)
                {
                    utterance.flush();
                }
            }
            (_, Message::Clear { context }) => self.clear(&context),
            (State::Open, Message::Done { context }) => self.on_done(&context),
            (State::Open, Message::CloseContext { context }) => self.close_context(&context),
            // Open => Closing
            (State::Open, Message::Close) => self.close(1000, "closed by the client"),
            (_, Message::Ping) => self.pong(),
            (State::Closing { .. }, Message::Close) => {}
            (State::Closing { .. } | State::Closed, _) => self.say_error("", &closing()),
        }
    }

    fn configure(
        &mut self,
        now: Duration,
        settings: Settings,
        delivery: Delivery,
        ignored: &[String],
    ) {
        self.frames
            .configure(delivery.encoding, delivery.chunk_headers);
        self.timers.set(Timer::Config, None);
        self.timers
            .set(Timer::Idle, Some(now + self.config.limits.idle));
        self.delivery = delivery;
        let mut message = settings_value("session.configured", &settings);
        message["ignored"] = json!(ignored);
        message["limits"] = json!({
            "contexts": self.config.limits.contexts,
            "buffered_characters": self.config.limits.buffered_chars,
            "idle_seconds": self.config.limits.idle.as_secs_f64(),
            "session_seconds": self.config.limits.lifetime.as_secs_f64(),
        });
        self.settings = Some(settings);
        self.state = State::Open;
        self.frames.push(Queued::Message(message));
    }

    fn open_context(&mut self, name: &str, fields: OpenFields) {
        let Some(session) = &self.settings else {
            return;
        };
        if self.contexts.contains_key(name) {
            return self.say_error(name, &context_exists(name));
        }
        let settings = match fields.read(&self.config.catalog, session) {
            Ok(settings) => settings,
            Err(fault) => return self.say_error(name, &fault),
        };
        let message = settings_value("context.opened", &settings);
        match self.add_context(name, settings) {
            Ok(_) => self.note(name, message),
            Err(fault) => self.say_error(name, &fault),
        }
    }

    fn on_text(&mut self, name: &str, more: &str) {
        if let Err(fault) = self.take_text(name, more) {
            self.say_error(name, &fault);
        }
    }

    fn take_text(&mut self, name: &str, more: &str) -> Result<(), Fault> {
        let limits = self.config.limits;
        let waiting: usize = self.waiting_chars();
        let count = text::count(more);
        if waiting + count > limits.buffered_chars {
            return Err(buffer_full(waiting, count, limits.buffered_chars));
        }
        if more.is_empty() {
            return Ok(());
        }
        if !self.contexts.contains_key(name) {
            let Some(settings) = self.settings.clone() else {
                return Err(config_required());
            };
            self.add_context(name, settings)?;
        }
        let delivery = self.delivery;
        let next_id = self.next_id;
        let Some(context) = self.contexts.get_mut(name) else {
            return Ok(());
        };
        if context.closing {
            return Err(context_closing(name));
        }
        if context.current().is_none() {
            if context.utterances.len() >= limits.utterances {
                return Err(too_many_utterances(limits.utterances));
            }
            let place = Place {
                context: name.to_owned(),
                utterance: context.next_index,
            };
            context.next_index += 1;
            let settings = context.settings.clone();
            let utterance = Utterance::new(UtteranceId(next_id), place, settings, delivery);
            context.utterances.push_back(utterance);
            self.next_id += 1;
        }
        if let Some(utterance) = context.current() {
            utterance.push_text(more);
        }
        Ok(())
    }

    fn on_done(&mut self, name: &str) {
        let has_current = self
            .contexts
            .get_mut(name)
            .is_some_and(|c| c.current().is_some());
        if has_current {
            if let Some(context) = self.contexts.get_mut(name) {
                context.end_current();
            }
            return;
        }
        // Nothing was sent: the client hears at once that nothing will be said.
        let settings = self.settings.clone();
        if let Some(settings) = settings.filter(|_| !self.contexts.contains_key(name))
            && let Err(fault) = self.add_context(name, settings)
        {
            return self.say_error(name, &fault);
        }
        let delivery = self.delivery;
        let id = UtteranceId(self.next_id);
        let limit = self.config.limits.utterances;
        let Some(context) = self.contexts.get_mut(name) else {
            return;
        };
        if context.utterances.len() >= limit {
            return self.say_error(name, &too_many_utterances(limit));
        }
        let place = Place {
            context: name.to_owned(),
            utterance: context.next_index,
        };
        context.next_index += 1;
        let mut empty = Utterance::new(id, place, context.settings.clone(), delivery);
        empty.end();
        context.utterances.push_back(empty);
        self.next_id += 1;
    }

    fn clear(&mut self, name: &str) {
        let Some(context) = self.contexts.get_mut(name) else {
            return self.note(name, json!({"type": "input.cleared"}));
        };
        context.cancel(&mut self.commands);
        self.frames.clear(name);
        self.note(name, json!({"type": "input.cleared"}));
    }

    fn close_context(&mut self, name: &str) {
        match self.contexts.get_mut(name) {
            Some(context) => context.close(),
            None => self.say_error(name, &unknown_context(name)),
        }
    }

    fn close(&mut self, code: u16, reason: &'static str) {
        if matches!(self.state, State::AwaitingConfig | State::Open) {
            self.state = State::Closing { code, reason };
            self.timers.set(Timer::Config, None);
            for context in self.contexts.values_mut() {
                context.close();
            }
        }
    }

    // Utterances.

    fn utterance(&mut self, id: UtteranceId) -> Option<&mut Utterance> {
        let mut all = self
            .contexts
            .values_mut()
            .flat_map(|c| c.utterances.iter_mut());
        all.find(|utterance| utterance.id == id)
    }

    fn waiting_chars(&self) -> usize {
        let all = self.contexts.values().flat_map(|c| &c.utterances);
        all.map(Utterance::waiting_chars).sum()
    }

    fn add_context(&mut self, name: &str, settings: Settings) -> Result<(), Fault> {
        let limit = self.config.limits.contexts;
        if self.contexts.len() >= limit {
            return Err(too_many_contexts(limit));
        }
        self.contexts
            .insert(name.to_owned(), Context::new(settings));
        Ok(())
    }

    /// Removes an utterance that the engine is done with, and tells the client.
    fn end_utterance(&mut self, name: &str, id: UtteranceId) {
        if let Some(utterance) = self.take_utterance(name, id) {
            self.say_done(&utterance, false);
        }
    }

    fn fail_utterance(&mut self, name: &str, id: UtteranceId, fault: &Fault) {
        if let Some(mut utterance) = self.take_utterance(name, id) {
            utterance.abort(&mut self.frames);
            let mut message = error_value(fault);
            message["utterance_index"] = json!(utterance.place.utterance);
            self.note(name, message);
            self.say_done(&utterance, true);
        }
    }

    fn take_utterance(&mut self, name: &str, id: UtteranceId) -> Option<Utterance> {
        let context = self.contexts.get_mut(name)?;
        let at = context.utterances.iter().position(|u| u.id == id)?;
        context.utterances.remove(at)
    }

    fn say_done(&mut self, utterance: &Utterance, error: bool) {
        self.frames.push(Queued::Note {
            place: utterance.place.clone(),
            value: utterance.summary(error),
        });
    }

    /// Brings everything up to date after an input: what the engine may take, which utterances
    /// and contexts are over, whether the socket closes, and when the client counts as idle.
    fn settle(&mut self, now: Duration) {
        self.skip_silent();
        for context in self.contexts.values_mut() {
            context.advance(&mut self.commands);
        }
        self.drop_spoken_contexts();
        if self.frames.overflows() {
            self.frames.drop_all();
            return self.stop(1008, "messages are not being read");
        }
        match self.state {
            State::Closing { code, reason } if self.contexts.is_empty() => self.stop(code, reason),
            State::Open => {
                let busy = self.contexts.values().any(Context::is_busy);
                let idle = (!busy).then_some(now + self.config.limits.idle);
                self.timers.set(Timer::Idle, idle);
            }
            State::Closing { .. } => self.timers.set(Timer::Idle, None),
            State::AwaitingConfig | State::Closed => {}
        }
    }

    /// Ends the utterances whose turn it is and that have nothing to say.
    fn skip_silent(&mut self) {
        for context in self.contexts.values_mut() {
            while context.utterances.front().is_some_and(Utterance::is_silent) {
                let Some(utterance) = context.utterances.pop_front() else {
                    break;
                };
                let place = utterance.place.clone();
                let skipped = json!({
                    "type": "input.skipped",
                    "code": "nothing_to_say",
                    "message": "The text has no letter or digit, so there is nothing to say.",
                });
                for value in [skipped, utterance.summary(false)] {
                    let place = place.clone();
                    self.frames.push(Queued::Note { place, value });
                }
            }
        }
    }

    fn drop_spoken_contexts(&mut self) {
        let spoken = |c: &Context| c.closing && c.utterances.is_empty();
        let names: Vec<String> = self
            .contexts
            .iter()
            .filter(|(_, context)| spoken(context))
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            self.contexts.remove(&name);
            self.note(&name, json!({"type": "context.closed"}));
        }
    }

    fn cancel_all(&mut self) {
        for context in self.contexts.values_mut() {
            context.cancel(&mut self.commands);
        }
        self.contexts.clear();
        for timer in [Timer::Config, Timer::Idle, Timer::Lifetime] {
            self.timers.set(timer, None);
        }
    }

    /// Ends the session: what is spoken is given up, what waits to be sent is sent.
    fn stop(&mut self, code: u16, reason: &'static str) {
        self.cancel_all();
        self.frames.push(Queued::Close { code, reason });
        self.state = State::Closed;
    }

    // What it says.

    fn pong(&mut self) {
        self.frames.push(Queued::Message(json!({"type": "pong"})));
    }

    fn note(&mut self, name: &str, mut message: Value) {
        if !name.is_empty() {
            message["context_id"] = json!(name);
        }
        self.frames.push(Queued::Message(message));
    }

    fn say_error(&mut self, name: &str, fault: &Fault) {
        self.note(name, error_value(fault));
    }
}

fn settings_value(kind: &str, settings: &Settings) -> Value {
    json!({
        "type": kind,
        "model": settings.model,
        "voice": settings.voice,
        "speed": settings.speed,
        "seed": settings.seed,
        "response_format": settings.format.name(),
        "sample_rate": settings.format.sample_rate().hz(),
        "channels": 1,
    })
}

fn error_value(fault: &Fault) -> Value {
    json!({
        "type": "error",
        "message": fault.message,
        "code": fault.code,
        "param": fault.param,
        "error": {
            "message": fault.message,
            "type": fault.wire_type(),
            "param": fault.param,
            "code": fault.code,
        },
    })
}

fn invalid(code: &'static str, message: impl Into<String>) -> Fault {
    Fault::new(Kind::Invalid, code, message)
}

fn configured_already() -> Fault {
    invalid(
        "session_already_configured",
        "The session is configured; use context.open to speak with other settings.",
    )
}

fn closing() -> Fault {
    invalid("session_closing", "The session is closing; open another.")
}

fn context_exists(name: &str) -> Fault {
    let name = crate::near::quoted(name);
    invalid(
        "context_exists",
        format!("The context {name} is open already."),
    )
}

fn context_closing(name: &str) -> Fault {
    let name = crate::near::quoted(name);
    invalid(
        "context_closing",
        format!("The context {name} is closing; wait for context.closed to use the name again."),
    )
}

fn unknown_context(name: &str) -> Fault {
    let name = crate::near::quoted(name);
    invalid(
        "unknown_context",
        format!("There is no context {name} to close."),
    )
}

fn too_many_contexts(limit: usize) -> Fault {
    invalid(
        "too_many_contexts",
        format!("A socket holds at most {limit} contexts; close one first."),
    )
}

fn too_many_utterances(limit: usize) -> Fault {
    invalid(
        "too_many_utterances",
        format!("At most {limit} utterances of a context may wait; wait for session.done."),
    )
}

fn buffer_full(waiting: usize, count: usize, limit: usize) -> Fault {
    invalid(
        "text_buffer_full",
        format!(
            "The message of {count} characters was not taken: {waiting} wait to be spoken, and \
             at most {limit} may."
        ),
    )
}
