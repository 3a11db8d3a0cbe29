//! What a rule found: which tokens it takes, and the words that are said for them.

use std::ops::Range;

use super::super::utterance::Pause;

/// How the letters of a word become sounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// As a word.
    Read,
    /// Letter by letter; a small `s` at the end is a plural.
    Spell,
}

/// A part of a rule's answer, with the tokens from which it came.
pub(super) struct Part {
    pub(super) tokens: Range<usize>,
    pub(super) said: Said,
}

pub(super) enum Said {
    /// Words parted by spaces, in the rules' own writing: lower case is read, capitals are
    /// spelled, `,` `.` and their like are pauses.
    Line(String),
    /// One word as it stands in the text.
    Word(String, How),
    /// A pause after the word before.
    Pause(Pause),
}

/// A rule's answer: the tokens up to `end` are done.
pub(super) struct Found {
    pub(super) end: usize,
    pub(super) parts: Vec<Part>,
}

impl Found {
    /// Takes `tokens` and says nothing for them.
    pub(super) fn silent(end: usize) -> Self {
        Self {
            end,
            parts: Vec::new(),
        }
    }

    /// Says one line for all of `tokens`.
    pub(super) fn line(tokens: Range<usize>, line: impl Into<String>) -> Self {
        Self::silent(tokens.end).then(tokens, line)
    }

    /// Says one word of the text.
    pub(super) fn word(tokens: Range<usize>, word: impl Into<String>, how: How) -> Self {
        Self::silent(tokens.end).then_word(tokens, word, how)
    }

    pub(super) fn pause(end: usize, pause: Pause) -> Self {
        Self::silent(end).then_pause(pause)
    }

    pub(super) fn then(mut self, tokens: Range<usize>, line: impl Into<String>) -> Self {
        self.parts.push(Part {
            tokens,
            said: Said::Line(line.into()),
        });
        self
    }

    /// Takes all tokens up to `end`.
    pub(super) fn until(mut self, end: usize) -> Self {
        self.end = end;
        self
    }

    pub(super) fn then_word(
        mut self,
        tokens: Range<usize>,
        word: impl Into<String>,
        how: How,
    ) -> Self {
        self.parts.push(Part {
            tokens,
            said: Said::Word(word.into(), how),
        });
        self
    }

    pub(super) fn then_pause(mut self, pause: Pause) -> Self {
        self.parts.push(Part {
            tokens: 0..0,
            said: Said::Pause(pause),
        });
        self
    }
}
