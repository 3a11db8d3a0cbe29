//! What a single dot before white space means: the end of a sentence, or of an abbreviation.

use super::marks::is_opener;
use super::{Place, View};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dot {
    /// It belongs to an abbreviation that something must follow, or to the number of a list.
    Inside,
    /// It belongs to an abbreviation, and may end a sentence as well.
    Perhaps,
    /// It ends a sentence unless a number follows, as in `No. 5` or `Jan. 3`.
    UnlessNumber,
    /// It follows no word: one of the dots of `. . .`, perhaps.
    Alone,
    /// It ends a sentence.
    Ends,
}

pub(super) fn dot(view: &View<'_>, index: usize) -> Dot {
    let first = view.word_before(index);
    if first == index {
        let behind_space = view.before(index).is_none_or(char::is_whitespace);
        return if behind_space { Dot::Alone } else { Dot::Ends };
    }
    let word: String = (first..index).map(|at| view.at(at)).collect();
    if is_list_number(view, first, &word) {
        return Dot::Inside;
    }
    let lower = word.to_lowercase();
    if FOLLOWED.contains(&lower.as_str()) {
        Dot::Inside
    } else if is_initial(view, first, &word)
        || is_dotted(&word)
        || AMBIGUOUS.contains(&lower.as_str())
    {
        Dot::Perhaps
    } else if NUMBERED.contains(&lower.as_str()) {
        Dot::UnlessNumber
    } else {
        Dot::Ends
    }
}

/// `1.` or `b.` at the start of a line or of the piece.
fn is_list_number(view: &View<'_>, first: usize, word: &str) -> bool {
    let number = word.len() <= 3 && word.chars().all(|c| c.is_ascii_digit());
    let letter = word.len() == 1 && word.chars().all(|c| c.is_ascii_lowercase());
    let mut before = (0..first).rev().map(|at| view.at(at));
    let starts_line = before
        .find(|&c| c == '\n' || !c.is_whitespace())
        .is_none_or(|c| c == '\n');
    (number || letter) && starts_line
}

/// One capital, as in `J. Smith`; the pronoun only behind another one, as in `J. I. Packer`.
fn is_initial(view: &View<'_>, first: usize, word: &str) -> bool {
    let mut chars = word.chars();
    match (chars.next(), chars.next()) {
        (Some('I'), None) => follows_initial(view, first),
        (Some(c), None) => c.is_uppercase(),
        _ => false,
    }
}

fn follows_initial(view: &View<'_>, first: usize) -> bool {
    let mut before = (0..first).rev().map(|at| view.at(at));
    before.next().is_some_and(char::is_whitespace)
        && before.next() == Some('.')
        && before.next().is_some_and(char::is_uppercase)
        && before.next().is_none_or(|c| !c.is_alphanumeric())
}

/// `U.S`, `p.m`, `Ph.D`: short parts of letters between dots.
fn is_dotted(word: &str) -> bool {
    word.contains('.')
        && word.split('.').all(|part| {
            (1..=2).contains(&part.chars().count()) && part.chars().all(char::is_alphabetic)
        })
}

/// Whether the word behind `end` is one that sentences begin with; `None` while that is open.
pub(super) fn next_word_starts_sentence(view: &View<'_>, end: usize) -> Option<bool> {
    let (first, place) = view.skip(end, char::is_whitespace);
    match place {
        Place::Unknown => return None,
        Place::End | Place::Far => return Some(true),
        Place::Char(c) if is_opener(c) => return Some(true),
        Place::Char(c) if !c.is_uppercase() => return Some(false),
        Place::Char(_) => {}
    }
    let (behind, place) = view.skip(first, char::is_alphabetic);
    if place == Place::Unknown && behind <= first + LONGEST_STARTER {
        return None;
    }
    // `J. A. Smith`: the second one is an initial, too.
    if place == Place::Char('.') && behind == first + 1 {
        return Some(false);
    }
    let word: String = (first..behind).map(|at| view.at(at)).collect();
    Some(STARTERS.contains(&word.as_str()))
}

/// Abbreviations that something always follows.
const FOLLOWED: &[&str] = &[
    "mr", "mrs", "ms", "mx", "dr", "prof", "st", "gen", "col", "sgt", "capt", "cpt", "lt", "maj",
    "cmdr", "adm", "rev", "sen", "gov", "pres", "mt", "vs", "v", "cf", "ca", "viz", "approx",
    "e.g", "i.e", "eg", "ie", "messrs", "mme", "mlle",
];

/// Abbreviations that may stand at the end of a sentence.
const AMBIGUOUS: &[&str] = &[
    "etc", "inc", "ltd", "co", "corp", "llc", "bros", "jr", "sr", "esq", "al", "hon", "rep", "fr",
    "dept", "univ", "assn", "ave", "blvd", "rd", "hwy", "apt", "est", "hr", "hrs", "mins", "secs",
    "ft", "lb", "lbs", "oz", "cm", "mm", "km", "kg", "mph", "tel", "ext", "phd",
];

/// Abbreviations only before a number, and words otherwise.
const NUMBERED: &[&str] = &[
    "no", "nos", "nr", "fig", "figs", "eq", "eqs", "ch", "sec", "vol", "vols", "pp", "p", "ed",
    "art", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
    "mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun", "min", "max",
];

/// Words that begin a sentence far more often than they follow an abbreviation inside one.
const STARTERS: &[&str] = &[
    "A", "After", "All", "Also", "Although", "An", "And", "Another", "Are", "As", "At", "Because",
    "Before", "Both", "But", "By", "Can", "Could", "Did", "Do", "Does", "During", "Each", "Even",
    "Every", "For", "From", "Had", "Has", "Have", "He", "Her", "Here", "His", "How", "However",
    "I", "If", "In", "Is", "It", "Its", "Just", "Let", "Many", "Maybe", "Most", "My", "No", "Not",
    "Now", "Of", "On", "Once", "One", "Only", "Or", "Our", "Perhaps", "Please", "She", "Since",
    "So", "Some", "Still", "Such", "That", "The", "Their", "Then", "There", "These", "They",
    "This", "Those", "Though", "To", "Today", "Was", "We", "Well", "Were", "What", "When", "Where",
    "Which", "While", "Who", "Why", "Will", "With", "Would", "Yes", "Yet", "You", "Your",
];

/// Characters of the longest of [`STARTERS`].
const LONGEST_STARTER: usize = 8;
