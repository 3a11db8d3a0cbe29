//! Which models and voices there are, and what other names lead to them.
//!
//! Plain data, made by the server from what its engine loaded. The first model is the default
//! one; the names of `OpenAI`'s models and voices lead to it and to its default voice, so that a
//! stock client works without a change.

use crate::{Fault, Kind, near};

/// `OpenAI`'s names of speech models; each stands for the default model.
pub const STOCK_MODELS: [&str; 3] = ["tts-1", "tts-1-hd", "gpt-4o-mini-tts"];

/// `OpenAI`'s names of voices; each stands for a model's default voice.
pub const STOCK_VOICES: [&str; 13] = [
    "alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage",
    "shimmer", "verse",
];

/// What one model offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The name that clients and metrics use.
    pub id: String,
    /// The names of its voices.
    pub voices: Vec<String>,
    /// The voice that speaks when none is named.
    pub default_voice: Option<String>,
}

/// All models, the default one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// All models, the default one first.
    pub models: Vec<Model>,
}

impl Catalog {
    /// The model that `name` leads to; no name leads to the default model.
    ///
    /// # Errors
    /// A `model_not_found` fault that lists the models and the nearest names.
    pub fn model(&self, name: Option<&str>) -> Result<&Model, Fault> {
        let found = match name {
            None => self.models.first(),
            Some(name) => self
                .models
                .iter()
                .find(|model| model.id == name)
                .or_else(|| self.models.first().filter(|_| STOCK_MODELS.contains(&name))),
        };
        found.ok_or_else(|| self.unknown_model(name.unwrap_or_default()))
    }

    fn unknown_model(&self, name: &str) -> Fault {
        let ids = || self.models.iter().map(|model| model.id.as_str());
        let hint = near::hint(name, ids().chain(STOCK_MODELS));
        let all = ids().collect::<Vec<_>>().join(", ");
        Fault::field(
            "model",
            "model_not_found",
            format!(
                "The model {} does not exist{hint}. Models here: {all}; {} lead to the first.",
                near::quoted(name),
                STOCK_MODELS.join(", "),
            ),
        )
        .of_kind(Kind::NotFound)
    }
}

impl Model {
    /// The voice that `name` leads to; `None` when the model has no voices by name.
    ///
    /// # Errors
    /// A `voice_not_found` fault that lists the voices and the nearest names.
    pub fn voice(&self, name: Option<&str>) -> Result<Option<String>, Fault> {
        let Some(name) = name else {
            return Ok(self.default_voice.clone());
        };
        if self.voices.iter().any(|voice| voice == name) {
            return Ok(Some(name.to_owned()));
        }
        if STOCK_VOICES.contains(&name) || name == "default" {
            return Ok(self.default_voice.clone());
        }
        let voices = || self.voices.iter().map(String::as_str);
        let hint = near::hint(name, voices().chain(STOCK_VOICES));
        let all = voices().collect::<Vec<_>>().join(", ");
        Err(Fault::field(
            "voice",
            "voice_not_found",
            format!(
                "The model '{}' has no voice {}{hint}. Its voices: {all}; OpenAI's names \
                 ({}) lead to the default one.",
                self.id,
                near::quoted(name),
                STOCK_VOICES.join(", "),
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        let model = |id: &str, voices: &[&str]| Model {
            id: id.into(),
            voices: voices.iter().map(|&v| v.into()).collect(),
            default_voice: voices.first().map(|&v| v.into()),
        };
        Catalog {
            models: vec![model("toy", &["sine", "square"]), model("other", &[])],
        }
    }

    #[test]
    fn stock_names_lead_to_the_defaults() {
        let catalog = catalog();
        for name in STOCK_MODELS {
            assert_eq!(catalog.model(Some(name)).unwrap().id, "toy");
        }
        assert_eq!(catalog.model(None).unwrap().id, "toy");
        assert_eq!(catalog.model(Some("other")).unwrap().id, "other");
        let toy = catalog.model(None).unwrap();
        for name in STOCK_VOICES {
            assert_eq!(toy.voice(Some(name)).unwrap().as_deref(), Some("sine"));
        }
        assert_eq!(toy.voice(None).unwrap().as_deref(), Some("sine"));
        assert_eq!(
            toy.voice(Some("square")).unwrap().as_deref(),
            Some("square")
        );
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_near_ones() {
        let catalog = catalog();
        let fault = catalog.model(Some("tooy")).unwrap_err();
        assert_eq!(
            (fault.kind, fault.code),
            (Kind::NotFound, "model_not_found")
        );
        assert!(fault.message.contains("did you mean 'toy'"), "{fault}");
        let fault = catalog
            .model(None)
            .unwrap()
            .voice(Some("sqare"))
            .unwrap_err();
        assert_eq!((fault.kind, fault.code), (Kind::Invalid, "voice_not_found"));
        assert!(fault.message.contains("did you mean 'square'"), "{fault}");
    }
}
