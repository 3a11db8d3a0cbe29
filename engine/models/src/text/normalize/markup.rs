//! Markup that is seen, not heard: tags, entities, Markdown.
//!
//! Tags go and their text stays; `<break>` and the ends of blocks pause. Markdown's emphasis, code
//! ticks, bullets, headings, quotation and table lines go; of a link the text stays, an image is
//! left out. A lone `<`, `*` or `_` that is no markup stays. Every search for a closing sign is
//! bounded, so the work stays linear.

use super::clean::{Glyph, PARAGRAPH};

/// The longest tag, entity and link target, in characters.
const TAG_LIMIT: usize = 256;
const ENTITY_LIMIT: usize = 10;
const LINK_LIMIT: usize = 1024;

/// The characters that are left, each with its place in the input.
pub(super) fn strip(text: &str) -> Vec<Glyph> {
    let chars: Vec<char> = text.chars().collect();
    let mut stripper = Stripper {
        out: Vec::with_capacity(chars.len()),
        chars,
    };
    let mut i = 0;
    while i < stripper.chars.len() {
        i = stripper.take(i).max(i + 1);
    }
    stripper.out
}

struct Stripper {
    chars: Vec<char>,
    out: Vec<Glyph>,
}

impl Stripper {
    fn at(&self, i: usize) -> char {
        self.chars.get(i).copied().unwrap_or('\n')
    }

    fn push(&mut self, c: char, at: usize) {
        self.out.push(Glyph { c, at });
    }

    /// Handles the character at `i`; gives the next one to handle.
    fn take(&mut self, i: usize) -> usize {
        let starts_line = i
            .checked_sub(1)
            .is_none_or(|before| self.at(before) == '\n');
        if let Some(next) = starts_line.then(|| self.line_start(i)).flatten() {
            return next;
        }
        let done = match self.at(i) {
            '<' => self.tag(i),
            '&' => self.entity(i),
            '!' if self.at(i + 1) == '[' => self.link(i + 1),
            '[' => self.link(i),
            ']' if self.at(i + 1) == '(' => self.target(i),
            '*' | '_' | '~' | '`' => self.emphasis(i),
            '\\' if self.at(i + 1).is_ascii_punctuation() && self.at(i + 1) != '\\' => {
                self.push(self.at(i + 1), i + 1);
                Some(i + 2)
            }
            _ => None,
        };
        done.unwrap_or_else(|| {
            self.push(self.at(i), i);
            i + 1
        })
    }

    /// Headings, bullets, quotations and rules at the start of a line: where the text begins. A
    /// paragraph's end is put before it.
    fn line_start(&mut self, i: usize) -> Option<usize> {
        let first = (i..i + 16).find(|i| !matches!(self.at(*i), ' ' | '\t'))?;
        let mark = self.at(first);
        let run = (first..first + 80)
            .take_while(|i| self.at(*i) == mark)
            .count();
        let after = first + run;
        let blank = matches!(self.at(after), ' ' | '\t');
        let done = match mark {
            '#' if run <= 6 && blank => after,
            '-' | '*' | '+' | '•' | '>' if run == 1 && blank && !self.is_sum(after) => after,
            '-' | '*' | '_' | '=' | '`' | '~' if run >= 3 && self.at(after) == '\n' => after,
            '`' | '~' if run >= 3 => self.line_end(after),
            _ => return None,
        };
        self.push(PARAGRAPH, i);
        Some(done)
    }

    /// Whether a figure follows a single sign: `- 5` on a line of its own is a number.
    fn is_sum(&self, after: usize) -> bool {
        self.at(after + 1).is_ascii_digit()
            && !(after..after + 16).any(|i| self.at(i).is_alphabetic())
    }

    /// The end of a short word that names the language of a code block.
    fn line_end(&self, i: usize) -> usize {
        (i..i + 24).find(|i| self.at(*i) == '\n').unwrap_or(i)
    }

    fn tag(&mut self, i: usize) -> Option<usize> {
        let first = self.at(i + 1);
        if !(first.is_ascii_alphabetic() || matches!(first, '/' | '!' | '?')) {
            return None;
        }
        let end = (i + 2..i + TAG_LIMIT)
            .find(|i| matches!(self.at(*i), '<' | '>'))
            .filter(|i| self.at(*i) == '>')?;
        let name: String = (i + 1..end)
            .map(|i| self.at(i))
            .filter(|c| *c != '/')
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        if self.is_address(i + 1, end) {
            self.push(' ', i);
            return Some(i + 1);
        }
        match name.to_ascii_lowercase().as_str() {
            "break" => self.push(',', i),
            "p" | "br" | "li" | "div" | "s" | "h1" | "h2" | "h3" | "tr" | "sentence" => {
                self.push(PARAGRAPH, i);
            }
            "script" | "style" if first != '/' => {
                self.push(' ', i);
                return Some(self.past_block(end, &name));
            }
            _ => {}
        }
        Some(end + 1)
    }

    /// `<https://…>` and `<mail@host>` are addresses.
    fn is_address(&self, from: usize, to: usize) -> bool {
        (from..to).any(|i| self.at(i) == '@' || self.at(i) == ':' && self.at(i + 1) == '/')
            && !(from..to).any(|i| self.at(i) == ' ')
    }

    /// Past `</name>`, within the limit of a link.
    fn past_block(&self, end: usize, name: &str) -> usize {
        let closes = |i: usize| {
            self.at(i) == '<'
                && self.at(i + 1) == '/'
                && name
                    .chars()
                    .enumerate()
                    .all(|(n, c)| self.at(i + 2 + n).eq_ignore_ascii_case(&c))
        };
        (end..end + LINK_LIMIT)
            .find(|i| closes(*i))
            .unwrap_or(end + 1)
    }

    fn entity(&mut self, i: usize) -> Option<usize> {
        let end = (i + 1..i + ENTITY_LIMIT).find(|i| self.at(*i) == ';')?;
        let name: String = (i + 1..end).map(|i| self.at(i)).collect();
        let c = match name.as_str() {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "nbsp" => ' ',
            "hellip" => '…',
            "mdash" => '—',
            "ndash" => '–',
            "rsquo" | "lsquo" => '\'',
            "ldquo" | "rdquo" => '"',
            "euro" => '€',
            "pound" => '£',
            "deg" => '°',
            _ => numbered(name.strip_prefix('#')?)?,
        };
        self.push(c, i);
        Some(end + 1)
    }

    /// `[text](target)`: the text is handled as usual, here the bracket goes. An image goes whole.
    fn link(&mut self, i: usize) -> Option<usize> {
        let close = (i + 1..i + LINK_LIMIT)
            .find(|i| matches!(self.at(*i), ']' | '[' | '\n'))
            .filter(|i| self.at(*i) == ']')?;
        if i.checked_sub(1)
            .is_some_and(|before| self.at(before) == '!')
            || self
                .out
                .last()
                .is_some_and(|last| last.c == '!' && last.at + 1 == i)
        {
            return self.past_target(close);
        }
        if self.at(close + 1) == '(' && self.past_target(close).is_some() {
            return Some(i + 1);
        }
        let is_task = close == i + 2 && matches!(self.at(i + 1), ' ' | 'x' | 'X');
        let is_note = self.at(i + 1) == '^'
            || (i + 1..close).all(|i| self.at(i).is_ascii_digit()) && close > i + 1;
        (is_task || is_note).then_some(close + 1)
    }

    /// `](target)`
    fn target(&mut self, i: usize) -> Option<usize> {
        self.past_target(i)
    }

    fn past_target(&self, close: usize) -> Option<usize> {
        if self.at(close + 1) != '(' {
            return None;
        }
        (close + 2..close + LINK_LIMIT)
            .find(|i| matches!(self.at(*i), ')' | '\n'))
            .filter(|i| self.at(*i) == ')')
            .map(|i| i + 1)
    }

    /// A run of emphasis marks goes, unless it stands alone between spaces or holds a name
    /// together.
    fn emphasis(&mut self, i: usize) -> Option<usize> {
        let mark = self.at(i);
        let run = (i..i + TAG_LIMIT)
            .take_while(|i| self.at(*i) == mark)
            .count();
        let before = i.checked_sub(1).map_or(' ', |before| self.at(before));
        let after = self.at(i + run);
        let between_words = before.is_alphanumeric() && after.is_alphanumeric();
        let between_spaces = before.is_whitespace() && after.is_whitespace();
        match mark {
            '`' => Some(i + run),
            '~' if run < 2 => None,
            '_' if between_words => None,
            '*' if run == 1
                && (between_spaces || before.is_ascii_digit() && after.is_ascii_digit()) =>
            {
                None
            }
            '*' if run == 1 && between_words => None,
            _ => Some(i + run),
        }
    }
}

fn numbered(number: &str) -> Option<char> {
    let value = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_text_stays() {
        for (text, expected) in [
            (
                "<speak>Hello <break time=\"1s\"/> there</speak>",
                "Hello , there",
            ),
            ("a < b and b > c", "a < b and b > c"),
            ("1 <2 and <unclosed", "1 <2 and <unclosed"),
            (
                "**bold** and *it* and __b__ and ~~gone~~",
                "bold and it and b and gone",
            ),
            ("snake_case 2 * 3 5*4", "snake_case 2 * 3 5*4"),
            ("use `cargo test` now", "use cargo test now"),
            ("Fish &amp; chips &#39;n&#x27; &lt;3", "Fish & chips 'n' <3"),
            ("AT&T; R&D", "AT&T; R&D"),
            ("see [the docs](https://a.b/c) now", "see the docs now"),
            ("![logo](x.png) hi", " hi"),
            ("# Title", "\u{2029} Title"),
            ("- [x] one\n- two", "\u{2029}  one\n\u{2029} two"),
            ("as shown[1] here [^2]", "as shown here "),
            ("<script>var a = 1;</script>end", " end"),
            ("write to <me@example.org>", "write to  me@example.org>"),
        ] {
            let out: String = strip(text).iter().map(|glyph| glyph.c).collect();
            assert_eq!(out, expected, "{text}");
        }
    }
}
