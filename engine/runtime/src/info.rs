//! What a model says about itself. Plain data.

use graph::Modality;

use crate::{Error, Options, Result, Sound};

/// What a client may know about a model before it sends a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelInfo {
    /// The name by which requests ask for it.
    pub id: String,
    /// The kind of model: which code serves it, with whatever weights.
    pub kind: String,
    /// One line for people.
    pub description: String,
    /// Whether it continues a conversation, given as [`Options::messages`](crate::Options). A
    /// request without messages is refused by a model that does, and one with messages by a model
    /// that does not, before any work.
    pub converses: bool,
    /// What it takes in.
    pub inputs: Vec<Modality>,
    /// What it gives out.
    pub outputs: Vec<Modality>,
    /// Samples per second of the audio that it takes in, where it takes any: a recording in
    /// [`Options::audio`](crate::Options), or a stream. A recording of another rate is refused,
    /// and so is any by a model that takes none, before any work.
    pub hears: Option<u32>,
    /// Whether it hears sound as it comes, as a stream. A recording is refused then, before any
    /// work.
    pub hears_streams: bool,
    /// Samples per second of the audio that it gives out, where it gives any.
    pub sample_rate: Option<u32>,
    /// The voices that it speaks with; empty where it does not speak.
    pub voices: Vec<VoiceInfo>,
    /// The voice of a request that names none.
    pub default_voice: Option<String>,
    /// The licence of its weights, as far as it is known, and what is open about it.
    pub licence: String,
    /// What is real about it: which weights it runs, or that it runs none.
    pub weights: String,
}

impl ModelInfo {
    /// Whether a request of these options is of a form that the model takes at all.
    ///
    /// # Errors
    /// [`Error::NoMessages`] and [`Error::NoConversation`]; [`Error::InvalidOption`] for a
    /// recording that it cannot hear.
    pub(crate) fn check(&self, options: &Options) -> Result<()> {
        if let Some(sound) = &options.audio {
            self.check_sound(sound)?;
        }
        let model = || self.id.clone();
        let talks = !options.messages.is_empty() || !options.tools.is_empty();
        match (self.converses, talks) {
            (false, true) => Err(Error::NoConversation { model: model() }),
            (true, _) if options.messages.is_empty() => Err(Error::NoMessages { model: model() }),
            _ => Ok(()),
        }
    }

    fn check_sound(&self, sound: &Sound) -> Result<()> {
        let refused = |got: String, accepted: String| Error::InvalidOption {
            name: "audio".into(),
            got,
            accepted,
        };
        let Some(rate) = self.hears else {
            let accepted = format!("nothing, as the model `{}` does not hear", self.id);
            return Err(refused("a recording".into(), accepted));
        };
        if self.hears_streams {
            let accepted = "audio that is fed in bit by bit".into();
            return Err(refused("a recording".into(), accepted));
        }
        if sound.rate != rate {
            let got = format!("a recording of {} Hz", sound.rate);
            return Err(refused(got, format!("a recording of {rate} Hz")));
        }
        if !sound.samples.iter().all(|sample| sample.is_finite()) {
            let got = "a recording with samples that are no numbers".into();
            return Err(refused(got, "finite samples".into()));
        }
        Ok(())
    }
}

/// A voice of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoiceInfo {
    /// The name by which requests ask for it.
    pub id: String,
    /// One line for people.
    pub description: String,
    /// Its language as a BCP 47 tag, such as `en-US`.
    pub language: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_for_models_that_hear_and_of_their_rate() {
        let mut info = ModelInfo {
            id: "ear".into(),
            ..ModelInfo::default()
        };
        let options = |samples: &[f32], rate| Options {
            audio: Some(Sound {
                samples: samples.into(),
                rate,
            }),
            ..Options::default()
        };
        let refused = |info: &ModelInfo, options| info.check(&options).unwrap_err().to_string();
        assert_eq!(
            refused(&info, options(&[0.0], 16_000)),
            "option `audio` is a recording, accepted: nothing, as the model `ear` does not hear"
        );
        info.hears = Some(16_000);
        assert_eq!(info.check(&options(&[0.0], 16_000)), Ok(()));
        assert_eq!(
            refused(&info, options(&[0.0], 8_000)),
            "option `audio` is a recording of 8000 Hz, accepted: a recording of 16000 Hz"
        );
        assert!(refused(&info, options(&[f32::NAN], 16_000)).contains("finite"));
        info.hears_streams = true;
        assert_eq!(
            refused(&info, options(&[0.0], 16_000)),
            "option `audio` is a recording, accepted: audio that is fed in bit by bit"
        );
    }
}
