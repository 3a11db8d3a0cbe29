//! What a client sends, parsed.

use codecs::audio::Format;

use super::sentences::Granularity;
use crate::{Base, Catalog, Fault, Fields, Kind, Settings, text};

/// Longest name of a context, in characters.
const CONTEXT_CHARS: usize = 64;

const TYPES: [&str; 9] = [
    "session.config",
    "context.open",
    "input.text",
    "input.flush",
    "input.clear",
    "input.done",
    "context.close",
    "session.close",
    "ping",
];

/// How audio reaches the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Encoding {
    /// Binary frames.
    #[default]
    Binary,
    /// `audio.delta` messages.
    Base64,
}

/// How a session's audio is cut, labelled and sent; set once, by `session.config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Delivery {
    pub(super) encoding: Encoding,
    pub(super) granularity: Granularity,
    /// One frame a sentence instead of audio as it is made.
    pub(super) whole_sentences: bool,
    /// `audio.chunk` before every binary frame, also in the unnamed context.
    pub(super) chunk_headers: bool,
    /// `audio.words` messages.
    pub(super) word_times: bool,
}

/// One message of a client. `context` is empty for the unnamed one.
#[derive(Debug, Clone)]
pub(super) enum Message {
    Config {
        settings: Settings,
        delivery: Delivery,
        ignored: Vec<String>,
    },
    OpenContext {
        context: String,
        fields: OpenFields,
    },
    Text {
        context: String,
        text: String,
    },
    Flush {
        context: String,
    },
    Clear {
        context: String,
    },
    Done {
        context: String,
    },
    CloseContext {
        context: String,
    },
    Close,
    Ping,
}

/// The fields of a `context.open`, to be read against the session's settings.
#[derive(Debug, Clone)]
pub(super) struct OpenFields(Fields);

impl OpenFields {
    pub(super) fn read(mut self, catalog: &Catalog, session: &Settings) -> Result<Settings, Fault> {
        let (settings, _) = Settings::read(&mut self.0, catalog, Base::Inherit(session))?;
        Ok(settings)
    }
}

impl Message {
    /// Parses one text message. A fault comes with the context that it concerns.
    pub(super) fn parse(bytes: &[u8], catalog: &Catalog) -> Result<Self, (String, Fault)> {
        let mut fields = Fields::parse(bytes).map_err(unnamed)?;
        let kind = fields.one_of("type", &TYPES).map_err(unnamed)?;
        let kind = kind.ok_or_else(|| unnamed(Fault::missing("type")))?;
        let context = fields
            .short_string("context_id", CONTEXT_CHARS)
            .map_err(unnamed)?
            .unwrap_or_default();
        Self::of_kind(kind, context.clone(), fields, catalog).map_err(|fault| (context, fault))
    }

    fn of_kind(
        kind: &str,
        context: String,
        mut fields: Fields,
        catalog: &Catalog,
    ) -> Result<Self, Fault> {
        Ok(match kind {
            "session.config" => return Self::config(fields, catalog),
            "context.open" => Self::OpenContext {
                context,
                fields: OpenFields(fields),
            },
            "input.text" => {
                let text = fields.string("text")?.ok_or(Fault::missing("text"))?;
                Self::Text {
                    context,
                    text: text::clean(&text).into_owned(),
                }
            }
            "input.flush" => Self::Flush { context },
            "input.clear" => Self::Clear { context },
            "input.done" => Self::Done { context },
            "context.close" => Self::CloseContext { context },
            "session.close" => Self::Close,
            _ => Self::Ping,
        })
    }

    fn config(mut fields: Fields, catalog: &Catalog) -> Result<Self, Fault> {
        // Some clients nest the fields, some do not.
        if let Some(nested) = fields.take("session") {
            let bytes = nested.to_string();
            fields = Fields::parse(bytes.as_bytes())?;
        }
        let (settings, mut ignored) =
            Settings::read(&mut fields, catalog, Base::Default(Format::Pcm))?;
        let delivery = Delivery {
            encoding: match fields.one_of("audio_encoding", &["binary", "base64"])? {
                Some("base64") => Encoding::Base64,
                _ => Encoding::Binary,
            },
            granularity: match fields.one_of("split_granularity", &["sentence", "clause"])? {
                Some("clause") => Granularity::Clause,
                _ => Granularity::Sentence,
            },
            whole_sentences: !fields.boolean("stream_audio")?.unwrap_or(true),
            chunk_headers: fields.boolean("chunk_headers")?.unwrap_or(false),
            word_times: fields.boolean("word_times")?.unwrap_or(true),
        };
        ignored.extend(fields.ignored());
        Ok(Self::Config {
            settings,
            delivery,
            ignored,
        })
    }
}

fn unnamed(fault: Fault) -> (String, Fault) {
    (String::new(), fault)
}

/// The fault of a message that came before the session was configured.
pub(super) fn config_required() -> Fault {
    Fault::new(
        Kind::Invalid,
        "session_config_required",
        "Send {\"type\":\"session.config\"} first; every field of it is optional.",
    )
}
