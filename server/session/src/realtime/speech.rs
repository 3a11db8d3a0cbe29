//! What a model says aloud: its text, its audio's length, and which words were heard.

use codecs::SampleRate;

use super::event::Word;
use super::format::RATE;

/// A word counts as heard when all but this much of it was played: one packet.
const TOLERANCE: u64 = 480;
/// How fast speech is thought to be where no word times tell, in samples of 24 kHz a character.
const SAMPLES_PER_CHAR: u64 = 24_000 / 15;

/// See the [module](self).
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Speech {
    text: String,
    /// Samples of audio at 24 kHz that were given out.
    pub(super) samples: u64,
    /// Where words end: characters of the text, samples of the audio.
    marks: Vec<(u64, u64)>,
    /// How much of the audio was heard, where the client or the way out has said so.
    cut: Option<u64>,
    /// How much was probably heard, where nobody has said so.
    guess: Option<u64>,
    /// The audio is whole, so that its length tells how fast it is.
    whole: bool,
}

impl Speech {
    /// Text that a client says was spoken.
    pub(super) fn told(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn push_text(&mut self, more: &str) {
        self.text.push_str(more);
    }

    pub(super) fn push_words(&mut self, words: &[Word], rate: SampleRate) {
        for word in words {
            let end = codecs::Samples(word.samples.end).at(rate);
            let end = end.rescale_ceil(RATE).samples.get();
            self.marks.push((word.source.end, end));
        }
    }

    /// All audio was given.
    pub(super) fn finish(&mut self) {
        self.whole = true;
    }

    /// Only this much was heard.
    pub(super) fn cut_at(&mut self, samples: u64) {
        self.cut = Some(samples);
    }

    /// Probably only this much was heard.
    pub(super) fn guess_at(&mut self, samples: u64) {
        self.guess = Some(samples);
    }

    /// The text as far as the client has been told that it counts.
    pub(super) fn shown(&self) -> &str {
        self.cut.map_or(&self.text, |cut| self.until(cut))
    }

    /// The text as far as it was heard.
    pub(super) fn heard(&self) -> &str {
        let heard = self.cut.or(self.guess);
        heard.map_or(&self.text, |heard| self.until(heard))
    }

    /// The text whose audio ends by `samples`, up to a whole word.
    fn until(&self, samples: u64) -> &str {
        if self.whole && samples >= self.samples {
            return &self.text;
        }
        let marks = self.marks.iter();
        let last = marks
            .filter(|(_, end)| *end <= samples + TOLERANCE)
            .map(|(chars, _)| *chars)
            .max();
        let chars = match last {
            Some(chars) => chars,
            None if self.marks.is_empty() => return self.by_length(samples),
            None => 0,
        };
        self.text[..byte_of(&self.text, chars)].trim_end()
    }

    /// Without word times: as much of the text as of the audio, up to a whole word.
    fn by_length(&self, samples: u64) -> &str {
        let all = u64::try_from(self.text.chars().count()).unwrap_or(u64::MAX);
        let length = if self.whole {
            self.samples.max(1)
        } else {
            all * SAMPLES_PER_CHAR
        };
        let chars = all.saturating_mul(samples.min(length)) / length.max(1);
        let end = byte_of(&self.text, chars);
        if self.text[end..].starts_with(char::is_alphanumeric) {
            let word = self.text[..end].rfind(char::is_whitespace);
            return self.text[..word.unwrap_or(0)].trim_end();
        }
        self.text[..end].trim_end()
    }
}

/// Where the character of this number begins.
fn byte_of(text: &str, chars: u64) -> usize {
    let n = usize::try_from(chars).unwrap_or(usize::MAX);
    text.char_indices()
        .nth(n)
        .map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speech() -> Speech {
        let mut speech = Speech::told("Alpha bravo, charlie.".to_owned());
        let word = |source, samples| Word { source, samples };
        let words = [
            word(0..5, 0..8_000),
            word(6..12, 8_000..16_000),
            word(13..21, 16_000..24_000),
        ];
        speech.push_words(&words, SampleRate::HZ_24000);
        speech.samples = 26_000;
        speech.finish();
        speech
    }

    #[test]
    fn only_words_that_were_played_stay() {
        for (samples, text) in [
            (0, ""),
            (7_000, ""),
            (7_600, "Alpha"),
            (15_000, "Alpha"),
            (16_000, "Alpha bravo,"),
            (24_000, "Alpha bravo, charlie."),
            (26_000, "Alpha bravo, charlie."),
        ] {
            let mut cut = speech();
            cut.cut_at(samples);
            assert_eq!(cut.shown(), text, "{samples}");
            assert_eq!(cut.heard(), text, "{samples}");
        }
    }

    #[test]
    fn without_word_times_the_length_tells() {
        let mut plain = Speech::told("Grüße an alle hier".to_owned());
        plain.samples = 18_000;
        plain.finish();
        for (samples, text) in [
            (0, ""),
            (5_500, "Grüße"),
            (9_000, "Grüße an"),
            (18_000, "Grüße an alle hier"),
        ] {
            plain.cut_at(samples);
            assert_eq!(plain.heard(), text, "{samples}");
        }
    }

    #[test]
    fn a_guess_is_not_shown() {
        let mut guessed = speech();
        guessed.guess_at(9_000);
        assert_eq!(guessed.heard(), "Alpha");
        assert_eq!(guessed.shown(), "Alpha bravo, charlie.");
    }
}
