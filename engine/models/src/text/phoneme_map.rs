//! The voice's own numbering of phonemes, out of its JSON.
//!
//! A VITS voice of this family is fed `^ _ p _ p _ … $`: start, then each symbol, padding between
//! all of them, and end. Which number stands for which symbol is the voice's `phoneme_id_map`.

use std::{collections::BTreeMap, fs::File as Source, io::Read, path::Path};

use serde::Deserialize;

use super::error::{Error, File, Result};

/// The largest voice description accepted, in bytes.
const LIMIT: u64 = 4 << 20;

/// What stands in for a symbol that a voice was not trained with. What is not listed is dropped.
const NEAREST: [(char, &str); 17] = [
    ('ɐ', "ə"),
    ('ᵻ', "ɪ"),
    ('ɚ', "əɹ"),
    ('ɜ', "ə"),
    ('ɾ', "t"),
    ('ʔ', "t"),
    ('ɡ', "g"),
    ('ɹ', "r"),
    ('ɑ', "a"),
    ('ʌ', "ə"),
    ('ɔ', "o"),
    ('æ', "a"),
    (';', ","),
    (':', ","),
    ('?', "."),
    ('!', "."),
    (',', " "),
];

/// The numbers of a voice's phonemes.
#[derive(Clone, Debug)]
pub struct PhonemeMap {
    ids: BTreeMap<char, Vec<i64>>,
    pad: i64,
    start: i64,
    end: i64,
}

#[derive(Deserialize)]
struct Voice {
    phoneme_id_map: BTreeMap<String, Vec<i64>>,
}

impl PhonemeMap {
    /// Reads the voice's JSON file.
    ///
    /// # Errors
    /// When the file cannot be read or is not a voice's description.
    pub fn load(path: &Path) -> Result<Self> {
        let read = |source| Error::Read {
            file: File::Voice,
            path: path.to_owned(),
            source,
        };
        let mut json = Vec::new();
        Source::open(path)
            .map_err(read)?
            .take(LIMIT + 1)
            .read_to_end(&mut json)
            .map_err(read)?;
        Self::from_json(&json)
    }

    /// Takes the map out of the voice's JSON. Keys of more than one character are not used.
    ///
    /// # Errors
    /// When it is no such JSON, or when the map has no padding, start or end.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        let bytes = u64::try_from(json.len()).unwrap_or(u64::MAX);
        if bytes > LIMIT {
            return Err(Error::TooLarge {
                file: File::Voice,
                bytes,
                limit: LIMIT,
            });
        }
        let voice: Voice =
            serde_json::from_slice(json).map_err(|error| Error::malformed(File::Voice, error))?;
        let mut ids = BTreeMap::new();
        for (key, numbers) in voice.phoneme_id_map {
            let mut symbols = key.chars();
            if let (Some(symbol), None) = (symbols.next(), symbols.next()) {
                ids.insert(symbol, numbers);
            }
        }
        let needed = |symbol: char| {
            let found = ids.get(&symbol).and_then(|ids| ids.first()).copied();
            found.ok_or(Error::MissingSymbol { symbol })
        };
        Ok(Self {
            pad: needed('_')?,
            start: needed('^')?,
            end: needed('$')?,
            ids,
        })
    }

    /// The numbers of a symbol; `None` where the voice was not trained with it.
    #[must_use]
    pub fn get(&self, symbol: char) -> Option<&[i64]> {
        self.ids.get(&symbol).map(Vec::as_slice)
    }

    /// The symbols to feed for one that the voice may lack: itself, or the nearest that it has.
    /// Marks of length and stress are left out where there are none.
    pub(super) fn nearest(&self, symbol: char) -> Vec<i64> {
        let own = self.get(symbol).map(<[i64]>::to_vec);
        let other = || {
            let nearest = NEAREST
                .iter()
                .find(|(missing, _)| *missing == symbol)
                .map_or("", |(_, nearest)| nearest);
            nearest
                .chars()
                .filter_map(|symbol| self.get(symbol))
                .flatten()
                .copied()
                .collect()
        };
        own.unwrap_or_else(other)
    }

    pub(super) fn pad(&self) -> i64 {
        self.pad
    }

    pub(super) fn start(&self) -> i64 {
        self.start
    }

    pub(super) fn end(&self) -> i64 {
        self.end
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The symbols of the default voice, numbered in order.
    pub(crate) fn map() -> PhonemeMap {
        let symbols =
            "_^$ !'(),-.:;?abcdefhijklmnopqrstuvwxyzæçðøħŋœɐɑɒɔəɚɛɜɡɪɫɬɹɾʃʊʌʍʒʔˈˌːθᵻ\u{329}\u{303}";
        let entries: Vec<String> = symbols
            .chars()
            .enumerate()
            .map(|(id, symbol)| format!("\"{symbol}\":[{id}]"))
            .collect();
        PhonemeMap::from_json(
            format!("{{\"phoneme_id_map\":{{{}}}}}", entries.join(",")).as_bytes(),
        )
        .unwrap()
    }

    #[test]
    fn symbols_have_their_numbers() {
        assert_eq!(map().get('$'), Some([2].as_slice()));
        assert_eq!(map().get('g'), None, "the voice writes ɡ");
    }

    #[test]
    fn a_symbol_that_the_voice_lacks_has_a_neighbour() {
        let few = PhonemeMap::from_json(
            br#"{"phoneme_id_map": {"_": [0], "^": [1], "$": [2], "g": [3], ".": [4]}}"#,
        )
        .unwrap();
        assert_eq!(few.nearest('ɡ'), [3]);
        assert_eq!(few.nearest('?'), [4]);
        assert!(few.nearest('ː').is_empty());
    }

    #[test]
    fn a_map_without_padding_is_refused() {
        let error =
            PhonemeMap::from_json(br#"{"phoneme_id_map": {"^": [1], "$": [2]}}"#).unwrap_err();
        assert!(
            matches!(error, Error::MissingSymbol { symbol: '_' }),
            "{error}"
        );
        assert!(
            PhonemeMap::from_json(b"{}")
                .unwrap_err()
                .to_string()
                .contains("phoneme_id_map")
        );
    }
}
