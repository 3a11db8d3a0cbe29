//! What a model's tokens mean: text, and the marks that stand for everything else.

use std::collections::BTreeMap;
use std::path::Path;

use crate::dense::tokenizer::Tokenizer;
use crate::dense::{Error, Result};

/// Samples of one step of the time stamps: 20 ms at 16 kHz.
pub(super) const STAMP: u64 = 320;

/// Tokens of a vocabulary that knows more than English.
const MULTILINGUAL: usize = 51_865;

/// The marks, by number, and the text of the other tokens.
pub(super) struct Vocabulary {
    pub(super) tokenizer: Tokenizer,
    pub(super) size: usize,
    pub(super) begin: u32,
    pub(super) end: u32,
    pub(super) no_stamps: u32,
    /// Said at the beginning where nobody speaks.
    pub(super) nothing: Option<u32>,
    /// Before what was said earlier.
    pub(super) before: Option<u32>,
    /// What to write; none of a model that only writes English down.
    pub(super) transcribe: Option<u32>,
    pub(super) translate: Option<u32>,
    /// By code, such as `en`; empty of a model that knows English only.
    pub(super) languages: BTreeMap<String, u32>,
    /// Never chosen.
    pub(super) suppressed: Vec<u32>,
    /// Never chosen at first.
    pub(super) suppressed_first: Vec<u32>,
}

impl Vocabulary {
    pub(super) fn new(path: &Path, tokenizer: Tokenizer, size: usize) -> Result<Self> {
        let id = |name: &str| tokenizer.id(&format!("<|{name}|>"));
        let required = |name: &str| {
            let id = id(name);
            id.ok_or_else(|| Error::malformed(path, format!("there is no token <|{name}|>")))
        };
        let is_multilingual = size >= MULTILINGUAL;
        let languages = CODES
            .iter()
            .filter_map(|&code| Some((code.to_owned(), id(code)?)));
        let only = |id: Option<u32>| id.filter(|_| is_multilingual);
        Ok(Self {
            begin: required("startoftranscript")?,
            end: required("endoftext")?,
            no_stamps: required("notimestamps")?,
            nothing: id("nospeech").or(id("nocaptions")),
            before: id("startofprev"),
            transcribe: only(id("transcribe")),
            translate: only(id("translate")),
            languages: languages.filter(|_| is_multilingual).collect(),
            suppressed: Vec::new(),
            suppressed_first: Vec::new(),
            size,
            tokenizer,
        })
    }

    /// The token of the moment 0; those of later ones follow.
    pub(super) fn first_stamp(&self) -> u32 {
        self.no_stamps + 1
    }

    /// What an answer begins with.
    pub(super) fn prompt(&self, language: Option<u32>, translate: bool, stamps: bool) -> Vec<u32> {
        let task = if translate {
            self.translate
        } else {
            self.transcribe
        };
        let marks = [Some(self.begin), language, task];
        let no_stamps = (!stamps).then_some(self.no_stamps);
        marks.into_iter().chain([no_stamps]).flatten().collect()
    }
}

/// Codes of the languages that there are marks for.
const CODES: [&str; 100] = [
    "en", "zh", "de", "es", "ru", "ko", "fr", "ja", "pt", "tr", "pl", "ca", "nl", "ar", "sv", "it",
    "id", "hi", "fi", "vi", "he", "uk", "el", "ms", "cs", "ro", "da", "hu", "ta", "no", "th", "ur",
    "hr", "bg", "lt", "la", "mi", "ml", "cy", "sk", "te", "fa", "lv", "bn", "sr", "az", "sl", "kn",
    "et", "mk", "br", "eu", "is", "hy", "ne", "mn", "bs", "kk", "sq", "sw", "gl", "mr", "pa", "si",
    "km", "sn", "yo", "so", "af", "oc", "ka", "be", "tg", "sd", "gu", "am", "yi", "lo", "uz", "fo",
    "ht", "ps", "tk", "nn", "mt", "sa", "lb", "my", "bo", "tl", "mg", "as", "tt", "haw", "ln",
    "ha", "ba", "jw", "su", "yue",
];
