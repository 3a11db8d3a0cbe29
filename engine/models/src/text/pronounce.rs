//! A word into sounds: lexicon, then its endings, then letter by letter through the network.

use super::{g2p::LetterToSound, lexicon::Lexicon};

/// The names of the letters, in misaki's alphabet, without stress.
const LETTERS: [&str; 26] = [
    "A",
    "bi",
    "si",
    "di",
    "i",
    "ɛf",
    "ʤi",
    "Aʧ",
    "I",
    "ʤA",
    "kA",
    "ɛl",
    "ɛm",
    "ɛn",
    "O",
    "pi",
    "kju",
    "ɑɹ",
    "ɛs",
    "ti",
    "ju",
    "vi",
    "dʌbᵊlju",
    "ɛks",
    "wI",
    "zi",
];

/// All that is needed to pronounce words one by one.
pub(crate) struct Pronouncer {
    pub(crate) lexicon: Lexicon,
    pub(crate) network: LetterToSound,
}

impl Pronouncer {
    /// A word without context, in misaki's alphabet.
    pub(crate) fn word(&self, word: &str) -> String {
        let small = word.to_ascii_lowercase();
        let known = [word, &small]
            .into_iter()
            .find_map(|word| self.lexicon.get(word));
        known.map_or_else(
            || self.network.say(&small).into(),
            |entry| entry.default().to_owned(),
        )
    }

    /// Letters by their names, as one word with its main stress on the last.
    pub(crate) fn spell(word: &str) -> String {
        let names: Vec<&str> = word.bytes().filter_map(letter_name).collect();
        let mut said = String::new();
        for (i, name) in names.iter().enumerate() {
            let at = name.find(super::phonemes::is_vowel).unwrap_or(0);
            said.push_str(&name[..at]);
            said.push(if i + 1 == names.len() { 'ˈ' } else { 'ˌ' });
            said.push_str(&name[at..]);
        }
        said
    }
}

fn letter_name(letter: u8) -> Option<&'static str> {
    LETTERS
        .get(usize::from(letter.to_ascii_lowercase().checked_sub(b'a')?))
        .copied()
}
