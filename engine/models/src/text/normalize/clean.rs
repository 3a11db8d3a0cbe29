//! Characters, one by one, into the few that the rules know.
//!
//! What comes out is ASCII, Greek letters and the signs of [`super::symbols`]. Accented Latin
//! letters lose their accents, other scripts' digits become ours, typographic quotes and odd
//! spaces become plain ones, control and zero-width characters vanish. A character that nobody
//! reads aloud (an emoji, a letter of another script) becomes a space and is reported. Since each
//! character stands for itself, no emoji sequence, skin tone or combining stack can leave a rest.

use std::ops::Range;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::symbols;

/// A character and where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Glyph {
    pub(super) c: char,
    /// The index of its character in the input.
    pub(super) at: usize,
}

/// The end of a paragraph or a list item.
pub(super) const PARAGRAPH: char = '\u{2029}';

/// The known characters of `glyphs`, and which parts of the input had others.
pub(super) fn clean(glyphs: &[Glyph]) -> (Vec<Glyph>, Vec<Range<usize>>) {
    let mut cleaner = Cleaner {
        out: Vec::with_capacity(glyphs.len()),
        unread: Vec::new(),
        raised: false,
    };
    for (i, glyph) in glyphs.iter().enumerate() {
        let lonely = !is_greek_at(glyphs, i.wrapping_sub(1)) && !is_greek_at(glyphs, i + 1);
        cleaner.take(*glyph, lonely);
    }
    (cleaner.out, cleaner.unread)
}

fn is_greek_at(glyphs: &[Glyph], index: usize) -> bool {
    glyphs
        .get(index)
        .is_some_and(|glyph| is_greek(glyph.c) && !"μµΩ".contains(glyph.c))
}

fn is_greek(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}') && c.is_alphabetic()
}

struct Cleaner {
    out: Vec<Glyph>,
    unread: Vec<Range<usize>>,
    /// Whether the last character was raised, as the 2 of x².
    raised: bool,
}

impl Cleaner {
    fn take(&mut self, Glyph { c, at }: Glyph, lonely: bool) {
        let was_raised = std::mem::take(&mut self.raised);
        match c {
            ' '..='~' => self.push(c, at),
            '\n' | '\u{85}' | '\u{2028}' | '\u{b}' | '\u{c}' => self.push('\n', at),
            PARAGRAPH => self.push(c, at),
            '\t' | '\r' => self.push(' ', at),
            _ if c.is_control() || is_invisible(c) => {}
            _ if c.is_whitespace() => self.push(' ', at),
            '¼' | '½' | '¾' | '⅐'..='⅞' | '↉' => {
                if self.out.last().is_some_and(|last| last.c.is_ascii_digit()) {
                    self.push(' ', at);
                }
                self.fold(c, at);
            }
            '²' | '³' | '¹' | '⁰'..='⁹' | '⁻' | 'ⁿ' => {
                if !was_raised {
                    self.push('^', at);
                }
                self.raised = true;
                self.fold(c, at);
            }
            _ if is_greek(c) && !lonely => self.skip(at),
            _ => self.fold(c, at),
        }
    }

    fn push(&mut self, c: char, at: usize) {
        self.out.push(Glyph { c, at });
    }

    /// Takes a character apart as far as needed.
    fn fold(&mut self, c: char, at: usize) {
        if let Some(known) = replacement(c) {
            known.chars().for_each(|c| self.push(c, at));
            return;
        }
        if symbols::is_sign(c) || is_greek(c) && c.nfkd().count() == 1 {
            self.push(c, at);
            return;
        }
        for part in c.nfkd().filter(|part| !is_combining_mark(*part)) {
            match part {
                '!'..='~' | ' ' => self.push(part, at),
                _ if symbols::is_sign(part) || is_greek(part) => self.push(part, at),
                _ => match (replacement(part), digit(part)) {
                    (Some(known), _) => known.chars().for_each(|c| self.push(c, at)),
                    (None, Some(digit)) => self.push(digit, at),
                    (None, None) => return self.skip(at),
                },
            }
        }
    }

    /// Leaves a character out and says so.
    fn skip(&mut self, at: usize) {
        if self.out.last().is_some_and(|last| last.c != ' ') {
            self.push(' ', at);
        }
        match self.unread.last_mut() {
            Some(range) if range.end == at => range.end = at + 1,
            Some(range) if range.end > at => {}
            _ => self.unread.push(at..at + 1),
        }
    }
}

/// Formatting that has no width and no sound: joiners, direction marks, variation selectors, soft
/// hyphens, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{20d0}'..='\u{20ff}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    ) || is_combining_mark(c)
}

/// What compatibility decomposition does not give.
fn replacement(c: char) -> Option<&'static str> {
    Some(match c {
        '‘' | '’' | 'ʼ' | 'ʻ' | '‛' | '′' | '´' | '`' | 'ʹ' => "'",
        '“' | '”' | '„' | '‟' | '«' | '»' | '″' | '「' | '」' | '『' | '』' | '《' | '》' => {
            "\""
        }
        '‹' | '›' | '‚' => "'",
        '‐' | '‑' | '−' | '﹣' | '⁻' | '₋' => "-",
        '‒' => "–",
        '―' | '⸺' | '⸻' => "—",
        '。' | '｡' | '۔' | '।' => ".",
        '、' | '､' | '،' | '，' => ",",
        '؟' | '⸮' => "?",
        '؛' => ";",
        '¿' | '¡' => "",
        '‼' => "!",
        '⁇' => "?",
        '⁈' | '⁉' => "?!",
        '‽' => "?!",
        '⁄' | '∕' => "/",
        '∶' => ":",
        '•' | '‣' | '◦' | '▪' | '●' | '○' | '∙' | '■' | '□' | '·' | '・' => " ",
        'º' | '˚' => "°",
        'ª' => "a",
        '™' | '®' => "",
        'ß' => "ss",
        'ẞ' => "SS",
        'æ' => "ae",
        'Æ' => "Ae",
        'œ' => "oe",
        'Œ' => "Oe",
        'ø' => "o",
        'Ø' => "O",
        'ł' => "l",
        'Ł' => "L",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'þ' => "th",
        'Þ' => "Th",
        'ħ' => "h",
        'Ħ' => "H",
        'ı' => "i",
        'ŧ' => "t",
        'ŋ' => "ng",
        'ə' | 'Ə' => "e",
        _ => return None,
    })
}

/// The value of a decimal digit in the scripts that are met most.
fn digit(c: char) -> Option<char> {
    const ZEROS: [char; 14] = [
        '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}',
        '\u{be6}', '\u{c66}', '\u{ce6}', '\u{d66}', '\u{e50}', '\u{ed0}',
    ];
    let value = ZEROS.iter().find_map(|zero| {
        u32::from(c)
            .checked_sub(u32::from(*zero))
            .filter(|value| *value < 10)
    })?;
    char::from_digit(value, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> (String, Vec<Range<usize>>) {
        let glyphs: Vec<Glyph> = text
            .chars()
            .enumerate()
            .map(|(at, c)| Glyph { c, at })
            .collect();
        let (out, unread) = clean(&glyphs);
        (out.iter().map(|glyph| glyph.c).collect(), unread)
    }

    #[test]
    fn characters_become_plain() {
        for (text, expected) in [
            ("caf\u{e9} cafe\u{301}", "cafe cafe"),
            ("“don’t”", "\"don't\""),
            ("x² m³ 10⁻¹²", "x^2 m^3 10^-12"),
            ("3½ ½", "3 1/2 1/2"),
            ("ﬁne ＡＢＣ Ⅷ", "fine ABC VIII"),
            ("Straße Łódź", "Strasse Lodz"),
            ("٤٢ ४२ ４２", "42 42 42"),
            ("a\u{200b}b\u{ad}c\u{7}d\u{feff}", "abcd"),
            ("20 ℃ 5 µm", "20 °C 5 μm"),
            ("H₂O", "H2O"),
            ("z\u{335}\u{336}\u{489}a\u{20dd}", "za"),
        ] {
            assert_eq!(cleaned(text), (expected.to_owned(), vec![]), "{text}");
        }
    }

    #[test]
    fn what_nobody_reads_is_reported() {
        assert_eq!(
            cleaned("a 👩🏽\u{200d}🚀 b"),
            ("a  b".to_owned(), vec![2..4, 5..6])
        );
        assert_eq!(cleaned("привет, мир"), (", ".to_owned(), vec![0..6, 8..11]));
        assert_eq!(cleaned("λόγος π 你"), (" π ".to_owned(), vec![0..5, 8..9]));
    }
}
