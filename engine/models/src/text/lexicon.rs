//! The pronouncing lexicon: two JSON dictionaries in one compact table.
//!
//! All keys and values lie in one string, and an open hash table of indices finds them: about
//! 184,000 entries without an allocation each, so that loading is dominated by the JSON itself.
//! Values are in misaki's alphabet (`A` = eɪ, `I` = aɪ, `O` = oʊ, `W` = aʊ, `Y` = ɔɪ, `ʧ`, `ʤ`,
//! `ᵊ`). An entry may hold several pronunciations by part of speech. The first dictionary that
//! has a word wins.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::error::{Error, File, Result};

/// Under what circumstances a variant of a word is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Noun,
    Verb,
    Adjective,
    Adverb,
    Past,
    Participle,
    /// A verb in the present, not third person: `VBP`.
    Present,
    Determiner,
    /// At the end of a clause, where a weak word keeps its stress: misaki's `None`.
    Final,
}

impl Tag {
    const ALL: [(Self, &'static str, u8); 9] = [
        (Self::Noun, "NOUN", b'N'),
        (Self::Verb, "VERB", b'V'),
        (Self::Adjective, "ADJ", b'J'),
        (Self::Adverb, "ADV", b'R'),
        (Self::Past, "VBD", b'D'),
        (Self::Participle, "VBN", b'P'),
        (Self::Present, "VBP", b'Q'),
        (Self::Determiner, "DT", b'T'),
        (Self::Final, "None", b'F'),
    ];

    fn code(self) -> u8 {
        Self::ALL
            .iter()
            .find(|(tag, ..)| *tag == self)
            .map_or(b'?', |entry| entry.2)
    }
}

/// The pronunciations of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    default: &'a str,
    variants: &'a str,
}

impl<'a> Entry<'a> {
    /// The pronunciation to use where nothing is known of the context.
    pub(crate) fn default(self) -> &'a str {
        self.default
    }

    /// The pronunciation that is listed for just this tag.
    pub(crate) fn variant(self, tag: Tag) -> Option<&'a str> {
        let code = char::from(tag.code());
        self.variants
            .split('|')
            .find_map(|variant| variant.strip_prefix(code))
    }

    /// Whether the context matters at all.
    pub(crate) fn is_ambiguous(self) -> bool {
        !self.variants.is_empty()
    }
}

/// Where one word and its value lie in the arena; the value follows the word.
struct Span {
    start: u32,
    word: u16,
    default: u16,
    variants: u16,
}

/// All words that are known, with their pronunciations.
pub(crate) struct Lexicon {
    arena: String,
    spans: Vec<Span>,
    /// Index into `spans` plus one; 0 is free. A power of two, at most half full.
    slots: Vec<u32>,
}

const FIRST_SLOTS: usize = 1 << 19;

impl Lexicon {
    /// Reads both dictionaries. `gold` wins where both have a word.
    pub(crate) fn from_json(gold: &[u8], silver: &[u8]) -> Result<Self> {
        let mut lexicon = Self {
            arena: String::with_capacity(gold.len() + silver.len()),
            spans: Vec::with_capacity(FIRST_SLOTS / 2),
            slots: vec![0; FIRST_SLOTS],
        };
        lexicon.read(gold, File::Gold)?;
        lexicon.read(silver, File::Silver)?;
        Ok(lexicon)
    }

    fn read(&mut self, json: &[u8], file: File) -> Result<()> {
        let text = std::str::from_utf8(json).map_err(|error| Error::malformed(file, error))?;
        let mut json = serde_json::Deserializer::from_str(text);
        json.deserialize_map(Words(self))
            .map_err(|error| Error::malformed(file, error))?;
        json.end().map_err(|error| Error::malformed(file, error))
    }

    /// How many words are known.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The word, exactly as written.
    pub(crate) fn get(&self, word: &str) -> Option<Entry<'_>> {
        let index = self.slots[self.slot(word)].checked_sub(1)?;
        let span = self.spans.get(usize::try_from(index).ok()?)?;
        let value = usize::try_from(span.start).ok()? + usize::from(span.word);
        let variants = value + usize::from(span.default);
        Some(Entry {
            default: self.arena.get(value..variants)?,
            variants: self
                .arena
                .get(variants..variants + usize::from(span.variants))?,
        })
    }

    fn word_at(&self, index: u32) -> &str {
        let Some(span) = usize::try_from(index)
            .ok()
            .and_then(|index| self.spans.get(index))
        else {
            return "";
        };
        let start = usize::try_from(span.start).unwrap_or(usize::MAX);
        self.arena
            .get(start..start.saturating_add(usize::from(span.word)))
            .unwrap_or("")
    }

    /// The slot that holds the word, or the free one where it belongs.
    fn slot(&self, word: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(word) & mask;
        while let Some(index) = self.slots[slot].checked_sub(1) {
            if self.word_at(index) == word {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Adds a word that the arena already ends with.
    fn insert(&mut self, start: usize, word: usize, default: usize) -> Option<()> {
        let known = self.arena.get(start..start + word)?;
        let slot = self.slot(known);
        if self.slots[slot] != 0 || default == 0 {
            self.arena.truncate(start);
            return Some(());
        }
        let variants = self.arena.len() - start - word - default;
        self.spans.push(Span {
            start: u32::try_from(start).ok()?,
            word: u16::try_from(word).ok()?,
            default: u16::try_from(default).ok()?,
            variants: u16::try_from(variants).ok()?,
        });
        self.slots[slot] = u32::try_from(self.spans.len()).ok()?;
        if self.spans.len() * 2 > self.slots.len() {
            self.grow();
        }
        Some(())
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for index in 0..u32::try_from(self.spans.len()).unwrap_or(0) {
            let slot = self.slot(self.word_at(index));
            self.slots[slot] = index + 1;
        }
    }
}

/// FNV-1a, folded: keys are short and the files are our own.
fn hash(word: &str) -> usize {
    let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    usize::try_from((hash ^ (hash >> 32)) & 0xffff_ffff).unwrap_or(0)
}

/// Reads an object of words straight into the table.
struct Words<'a>(&'a mut Lexicon);

impl<'de> Visitor<'de> for Words<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of words")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        loop {
            let start = self.0.arena.len();
            if map.next_key_seed(Append(&mut self.0.arena))?.is_none() {
                return Ok(());
            }
            let word = self.0.arena.len() - start;
            let default = map.next_value_seed(Value(&mut self.0.arena))?;
            if self.0.insert(start, word, default).is_none() {
                return Err(serde::de::Error::custom(
                    "a word or its pronunciation is too long",
                ));
            }
        }
    }
}

/// Appends a string to the arena.
struct Append<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Append<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }
}

/// Appends a pronunciation, or several by tag; gives the length of the default one in bytes.
struct Value<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<usize, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pronunciation, null, or an object of pronunciations by part of speech")
    }

    fn visit_unit<E>(self) -> std::result::Result<usize, E> {
        Ok(0)
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<usize, E> {
        self.0.push_str(text);
        Ok(text.len())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<usize, A::Error> {
        let mut default = String::new();
        let mut variants = String::new();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let Some((.., code)) = Tag::ALL.iter().find(|(_, name, _)| *name == key) else {
                if key == "DEFAULT" {
                    default = map.next_value::<Option<String>>()?.unwrap_or_default();
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
                continue;
            };
            if let Some(variant) = map.next_value::<Option<String>>()? {
                variants.push('|');
                variants.push(char::from(*code));
                variants.push_str(&variant);
            }
        }
        self.0.push_str(&default);
        self.0.push_str(&variants);
        Ok(default.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexicon() -> Lexicon {
        let gold = r#"{"read": {"DEFAULT": "ɹˈid", "VBD": "ɹˈɛd", "ADJ": null}, "cat": "kˈæt"}"#;
        Lexicon::from_json(
            gold.as_bytes(),
            r#"{"cat": "no", "d\u006fg": "dˈɔɡ"}"#.as_bytes(),
        )
        .unwrap()
    }

    #[test]
    fn the_first_dictionary_wins() {
        assert_eq!(lexicon().get("cat").unwrap().default(), "kˈæt");
        assert_eq!(lexicon().len(), 3);
    }

    #[test]
    fn escaped_keys_are_found() {
        assert_eq!(lexicon().get("dog").unwrap().default(), "dˈɔɡ");
        assert!(lexicon().get("do").is_none());
        assert!(lexicon().get("").is_none());
    }

    #[test]
    fn variants_are_kept_by_part_of_speech() {
        let lexicon = lexicon();
        let read = lexicon.get("read").unwrap();
        assert!(read.is_ambiguous());
        assert_eq!(read.default(), "ɹˈid");
        assert_eq!(read.variant(Tag::Past), Some("ɹˈɛd"));
        assert_eq!(read.variant(Tag::Adjective), None);
    }

    #[test]
    fn what_is_not_a_dictionary_is_refused_by_name() {
        let error = Lexicon::from_json(b"{}", b"[1]").err().unwrap().to_string();
        assert!(
            error.contains("silver lexicon") && error.contains("object of words"),
            "{error}"
        );
    }

    #[test]
    fn the_table_grows() {
        let json: Vec<String> = (0..300_000).map(|n| format!("\"w{n}\":\"p{n}\"")).collect();
        let lexicon =
            Lexicon::from_json(format!("{{{}}}", json.join(",")).as_bytes(), b"{}").unwrap();
        assert_eq!(lexicon.get("w299999").unwrap().default(), "p299999");
        assert_eq!(lexicon.get("w0").unwrap().default(), "p0");
    }
}
