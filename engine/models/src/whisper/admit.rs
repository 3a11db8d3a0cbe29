//! What a request asks for, checked before any work.

use std::ops::Range;
use std::sync::Arc;

use runtime::{Error, Options, Result, Sound, Value};

use super::vocabulary::Vocabulary;

/// Samples of the longest window.
pub(super) const LONGEST: usize = 30 * super::RATE as usize;
/// A window is not cut before this.
const SHORTEST: usize = 24 * super::RATE as usize;
/// Quiet is looked for in pieces of 100 ms.
const PIECE: usize = super::RATE as usize / 10;

/// What was asked for.
pub(super) struct Asked {
    pub(super) sound: Arc<[f32]>,
    pub(super) windows: Vec<Range<usize>>,
    /// What each window's answer begins with.
    pub(super) prompt: Vec<u32>,
    /// Whether segments with their times are wanted.
    pub(super) stamps: bool,
    /// The language is to be found out.
    pub(super) detect: bool,
}

impl Asked {
    /// `longest` is the most samples that the model hears at once.
    pub(super) fn new(options: &Options, vocabulary: &Vocabulary, longest: usize) -> Result<Self> {
        options.only(&["timestamps", "language", "translate", "prompt"])?;
        options.voice_among(&[], 0)?;
        let sound = options
            .audio
            .as_ref()
            .filter(|sound| !sound.samples.is_empty());
        let Some(Sound { samples, .. }) = sound else {
            return Err(invalid(
                "audio",
                "nothing".into(),
                "a recording of 16000 Hz",
            ));
        };
        let stamps = options.flag("timestamps")?;
        let translate = options.flag("translate")?;
        if translate && vocabulary.translate.is_none() {
            let got = "true".to_owned();
            return Err(invalid(
                "translate",
                got,
                "false: the model only writes English down",
            ));
        }
        let (language, detect) = language(options, vocabulary)?;
        let mut prompt = vocabulary.prompt(language, translate, stamps);
        if let (Some(before), Some(said)) = (vocabulary.before, earlier(options, vocabulary)?) {
            prompt.splice(0..0, std::iter::once(before).chain(said));
        }
        Ok(Self {
            windows: windows(samples, longest.min(LONGEST)),
            sound: Arc::clone(samples),
            prompt,
            stamps,
            detect,
        })
    }
}

fn invalid(name: &str, got: String, accepted: &str) -> Error {
    Error::InvalidOption {
        name: name.to_owned(),
        got,
        accepted: accepted.to_owned(),
    }
}

/// The language's mark, and whether it has yet to be found out.
fn language(options: &Options, vocabulary: &Vocabulary) -> Result<(Option<u32>, bool)> {
    let known = || {
        let codes: Vec<&str> = vocabulary.languages.keys().map(String::as_str).collect();
        if codes.is_empty() {
            "en".to_owned()
        } else {
            codes.join(", ")
        }
    };
    match options.extra.get("language") {
        None => Ok((None, !vocabulary.languages.is_empty())),
        Some(Value::Text(code)) if vocabulary.languages.is_empty() && code == "en" => {
            Ok((None, false))
        }
        Some(Value::Text(code)) => match vocabulary.languages.get(code) {
            Some(&mark) => Ok((Some(mark), false)),
            None => Err(invalid("language", format!("`{code}`"), &known())),
        },
        Some(other) => Err(invalid("language", other.to_string(), &known())),
    }
}

/// The tokens of what was said before; the last of them, where there are many.
fn earlier(options: &Options, vocabulary: &Vocabulary) -> Result<Option<Vec<u32>>> {
    /// Half of the decoder's positions, as the model was taught.
    const MOST: usize = 224;
    match options.extra.get("prompt") {
        None => Ok(None),
        Some(Value::Text(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::Text(text)) => {
            let text = format!(" {}", text.trim());
            let tokens = vocabulary.tokenizer.encode(&text);
            let mut tokens = tokens.map_err(|problem| invalid("prompt", problem, "text"))?;
            tokens.retain(|&token| token < vocabulary.end);
            let surplus = tokens.len().saturating_sub(MOST - 1);
            Ok(Some(tokens.split_off(surplus)))
        }
        Some(other) => Err(invalid("prompt", other.to_string(), "a text")),
    }
}

/// Cuts a recording into windows of at most `longest` samples, each in the quietest 100 ms near
/// its end. Every sample is in exactly one.
pub(super) fn windows(samples: &[f32], longest: usize) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut start = 0;
    while samples.len() - start > longest {
        let from = start + (longest * 4 / 5).clamp(1, SHORTEST);
        let candidates = samples[from..start + longest].chunks_exact(PIECE.min(longest / 5).max(1));
        let energy = |piece: &[f32]| piece.iter().map(|s| s * s).sum::<f32>();
        let quietest = candidates
            .enumerate()
            .min_by(|(_, a), (_, b)| energy(a).total_cmp(&energy(b)));
        let end = quietest.map_or(start + longest, |(index, piece)| {
            from + index * piece.len() + piece.len() / 2
        });
        windows.push(start..end);
        start = end;
    }
    windows.push(start..samples.len());
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_in_one_window_and_cuts_are_quiet() {
        let mut samples = vec![0.5; 70 * 16_000];
        samples[27 * 16_000..27 * 16_000 + 3_200].fill(0.0);
        let windows = windows(&samples, LONGEST);
        assert_eq!(windows[0].start, 0);
        assert!((27 * 16_000..27 * 16_000 + 3_200).contains(&windows[0].end));
        for pair in windows.windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
        }
        assert_eq!(windows.last().map(|last| last.end), Some(samples.len()));
        assert!(
            windows
                .iter()
                .all(|window| window.len() <= LONGEST && !window.is_empty())
        );
        let short = super::windows(&[0.0; 5], LONGEST);
        assert_eq!((short.len(), short.first()), (1, Some(&(0..5))));
    }
}
