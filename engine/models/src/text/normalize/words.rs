//! Words as they stand.

use super::{Dictionary, How, found::Found, token::Tokens};

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    let word = tokens.letters(i)?;
    Some(Found::word(i..i + 1, word, How::Read))
}
