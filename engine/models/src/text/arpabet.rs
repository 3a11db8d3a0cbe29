//! ARPABET, the alphabet of the letter-to-sound network and of the homograph list, and its way
//! into misaki's.

/// All phonemes in the order in which the network numbers them. The digit is the stress of a
/// vowel: 1 primary, 2 secondary, 0 none.
pub(crate) const SYMBOLS: [&str; 70] = [
    "AA0", "AA1", "AA2", "AE0", "AE1", "AE2", "AH0", "AH1", "AH2", "AO0", "AO1", "AO2", "AW0",
    "AW1", "AW2", "AY0", "AY1", "AY2", "B", "CH", "D", "DH", "EH0", "EH1", "EH2", "ER0", "ER1",
    "ER2", "EY0", "EY1", "EY2", "F", "G", "HH", "IH0", "IH1", "IH2", "IY0", "IY1", "IY2", "JH",
    "K", "L", "M", "N", "NG", "OW0", "OW1", "OW2", "OY0", "OY1", "OY2", "P", "R", "S", "SH", "T",
    "TH", "UH0", "UH1", "UH2", "UW", "UW0", "UW1", "UW2", "V", "W", "Y", "Z", "ZH",
];

/// Phonemes in misaki's alphabet, stress marks before their vowels. A symbol that is not ARPABET
/// is left out. A word without any primary stress gets one on its first vowel.
pub(crate) fn misaki<'a>(symbols: impl Iterator<Item = &'a str>) -> String {
    let mut said = String::new();
    let mut first_vowel = None;
    for symbol in symbols {
        let stress = symbol.as_bytes().last().copied().filter(u8::is_ascii_digit);
        let base = symbol.trim_end_matches(|c: char| c.is_ascii_digit());
        if stress.is_some() && first_vowel.is_none() {
            first_vowel = Some(said.len());
        }
        match stress {
            Some(b'1') => said.push('ˈ'),
            Some(b'2') => said.push('ˌ'),
            _ => {}
        }
        said.push_str(letter(base, stress == Some(b'0')));
    }
    if let Some(at) = first_vowel.filter(|_| !said.contains('ˈ')) {
        if said[at..].starts_with('ˌ') {
            said.replace_range(at..at + 'ˌ'.len_utf8(), "");
        }
        said.insert(at, 'ˈ');
    }
    said
}

fn letter(base: &str, unstressed: bool) -> &'static str {
    match base {
        "AH" if unstressed => "ə",
        "ER" if unstressed => "əɹ",
        "AA" => "ɑ",
        "AE" => "æ",
        "AH" => "ʌ",
        "AO" => "ɔ",
        "AW" => "W",
        "AY" => "I",
        "B" => "b",
        "CH" => "ʧ",
        "D" => "d",
        "DH" => "ð",
        "EH" => "ɛ",
        "ER" => "ɜɹ",
        "EY" => "A",
        "F" => "f",
        "G" => "ɡ",
        "HH" => "h",
        "IH" => "ɪ",
        "IY" => "i",
        "JH" => "ʤ",
        "K" => "k",
        "L" => "l",
        "M" => "m",
        "N" => "n",
        "NG" => "ŋ",
        "OW" => "O",
        "OY" => "Y",
        "P" => "p",
        "R" => "ɹ",
        "S" => "s",
        "SH" => "ʃ",
        "T" => "t",
        "TH" => "θ",
        "UH" => "ʊ",
        "UW" => "u",
        "V" => "v",
        "W" => "w",
        "Y" => "j",
        "Z" => "z",
        "ZH" => "ʒ",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arpabet: &str, expected: &str) {
        assert_eq!(misaki(arpabet.split(' ')), expected, "{arpabet}");
    }

    #[test]
    fn phonemes_become_misaki() {
        check("HH AH0 L OW1", "həlˈO");
        check("B ER1 D", "bˈɜɹd");
        check("L EH1 T ER0", "lˈɛtəɹ");
    }

    #[test]
    fn every_word_has_a_primary_stress() {
        check("K AE0 T", "kˈæt");
        check("K AE2 T IY0", "kˈæti");
        check("S T", "st");
    }

    #[test]
    fn every_symbol_of_the_network_has_a_letter() {
        for symbol in SYMBOLS {
            assert!(!misaki([symbol].into_iter()).is_empty(), "{symbol}");
        }
    }
}
