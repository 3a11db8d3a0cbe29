//! Text to tokens, and the bytes of each token.
//!
//! Byte-level pair encodings: of a `tokenizer.json`, or of the tokens and merges in a GGUF file,
//! where only the name of the rule that cuts text into words is given. What always holds: the
//! bytes of a text's tokens, one after the other, are the text's bytes (after the tokenizer's own
//! normalisation), whatever the text.

use std::path::Path;

use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::{NFC, NormalizerWrapper};
use tokenizers::pre_tokenizers::{
    PreTokenizerWrapper, byte_level::ByteLevel, digits::Digits, sequence::Sequence, split::Split,
    split::SplitPattern,
};
use tokenizers::{AddedToken, SplitDelimiterBehavior};

use super::weights::gguf::Settings;
use super::{Error, Result};

/// Text to tokens, and the bytes of each token.
pub(crate) struct Tokenizer {
    encoder: tokenizers::Tokenizer,
    /// The bytes of all tokens, one after the other.
    bytes: Vec<u8>,
    /// Where each token's bytes end.
    ends: Vec<u32>,
    longest: usize,
}

impl Tokenizer {
    /// Reads the text of a `tokenizer.json`.
    pub(crate) fn from_json(path: &Path, text: &[u8]) -> Result<Self> {
        let encoder = tokenizers::Tokenizer::from_bytes(text)
            .map_err(|error| Error::malformed(path, error.to_string()))?;
        Self::new(path, encoder)
    }

    /// The tokenizer that a GGUF file describes.
    pub(super) fn from_gguf(settings: &Settings) -> Result<Self> {
        let path = settings.path();
        let unsupported = |what: &str, got: &str, accepted: &str| Error::Unsupported {
            path: path.to_path_buf(),
            what: format!("setting `{what}`"),
            got: got.to_owned(),
            accepted: accepted.to_owned(),
        };
        let model = settings.required(MODEL, settings.text(MODEL))?;
        if model != "gpt2" {
            return Err(unsupported(MODEL, model, "gpt2, which is byte-level"));
        }
        let name = settings.text(WORDS)?.unwrap_or("default");
        let words =
            Words::named(name).ok_or_else(|| unsupported(WORDS, name, &Words::NAMES.join(", ")))?;
        let tokens = settings.required(TOKENS, settings.texts(TOKENS))?;
        let merges = settings.required(MERGES, settings.texts(MERGES))?;
        let malformed = |problem: String| Error::malformed(path, problem);
        let mut encoder = words.encoder(tokens, merges).map_err(malformed)?;
        let (special, plain) = added(tokens, settings.integers(TYPES)?.unwrap_or_default());
        encoder
            .add_special_tokens(special)
            .and_then(|_| encoder.add_tokens(plain))
            .map_err(|error| malformed(error.to_string()))?;
        Self::new(path, encoder)
    }

    fn new(path: &Path, encoder: tokenizers::Tokenizer) -> Result<Self> {
        let alphabet = Alphabet::of(&encoder).map_err(|problem| Error::Unsupported {
            path: path.to_path_buf(),
            what: "the tokenizer's decoder".to_owned(),
            got: problem,
            accepted: "ByteLevel".to_owned(),
        })?;
        let added = encoder.get_added_tokens_decoder();
        let count = encoder.get_vocab(true).into_values().max();
        let count = count.map_or(0, |id| id.saturating_add(1));
        if count > MAX_TOKENS {
            let problem = format!("a token has the number {count}, at most {MAX_TOKENS}");
            return Err(Error::malformed(path, problem));
        }
        let (mut bytes, mut ends, mut longest) = (Vec::new(), Vec::new(), 1);
        for id in 0..count {
            let start = bytes.len();
            match (added.get(&id), encoder.id_to_token(id)) {
                (Some(token), _) if token.special => {}
                (Some(token), _) => bytes.extend_from_slice(token.content.as_bytes()),
                (None, Some(token)) => alphabet.bytes_of(&token, &mut bytes),
                (None, None) => {}
            }
            longest = longest.max(bytes.len() - start);
            let end = u32::try_from(bytes.len());
            ends.push(end.map_err(|_| Error::malformed(path, "tokens of over 4 GiB"))?);
        }
        Ok(Self {
            encoder,
            bytes,
            ends,
            longest,
        })
    }

    /// Tokens that there are: numbers are below this.
    pub(crate) fn vocabulary(&self) -> usize {
        self.ends.len()
    }

    /// The most bytes that one token stands for.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The number of a token that is written so.
    pub(crate) fn id(&self, token: &str) -> Option<u32> {
        self.encoder.token_to_id(token)
    }

    /// How a token is written.
    pub(crate) fn token(&self, id: u32) -> Option<String> {
        self.encoder.id_to_token(id)
    }

    /// The tokens of a text, in which special tokens may be written out. None is added to them.
    ///
    /// # Errors
    /// What the tokenizer says, which happens only where its file is unsound.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        let encoded = self.encoder.encode_fast(text, false);
        encoded
            .map(|encoded| encoded.get_ids().to_vec())
            .map_err(|error| error.to_string())
    }

    /// The bytes that a token stands for; none for special ones, and for numbers without a token.
    pub(crate) fn bytes_of(&self, id: u32) -> &[u8] {
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        let Some(&end) = self.ends.get(index) else {
            return &[];
        };
        let start = index
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let range = start.map_or(0, |&start| start as usize)..end as usize;
        self.bytes.get(range).unwrap_or(&[])
    }
}

const MODEL: &str = "tokenizer.ggml.model";
const WORDS: &str = "tokenizer.ggml.pre";
const TOKENS: &str = "tokenizer.ggml.tokens";
const MERGES: &str = "tokenizer.ggml.merges";
const TYPES: &str = "tokenizer.ggml.token_type";
/// A token of these types in a GGUF file is written out in texts: control, and defined by users.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
/// Ten times the largest vocabulary.
const MAX_TOKENS: u32 = 1 << 22;

/// Tokens that are found in a text before it is cut into words: special ones, and others.
fn added(tokens: &[String], types: &[i64]) -> (Vec<AddedToken>, Vec<AddedToken>) {
    let of = |wanted: i64, special: bool| {
        let found = tokens
            .iter()
            .zip(types)
            .filter(move |(_, kind)| **kind == wanted);
        found
            .map(|(token, _)| AddedToken::from(token.as_str(), special).normalized(false))
            .collect()
    };
    (of(CONTROL, true), of(USER_DEFINED, false))
}

/// The rule that cuts a text into words, within which pairs are merged.
#[derive(Clone, Copy)]
enum Words {
    Gpt2,
    /// As GPT-2, with each digit a word of its own.
    SmolLm,
    Llama3,
    Qwen2,
}

/// Contractions, words, up to three digits, marks, line ends, spaces.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with each digit a word of its own.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

impl Words {
    /// What GGUF files call the rules that are known here.
    const NAMES: [&'static str; 12] = [
        "default",
        "gpt-2",
        "smollm",
        "starcoder",
        "refact",
        "command-r",
        "codeshell",
        "llama-bpe",
        "llama3",
        "llama-v3",
        "qwen2",
        "deepseek-r1-qwen",
    ];

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "default" | "gpt-2" => Self::Gpt2,
            "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => Self::SmolLm,
            "llama-bpe" | "llama3" | "llama-v3" => Self::Llama3,
            "qwen2" | "deepseek-r1-qwen" => Self::Qwen2,
            _ => return None,
        })
    }

    fn encoder(
        self,
        tokens: &[String],
        merges: &[String],
    ) -> Result<tokenizers::Tokenizer, String> {
        let mut vocabulary = tokenizers::models::bpe::Vocab::default();
        for (id, token) in (0..).zip(tokens) {
            if vocabulary.insert(token.clone(), id).is_some() {
                return Err(format!("the token `{token}` stands twice"));
            }
        }
        let merges = merges.iter().map(|merge| {
            let (left, right) = merge
                .split_once(' ')
                .ok_or_else(|| format!("the merge `{merge}` has no space between its halves"))?;
            Ok((left.to_owned(), right.to_owned()))
        });
        let bpe = BPE::builder()
            .vocab_and_merges(vocabulary, merges.collect::<Result<Vec<_>, String>>()?)
            .ignore_merges(matches!(self, Self::Llama3))
            .build()
            .map_err(|error| error.to_string())?;
        let mut encoder = tokenizers::Tokenizer::new(bpe);
        encoder.with_pre_tokenizer(Some(self.cutter()?));
        encoder.with_decoder(Some(ByteLevel::default()));
        if matches!(self, Self::Qwen2) {
            let nfc = NormalizerWrapper::from(NFC);
            encoder
                .with_normalizer(Some(nfc))
                .map_err(|error| error.to_string())?;
        }
        Ok(encoder)
    }

    fn cutter(self) -> Result<Sequence, String> {
        let first: Option<PreTokenizerWrapper> = match self {
            Self::Gpt2 => None,
            Self::SmolLm => Some(Digits::new(true).into()),
            Self::Llama3 => Some(split(LLAMA3)?.into()),
            Self::Qwen2 => Some(split(QWEN2)?.into()),
        };
        let by_gpt2 = matches!(self, Self::Gpt2 | Self::SmolLm);
        let bytes = PreTokenizerWrapper::from(ByteLevel::new(false, true, by_gpt2));
        Ok(Sequence::new(first.into_iter().chain([bytes]).collect()))
    }
}

fn split(pattern: &str) -> Result<Split, String> {
    let pattern = SplitPattern::Regex(pattern.to_owned());
    let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
    split.map_err(|error| error.to_string())
}

/// The characters that byte-level tokens are written with, one for each byte: printable ones of
/// Latin-1 stand for themselves, the other 68 for those from U+0100 on, in order.
struct Alphabet;

impl Alphabet {
    /// That the tokens are written with it.
    fn of(encoder: &tokenizers::Tokenizer) -> Result<Self, String> {
        use tokenizers::decoders::DecoderWrapper;
        match encoder.get_decoder() {
            Some(DecoderWrapper::ByteLevel(_)) => Ok(Self),
            None => Err("not given".to_owned()),
            Some(other) => {
                let shown = format!("{other:?}");
                let name = shown.split(['(', ' ', '{']).next().unwrap_or_default();
                Err(name.to_owned())
            }
        }
    }

    /// Appends the bytes of a token. One that is written with other characters is taken as it is.
    fn bytes_of(&self, token: &str, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        for character in token.chars() {
            let Some(byte) = self.byte_of(character) else {
                bytes.truncate(start);
                bytes.extend_from_slice(token.as_bytes());
                return;
            };
            bytes.push(byte);
        }
    }

    fn byte_of(&self, character: char) -> Option<u8> {
        let code = u32::from(character);
        let byte = u8::try_from(code).ok();
        match code {
            0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => byte,
            // The bytes that are no printable character: 0..=32, 127..=160 and 173.
            0x100..=0x120 => u8::try_from(code - 0x100).ok(),
            0x121..=0x142 => u8::try_from(code - 0x121 + 127).ok(),
            0x143 => Some(173),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::dense::weights::gguf::{List, Value};

    /// A tokenizer of 265 tokens, each digit a word.
    pub(in crate::dense) fn tiny() -> Tokenizer {
        Tokenizer::from_gguf(&settings("smollm")).unwrap()
    }

    /// All single bytes, some merges, one special and one added token.
    fn settings(words: &str) -> Settings {
        let mut tokens: Vec<String> = (0..=0x143)
            .filter_map(char::from_u32)
            .filter(|character| Alphabet.byte_of(*character).is_some())
            .map(String::from)
            .collect();
        assert_eq!(tokens.len(), 256);
        let merges = ["1 2", "h e", "l l", "he ll", "hell o", "Ġ hello", "é ¡"];
        for merge in merges {
            tokens.push(merge.replace(' ', ""));
        }
        let mut types = vec![1; tokens.len()];
        tokens.extend(["<|end|>".to_owned(), "<think>".to_owned()]);
        types.extend([CONTROL, USER_DEFINED]);
        let list = |texts: Vec<String>| Value::List(List::Texts(texts));
        let values: BTreeMap<String, Value> = [
            (MODEL, Value::Text("gpt2".into())),
            (WORDS, Value::Text(words.into())),
            (TOKENS, list(tokens)),
            (MERGES, list(merges.map(str::to_owned).into())),
            (TYPES, Value::List(List::Integers(types))),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        Settings::new(Path::new("m.gguf"), values)
    }

    fn tokens(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
        let ids = tokenizer.encode(text).unwrap();
        ids.iter().map(|&id| tokenizer.token(id).unwrap()).collect()
    }

    #[test]
    fn words_are_cut_by_the_rule_that_is_named() {
        let check = |words: &str, expected: &[&str]| {
            let tokenizer = Tokenizer::from_gguf(&settings(words)).unwrap();
            assert_eq!(tokens(&tokenizer, "hello hello12"), expected, "{words}");
        };
        check("gpt-2", &["hello", "Ġhello", "12"]);
        check("smollm", &["hello", "Ġhello", "1", "2"]);
        check("llama-bpe", &["hello", "Ġhello", "12"]);
        check("qwen2", &["hello", "Ġhello", "1", "2"]);
        let error = Tokenizer::from_gguf(&settings("tekken"))
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("`tokenizer.ggml.pre` is tekken, accepted: default, gpt-2, smollm"),
            "{error}"
        );
    }

    #[test]
    fn special_tokens_stand_for_no_text_and_added_ones_for_their_own() {
        let tokenizer = Tokenizer::from_gguf(&settings("smollm")).unwrap();
        let ids = tokenizer.encode("hello<|end|><think>").unwrap();
        assert_eq!(ids.len(), 3);
        let bytes = ids.iter().map(|&id| tokenizer.bytes_of(id));
        assert_eq!(bytes.collect::<Vec<_>>(), [&b"hello"[..], b"", b"<think>"]);
        assert_eq!((tokenizer.vocabulary(), tokenizer.longest()), (265, 7));
        assert_eq!(tokenizer.bytes_of(265), b"");
    }

    #[test]
    fn a_merge_of_nothing_is_malformed() {
        let mut settings = settings("smollm");
        settings.set(MERGES, Value::List(List::Texts(vec!["he".into()])));
        let error = Tokenizer::from_gguf(&settings).err().unwrap().to_string();
        assert!(error.contains("the merge `he` has no space"), "{error}");
        settings.set(MERGES, Value::List(List::Texts(vec!["he xyz".into()])));
        assert!(matches!(
            Tokenizer::from_gguf(&settings),
            Err(Error::Malformed { .. })
        ));
    }

    proptest! {
        #[test]
        fn the_bytes_of_a_texts_tokens_are_the_text(text in ".{0,40}") {
            for words in ["gpt-2", "smollm", "llama-bpe"] {
                let tokenizer = Tokenizer::from_gguf(&settings(words)).unwrap();
                let ids = tokenizer.encode(&text).unwrap();
                let bytes: Vec<u8> = ids.iter().flat_map(|&id| tokenizer.bytes_of(id)).copied().collect();
                prop_assert_eq!(String::from_utf8(bytes).unwrap(), text.clone());
            }
        }
    }
}
