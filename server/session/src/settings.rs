//! What a client may ask of a voice, the same at every door.

use codecs::audio::Format;

use crate::fields::Fields;
use crate::{Catalog, Fault};

/// Longest name of a model or voice, in characters. Real ones are far shorter.
const NAME_CHARS: usize = 256;
/// Longest `instructions`, in characters: the public description's limit.
const INSTRUCTION_CHARS: usize = 4096;
/// What clients of other servers send and no model here can use. Read for nothing, so that an
/// unmodified client works; reported as ignored.
///
/// `OpenAI` documents `instructions` as having no effect on its smaller models either.
const WITHOUT_EFFECT: [&str; 1] = ["instructions"];

/// How one utterance is to be spoken and encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The id of the model, resolved.
    pub model: String,
    /// The name of the voice, resolved; `None` for a model without names.
    pub voice: Option<String>,
    /// Speaking rate, 0.25 to 4; 1 is the voice's own.
    pub speed: f32,
    /// Makes the audio repeatable.
    pub seed: Option<u64>,
    /// The container and codec.
    pub format: Format,
}

/// Where the values of fields that a request leaves out come from.
#[derive(Debug, Clone, Copy)]
pub enum Base<'a> {
    /// As in `POST /v1/audio/speech`: `model` and `voice` must be named; this is the format.
    Required(Format),
    /// As in `session.config`: the default model and voice, in this format.
    Default(Format),
    /// As in `context.open`: what the session has.
    Inherit(&'a Settings),
}

impl Settings {
    /// Reads the shared fields out of a request: `model`, `voice`, `speed`, `seed`,
    /// `response_format`, and `instructions`, which has no effect. The second value names the
    /// fields that were sound and have no effect.
    ///
    /// # Errors
    /// The first field that is missing, of a wrong type, out of range or unknown.
    pub fn read(
        fields: &mut Fields,
        catalog: &Catalog,
        base: Base<'_>,
    ) -> Result<(Self, Vec<String>), Fault> {
        let model = fields.short_string("model", NAME_CHARS)?;
        let voice = fields.name_or_id("voice")?;
        let (default_format, inherited) = match base {
            Base::Required(_) if model.is_none() => return Err(Fault::missing("model")),
            Base::Required(_) if voice.is_none() => return Err(Fault::missing("voice")),
            Base::Required(format) => (format, None),
            Base::Default(format) => (format, None),
            Base::Inherit(settings) => (settings.format, Some(settings)),
        };
        let inherited_model = inherited.map(|settings| settings.model.as_str());
        let model = catalog.model(model.as_deref().or(inherited_model))?;
        let inherited_voice = inherited
            .filter(|settings| settings.model == model.id)
            .and_then(|settings| settings.voice.as_deref());
        let settings = Self {
            model: model.id.clone(),
            voice: model.voice(voice.as_deref().or(inherited_voice))?,
            speed: speed(fields)?.unwrap_or(inherited.map_or(1.0, |settings| settings.speed)),
            seed: fields
                .integer("seed")?
                .or(inherited.and_then(|settings| settings.seed)),
            format: format(fields)?.unwrap_or(default_format),
        };
        let mut ignored = Vec::new();
        for name in WITHOUT_EFFECT {
            if fields.short_string(name, INSTRUCTION_CHARS)?.is_some() {
                ignored.push(name.to_owned());
            }
        }
        Ok((settings, ignored))
    }
}

fn speed(fields: &mut Fields) -> Result<Option<f32>, Fault> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "in 0.25..=4, where rounding to f32 cannot be heard"
    )]
    Ok(fields.number("speed", 0.25, 4.0)?.map(|speed| speed as f32))
}

fn format(fields: &mut Fields) -> Result<Option<Format>, Fault> {
    let Some(name) = fields.string("response_format")? else {
        return Ok(None);
    };
    Format::from_name(&name).map(Some).map_err(|error| {
        let code = match error.kind() {
            codecs::Kind::Unsupported => "unsupported_format",
            _ => "invalid_value",
        };
        Fault::field(
            "response_format",
            code,
            format!("Invalid value for 'response_format': {error}."),
        )
    })
}
