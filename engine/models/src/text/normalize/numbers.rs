//! Plain numbers: whole, decimal, negative.

use super::{Dictionary, found::Found, say, token::Tokens};

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    let digits = tokens.digits(i)?;
    Some(Found::line(i..i + 1, say::cardinal(digits)))
}
