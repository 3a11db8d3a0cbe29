//! From misaki's alphabet to the IPA that the voice was trained with.
//!
//! The voice heard espeak-ng's American English. The lexicon writes diphthongs and affricates as
//! one letter and knows no length marks, so each symbol is rewritten by what stands around it.
//! The rules come from comparing both on some thousand common words.

/// Letters after which no syllable has ended: the vowels of both alphabets.
pub(crate) fn is_vowel(symbol: char) -> bool {
    "AIOQWYaiuæɑɐɒɔəɚɛɜɪʊʌᵻᵊeo".contains(symbol)
}

/// All symbols that [`espeak`] can write, stress marks included.
#[cfg(test)]
pub(crate) const OUTPUT: &str = "abdefhijklmnopstuvwzæðŋɐɑɔəɚɛɜɡɪɹɾʃʊʌʒʔθᵻːˈˌ\u{329}";

/// Rewrites one word. `spelling` is the word in lower case: a few sounds differ by it.
pub(crate) fn espeak(misaki: &str, spelling: &str) -> String {
    let symbols: Vec<char> = misaki.chars().collect();
    let mut out = String::with_capacity(misaki.len() * 2);
    let mut i = 0;
    while i < symbols.len() {
        i += write(&symbols, i, spelling, &mut out);
    }
    out
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
        ('ɔ', Some('f' | 'θ' | 's' | 'ŋ')) | ('ɔ', Some('n')) => out.push('ɔ'),
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
