//! What a server is started with: a file, the environment, flags; later ones win.
//!
//! The file is TOML. The environment uses the same names in capitals behind `PROMENADE_`, with
//! `__` between a table and its key: `PROMENADE_LIMITS__INPUT_CHARS=4096`. A key that does not
//! exist is an error that names the nearest one. Units stand in the names.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};
use serde::{Deserialize, Serialize};
use session::near;

/// Variables behind `PROMENADE_` that are not configuration of the server.
const FOREIGN: [&str; 3] = ["cache", "bin", "test"];

/// Everything that a server is started with.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen. Port 0 lets the system choose.
    pub listen: SocketAddr,
    /// What to serve: `default` (the installed voice), the path of a voice's `.onnx` file, or the
    /// id of any other model, such as `toy` and `toy-chat`. The first one that speaks is the
    /// default for speech; voices and language models stand side by side.
    pub models: Vec<String>,
    /// Threads for the arithmetic of one step; 0 means one for each core.
    pub threads: usize,
    /// Worker threads, each running steps of its own; 0 means what the models can use: one, and a
    /// second one for what listens all the time, which would otherwise wait for the others' steps.
    pub workers: usize,
    /// In which order ready work is done.
    pub scheduling: Scheduling,
    /// What to log, as `tracing` filters are written.
    pub log: String,
    /// How conversations by voice are held.
    pub realtime: Realtime,
    /// How much, how many and how long.
    pub limits: Limits,
    /// Who may come in.
    pub auth: Auth,
    /// Which web pages may use this server.
    pub cors: Cors,
    /// Calls by WebRTC.
    pub rtc: Rtc,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            models: vec!["default".to_owned()],
            threads: 0,
            workers: 0,
            scheduling: Scheduling::default(),
            log: "warn,server=info,promenade=info".to_owned(),
            realtime: Realtime::default(),
            limits: Limits::default(),
            auth: Auth::default(),
            cors: Cors::default(),
            rtc: Rtc::default(),
        }
    }
}

/// In which order ready work is done. The times matter by `deadline` only.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduling {
    /// `deadline`: in the order in which listeners would run dry; `fifo`: first come, first
    /// served; `round_robin`: nodes take turns.
    pub policy: Policy,
    /// How long after a request came its first audio is due.
    pub first_output_seconds: f64,
    /// How long a step that nobody hears may wait, such as a word of text.
    pub text_seconds: f64,
    /// Whether to refuse a listener with whom those who are served would not be served in time.
    pub admission: bool,
    /// The share of a worker's time that its listeners may take together.
    pub admission_load: f64,
    /// How long a newcomer may have to wait for its first audio, by what work has cost so far.
    pub admission_first_output_seconds: f64,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            policy: Policy::Deadline,
            first_output_seconds: 0.1,
            text_seconds: 0.1,
            admission: true,
            admission_load: 0.8,
            admission_first_output_seconds: 0.5,
        }
    }
}

/// The rule by which work is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// In the order in which listeners would run dry.
    Deadline,
    /// First come, first served.
    Fifo,
    /// Nodes take turns.
    RoundRobin,
}

/// How conversations by voice are held, where the client does not say.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Realtime {
    /// What the model is told first; empty: that it is a voice assistant, and to be brief.
    pub instructions: String,
    /// The most tokens of one reply; 0: as many as the model may.
    pub max_tokens: u32,
    /// Seconds for which nothing at all may happen in a conversation.
    pub idle_seconds: f64,
    /// Seconds for which a conversation waits for a client whose connection is lost.
    pub resume_seconds: f64,
}

impl Default for Realtime {
    fn default() -> Self {
        Self {
            instructions: String::new(),
            max_tokens: 512,
            idle_seconds: 900.0,
            resume_seconds: 30.0,
        }
    }
}

/// How much, how many and how long. Every one of them is answered by name when it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Characters of `input` in one HTTP request. `OpenAI` takes 4096; a streamed answer can
    /// afford more.
    pub input_chars: usize,
    /// Messages of one conversation.
    pub chat_messages: usize,
    /// Tokens of one answer to a conversation; the limit, too, where a request names none.
    pub chat_tokens: usize,
    /// Answers to one conversation (`n`); each takes a place of `streams`.
    pub chat_choices: usize,
    /// Tools that one conversation may offer.
    pub chat_tools: usize,
    /// Bytes of an HTTP request's body.
    pub body_bytes: usize,
    /// Bytes of a recording to transcribe.
    pub file_bytes: usize,
    /// Seconds of a recording to transcribe.
    pub recording_seconds: f64,
    /// Bytes of an HTTP request's head.
    pub head_bytes: usize,
    /// Bytes of one WebSocket message from a client.
    pub message_bytes: usize,
    /// Bytes of audio or text that an answer in one piece may collect.
    pub whole_bytes: usize,
    /// Connections, whatever they carry.
    pub connections: usize,
    /// Utterances and answers being made, over all doors.
    pub streams: usize,
    /// Open speech sockets.
    pub sockets: usize,
    /// Contexts on one speech socket.
    pub contexts: usize,
    /// Utterances of one context that wait or are being spoken.
    pub utterances: usize,
    /// Characters that one speech socket may hold unspoken.
    pub buffered_chars: usize,
    /// Seconds for a request's head to arrive, and between two requests on one connection.
    pub head_seconds: f64,
    /// Seconds for a request's body to arrive.
    pub body_seconds: f64,
    /// Seconds for which a client may take nothing of what it is sent.
    pub stall_seconds: f64,
    /// Seconds that one HTTP answer may take.
    pub stream_seconds: f64,
    /// Seconds for a speech socket's `session.config` to arrive.
    pub config_seconds: f64,
    /// Seconds for which a speech socket may be idle.
    pub idle_seconds: f64,
    /// Seconds that a speech socket may live.
    pub session_seconds: f64,
    /// Seconds that streams may go on after a signal to stop.
    pub drain_seconds: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            input_chars: 16_384,
            chat_messages: 1024,
            chat_tokens: 8192,
            chat_choices: 8,
            chat_tools: 128,
            body_bytes: 256 * 1024,
            file_bytes: 25 * 1024 * 1024,
            recording_seconds: 3600.0,
            head_bytes: 32 * 1024,
            message_bytes: 1024 * 1024,
            whole_bytes: 64 * 1024 * 1024,
            connections: 2048,
            streams: 512,
            sockets: 512,
            contexts: 16,
            utterances: 16,
            buffered_chars: 256 * 1024,
            head_seconds: 10.0,
            body_seconds: 10.0,
            stall_seconds: 30.0,
            stream_seconds: 1800.0,
            config_seconds: 10.0,
            idle_seconds: 30.0,
            session_seconds: 3600.0,
            drain_seconds: 30.0,
        }
    }
}

/// Who may come in.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auth {
    /// Keys that open `/v1`, sent as `Authorization: Bearer KEY`. None: everybody may come in.
    pub keys: Vec<String>,
    /// Utterances and answers that one key may have made at once; more is answered by 429.
    pub streams_per_key: Option<usize>,
}

/// Which web pages may use this server. Its own page and pages on this machine always may.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cors {
    /// Origins such as `https://example.org`; `*` means all.
    pub origins: Vec<String>,
}

/// Calls by WebRTC: which addresses and ports they use, and how many there may be.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rtc {
    /// Local addresses for media. None: the one of `listen`.
    pub addresses: Vec<IpAddr>,
    /// The address by which callers reach this machine, where a router translates it (one to
    /// one, with the same ports).
    pub public_address: Option<IpAddr>,
    /// The first and the last UDP port; each call takes one.
    pub ports: [u16; 2],
    /// Calls at once.
    pub max_peers: usize,
    /// Seconds for a call to be connected after it was answered.
    pub connect_seconds: f64,
}

impl Default for Rtc {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            public_address: None,
            // Below the ports that systems give out by themselves, and beside common services.
            ports: [30_000, 30_999],
            max_peers: 64,
            connect_seconds: 15.0,
        }
    }
}

/// Why a configuration cannot be used. The operator's doing; the message says where and what.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that was named is not there or cannot be read.
    #[error("cannot read the configuration {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A key that does not exist.
    #[error("unknown key `{key}` in {place}{hint}; known are {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The file or environment that it stands in.
        place: String,
        /// The nearest key.
        hint: String,
        /// All keys of that table.
        known: String,
    },
    /// A value of a wrong type or form.
    #[error("{0}")]
    Value(String),
    /// A value that makes no sense.
    #[error("`{key}` is {got}: {accepted}")]
    Range {
        /// The key.
        key: &'static str,
        /// The value.
        got: String,
        /// What is accepted.
        accepted: &'static str,
    },
}

impl Config {
    /// Reads the file, if one is named, and the environment over it.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn load(file: Option<&Path>) -> Result<Self, Error> {
        let mut layers = Figment::from(Serialized::defaults(Self::default()));
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(|error| Error::Unreadable {
                path: path.display().to_string(),
                reason: error.to_string(),
            })?;
            // Read once, so that a missing file is an error; parsed by path, so that errors name it.
            drop(text);
            layers = layers.merge(Toml::file_exact(path));
        }
        let environment = Env::prefixed("PROMENADE_").ignore(&FOREIGN).split("__");
        let config: Self = layers
            .merge(environment)
            .extract()
            .map_err(|error| explain(&error))?;
        config.check()?;
        Ok(config)
    }

    /// Reads a file's text alone.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let layers = Figment::from(Serialized::defaults(Self::default())).merge(Toml::string(text));
        let config: Self = layers.extract().map_err(|error| explain(&error))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Error> {
        let l = &self.limits;
        let counts = [
            ("limits.input_chars", l.input_chars),
            ("limits.chat_messages", l.chat_messages),
            ("limits.chat_tokens", l.chat_tokens),
            ("limits.chat_choices", l.chat_choices),
            ("limits.chat_tools", l.chat_tools),
            ("limits.body_bytes", l.body_bytes),
            ("limits.message_bytes", l.message_bytes),
            ("limits.whole_bytes", l.whole_bytes),
            ("limits.connections", l.connections),
            ("limits.streams", l.streams),
            ("limits.sockets", l.sockets),
            ("limits.contexts", l.contexts),
            ("limits.utterances", l.utterances),
            ("limits.buffered_chars", l.buffered_chars),
            ("rtc.max_peers", self.rtc.max_peers),
            ("models (how many)", self.models.len()),
            (
                "auth.streams_per_key",
                self.auth.streams_per_key.unwrap_or(1),
            ),
        ];
        for (key, value) in counts {
            if value == 0 {
                return Err(range(key, &value, "at least 1 is needed"));
            }
        }
        if l.head_bytes < 8192 {
            return Err(range(
                "limits.head_bytes",
                &l.head_bytes,
                "at least 8192 is needed",
            ));
        }
        let seconds = [
            ("limits.head_seconds", l.head_seconds),
            ("limits.body_seconds", l.body_seconds),
            ("limits.stall_seconds", l.stall_seconds),
            ("limits.stream_seconds", l.stream_seconds),
            ("limits.config_seconds", l.config_seconds),
            ("limits.idle_seconds", l.idle_seconds),
            ("limits.session_seconds", l.session_seconds),
            ("realtime.idle_seconds", self.realtime.idle_seconds),
            (
                "scheduling.first_output_seconds",
                self.scheduling.first_output_seconds,
            ),
            ("scheduling.text_seconds", self.scheduling.text_seconds),
            ("rtc.connect_seconds", self.rtc.connect_seconds),
            (
                "scheduling.admission_first_output_seconds",
                self.scheduling.admission_first_output_seconds,
            ),
        ];
        for (key, value) in seconds {
            if !(0.001..=1e6).contains(&value) {
                return Err(range(key, &value, "0.001 to 1000000 seconds are accepted"));
            }
        }
        let [first, last] = self.rtc.ports;
        if !(1024 <= first && first <= last) {
            let accepted = "[first, last] with 1024 <= first <= last is accepted";
            return Err(range("rtc.ports", &format!("[{first}, {last}]"), accepted));
        }
        let load = &self.scheduling.admission_load;
        if !(0.01..=1.0).contains(load) {
            let accepted = "0.01 to 1 is accepted";
            return Err(range("scheduling.admission_load", load, accepted));
        }
        if !(0.0..=1e6).contains(&l.drain_seconds) {
            let accepted = "0 to 1000000 seconds are accepted";
            return Err(range("limits.drain_seconds", &l.drain_seconds, accepted));
        }
        let resume = &self.realtime.resume_seconds;
        if !(0.0..=3600.0).contains(resume) {
            let accepted = "0 to 3600 seconds are accepted";
            return Err(range("realtime.resume_seconds", resume, accepted));
        }
        if self.auth.keys.iter().any(|key| key.trim().is_empty()) {
            return Err(range(
                "auth.keys",
                &"an empty key",
                "a key has at least one character",
            ));
        }
        Ok(())
    }
}

/// A number of seconds from [`Limits`] as a duration.
#[must_use]
pub fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX)
}

fn range(key: &'static str, got: &dyn std::fmt::Display, accepted: &'static str) -> Error {
    Error::Range {
        key,
        got: got.to_string(),
        accepted,
    }
}

fn explain(error: &figment::Error) -> Error {
    // Figment gathers several; the first one is as good as any.
    let Some(first) = error.clone().into_iter().next() else {
        return Error::Value(error.to_string());
    };
    let place = first.metadata.as_ref().map_or_else(
        || "the configuration".to_owned(),
        |metadata| match &metadata.source {
            Some(source) => source.to_string(),
            None => metadata.name.to_string(),
        },
    );
    match &first.kind {
        figment::error::Kind::UnknownField(name, known) => {
            let mut path = first.path.clone();
            if path.last() != Some(name) {
                path.push(name.clone());
            }
            Error::UnknownKey {
                key: path.join("."),
                place,
                hint: near::hint(name, known.iter().copied()),
                known: known.join(", "),
            }
        }
        _ => Error::Value(first.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_default() {
        assert_eq!(Config::parse("").unwrap(), Config::default());
    }

    #[test]
    fn the_example_holds_every_key_with_its_default() {
        let example = include_str!("../configs/promenade.toml");
        assert_eq!(Config::parse(example).unwrap(), Config::default());
        let defaults = figment::value::Value::serialize(Config::default()).unwrap();
        let mut keys = Vec::new();
        let mut tables = vec![defaults];
        while let Some(figment::value::Value::Dict(_, table)) = tables.pop() {
            for (key, value) in table {
                keys.push(key);
                if value.as_dict().is_some() {
                    tables.push(value);
                }
            }
        }
        assert!(keys.len() > 25);
        for key in keys {
            let there =
                example.contains(&format!("{key} = ")) || example.contains(&format!("[{key}]"));
            assert!(there, "{key}");
        }
    }

    #[test]
    fn an_unknown_key_is_answered_with_the_nearest() {
        for (text, wanted) in [
            ("lissten = \"127.0.0.1:1\"", "did you mean 'listen'"),
            ("[limits]\ninput_char = 3", "did you mean 'input_chars'"),
            ("[limitz]\na = 1", "did you mean 'limits'"),
            ("[auth]\nkey = [\"a\"]", "did you mean 'keys'"),
        ] {
            let error = Config::parse(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        let error = Config::parse("[limits]\ninput_char = 3")
            .unwrap_err()
            .to_string();
        assert!(error.contains("`limits.input_char`"), "{error}");
    }

    #[test]
    fn a_wrong_value_names_its_key() {
        for (text, wanted) in [
            ("listen = 3", "listen"),
            ("[limits]\nstreams = \"many\"", "limits.streams"),
            ("[limits]\nstreams = 0", "limits.streams"),
            ("[limits]\nidle_seconds = -1.0", "limits.idle_seconds"),
            ("[auth]\nkeys = [\" \"]", "auth.keys"),
            ("models = []", "models"),
            ("[rtc]\nports = [400, 300]", "rtc.ports"),
        ] {
            let error = Config::parse(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let error = Config::load(Some(Path::new("/nowhere/at-all.toml"))).unwrap_err();
        assert!(matches!(error, Error::Unreadable { .. }));
    }
}
