//! The form that a recording comes in.

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use session::{Fault, Kind, near};

/// Characters of any field but the file.
const MOST_CHARS: usize = 16 * 1024;

/// Fields of the public API that have no effect here.
const IGNORED: [&str; 7] = [
    "temperature",
    "include[]",
    "chunking_strategy",
    "known_speaker_names[]",
    "known_speaker_references[]",
    "languages[]",
    "keywords[]",
];

/// Fields that have one.
const KNOWN: [&str; 7] = [
    "file",
    "model",
    "language",
    "prompt",
    "response_format",
    "stream",
    "timestamp_granularities[]",
];

/// In which shape the transcript is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    #[default]
    Json,
    Text,
    Srt,
    Vtt,
    Verbose,
}

impl Shape {
    const NAMES: [&'static str; 5] = ["json", "text", "srt", "vtt", "verbose_json"];

    fn named(name: &str) -> Result<Self, Fault> {
        Ok(match name {
            "json" => Self::Json,
            "text" => Self::Text,
            "srt" => Self::Srt,
            "vtt" => Self::Vtt,
            "verbose_json" => Self::Verbose,
            _ => return Err(not_one_of("response_format", name, &Self::NAMES)),
        })
    }

    /// Whether it says when something was said.
    pub(super) fn has_times(self) -> bool {
        matches!(self, Self::Srt | Self::Vtt | Self::Verbose)
    }
}

/// What was asked.
#[derive(Debug, Default)]
pub(super) struct Form {
    pub(super) file: Vec<u8>,
    pub(super) model: Option<String>,
    pub(super) language: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) shape: Shape,
    pub(super) stream: bool,
    /// Fields that were given and have no effect.
    pub(super) ignored: Vec<&'static str>,
}

/// Reads a form whose file may be `limit` bytes.
pub(super) async fn read(request: Request, limit: usize, translate: bool) -> Result<Form, Fault> {
    let mut request = request;
    // The library's own limit is on the whole body, and smaller than a recording.
    axum::extract::DefaultBodyLimit::max(limit.saturating_add(MOST_CHARS * 8)).apply(&mut request);
    let mut parts = Multipart::from_request(request, &())
        .await
        .map_err(|error| {
            Fault::new(
                Kind::MediaType,
                "unsupported_media_type",
                format!("Expected 'Content-Type: multipart/form-data' with a boundary: {error}."),
            )
        })?;
    let mut form = Form::default();
    let mut has_file = false;
    while let Some(field) = parts
        .next_field()
        .await
        .map_err(|error| broken(&error, limit))?
    {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            has_file = true;
            form.file = file(field, limit).await?;
            continue;
        }
        let value = text(field, &name, limit).await?;
        form.take(&name, value, translate)?;
    }
    if !has_file {
        return Err(Fault::missing("file"));
    }
    if form.stream && form.shape.has_times() {
        return Err(Fault::field(
            "stream",
            "invalid_value",
            "A stream has the shape 'json' or 'text'; it does not go with 'srt', 'vtt' and \
             'verbose_json'.",
        ));
    }
    Ok(form)
}

impl Form {
    fn take(&mut self, name: &str, value: String, translate: bool) -> Result<(), Fault> {
        match name {
            "model" => self.model = Some(value),
            "language" if translate => return Err(unknown(name)),
            "language" => self.language = Some(value).filter(|value| !value.is_empty()),
            "prompt" => self.prompt = Some(value),
            "response_format" => self.shape = Shape::named(&value)?,
            "stream" => {
                self.stream = match value.as_str() {
                    "true" | "True" | "1" => true,
                    "false" | "False" | "0" | "" => false,
                    other => return Err(not_one_of("stream", other, &["true", "false"])),
                }
            }
            "timestamp_granularities[]" | "timestamp_granularities" => match value.as_str() {
                "segment" => {}
                "word" => {
                    return Err(Fault::field(
                        "timestamp_granularities[]",
                        "unsupported_value",
                        "Words have no times of their own here; 'segment' is accepted.",
                    ));
                }
                other => {
                    return Err(not_one_of("timestamp_granularities[]", other, &["segment"]));
                }
            },
            _ => {
                let given = name.trim_end_matches("[]");
                let ignored = IGNORED
                    .into_iter()
                    .find(|known| known.trim_end_matches("[]") == given);
                self.ignored.push(ignored.ok_or_else(|| unknown(name))?);
            }
        }
        Ok(())
    }
}

async fn file(mut field: Field<'_>, limit: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    while let Some(piece) = field.chunk().await.map_err(|error| broken(&error, limit))? {
        if bytes.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

async fn text(mut field: Field<'_>, name: &str, limit: usize) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    while let Some(piece) = field.chunk().await.map_err(|error| broken(&error, limit))? {
        if bytes.len() + piece.len() > MOST_CHARS {
            return Err(Fault::field(
                name.to_owned(),
                "value_too_long",
                format!("{} is longer than {MOST_CHARS} bytes.", near::quoted(name)),
            )
            .of_kind(Kind::TooLarge));
        }
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).map_err(|_| {
        Fault::field(
            name.to_owned(),
            "invalid_value",
            format!("{} is no text in UTF-8.", near::quoted(name)),
        )
    })
}

fn broken(error: &MultipartError, limit: usize) -> Fault {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return too_large(limit);
    }
    Fault::new(
        Kind::Invalid,
        "invalid_form",
        format!("The form could not be read: {}.", error.body_text()),
    )
}

fn too_large(limit: usize) -> Fault {
    Fault::field(
        "file",
        "body_too_large",
        format!("The file is larger than {limit} bytes, which is the limit."),
    )
    .of_kind(Kind::TooLarge)
}

fn not_one_of(name: &'static str, value: &str, accepted: &[&'static str]) -> Fault {
    let hint = near::hint(value, accepted.iter().copied());
    let message = format!(
        "Invalid value for '{name}': {}{hint}. Accepted: {}.",
        near::quoted(value),
        accepted.join(", "),
    );
    Fault::field(name, "invalid_value", message)
}

fn unknown(name: &str) -> Fault {
    let known = KNOWN.into_iter().chain(IGNORED);
    let message = format!(
        "Unknown field {}{}. Accepted: {}.",
        near::quoted(name),
        near::hint(name, known.clone()),
        known.collect::<Vec<_>>().join(", "),
    );
    Fault::field(name.to_owned(), "unknown_field", message)
}
