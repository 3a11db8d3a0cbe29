//! What a request may ask of a model, and the checks that every model shares.

use std::{collections::BTreeMap, fmt, ops::RangeInclusive, sync::Arc, time::Duration};

use crate::{Error, Message, Result, Sampling, Tool};

/// What one request asks of a model. Plain data; the model checks it in
/// [`Model::admit`](crate::Model::admit) before any work.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// A voice by its id; none stands for the model's default voice.
    pub voice: Option<String>,
    /// How fast speech is spoken, 1 being the model's own pace. The pitch stays.
    pub speed: f32,
    /// What all randomness of the request is drawn from; none lets the engine choose one.
    pub seed: Option<u64>,
    /// The conversation that a language model continues; empty for other models.
    pub messages: Vec<Message>,
    /// The tools that a language model may call.
    pub tools: Vec<Tool>,
    /// A recording, for models that hear one as a whole.
    pub audio: Option<Sound>,
    /// How a language model's tokens are chosen.
    pub sampling: Sampling,
    /// How urgent its outputs are.
    pub timing: Timing,
    /// What only some models know. A name that the model does not know is an error.
    pub extra: BTreeMap<String, Value>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            voice: None,
            speed: 1.0,
            seed: None,
            messages: Vec::new(),
            tools: Vec::new(),
            audio: None,
            sampling: Sampling::default(),
            timing: Timing::default(),
            extra: BTreeMap::new(),
        }
    }
}

/// A recording.
#[derive(Clone, PartialEq)]
pub struct Sound {
    /// Mono samples from -1 to 1.
    pub samples: Arc<[f32]>,
    /// Samples per second.
    pub rate: u32,
}

impl fmt::Debug for Sound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} samples at {} Hz", self.samples.len(), self.rate)
    }
}

/// How urgent a request's outputs are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// Audio is heard as it comes; everything else is waited for.
    #[default]
    Live,
    /// Nobody waits for it: it has what others leave.
    Background,
    /// All of it is due this long after the request came.
    Within(Duration),
}

/// The value of an option that only some models know.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// Any number.
    Number(f64),
    /// A text.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "`{text}`"),
        }
    }
}

impl Options {
    /// The option of this name as a number within `accepted`, or `default` where it is not given.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where it is no number or lies outside.
    pub fn number(
        &self,
        name: &'static str,
        accepted: RangeInclusive<f64>,
        default: f64,
    ) -> Result<f64> {
        let invalid = |got: String| Error::InvalidOption {
            name: name.into(),
            got,
            accepted: format!("a number from {} to {}", accepted.start(), accepted.end()),
        };
        match self.extra.get(name) {
            None => Ok(default),
            Some(Value::Number(number)) if accepted.contains(number) => Ok(*number),
            Some(other) => Err(invalid(other.to_string())),
        }
    }

    /// The option of this name as yes or no; no where it is not given.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where it is neither.
    pub fn flag(&self, name: &'static str) -> Result<bool> {
        match self.extra.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => {
                let (name, got, accepted) =
                    (name.into(), other.to_string(), "true or false".into());
                Err(Error::InvalidOption {
                    name,
                    got,
                    accepted,
                })
            }
        }
    }

    /// Refuses options whose names the model does not know.
    ///
    /// # Errors
    /// [`Error::UnknownOption`] with the names that it does know.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        match self
            .extra
            .keys()
            .find(|name| !known.contains(&name.as_str()))
        {
            None => Ok(()),
            Some(name) => Err(Error::UnknownOption {
                name: name.clone(),
                known: list(known),
            }),
        }
    }

    /// The speed, where it lies within what the model can do.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] outside of `accepted`, and for what is no number.
    pub fn speed_within(&self, accepted: RangeInclusive<f32>) -> Result<f32> {
        if accepted.contains(&self.speed) {
            return Ok(self.speed);
        }
        Err(Error::InvalidOption {
            name: "speed".into(),
            got: self.speed.to_string(),
            accepted: format!("a number from {} to {}", accepted.start(), accepted.end()),
        })
    }

    /// The voice's index in `voices`; `default` where none is named.
    ///
    /// # Errors
    /// [`Error::UnknownVoice`] with those that there are.
    pub fn voice_among(&self, voices: &[&str], default: usize) -> Result<usize> {
        let Some(voice) = &self.voice else {
            return Ok(default);
        };
        voices
            .iter()
            .position(|known| known == voice)
            .ok_or_else(|| Error::UnknownVoice {
                voice: voice.clone(),
                known: list(voices),
            })
    }
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked_by_name_and_range() {
        let mut options = Options {
            voice: Some("sin".into()),
            speed: f32::NAN,
            ..Options::default()
        };
        options.extra.insert("cots".into(), Value::Number(1.0));
        let checks = [
            (
                options.only(&["cost"]).unwrap_err(),
                "unknown option `cots`, did you mean `cost`? known: cost",
            ),
            (
                options.speed_within(0.25..=4.0).unwrap_err(),
                "option `speed` is NaN, accepted: a number from 0.25 to 4",
            ),
            (
                options.voice_among(&["sine", "square"], 0).unwrap_err(),
                "unknown voice `sin`, did you mean `sine`? known: sine, square",
            ),
            (
                options.number("cots", 2.0..=3.0, 2.0).unwrap_err(),
                "option `cots` is 1, accepted: a number from 2 to 3",
            ),
        ];
        for (error, message) in checks {
            assert_eq!(error.to_string(), message);
        }
        assert_eq!(
            Options::default().voice_among(&["sine", "square"], 1),
            Ok(1)
        );
    }
}
