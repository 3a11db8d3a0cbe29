//! Which models and voices there are, and what other names lead to them.
//!
//! Plain data, made by the server from what its engine loaded. The first model is the default
//! one; the names of `OpenAI`'s models and voices lead to it and to its default voice, so that a
//! stock client works without a change.

use crate::{Fault, Kind, near};

/// `OpenAI`'s names of speech models; each stands for the default model.
pub const STOCK_MODELS: [&str; 3] = ["tts-1", "tts-1-hd", "gpt-4o-mini-tts"];

/// `OpenAI`'s names of recognisers; each stands for the first one here.
pub const STOCK_RECOGNISERS: [&str; 3] =
    ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"];

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
    /// What it does.
    pub task: Task,
}

/// What a model does, and so at which doors it is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Task {
    /// It speaks a text.
    #[default]
    Speech,
    /// It continues a conversation.
    Chat,
    /// It writes down what is said.
    Transcription,
    /// It tells whether somebody speaks, or has finished.
    Detection,
}

impl Task {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Speech => "speech",
            Self::Chat => "chat",
            Self::Transcription => "transcription",
            Self::Detection => "detection",
        }
    }

    /// The doors at which its models are found.
    #[must_use]
    pub fn endpoints(self) -> &'static [&'static str] {
        match self {
            Self::Speech => &["/v1/audio/speech", "/v1/audio/speech/stream"],
            Self::Chat => &["/v1/chat/completions"],
            Self::Transcription => &["/v1/audio/transcriptions", "/v1/realtime"],
            // Heard at no door of its own: it serves conversations.
            Self::Detection => &["/v1/realtime"],
        }
    }
}

/// All models, the default one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// All models, the default one first.
    pub models: Vec<Model>,
}

impl Catalog {
    /// The speaking model that `name` leads to; no name leads to the default one.
    ///
    /// # Errors
    /// A `model_not_found` fault that lists the models and the nearest names, or
    /// `model_not_suitable` for a model that does not speak.
    pub fn model(&self, name: Option<&str>) -> Result<&Model, Fault> {
        let found = match name {
            None => self.speaking(),
            Some(name) => self.named(name).or(self.stock(name)),
        };
        found
            .ok_or_else(|| self.unknown_model(name.unwrap_or_default(), Some(Task::Speech)))
            .and_then(|model| self.suitable(model, Task::Speech))
    }

    /// The conversing model of this name.
    ///
    /// # Errors
    /// As [`model`](Self::model).
    pub fn conversing(&self, name: &str) -> Result<&Model, Fault> {
        self.named(name)
            .ok_or_else(|| self.unknown_model(name, Some(Task::Chat)))
            .and_then(|model| self.suitable(model, Task::Chat))
    }

    /// The recogniser that `name` leads to; no name, and `OpenAI`'s names, lead to the first one.
    ///
    /// # Errors
    /// As [`model`](Self::model).
    pub fn recognising(&self, name: Option<&str>) -> Result<&Model, Fault> {
        let task = Some(Task::Transcription);
        let first = || self.models.iter().find(|model| Some(model.task) == task);
        let found = match name {
            None => first(),
            Some(name) if STOCK_RECOGNISERS.contains(&name) => first(),
            Some(name) => self.named(name),
        };
        found
            .ok_or_else(|| self.unknown_model(name.unwrap_or_default(), task))
            .and_then(|model| self.suitable(model, Task::Transcription))
    }

    /// The model that `name` leads to, whatever it does.
    ///
    /// # Errors
    /// `model_not_found`.
    pub fn any(&self, name: &str) -> Result<&Model, Fault> {
        self.named(name)
            .or(self.stock(name))
            .ok_or_else(|| self.unknown_model(name, None))
    }

    /// The default model for speech: the first one that speaks.
    #[must_use]
    pub fn speaking(&self) -> Option<&Model> {
        self.models.iter().find(|model| model.task == Task::Speech)
    }

    fn named(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.id == name)
    }

    fn stock(&self, name: &str) -> Option<&Model> {
        self.speaking().filter(|_| STOCK_MODELS.contains(&name))
    }

    fn suitable<'a>(&'a self, model: &'a Model, task: Task) -> Result<&'a Model, Fault> {
        if model.task == task {
            return Ok(model);
        }
        let message = format!(
            "The model '{}' is for {} ({}), not for {}. {}",
            model.id,
            model.task.name(),
            model.task.endpoints().join(", "),
            task.name(),
            self.here(Some(task)),
        );
        Err(Fault::field("model", "model_not_suitable", message).of_kind(Kind::NotFound))
    }

    fn unknown_model(&self, name: &str, task: Option<Task>) -> Fault {
        let speaks = task.is_none_or(|task| task == Task::Speech);
        let stock = speaks.then_some(STOCK_MODELS);
        let known = self.ids(task).chain(stock.into_iter().flatten());
        let message = format!(
            "The model {} does not exist{}. {}",
            near::quoted(name),
            near::hint(name, known),
            self.here(task),
        );
        Fault::field("model", "model_not_found", message).of_kind(Kind::NotFound)
    }

    fn ids(&self, task: Option<Task>) -> impl Iterator<Item = &str> {
        let fits = move |model: &&Model| task.is_none_or(|task| model.task == task);
        self.models
            .iter()
            .filter(fits)
            .map(|model| model.id.as_str())
    }

    /// A sentence that lists the models for a task, or all of them.
    fn here(&self, task: Option<Task>) -> String {
        let all = self.ids(task).collect::<Vec<_>>().join(", ");
        match task {
            Some(task) if all.is_empty() => format!("No model here is for {}.", task.name()),
            Some(task) if task != Task::Speech => {
                format!("Models for {} here: {all}.", task.name())
            }
            _ if self.speaking().is_none() => format!("Models here: {all}."),
            _ => format!(
                "Models here: {all}; {} lead to the first for speech.",
                STOCK_MODELS.join(", ")
            ),
        }
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
            task: Task::Speech,
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
    fn each_door_finds_its_own_models() {
        let mut catalog = catalog();
        let talker = Model {
            id: "talker".into(),
            voices: Vec::new(),
            default_voice: None,
            task: Task::Chat,
        };
        catalog.models.insert(0, talker);
        assert_eq!(catalog.model(None).unwrap().id, "toy");
        assert_eq!(catalog.model(Some("tts-1")).unwrap().id, "toy");
        assert_eq!(catalog.conversing("talker").unwrap().id, "talker");
        assert_eq!(catalog.any("talker").unwrap().id, "talker");
        for (fault, code, word) in [
            (
                catalog.model(Some("talker")),
                "model_not_suitable",
                "/v1/chat/completions",
            ),
            (
                catalog.conversing("toy"),
                "model_not_suitable",
                "Models for chat here: talker.",
            ),
            (
                catalog.conversing("tlker"),
                "model_not_found",
                "did you mean 'talker'",
            ),
            (
                catalog.any("nothing"),
                "model_not_found",
                "talker, toy, other",
            ),
        ] {
            let fault = fault.unwrap_err();
            assert_eq!((fault.kind, fault.code), (Kind::NotFound, code));
            assert!(fault.message.contains(word), "{fault}");
        }
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
