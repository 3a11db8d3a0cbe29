//! What a session is told when it begins.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::Catalog;

/// What carries a session, and so where its audio goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// Audio travels inside of events, in both directions.
    #[default]
    WebSocket,
    /// Audio travels beside the events: [`Session::handle_microphone`] and
    /// [`Session::poll_packet`].
    ///
    /// [`Session::handle_microphone`]: super::Session::handle_microphone
    /// [`Session::poll_packet`]: super::Session::poll_packet
    WebRtc,
}

/// Which kind of session it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// A conversation.
    #[default]
    Realtime,
    /// It only writes down what it hears.
    Transcription,
}

/// See the [module](self).
#[derive(Debug, Clone)]
pub struct Config {
    /// What carries it.
    pub transport: Transport,
    /// Which models and voices there are.
    pub catalog: Arc<Catalog>,
    /// What a session is as long as the client has not said otherwise.
    pub defaults: Defaults,
    /// How much it may hold, and how long it may last.
    pub limits: Limits,
    /// How early work begins that may turn out to be for nothing.
    pub ahead: Ahead,
    /// The time of day as the session begins, since 1970-01-01T00:00:00Z; for `expires_at`.
    pub unix_time: Duration,
    /// Ids are drawn from this. The same seed gives the same ids; it must not be guessable
    /// where `resume_token` is to protect a session.
    pub seed: u64,
}

impl Config {
    /// A conversation over a WebSocket, with the defaults.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            transport: Transport::default(),
            catalog,
            defaults: Defaults::default(),
            limits: Limits::default(),
            ahead: Ahead::default(),
            unix_time: Duration::ZERO,
            seed: 0,
        }
    }
}

/// What a session is as long as the client has not said otherwise.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// Conversation or transcription.
    pub kind: Kind,
    /// The name of the composite model, as the client is told it.
    pub model: String,
    /// The id of the model that speaks, whose voices may be chosen; `None`: the catalog's first.
    pub voices_of: Option<String>,
    /// The id of the recogniser, as the client is told it.
    pub recogniser: String,
    /// What the model is told first.
    pub instructions: String,
    /// The most tokens of a reply where the client does not say.
    pub max_tokens: Option<u32>,
    /// A session object to begin with, as of `session.update`: what a client secret or the
    /// `session` part of a call brought. See [`Session::check`](super::Session::check).
    pub session: Option<Value>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            model: "voice-chat".to_owned(),
            voices_of: None,
            recogniser: "whisper-tiny-en".to_owned(),
            instructions: "You are a helpful voice assistant who speaks English. Keep answers \
                           short: one or two sentences."
                .to_owned(),
            max_tokens: None,
            session: None,
        }
    }
}

/// How much one session may hold, and how long it may last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Age at which a session ends, whatever it does.
    pub lifetime: Duration,
    /// How long before that the client is warned.
    pub warning: Duration,
    /// How long nothing at all may happen: no event, no audio, no response.
    pub idle: Duration,
    /// How long a session without a connection waits for `session.resume`.
    pub detached: Duration,
    /// Audio that may wait for a commit, and so the longest turn.
    pub turn: Duration,
    /// Items of the conversation.
    pub items: usize,
    /// Characters of all texts of the conversation, instructions and tools.
    pub chars: usize,
    /// Responses that run at a time, out-of-band ones included.
    pub responses: usize,
    /// Functions that may be offered.
    pub tools: usize,
    /// Bytes of sent events that are kept for `session.resume`.
    pub replay_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(60 * 60),
            warning: Duration::from_secs(60),
            idle: Duration::from_secs(15 * 60),
            detached: Duration::from_secs(30),
            turn: Duration::from_secs(120),
            items: 1024,
            chars: 512 * 1024,
            responses: 4,
            tools: 128,
            replay_bytes: 2 * 1024 * 1024,
        }
    }
}

/// How early work begins that may turn out to be for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// Silence after which the turn is probably over: what was said is transcribed, and the
    /// reply begun if `replies`. `None`: only when the turn is over.
    pub probable_end: Option<Duration>,
    /// Whether a reply is begun at a probable end.
    pub replies: bool,
    /// While the user speaks, what was said so far is transcribed as often as this. `None`:
    /// never.
    pub interim: Option<Duration>,
}

impl Default for Ahead {
    fn default() -> Self {
        Self {
            probable_end: Some(Duration::from_millis(128)),
            replies: true,
            interim: None,
        }
    }
}
