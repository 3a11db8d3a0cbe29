//! Cleaned text cut into tokens: letters, digits, spaces and single marks.

use std::ops::Range;

use super::clean::{Glyph, PARAGRAPH};

/// What a token is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A run of ASCII letters. An apostrophe between letters belongs to it.
    Letters,
    /// A run of ASCII digits.
    Digits,
    /// A run of spaces and line ends.
    Space,
    /// One other character.
    Mark(char),
}

/// A piece of text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// The first character of the input that it came from.
    first: usize,
    /// The last one.
    last: usize,
}

/// All tokens of a text. Every look-up is total: beyond the ends there is nothing.
pub(super) struct Tokens<'a> {
    tokens: Vec<Token<'a>>,
    shouting: bool,
}

/// The characters as one string, for [`Tokens`] to borrow from.
pub(super) fn join(glyphs: &[Glyph]) -> String {
    glyphs.iter().map(|glyph| glyph.c).collect()
}

impl<'a> Tokens<'a> {
    /// `text` is `join(glyphs)`.
    pub(super) fn new(text: &'a str, glyphs: &[Glyph]) -> Self {
        let mut tokens: Vec<Token<'a>> = Vec::with_capacity(glyphs.len() / 3);
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        let mut i = 0;
        while i < chars.len() {
            let (kind, end) = run(&chars, i);
            let stop = chars.get(end).map_or(text.len(), |(at, _)| *at);
            let source = &glyphs[i..end];
            tokens.push(Token {
                kind,
                text: &text[chars[i].0..stop],
                first: source.first().map_or(0, |glyph| glyph.at),
                last: source.last().map_or(0, |glyph| glyph.at),
            });
            i = end;
        }
        Self {
            shouting: is_shouting(&tokens),
            tokens,
        }
    }

    /// Whether all of several words are in capitals.
    pub(super) fn is_shouting(&self) -> bool {
        self.shouting
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn get(&self, i: usize) -> Option<&Token<'a>> {
        self.tokens.get(i)
    }

    /// The token's text; empty beyond the ends.
    pub(super) fn text(&self, i: usize) -> &'a str {
        self.tokens.get(i).map_or("", |token| token.text)
    }

    pub(super) fn is_mark(&self, i: usize, mark: char) -> bool {
        self.mark(i) == Some(mark)
    }

    pub(super) fn mark(&self, i: usize) -> Option<char> {
        match self.tokens.get(i)?.kind {
            Kind::Mark(mark) => Some(mark),
            _ => None,
        }
    }

    pub(super) fn is_space(&self, i: usize) -> bool {
        self.tokens
            .get(i)
            .is_some_and(|token| token.kind == Kind::Space)
    }

    pub(super) fn digits(&self, i: usize) -> Option<&'a str> {
        self.tokens
            .get(i)
            .filter(|token| token.kind == Kind::Digits)
            .map(|token| token.text)
    }

    pub(super) fn letters(&self, i: usize) -> Option<&'a str> {
        self.tokens
            .get(i)
            .filter(|token| token.kind == Kind::Letters)
            .map(|token| token.text)
    }

    /// Whether letters or digits stand at `i`.
    pub(super) fn is_wordy(&self, i: usize) -> bool {
        self.digits(i).is_some() || self.letters(i).is_some()
    }

    /// The next index that is not a space: `i` or `i + 1`.
    pub(super) fn past_space(&self, i: usize) -> usize {
        if self.is_space(i) { i + 1 } else { i }
    }

    /// The word before `i` across one space, in lower case.
    pub(super) fn word_before(&self, i: usize) -> Option<&'a str> {
        let before = i.checked_sub(1)?;
        if self.is_space(before) {
            self.letters(before.checked_sub(1)?)
        } else {
            self.letters(before)
        }
    }

    /// Whether the text, or a word, begins at `i`: nothing wordy stands right before.
    pub(super) fn starts_word(&self, i: usize) -> bool {
        i.checked_sub(1).is_none_or(|before| !self.is_wordy(before))
    }

    /// Whether a space, an end or a mark other than a joining one stands at `i`.
    pub(super) fn ends_word(&self, i: usize) -> bool {
        !self.is_wordy(i)
    }

    /// Whether only closing marks and spaces follow from `i` on, so that a sentence ends there.
    pub(super) fn is_tail(&self, i: usize) -> bool {
        (i..self.len()).take(8).all(|i| !self.is_wordy(i)) && self.len().saturating_sub(i) <= 8
    }

    /// The characters of the input from which these tokens came.
    pub(super) fn source(&self, tokens: Range<usize>) -> Range<usize> {
        let inside = self.tokens.get(tokens).unwrap_or(&[]);
        match (inside.first(), inside.last()) {
            (Some(first), Some(last)) => first.first..last.last.max(first.first) + 1,
            _ => 0..0,
        }
    }
}

fn is_shouting(tokens: &[Token<'_>]) -> bool {
    let words = || {
        tokens
            .iter()
            .filter(|token| token.kind == Kind::Letters && token.text.len() > 1)
    };
    words().count() >= 3
        && words().all(|word| !word.text.bytes().any(|byte| byte.is_ascii_lowercase()))
}

/// The kind of the run that starts at `i`, and its end.
fn run(chars: &[(usize, char)], i: usize) -> (Kind, usize) {
    let at = |i: usize| chars.get(i).map_or('\0', |(_, c)| *c);
    let run = |is: fn(char) -> bool| {
        (i..chars.len())
            .find(|i| !is(at(*i)))
            .unwrap_or(chars.len())
    };
    match at(i) {
        c if c.is_ascii_digit() => (Kind::Digits, run(|c| c.is_ascii_digit())),
        c if is_space(c) => (Kind::Space, run(is_space)),
        c if c.is_ascii_alphabetic() => {
            let mut end = run(|c| c.is_ascii_alphabetic());
            while at(end) == '\'' && at(end + 1).is_ascii_alphabetic() {
                end += 1;
                while at(end).is_ascii_alphabetic() {
                    end += 1;
                }
            }
            (Kind::Letters, end)
        }
        c => (Kind::Mark(c), i + 1),
    }
}

fn is_space(c: char) -> bool {
    c == ' ' || c == '\n' || c == PARAGRAPH
}
