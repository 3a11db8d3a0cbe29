//! The state machine of one session. See the [module above](super).

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use super::command::{Command, ReplyId};
use super::config::{Config, Transport};
use super::echo::Echo;
use super::event::{Event, RateLimit};
use super::format::{Decoder, Format};
use super::frames::{Frame, Frames};
use super::guess::Guess;
use super::hear::Writing;
use super::history::History;
use super::ids::Ids;
use super::input::{Input, count, samples};
use super::item::Item;
use super::playout::Playout;
use super::respond::{Aloud, Auto};
use super::response::{Response, Timing};
use super::settings::Settings;
use super::timer::{Timer, Timers};
use super::turn::{Onset, Turn};
use crate::{Fault, Fields, Kind};

/// Samples of a packet: 20 ms at 24 kHz.
pub const PACKET: usize = 480;
/// Turns whose times are kept until their audio leaves.
const TIMINGS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// No more turns; it ends when what is being said is said.
    Draining,
    /// Over. Nothing leads back.
    Closed,
}

/// See the [module above](super).
#[derive(Debug)]
pub struct Session {
    pub(super) config: Config,
    state: State,
    pub(super) timers: Timers,
    pub(super) settings: Settings,
    pub(super) ids: Ids,
    id: String,
    resume_token: String,
    pub(super) conversation_id: String,
    expires_at: u64,
    pub(super) next_id: u64,
    pub(super) commands: VecDeque<Command>,
    pub(super) frames: Frames,
    pub(super) rate_limits: Vec<RateLimit>,
    // What the user says.
    pub(super) decoder: Decoder,
    pub(super) input: Input,
    pub(super) echo: Echo,
    deaf: bool,
    pub(super) onset: Onset,
    pub(super) turn: Option<Turn>,
    pub(super) guess: Option<Guess>,
    /// The item of the turn in which the user speaks over an answer, while that is undecided.
    pub(super) overlap: Option<String>,
    pub(super) writings: Vec<Writing>,
    // What is said to them.
    pub(super) history: History,
    pub(super) auto: Option<Auto>,
    pub(super) responses: Vec<Response>,
    pub(super) playout: Playout,
    pub(super) aloud: Option<Aloud>,
    /// Audio has gone out, so the voice is what it is.
    pub(super) spoken: bool,
    timings: VecDeque<(String, ReplyId, Timing)>,
}

impl Session {
    /// A session whose connection has just been opened: it says `session.created` first. Where
    /// `config.defaults.session` has a fault, the session begins without it and says so.
    #[must_use]
    pub fn new(config: Config, now: Duration) -> Self {
        let mut ids = Ids::new(config.seed);
        let mut timers = Timers::default();
        let limits = config.limits;
        timers.set(Timer::Lifetime, Some(now + limits.lifetime));
        timers.set(
            Timer::Warning,
            limits
                .lifetime
                .checked_sub(limits.warning)
                .map(|at| now + at),
        );
        timers.set(Timer::Idle, Some(now + limits.idle));
        let (settings, fault) = match Settings::new(&config) {
            Ok(settings) => (settings, None),
            Err(fault) => (Settings::defaults(&config), Some(fault)),
        };
        let mut session = Self {
            state: State::Open,
            timers,
            settings,
            id: ids.draw("sess_"),
            resume_token: ids.draw("resume_"),
            conversation_id: ids.draw("conv_"),
            expires_at: (config.unix_time + limits.lifetime).as_secs(),
            next_id: 0,
            commands: VecDeque::new(),
            frames: Frames::new(Ids::new(config.seed ^ 0x5eed), limits.replay_bytes),
            rate_limits: Vec::new(),
            decoder: Decoder::new(Format::default()),
            input: Input::new(),
            echo: Echo::default(),
            deaf: false,
            onset: Onset::default(),
            turn: None,
            guess: None,
            overlap: None,
            writings: Vec::new(),
            history: History::default(),
            auto: None,
            responses: Vec::new(),
            playout: Playout::new(),
            aloud: None,
            spoken: false,
            timings: VecDeque::new(),
            ids,
            config,
        };
        session.say_created();
        if let Some(fault) = fault {
            session.say_error(&fault, None);
        }
        session
    }

    /// Whether a session object would be accepted as `config.defaults.session`. Gives back the
    /// whole session object that it leads to, as `session.created` would show it.
    ///
    /// # Errors
    /// The first field that is not accepted, by its name.
    pub fn check(config: &Config, session: Value) -> Result<Value, Fault> {
        let fields = Fields::nested(session, "session".to_owned())?;
        let settings = Settings::defaults(config).updated(fields, config, false)?;
        Ok(settings.value())
    }

    // What happens to it.

    /// A client event.
    pub fn handle_text(&mut self, text: &str, now: Duration) {
        if self.state == State::Closed {
            return;
        }
        self.on_client(text, now);
        self.touch(now);
        self.settle(now);
    }

    /// Audio that came beside the events: mono, -1 to 1, 24 kHz.
    pub fn handle_microphone(&mut self, samples: &[f32], now: Duration) {
        if self.state == State::Closed {
            return;
        }
        self.on_audio(samples, now);
        self.touch(now);
        self.settle(now);
    }

    /// What models and the way out tell.
    pub fn handle(&mut self, event: Event<'_>, now: Duration) {
        if self.state == State::Closed {
            return;
        }
        match event {
            Event::Voice { probability } => self.on_voice(probability, now),
            Event::VoiceFailed(fault) => self.on_deaf(&fault, now),
            Event::Turn { id, complete } => self.on_judged(id, complete, now),
            Event::Transcript { id, text, last } => self.on_transcript(id, text, last, now),
            Event::TranscriptFailed { id, fault } => self.on_transcript_failed(id, &fault, now),
            Event::Reply { id, event } => {
                self.on_reply(id, event, now);
                self.touch(now);
            }
            Event::Played { samples } => self.playout.played(samples),
            Event::RateLimits(limits) => self.rate_limits = limits,
            Event::ResumeFailed(fault) => self.say_error(&fault, None),
        }
        self.settle(now);
    }

    /// The time of [`Session::poll_deadline`] has come.
    pub fn handle_timeout(&mut self, now: Duration) {
        while let Some(timer) = self.timers.take_due(now) {
            match timer {
                Timer::Silence => self.on_silent_clock(now),
                Timer::Overlap => self.on_overlap_timer(now),
                Timer::Unanswered => self.on_unanswered(now),
                Timer::Warning => self.say_expiring(),
                // any => Closed
                Timer::Idle => {
                    let message = "Nothing was said or sent for too long.";
                    self.say_error(&Fault::new(Kind::Slow, "idle_timeout", message), None);
                    self.stop(1000, "idle");
                }
                // any => Closed
                Timer::Lifetime => {
                    let limit = self.config.limits.lifetime.as_secs();
                    let message = format!(
                        "Your session hit the maximum duration of {limit} seconds; open another."
                    );
                    self.say_error(&Fault::new(Kind::Slow, "session_expired", message), None);
                    self.stop(1001, "session expired");
                }
                // any => Closed
                Timer::Detached => {
                    self.stop(1000, "connection lost");
                    self.frames.clear();
                }
            }
            if self.state == State::Closed {
                return;
            }
        }
        self.settle(now);
    }

    /// The connection is lost. The session waits for [`Session::resume`] and is
    /// [closed](Session::is_closed) when that does not come in time.
    pub fn handle_peer_closed(&mut self, now: Duration) {
        if self.state == State::Closed || self.config.limits.detached.is_zero() {
            self.stop(1000, "connection lost");
            self.frames.clear();
            return;
        }
        let until = now + self.config.limits.detached;
        self.timers.set(Timer::Detached, Some(until));
    }

    /// A client has come back with the token of `session.created` and the number of the last
    /// event that it received. What follows that event is sent again.
    ///
    /// # Errors
    /// Another token, a session that is over, or events that are not kept any more.
    pub fn resume(&mut self, token: &str, last_seq: u64, now: Duration) -> Result<(), Fault> {
        if token != self.resume_token || self.state == State::Closed {
            return Err(not_resumable("no session waits under this resume_token"));
        }
        if let Err(oldest) = self.frames.rewind(last_seq) {
            let last = self.frames.seq();
            return Err(not_resumable(&format!(
                "last_event_seq was {last_seq}; the events {oldest} to {last} are kept"
            )));
        }
        self.timers.set(Timer::Detached, None);
        let event = json!({
            "type": "session.resumed",
            "session": self.session_value(),
            "last_event_seq": last_seq,
        });
        self.frames.greet(event);
        self.touch(now);
        Ok(())
    }

    /// The server is closing: what is being said is said to its end, and then the session ends.
    pub fn handle_drain(&mut self, now: Duration) {
        if self.state == State::Open {
            self.state = State::Draining;
            self.settle(now);
        }
    }

    /// The server can wait no longer: everything stops now.
    pub fn handle_stop(&mut self) {
        if self.state != State::Closed {
            let fault = Fault::new(Kind::Cancelled, "server_closing", "The server is closing.");
            self.say_error(&fault, None);
            self.stop(1001, "server is closing");
        }
    }

    // What it wants.

    /// The next thing for models to do.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next event for the client. To be called when the socket can take one.
    pub fn poll_frame(&mut self, now: Duration) -> Option<Frame> {
        let frame = self.frames.poll(now)?;
        if frame.first_audio_of.is_some() {
            self.say_timings();
        }
        Some(frame)
    }

    /// What plays in the next 20 ms, or none for silence. `WebRtc` only. The hot path of such a
    /// session: it allocates nothing unless there is something to tell.
    pub fn poll_packet(&mut self, now: Duration) -> Option<[f32; PACKET]> {
        let unheard = self.playout.unheard();
        let packet = self.playout.poll()?;
        if let Some(reply) = unheard {
            self.frames.note_first_audio(reply, now);
            self.say_timings();
        }
        self.say_drained(now);
        self.echo.play(&packet, now);
        Some(packet)
    }

    /// When to call [`Session::handle_timeout`].
    #[must_use]
    pub fn poll_deadline(&self) -> Option<Duration> {
        self.timers.next()
    }

    /// Whether an event waits for the client.
    #[must_use]
    pub fn has_frames(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Whether news of this reply may be handed in now: it is wanted, and there is room.
    #[must_use]
    pub fn wants(&self, reply: ReplyId) -> bool {
        let guesses = [
            self.guess.as_ref(),
            self.auto.as_ref().and_then(|a| a.guess.as_ref()),
        ];
        if let Some(guess) = guesses
            .into_iter()
            .flatten()
            .find(|g| g.reply() == Some(reply))
        {
            return guess.has_room();
        }
        let runs = self
            .responses
            .iter()
            .any(|response| response.reply == reply);
        runs && self.frames.has_room() && self.playout.has_room()
    }

    /// Whether all is over: no command, event or packet is left or will come.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed && self.frames.is_empty() && self.commands.is_empty()
    }

    /// Its id, such as `sess_` and letters.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What a client shows to come back.
    #[must_use]
    pub fn resume_token(&self) -> &str {
        &self.resume_token
    }

    pub(super) fn session_value(&self) -> Value {
        let mut value = self.settings.value();
        value["id"] = json!(self.id);
        value["expires_at"] = json!(self.expires_at);
        value
    }

    // What it does.

    /// Takes audio in, and has it listened to.
    pub(super) fn on_audio(&mut self, audio: &[f32], now: Duration) {
        self.input.push(audio, now);
        self.echo.hear(audio, self.input.end(), now);
        if self.settings.detection.is_some()
            && !self.deaf
            && let Some(frames) = self.input.listen(audio)
        {
            self.commands.push_back(Command::Listen(frames));
        }
        // Nobody commits: the oldest goes.
        let most = samples(self.config.limits.turn) + count(audio.len());
        let oldest = self.input.end().saturating_sub(most);
        if self.turn.is_none() && oldest > self.input.start() {
            self.input.drop_before(oldest);
        }
    }

    fn on_deaf(&mut self, fault: &Fault, now: Duration) {
        self.deaf = true;
        self.input.stop_listening();
        self.say_error(fault, None);
        if self.turn.is_some() {
            self.end_turn(now);
        }
    }

    /// Something has happened.
    fn touch(&mut self, now: Duration) {
        let idle = now + self.config.limits.idle;
        self.timers.set(Timer::Idle, Some(idle));
    }

    /// Brings everything up to date after an input.
    fn settle(&mut self, now: Duration) {
        self.say_drained(now);
        let silence = self.silence_deadline(now);
        self.timers.set(Timer::Silence, silence);
        if self.frames.overflows() {
            self.frames.clear();
            return self.stop(1008, "events are not being read");
        }
        let quiet = self.turn.is_none() && self.auto.is_none() && self.responses.is_empty();
        // Draining => Closed
        if self.state == State::Draining && quiet && self.playout.is_empty() {
            self.stop(1001, "server is closing");
        }
    }

    /// Ends the session: what is being done is given up, what waits to be sent is sent.
    fn stop(&mut self, code: u16, reason: &'static str) {
        if self.state == State::Closed {
            return;
        }
        self.take_turn();
        self.forget_auto();
        for writing in std::mem::take(&mut self.writings) {
            let id = writing.id();
            self.commands.push_back(Command::CancelTranscription { id });
        }
        for response in std::mem::take(&mut self.responses) {
            if response.launched {
                let id = response.reply;
                self.commands.push_back(Command::CancelReply { id });
            }
            response.end(
                self,
                &super::response::Outcome::Cancelled("session_closed"),
                None,
            );
        }
        self.playout.clear();
        self.input = Input::new();
        self.timers.clear();
        self.state = State::Closed;
        self.frames.close(code, reason);
    }

    // What it says.

    pub(super) fn say(&mut self, event: Value) {
        self.frames.event(event);
    }

    pub(super) fn say_item(&mut self, kind: &str, item: &Item, previous: Option<&str>) {
        self.say(json!({"type": kind, "previous_item_id": previous, "item": item.value()}));
    }

    fn say_created(&mut self) {
        let limits = self.config.limits;
        let event = json!({
            "type": "session.created",
            "session": self.session_value(),
            "resume_token": self.resume_token,
            "capabilities": {
                "audio_output": ["audio/pcm", "audio/pcmu", "audio/pcma"],
                "turn_detection": ["server_vad", "semantic_vad", "none"],
                "overlap_modes": ["interrupt", "duck", "pause"],
                "playback_ack": self.config.transport == Transport::WebSocket,
                "speculative_replies": self.config.ahead.replies,
                "resume": {
                    "seconds": limits.detached.as_secs(),
                    "bytes": limits.replay_bytes,
                },
                "turn_seconds": limits.turn.as_secs(),
                "items": limits.items,
                "responses": limits.responses,
            },
        });
        self.say(event);
        if !self.only_transcribes() {
            let conversation =
                json!({"id": self.conversation_id, "object": "realtime.conversation"});
            self.say(json!({"type": "conversation.created", "conversation": conversation}));
        }
    }

    fn say_expiring(&mut self) {
        let seconds = self.config.limits.warning.as_secs();
        self.say(json!({
            "type": "promenade.session.expiring",
            "expires_at": self.expires_at,
            "seconds_left": seconds,
        }));
    }

    /// Tells of responses whose audio has all been played.
    pub(super) fn say_drained(&mut self, now: Duration) {
        while let Some(response) = self.playout.take_drained() {
            self.say(json!({
                "type": "output_audio_buffer.stopped",
                "response_id": response,
            }));
            self.wait_for_user(now);
        }
    }

    /// Keeps the times of a turn until its first audio has left.
    pub(super) fn keep_timing(&mut self, response: String, reply: ReplyId, timing: Timing) {
        self.timings.push_back((response, reply, timing));
        if self.timings.len() > TIMINGS {
            self.timings.pop_front();
        }
        self.say_timings();
    }

    fn say_timings(&mut self) {
        let mut kept = std::mem::take(&mut self.timings);
        kept.retain(|(response, reply, timing)| {
            let sent = self.frames.first_audio_at(*reply);
            if sent.is_none() && timing.first_audio.is_some() {
                return true;
            }
            let event = timing.value(response, sent);
            self.say(event);
            false
        });
        self.timings = kept;
    }

    pub(super) fn say_error(&mut self, fault: &Fault, event_id: Option<&str>) {
        self.frames.event(json!({
            "type": "error",
            "error": {
                "type": fault.wire_type(),
                "code": fault.code,
                "message": fault.message,
                "param": fault.param,
                "event_id": event_id,
            },
        }));
    }
}

fn not_resumable(why: &str) -> Fault {
    Fault::new(
        Kind::NotFound,
        "session_not_resumable",
        format!("The session cannot be resumed: {why}."),
    )
}
