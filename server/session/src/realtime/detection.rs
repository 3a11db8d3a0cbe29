//! How the end of a turn is found: `audio.input.turn_detection`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{Fault, Fields};

/// What both kinds have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Detection {
    pub(super) kind: Kind,
    /// A response follows each turn.
    pub(super) create_response: bool,
    /// Speech ends a running response.
    pub(super) interrupt_response: bool,
    /// What happens when the user speaks over a response; our own.
    pub(super) overlap: Overlap,
}

/// How silence is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// By its length.
    Server {
        /// Probability from which on it is speech.
        threshold: f32,
        /// How much audio before speech belongs to it.
        prefix: Duration,
        /// How much silence ends a turn.
        silence: Duration,
        /// How long nobody may say anything after a response.
        idle: Option<Duration>,
    },
    /// By what was said.
    Semantic(Eagerness),
}

/// How soon a turn counts as over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eagerness {
    Low,
    Medium,
    High,
    Auto,
}

impl Eagerness {
    const NAMES: [&'static str; 4] = ["low", "medium", "high", "auto"];

    fn from_name(name: &str) -> Self {
        match name {
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            _ => Self::Auto,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Auto => "auto",
        }
    }

    /// The longest silence inside of a turn.
    pub(super) fn longest(self) -> Duration {
        Duration::from_secs(match self {
            Self::Low => 8,
            Self::Medium | Self::Auto => 4,
            Self::High => 2,
        })
    }

    /// The silence that ends a turn which sounds complete.
    pub(super) fn shortest(self) -> Duration {
        Duration::from_millis(match self {
            Self::Low => 500,
            Self::Medium | Self::Auto => 300,
            Self::High => 200,
        })
    }
}

/// What happens when the user speaks over a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Overlap {
    pub(super) mode: Mode,
    /// Speech as long as this is an interruption whatever is said.
    pub(super) decide: Option<Duration>,
}

/// The modes of [`Overlap`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each speech interrupts at once.
    #[default]
    Interrupt,
    /// The response goes on quietly until it is decided.
    Duck,
    /// The response stands still until it is decided.
    Pause,
}

impl Mode {
    const NAMES: [&'static str; 3] = ["interrupt", "duck", "pause"];

    fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl Overlap {
    pub(super) fn decide(self) -> Duration {
        self.decide.unwrap_or(Duration::from_millis(600))
    }
}

const FIELDS: [&str; 10] = [
    "type",
    "threshold",
    "prefix_padding_ms",
    "silence_duration_ms",
    "idle_timeout_ms",
    "eagerness",
    "create_response",
    "interrupt_response",
    "overlap",
    "decide_ms",
];

impl Default for Detection {
    fn default() -> Self {
        Self {
            kind: Kind::server(),
            create_response: true,
            interrupt_response: true,
            overlap: Overlap::default(),
        }
    }
}

impl Kind {
    fn server() -> Self {
        Self::Server {
            threshold: 0.5,
            prefix: Duration::from_millis(300),
            silence: Duration::from_millis(500),
            idle: None,
        }
    }
}

impl Detection {
    /// Reads an object over what was there before.
    pub(super) fn read(mut fields: Fields, before: Option<Self>) -> Result<Self, Fault> {
        let mut found = before.unwrap_or_default();
        match fields.one_of("type", &["server_vad", "semantic_vad"])? {
            None if before.is_none() => return Err(fields.missing("type")),
            Some("server_vad") if !matches!(found.kind, Kind::Server { .. }) => {
                found.kind = Kind::server();
            }
            Some("semantic_vad") if matches!(found.kind, Kind::Server { .. }) => {
                found.kind = Kind::Semantic(Eagerness::Auto);
            }
            _ => {}
        }
        found.kind = match found.kind {
            Kind::Semantic(eagerness) => {
                let named = fields.one_of("eagerness", &Eagerness::NAMES)?;
                Kind::Semantic(named.map_or(eagerness, Eagerness::from_name))
            }
            server => read_server(&mut fields, server)?,
        };
        if let Some(value) = fields.boolean("create_response")? {
            found.create_response = value;
        }
        if let Some(value) = fields.boolean("interrupt_response")? {
            found.interrupt_response = value;
        }
        if let Some(mut overlap) = fields.object("overlap")? {
            let mode = overlap.one_of("mode", &Mode::NAMES)?;
            found.overlap.mode = match mode {
                Some("duck") => Mode::Duck,
                Some("pause") => Mode::Pause,
                Some(_) => Mode::Interrupt,
                None => found.overlap.mode,
            };
            if let Some(ms) = overlap.integer_within("decide_ms", 100, 5_000)? {
                found.overlap.decide = Some(Duration::from_millis(ms));
            }
            overlap.finish(&["mode", "decide_ms"])?;
        }
        for name in FIELDS {
            // A `null` asks for nothing.
            fields.clears(name);
        }
        fields.finish(&FIELDS)?;
        Ok(found)
    }

    pub(super) fn value(&self) -> Value {
        let mut value = match self.kind {
            Kind::Server {
                threshold,
                prefix,
                silence,
                idle,
            } => json!({
                "type": "server_vad",
                "threshold": tidy(threshold),
                "prefix_padding_ms": ms(prefix),
                "silence_duration_ms": ms(silence),
                "idle_timeout_ms": idle.map(ms),
            }),
            Kind::Semantic(eagerness) => json!({
                "type": "semantic_vad",
                "eagerness": eagerness.name(),
            }),
        };
        value["create_response"] = json!(self.create_response);
        value["interrupt_response"] = json!(self.interrupt_response);
        if self.overlap != Overlap::default() {
            value["overlap"] = json!({
                "mode": self.overlap.mode.name(),
                "decide_ms": ms(self.overlap.decide()),
            });
        }
        value
    }

    /// Probability from which on it is speech.
    pub(super) fn threshold(&self) -> f32 {
        match self.kind {
            Kind::Server { threshold, .. } => threshold,
            Kind::Semantic(_) => 0.5,
        }
    }

    /// How much audio before speech belongs to it.
    pub(super) fn prefix(&self) -> Duration {
        match self.kind {
            Kind::Server { prefix, .. } => prefix,
            Kind::Semantic(_) => Duration::from_millis(300),
        }
    }
}

fn read_server(fields: &mut Fields, before: Kind) -> Result<Kind, Fault> {
    let Kind::Server {
        mut threshold,
        mut prefix,
        mut silence,
        mut idle,
    } = before
    else {
        return Ok(before);
    };
    if let Some(value) = fields.number("threshold", 0.0, 1.0)? {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "in 0..=1; a probability has no more digits"
        )]
        let value = value as f32;
        threshold = value;
    }
    if let Some(value) = fields.integer_within("prefix_padding_ms", 0, 5_000)? {
        prefix = Duration::from_millis(value);
    }
    if let Some(value) = fields.integer_within("silence_duration_ms", 0, 30_000)? {
        silence = Duration::from_millis(value);
    }
    if fields.clears("idle_timeout_ms") {
        idle = None;
    } else if let Some(value) = fields.integer_within("idle_timeout_ms", 5_000, 30_000)? {
        idle = Some(Duration::from_millis(value));
    }
    Ok(Kind::Server {
        threshold,
        prefix,
        silence,
        idle,
    })
}

/// A number of few digits as it was written: 0.3, and not 0.30000001192092896.
pub(super) fn tidy(value: f32) -> f64 {
    (f64::from(value) * 1e6).round() / 1e6
}

/// Whole milliseconds.
pub(super) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
