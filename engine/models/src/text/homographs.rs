//! Words written alike and said apart: `read`, `live`, `record`, `close`, by their neighbours.
//!
//! There is no tagger here, only rules over one or two words on each side: after `the` comes a
//! noun, after `to` or `will` a verb, and some words have rules of their own. Where nothing is
//! known, the lexicon's usual pronunciation stands.

use std::collections::HashMap;

use super::{
    arpabet,
    error::{Error, File, Result},
    lexicon::{Entry, Tag},
};

/// The list's longest useful size, in lines.
const LINES: usize = 100_000;

/// Words before a noun.
const DETERMINERS: [&str; 27] = [
    "the", "a", "an", "this", "that", "these", "those", "my", "your", "his", "her", "its", "our",
    "their", "some", "any", "no", "each", "every", "another", "both", "all", "many", "few",
    "several", "which", "what",
];
const PREPOSITIONS: [&str; 18] = [
    "of", "in", "on", "at", "with", "for", "by", "from", "into", "about", "under", "over", "after",
    "before", "during", "without", "between", "through",
];
/// Words before a verb.
const BEFORE_VERB: [&str; 42] = [
    "to",
    "will",
    "would",
    "can",
    "could",
    "should",
    "may",
    "might",
    "must",
    "shall",
    "i",
    "you",
    "we",
    "they",
    "do",
    "does",
    "did",
    "don't",
    "doesn't",
    "didn't",
    "let",
    "let's",
    "please",
    "not",
    "never",
    "always",
    "can't",
    "won't",
    "cannot",
    "couldn't",
    "wouldn't",
    "shouldn't",
    "who",
    "i'll",
    "you'll",
    "we'll",
    "they'll",
    "he'll",
    "she'll",
    "i'd",
    "often",
    "people",
];
/// Subjects of a verb with `s`.
const THIRD_PERSON: [&str; 5] = ["he", "she", "it", "who", "which"];
const BEFORE_PARTICIPLE: [&str; 18] = [
    "have", "has", "had", "i've", "you've", "we've", "they've", "he's", "she's", "was", "were",
    "been", "is", "are", "be", "being", "haven't", "hasn't",
];
const OBJECTS: [&str; 20] = [
    "the", "a", "an", "this", "that", "these", "those", "my", "your", "his", "her", "its", "our",
    "their", "it", "them", "him", "me", "us", "all",
];
/// Words that put a sentence into the past.
const PAST: [&str; 8] = [
    "yesterday",
    "ago",
    "last",
    "was",
    "were",
    "had",
    "did",
    "once",
];

/// A word's neighbours, in lower case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// All words of the utterance.
    pub(crate) words: &'a [String],
    /// Which of them is meant.
    pub(crate) index: usize,
    /// Whether a pause follows.
    pub(crate) is_final: bool,
}

impl<'a> Context<'a> {
    fn before(&self, distance: usize) -> &'a str {
        self.index
            .checked_sub(distance)
            .and_then(|index| self.words.get(index))
            .map_or("", String::as_str)
    }

    fn after(&self, distance: usize) -> &'a str {
        self.words
            .get(self.index + distance)
            .map_or("", String::as_str)
    }

    /// Whether one of the words is within twelve words.
    fn mentions(&self, words: &[&str]) -> bool {
        let from = self.index.saturating_sub(12);
        self.words
            .iter()
            .skip(from)
            .take(25)
            .any(|word| words.contains(&word.as_str()))
    }

    fn follows(&self, words: &[&str]) -> bool {
        words.contains(&self.before(1))
    }

    fn precedes(&self, words: &[&str]) -> bool {
        words.contains(&self.after(1))
    }

    /// What part of speech the neighbours ask for.
    fn part(&self) -> Option<Tag> {
        let starts = self.index == 0;
        if self.follows(&BEFORE_VERB) {
            return Some(Tag::Verb);
        }
        if self.follows(&DETERMINERS) || self.follows(&PREPOSITIONS) {
            return Some(Tag::Noun);
        }
        if self.follows(&THIRD_PERSON)
            || self.precedes(&OBJECTS) && (starts || !self.before(1).is_empty())
        {
            return Some(Tag::Verb);
        }
        if self.follows(&BEFORE_PARTICIPLE) {
            return Some(Tag::Participle);
        }
        DETERMINERS.contains(&self.before(2)).then_some(Tag::Noun)
    }
}

/// Which of a word's pronunciations is meant here.
pub(crate) fn choose<'a>(word: &str, entry: Entry<'a>, context: &Context<'_>) -> &'a str {
    if !entry.is_ambiguous() {
        return entry.default();
    }
    if let Some(stressed) = entry.variant(Tag::Final).filter(|_| context.is_final) {
        return stressed;
    }
    let tag = match word {
        "read" => read(context),
        "live" => live(context),
        "lives" => lives(context),
        "close" => close(context),
        "used" => used(context),
        "wound" => context
            .precedes(&["up", "around", "down", "tightly", "through"])
            .then_some(Tag::Past),
        "content" => content(context),
        "bass" => (!context.mentions(&["fish", "fishing", "lake", "sea", "caught", "river"]))
            .then_some(Tag::Adjective),
        "minute" => context
            .precedes(&[
                "details",
                "detail",
                "amounts",
                "quantities",
                "differences",
                "particles",
                "traces",
            ])
            .then_some(Tag::Adjective),
        "tear" | "tears" => tear(context),
        "invalid" | "closer" | "that" => None,
        _ => context.part(),
    };
    tag.and_then(|tag| entry.variant(tag))
        .unwrap_or(entry.default())
}

fn read(context: &Context<'_>) -> Option<Tag> {
    let past = Some(Tag::Past);
    if context.follows(&BEFORE_PARTICIPLE) {
        return past;
    }
    if context.follows(&["i", "you", "we", "they", "who", "people"]) {
        return past.filter(|_| context.mentions(&PAST));
    }
    if context.index == 0
        || context.follows(&BEFORE_VERB)
        || context.follows(&DETERMINERS)
        || context.follows(&["and", "or"])
    {
        return past.filter(|_| context.follows(&["and"]) && context.mentions(&PAST));
    }
    past
}

fn live(context: &Context<'_>) -> Option<Tag> {
    let broadcast = context.follows(&[
        "is",
        "was",
        "are",
        "be",
        "go",
        "went",
        "going",
        "streamed",
        "performed",
        "a",
        "the",
    ]);
    let dwells = context.precedes(&[
        "in", "at", "near", "with", "together", "here", "there", "by", "alone", "without",
        "longer", "happily",
    ]);
    (!broadcast && (dwells || context.part() == Some(Tag::Verb))).then_some(Tag::Verb)
}

fn lives(context: &Context<'_>) -> Option<Tag> {
    let dwells = context.precedes(&["in", "at", "near", "with", "on", "alone", "here", "there"]);
    let noun = context.follows(&DETERMINERS)
        || context.follows(&["of", "save", "saved", "two", "three", "nine", "lost"]);
    (!noun && (dwells || context.follows(&THIRD_PERSON))).then_some(Tag::Verb)
}

fn close(context: &Context<'_>) -> Option<Tag> {
    if context.precedes(&["to", "by", "enough", "friend", "friends"]) && !context.follows(&["to"]) {
        return None;
    }
    let verb = context.part() == Some(Tag::Verb) && !context.follows(&["not"])
        || context.index == 0 && context.precedes(&OBJECTS);
    let noun = context.follows(&["the"]) && context.precedes(&["of"]);
    (verb || noun).then_some(Tag::Verb)
}

fn used(context: &Context<'_>) -> Option<Tag> {
    let being = context.follows(&[
        "is", "was", "are", "were", "be", "been", "being", "get", "got",
    ]);
    (context.precedes(&["to"]) && !being).then_some(Tag::Past)
}

fn content(context: &Context<'_>) -> Option<Tag> {
    let feels = context.follows(&[
        "is", "was", "are", "were", "be", "am", "i'm", "feel", "felt", "seems", "quite", "very",
    ]);
    (!feels).then_some(Tag::Noun)
}

fn tear(context: &Context<'_>) -> Option<Tag> {
    let rips = context.precedes(&["down", "up", "apart", "off", "out", "open", "through"]);
    let wear = context.before(1) == "and" && context.before(2) == "wear";
    (rips || wear || context.part() == Some(Tag::Verb)).then_some(Tag::Verb)
}

/// Pronunciations that the lexicon lacks, as the list of homographs has them.
#[derive(Debug, Default)]
pub(crate) struct Homographs(HashMap<Box<str>, [Box<str>; 2]>);

impl Homographs {
    /// Reads lines of `WORD|IF VERB|ELSE|V`, in ARPABET; `#` begins a comment.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Error::malformed(File::Homographs, error))?;
        let mut words = HashMap::new();
        for (number, line) in text.lines().enumerate().take(LINES) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split('|').collect();
            let [word, verb, other, part, ..] = fields.as_slice() else {
                let reason = format!(
                    "line {}: expected WORD|PRONUNCIATION|PRONUNCIATION|PART",
                    number + 1
                );
                return Err(Error::malformed(File::Homographs, reason));
            };
            if part.trim() == "V" {
                let said =
                    |arpabet: &str| arpabet::misaki(arpabet.split_whitespace()).into_boxed_str();
                words.insert(
                    word.to_ascii_lowercase().into_boxed_str(),
                    [said(verb), said(other)],
                );
            }
        }
        Ok(Self(words))
    }

    /// The pronunciation of a word that no lexicon has.
    pub(crate) fn get(&self, word: &str, context: &Context<'_>) -> Option<&str> {
        let [verb, other] = self.0.get(word)?;
        Some(if context.part() == Some(Tag::Verb) {
            verb
        } else {
            other
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::lexicon::Lexicon, *};

    const GOLD: &str = r#"{
        "read": {"DEFAULT": "ɹˈid", "VBD": "ɹˈɛd", "VBN": "ɹˈɛd"},
        "live": {"DEFAULT": "lˈIv", "VERB": "lˈɪv"}, "lives": {"DEFAULT": "lˈIvz", "VERB": "lˈɪvz"},
        "close": {"DEFAULT": "klˈOs", "NOUN": "klˈOz", "VERB": "klˈOz"},
        "record": {"DEFAULT": "ɹˈɛkəɹd", "VERB": "ɹəkˈɔɹd"}, "wind": {"DEFAULT": "wˈɪnd", "VERB": "wˈInd"},
        "tear": {"DEFAULT": "tˈɪɹ", "VERB": "tˈɛɹ"}, "wound": {"DEFAULT": "wˈund", "VBD": "wˈWnd"},
        "used": {"DEFAULT": "jˈuzd", "VBD": "jˈust"}, "use": {"DEFAULT": "jˈuz", "NOUN": "jˈus"},
        "present": {"DEFAULT": "pɹˈɛzᵊnt", "VERB": "pɹizˈɛnt"}, "object": {"DEFAULT": "ˈɑbʤəkt", "VERB": "əbʤˈɛkt"},
        "content": {"DEFAULT": "kəntˈɛnt", "NOUN": "kˈɑntɛnt"}, "estimate": {"DEFAULT": "ˈɛstəmˌAt", "NOUN": "ˈɛstəmət"},
        "would": {"DEFAULT": "wʊd", "None": "wˈʊd"}, "bass": {"DEFAULT": "bˈæs", "ADJ": "bˈAs"}
    }"#;

    fn check(lexicon: &Lexicon, sentence: &str, expected: &str) {
        let words: Vec<String> = sentence
            .split(' ')
            .map(|word| word.trim_matches('*').to_owned())
            .collect();
        let index = sentence
            .split(' ')
            .position(|word| word.starts_with('*'))
            .unwrap();
        let context = Context {
            words: &words,
            index,
            is_final: index + 1 == words.len(),
        };
        assert_eq!(
            choose(&words[index], lexicon.get(&words[index]).unwrap(), &context),
            expected,
            "{sentence}"
        );
    }

    #[test]
    fn neighbours_choose_the_pronunciation() {
        let lexicon = Lexicon::from_json(GOLD.as_bytes(), b"{}").unwrap();
        for (sentence, expected) in [
            ("he *read the book", "ɹˈɛd"),
            ("i want to *read it", "ɹˈid"),
            ("they have *read it", "ɹˈɛd"),
            ("we *read it yesterday", "ɹˈɛd"),
            ("you *read every day", "ɹˈid"),
            ("they *live in paris", "lˈɪv"),
            ("a *live show", "lˈIv"),
            ("we are *live now", "lˈIv"),
            ("she *lives in rome", "lˈɪvz"),
            ("their *lives in danger", "lˈIvz"),
            ("*close the door", "klˈOz"),
            ("it is *close to home", "klˈOs"),
            ("a *close friend", "klˈOs"),
            ("i want to *close it", "klˈOz"),
            ("the *record was broken", "ɹˈɛkəɹd"),
            ("please *record this", "ɹəkˈɔɹd"),
            ("the *wind blows", "wˈɪnd"),
            ("*wind the clock", "wˈInd"),
            ("do not *tear it", "tˈɛɹ"),
            ("wear and *tear", "tˈɛɹ"),
            ("a *tear fell", "tˈɪɹ"),
            ("the *wound healed", "wˈund"),
            ("it was *wound up", "wˈWnd"),
            ("i *used to run", "jˈust"),
            ("it is *used to cut", "jˈuzd"),
            ("the *use of force", "jˈus"),
            ("we *present a gift", "pɹizˈɛnt"),
            ("i *object to that", "əbʤˈɛkt"),
            ("the *content is good", "kˈɑntɛnt"),
            ("i am *content", "kəntˈɛnt"),
            ("a rough *estimate", "ˈɛstəmət"),
            ("yes i *would", "wˈʊd"),
            ("i *would go", "wʊd"),
            ("the *bass guitar", "bˈAs"),
            ("he caught a *bass", "bˈæs"),
        ] {
            check(&lexicon, sentence, expected);
        }
    }

    #[test]
    fn a_broken_list_is_refused_with_its_line() {
        let error = Homographs::parse(b"# words\nABSENT only\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("homograph list") && error.contains("line 2"),
            "{error}"
        );
    }

    #[test]
    fn the_list_speaks_where_the_lexicon_is_silent() {
        let list = Homographs::parse(b"FERMENT|F ER0 M EH1 N T|F ER1 M EH2 N T|V\n").unwrap();
        let words = ["to".to_owned(), "ferment".to_owned()];
        let context = Context {
            words: &words,
            index: 1,
            is_final: true,
        };
        assert_eq!(list.get("ferment", &context), Some("fəɹmˈɛnt"));
        assert_eq!(list.get("other", &context), None);
    }
}
