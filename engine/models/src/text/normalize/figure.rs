//! Figures in the text: `1,234.5`, `-3`, `5–10`, as the other families build on them.

use super::{say, token::Tokens};

/// The most groups of three digits that are looked at.
const GROUPS: usize = 16;

/// A number as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Figure<'a> {
    /// Digits before the point, without commas; may be empty.
    pub(super) whole: String,
    /// Digits behind it; may be empty.
    pub(super) fraction: &'a str,
    /// Whether it has commas: then it is an amount.
    pub(super) grouped: bool,
    /// The token after it.
    pub(super) end: usize,
}

impl Figure<'_> {
    pub(super) fn say(&self) -> String {
        say::decimal(&self.whole, self.fraction)
    }

    pub(super) fn is_one(&self) -> bool {
        self.whole == "1" && self.fraction.is_empty()
    }
}

/// The figure that begins at `i`, without a sign.
pub(super) fn figure<'a>(tokens: &Tokens<'a>, i: usize) -> Option<Figure<'a>> {
    if tokens.is_mark(i, '.') && tokens.starts_word(i) {
        let fraction = tokens.digits(i + 1)?;
        return Some(Figure {
            whole: String::new(),
            fraction,
            grouped: false,
            end: i + 2,
        });
    }
    let mut whole = tokens.digits(i)?.to_owned();
    let mut end = i + 1;
    let mut groups = 0;
    if whole.len() <= 3 {
        while groups < GROUPS
            && tokens.is_mark(end, ',')
            && tokens.digits(end + 1).is_some_and(|group| group.len() == 3)
        {
            whole.push_str(tokens.text(end + 1));
            end += 2;
            groups += 1;
        }
    }
    let mut fraction = "";
    if tokens.is_mark(end, '.')
        && let Some(digits) = tokens.digits(end + 1)
    {
        fraction = digits;
        end += 2;
    }
    Some(Figure {
        whole,
        fraction,
        grouped: groups > 0,
        end,
    })
}

/// A quantity: a figure with its sign, or a range of two.
pub(super) struct Quantity {
    pub(super) say: String,
    pub(super) is_one: bool,
    pub(super) end: usize,
}

/// The quantity that begins at `i`: `-5`, `3.5`, `5–10`, `2 1/2`.
pub(super) fn quantity(tokens: &Tokens<'_>, i: usize) -> Option<Quantity> {
    let (sign, start) = match tokens.mark(i) {
        Some('-' | '–') if leads(tokens, i) => ("minus ", i + 1),
        Some('+') if leads(tokens, i) => ("plus ", i + 1),
        _ => ("", i),
    };
    let first = figure(tokens, start)?;
    if let Some((words, end)) = mixed(tokens, &first) {
        return Some(Quantity {
            say: format!("{sign}{words}"),
            is_one: false,
            end,
        });
    }
    if let Some(second) = range_end(tokens, first.end) {
        let say = format!("{sign}{} to {}", first.say(), second.say());
        return Some(Quantity {
            say,
            is_one: false,
            end: second.end,
        });
    }
    Some(Quantity {
        say: format!("{sign}{}", first.say()),
        is_one: first.is_one(),
        end: first.end,
    })
}

/// Whether a sign at `i` belongs to the figure behind it.
pub(super) fn leads(tokens: &Tokens<'_>, i: usize) -> bool {
    let free = i.checked_sub(1).is_none_or(|before| {
        tokens.is_space(before) || "([=<>~\":,^".contains(tokens.text(before))
    });
    free && (tokens.digits(i + 1).is_some()
        || tokens.is_mark(i + 1, '.') && tokens.digits(i + 2).is_some())
}

/// The upper end of a range whose lower end stops at `i`.
pub(super) fn range_end<'a>(tokens: &Tokens<'a>, i: usize) -> Option<Figure<'a>> {
    let spaced = tokens.is_space(i) && tokens.is_mark(i + 1, '–') && tokens.is_space(i + 2);
    let second = match tokens.mark(i) {
        Some('-' | '–' | '—') => figure(tokens, i + 1)?,
        _ if spaced => figure(tokens, i + 3)?,
        _ => return None,
    };
    let goes_on = matches!(tokens.mark(second.end), Some('-' | '–' | '/' | ':'))
        && tokens.digits(second.end + 1).is_some();
    (!goes_on).then_some(second)
}

/// `2 1/2`, after its whole part.
fn mixed(tokens: &Tokens<'_>, whole: &Figure<'_>) -> Option<(String, usize)> {
    if !whole.fraction.is_empty() || !tokens.is_space(whole.end) {
        return None;
    }
    let (words, end) = fraction(tokens, whole.end + 1)?;
    Some((
        format!(
            "{} and {}",
            whole.say(),
            words.replacen("one half", "a half", 1)
        ),
        end,
    ))
}

/// `3/4` with the end after it; not a date, not an address.
pub(super) fn fraction(tokens: &Tokens<'_>, i: usize) -> Option<(String, usize)> {
    let (top, bottom) = (tokens.digits(i)?, tokens.digits(i + 2)?);
    let alone = !tokens.is_mark(i + 3, '/') && !tokens.is_wordy(i + 3);
    let plain =
        top.len() <= 3 && bottom.len() <= 3 && !bottom.starts_with('0') && !top.starts_with('0');
    let usual = matches!(
        bottom,
        "2" | "3"
            | "4"
            | "5"
            | "6"
            | "7"
            | "8"
            | "9"
            | "10"
            | "12"
            | "16"
            | "20"
            | "32"
            | "64"
            | "100"
    );
    let small = top.parse::<u32>().ok()? < bottom.parse::<u32>().ok()?;
    (tokens.is_mark(i + 1, '/') && alone && plain && usual && small)
        .then(|| (say::fraction(top, bottom), i + 3))
}
