//! Text as a client sends it, made fit to be spoken without moving a character.
//!
//! Word times name characters of the client's own text, so nothing here inserts or removes one.

use std::borrow::Cow;

/// `text` with each control character (other than tab, line feed and carriage return) and each
/// byte order mark replaced by a space, one for one: positions stay what they were.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().any(unspeakable) {
        Cow::Owned(
            text.chars()
                .map(|c| if unspeakable(c) { ' ' } else { c })
                .collect(),
        )
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether there is anything to say: at least one letter or digit of any script. Emoji,
/// punctuation, white space and invisible characters alone are not spoken.
#[must_use]
pub fn is_speakable(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// How many characters (Unicode scalar values) `text` has.
#[must_use]
pub fn count(text: &str) -> usize {
    text.chars().count()
}

fn unspeakable(c: char) -> bool {
    c == '\u{feff}' || (c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaning_keeps_every_position() {
        for text in ["a\0b", "\u{1b}[31mred", "x\u{85}y\u{7f}", "tab\there\r\n"] {
            let cleaned = clean(text);
            assert_eq!(count(&cleaned), count(text));
            assert!(!cleaned.chars().any(unspeakable));
        }
        assert!(matches!(clean("plain\ttext\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn only_letters_and_digits_are_something_to_say() {
        for text in ["", " \t\n", "...!?", "🎉🎉", "\u{200b}\u{200d}", "<>/"] {
            assert!(!is_speakable(text), "{text:?}");
        }
        for text in ["a", "7", "é", "語", "🎉 yes"] {
            assert!(is_speakable(text), "{text:?}");
        }
    }
}
