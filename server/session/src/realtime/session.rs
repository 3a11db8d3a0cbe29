//! The state machine of one session. See the [module above](super).

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use super::command::{Command, ReplyId};
use super::config::Config;
use super::event::Event;
use super::frames::{Frame, Frames};
use super::ids::Ids;
use super::settings::Settings;
use super::timer::{Timer, Timers};
use crate::{Fault, Fields};

/// Samples of a packet: 20 ms at 24 kHz.
pub const PACKET: usize = 480;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// Over. Nothing leads back.
    Closed,
}

/// See the [module above](super).
#[derive(Debug)]
pub struct Session {
    pub(super) config: Config,
    pub(super) state: State,
    pub(super) timers: Timers,
    pub(super) settings: Settings,
    pub(super) ids: Ids,
    id: String,
    resume_token: String,
    expires_at: u64,
    pub(super) commands: VecDeque<Command>,
    pub(super) frames: Frames,
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
        let fault = Settings::new(&config).err();
        let settings = Settings::new(&config).unwrap_or_else(|_| Settings::defaults(&config));
        let mut session = Self {
            state: State::Open,
            timers,
            settings,
            id: ids.draw("sess_"),
            resume_token: ids.draw("resume_"),
            expires_at: (config.unix_time + limits.lifetime).as_secs(),
            commands: VecDeque::new(),
            frames: Frames::new(Ids::new(config.seed ^ 0x5eed), limits.replay_bytes),
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
        let _ = (text, now);
    }

    /// Audio that came beside the events: mono, -1 to 1, 24 kHz.
    pub fn handle_microphone(&mut self, samples: &[f32], now: Duration) {
        let _ = (samples, now);
    }

    /// What models and the way out tell.
    pub fn handle(&mut self, event: Event<'_>, now: Duration) {
        let _ = (event, now);
    }

    /// The time of [`Session::poll_deadline`] has come.
    pub fn handle_timeout(&mut self, now: Duration) {
        let _ = self.timers.take_due(now);
    }

    /// The connection is lost. The session waits for [`Session::resume`] and is
    /// [closed](Session::is_closed) when that does not come in time.
    pub fn handle_peer_closed(&mut self, now: Duration) {
        let _ = now;
    }

    /// A client has come back with the token of `session.created` and the number of the last
    /// event that it received. What follows that event is sent again.
    ///
    /// # Errors
    /// Another token, or events that are not kept any more.
    pub fn resume(&mut self, token: &str, last_seq: u64, now: Duration) -> Result<(), Fault> {
        let _ = (token, last_seq, now);
        Ok(())
    }

    /// The server is closing: what is being said is said to its end, and then the session ends.
    pub fn handle_drain(&mut self, now: Duration) {
        let _ = now;
    }

    /// The server can wait no longer: everything stops now.
    pub fn handle_stop(&mut self) {}

    // What it wants.

    /// The next thing for models to do.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next event for the client. To be called when the socket can take one.
    pub fn poll_frame(&mut self, now: Duration) -> Option<Frame> {
        self.frames.poll(now)
    }

    /// What plays in the next 20 ms, or none for silence. `WebRtc` only.
    pub fn poll_packet(&mut self, now: Duration) -> Option<[f32; PACKET]> {
        let _ = now;
        None
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
        let _ = reply;
        self.frames.has_room()
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

    fn session_value(&self) -> Value {
        let mut value = self.settings.value();
        value["id"] = json!(self.id);
        value["expires_at"] = json!(self.expires_at);
        value
    }

    fn say_created(&mut self) {
        let event = json!({
            "type": "session.created",
            "session": self.session_value(),
            "resume_token": self.resume_token,
        });
        self.frames.event(event);
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
