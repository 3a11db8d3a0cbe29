//! Telephone numbers and the like: groups of digits, read one by one with a pause between groups.

use super::{Dictionary, found::Found, say, token::Tokens};

/// The most groups of a number.
const GROUPS: usize = 8;

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    let first = i
        .checked_sub(1)
        .is_none_or(|before| tokens.is_space(before) || "(:\"".contains(tokens.text(before)));
    if !first || !(tokens.digits(i).is_some() || matches!(tokens.mark(i), Some('+' | '('))) {
        return None;
    }
    emergency(tokens, i).or_else(|| number(tokens, i))
}

/// `911` after a verb of calling
fn emergency(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let digits = tokens
        .digits(i)
        .filter(|digits| matches!(*digits, "911" | "999" | "112" | "411" | "311"))?;
    let calls = ["call", "dial", "called", "dialed", "calling", "dialing"];
    let before = tokens.word_before(i)?.to_ascii_lowercase();
    (calls.contains(&before.as_str()) && tokens.ends_word(i + 1))
        .then(|| Found::line(i..i + 1, say::digits(digits)))
}

fn number(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let plus = tokens.is_mark(i, '+');
    let mut at = if plus { i + 1 } else { i };
    let mut groups: Vec<(usize, &str)> = Vec::new();
    let mut separators = String::new();
    let mut end = at;
    while groups.len() < GROUPS {
        let bracket = tokens.is_mark(at, '(')
            && tokens.digits(at + 1).is_some()
            && tokens.is_mark(at + 2, ')');
        let Some(digits) = tokens.digits(if bracket { at + 1 } else { at }) else {
            break;
        };
        groups.push((if bracket { at + 1 } else { at }, digits));
        end = if bracket { at + 3 } else { at + 1 };
        at = match tokens.mark(end) {
            Some(mark @ ('-' | '.')) => {
                separators.push(mark);
                end + 1
            }
            _ if tokens.is_space(end) && tokens.text(end) == " " => {
                separators.push(' ');
                end + 1
            }
            _ if bracket => {
                separators.push(' ');
                end
            }
            _ => break,
        };
        if bracket && groups.len() == 1 {
            separators.insert(0, '(');
        }
    }
    let lengths: Vec<usize> = groups.iter().map(|(_, digits)| digits.len()).collect();
    if !fits(plus, &lengths, separators.trim_end()) || tokens.letters(end).is_some() {
        return None;
    }
    let mut found = Found::silent(end);
    for (n, (at, digits)) in groups.iter().enumerate() {
        let plus = if plus && n == 0 { "plus " } else { "" };
        let pause = if n + 1 < groups.len() { " ," } else { "" };
        found = found.then(*at..at + 1, format!("{plus}{}{pause}", say::digits(digits)));
    }
    Some(found.until(end))
}

/// Whether groups of these lengths are a telephone number.
fn fits(plus: bool, lengths: &[usize], separators: &str) -> bool {
    let total: usize = lengths.iter().sum();
    match lengths {
        _ if plus => {
            (7..=15).contains(&total) && lengths.len() > 1 || lengths.len() == 1 && total >= 9
        }
        [3, 4] => separators.starts_with('-'),
        [3, 3, 4] | [1, 3, 3, 4] => true,
        [3, 2, 4] | [4, 4, 4, 4] => !separators.contains('.'),
        _ => false,
    }
}
