//! Tokens back to text, bit by bit: no half characters, no part of a stop text.
//!
//! ```text
//! bytes of tokens ─▶ Decoder ─ whole characters ─▶ Stops ─ what can be no part of a stop ─▶ text
//! ```
//!
//! What always holds: the pieces put together are the text that the bytes make as a whole, cut
//! before the stop that is complete first, however the bytes were split; and no piece is taken
//! back.

/// Bytes to characters. Bytes that are no UTF-8 become U+FFFD, as [`String::from_utf8_lossy`]
/// does it.
#[derive(Debug, Default)]
struct Decoder {
    /// The beginning of a character; at most three bytes between calls.
    begun: Vec<u8>,
}

impl Decoder {
    /// Appends the characters that are complete.
    fn push(&mut self, bytes: &[u8], text: &mut String) {
        self.begun.extend_from_slice(bytes);
        let mut rest = self.begun.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(whole) => {
                    text.push_str(whole);
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (whole, after) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(whole));
                    rest = after;
                    let Some(wrong) = error.error_len() else {
                        break;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = rest.get(wrong..).unwrap_or(&[]);
                }
            }
        }
        let done = self.begun.len() - rest.len();
        self.begun.drain(..done);
    }

    /// What is left at the end: a character that was never finished.
    fn finish(&mut self, text: &mut String) {
        if !self.begun.is_empty() {
            self.begun.clear();
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Texts that end an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stops {
    /// Not empty, the longest first.
    texts: Vec<String>,
}

impl Stops {
    /// Empty texts are left out: they would end every answer before it begins.
    pub(crate) fn new(texts: &[String]) -> Self {
        let texts = texts.iter().filter(|text| !text.is_empty());
        let mut texts: Vec<String> = texts.cloned().collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self { texts }
    }

    /// The length of the stop that a text ends with, if it does.
    fn at_end_of(&self, text: &str) -> Option<usize> {
        let found = self.texts.iter().find(|stop| text.ends_with(stop.as_str()));
        found.map(String::len)
    }

    /// The bytes at the end of a text that may be the beginning of a stop.
    fn begun_in(&self, text: &str) -> usize {
        let longest = self.texts.first().map_or(0, |stop| stop.len() - 1);
        let from = text.len().saturating_sub(longest);
        let starts = text
            .char_indices()
            .map(|(at, _)| at)
            .skip_while(|&at| at < from);
        let mut begun = starts.map(|at| &text[at..]);
        let begun = begun.find(|end| self.texts.iter().any(|stop| stop.starts_with(end)));
        begun.map_or(0, str::len)
    }
}

/// The text of one answer as it is made.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    decoder: Decoder,
    stops: Stops,
    /// What may be the beginning of a stop.
    held: String,
    stopped: bool,
}

impl Answer {
    pub(crate) fn new(stops: Stops) -> Self {
        Self {
            stops,
            ..Self::default()
        }
    }

    /// Whether a stop was found: nothing follows.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    /// The text that is certain once these bytes are there, behind what was given before.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let mut fresh = String::new();
        if !self.stopped {
            self.decoder.push(bytes, &mut fresh);
        }
        self.release(&fresh)
    }

    /// The rest, when no more bytes come.
    pub(crate) fn finish(&mut self) -> String {
        let mut fresh = String::new();
        if !self.stopped {
            self.decoder.finish(&mut fresh);
        }
        let mut text = self.release(&fresh);
        text.push_str(&std::mem::take(&mut self.held));
        text
    }

    fn release(&mut self, fresh: &str) -> String {
        if self.stopped || self.stops.texts.is_empty() {
            return if self.stopped {
                String::new()
            } else {
                fresh.to_owned()
            };
        }
        let mut text = std::mem::take(&mut self.held);
        for character in fresh.chars() {
            text.push(character);
            if let Some(stop) = self.stops.at_end_of(&text) {
                self.stopped = true;
                text.truncate(text.len() - stop);
                return text;
            }
        }
        self.held = text.split_off(text.len() - self.stops.begun_in(&text));
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stops(texts: &[&str]) -> Stops {
        Stops::new(
            &texts
                .iter()
                .map(|&text| text.to_owned())
                .collect::<Vec<_>>(),
        )
    }

    fn pieces(stops: Stops, bytes: &[&[u8]]) -> (Vec<String>, bool) {
        let mut answer = Answer::new(stops);
        let mut pieces: Vec<String> = bytes.iter().map(|bytes| answer.push(bytes)).collect();
        pieces.push(answer.finish());
        (pieces, answer.stopped())
    }

    #[test]
    fn no_half_character_leaves() {
        let (pieces, _) = pieces(
            Stops::default(),
            &[b"caf\xc3", b"\xa9 \xf0\x9f", b"\x98", b"\x80", b"\xe2\x82"],
        );
        assert_eq!(pieces, ["caf", "é ", "", "😀", "", "\u{fffd}"]);
    }

    #[test]
    fn no_part_of_a_stop_leaves() {
        let check = |texts: &[&str], bytes: &[&[u8]], expected: &[&str], stopped: bool| {
            let got = pieces(stops(texts), bytes);
            assert_eq!(
                got,
                (
                    expected.iter().map(|&text| text.to_owned()).collect(),
                    stopped
                )
            );
        };
        check(
            &["END"],
            &[b"one E", b"N", b"D two"],
            &["one ", "", "", ""],
            true,
        );
        check(
            &["END"],
            &[b"one E", b"N", b"d"],
            &["one ", "", "ENd", ""],
            false,
        );
        check(&["END"], &[b"one EN"], &["one ", "EN"], false);
        check(
            &["\n\n"],
            &[b"a\n", b"b\n", b"\nc"],
            &["a", "\nb", "", ""],
            true,
        );
        check(&["aab"], &[b"aaa", b"ab"], &["a", "a", ""], true);
        check(&["b", "abc"], &[b"xab", b"c"], &["xa", "", ""], true);
        check(&["", "é"], &[b"caf\xc3", b"\xa9"], &["caf", "", ""], true);
        check(&[""], &[b"all"], &["all", ""], false);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_whole(
            bytes in proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b'), Just(0xc3), Just(0xa9), any::<u8>()], 0..40),
            cuts in proptest::collection::vec(0_usize..40, 0..8),
            texts in proptest::collection::vec("[abé]{0,4}", 0..4),
        ) {
            let stops = Stops::new(&texts);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let split: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let (given, stopped) = pieces(stops.clone(), &split);
            // The plain way: decode all, then look for the stop that is complete first.
            let whole = String::from_utf8_lossy(&bytes).into_owned();
            let ends = stops.texts.iter().filter_map(|stop| Some((whole.find(stop.as_str())? + stop.len(), stop.len())));
            let first = ends.min_by_key(|&(end, length)| (end, std::cmp::Reverse(length)));
            let expected = first.map_or(whole.as_str(), |(end, length)| &whole[..end - length]);
            prop_assert_eq!(given.concat(), expected);
            prop_assert_eq!(stopped, first.is_some());
        }
    }
}
