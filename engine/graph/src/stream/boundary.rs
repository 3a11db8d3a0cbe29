//! Where text may be cut so that each piece can be spoken alone.
//!
//! A decision depends on the characters of the piece and on at most [`LOOK_AHEAD`] behind the
//! place; where those are not known yet, it waits. So a text gives the same pieces however it
//! arrives, as long as no time limit strikes.
//!
//! Strong places (ends of sentences, ends of lines) cut at once. Weak ones (commas, semicolons,
//! colons, dashes, and ends of sentences that go on in lower case) cut a piece that has its
//! minimal length. A piece keeps the closing quotes and brackets behind its punctuation; white
//! space goes with the next piece.

use super::policy::LOOK_AHEAD;

/// The characters from the start of a piece on.
pub(super) struct Text<'a> {
    pub(super) at: &'a dyn Fn(usize) -> char,
    pub(super) len: usize,
    /// Nothing follows.
    pub(super) complete: bool,
}

/// What stands at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Char(char),
    /// The text ends there.
    End,
    /// Not known yet.
    Unknown,
}

impl Text<'_> {
    fn place(&self, index: usize) -> Place {
        if index < self.len {
            Place::Char((self.at)(index))
        } else if self.complete {
            Place::End
        } else {
            Place::Unknown
        }
    }

    /// The first place from `from` on, within reach, whose character does not satisfy `skip`.
    fn skip(&self, from: usize, skip: impl Fn(char) -> bool) -> (usize, Place) {
        let mut index = from;
        while let Place::Char(c) = self.place(index) {
            if !skip(c) || index >= from + LOOK_AHEAD {
                break;
            }
            index += 1;
        }
        (index, self.place(index))
    }
}

/// What a place is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Never,
    Weak(usize),
    Strong(usize),
    /// More text decides.
    Unknown,
}

/// How far a piece has been read; reading goes on there when more text comes.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    next: usize,
    /// There is something to speak in it.
    pub(super) spoken: bool,
    /// All of it is one word, which may not be complete.
    pub(super) lone_word: bool,
}

impl Scan {
    /// The length of the piece that starts here, once that is certain.
    pub(super) fn cut(&mut self, text: &Text<'_>, min: usize, max: usize) -> Option<usize> {
        while self.next < text.len.min(max) {
            let index = self.next;
            let c = (text.at)(index);
            self.spoken |= !c.is_whitespace() && !is_mark(c);
            if self.spoken {
                match judge(text, index) {
                    Verdict::Unknown => return None,
                    Verdict::Strong(length) if length <= max => return Some(length),
                    Verdict::Weak(length) if (min..=max).contains(&length) => return Some(length),
                    _ => {}
                }
            }
            self.next += 1;
        }
        if text.len > max {
            return Some(forced_cut(text, max));
        }
        (text.complete && text.len > 0).then_some(text.len)
    }

    /// Where to cut text that waited too long: behind its last punctuation or before its last
    /// space. A single word may be incomplete and is only given up when nothing came for a while.
    pub(super) fn late_cut(&mut self, text: &Text<'_>, idle: bool) -> Option<usize> {
        let closed = |index: &usize| {
            let c = (text.at)(*index - 1);
            let ends = is_ender(c) || is_clause(c) || is_closer(c) || c.is_whitespace();
            ends && !(c == '.' && dot(text, *index - 1) == Dot::Inside)
        };
        let space = |index: &usize| (text.at)(*index).is_whitespace();
        let spoken = |index: &usize| (0..*index).any(|at| !(text.at)(at).is_whitespace());
        let cut = Some(text.len)
            .filter(closed)
            .or_else(|| (1..text.len).rev().find(space).filter(spoken));
        self.lone_word = cut.is_none();
        cut.or_else(|| idle.then_some(text.len))
    }
}

/// Before the last space of the first `max` characters; within a word only where there is none.
fn forced_cut(text: &Text<'_>, max: usize) -> usize {
    let blank = |index: &usize| (text.at)(*index).is_whitespace();
    let worded = |index: &usize| !(text.at)(*index - 1).is_whitespace();
    if let Some(space) = (1..=max).rev().find(|index| blank(index) && worded(index)) {
        return space;
    }
    let joined = |index: &usize| joins((text.at)(*index));
    (1..=max).rev().find(|index| !joined(index)).unwrap_or(max)
}

fn judge(text: &Text<'_>, index: usize) -> Verdict {
    match (text.at)(index) {
        '\n' | '\u{2028}' | '\u{2029}' => Verdict::Strong(index + 1),
        c if is_wide_ender(c) => {
            behind_run(text, index, is_wide_ender, |end, _| Verdict::Strong(end))
        }
        c if is_wide_clause(c) => {
            behind_run(text, index, is_wide_clause, |end, _| Verdict::Weak(end))
        }
        c if is_ender(c) => behind_run(text, index, is_ender, |end, after| {
            ender(text, index, end, after)
        }),
        c if is_clause(c) => behind_run(text, index, is_clause, |end, after| {
            clause(text, index, end, after)
        }),
        '—' => behind_run(
            text,
            index,
            |c| c == '—',
            |end, after| match after {
                Place::Char(c) if is_ender(c) => Verdict::Never,
                _ => Verdict::Weak(end),
            },
        ),
        '–' | '-' => dash(text, index),
        _ => Verdict::Never,
    }
}

/// Judges a run of punctuation at its last mark, when what follows its closing marks is known.
fn behind_run(
    text: &Text<'_>,
    index: usize,
    of_run: impl Fn(char) -> bool,
    verdict: impl FnOnce(usize, Place) -> Verdict,
) -> Verdict {
    match text.place(index + 1) {
        Place::Unknown => return Verdict::Unknown,
        Place::Char(c) if of_run(c) => return Verdict::Never,
        Place::Char(_) | Place::End => {}
    }
    match text.skip(index + 1, is_closer) {
        (_, Place::Unknown) => Verdict::Unknown,
        (end, after) => verdict(end, after),
    }
}

/// `index` is the last of a run of sentence marks, `end` lies behind its closing marks.
fn ender(text: &Text<'_>, index: usize, end: usize, after: Place) -> Verdict {
    if let Place::Char(c) = after
        && !c.is_whitespace()
    {
        return Verdict::Never;
    }
    let first = (0..index)
        .rev()
        .take_while(|&at| is_ender((text.at)(at)))
        .last();
    let single_dot = first.is_none() && (text.at)(index) == '.';
    if after == Place::End {
        return Verdict::Strong(end);
    }
    if single_dot {
        return match dot(text, index) {
            Dot::Inside => Verdict::Never,
            Dot::Ends => Verdict::Strong(end),
            Dot::UnlessNumber => match text.skip(end, char::is_whitespace) {
                (_, Place::Unknown) => Verdict::Unknown,
                (_, Place::Char(c)) if c.is_numeric() => Verdict::Never,
                (_, Place::Char(_) | Place::End) => Verdict::Strong(end),
            },
            Dot::Perhaps => match next_word_starts_sentence(text, end) {
                None => Verdict::Unknown,
                Some(true) => Verdict::Strong(end),
                Some(false) => Verdict::Never,
            },
        };
    }
    match text.skip(end, char::is_whitespace) {
        (_, Place::Unknown) => Verdict::Unknown,
        (_, Place::Char(c)) if c.is_lowercase() => Verdict::Weak(end),
        (_, Place::Char(_) | Place::End) => Verdict::Strong(end),
    }
}

fn clause(text: &Text<'_>, index: usize, end: usize, after: Place) -> Verdict {
    match after {
        Place::Char(c) if !c.is_whitespace() => return Verdict::Never,
        Place::Char(_) | Place::End | Place::Unknown => {}
    }
    let after_digit = index > 0 && (text.at)(index - 1).is_numeric();
    if !after_digit {
        return Verdict::Weak(end);
    }
    match text.skip(end, char::is_whitespace) {
        (_, Place::Unknown) => Verdict::Unknown,
        (_, Place::Char(c)) if c.is_numeric() => Verdict::Never,
        (_, Place::Char(_) | Place::End) => Verdict::Weak(end),
    }
}

/// A dash between spaces, or two hyphens in a row.
fn dash(text: &Text<'_>, index: usize) -> Verdict {
    let before = (0..index).next_back().map(|at| (text.at)(at));
    let doubled = before == Some('-') && (text.at)(index) == '-';
    match text.place(index + 1) {
        Place::Unknown => Verdict::Unknown,
        Place::Char('-') => Verdict::Never,
        Place::Char(c) if doubled && !is_ender(c) => Verdict::Weak(index + 1),
        Place::Char(c) if c.is_whitespace() && before.is_some_and(char::is_whitespace) => {
            Verdict::Weak(index + 1)
        }
        Place::Char(_) | Place::End => Verdict::Never,
    }
}

/// What a single dot before white space means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dot {
    /// It belongs to an abbreviation that something must follow, or to the number of a list.
    Inside,
    /// It belongs to an abbreviation, and may end a sentence as well.
    Perhaps,
    /// It ends a sentence unless a number follows, as in `No. 5` or `Jan. 3`.
    UnlessNumber,
    /// It ends a sentence.
    Ends,
}

fn dot(text: &Text<'_>, index: usize) -> Dot {
    let within = |&at: &usize| {
        let c = (text.at)(at);
        c.is_alphanumeric() || matches!(c, '.' | '\'' | '’' | '&' | '/' | ':' | '@' | '%' | '_')
    };
    let first = (0..index).rev().take_while(within).last().unwrap_or(index);
    let word: String = (first..index).map(|at| (text.at)(at)).collect();
    if is_list_number(text, first, &word) {
        return Dot::Inside;
    }
    let lower = word.to_lowercase();
    if FOLLOWED.contains(&lower.as_str()) {
        Dot::Inside
    } else if is_initial(&word) || is_dotted(&word) || AMBIGUOUS.contains(&lower.as_str()) {
        Dot::Perhaps
    } else if NUMBERED.contains(&lower.as_str()) {
        Dot::UnlessNumber
    } else {
        Dot::Ends
    }
}

/// `1.` or `b.` at the start of a line or of the piece.
fn is_list_number(text: &Text<'_>, first: usize, word: &str) -> bool {
    let number = word.len() <= 3 && word.chars().all(|c| c.is_ascii_digit());
    let letter = word.len() == 1 && word.chars().all(|c| c.is_ascii_lowercase());
    let mut before = (0..first).rev().map(|at| (text.at)(at));
    let starts_line = before
        .find(|&c| c == '\n' || !c.is_whitespace())
        .is_none_or(|c| c == '\n');
    !word.is_empty() && (number || letter) && starts_line
}

/// One capital, as in `J. Smith`; not the pronoun.
fn is_initial(word: &str) -> bool {
    let mut chars = word.chars();
    matches!((chars.next(), chars.next()), (Some(c), None) if c.is_uppercase() && c != 'I')
}

/// `U.S`, `p.m`, `Ph.D`: short parts of letters between dots.
fn is_dotted(word: &str) -> bool {
    word.contains('.')
        && word.split('.').all(|part| {
            (1..=2).contains(&part.chars().count()) && part.chars().all(char::is_alphabetic)
        })
}

/// Whether the word behind `end` is one that sentences begin with; `None` while that is open.
fn next_word_starts_sentence(text: &Text<'_>, end: usize) -> Option<bool> {
    let (first, place) = text.skip(end, char::is_whitespace);
    match place {
        Place::Unknown => return None,
        Place::End => return Some(true),
        Place::Char(c) if (end..first).any(|at| (text.at)(at) == '\n') => {
            return Some(!c.is_lowercase());
        }
        Place::Char(c) if is_opener(c) => return Some(true),
        Place::Char(c) if !c.is_uppercase() => return Some(false),
        Place::Char(_) => {}
    }
    let (behind, place) = text.skip(first, char::is_alphabetic);
    if place == Place::Unknown && behind < first + LONGEST_STARTER + 1 {
        return None;
    }
    let word: String = (first..behind).map(|at| (text.at)(at)).collect();
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

fn is_ender(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '‽')
}

fn is_clause(c: char) -> bool {
    matches!(c, ',' | ';' | ':')
}

/// Sentence marks of scripts that put no space behind them.
fn is_wide_ender(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '।' | '۔' | '؟')
}

fn is_wide_clause(c: char) -> bool {
    matches!(c, '，' | '、' | '；' | '：')
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '”'
            | '’'
            | '»'
            | '›'
            | ')'
            | ']'
            | '}'
            | '」'
            | '』'
            | '）'
            | '】'
            | '*'
            | '_'
    )
}

fn is_opener(c: char) -> bool {
    matches!(c, '"' | '“' | '‘' | '«' | '(' | '[')
}

/// Punctuation that says nothing alone.
fn is_mark(c: char) -> bool {
    c.is_ascii_punctuation()
        || is_ender(c)
        || is_wide_ender(c)
        || is_wide_clause(c)
        || is_closer(c)
        || is_opener(c)
        || matches!(c, '—' | '–')
}

/// Characters that belong to the one before them.
fn joins(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036F}' | '\u{200D}' | '\u{20D0}'..='\u{20FF}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}')
}
