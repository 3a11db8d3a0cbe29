//! Text into words: what a reader says for figures, signs and abbreviations.
//!
//! ```text
//! text ─ markup ─ clean ─ token ─ rules ─ words, each with the characters it came from
//! ```
//!
//! [`markup`] drops tags and emphasis, [`clean`] makes characters plain, [`token`] cuts. Then at
//! each token the rules are asked in order, one family a file; the first that answers takes its
//! tokens. A rule looks at a bounded number of tokens ahead, except the one for addresses, which
//! looks once at each run without spaces: so the whole is linear in the length of the text.
//!
//! Documented choices: emoji and letters of scripts other than Latin and Greek are left out and
//! reported; quotation marks are not heard; brackets, dashes and `…` are pauses.

mod abbreviations;
mod clean;
mod dates;
mod figure;
mod found;
mod markup;
mod money;
mod numbers;
mod phone;
mod roman;
mod say;
mod symbols;
#[cfg(test)]
mod tests;
mod times;
mod token;
mod units;
mod web;
mod words;

use std::ops::Range;

pub(crate) use self::found::How;
use self::{
    found::{Found, Said},
    token::Tokens,
};
use super::utterance::Pause;

/// What the rules ask about a word.
pub(crate) trait Dictionary {
    /// Whether the word is known exactly as written.
    fn knows(&self, word: &str) -> bool;
}

/// A word to be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spoken {
    pub(crate) text: String,
    pub(crate) how: How,
    /// Characters of the input.
    pub(crate) source: Range<usize>,
    pub(crate) pause: Pause,
}

/// All words of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Normalized {
    pub(crate) words: Vec<Spoken>,
    /// Characters of the input that nobody reads aloud.
    pub(crate) unread: Vec<Range<usize>>,
}

/// A family of rules: looks at the token `i` and what follows.
type Rule = fn(&Tokens<'_>, usize, &dyn Dictionary) -> Option<Found>;

/// An earlier family wins: an address before its parts, a date before a fraction.
const RULES: [Rule; 11] = [
    web::read,
    dates::read,
    times::read,
    money::read,
    phone::read,
    units::read,
    abbreviations::read,
    roman::read,
    ranks_and_words,
    numbers::read,
    symbols::read,
];

/// Ranks look like figures grown together with letters, so they go first.
fn ranks_and_words(tokens: &Tokens<'_>, i: usize, dictionary: &dyn Dictionary) -> Option<Found> {
    numbers::grown(tokens, i).or_else(|| words::read(tokens, i, dictionary))
}

/// The words of a text, as they are read aloud.
pub(crate) fn normalize(text: &str, dictionary: &dyn Dictionary) -> Normalized {
    let (glyphs, unread) = clean::clean(&markup::strip(text));
    let plain = token::join(&glyphs);
    let tokens = Tokens::new(&plain, &glyphs);
    let mut normalized = Normalized {
        words: Vec::new(),
        unread,
    };
    let mut i = 0;
    while i < tokens.len() {
        let found = RULES.iter().find_map(|rule| rule(&tokens, i, dictionary));
        i = match found {
            Some(found) => {
                let end = found.end.max(i + 1);
                normalized.add(found, &tokens);
                end
            }
            None => i + 1,
        };
    }
    normalized.close();
    normalized
}

impl Normalized {
    fn add(&mut self, found: Found, tokens: &Tokens<'_>) {
        for part in found.parts {
            let source = tokens.source(part.tokens);
            match part.said {
                Said::Word(text, how) => self.words.push(Spoken {
                    text,
                    how,
                    source,
                    pause: Pause::None,
                }),
                Said::Pause(pause) => self.pause(pause),
                Said::Line(line) => line
                    .split_ascii_whitespace()
                    .for_each(|piece| self.say(piece, &source)),
            }
        }
    }

    /// A piece of a rule's line.
    fn say(&mut self, piece: &str, source: &Range<usize>) {
        match piece {
            "," => self.pause(Pause::Comma),
            "." => self.pause(Pause::Stop),
            _ => {
                let how = if piece.starts_with(|c: char| c.is_ascii_uppercase()) {
                    How::Spell
                } else {
                    How::Read
                };
                self.words.push(Spoken {
                    text: piece.to_owned(),
                    how,
                    source: source.clone(),
                    pause: Pause::None,
                });
            }
        }
    }

    fn pause(&mut self, pause: Pause) {
        if let Some(last) = self.words.last_mut() {
            last.pause = last.pause.stronger(pause);
        }
    }

    /// A text without a mark at its end is a statement.
    fn close(&mut self) {
        if let Some(last) = self
            .words
            .last_mut()
            .filter(|last| last.pause == Pause::None)
        {
            last.pause = Pause::Stop;
        }
    }
}
