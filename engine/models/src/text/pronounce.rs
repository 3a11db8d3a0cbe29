//! Words into sounds, in their context: lexicon, derived words, letters, and at last the network.

use super::{
    g2p::{self, LetterToSound},
    homographs::{self, Context, Homographs},
    lexicon::{Entry, Lexicon},
    normalize::{How, Spoken},
    phonemes::is_vowel,
    stems,
    utterance::Pause,
};

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

/// Words that the lexicons lack and the network gets wrong, or that the voice heard otherwise, in
/// misaki's alphabet.
const EXTRA: [(&str, &str); 46] = [
    ("ninety", "nˈInti"),
    ("every", "ˈɛvɹi"),
    ("different", "dˈɪfɹənt"),
    ("camera", "kˈæmɹə"),
    ("several", "sˈɛvɹəl"),
    ("want", "wˈɔnt"),
    ("jason", "ʤˈAsᵊn"),
    ("yamel", "jˈæmᵊl"),
    ("tomel", "tˈɑmᵊl"),
    ("jaypeg", "ʤˈApˌɛɡ"),
    ("gooey", "ɡˈui"),
    ("wi-fi", "wˈIfˌI"),
    ("lay-tek", "lˈAtˌɛk"),
    ("mack", "mˈæk"),
    ("miz", "mˈɪz"),
    ("messers", "mˈɛsəɹz"),
    ("google", "ɡˈuɡᵊl"),
    ("github", "ɡˈɪthˌʌb"),
    ("openai", "ˌOpᵊnˌAˈI"),
    ("nvidia", "ɛnvˈɪdiə"),
    ("kubernetes", "kˌubəɹnˈɛɾiz"),
    ("linux", "lˈɪnəks"),
    ("ubuntu", "ʊbˈʊntu"),
    ("emoji", "imˈOʤi"),
    ("kibibyte", "kˈɪbibˌIt"),
    ("mebibyte", "mˈɛbibˌIt"),
    ("gibibyte", "ɡˈɪbibˌIt"),
    ("kilometer", "kəlˈɑməɾəɹ"),
    ("celsius", "sˈɛlsiəs"),
    ("fahrenheit", "fˈɛɹənhˌIt"),
    ("hashtag", "hˈæʃtˌæɡ"),
    ("resumé", "ɹˈɛzəmˌA"),
    ("whatsapp", "wˈʌtsˌæp"),
    ("sean", "ʃˈɔn"),
    ("siobhan", "ʃəvˈɔn"),
    ("nguyen", "wˈɪn"),
    ("joaquin", "wɑkˈin"),
    ("xi", "ʃˈi"),
    ("zhang", "ʤˈɑŋ"),
    ("beijing", "bAʤˈɪŋ"),
    ("chatgpt", "ʧˌætʤˌipˌitˈi"),
    ("tiktok", "tˈɪktˌɑk"),
    ("bitcoin", "bˈɪtkˌYn"),
    ("covid", "kˈOvˌɪd"),
    ("et", "ɛt"),
    ("cetera", "sˈɛɾəɹə"),
];

/// All that is needed to pronounce words.
pub(crate) struct Pronouncer {
    pub(crate) lexicon: Lexicon,
    pub(crate) homographs: Homographs,
    pub(crate) network: LetterToSound,
}

impl Pronouncer {
    /// The words of an utterance, in misaki's alphabet.
    pub(crate) fn all(&self, spoken: &[Spoken]) -> Vec<String> {
        let words: Vec<String> = spoken
            .iter()
            .map(|word| word.text.to_ascii_lowercase())
            .collect();
        let mut said: Vec<String> = (0..spoken.len())
            .map(|index| {
                let word = &spoken[index];
                let is_final = word.pause != Pause::None;
                match word.how {
                    How::Spell => Self::spell(&word.text),
                    How::Read => self.word(
                        &word.text,
                        &Context {
                            words: &words,
                            index,
                            is_final,
                        },
                    ),
                }
            })
            .collect();
        for index in 0..said.len() {
            if spoken[index].how == How::Read
                && let Some(weak) = weak(
                    &words[index],
                    spoken[index].pause,
                    said.get(index + 1).map_or("", String::as_str),
                )
            {
                said[index] = weak.to_owned();
            }
        }
        said
    }

    fn word(&self, word: &str, context: &Context<'_>) -> String {
        let small = word.to_ascii_lowercase();
        if let Some(said) = extra(&small) {
            return said.to_owned();
        }
        if let Some(entry) = [word, small.as_str()]
            .into_iter()
            .find_map(|word| self.lexicon.get(word))
        {
            return homographs::choose(&small, entry, context).to_owned();
        }
        if let Some(said) = self.homographs.get(&small, context) {
            return said.to_owned();
        }
        if word.contains('-') {
            return word.split('-').map(|part| self.unknown(part)).collect();
        }
        self.unknown(word)
    }

    /// A word without context.
    fn unknown(&self, word: &str) -> String {
        let small = word.to_ascii_lowercase();
        let known = |word: &str| self.known(word);
        if let Some(said) = known(word)
            .or_else(|| known(&small))
            .or_else(|| stems::derive(&small, &known))
        {
            return said;
        }
        if let Some(shorter) = collapsed(&small) {
            return known(&shorter).unwrap_or_else(|| self.spelled_out(&shorter));
        }
        self.spelled_out(&small)
    }

    /// What a lexicon has, for a word in any case.
    fn known(&self, word: &str) -> Option<String> {
        let capital = || {
            let mut letters = word.chars();
            let first = letters.next()?;
            self.lexicon.get(&format!(
                "{}{}",
                first.to_ascii_uppercase(),
                letters.as_str()
            ))
        };
        extra(word)
            .or_else(|| self.lexicon.get(word).or_else(capital).map(Entry::default))
            .map(str::to_owned)
    }

    /// By the network, in pieces where the word is endless; letters without a vowel by name.
    fn spelled_out(&self, word: &str) -> String {
        let letters: String = word.chars().filter(char::is_ascii_lowercase).collect();
        let silent = !letters.bytes().any(|letter| b"aeiouy".contains(&letter));
        if silent && letters.len() < 6 {
            return Self::spell(&letters);
        }
        let bytes: Vec<char> = letters.chars().collect();
        let pieces = bytes
            .chunks(g2p::LETTER_LIMIT)
            .map(|piece| self.network.say(&piece.iter().collect::<String>()));
        pieces.map(String::from).collect()
    }

    /// Letters by their names, as one word with its main stress on the last. A small `s` at the
    /// end, with or without an apostrophe, is an ending.
    pub(crate) fn spell(word: &str) -> String {
        let stem = word.strip_suffix("'s").or_else(|| {
            word.strip_suffix('s')
                .filter(|stem| !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_uppercase()))
        });
        let names: Vec<&str> = stem
            .unwrap_or(word)
            .bytes()
            .filter_map(letter_name)
            .collect();
        let mut said = String::new();
        for (i, name) in names.iter().enumerate() {
            let at = name.find(is_vowel).unwrap_or(0);
            said.push_str(&name[..at]);
            said.push(if i + 1 == names.len() { 'ˈ' } else { 'ˌ' });
            said.push_str(&name[at..]);
        }
        if stem.is_some() {
            stems::plural(&said)
        } else {
            said
        }
    }
}

fn extra(word: &str) -> Option<&'static str> {
    EXTRA
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, said)| *said)
}

/// The weak forms that depend on the next word's first sound.
fn weak(word: &str, pause: Pause, next: &str) -> Option<&'static str> {
    let vowel = next.trim_start_matches(['ˈ', 'ˌ']).starts_with(is_vowel);
    match word {
        _ if pause != Pause::None => None,
        "the" if vowel => Some("ðɪ"),
        "the" => Some("ðə"),
        "to" if vowel => Some("tʊ"),
        "to" => Some("tə"),
        "a" => Some("ə"),
        "i" => Some("I"),
        _ => None,
    }
}

/// A word whose letters were drawn out: `sooo` is `so`.
fn collapsed(word: &str) -> Option<String> {
    let mut out = String::with_capacity(word.len());
    let mut run = 0;
    let mut drawn = false;
    let mut last = '\0';
    for c in word.chars() {
        run = if c == last { run + 1 } else { 1 };
        last = c;
        drawn |= run > 2;
        if run < 2 {
            out.push(c);
        }
    }
    drawn.then_some(out)
}

fn letter_name(letter: u8) -> Option<&'static str> {
    LETTERS
        .get(usize::from(letter.to_ascii_lowercase().checked_sub(b'a')?))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_names() {
        assert_eq!(Pronouncer::spell("FBI"), "ˌɛfbˌiˈI");
        assert_eq!(Pronouncer::spell("PCs"), "pˌisˈiz");
        assert_eq!(Pronouncer::spell("CEO's"), "sˌiˌiˈOz");
        assert_eq!(Pronouncer::spell("s"), "ˈɛs");
    }

    #[test]
    fn weak_words_listen_to_the_next() {
        assert_eq!(weak("the", Pause::None, "ˈæpᵊl"), Some("ðɪ"));
        assert_eq!(weak("the", Pause::None, "jˈunɪt"), Some("ðə"));
        assert_eq!(weak("to", Pause::None, "ɡˈO"), Some("tə"));
        assert_eq!(weak("to", Pause::Stop, ""), None);
    }

    #[test]
    fn drawn_out_letters_are_one() {
        assert_eq!(collapsed("sooooo").as_deref(), Some("so"));
        assert_eq!(collapsed("good"), None);
    }
}
