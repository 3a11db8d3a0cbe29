//! The session object: what it says, how an update changes it, how it is shown.
//!
//! An update is read into a copy, field by field, and the copy takes the place of what was only
//! when all of it was sound. A field that is left out stays; `null`, an empty string or an empty
//! list puts its default back.

use serde_json::{Value, json};

use super::config::{Config, Kind};
use super::detection::{Detection, tidy};
use super::format::Format;
use super::tools::{self, Tools};
use crate::{Fault, Fields, near};

/// The longest instructions, prompts and names.
pub(super) const NAME_CHARS: usize = 256;
const PROMPT_CHARS: usize = 16 * 1024;

/// Names of recognisers that clients send; each stands for ours.
const STOCK_RECOGNISERS: [&str; 5] = [
    "whisper-1",
    "gpt-4o-transcribe",
    "gpt-4o-mini-transcribe",
    "gpt-4o-transcribe-latest",
    "gpt-realtime-whisper",
];

const FIELDS: [&str; 17] = [
    "type",
    "model",
    "output_modalities",
    "instructions",
    "audio",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_output_tokens",
    "truncation",
    "tracing",
    "include",
    "prompt",
    "reasoning",
    "id",
    "object",
    "expires_at",
];

/// Fields of the old, flat session, and where they are now.
const BETA: [(&str, &str); 10] = [
    ("modalities", "output_modalities"),
    ("voice", "audio.output.voice"),
    ("speed", "audio.output.speed"),
    ("input_audio_format", "audio.input.format"),
    ("output_audio_format", "audio.output.format"),
    ("input_audio_transcription", "audio.input.transcription"),
    ("input_audio_noise_reduction", "audio.input.noise_reduction"),
    ("turn_detection", "audio.input.turn_detection"),
    ("max_response_output_tokens", "max_output_tokens"),
    ("temperature", "nothing: it is gone"),
];

/// `audio.input.transcription`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transcription {
    pub(super) language: Option<String>,
    prompt: Option<String>,
}

/// See the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) kind: Kind,
    model: String,
    recogniser: String,
    pub(super) audio: bool,
    pub(super) instructions: String,
    pub(super) input_format: Format,
    pub(super) transcription: Option<Transcription>,
    noise_reduction: Option<&'static str>,
    pub(super) detection: Option<Detection>,
    pub(super) output_format: Format,
    pub(super) voice: Option<String>,
    pub(super) speed: f32,
    pub(super) tools: Tools,
    pub(super) max_tokens: Option<u32>,
    truncation: Value,
    tracing: Value,
    reasoning: Value,
}

impl Settings {
    /// What a session is before its client has said anything.
    ///
    /// # Errors
    /// The first fault of `config.defaults.session`.
    pub(super) fn new(config: &Config) -> Result<Self, Fault> {
        let mut settings = Self::defaults(config);
        if let Some(session) = &config.defaults.session {
            let fields = Fields::nested(session.clone(), "session".to_owned())?;
            settings = settings.updated(fields, config, false)?;
        }
        Ok(settings)
    }

    /// Without what the client secret or the call brought.
    pub(super) fn defaults(config: &Config) -> Self {
        let defaults = &config.defaults;
        let model = config.catalog.model(defaults.voices_of.as_deref()).ok();
        Self {
            kind: defaults.kind,
            model: defaults.model.clone(),
            recogniser: defaults.recogniser.clone(),
            audio: true,
            instructions: defaults.instructions.clone(),
            input_format: Format::default(),
            transcription: (defaults.kind == Kind::Transcription).then_some(Transcription {
                language: None,
                prompt: None,
            }),
            noise_reduction: None,
            detection: Some(Detection::default()),
            output_format: Format::default(),
            voice: model.and_then(|model| model.default_voice.clone()),
            speed: 1.0,
            tools: Tools::default(),
            max_tokens: defaults.max_tokens,
            truncation: json!("auto"),
            tracing: Value::Null,
            reasoning: Value::Null,
        }
    }

    /// These settings with a client's changes.
    pub(super) fn updated(
        &self,
        mut fields: Fields,
        config: &Config,
        spoken: bool,
    ) -> Result<Self, Fault> {
        refuse_beta(&mut fields)?;
        let mut next = self.clone();
        match fields.one_of("type", &["realtime", "transcription"])? {
            None => return Err(fields.missing("type")),
            Some("transcription") => next.kind = Kind::Transcription,
            Some(_) => next.kind = Kind::Realtime,
        }
        if next.kind != self.kind && config.defaults.session.is_some() && spoken {
            return Err(frozen(
                "session.type",
                "the type of a session cannot change",
            ));
        }
        if next.kind == Kind::Transcription && next.transcription.is_none() {
            next.transcription = Some(Transcription {
                language: None,
                prompt: None,
            });
        }
        if let Some(mut audio) = fields.object("audio")? {
            if let Some(input) = audio.object("input")? {
                next.read_input(input)?;
            }
            if next.kind == Kind::Realtime
                && let Some(output) = audio.object("output")?
            {
                next.read_output(output, config, spoken)?;
            }
            audio.clears("input");
            audio.clears("output");
            audio.finish(&["input", "output"])?;
        }
        fields.clears("audio");
        next.read_include(&mut fields)?;
        if next.kind == Kind::Realtime {
            next.read_model(&mut fields)?;
            next.read_answers(&mut fields, config)?;
        }
        for name in ["id", "object", "expires_at"] {
            // An update may repeat what it was shown.
            drop(fields.take(name));
            fields.clears(name);
        }
        fields.finish(&FIELDS)?;
        Ok(next)
    }

    fn read_model(&mut self, fields: &mut Fields) -> Result<(), Fault> {
        let Some(model) = fields.short_string("model", NAME_CHARS)? else {
            fields.clears("model");
            return Ok(());
        };
        if model.is_empty() || model == self.model || is_stock_model(&model) {
            return Ok(());
        }
        Err(Fault::field(
            "session.model",
            "model_not_found",
            format!(
                "The model of a session cannot change: it is '{}', not {}{}. OpenAI's names of \
                 realtime models lead to it too.",
                self.model,
                near::quoted(&model),
                near::hint(&model, [self.model.as_str()]),
            ),
        ))
    }

    /// What shapes a response, apart from its audio.
    fn read_answers(&mut self, fields: &mut Fields, config: &Config) -> Result<(), Fault> {
        if let Some(audio) = read_modalities(fields)? {
            self.audio = audio;
        }
        if fields.clears("instructions") {
            self.instructions = String::new();
        } else if let Some(text) = fields.short_string("instructions", config.limits.chars)? {
            self.instructions = text;
        }
        self.tools.read(fields, config.limits.tools)?;
        if let Some(max) = tools::max_tokens(fields)? {
            self.max_tokens = max.or(config.defaults.max_tokens);
        }
        if let Some(value) = truncation(fields)? {
            self.truncation = value;
        }
        for (name, kept) in [
            ("tracing", &mut self.tracing),
            ("reasoning", &mut self.reasoning),
        ] {
            if fields.clears(name) {
                *kept = Value::Null;
            } else if let Some(value) = fields.take(name) {
                *kept = bounded(value, &fields.at(name))?;
            }
        }
        if let Some(prompt) = fields.take("prompt") {
            drop(prompt);
            return Err(unsupported("session.prompt", "no prompts are stored here"));
        }
        fields.clears("prompt");
        Ok(())
    }

    fn read_include(&mut self, fields: &mut Fields) -> Result<(), Fault> {
        fields.clears("include");
        match fields.list("include", 16)? {
            Some(list) if !list.is_empty() => Err(unsupported(
                "session.include",
                "log probabilities of transcripts are not made here; only an empty list is \
                 accepted",
            )),
            _ => Ok(()),
        }
    }

    fn read_input(&mut self, mut input: Fields) -> Result<(), Fault> {
        if let Some(format) = Format::read(&mut input)? {
            self.input_format = format;
        }
        if input.clears("transcription") {
            self.transcription = None;
        } else if let Some(fields) = input.object("transcription")? {
            self.transcription = Some(self.read_transcription(fields)?);
        }
        if input.clears("noise_reduction") {
            self.noise_reduction = None;
        } else if let Some(mut noise) = input.object("noise_reduction")? {
            let kinds = ["near_field", "far_field"];
            let kind = noise.one_of("type", &kinds)?;
            noise.finish(&["type"])?;
            self.noise_reduction = kinds.into_iter().find(|name| Some(*name) == kind);
        }
        if input.clears("turn_detection") {
            self.detection = None;
        } else if let Some(fields) = input.object("turn_detection")? {
            self.detection = Some(Detection::read(fields, self.detection)?);
        }
        input.finish(&[
            "format",
            "transcription",
            "noise_reduction",
            "turn_detection",
        ])
    }

    fn read_transcription(&self, mut fields: Fields) -> Result<Transcription, Fault> {
        let before = self.transcription.clone();
        if let Some(model) = fields.short_string("model", NAME_CHARS)?
            && !model.is_empty()
            && model != self.recogniser
            && !STOCK_RECOGNISERS.contains(&model.as_str())
            && !model.starts_with("gpt-4o-")
        {
            let known = STOCK_RECOGNISERS
                .into_iter()
                .chain([self.recogniser.as_str()]);
            return Err(Fault::field(
                fields.at("model"),
                "model_not_found",
                format!(
                    "The recogniser {} does not exist{}. There is '{}'; {} lead to it.",
                    near::quoted(&model),
                    near::hint(&model, known),
                    self.recogniser,
                    STOCK_RECOGNISERS.join(", "),
                ),
            ));
        }
        let kept = |clears: bool, new: Option<String>, old: Option<String>| {
            if clears { None } else { new.or(old) }.filter(|text| !text.is_empty())
        };
        let (language_before, prompt_before) =
            before.map_or((None, None), |t| (t.language, t.prompt));
        let found = Transcription {
            language: kept(
                fields.clears("language"),
                fields.short_string("language", 16)?,
                language_before,
            ),
            prompt: kept(
                fields.clears("prompt"),
                fields.short_string("prompt", PROMPT_CHARS)?,
                prompt_before,
            ),
        };
        for name in ["model", "delay"] {
            fields.clears(name);
        }
        fields.finish(&["model", "language", "prompt"])?;
        Ok(found)
    }

    fn read_output(
        &mut self,
        mut output: Fields,
        config: &Config,
        spoken: bool,
    ) -> Result<(), Fault> {
        if let Some(format) = Format::read(&mut output)? {
            self.output_format = format;
        }
        if let Some(voice) = voice(&mut output, config)?
            && voice != self.voice
        {
            if spoken {
                return Err(frozen(
                    "session.audio.output.voice",
                    "the voice cannot change once the session has spoken",
                ));
            }
            self.voice = voice;
        }
        if output.clears("speed") {
            self.speed = 1.0;
        } else if let Some(speed) = tools::speed(&mut output)? {
            self.speed = speed;
        }
        output.finish(&["format", "voice", "speed"])
    }

    /// The fields of the session object, without those that name the session.
    pub(super) fn value(&self) -> Value {
        let transcription = self
            .transcription
            .as_ref()
            .map(|t| json!({"model": self.recogniser, "language": t.language, "prompt": t.prompt}));
        let input = json!({
            "format": self.input_format.value(),
            "transcription": transcription,
            "noise_reduction": self.noise_reduction.map(|kind| json!({"type": kind})),
            "turn_detection": self.detection.map(|detection| detection.value()),
        });
        if self.kind == Kind::Transcription {
            return json!({
                "type": "transcription",
                "object": "realtime.transcription_session",
                "audio": {"input": input},
                "include": null,
            });
        }
        json!({
            "type": "realtime",
            "object": "realtime.session",
            "model": self.model,
            "output_modalities": modalities(self.audio),
            "instructions": self.instructions,
            "audio": {
                "input": input,
                "output": {
                    "format": self.output_format.value(),
                    "voice": self.voice,
                    "speed": tidy(self.speed),
                },
            },
            "tools": self.tools.value(),
            "tool_choice": self.tools.choice_value(),
            "parallel_tool_calls": self.tools.parallel,
            "max_output_tokens": tools::max_tokens_value(self.max_tokens),
            "truncation": self.truncation,
            "tracing": self.tracing,
            "reasoning": self.reasoning,
            "prompt": null,
            "include": null,
        })
    }
}

/// `["audio"]` or `["text"]`.
pub(super) fn modalities(audio: bool) -> Value {
    json!([if audio { "audio" } else { "text" }])
}

/// Whether audio is asked for.
pub(super) fn read_modalities(fields: &mut Fields) -> Result<Option<bool>, Fault> {
    if fields.clears("output_modalities") {
        return Ok(Some(true));
    }
    let Some(list) = fields.list("output_modalities", 2)? else {
        return Ok(None);
    };
    match list.as_slice() {
        [] => Ok(Some(true)),
        [Value::String(one)] if one == "audio" => Ok(Some(true)),
        [Value::String(one)] if one == "text" => Ok(Some(false)),
        _ => Err(Fault::field(
            fields.at("output_modalities"),
            "invalid_value",
            format!(
                "Invalid value for '{}': accepted are [\"audio\"] (which has its transcript) and \
                 [\"text\"].",
                fields.at("output_modalities"),
            ),
        )),
    }
}

/// The voice that is asked for; resolved to one of the model's.
pub(super) fn voice(fields: &mut Fields, config: &Config) -> Result<Option<Option<String>>, Fault> {
    let at = fields.at("voice");
    let model = config.catalog.model(config.defaults.voices_of.as_deref());
    let name = if fields.clears("voice") {
        None
    } else {
        match fields.name_or_id("voice")? {
            None => return Ok(None),
            name => name.filter(|name| !name.is_empty()),
        }
    };
    let Ok(model) = model else { return Ok(None) };
    model.voice(name.as_deref()).map(Some).map_err(|mut fault| {
        fault.param = Some(at);
        fault
    })
}

fn truncation(fields: &mut Fields) -> Result<Option<Value>, Fault> {
    if fields.clears("truncation") {
        return Ok(Some(json!("auto")));
    }
    let at = fields.at("truncation");
    let Some(value) = fields.take("truncation") else {
        return Ok(None);
    };
    match &value {
        Value::String(name) if name == "auto" || name == "disabled" => return Ok(Some(value)),
        Value::Object(_) => {}
        _ => {
            return Err(Fault::field(
                at.clone(),
                "invalid_value",
                format!(
                    "Invalid value for '{at}': accepted are \"auto\", \"disabled\" and an object \
                     of type 'retention_ratio'."
                ),
            ));
        }
    }
    let mut ratio = Fields::nested(value.clone(), at.into_owned())?;
    if ratio.one_of("type", &["retention_ratio"])?.is_none() {
        return Err(ratio.missing("type"));
    }
    if ratio.number("retention_ratio", 0.0, 1.0)?.is_none() {
        return Err(ratio.missing("retention_ratio"));
    }
    if let Some(mut limits) = ratio.object("token_limits")? {
        limits.integer_within("post_instructions", 0, u64::from(u32::MAX))?;
        limits.finish(&["post_instructions"])?;
    }
    ratio.finish(&["type", "retention_ratio", "token_limits"])?;
    Ok(Some(value))
}

fn refuse_beta(fields: &mut Fields) -> Result<(), Fault> {
    for (old, new) in BETA {
        if fields.clears(old) || fields.take(old).is_some() {
            return Err(super::beta_disabled(&format!(
                "'session.{old}' is a field of the beta shape; in the current one it is \
                 'session.{new}'"
            )));
        }
    }
    Ok(())
}

fn is_stock_model(name: &str) -> bool {
    name.starts_with("gpt-") && name.contains("realtime")
}

/// A value that has no effect and is shown again.
fn bounded(value: Value, at: &str) -> Result<Value, Fault> {
    const MOST: usize = 16 * 1024;
    let size = value.to_string().len();
    if size <= MOST {
        return Ok(value);
    }
    Err(Fault::field(
        at.to_owned(),
        "string_above_max_length",
        format!("Invalid '{at}': expected at most {MOST} bytes of JSON, but got {size}."),
    ))
}

pub(super) fn unsupported(at: &'static str, why: &str) -> Fault {
    Fault::field(
        at,
        "unsupported_value",
        format!("Unsupported value for '{at}': {why}."),
    )
}

fn frozen(at: &'static str, why: &str) -> Fault {
    Fault::field(
        at,
        "cannot_update_field",
        format!("Cannot update '{at}': {why}."),
    )
}
