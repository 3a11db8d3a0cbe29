//! Hundreds of readings, one a line of `cases.txt`, and properties that hold for any text.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// Knows the common words that the cases need.
struct Known(HashSet<&'static str>);

impl Dictionary for Known {
    fn knows(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

fn known() -> Known {
    let words = "NASA PIN COVID covid youtube warning do not touch hot phone open machine learning example the and case \
                 know user name site mail john smith main config notes text hosts users item one bold";
    Known(words.split_whitespace().collect())
}

fn reading(text: &str) -> String {
    let normalized = normalize(text, &known());
    let mut line = String::new();
    for word in &normalized.words {
        if !line.is_empty() {
            line.push(' ');
        }
        match word.how {
            How::Read => line.push_str(&word.text.to_lowercase()),
            How::Spell => line.push_str(&spelled(&word.text)),
        }
        line.extend(word.pause.symbol());
    }
    line.strip_suffix('.').unwrap_or(&line).to_owned()
}

/// Capitals, with a plural or possessive ending as it is.
fn spelled(text: &str) -> String {
    if text.len() == 1 {
        text.to_uppercase()
    } else {
        text.to_owned()
    }
}

#[test]
fn every_case_reads_as_listed() {
    let cases = include_str!("cases.txt")
        .lines()
        .filter(|line| !line.starts_with("# ") && line.contains(" =>"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases {
        let (text, expected) = case.split_once(" =>").unwrap();
        let got = reading(&text.replace("\\n", "\n"));
        count += 1;
        if got != expected.trim() {
            wrong.push(format!(
                "{text}\n  expected {}\n  got      {got}",
                expected.trim()
            ));
        }
    }
    assert!(count > 250, "only {count} cases were found");
    assert!(
        wrong.is_empty(),
        "{} of {count} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn words_know_their_source() {
    let text = "Äh, $3.50 on May 3rd — naïve 👍 ok";
    let chars: Vec<char> = text.chars().collect();
    let normalized = normalize(text, &known());
    let sources: Vec<(String, String)> = normalized
        .words
        .iter()
        .map(|word| {
            (
                word.text.clone(),
                chars[word.source.clone()].iter().collect(),
            )
        })
        .collect();
    let expected = [
        ("Ah", "Äh"),
        ("three", "$3.50"),
        ("dollars", "$3.50"),
        ("and", "$3.50"),
        ("fifty", "$3.50"),
        ("cents", "$3.50"),
        ("on", "on"),
        ("may", "May"),
        ("third", "3rd"),
        ("naive", "naïve"),
        ("ok", "ok"),
    ];
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect();
    assert_eq!(sources, expected);
    assert_eq!(
        normalized.unread.as_slice(),
        std::slice::from_ref(&(29..30))
    );
}

/// What always holds of a text's words.
fn check(text: &str) {
    let length = text.chars().count();
    let normalized = normalize(text, &known());
    let mut start = 0;
    for word in &normalized.words {
        assert!(
            word.source.start >= start
                && word.source.end <= length
                && word.source.start < word.source.end,
            "{text:?}: {word:?}"
        );
        assert!(
            !word.text.is_empty() && word.text.is_ascii(),
            "{text:?}: {word:?}"
        );
        start = word.source.start;
    }
    let last = normalized.words.last();
    assert!(
        last.is_none_or(|last| last.pause != Pause::None),
        "{text:?}"
    );
    assert!(normalized.words.len() <= 8 * length, "{text:?}");
    let mut end = 0;
    for range in &normalized.unread {
        assert!(
            range.start >= end && range.start < range.end && range.end <= length,
            "{text:?}: {range:?}"
        );
        end = range.end;
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn any_characters_are_read(chars in prop::collection::vec(any::<char>(), 0..200)) {
        check(&chars.into_iter().collect::<String>());
    }

    /// What the rules look for, in any order.
    #[test]
    fn any_mixture_of_parts_is_read(parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..60)) {
        check(&parts.concat());
    }
}

const PARTS: [&str; 64] = [
    " ", " ", " ", "\n", "1", "12", "2024", "007", "000", ",", ".", ":", "/", "-", "–", "$", "€",
    "%", "°", "'", "\"", "(", ")", "<", ">", "&", "#", "@", "*", "_", "~", "+", "^", "²", "½", "a",
    "A", "I", "s", "st", "th", "am", "p.m.", "May", "Dr", "St", "No", "Henry", "VIII", "km", "GB",
    "http://", "www", "com", "rs", "USD", "k", "million", "x", "T", "Z", "👍🏽", "é", "]( ",
];

/// Time is linear: each of these would take minutes were some search not bounded.
#[test]
fn long_texts_do_not_explode() {
    for part in [
        "a", "1", " ", ".", ",", "(", "<", "<a", "&", "[", "[a](", "*", "a*", "1-", "1,111", "1.",
        "a.", "a-", "a'", "@a", "#", "http://", "a/", "1:", "$", "+1 ", "I ", "A", "aB", "é", "👍",
        "\u{200d}", "1 1/2 ", "x^", "\n- ", "!", "![", "`", "<!--",
    ] {
        let text = part.repeat(40_000 / part.len());
        let normalized = normalize(&text, &known());
        assert!(normalized.words.len() <= 3 * text.len(), "{part}");
    }
}
