//! What a model says about itself. Plain data.

use graph::Modality;

use crate::{Error, Options, Result};

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
    /// [`Error::NoMessages`] and [`Error::NoConversation`].
    pub(crate) fn check(&self, options: &Options) -> Result<()> {
        let model = || self.id.clone();
        let talks = !options.messages.is_empty() || !options.tools.is_empty();
        match (self.converses, talks) {
            (false, true) => Err(Error::NoConversation { model: model() }),
            (true, _) if options.messages.is_empty() => Err(Error::NoMessages { model: model() }),
            _ => Ok(()),
        }
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
