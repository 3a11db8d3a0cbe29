//! Times of day and durations: `10:30 a.m.`, `10.30pm`, `22:15`, `5pm`, `1:02:03`; ratios: `16:9`.

use super::{Dictionary, dates::in_range, found::Found, say, token::Tokens};

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    let hour = tokens.digits(i)?;
    let after_joint = i.checked_sub(1).is_some_and(|before| {
        tokens.is_mark(before, ':') || tokens.letters(before).is_some_and(|word| word != "T")
    });
    if after_joint {
        return None;
    }
    clock(tokens, i, hour)
        .or_else(|| bare(tokens, i, hour))
        .or_else(|| ratio(tokens, i, hour))
}

/// `10:30`, `10:30:15`, with or without half of day
fn clock(tokens: &Tokens<'_>, i: usize, hour: &str) -> Option<Found> {
    let minute = tokens
        .digits(i + 2)
        .filter(|minute| minute.len() == 2 && in_range(minute, 0..60))?;
    let dotted = tokens.is_mark(i + 1, '.') && half_of_day(tokens, i + 3).is_some();
    if !(tokens.is_mark(i + 1, ':') || dotted) || !in_range(hour, 0..25) {
        return None;
    }
    let second = tokens
        .digits(i + 4)
        .filter(|second| tokens.is_mark(i + 3, ':') && second.len() == 2);
    let mut end = if second.is_some() { i + 5 } else { i + 3 };
    if second.is_some() && tokens.is_mark(end, '.') && tokens.digits(end + 1).is_some() {
        end += 2; // fractions of a second are not read
    }
    let half = half_of_day(tokens, end);
    let words = match (minute, second, half) {
        ("00", None, Some(_)) => say::cardinal(hour),
        ("00", None, None) => full_hour(hour),
        _ => {
            let second = second
                .map(|second| format!(" {}", two_digits(second)))
                .unwrap_or_default();
            format!("{} {}{second}", say::cardinal(hour), two_digits(minute))
        }
    };
    Some(joined(tokens, finish(tokens, i, end, &words, half)))
}

/// `5pm`, `5 p.m.`
fn bare(tokens: &Tokens<'_>, i: usize, hour: &str) -> Option<Found> {
    let half = half_of_day(tokens, i + 1).filter(|_| in_range(hour, 1..13))?;
    Some(joined(
        tokens,
        finish(tokens, i, i + 1, &say::cardinal(hour), Some(half)),
    ))
}

/// `16:9`, `3:1`
fn ratio(tokens: &Tokens<'_>, i: usize, first: &str) -> Option<Found> {
    let second = tokens
        .digits(i + 2)
        .filter(|_| tokens.is_mark(i + 1, ':') && !tokens.is_mark(i + 3, ':'))?;
    Some(
        Found::line(i..i + 1, say::cardinal(first))
            .then(i + 1..i + 2, "to")
            .then(i + 2..i + 3, say::cardinal(second))
            .until(i + 3),
    )
}

/// `am` or `pm` in any of its spellings at `i` or after a space: its name and its end.
fn half_of_day(tokens: &Tokens<'_>, i: usize) -> Option<(&'static str, usize, usize)> {
    let at = tokens.past_space(i);
    let name = |word: &str| match word.to_ascii_lowercase().as_str() {
        "am" | "a" => Some("AM"),
        "pm" | "p" => Some("PM"),
        _ => None,
    };
    let word = tokens.letters(at)?;
    let half = name(word)?;
    if word.len() == 2 {
        return (!tokens.is_wordy(at + 1)).then_some((half, at, at + 1));
    }
    let dotted = tokens.is_mark(at + 1, '.')
        && tokens
            .letters(at + 2)
            .is_some_and(|m| m.eq_ignore_ascii_case("m"));
    let end = if tokens.is_mark(at + 3, '.') {
        at + 4
    } else {
        at + 3
    };
    dotted.then_some((half, at, end))
}

fn finish(
    tokens: &Tokens<'_>,
    i: usize,
    end: usize,
    words: &str,
    half: Option<(&'static str, usize, usize)>,
) -> Found {
    let time = Found::line(i..end, words);
    match half {
        Some((name, at, end)) => time.then(at..end, name).until(end),
        None if tokens.letters(end) == Some("Z") => time.then(end..end + 1, "UTC").until(end + 1),
        None if tokens.letters(end) == Some("h") => time.until(end + 1),
        None => time,
    }
}

/// A dash and another time make a span.
fn joined(tokens: &Tokens<'_>, found: Found) -> Found {
    let end = found.end;
    let dash = tokens.past_space(end);
    let next = tokens.past_space(dash + 1);
    if matches!(tokens.mark(dash), Some('-' | '–')) && tokens.digits(next).is_some() {
        return found.then(dash..dash + 1, "to").until(next);
    }
    found
}

fn full_hour(hour: &str) -> String {
    match hour.parse::<u32>() {
        Ok(0 | 24) => "midnight".to_owned(),
        Ok(1..=12) => format!("{} o'clock", say::cardinal(hour)),
        _ => format!("{} hundred", say::cardinal(hour)),
    }
}

fn two_digits(digits: &str) -> String {
    match digits.strip_prefix('0') {
        Some("0") => "oh oh".to_owned(),
        Some(digit) => format!("oh {}", say::cardinal(digit)),
        None => say::cardinal(digits),
    }
}
