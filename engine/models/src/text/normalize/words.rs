//! Words as they stand: plain, in capitals, in camel case, with hyphens, with figures.
//!
//! Capitals are spelled unless they are a word that is known in capitals (`NASA`), a longer known
//! word (`WARNING`), a short common one (`NOT`), or unless the whole text is in capitals.

use super::{Dictionary, How, found::Found, say, token::Tokens};

/// The most parts of a compound or of a name with figures.
const PARTS: usize = 12;

/// Known in capitals, but spelled all the same.
const SPELLED: [&str; 34] = [
    "US", "UK", "EU", "UN", "AI", "IT", "ID", "GI", "PA", "LA", "MO", "MS", "MI", "MA", "PC", "TV",
    "OS", "AM", "PM", "EST", "ETA", "DOE", "OD", "CAL", "COM", "MOT", "AJ", "BJ", "CJ", "DJ", "LI",
    "OU", "ER", "IP",
];
/// Short words that stay words in capitals.
const SHOUTED: [&str; 74] = [
    "THE", "AND", "NOT", "ALL", "YOU", "NEW", "NOW", "YES", "NO", "GO", "STOP", "WE", "HE", "SHE",
    "ME", "MY", "BY", "IS", "IN", "ON", "OF", "TO", "OR", "IF", "SO", "DO", "UP", "AT", "AS", "AN",
    "BE", "ARE", "WAS", "HAS", "HAD", "CAN", "BUT", "FOR", "OUT", "OFF", "ANY", "ONE", "TWO",
    "SIX", "TEN", "BIG", "BAD", "RED", "HOT", "TOP", "END", "ADD", "RUN", "SET", "GET", "PUT",
    "USE", "WHY", "HOW", "WHO", "OUR", "HIS", "HER", "ITS", "OH", "HEY", "BYE", "WOW", "DAY",
    "MAN", "TOO", "OWN", "OLD", "BUY",
];
/// Spoken acronyms and names that no lexicon has as they are said.
const SPOKEN: [(&str, &str); 18] = [
    ("JSON", "jason"),
    ("YAML", "yamel"),
    ("TOML", "tomel"),
    ("JPG", "jaypeg"),
    ("GUI", "gooey"),
    ("WIFI", "wi-fi"),
    ("WiFi", "wi-fi"),
    ("Wi-Fi", "wi-fi"),
    ("CAPTCHA", "captcha"),
    ("UNICEF", "unicef"),
    ("NAFTA", "nafta"),
    ("ASAP", "ASAP"),
    ("LaTeX", "lay-tek"),
    ("macOS", "mack OS"),
    ("PhD", "PHD"),
    ("PhDs", "PHDs"),
    ("C++", "C plus plus"),
    ("OAuth", "oh auth"),
];

pub(super) fn read(tokens: &Tokens<'_>, i: usize, dictionary: &dyn Dictionary) -> Option<Found> {
    if tokens.digits(i).is_some() {
        return figured(tokens, i, dictionary);
    }
    let word = tokens.letters(i)?;
    if tokens.is_mark(i + 1, '+') && tokens.is_mark(i + 2, '+') && word.len() == 1 {
        return Some(Found::line(
            i..i + 3,
            format!("{} plus plus", word.to_ascii_uppercase()),
        ));
    }
    if tokens.is_mark(i + 1, '#') && matches!(word, "C" | "F") && !tokens.is_wordy(i + 2) {
        return Some(Found::line(i..i + 2, format!("{word} sharp")));
    }
    figured(tokens, i, dictionary)
        .or_else(|| compound(tokens, i, dictionary))
        .or_else(|| Some(single(tokens, i, word, dictionary)))
}

fn single(tokens: &Tokens<'_>, i: usize, word: &str, dictionary: &dyn Dictionary) -> Found {
    if tokens.is_shouting() && word.len() > 1 && dictionary.knows(&word.to_ascii_lowercase()) {
        return Found::word(i..i + 1, word.to_ascii_lowercase(), How::Read);
    }
    if let Some((_, line)) = SPOKEN.iter().find(|(written, _)| *written == word) {
        return Found::line(i..i + 1, *line);
    }
    if word.len() == 1 {
        return Found::word(i..i + 1, word, letter(tokens, i, word));
    }
    let beside = |i: usize| tokens.is_mark(i, '&') && is_capitals(word);
    if beside(i + 1) || i.checked_sub(1).is_some_and(beside) {
        return Found::word(i..i + 1, word, How::Spell);
    }
    let parts = pieces(word, dictionary).into_iter();
    parts.fold(Found::silent(i + 1), |found, (word, how)| {
        found.then_word(i..i + 1, word, how)
    })
}

/// A single letter: `a` and `I` are words, others have names. `A` is a word before another one.
fn letter(tokens: &Tokens<'_>, i: usize, word: &str) -> How {
    let next = tokens.letters(tokens.past_space(i + 1));
    let article = next.is_some_and(|next| {
        tokens.is_space(i + 1)
            && next.starts_with(|c: char| c.is_ascii_lowercase())
            && !matches!(next, "is" | "and" | "or" | "was")
    });
    let starts = i == 0 || tokens.word_before(i).is_none();
    match word {
        "I" => How::Read,
        "a" if tokens.is_mark(i + 1, '.') || tokens.is_mark(i + 1, ')') => How::Spell,
        "a" => How::Read,
        "A" if article || starts && next.is_some() => How::Read,
        _ => How::Spell,
    }
}

/// Words held together by hyphens: one word for the ear, as `well-known`.
fn compound(tokens: &Tokens<'_>, i: usize, dictionary: &dyn Dictionary) -> Option<Found> {
    let mut end = i + 1;
    while end < i + PARTS
        && tokens.is_mark(end, '-')
        && tokens.letters(end + 1).is_some()
        && !tokens.is_mark(end + 2, '.')
    {
        end += 2;
    }
    if end == i + 1 || tokens.digits(end).is_some() {
        return None;
    }
    let whole: String = (i..end).map(|i| tokens.text(i)).collect();
    let small = whole.to_ascii_lowercase();
    if let Some((_, line)) = SPOKEN.iter().find(|(written, _)| *written == whole) {
        return Some(Found::line(i..end, *line));
    }
    let simple = (i..end).step_by(2).all(|i| {
        let part = tokens.text(i);
        part.len() > 1 && (!is_capitals(part) || tokens.is_shouting())
    });
    if simple || dictionary.knows(&small) || dictionary.knows(&whole) {
        return Some(Found::word(
            i..end,
            if tokens.is_shouting() { small } else { whole },
            How::Read,
        ));
    }
    let parts = (i..end).step_by(2);
    Some(parts.fold(Found::silent(end), |found, i| {
        pieces(tokens.text(i), dictionary)
            .into_iter()
            .fold(found, |found, (word, how)| {
                found.then_word(i..i + 1, word, how)
            })
    }))
}

/// Letters and figures grown together: `MP3`, `COVID-19`, `GPT-4o`, `4K`, `1080p`.
fn figured(tokens: &Tokens<'_>, i: usize, dictionary: &dyn Dictionary) -> Option<Found> {
    let joins = |i: usize| {
        let hyphen = tokens.is_mark(i, '-') && tokens.digits(i + 1).is_some();
        tokens.is_wordy(i)
            || hyphen
                && i.checked_sub(1)
                    .is_some_and(|before| is_label(tokens, before))
    };
    let end = (i + 1..i + PARTS)
        .find(|i| !joins(*i))
        .unwrap_or(i + PARTS)
        .min(tokens.len());
    let kinds = (i..end).fold((false, false), |(letters, digits), i| {
        (
            letters || tokens.letters(i).is_some(),
            digits || tokens.digits(i).is_some(),
        )
    });
    if kinds != (true, true) || !tokens.starts_word(i) {
        return None;
    }
    let found = (i..end).fold(Found::silent(end), |found, i| {
        match (tokens.letters(i), tokens.digits(i)) {
            (_, Some(digits)) => found.then(i..i + 1, say::label(digits)),
            (Some(letters), _)
                if letters.len() == 1
                    || letters.len() < 4 && is_capitals(letters) && !dictionary.knows(letters) =>
            {
                found.then_word(i..i + 1, letters.to_ascii_uppercase(), How::Spell)
            }
            (Some(letters), _) => pieces(letters, dictionary)
                .into_iter()
                .fold(found, |found, (word, how)| {
                    found.then_word(i..i + 1, word, how)
                }),
            _ => found,
        }
    });
    Some(found.until(end))
}

/// Whether the token is capitals or ends a name with figures, so that a hyphen and a number
/// behind it belong to it.
fn is_label(tokens: &Tokens<'_>, i: usize) -> bool {
    tokens
        .letters(i)
        .is_some_and(|word| is_capitals(word) || word == "Covid")
}

/// A word in mixed case, cut where its case changes, and how each part is said.
pub(super) fn pieces(word: &str, dictionary: &dyn Dictionary) -> Vec<(String, How)> {
    if let Some(part) = whole(word, dictionary) {
        return vec![part];
    }
    let humps = humps(word);
    if humps.len() < 2 {
        return vec![(word.to_owned(), How::Read)];
    }
    humps
        .into_iter()
        .map(|part| whole(part, dictionary).unwrap_or_else(|| (part.to_owned(), How::Read)))
        .collect()
}

/// A word that is not to be cut.
fn whole(word: &str, dictionary: &dyn Dictionary) -> Option<(String, How)> {
    let (stem, ending) = match word.strip_suffix("'s") {
        Some(stem) => (stem, "'s"),
        None => word
            .strip_suffix('s')
            .filter(|stem| is_capitals(stem) && stem.len() > 1)
            .map_or((word, ""), |stem| (stem, "s")),
    };
    if word.len() == 1 {
        return Some((
            word.to_owned(),
            if matches!(word, "a" | "I") {
                How::Read
            } else {
                How::Spell
            },
        ));
    }
    if !is_capitals(stem) || stem.len() < 2 {
        let plain = word.chars().skip(1).all(|c| !c.is_ascii_uppercase());
        let small = word.to_ascii_lowercase();
        let known = dictionary.knows(word) || dictionary.knows(&small);
        let named = ["Mc", "O'", "D'", "De", "La", "Le", "Van", "Fitz"]
            .iter()
            .any(|lead| {
                word.strip_prefix(lead)
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
            });
        return (plain || known || named).then(|| (word.to_owned(), How::Read));
    }
    let small = stem.to_ascii_lowercase();
    let spoken = !SPELLED.contains(&stem)
        && (SHOUTED.contains(&stem)
            || stem.len() > 1 && dictionary.knows(stem)
            || stem.len() > 3 && dictionary.knows(&small)
            || stem.len() > 5 && sounds(&small));
    if spoken {
        let kept = dictionary.knows(stem) && !SHOUTED.contains(&stem);
        return Some((
            if kept {
                word.to_owned()
            } else {
                word.to_ascii_lowercase()
            },
            How::Read,
        ));
    }
    Some((format!("{stem}{ending}"), How::Spell))
}

/// Whether a run of letters can be said: vowels and consonants in turn.
fn sounds(word: &str) -> bool {
    let is_vowel = |byte: u8| b"aeiouy".contains(&byte);
    let vowels = word.bytes().filter(|byte| is_vowel(*byte)).count();
    let longest = word
        .as_bytes()
        .split(|byte| is_vowel(*byte))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    vowels * 5 >= word.len() && longest <= 3
}

fn is_capitals(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// `OpenAI` to `Open`, `AI`; `HTMLParser` to `HTML`, `Parser`.
fn humps(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    let upper = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_uppercase);
    let lower = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_lowercase);
    let plural = |i: usize| bytes.get(i) == Some(&b's') && i + 1 == bytes.len();
    let mut humps = Vec::new();
    let mut start = 0;
    for i in 1..bytes.len() {
        let rises = lower(i - 1) && upper(i);
        let falls = upper(i - 1) && upper(i) && lower(i + 1) && !plural(i + 1);
        if (rises || falls) && humps.len() + 1 < PARTS {
            humps.push(&word[start..i]);
            start = i;
        }
    }
    humps.push(&word[start..]);
    humps
}
