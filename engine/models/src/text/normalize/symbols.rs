//! Punctuation, mathematical signs, Greek letters: single marks that no other family took.

use super::{super::utterance::Pause, Dictionary, clean::PARAGRAPH, found::Found, token::Tokens};

/// Signs that are read by name wherever they stand.
const NAMES: [(char, &str); 36] = [
    ('&', "and"),
    ('=', "equals"),
    ('@', "at"),
    ('%', "percent"),
    ('‰', "per thousand"),
    ('°', "degrees"),
    ('×', "times"),
    ('÷', "divided by"),
    ('±', "plus or minus"),
    ('≈', "approximately"),
    ('≃', "approximately"),
    ('≠', "is not equal to"),
    ('≤', "is at most"),
    ('≥', "is at least"),
    ('∞', "infinity"),
    ('√', "the square root of"),
    ('∑', "the sum of"),
    ('∫', "the integral of"),
    ('∂', "partial"),
    ('∆', "delta"),
    ('∈', "in"),
    ('§', "section"),
    ('¶', "paragraph"),
    ('©', "copyright"),
    ('€', "euros"),
    ('£', "pounds"),
    ('¥', "yen"),
    ('₹', "rupees"),
    ('₽', "rubles"),
    ('₩', "won"),
    ('₿', "bitcoin"),
    ('₺', "lira"),
    ('₪', "shekels"),
    ('₫', "dong"),
    ('₴', "hryvnia"),
    ('¢', "cents"),
];

/// Signs that separate: they are kept so that the rules see them.
const SEPARATORS: &str = "–—…→←↔⇒⇐↑↓";

const GREEK: [(char, &str); 25] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "epsilon"),
    ('ζ', "zeta"),
    ('η', "eta"),
    ('θ', "theta"),
    ('ι', "iota"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('ν', "nu"),
    ('ξ', "xi"),
    ('ο', "omicron"),
    ('π', "pi"),
    ('ρ', "rho"),
    ('σ', "sigma"),
    ('ς', "sigma"),
    ('τ', "tau"),
    ('υ', "upsilon"),
    ('φ', "phi"),
    ('χ', "chi"),
    ('ψ', "psi"),
    ('ω', "omega"),
];

/// Whether cleaning keeps a character for the rules.
pub(super) fn is_sign(c: char) -> bool {
    SEPARATORS.contains(c) || NAMES.iter().any(|(sign, _)| *sign == c)
}

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    if tokens.is_space(i) {
        return Some(space(tokens.text(i), i));
    }
    let mark = tokens.mark(i)?;
    Some(
        punctuation(tokens, i, mark)
            .or_else(|| sign(tokens, i, mark))
            .unwrap_or_else(|| Found::silent(i + 1)),
    )
}

/// A line break is a space; an empty line, or the end of a list's item, ends a sentence.
fn space(text: &str, i: usize) -> Found {
    let ends = text.contains(PARAGRAPH) || text.bytes().filter(|byte| *byte == b'\n').count() > 1;
    Found::pause(i + 1, if ends { Pause::Stop } else { Pause::None })
}

fn punctuation(tokens: &Tokens<'_>, i: usize, mark: char) -> Option<Found> {
    let next = i + 1;
    let pause = match mark {
        ',' => Pause::Comma,
        ';' => Pause::Semicolon,
        '?' => Pause::Question,
        '!' => Pause::Exclamation,
        '(' | ')' | '[' | ']' | '{' | '}' | '—' | '→' | '←' | '↔' | '⇒' | '⇐' | '|' => {
            Pause::Comma
        }
        ':' if tokens.is_wordy(next) => Pause::None,
        ':' => Pause::Colon,
        '–' | '-' if !joins(tokens, i) => Pause::Comma,
        '–' | '-' => Pause::None,
        '…' => ellipsis(tokens, next),
        '.' if tokens.is_mark(next, '.') => return Some(dots(tokens, i)),
        '.' => return Some(dot(tokens, i)),
        _ => return None,
    };
    Some(Found::pause(next, pause))
}

/// Whether a dash holds two words together.
fn joins(tokens: &Tokens<'_>, i: usize) -> bool {
    tokens.is_wordy(i + 1) && !tokens.starts_word(i)
}

fn ellipsis(tokens: &Tokens<'_>, next: usize) -> Pause {
    if tokens.is_tail(next) {
        Pause::Stop
    } else {
        Pause::Comma
    }
}

fn dots(tokens: &Tokens<'_>, i: usize) -> Found {
    let end = (i..tokens.len())
        .find(|i| !tokens.is_mark(*i, '.'))
        .unwrap_or(tokens.len());
    Found::pause(end, ellipsis(tokens, end))
}

/// A full stop, or a dot inside a name. `end.Next` lacks a space and is a full stop.
fn dot(tokens: &Tokens<'_>, i: usize) -> Found {
    let inside = tokens.is_wordy(i + 1) && !tokens.starts_word(i);
    let glued = || {
        let before = i.checked_sub(1).map_or("", |before| tokens.text(before));
        before.ends_with(|c: char| c.is_ascii_lowercase())
            && tokens
                .text(i + 1)
                .starts_with(|c: char| c.is_ascii_uppercase())
    };
    if inside && !glued() {
        Found::line(i..i + 1, "dot")
    } else {
        Found::pause(i + 1, Pause::Stop)
    }
}

fn sign(tokens: &Tokens<'_>, i: usize, mark: char) -> Option<Found> {
    if mark == '^' {
        return power(tokens, i);
    }
    let line = match mark {
        '+' if tokens.is_wordy(i + 1) || tokens.is_space(i + 1) || !tokens.starts_word(i) => "plus",
        '/' if tokens.is_wordy(i + 1) && !tokens.starts_word(i) => "slash",
        '<' if is_between(tokens, i) => "is less than",
        '>' if is_between(tokens, i) => "is greater than",
        '*' if is_between_figures(tokens, i) => "times",
        '#' if tokens.digits(i + 1).is_some() => "number",
        '~' if tokens.digits(i + 1).is_some() => "about",
        '$' => "dollars",
        _ => name(mark)?,
    };
    Some(Found::line(i..i + 1, line))
}

/// `x^2`, `10^-6`
fn power(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let negative = tokens.is_mark(i + 1, '-');
    let exponent = if negative { i + 2 } else { i + 1 };
    if !tokens.is_wordy(exponent) || tokens.is_space(i.checked_sub(1)?) {
        return None;
    }
    match tokens.digits(exponent) {
        Some("2") if !negative => Some(Found::line(i..i + 2, "squared")),
        Some("3") if !negative => Some(Found::line(i..i + 2, "cubed")),
        _ => Some(Found::line(i..i + 1, "to the power of")),
    }
}

/// Whether words or figures stand on both sides, with spaces.
fn is_between(tokens: &Tokens<'_>, i: usize) -> bool {
    i > 1
        && tokens.is_space(i - 1)
        && tokens.is_space(i + 1)
        && tokens.is_wordy(i - 2)
        && tokens.is_wordy(i + 2)
}

fn is_between_figures(tokens: &Tokens<'_>, i: usize) -> bool {
    let after = tokens.past_space(i + 1);
    let before = i.checked_sub(1).and_then(|before| {
        if tokens.is_space(before) {
            i.checked_sub(2)
        } else {
            Some(before)
        }
    });
    tokens.digits(after).is_some() && before.is_some_and(|before| tokens.digits(before).is_some())
}

/// What a sign or a single Greek letter is called.
pub(super) fn name(mark: char) -> Option<&'static str> {
    let small = mark.to_lowercase().next().unwrap_or(mark);
    let find = |table: &[(char, &'static str)], c: char| {
        table
            .iter()
            .find(|(sign, _)| *sign == c)
            .map(|entry| entry.1)
    };
    find(&NAMES, mark).or_else(|| find(&GREEK, small))
}
