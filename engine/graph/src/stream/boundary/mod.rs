//! Where text may be cut so that each piece can be spoken alone.
//!
//! A decision about a place depends on the characters of the piece up to there and on at most
//! [`LOOK_AHEAD`] behind it; where those are not known yet, it waits. So a text gives the same
//! pieces however it arrives, as long as no time limit strikes.
//!
//! - Strong places cut at once: ends of sentences, blank lines, and line breaks before an item of
//!   a list.
//! - Weak ones cut a piece that has its minimal length: commas, semicolons, colons, dashes, and
//!   ends of sentences that go on in lower case.
//! - A single line break is like a space: text may be wrapped anywhere.
//! - A piece keeps the closing quotes and brackets behind its punctuation, and one white space.
//!   It does not wait for more of it, which would hold back a sentence until the next one starts;
//!   that goes with the next piece, or with the end.

mod dots;
mod marks;
#[cfg(test)]
mod tests;

use self::dots::{Dot, dot, next_word_starts_sentence};
use self::marks::{
    is_clause, is_closer, is_ender, is_line_break, is_mark, is_wide_clause, is_wide_ender, joins,
};
use super::policy::LOOK_AHEAD;

/// The characters from the start of a piece on.
pub(super) struct Text<'a> {
    pub(super) at: &'a dyn Fn(usize) -> char,
    pub(super) len: usize,
    /// Nothing follows.
    pub(super) complete: bool,
}

/// The text as a decision about one place may see it: all before, little behind.
struct View<'a> {
    text: &'a Text<'a>,
    /// The last index within reach.
    until: usize,
}

/// What stands at an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Char(char),
    /// The text ends there.
    End,
    /// Out of reach: whatever it is, it decides nothing.
    Far,
    /// Not known yet.
    Unknown,
}

impl View<'_> {
    /// The character at an index that is known to be there.
    fn at(&self, index: usize) -> char {
        (self.text.at)(index)
    }

    fn before(&self, index: usize) -> Option<char> {
        index.checked_sub(1).map(|index| self.at(index))
    }

    fn place(&self, index: usize) -> Place {
        if index > self.until {
            Place::Far
        } else if index < self.text.len {
            Place::Char(self.at(index))
        } else if self.text.complete {
            Place::End
        } else {
            Place::Unknown
        }
    }

    /// The first place from `from` on whose character does not satisfy `skip`.
    fn skip(&self, from: usize, skip: impl Fn(char) -> bool) -> (usize, Place) {
        let mut index = from;
        loop {
            match self.place(index) {
                Place::Char(c) if skip(c) => index += 1,
                place => return (index, place),
            }
        }
    }

    /// The word of letters, figures and inner marks that ends before `end`.
    fn word_before(&self, end: usize) -> usize {
        let within = |&at: &usize| {
            let c = self.at(at);
            c.is_alphanumeric() || matches!(c, '.' | '\'' | '’' | '&' | '/' | ':' | '@' | '%' | '_')
        };
        (0..end).rev().take_while(within).last().unwrap_or(end)
    }
}

/// What a place is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Never,
    /// A piece of its minimal length may end before this index.
    Weak(usize),
    /// A piece ends before this index.
    Strong(usize),
    /// More text decides.
    Unknown,
}

/// How far a piece has been read; reading goes on there when more text comes.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    next: usize,
    /// There is something to speak in it.
    pub(super) spoken: bool,
    /// All of it is one word, which may not be complete.
    pub(super) lone_word: bool,
}

impl Scan {
    /// The length of the piece that starts here, once that is certain.
    pub(super) fn cut(&mut self, text: &Text<'_>, min: usize, max: usize) -> Option<usize> {
        while self.next < text.len.min(max) {
            let index = self.next;
            let c = (text.at)(index);
            self.spoken |= !c.is_whitespace() && !is_mark(c);
            if self.spoken {
                let view = View {
                    text,
                    until: index + LOOK_AHEAD,
                };
                match judge(&view, index) {
                    Verdict::Unknown => return None,
                    Verdict::Strong(end) if end <= max => return with_space(&view, end, max),
                    Verdict::Weak(end) if (min..=max).contains(&end) => {
                        return with_space(&view, end, max);
                    }
                    _ => {}
                }
            }
            self.next += 1;
        }
        if text.len > max {
            return Some(forced_cut(text, max));
        }
        (text.complete && text.len > 0).then_some(text.len)
    }

    /// Where to cut text that waited too long: behind its last space. What follows may be a part
    /// of a word, of a number or of an address, and is only given up when nothing came for a while.
    pub(super) fn late_cut(&mut self, text: &Text<'_>, idle: bool) -> Option<usize> {
        let view = View {
            text,
            until: text.len,
        };
        let closed = |end: usize| {
            let c = view.at(end - 1);
            let ends = is_ender(c) || is_clause(c) || is_closer(c) || c.is_whitespace();
            ends && !(c == '.' && dot(&view, end - 1) == Dot::Inside)
        };
        let spoken = |end: usize| (0..end).any(|at| !view.at(at).is_whitespace());
        let breaks = |&end: &usize| {
            let inside = end >= 2 && view.at(end - 2) == '.' && dot(&view, end - 2) == Dot::Inside;
            view.at(end - 1).is_whitespace() && spoken(end) && !inside
        };
        let whole = Some(text.len).filter(|&end| idle && end > 0 && closed(end));
        let cut = whole.or_else(|| (1..=text.len).rev().find(breaks));
        self.lone_word = cut.is_none();
        cut.or_else(|| idle.then_some(text.len))
    }
}

/// A piece that ends before `end` takes the white space there along, where it has room. Behind a
/// line break it has its white space.
fn with_space(view: &View<'_>, end: usize, max: usize) -> Option<usize> {
    if view.before(end).is_some_and(is_line_break) {
        return Some(end);
    }
    let width = match view.place(end) {
        Place::Char('\r') => match view.place(end + 1) {
            Place::Char('\n') => 2,
            Place::Unknown => return None,
            _ => 1,
        },
        Place::Char(c) if c.is_whitespace() => 1,
        _ => 0,
    };
    Some((end + width).min(max))
}

/// Behind the last space of the first `max` characters; within a word only where there is none.
fn forced_cut(text: &Text<'_>, max: usize) -> usize {
    let at = |index: usize| (text.at)(index);
    let worded = |index: &usize| at(*index).is_whitespace() && !at(*index - 1).is_whitespace();
    if let Some(space) = (1..=max).rev().find(worded) {
        return (space + 1).min(max);
    }
    let apart = |index: &usize| !joins(at(*index));
    (1..=max).rev().find(apart).unwrap_or(max)
}

fn judge(view: &View<'_>, index: usize) -> Verdict {
    match view.at(index) {
        c if is_line_break(c) => line_break(view, index),
        c if is_wide_ender(c) => {
            behind_run(view, index, is_wide_ender, |end, _| Verdict::Strong(end))
        }
        c if is_wide_clause(c) => {
            behind_run(view, index, is_wide_clause, |end, _| Verdict::Weak(end))
        }
        c if is_ender(c) => behind_run(view, index, is_ender, |end, after| {
            ender(view, index, end, after)
        }),
        c if is_clause(c) => behind_run(view, index, is_clause, |end, after| {
            clause(view, index, end, after)
        }),
        '—' => behind_run(view, index, |c| c == '—', long_dash),
        '–' | '-' => dash(view, index),
        _ => Verdict::Never,
    }
}

/// A blank line ends a piece, and so does a line before an item of a list.
fn line_break(view: &View<'_>, index: usize) -> Verdict {
    let in_line = |c: char| c.is_whitespace() && !is_line_break(c);
    match view.skip(index + 1, in_line) {
        (_, Place::Unknown) => Verdict::Unknown,
        (next, Place::Char(c)) if is_line_break(c) => Verdict::Strong(next + 1),
        (next, Place::Char(_)) => match starts_item(view, next) {
            None => Verdict::Unknown,
            Some(true) => Verdict::Strong(index + 1),
            Some(false) => Verdict::Never,
        },
        (_, Place::End | Place::Far) => Verdict::Never,
    }
}

/// Whether an item of a list or a heading starts a line here; `None` while that is open.
fn starts_item(view: &View<'_>, index: usize) -> Option<bool> {
    let end = match view.place(index) {
        Place::Char('-' | '*' | '+' | '•') => index + 1,
        Place::Char('#') => view.skip(index, |c| c == '#').0,
        Place::Char(c) if c.is_ascii_digit() => match view.skip(index, |c| c.is_ascii_digit()) {
            (_, Place::Unknown) => return None,
            (end, Place::Char('.' | ')')) if end <= index + 2 => end + 1,
            _ => return Some(false),
        },
        _ => return Some(false),
    };
    match view.place(end) {
        Place::Unknown => None,
        place => Some(matches!(place, Place::Char(c) if c.is_whitespace())),
    }
}

/// Judges a run of punctuation at its last mark, when what follows its closing marks is known.
fn behind_run(
    view: &View<'_>,
    index: usize,
    of_run: impl Fn(char) -> bool,
    verdict: impl FnOnce(usize, Place) -> Verdict,
) -> Verdict {
    match view.place(index + 1) {
        Place::Unknown => return Verdict::Unknown,
        Place::Char(c) if of_run(c) => return Verdict::Never,
        _ => {}
    }
    match view.skip(index + 1, is_closer) {
        (_, Place::Unknown) => Verdict::Unknown,
        (_, Place::Far) => Verdict::Never,
        (end, after) => verdict(end, after),
    }
}

/// `index` is the last of a run of sentence marks, `end` lies behind its closing marks.
fn ender(view: &View<'_>, index: usize, end: usize, after: Place) -> Verdict {
    match after {
        Place::Char(c) if !c.is_whitespace() => return Verdict::Never,
        Place::Char(_) => {}
        _ => return Verdict::Strong(end),
    }
    let is_run = view.before(index).is_some_and(is_ender);
    let mark = view.at(index);
    if mark == '.' && !is_run {
        return full_stop(view, index, end);
    }
    // `Stop!` alone ends a sentence. `"Stop!" he said` and `Well... perhaps` go on.
    let goes_on = end > index + 1 || mark == '…' || (mark == '.' && is_run);
    if goes_on {
        unless_lower_case(view, end)
    } else {
        Verdict::Strong(end)
    }
}

fn full_stop(view: &View<'_>, index: usize, end: usize) -> Verdict {
    let next = || view.skip(end, char::is_whitespace).1;
    match dot(view, index) {
        Dot::Inside => Verdict::Never,
        // `(and so on.) then` goes on.
        Dot::Ends if end > index + 1 => unless_lower_case(view, end),
        Dot::Ends => Verdict::Strong(end),
        Dot::Alone => match next() {
            Place::Char('.') => Verdict::Never,
            _ => unless_lower_case(view, end),
        },
        Dot::UnlessNumber => match next() {
            Place::Unknown => Verdict::Unknown,
            Place::Char(c) if c.is_numeric() => Verdict::Never,
            _ => Verdict::Strong(end),
        },
        Dot::Perhaps => match next_word_starts_sentence(view, end) {
            None => Verdict::Unknown,
            Some(true) => Verdict::Strong(end),
            Some(false) => Verdict::Never,
        },
    }
}

fn unless_lower_case(view: &View<'_>, end: usize) -> Verdict {
    match view.skip(end, char::is_whitespace) {
        (_, Place::Unknown) => Verdict::Unknown,
        (_, Place::Char(c)) if c.is_lowercase() => Verdict::Weak(end),
        _ => Verdict::Strong(end),
    }
}

/// `index` is the last of a run of commas, semicolons or colons.
fn clause(view: &View<'_>, index: usize, end: usize, after: Place) -> Verdict {
    if matches!(after, Place::Char(c) if !c.is_whitespace()) {
        return Verdict::Never;
    }
    match view.before(index) {
        Some('.') if dot(view, index - 1) == Dot::Inside => Verdict::Never,
        Some(c) if c.is_numeric() => unless_number(view, end),
        _ => Verdict::Weak(end),
    }
}

fn unless_number(view: &View<'_>, end: usize) -> Verdict {
    match view.skip(end, char::is_whitespace) {
        (_, Place::Unknown) => Verdict::Unknown,
        (_, Place::Char(c)) if c.is_numeric() => Verdict::Never,
        _ => Verdict::Weak(end),
    }
}

/// Behind a run of long dashes.
fn long_dash(end: usize, after: Place) -> Verdict {
    match after {
        Place::Char(c) if is_ender(c) || is_clause(c) => Verdict::Never,
        _ => Verdict::Weak(end),
    }
}

/// A dash between spaces, or two hyphens between words or spaces. Not the sign of an option, nor
/// a part of an address.
fn dash(view: &View<'_>, index: usize) -> Verdict {
    let after = match view.place(index + 1) {
        Place::Unknown => return Verdict::Unknown,
        Place::Char(c) if c != '-' => c,
        _ => return Verdict::Never,
    };
    let first = if view.before(index) == Some('-') {
        index - 1
    } else {
        index
    };
    let Some(before) = view.before(first) else {
        return Verdict::Never;
    };
    if before.is_whitespace() && after.is_whitespace() {
        let worded = (0..first).rev().map(|at| view.at(at));
        return match worded.into_iter().find(|c| !c.is_whitespace()) {
            Some(c) if c.is_numeric() => unless_number(view, index + 1),
            Some(_) => Verdict::Weak(index + 1),
            None => Verdict::Never,
        };
    }
    let joins_words = first < index && before.is_alphanumeric() && after.is_alphabetic();
    let word = view.word_before(first);
    let of_address = (word..first).any(|at| matches!(view.at(at), '/' | '@' | ':' | '_' | '.'));
    if joins_words && !of_address {
        Verdict::Weak(index + 1)
    } else {
        Verdict::Never
    }
}
