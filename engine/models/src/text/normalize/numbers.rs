//! Numbers that are no date, time, price or measure: ranks, decades, fractions, ranges, years,
//! versions, codes.

use super::{
    Dictionary,
    figure::{self, Figure, figure, leads, quantity},
    found::Found,
    say,
    token::Tokens,
};

/// Words before a number whose digits are read one by one.
const CODES: [&str; 20] = [
    "code",
    "pin",
    "id",
    "zip",
    "zipcode",
    "account",
    "passcode",
    "password",
    "serial",
    "ticket",
    "tracking",
    "reference",
    "ref",
    "phone",
    "fax",
    "call",
    "dial",
    "extension",
    "ext",
    "otp",
];
/// Words before a number that is a label.
const LABELS: [&str; 14] = [
    "room",
    "flight",
    "bus",
    "route",
    "highway",
    "interstate",
    "boeing",
    "airbus",
    "rtx",
    "gtx",
    "apartment",
    "suite",
    "channel",
    "error",
];

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    if tokens.digits(i).is_none()
        && !leads(tokens, i)
        && !(tokens.is_mark(i, '.') && tokens.digits(i + 1).is_some())
    {
        return None;
    }
    if tokens.is_mark(i, '\'') {
        return None;
    }
    [dotted, coded, special, part, years, range]
        .iter()
        .find_map(|rule| rule(tokens, i))
        .or_else(|| plain(tokens, i))
}

/// Numbers with letters behind them that are no name: ranks, decades, sizes.
pub(super) fn grown(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    tokens.digits(i)?;
    rank(tokens, i)
        .or_else(|| decade(tokens, i))
        .or_else(|| product(tokens, i))
}

/// `192.168.0.1`, `2.0.1`
fn dotted(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let mut groups = vec![tokens.digits(i)?];
    let mut end = i + 1;
    while groups.len() < 8 && tokens.is_mark(end, '.') {
        let Some(group) = tokens.digits(end + 1) else {
            break;
        };
        groups.push(group);
        end += 2;
    }
    if groups.len() < 3 {
        return None;
    }
    let long = groups.iter().any(|group| group.len() > 2);
    let words = groups.iter().map(|group| {
        if long {
            say::label(group)
        } else {
            say::cardinal(group)
        }
    });
    Some(Found::line(
        i..end,
        words
            .collect::<Vec<_>>()
            .join(if long { " dot " } else { " point " }),
    ))
}

/// `21st`, `1,000th`
fn rank(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let number = figure(tokens, i).filter(|number| number.fraction.is_empty())?;
    let suffix = tokens.letters(number.end)?;
    let is_rank = matches!(
        suffix.to_ascii_lowercase().as_str(),
        "st" | "nd" | "rd" | "th"
    );
    is_rank.then(|| Found::line(i..number.end + 1, say::ordinal(&number.whole)))
}

/// `1990s`, `'80s`, `the 5's`
fn decade(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let digits = tokens.digits(i)?;
    let apostrophe = usize::from(tokens.is_mark(i + 1, '\''));
    let end = i + 2 + apostrophe;
    if tokens.letters(i + 1 + apostrophe)? != "s" || digits.len() > 4 {
        return None;
    }
    let words = if digits.len() == 4 {
        say::year(digits)
    } else {
        say::cardinal(digits)
    };
    Some(Found::line(i..end, say::plural(&words)))
}

/// Numbers with a reading of their own.
fn special(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let (first, second) = (tokens.digits(i)?, tokens.digits(i + 2));
    let slash = tokens.is_mark(i + 1, '/') && !tokens.is_mark(i + 3, '/');
    match (first, second) {
        ("24", Some("7")) if slash => Some(Found::line(i..i + 3, "twenty four seven")),
        ("9", Some("11")) if slash => Some(Found::line(i..i + 3, "nine eleven")),
        ("20", Some("20")) if slash => Some(Found::line(i..i + 3, "twenty twenty")),
        _ => None,
    }
}

/// `3/4`, `2 1/2`, `5/2`
fn part(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    if let Some((words, end)) = figure::fraction(tokens, i) {
        return Some(Found::line(i..end, words));
    }
    let (top, bottom) = (tokens.digits(i)?, tokens.digits(i + 2));
    if let Some(bottom) =
        bottom.filter(|_| tokens.is_mark(i + 1, '/') && !tokens.is_mark(i + 3, '/'))
    {
        return Some(Found::line(
            i..i + 3,
            format!("{} over {}", say::cardinal(top), say::cardinal(bottom)),
        ));
    }
    let mixed = figure::fraction(tokens, i + 2).filter(|_| tokens.is_space(i + 1));
    mixed
        .and_then(|_| quantity(tokens, i))
        .map(|quantity| Found::line(i..quantity.end, quantity.say))
}

/// `1920x1080`, `3 x 4`
fn product(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let first = figure(tokens, i)?;
    let by = tokens.past_space(first.end);
    if !(tokens.letters(by) == Some("x") || tokens.is_mark(by, '×') && by == first.end) {
        return None;
    }
    let second = tokens.past_space(by + 1);
    tokens.digits(second)?;
    let words = if first.whole.len() == 4 {
        say::label(&first.whole)
    } else {
        first.say()
    };
    let rest = figure(tokens, second)?;
    let rest_words = if rest.whole.len() == 4 {
        say::label(&rest.whole)
    } else {
        rest.say()
    };
    Some(
        Found::line(i..first.end, words)
            .then(by..by + 1, "by")
            .then(second..rest.end, rest_words)
            .until(rest.end),
    )
}

/// Digits one by one: codes, ids, what begins with zero, what is longer than an amount.
fn coded(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let digits = tokens.digits(i)?;
    let goes_on =
        tokens.is_mark(i + 1, ',') || tokens.is_mark(i + 1, '.') && tokens.digits(i + 2).is_some();
    let bare = !goes_on;
    let before = before_number(tokens, i);
    let is_code = digits.len() >= 3 && before.as_deref().is_some_and(|word| CODES.contains(&word));
    let long = digits.len() > 9 && !digits.ends_with("000000");
    let zero = digits.len() > 1 && digits.starts_with('0') && bare;
    if is_code || long || zero {
        return Some(Found::line(i..i + 1, say::digits(digits)));
    }
    let port = i >= 2 && tokens.is_mark(i - 1, ':') && tokens.letters(i - 2).is_some();
    if port {
        return Some(Found::line(i..i + 1, say::label(digits)));
    }
    let is_label = matches!(digits.len(), 3 | 4)
        && before.as_deref().is_some_and(|word| LABELS.contains(&word));
    (is_label && bare).then(|| Found::line(i..i + 1, say::label(digits)))
}

/// The word before a number, also across `is`, `number`, `:` and `#`.
fn before_number(tokens: &Tokens<'_>, i: usize) -> Option<String> {
    let mut at = i;
    for _ in 0..3 {
        while at > 0
            && (tokens.is_space(at - 1) || matches!(tokens.mark(at - 1), Some(':' | '#')))
            && i - at < 6
        {
            at -= 1;
        }
        let word = tokens.letters(at.checked_sub(1)?)?.to_ascii_lowercase();
        if !matches!(word.as_str(), "is" | "number" | "no" | "was") {
            return Some(word);
        }
        at -= 1;
    }
    None
}

/// `1984`, `1914–1918`, `2019-20`
fn years(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let first = figure(tokens, i).filter(|number| is_year(tokens, number))?;
    let Some(second) = figure::range_end(tokens, first.end) else {
        return Some(Found::line(i..first.end, say::year(&first.whole)));
    };
    let words = match second.whole.len() {
        _ if !second.fraction.is_empty() => return None,
        4 if is_year(tokens, &second) => say::year(&second.whole),
        2 => say::label(&second.whole),
        _ => return None,
    };
    let rest = tokens.digits(second.end - 1)?;
    debug_assert_eq!(rest, second.whole);
    Some(
        Found::line(i..first.end, say::year(&first.whole))
            .then(first.end..second.end - 1, "to")
            .then(second.end - 1..second.end, words)
            .until(second.end),
    )
}

/// Four digits of the last nine centuries that count nothing.
fn is_year(tokens: &Tokens<'_>, number: &Figure<'_>) -> bool {
    let plain = number.whole.len() == 4 && !number.grouped && number.fraction.is_empty();
    let century = number
        .whole
        .get(..2)
        .and_then(|century| century.parse::<u32>().ok());
    let counted = tokens
        .letters(number.end + 1)
        .filter(|_| tokens.is_space(number.end))
        .is_some_and(is_counted);
    plain && century.is_some_and(|century| (11..21).contains(&century)) && !counted
}

/// Whether a word after a number is something counted: a plural.
fn is_counted(word: &str) -> bool {
    let small = word.chars().all(|c| c.is_ascii_lowercase());
    small
        && word.len() > 3
        && word.ends_with('s')
        && !word.ends_with("ss")
        && !matches!(
            word,
            "this" | "was" | "does" | "sees" | "marks" | "brings" | "always" | "thus" | "plus"
        )
}

/// `5–10`, `3-2`
fn range(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let first = figure(tokens, i)?;
    let second = figure::range_end(tokens, first.end)?;
    let from = if second.end > 2 && !second.fraction.is_empty() {
        second.end - 3
    } else {
        second.end - 1
    };
    Some(
        Found::line(i..first.end, first.say())
            .then(first.end..from.max(first.end + 1), "to")
            .then(from..second.end, second.say())
            .until(second.end),
    )
}

fn plain(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let number = quantity(tokens, i)?;
    Some(Found::line(i..number.end, number.say))
}
