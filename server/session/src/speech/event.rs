//! What an engine tells about an utterance.

use std::ops::Range;

use codecs::SampleRate;

use crate::Fault;

/// One piece of news about an utterance. After `Done` or `Failed` there is no more.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// The next samples.
    Audio {
        /// Mono, -1 to 1, following those before without a hole.
        samples: &'a [f32],
        /// Their rate, the same in a whole utterance.
        rate: SampleRate,
    },
    /// When some words are heard. May come before or after their audio.
    Words {
        /// The words, in order.
        words: Vec<Word>,
        /// The rate of their sample positions.
        rate: SampleRate,
    },
    /// All audio has been given.
    Done {
        /// Wall time from the first model step to the last, over the audio's time; if known.
        rtf: Option<f64>,
    },
    /// There will be no more audio.
    Failed(Fault),
}

/// A word, where it stands in the text and when it is heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word as it is written in the text.
    pub text: String,
    /// Its characters, counted from the start of the utterance's text.
    pub source: Range<u64>,
    /// Its samples, counted from the start of the utterance's audio.
    pub samples: Range<u64>,
}
