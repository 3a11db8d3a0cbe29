//! From misaki's alphabet to the IPA that the voice was trained with.
//!
//! The voice heard espeak-ng's American English. The lexicon writes diphthongs and affricates as
//! one letter and knows no length marks, so each symbol is rewritten by what stands around it.
//! The rules come from comparing both on some thousand common words.

/// Letters after which no syllable has ended: the vowels of both alphabets.
pub(crate) fn is_vowel(symbol: char) -> bool {
    "AIOQWYaiuæɑɐɒɔəɚɛɜɪʊʌᵻᵊeo".contains(symbol)
}

/// All symbols that [`espeak`] can write, stress marks included: each is in the voice's map.
#[cfg(test)]
pub(crate) const OUTPUT: &str = "abdefhijklmnopstuvwzæðŋɐɑɔəɚɛɜɡɪɹɾʃʊʌʒʔθᵻːˈˌ\u{329}";

/// Rewrites one word. `spelling` is the word in lower case: a few sounds differ by it.
pub(crate) fn espeak(misaki: &str, spelling: &str) -> String {
    let mut symbols: Vec<char> = misaki.chars().collect();
    colour(&mut symbols, spelling);
    let mut out = String::with_capacity(misaki.len() * 2);
    let mut i = 0;
    while i < symbols.len() {
        i += write(&symbols, i, spelling, &mut out);
    }
    out
}

/// Gives back what the lexicon's `ə` has lost: espeak-ng says `ɪ` where `i` or `y` is written,
/// and `ᵻ` in a first syllable with `e`. Only where vowels and their letters can be paired.
fn colour(symbols: &mut [char], spelling: &str) {
    let nuclei: Vec<usize> = (0..symbols.len())
        .filter(|i| is_vowel(symbols[*i]))
        .collect();
    let mut groups = letter_groups(spelling);
    if groups.len() == nuclei.len() + 1 && spelling.ends_with('e') {
        groups.pop();
    }
    if groups.len() != nuclei.len() {
        return;
    }
    for (n, (at, (group, rest))) in nuclei.iter().zip(&groups).enumerate() {
        let reduced = symbols[*at] == 'ə' && symbols.get(at + 1) != Some(&'ɹ');
        symbols[*at] = match *group {
            "i" if reduced && rest.starts_with("ty") => 'ᵻ',
            "i" | "y" if reduced => 'ɪ',
            "e" if reduced && n == 0 && has_prefix(spelling) && nuclei.len() > 1 => 'ᵻ',
            _ => symbols[*at],
        };
    }
}

/// Whether a word begins as `believe`, `decide`, `return` or `eleven` do.
fn has_prefix(spelling: &str) -> bool {
    ["be", "de", "re", "pre", "e"]
        .iter()
        .any(|prefix| spelling.starts_with(prefix))
}

/// The runs of vowel letters in a word, each with the letters behind it.
fn letter_groups(spelling: &str) -> Vec<(&str, &str)> {
    let is_letter = |at: usize, c: char| "aeiou".contains(c) || c == 'y' && at > 0;
    let mut groups = Vec::new();
    let mut start = None;
    for (at, c) in spelling.char_indices().chain([(spelling.len(), ' ')]) {
        match (start, is_letter(at, c)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                groups.push((&spelling[from..at], &spelling[at..]));
                start = None;
            }
            _ => {}
        }
    }
    groups
}

/// Whether `ɔɹ` is the close one of `more`, not the open one of `north`.
fn is_close_or(spelling: &str) -> bool {
    ["ore", "oor", "our", "oar", "ory", "ori", "port"]
        .iter()
        .any(|letters| spelling.contains(letters))
}

/// Writes the symbol at `i`; gives how many symbols are done.
fn write(symbols: &[char], i: usize, spelling: &str, out: &mut String) -> usize {
    let at = |i: usize| symbols.get(i).copied();
    let vowel_follows =
        |i: usize| at(i).is_some_and(|symbol| is_vowel(symbol) || symbol == 'ˈ' || symbol == 'ˌ');
    let stressed = i > 0 && matches!(at(i - 1), Some('ˈ' | 'ˌ'));
    match (symbols[i], at(i + 1)) {
        ('ɜ' | 'ə', Some('ɹ')) => {
            out.push_str(if symbols[i] == 'ɜ' { "ɜː" } else { "ɚ" });
            if vowel_follows(i + 2) {
                out.push('ɹ');
            }
            return 2;
        }
        ('ɑ', _) => out.push_str("ɑː"),
        ('ɔ', Some('ɹ')) if is_close_or(spelling) => out.push_str("oː"),
        ('ɪ', Some('ɡ' | 'k')) if i == 0 && spelling.starts_with("ex") => out.push('ɛ'),
        ('ɔ', Some('f' | 'θ' | 's' | 'ŋ' | 'n')) => out.push('ɔ'),
        ('ɔ', _) => out.push_str("ɔː"),
        ('u', _) => out.push_str("uː"),
        ('i', next) => {
            let open =
                next.is_none() && (0..i).any(|i| is_vowel(symbols[i])) || vowel_follows(i + 1);
            out.push_str(if stressed || !open { "iː" } else { "i" });
        }
        ('ə', _) if i == 0 && spelling.starts_with('a') => out.push('ɐ'),
        ('ʔ', Some('n')) if !vowel_follows(i + 2) => {
            out.push_str("ʔn\u{329}");
            return 2;
        }
        (symbol, _) => out.push_str(plain(symbol)),
    }
    1
}

/// Symbols that are rewritten wherever they stand. What is not listed has no sound.
fn plain(symbol: char) -> &'static str {
    const SAME: [&str; 31] = [
        "b", "d", "f", "h", "j", "k", "l", "m", "n", "p", "s", "t", "v", "w", "z", "æ", "ð", "ŋ",
        "ə", "ɛ", "ɡ", "ɪ", "ɹ", "ɾ", "ʃ", "ʊ", "ʌ", "ʒ", "ʔ", "θ", "ᵻ",
    ];
    match symbol {
        'A' => "eɪ",
        'I' => "aɪ",
        'O' => "oʊ",
        'W' => "aʊ",
        'Y' => "ɔɪ",
        'ʧ' => "tʃ",
        'ʤ' => "dʒ",
        'ᵊ' => "ə",
        'ɜ' => "ɜː",
        'T' => "ɾ",
        'ɐ' => "ɐ",
        'ˈ' => "ˈ",
        'ˌ' => "ˌ",
        _ => SAME
            .iter()
            .find(|same| same.starts_with(symbol))
            .copied()
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::phoneme_map::tests::map, *};

    #[test]
    fn words_are_written_as_the_voice_heard_them() {
        for (misaki, spelling, expected) in [
            ("həlˈO", "hello", "həlˈoʊ"),
            ("wˈɜɹld", "world", "wˈɜːld"),
            ("hˈɜɹi", "hurry", "hˈɜːɹi"),
            ("lˈɛɾəɹ", "letter", "lˈɛɾɚ"),
            ("ˈɑpəɹˌAt", "operate", "ˈɑːpɚɹˌeɪt"),
            ("bˈʌʔn", "button", "bˈʌʔn\u{329}"),
            ("əbˈWt", "about", "ɐbˈaʊt"),
            ("mˈɔɹ", "more", "mˈoːɹ"),
            ("nˈɔɹθ", "north", "nˈɔːɹθ"),
            ("fˈæməli", "family", "fˈæmɪli"),
            ("bəlˈiv", "believe", "bᵻlˈiːv"),
            ("kwˈɑləɾi", "quality", "kwˈɑːlᵻɾi"),
            ("ɪɡzˈæmpᵊl", "example", "ɛɡzˈæmpəl"),
            ("θˈɔt", "thought", "θˈɔːt"),
            ("lˈɔŋ", "long", "lˈɔŋ"),
            ("sˈɪɾi", "city", "sˈɪɾi"),
            ("wi", "we", "wiː"),
            ("ˌɛfbˌiˈI", "fbi", "ˌɛfbˌiːˈaɪ"),
            ("ʧˈYs", "choice", "tʃˈɔɪs"),
            ("ʤˈʌʤ", "judge", "dʒˈʌdʒ"),
        ] {
            assert_eq!(espeak(misaki, spelling), expected, "{spelling}");
        }
    }

    #[test]
    fn the_voice_knows_every_symbol() {
        for symbol in OUTPUT.chars().chain(" ,;:.?!".chars()) {
            assert!(map().get(symbol).is_some(), "{symbol:?}");
        }
    }

    proptest! {
        #[test]
        fn only_listed_symbols_come_out(misaki in "[AIOWYTabdfhijklmnpstuvwzæðŋɐɑɔəɛɜɡɪɹɾʃʊʌʒʔʤʧθᵊᵻˈˌx9 ]{0,20}", word in "[a-z]{0,12}") {
            for symbol in espeak(&misaki, &word).chars() {
                prop_assert!(OUTPUT.contains(symbol), "{symbol:?}");
            }
        }
    }
}
