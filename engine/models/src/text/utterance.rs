//! What the front end hands to the voice: words, phonemes and where they came from.

use std::ops::Range;

/// How long the voice waits after a word, and with which melody it gets there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pause {
    /// Straight on to the next word.
    #[default]
    None,
    /// A short one, as at a comma, a bracket or a dash.
    Comma,
    /// Between comma and full stop.
    Semicolon,
    /// An announcement.
    Colon,
    /// The end of a statement.
    Stop,
    /// The end of a question.
    Question,
    /// The end of an exclamation.
    Exclamation,
}

impl Pause {
    /// The symbol that the voice was trained with.
    #[must_use]
    pub fn symbol(self) -> Option<char> {
        match self {
            Self::None => None,
            Self::Comma => Some(','),
            Self::Semicolon => Some(';'),
            Self::Colon => Some(':'),
            Self::Stop => Some('.'),
            Self::Question => Some('?'),
            Self::Exclamation => Some('!'),
        }
    }

    /// Whether a sentence ends here.
    #[must_use]
    pub fn ends_sentence(self) -> bool {
        matches!(self, Self::Stop | Self::Question | Self::Exclamation)
    }

    /// Which of two marks at the same place is heard.
    pub(super) fn stronger(self, other: Self) -> Self {
        let rank = |pause| match pause {
            Self::None => 0,
            Self::Comma => 1,
            Self::Semicolon => 2,
            Self::Colon => 3,
            Self::Stop => 4,
            Self::Exclamation => 5,
            Self::Question => 6,
        };
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }
}

/// One spoken word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// What is said, in plain letters: `three` for the source `3`, `FBI` where letters are spelled.
    pub text: String,
    /// Where it stands in the input, in characters (not bytes). Several words may share a source
    /// (`3.5` is three words), and sources never run backwards from word to word by their starts.
    pub source: Range<usize>,
    /// Phonemes in IPA as espeak-ng writes American English.
    pub phonemes: String,
    /// What follows the word.
    pub break_after: Pause,
}

/// One sentence or clause, ready for the voice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Utterance {
    /// The spoken words in order. Empty when there is nothing to say.
    pub words: Vec<Word>,
    /// The voice's input: start, symbols with padding between, end. Empty when there is nothing
    /// to say.
    pub ids: Vec<i64>,
    /// For each of `ids`, the index of the word that it belongs to; `None` for spaces,
    /// punctuation, start and end. The padding after a phoneme belongs to the phoneme's word.
    pub word_of_id: Vec<Option<usize>>,
    /// Parts of the input, in characters, that no rule reads aloud: emoji and letters of scripts
    /// other than Latin and Greek. In order, not overlapping.
    pub unread: Vec<Range<usize>>,
}

impl Utterance {
    /// Whether there is nothing to say: empty text, only spaces, signs, emoji or other scripts.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.words.is_empty()
    }
}
