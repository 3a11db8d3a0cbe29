//! The front end as a whole: loading, and text to an utterance.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    error::{Error, File, Result},
    g2p::LetterToSound,
    homographs::Homographs,
    lexicon::Lexicon,
    normalize::{self, Dictionary, Spoken},
    phoneme_map::PhonemeMap,
    phonemes,
    pronounce::Pronouncer,
    utterance::{Utterance, Word},
};

/// The largest data file accepted, in bytes.
const FILE_LIMIT: u64 = 64 << 20;

/// Where the data files lie.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The checked lexicon, JSON: word to pronunciation, or to pronunciations by part of speech.
    pub gold: PathBuf,
    /// A larger lexicon of the same form, asked second.
    pub silver: PathBuf,
    /// The letter-to-sound network's weights, `.npz`.
    pub g2p: PathBuf,
    /// Words with two pronunciations: `WORD|IF VERB|ELSE|V` lines in ARPABET.
    pub homographs: PathBuf,
}

/// The contents of the data files.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// As [`Paths::gold`].
    pub gold: &'a [u8],
    /// As [`Paths::silver`].
    pub silver: &'a [u8],
    /// As [`Paths::g2p`].
    pub g2p: &'a [u8],
    /// As [`Paths::homographs`].
    pub homographs: &'a [u8],
}

/// English text to phonemes. Cheap to clone, shared between threads; the same text always gives
/// the same utterance.
#[derive(Clone)]
pub struct Frontend(Arc<Pronouncer>);

impl std::fmt::Debug for Frontend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frontend")
            .field("words", &self.0.lexicon.len())
            .finish()
    }
}

impl Frontend {
    /// Reads the data files.
    ///
    /// # Errors
    /// When a file cannot be read, is too large or is damaged; the error names it.
    pub fn load(paths: &Paths) -> Result<Self> {
        Self::from_bytes(&Sources {
            gold: &read(File::Gold, &paths.gold)?,
            silver: &read(File::Silver, &paths.silver)?,
            g2p: &read(File::LetterToSound, &paths.g2p)?,
            homographs: &read(File::Homographs, &paths.homographs)?,
        })
    }

    /// Builds the front end from the files' contents.
    ///
    /// # Errors
    /// When one of them is damaged; the error names it.
    pub fn from_bytes(sources: &Sources<'_>) -> Result<Self> {
        Ok(Self(Arc::new(Pronouncer {
            lexicon: Lexicon::from_json(sources.gold, sources.silver)?,
            homographs: Homographs::parse(sources.homographs)?,
            network: LetterToSound::from_npz(sources.g2p)?,
        })))
    }

    /// One sentence or clause, ready for the voice with this numbering of phonemes.
    ///
    /// Never fails: a text with nothing to say gives an utterance that
    /// [is silent](Utterance::is_silent), with what was left out in `unread`. Longer texts work
    /// too, in time linear in their length.
    #[must_use]
    pub fn utterance(&self, text: &str, map: &PhonemeMap) -> Utterance {
        let normalized = normalize::normalize(text, &Known(&self.0.lexicon));
        let mut utterance = Utterance {
            unread: normalized.unread,
            ..Utterance::default()
        };
        let said = self.0.all(&normalized.words);
        utterance.words = normalized
            .words
            .into_iter()
            .zip(&said)
            .map(|(spoken, said)| word(spoken, said))
            .collect();
        utterance.words.retain(|word| !word.phonemes.is_empty());
        number(&mut utterance, map);
        utterance
    }
}

fn word(spoken: Spoken, said: &str) -> Word {
    let phonemes = phonemes::espeak(said, &spoken.text.to_ascii_lowercase());
    Word {
        text: spoken.text,
        source: spoken.source,
        phonemes,
        break_after: spoken.pause,
    }
}

/// Fills in `ids` and `word_of_id`.
fn number(utterance: &mut Utterance, map: &PhonemeMap) {
    if utterance.words.is_empty() {
        return;
    }
    let mut input = Input {
        ids: vec![map.start(), map.pad()],
        words: vec![None, None],
        map,
    };
    for (index, word) in utterance.words.iter().enumerate() {
        if index > 0 {
            input.push(' ', None);
        }
        word.phonemes
            .chars()
            .for_each(|symbol| input.push(symbol, Some(index)));
        if let Some(symbol) = word.break_after.symbol() {
            input.push(symbol, None);
        }
    }
    input.ids.push(map.end());
    input.words.push(None);
    (utterance.ids, utterance.word_of_id) = (input.ids, input.words);
}

struct Input<'a> {
    ids: Vec<i64>,
    words: Vec<Option<usize>>,
    map: &'a PhonemeMap,
}

impl Input<'_> {
    /// A symbol, or the nearest that the voice has.
    fn push(&mut self, symbol: char, word: Option<usize>) {
        for id in self.map.nearest(symbol) {
            self.ids.extend([id, self.map.pad()]);
            self.words.extend([word, word]);
        }
    }
}

struct Known<'a>(&'a Lexicon);

impl Dictionary for Known<'_> {
    fn knows(&self, word: &str) -> bool {
        self.0.get(word).is_some()
    }
}

fn read(file: File, path: &Path) -> Result<Vec<u8>> {
    let failed = |source| Error::Read {
        file,
        path: path.to_owned(),
        source,
    };
    let source = fs::File::open(path).map_err(failed)?;
    let bytes = source.metadata().map_err(failed)?.len();
    if bytes > FILE_LIMIT {
        return Err(Error::TooLarge {
            file,
            bytes,
            limit: FILE_LIMIT,
        });
    }
    let mut contents = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    source
        .take(FILE_LIMIT)
        .read_to_end(&mut contents)
        .map_err(failed)?;
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::{super::phoneme_map::tests::map, *};

    const GOLD: &str = r#"{"hello": "həlˈO", "world": "wˈɜɹld", "the": "ði"}"#;

    fn frontend() -> Frontend {
        static SHARED: std::sync::OnceLock<Frontend> = std::sync::OnceLock::new();
        SHARED.get_or_init(build).clone()
    }

    fn build() -> Frontend {
        let g2p = super::super::g2p::tests::constant();
        Frontend::from_bytes(&Sources {
            gold: GOLD.as_bytes(),
            silver: b"{}",
            g2p: &g2p,
            homographs: b"",
        })
        .unwrap()
    }

    #[test]
    fn ids_are_padded_and_know_their_words() {
        let utterance = frontend().utterance("Hello, world!", &map());
        let phonemes: Vec<&str> = utterance
            .words
            .iter()
            .map(|word| word.phonemes.as_str())
            .collect();
        assert_eq!(phonemes, ["həlˈoʊ", "wˈɜːld"]);
        let map = map();
        let id = |symbol: char| map.get(symbol).unwrap()[0];
        let expected: Vec<i64> = std::iter::once(id('^'))
            .chain("həlˈoʊ, wˈɜːld!".chars().flat_map(|symbol| [0, id(symbol)]))
            .chain([0, id('$')])
            .collect();
        assert_eq!(utterance.ids, expected);
        assert_eq!(utterance.word_of_id.len(), utterance.ids.len());
        assert_eq!(utterance.word_of_id[2..4], [Some(0), Some(0)]);
        assert_eq!(
            utterance
                .word_of_id
                .iter()
                .filter(|word| **word == Some(1))
                .count(),
            12
        );
        assert_eq!(utterance.words[1].source, 7..12);
    }

    #[test]
    fn nothing_to_say_is_silent() {
        for text in ["", "  \n\t", "👍🏽", "привет", "…", "\u{0}\u{7}", "***"] {
            let utterance = frontend().utterance(text, &map());
            assert!(
                utterance.is_silent() && utterance.ids.is_empty(),
                "{text:?}: {utterance:?}"
            );
        }
        assert_eq!(
            frontend().utterance("你好", &map()).unread.as_slice(),
            std::slice::from_ref(&(0..2))
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        let none = PathBuf::from("nowhere/us_gold.json");
        let paths = Paths {
            gold: none.clone(),
            silver: none.clone(),
            g2p: none.clone(),
            homographs: none,
        };
        let error = Frontend::load(&paths).unwrap_err().to_string();
        assert!(
            error.contains("gold lexicon") && error.contains("nowhere"),
            "{error}"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_a_sound_utterance(text in "(\\PC|[a-zA-Z' ]){0,80}") {
            let utterance = frontend().utterance(&text, &map());
            proptest::prop_assert_eq!(utterance.ids.len(), utterance.word_of_id.len());
            proptest::prop_assert_eq!(utterance.ids.is_empty(), utterance.is_silent());
            let length = text.chars().count();
            for word in &utterance.words {
                proptest::prop_assert!(word.source.end <= length && !word.phonemes.is_empty());
            }
            let indices: Vec<usize> = utterance.word_of_id.iter().flatten().copied().collect();
            proptest::prop_assert!(indices.is_sorted());
            proptest::prop_assert_eq!(indices.last().map_or(0, |last| last + 1), utterance.words.len());
        }
    }
}
