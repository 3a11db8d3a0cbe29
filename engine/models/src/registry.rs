//! The list of models: a variant of [`ModelConfig`] for each kind, and one place that loads it.
//!
//! A new kind of model is a folder beside `toy`, a variant here, and an arm in
//! [`ModelConfig::load`].

use std::{path::Path, sync::Arc};

use runtime::Model;

use crate::{Error, Result, dense, silero, smart_turn, toy, vits, whisper};

/// The ids of the models that need no further configuration.
pub const IDS: [&str; 9] = [
    "toy",
    "toy-chat",
    toy::hearing::Ear::ID,
    toy::hearing::Scribe::ID,
    vits::DEFAULT_ID,
    dense::DEFAULT_ID,
    whisper::DEFAULT_ID,
    silero::DEFAULT_ID,
    smart_turn::DEFAULT_ID,
];

/// Which model to load, and how it is set up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ModelConfig {
    /// A model without weights that sounds a tone for each letter.
    Toy(toy::Config),
    /// A model without weights that repeats the last message of a conversation.
    ToyChat(toy::chat::Config),
    /// A model without weights that tells sound from silence.
    ToyEar,
    /// A model without weights that reads what a toy says.
    ToyScribe,
    /// A VITS voice.
    Voice(vits::Config),
    /// A dense language model.
    Language(dense::Config),
    /// A Whisper recogniser.
    Recogniser(whisper::Config),
    /// A voice activity detector.
    VoiceActivity(silero::Config),
    /// A judge of whether a turn is complete.
    TurnEnd(smart_turn::Config),
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self::Toy(toy::Config::default())
    }
}

impl ModelConfig {
    /// The model of this id, set up as it is by default; or, for the path of a voice's `.onnx`
    /// file, that voice; or, for the path of a language model's `.gguf` file, or of a folder with
    /// the `config.json` of a language model or a recogniser, that model.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the ids that there are.
    pub fn named(id: &str) -> Result<Self> {
        match id {
            "toy" => Ok(Self::Toy(toy::Config::default())),
            "toy-chat" => Ok(Self::ToyChat(toy::chat::Config::default())),
            toy::hearing::Ear::ID => Ok(Self::ToyEar),
            toy::hearing::Scribe::ID => Ok(Self::ToyScribe),
            vits::DEFAULT_ID => Ok(Self::Voice(vits::Config::default())),
            path if path.ends_with(".onnx") => Ok(Self::Voice(vits::Config {
                id: voice_id(path),
                weights: Some(path.into()),
                cache: None,
            })),
            silero::DEFAULT_ID => Ok(Self::VoiceActivity(silero::Config::default())),
            smart_turn::DEFAULT_ID => Ok(Self::TurnEnd(smart_turn::Config::default())),
            dense::DEFAULT_ID => Ok(Self::Language(dense::Config::default())),
            whisper::DEFAULT_ID => Ok(Self::Recogniser(whisper::Config::default())),
            path if is_recogniser(path) => Ok(Self::Recogniser(whisper::Config::at(path.into()))),
            path if is_language_model(path) => Ok(Self::Language(dense::Config::at(path.into()))),
            _ => Err(Error::Unknown {
                id: id.to_owned(),
                known: IDS.map(str::to_owned).into(),
            }),
        }
    }

    /// The id by which requests ask for the model.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Toy(config) => &config.id,
            Self::ToyChat(config) => &config.id,
            Self::ToyEar => toy::hearing::Ear::ID,
            Self::ToyScribe => toy::hearing::Scribe::ID,
            Self::Voice(config) => &config.id,
            Self::Language(config) => &config.id,
            Self::Recogniser(config) => &config.id,
            Self::VoiceActivity(config) => &config.id,
            Self::TurnEnd(config) => &config.id,
        }
    }

    /// Whether it listens as long as its requester is there, and should have a worker of its own.
    #[must_use]
    pub fn listens(&self) -> bool {
        matches!(self, Self::ToyEar | Self::VoiceActivity(_))
    }

    /// Loads the model; its steps may use up to `threads` threads.
    ///
    /// # Errors
    /// Where its files or its declaration are not sound.
    pub fn load(&self, threads: usize) -> Result<Arc<dyn Model>> {
        match self {
            Self::Toy(config) => Ok(Arc::new(toy::Toy::new(config.clone())?)),
            Self::ToyChat(config) => Ok(Arc::new(toy::chat::Chat::new(config.clone())?)),
            Self::ToyEar => Ok(Arc::new(toy::hearing::Ear::new()?)),
            Self::ToyScribe => Ok(Arc::new(toy::hearing::Scribe::new()?)),
            Self::Voice(config) => Ok(Arc::new(vits::Vits::load(config, threads)?)),
            Self::Language(config) => Ok(Arc::new(dense::Language::load(config, threads)?)),
            Self::Recogniser(config) => Ok(Arc::new(whisper::Whisper::load(config, threads)?)),
            Self::VoiceActivity(config) => Ok(Arc::new(silero::Silero::load(config)?)),
            Self::TurnEnd(config) => Ok(Arc::new(smart_turn::SmartTurn::load(config, threads)?)),
        }
    }
}

/// Whether a folder's configuration is of a recogniser: it names its kind, or has what only
/// `CTranslate2`'s recognisers have.
fn is_recogniser(path: &str) -> bool {
    let text = std::fs::read_to_string(Path::new(path).join("config.json"));
    let config: Option<serde_json::Value> =
        text.ok().and_then(|text| serde_json::from_str(&text).ok());
    config.is_some_and(|config| {
        config["model_type"] == "whisper" || !config["suppress_ids_begin"].is_null()
    })
}

fn is_language_model(path: &str) -> bool {
    path.ends_with(".gguf") || Path::new(path).join("config.json").is_file()
}

/// The id of a voice by its file: `voice-de_DE-eva-high` of `/a/b/de_DE-eva-high.onnx`.
fn voice_id(path: &str) -> String {
    let name = Path::new(path).file_stem().unwrap_or_default();
    format!("voice-{}", name.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_model_has_its_id() {
        for id in IDS {
            assert_eq!(ModelConfig::named(id).unwrap().id(), id);
        }
    }

    #[test]
    fn a_path_is_a_voice() {
        let config = ModelConfig::named("/a/b/de_DE-eva-high.onnx").unwrap();
        assert_eq!(config.id(), "voice-de_DE-eva-high");
    }

    #[test]
    fn a_gguf_file_or_a_folder_with_a_configuration_is_a_language_model() {
        let config = ModelConfig::named("/a/b/Qwen3-0.6B-Q8_0.gguf").unwrap();
        assert_eq!(config.id(), "qwen3-0.6b-q8_0");
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/dense/qwen3");
        let config = ModelConfig::named(folder).unwrap();
        assert!(matches!(config, ModelConfig::Language(_)) && config.id() == "qwen3");
    }

    #[test]
    fn an_unknown_id_is_refused_with_the_nearest() {
        let error = ModelConfig::named("toys").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("unknown model `toys`, did you mean `toy`? known: "),
            "{error}"
        );
    }
}
