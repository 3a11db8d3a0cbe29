//! What is said: sentences of a seeded grammar, or the lines of a file.
//!
//! Texts of the warm-up never come again in the measured part, so that no cache of the server can
//! flatter it. The grammar gives every sentence once; a file is dealt out in two disjoint halves
//! of a seeded shuffle, and a file that is too short for the run repeats within its half, which
//! the report then says.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};

/// The longest text, in characters: the limit of the speech door.
const LONGEST: usize = 4096;

/// The largest file of texts that is read, in bytes.
const LARGEST_FILE: usize = 16 << 20;

const WHO: &[&str] = &[
    "The captain",
    "My neighbour",
    "A tired nurse",
    "The old gardener",
    "Doctor Alvarez",
    "The night porter",
    "Your sister",
    "Professor Okafor",
    "A young violinist",
    "The ferry pilot",
    "Every visitor",
    "The baker's son",
    "Mrs. Lindqvist",
    "The station master",
    "Our guide",
    "The new teacher",
    "Captain Moreau",
    "A quiet student",
    "The harbour office",
    "The engineer",
];
const DID: &[&str] = &[
    "carried",
    "described",
    "repaired",
    "forgot",
    "painted",
    "counted",
    "borrowed",
    "returned",
    "measured",
    "photographed",
    "hid",
    "sold",
    "admired",
    "packed",
    "found",
    "labelled",
    "promised",
    "ordered",
    "cleaned",
    "explained",
];
const WHAT: &[&str] = &[
    "a wooden ladder",
    "the green umbrella",
    "an unusual map",
    "two silver spoons",
    "the broken clock",
    "a letter from Lisbon",
    "the last photograph",
    "a crate of oranges",
    "the longest bridge",
    "a pair of gloves",
    "the weather report",
    "an empty notebook",
    "the brass telescope",
    "a jar of honey",
    "the red bicycle",
    "a box of matches",
    "the garden gate",
    "an old song",
    "the morning paper",
    "a bag of flour",
];
const WHERE: &[&str] = &[
    "behind the theatre",
    "near the river",
    "in the upper library",
    "across the square",
    "under the stone arch",
    "beside the railway",
    "at the edge of town",
    "on the second floor",
    "outside the museum",
    "by the lighthouse",
    "along the canal",
    "in front of the bakery",
    "above the workshop",
    "between two chestnut trees",
    "inside the old mill",
];
const WHEN: &[&str] = &[
    "before the rain began",
    "while the children slept",
    "after a very long winter",
    "as soon as the bells rang",
    "because nobody else would",
    "although it was already late",
    "until the lamps went out",
    "when the market closed",
    "so that everyone could see",
    "just as the train left",
    "without saying a word",
    "and laughed about it later",
];
const COUNTED: &[&str] = &[
    "It took {n} minutes",
    "There were {n} of them",
    "It cost {n} dollars",
    "They walked {n} miles",
    "Room {n} was empty",
    "The answer was {n}",
    "Page {n} was missing",
    "It weighed {n} pounds",
];

/// Deals out texts; the same seed deals the same.
#[derive(Debug)]
pub struct Texts {
    source: Source,
    rng: fastrand::Rng,
    repeated: bool,
}

#[derive(Debug)]
enum Source {
    Grammar {
        sentences: u32,
        given: HashSet<String>,
    },
    Lines {
        warm_up: Deck,
        measured: Deck,
    },
}

#[derive(Debug)]
struct Deck {
    lines: Vec<Arc<str>>,
    next: usize,
}

impl Deck {
    /// The next line, and whether the deck had to start over for it.
    fn deal(&mut self) -> (Arc<str>, bool) {
        let again = self.next >= self.lines.len();
        let line = Arc::clone(&self.lines[self.next % self.lines.len()]);
        self.next += 1;
        (line, again)
    }
}

impl Texts {
    /// Texts of `sentences` (at least one) generated sentences of 13 to 25 words each.
    #[must_use]
    pub fn generated(sentences: u32, seed: u64) -> Self {
        let given = HashSet::new();
        Self {
            source: Source::Grammar {
                sentences: sentences.max(1),
                given,
            },
            rng: fastrand::Rng::with_seed(seed),
            repeated: false,
        }
    }

    /// The lines of `file`, one text each; empty lines and those that begin with `#` are skipped.
    ///
    /// # Errors
    /// With fewer than two texts (one for the warm-up, one to measure), or one over the limit of
    /// 4,096 characters.
    pub fn of_lines(file: &str, seed: u64) -> Result<Self> {
        ensure!(
            file.len() <= LARGEST_FILE,
            "the file of texts is over {LARGEST_FILE} bytes"
        );
        let mut lines = Vec::new();
        for (index, line) in file.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (number, chars) = (index + 1, line.chars().count());
            ensure!(
                chars <= LONGEST,
                "line {number} has {chars} characters; at most {LONGEST}"
            );
            lines.push(Arc::from(line));
        }
        let count = lines.len();
        ensure!(
            count >= 2,
            "{count} texts in the file; at least 2 are needed, since those of the warm-up are not \
             measured"
        );
        let mut rng = fastrand::Rng::with_seed(seed);
        rng.shuffle(&mut lines);
        let measured = lines.split_off((count / 5).max(1));
        let deck = |lines| Deck { lines, next: 0 };
        Ok(Self {
            source: Source::Lines {
                warm_up: deck(lines),
                measured: deck(measured),
            },
            rng,
            repeated: false,
        })
    }

    /// Reads `path` for [`Self::of_lines`].
    ///
    /// # Errors
    /// When the file cannot be read, or what it holds cannot be used.
    pub fn of_file(path: &str, seed: u64) -> Result<Self> {
        let file = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the texts of `{path}`"))?;
        Self::of_lines(&file, seed).with_context(|| format!("cannot use the texts of `{path}`"))
    }

    /// A text for the warm-up.
    pub fn warm_up(&mut self) -> Arc<str> {
        match &mut self.source {
            Source::Lines { warm_up, .. } => warm_up.deal().0,
            Source::Grammar { .. } => self.measured(),
        }
    }

    /// A text to measure with.
    pub fn measured(&mut self) -> Arc<str> {
        match &mut self.source {
            Source::Lines { measured, .. } => {
                let (line, again) = measured.deal();
                self.repeated |= again;
                line
            }
            Source::Grammar { sentences, given } => loop {
                let text = passage(*sentences, &mut self.rng);
                // 1.4 million plain sentences, 10^10 with a number: a level has at most 10^5 requests,
                // so a throw is rarely in vain.
                if given.insert(text.clone()) {
                    return Arc::from(text);
                }
            },
        }
    }

    /// True once a measured text has come for a second time.
    #[must_use]
    pub fn repeated(&self) -> bool {
        self.repeated
    }

    /// Where the texts come from, for the report.
    #[must_use]
    pub fn source(&self) -> String {
        match &self.source {
            Source::Grammar { sentences: 1, .. } => "1 generated sentence each".to_owned(),
            Source::Grammar { sentences, .. } => format!("{sentences} generated sentences each"),
            Source::Lines { warm_up, measured } => format!(
                "lines of a file: {} to measure, {} others to warm up",
                measured.lines.len(),
                warm_up.lines.len()
            ),
        }
    }
}

fn passage(sentences: u32, rng: &mut fastrand::Rng) -> String {
    let mut text = String::new();
    for _ in 0..sentences {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&sentence(rng));
    }
    // A passage over the door's limit would measure refusals.
    text.chars().take(LONGEST).collect()
}

/// One sentence of 13 to 25 words; about a third of them have a number to read out.
fn sentence(rng: &mut fastrand::Rng) -> String {
    let mut pick = |list: &[&'static str]| rng.choice(list.iter().copied()).unwrap_or_default();
    let (who, did, what) = (pick(WHO), pick(DID), pick(WHAT));
    let (place, when, counted) = (pick(WHERE), pick(WHEN), pick(COUNTED));
    if rng.u8(0..3) == 0 {
        let counted = counted.replace("{n}", &rng.u16(2..1000).to_string());
        return format!("{counted}, but {} {did} {what} {place} {when}.", lower(who));
    }
    format!("{who} {did} {what} {place} {when}.")
}

/// The name of a person keeps its capital inside a sentence, an article does not.
fn lower(who: &str) -> String {
    let article = ["The ", "A ", "Every ", "My ", "Your ", "Our "];
    if article.iter().any(|word| who.starts_with(word)) {
        let mut letters = who.chars();
        let first = letters.next().map(|c| c.to_ascii_lowercase());
        return first.into_iter().chain(letters).collect();
    }
    who.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_sentences_are_all_different_and_of_one_kind() {
        let mut texts = Texts::generated(1, 3);
        let mut seen = HashSet::new();
        for index in 0..10_000 {
            let text = if index < 1000 {
                texts.warm_up()
            } else {
                texts.measured()
            };
            let words = text.split(' ').count();
            assert!((13..=25).contains(&words), "{words} words: {text}");
            assert!(seen.insert(text));
        }
        assert!(!texts.repeated());
    }

    #[test]
    fn the_seed_decides() {
        let list = |seed| {
            let mut texts = Texts::generated(2, seed);
            (0..20).map(|_| texts.measured()).collect::<Vec<_>>()
        };
        assert_eq!(list(1), list(1));
        assert_ne!(list(1), list(2));
    }

    #[test]
    fn lines_of_the_warm_up_are_not_measured() {
        let file = (0..50)
            .map(|i| format!("line {i}\n\n# no\n"))
            .collect::<String>();
        let mut texts = Texts::of_lines(&file, 1).unwrap();
        let warm: HashSet<_> = (0..100).map(|_| texts.warm_up()).collect();
        let measured: HashSet<_> = (0..40).map(|_| texts.measured()).collect();
        assert_eq!((warm.len(), measured.len()), (10, 40));
        assert!(warm.is_disjoint(&measured));
        assert!(!texts.repeated());
        texts.measured();
        assert!(texts.repeated());
    }

    #[test]
    fn a_file_that_cannot_serve_is_refused() {
        let error = Texts::of_lines("\n# only\none\n", 1)
            .unwrap_err()
            .to_string();
        assert!(error.contains("1 texts in the file"), "{error}");
        let long = format!("a\n{}\n", "b".repeat(4097));
        let error = Texts::of_lines(&long, 1).unwrap_err().to_string();
        assert!(error.contains("line 2 has 4097 characters"), "{error}");
    }
}
