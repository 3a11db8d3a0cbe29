//! Words that no lexicon has, from words that it has: endings, beginnings, compounds.

use super::phonemes::is_vowel;

/// Longer words are not taken apart.
const LIMIT: usize = 32;
/// Beginnings that keep their sound before any word.
const BEGINNINGS: [(&str, &str); 24] = [
    ("un", "ˌʌn"),
    ("re", "ɹˌi"),
    ("non", "nˌɑn"),
    ("pre", "pɹˌi"),
    ("anti", "ˌænti"),
    ("over", "ˌOvəɹ"),
    ("under", "ˌʌndəɹ"),
    ("out", "ˌWt"),
    ("mis", "mˌɪs"),
    ("dis", "dˌɪs"),
    ("super", "sˌupəɹ"),
    ("inter", "ˌɪntəɹ"),
    ("micro", "mˌIkɹO"),
    ("multi", "mˌʌlti"),
    ("semi", "sˌɛmi"),
    ("sub", "sˌʌb"),
    ("hyper", "hˌIpəɹ"),
    ("ultra", "ˌʌltɹə"),
    ("mega", "mˌɛɡə"),
    ("giga", "ɡˌɪɡə"),
    ("kilo", "kˌɪlə"),
    ("nano", "nˌænO"),
    ("cyber", "sˌIbəɹ"),
    ("auto", "ˌɔɾO"),
];
/// Endings that are only added.
const ENDINGS: [(&str, &str); 10] = [
    ("ness", "nəs"),
    ("less", "ləs"),
    ("ful", "fəl"),
    ("ment", "mənt"),
    ("ship", "ʃˌɪp"),
    ("ly", "li"),
    ("like", "lˌIk"),
    ("able", "əbᵊl"),
    ("ish", "ɪʃ"),
    ("hood", "hˌʊd"),
];

/// Gives the pronunciation of a known word, in misaki's alphabet.
pub(crate) type Known<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A derived word of lower-case letters.
pub(crate) fn derive(word: &str, known: Known<'_>) -> Option<String> {
    if word.len() > LIMIT || !word.is_ascii() {
        return None;
    }
    inflected(word, known)
        .or_else(|| ended(word, known))
        .or_else(|| begun(word, known))
        .or_else(|| compound(word, known))
}

/// Possessive, plural, past, `-ing`, `-er`, `-est`.
pub(crate) fn inflected(word: &str, known: Known<'_>) -> Option<String> {
    if let Some(stem) = word.strip_suffix("'s").or_else(|| word.strip_suffix('\'')) {
        return said(stem, known).map(|stem| plural(&stem));
    }
    for (ending, sound) in [("'ll", "əl"), ("'ve", "əv"), ("'d", "əd"), ("'re", "əɹ")] {
        if let Some(stem) = word.strip_suffix(ending) {
            return said(stem, known).map(|stem| stem + sound);
        }
    }
    if let Some(stem) = word.strip_suffix('s').filter(|stem| !stem.ends_with('s')) {
        let other = || {
            stem.strip_suffix("ie")
                .and_then(|stem| said(&format!("{stem}y"), known))
        };
        let short = || stem.strip_suffix('e').and_then(|stem| said(stem, known));
        if let Some(stem) = said(stem, known).or_else(other).or_else(short) {
            return Some(plural(&stem));
        }
    }
    if let Some(stem) = word.strip_suffix("ed") {
        return changed(stem, known).map(|stem| past(&stem));
    }
    for (ending, sound) in [
        ("ing", "ɪŋ"),
        ("er", "əɹ"),
        ("est", "ᵻst"),
        ("ers", "əɹz"),
        ("ings", "ɪŋz"),
    ] {
        if let Some(stem) = word
            .strip_suffix(ending)
            .and_then(|stem| changed(stem, known))
        {
            return Some(flapped(stem, sound));
        }
    }
    None
}

fn said(stem: &str, known: Known<'_>) -> Option<String> {
    if stem.len() < 2 { None } else { known(stem) }
}

/// The word behind a stem before a vowel: `mak(e)`, `run(n)`, `happi` from `happy`, `walk`.
fn changed(stem: &str, known: Known<'_>) -> Option<String> {
    let bytes = stem.as_bytes();
    let double = bytes.len() > 3 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
    let single = double.then(|| &stem[..stem.len() - 1]);
    said(stem, known)
        .filter(|_| stem.len() > 2)
        .or_else(|| said(&format!("{stem}e"), known))
        .or_else(|| single.and_then(|stem| said(stem, known)))
        .or_else(|| {
            stem.strip_suffix('i')
                .and_then(|stem| said(&format!("{stem}y"), known))
        })
}

/// With the plural's `s`, `z` or `ᵻz`.
pub(crate) fn plural(stem: &str) -> String {
    let ending = match stem.chars().last() {
        Some('s' | 'z' | 'ʃ' | 'ʒ' | 'ʧ' | 'ʤ') => "ᵻz",
        Some('p' | 't' | 'k' | 'f' | 'θ') => "s",
        _ => "z",
    };
    format!("{stem}{ending}")
}

fn past(stem: &str) -> String {
    match stem.chars().last() {
        Some('t' | 'd') => flapped(stem.to_owned(), "ᵻd"),
        Some('p' | 'k' | 'f' | 'θ' | 's' | 'ʃ' | 'ʧ') => format!("{stem}t"),
        _ => format!("{stem}d"),
    }
}

/// A `t` between a vowel and an unstressed one is a flap: `chat`, `chatting`.
fn flapped(mut stem: String, ending: &str) -> String {
    let mut back = stem.chars().rev();
    if back.next() == Some('t')
        && back
            .next()
            .is_some_and(|before| is_vowel(before) || before == 'ɹ')
    {
        stem.truncate(stem.len() - 1);
        stem.push('ɾ');
    }
    stem + ending
}

fn ended(word: &str, known: Known<'_>) -> Option<String> {
    let find = |(ending, sound): &(&str, &str)| {
        let stem = word.strip_suffix(ending).filter(|stem| stem.len() > 2)?;
        let plain = known(stem).or_else(|| inflected(stem, known));
        let other = || {
            if *ending == "able" {
                changed(stem, known)
            } else {
                stem.strip_suffix('i')
                    .and_then(|stem| known(&format!("{stem}y")))
            }
        };
        plain.or_else(other).map(|stem| stem + sound)
    };
    ENDINGS.iter().find_map(find)
}

fn begun(word: &str, known: Known<'_>) -> Option<String> {
    let find = |(beginning, sound): &(&str, &str)| {
        let rest = word.strip_prefix(beginning).filter(|rest| rest.len() > 3)?;
        known(rest)
            .or_else(|| inflected(rest, known))
            .map(|rest| format!("{sound}{rest}"))
    };
    BEGINNINGS.iter().find_map(find)
}

/// Two known words grown together, the most even cut first.
fn compound(word: &str, known: Known<'_>) -> Option<String> {
    if word.len() < 6 || word.contains('\'') {
        return None;
    }
    let mut cuts: Vec<usize> = (3..=word.len() - 3).collect();
    cuts.sort_by_key(|cut| cut.abs_diff(word.len() / 2));
    cuts.into_iter().find_map(|cut| {
        let (first, second) = word.split_at_checked(cut)?;
        let second = known(second).or_else(|| inflected(second, known))?;
        Some(known(first)? + &second.replace('ˈ', "ˌ"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(word: &str) -> Option<String> {
        let said = match word {
            "walk" => "wˈɔk",
            "make" => "mˈAk",
            "stop" => "stˈɑp",
            "happy" => "hˈæpi",
            "dog" => "dˈɔɡ",
            "box" => "bˈɑks",
            "city" => "sˈɪɾi",
            "want" => "wˈɑnt",
            "chat" => "ʧˈæt",
            "phone" => "fˈOn",
            "smart" => "smˈɑɹt",
            "home" => "hˈOm",
            "byte" => "bˈIt",
            _ => return None,
        };
        Some(said.to_owned())
    }

    #[test]
    fn words_come_from_their_stems() {
        for (word, expected) in [
            ("dogs", Some("dˈɔɡz")),
            ("dog's", Some("dˈɔɡz")),
            ("boxes", Some("bˈɑksᵻz")),
            ("cities", Some("sˈɪɾiz")),
            ("walks", Some("wˈɔks")),
            ("walked", Some("wˈɔkt")),
            ("wanted", Some("wˈɑntᵻd")),
            ("chatted", Some("ʧˈæɾᵻd")),
            ("chatting", Some("ʧˈæɾɪŋ")),
            ("making", Some("mˈAkɪŋ")),
            ("stopped", Some("stˈɑpt")),
            ("happiest", Some("hˈæpiᵻst")),
            ("happiness", Some("hˈæpinəs")),
            ("homeless", Some("hˈOmləs")),
            ("unhappy", Some("ˌʌnhˈæpi")),
            ("gigabytes", Some("ɡˌɪɡəbˈIts")),
            ("smartphone", Some("smˈɑɹtfˌOn")),
            ("smartphones", Some("smˈɑɹtfˌOnz")),
            ("dog'll", Some("dˈɔɡəl")),
            ("zzz", None),
            ("s", None),
        ] {
            assert_eq!(derive(word, &known).as_deref(), expected, "{word}");
        }
    }

    #[test]
    fn long_words_are_left_alone() {
        assert_eq!(derive(&"dog".repeat(40), &known), None);
    }
}
