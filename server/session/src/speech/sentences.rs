//! Which sentence of an utterance a character belongs to.
//!
//! Only for labels: the model decides for itself where to cut its text. A sentence ends at
//! `.`, `!`, `?`, `…` or their CJK forms with closing quotes and brackets, before white space (CJK:
//! at once), or at a line feed. A full stop does not end one after an initial or a common
//! abbreviation, nor before a lower-case letter. With [`Granularity::Clause`], `,` `;` `:` before
//! white space and a dash between spaces end one too.
//!
//! The text that is kept is that of sentences not yet passed; [`Sentences::pass`] forgets.

use std::collections::VecDeque;

/// What counts as a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Granularity {
    #[default]
    Sentence,
    Clause,
}

/// Longest abbreviation that is looked at, in characters.
const LONGEST_WORD: usize = 6;

const ABBREVIATIONS: [&str; 22] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "etc", "eg", "ie", "e.g", "i.e", "no",
    "vol", "fig", "inc", "ltd", "co", "approx", "gen",
];

/// What came before the character that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// Inside of a sentence.
    Inside,
    /// A full stop after something that is no abbreviation, and perhaps closing quotes.
    Stop,
    /// A mark that ends a sentence if white space follows.
    Mark,
    /// A full stop and white space: a lower-case letter would take it back.
    StopSpace,
    /// The sentence is over; the next character begins another.
    Over,
}

#[derive(Debug)]
struct Sentence {
    number: u64,
    start: u64,
    text: String,
}

/// The sentences of one utterance, found while its text arrives. See the [module](self).
#[derive(Debug)]
pub(super) struct Sentences {
    granularity: Granularity,
    /// Never empty: the last one is still growing.
    kept: VecDeque<Sentence>,
    chars: u64,
    seen: Seen,
    /// The letters and inner stops just read, lower case.
    word: String,
}

impl Sentences {
    pub(super) fn new(granularity: Granularity) -> Self {
        let first = Sentence {
            number: 0,
            start: 0,
            text: String::new(),
        };
        Self {
            granularity,
            kept: VecDeque::from([first]),
            chars: 0,
            seen: Seen::Inside,
            word: String::new(),
        }
    }

    /// Takes the next text.
    pub(super) fn push(&mut self, text: &str) {
        for c in text.chars() {
            self.push_char(c);
        }
    }

    /// The number of the sentence that holds the character at `position`, counted from 0.
    pub(super) fn at(&self, position: u64) -> u64 {
        let found = self.kept.iter().rev().find(|s| s.start <= position);
        found.or(self.kept.front()).map_or(0, |s| s.number)
    }

    /// The text of a sentence as far as it is known, without white space around it.
    pub(super) fn text(&self, number: u64) -> &str {
        let found = self.kept.iter().find(|s| s.number == number);
        found.map_or("", |s| s.text.trim())
    }

    /// How many characters come before a sentence.
    pub(super) fn start_of(&self, number: u64) -> usize {
        let found = self.kept.iter().find(|s| s.number == number);
        found.map_or(0, |s| usize::try_from(s.start).unwrap_or(usize::MAX))
    }

    /// Forgets the text of all sentences before `number`.
    pub(super) fn pass(&mut self, number: u64) {
        while self.kept.len() > 1 && self.kept.front().is_some_and(|s| s.number < number) {
            self.kept.pop_front();
        }
    }

    fn push_char(&mut self, c: char) {
        if self.begins_sentence(c) {
            let number = self.kept.back().map_or(0, |s| s.number + 1);
            self.kept.push_back(Sentence {
                number,
                start: self.chars,
                text: String::new(),
            });
        }
        self.seen = self.after(c);
        if c.is_alphanumeric() || (c == '.' && !self.word.is_empty()) {
            if self.word.chars().count() <= LONGEST_WORD {
                self.word.extend(c.to_lowercase());
            }
        } else {
            self.word.clear();
        }
        if let Some(sentence) = self.kept.back_mut() {
            sentence.text.push(c);
        }
        self.chars += 1;
    }

    fn begins_sentence(&self, c: char) -> bool {
        match self.seen {
            Seen::Over => !c.is_whitespace() && !is_closer(c),
            Seen::StopSpace => !c.is_whitespace() && !c.is_lowercase(),
            Seen::Inside | Seen::Stop | Seen::Mark => false,
        }
    }

    fn after(&self, c: char) -> Seen {
        match (c, self.seen) {
            ('\n' | '。' | '！' | '？', _) => Seen::Over,
            ('!' | '?' | '…', _) => Seen::Mark,
            ('.', Seen::Mark) => Seen::Mark,
            ('.', _) if self.is_abbreviation() => Seen::Inside,
            ('.', _) => Seen::Stop,
            (',' | ';' | ':' | '—', _) if self.granularity == Granularity::Clause => Seen::Mark,
            (c, Seen::Stop | Seen::Mark) if is_closer(c) => self.seen,
            (c, Seen::Over) if is_closer(c) => Seen::Over,
            (c, Seen::Stop | Seen::StopSpace) if c.is_whitespace() => Seen::StopSpace,
            (c, Seen::Mark | Seen::Over) if c.is_whitespace() => Seen::Over,
            _ => Seen::Inside,
        }
    }

    fn is_abbreviation(&self) -> bool {
        let initial = self.word.chars().count() == 1 && self.word.chars().all(char::is_alphabetic);
        initial || ABBREVIATIONS.contains(&self.word.as_str())
    }
}

fn is_closer(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '»' | '”' | '’' | '」' | '』')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str, granularity: Granularity) -> Vec<String> {
        let mut sentences = Sentences::new(granularity);
        sentences.push(text);
        let texts = sentences.kept.iter().map(|s| s.text.trim().to_owned());
        texts.filter(|text| !text.is_empty()).collect()
    }

    #[test]
    fn sentences_end_where_a_reader_would_stop() {
        for (text, expected) in [
            ("One. Two! Three?", &["One.", "Two!", "Three?"][..]),
            (
                "Dr. Smith paid 3.50. He left.",
                &["Dr. Smith paid 3.50.", "He left."],
            ),
            (
                "J. R. R. Tolkien wrote it.",
                &["J. R. R. Tolkien wrote it."],
            ),
            (
                "He said \"Go.\" Then left.",
                &["He said \"Go.\"", "Then left."],
            ),
            ("Wait... what? No.", &["Wait... what?", "No."]),
            ("line one\nline two", &["line one", "line two"]),
            ("你好。再见！", &["你好。", "再见！"]),
            ("no end", &["no end"]),
            ("Mix e.g. this. And that.", &["Mix e.g. this.", "And that."]),
            ("   ", &[]),
        ] {
            assert_eq!(split(text, Granularity::Sentence), expected, "{text:?}");
        }
    }

    #[test]
    fn clauses_end_at_commas_too() {
        assert_eq!(
            split("First, second; third. 1,000 left", Granularity::Clause),
            ["First,", "second;", "third.", "1,000 left"]
        );
    }

    #[test]
    fn positions_lead_to_their_sentence() {
        let mut sentences = Sentences::new(Granularity::Sentence);
        sentences.push("Ab. Cd. Ef");
        assert_eq!(sentences.at(0), 0);
        assert_eq!(sentences.at(4), 1);
        assert_eq!(sentences.at(9), 2);
        assert_eq!(sentences.text(1), "Cd.");
        sentences.pass(2);
        assert_eq!(sentences.text(1), "");
        assert_eq!(sentences.at(9), 2);
    }

    proptest! {
        #[test]
        fn any_split_of_the_text_finds_the_same_sentences(
            text in "[a-cA-C .!?\n,\"。]{0,60}",
            cut in 0usize..60,
        ) {
            let whole = split(&text, Granularity::Sentence);
            let cut = text.char_indices().nth(cut).map_or(text.len(), |(at, _)| at);
            let mut sentences = Sentences::new(Granularity::Sentence);
            sentences.push(&text[..cut]);
            sentences.push(&text[cut..]);
            let pieces: Vec<String> = sentences.kept.iter().map(|s| s.text.trim().to_owned())
                .filter(|t| !t.is_empty()).collect();
            prop_assert_eq!(whole, pieces);
            let joined: usize = sentences.kept.iter().map(|s| s.text.chars().count()).sum();
            prop_assert_eq!(joined as u64, sentences.chars);
        }
    }
}
