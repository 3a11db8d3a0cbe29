//! Dates: `May 3, 2024`, `3 May`, `2024-05-03`, `5/12/2023`, `3.5.2024`.
//!
//! Two numbers with slashes are read in the American order, month first, unless only the other
//! order is a date.

use std::ops::Range;

use super::{Dictionary, found::Found, say, token::Tokens};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Words after which `5/12` is a date.
const LEADS: [&str; 9] = [
    "on", "by", "until", "since", "before", "after", "from", "dated", "due",
];

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    if tokens.letters(i).is_some() {
        return month_first(tokens, i);
    }
    tokens.digits(i)?;
    if !tokens.starts_word(i) {
        return None;
    }
    [year_first, figures, day_first, short]
        .iter()
        .find_map(|rule| rule(tokens, i))
}

/// The month's index and the token after it. Abbreviations and `may`, `march` need their capital.
fn month(tokens: &Tokens<'_>, i: usize) -> Option<(usize, usize)> {
    let word = tokens.letters(i)?;
    let small = word.to_ascii_lowercase();
    let capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    if let Some(index) = MONTHS.iter().position(|month| *month == small) {
        return (capital || !matches!(small.as_str(), "may" | "march" | "august"))
            .then_some((index, i + 1));
    }
    let short = small.len() == 3 || small == "sept";
    let index = MONTHS
        .iter()
        .position(|month| short && capital && month.starts_with(small.as_str()))?;
    Some((
        index,
        if tokens.is_mark(i + 1, '.') {
            i + 2
        } else {
            i + 1
        },
    ))
}

/// A day of the month with an optional `th`, and the token after it.
fn day<'a>(tokens: &Tokens<'a>, i: usize) -> Option<(&'a str, usize)> {
    let digits = tokens.digits(i).filter(|digits| in_range(digits, 1..32))?;
    let suffix = tokens
        .letters(i + 1)
        .is_some_and(|suffix| matches!(suffix, "st" | "nd" | "rd" | "th"));
    let end = if suffix { i + 2 } else { i + 1 };
    let other = matches!(tokens.mark(end), Some(':' | '/' | '%' | '°'))
        || tokens.is_mark(end, '.') && tokens.digits(end + 1).is_some()
        || tokens.is_mark(end, ',') && tokens.digits(end + 1).is_some();
    (!tokens.is_wordy(end) && !other).then_some((digits, end))
}

/// A year after an optional comma, and the token after it.
fn year_after<'a>(tokens: &Tokens<'a>, i: usize) -> Option<(&'a str, Range<usize>)> {
    let at = tokens.past_space(if tokens.is_mark(i, ',') { i + 1 } else { i });
    let digits = tokens
        .digits(at)
        .filter(|digits| at > i && digits.len() == 4)?;
    let other = tokens.is_wordy(at + 1)
        || tokens.is_mark(at + 1, ':')
        || tokens.is_mark(at + 1, ',') && tokens.digits(at + 2).is_some();
    (!other).then_some((digits, at..at + 1))
}

/// `May 3rd, 2024`, `May 3–5`, `May 2024`
fn month_first(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let (index, end) = month(tokens, i)?;
    let name = Found::line(i..end, MONTHS[index]);
    let at = if tokens.is_mark(end, ',') {
        end
    } else {
        tokens.past_space(end)
    };
    if let Some((digits, end)) = day(tokens, at).filter(|_| at > end || end > i + 1) {
        let mut found = name.then(at..end, say::ordinal(digits)).until(end);
        let mut end = end;
        if let (Some('-' | '–'), Some((last, after))) = (tokens.mark(end), day(tokens, end + 1)) {
            found = found
                .then(end..end + 1, "to")
                .then(end + 1..after, say::ordinal(last))
                .until(after);
            end = after;
        }
        return Some(with_year(tokens, found, end));
    }
    let (year, at) = year_after(tokens, end)?;
    Some(name.then(at.clone(), say::year(year)).until(at.end))
}

fn with_year(tokens: &Tokens<'_>, found: Found, end: usize) -> Found {
    match year_after(tokens, end) {
        Some((year, at)) => found
            .then(at.clone(), format!(", {}", say::year(year)))
            .until(at.end),
        None => found,
    }
}

/// `3 May 2024`, `the 3rd of May`
fn day_first(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let (digits, end) = day(tokens, i)?;
    let mut at = tokens.past_space(end);
    let of = tokens.letters(at) == Some("of");
    if of {
        at = tokens.past_space(at + 1);
    }
    let (index, after) = month(tokens, at).filter(|_| at > end)?;
    let the = tokens
        .word_before(i)
        .is_some_and(|word| word.eq_ignore_ascii_case("the"));
    let article = if the { "" } else { "the " };
    let found = Found::line(i..end, format!("{article}{}", say::ordinal(digits)))
        .then(if of { end + 1..end + 2 } else { at..after }, "of")
        .then(at..after, MONTHS[index])
        .until(after);
    Some(with_year(tokens, found, after))
}

/// `2024-05-03`, `2024/05/03`, with or without a time after `T`.
fn year_first(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let separator = tokens
        .mark(i + 1)
        .filter(|mark| matches!(mark, '-' | '/' | '.'))?;
    let (year, month, day) = (
        tokens.digits(i)?,
        tokens.digits(i + 2)?,
        tokens.digits(i + 4)?,
    );
    let fits = year.len() == 4
        && tokens.is_mark(i + 3, separator)
        && in_range(month, 1..13)
        && in_range(day, 1..32);
    if !fits {
        return None;
    }
    let clock = tokens.letters(i + 5) == Some("T") && tokens.digits(i + 6).is_some();
    let end = if clock { i + 6 } else { i + 5 };
    Some(Found::line(i..i + 5, spoken(month, day, Some(year))).until(end))
}

/// `5/12/2023`, `31/12/99`, `3.5.2024`
fn figures(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let separator = tokens
        .mark(i + 1)
        .filter(|mark| matches!(mark, '-' | '/' | '.'))?;
    let (first, second, year) = (
        tokens.digits(i)?,
        tokens.digits(i + 2)?,
        tokens.digits(i + 4)?,
    );
    let year_fits = year.len() == 4 || year.len() == 2 && separator == '/';
    if !(tokens.is_mark(i + 3, separator) && year_fits)
        || tokens.is_mark(i + 5, separator) && tokens.digits(i + 6).is_some()
    {
        return None;
    }
    let month_leads = separator != '.' && in_range(first, 1..13) && in_range(second, 1..32);
    let (month, day) = if month_leads {
        (first, second)
    } else {
        (second, first)
    };
    let century = match year.len() {
        2 if in_range(year, 0..50) => format!("20{year}"),
        2 => format!("19{year}"),
        _ => year.to_owned(),
    };
    let fits = in_range(month, 1..13) && in_range(day, 1..32);
    fits.then(|| Found::line(i..i + 5, spoken(month, day, Some(&century))))
}

/// `on 5/12`
fn short(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let (month, day) = (tokens.digits(i)?, tokens.digits(i + 2)?);
    let leads = tokens
        .word_before(i)
        .is_some_and(|word| LEADS.contains(&word.to_ascii_lowercase().as_str()));
    let fits = tokens.is_mark(i + 1, '/')
        && !tokens.is_mark(i + 3, '/')
        && in_range(month, 1..13)
        && in_range(day, 1..32);
    (fits && leads).then(|| Found::line(i..i + 3, spoken(month, day, None)))
}

fn spoken(month: &str, day: &str, year: Option<&str>) -> String {
    let index = month
        .parse::<usize>()
        .ok()
        .and_then(|month| month.checked_sub(1))
        .unwrap_or(0);
    let name = MONTHS.get(index).copied().unwrap_or_default();
    let year = year
        .map(|year| format!(" , {}", say::year(year)))
        .unwrap_or_default();
    format!("{name} {}{year}", say::ordinal(day))
}

/// Whether one or two digits are a number of the range.
pub(super) fn in_range(digits: &str, range: Range<u32>) -> bool {
    digits.len() <= 2
        && digits
            .parse::<u32>()
            .is_ok_and(|number| range.contains(&number))
}
