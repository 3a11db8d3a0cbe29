//! The three nodes of a voice.
//!
//! A step is one request's, and the worker takes turns: the convolutions of one chunk already fill
//! the vector units, so two chunks together would cost about what two chunks cost. That is
//! reasoned, not measured.

use std::sync::Arc;

use rten_tensor::{NdTensor, prelude::*};
use runtime::{Cause, Member, Payload, RequestInfo, State, Submodule, WordMark};
use tensor::Tensor;

use super::{
    options::Admitted,
    stage::Frames,
    voice::{MAX_IDS, Vocoding, Voice},
};
use crate::text::{self, Pause, PhonemeMap, Utterance};

/// Text to phonemes.
///
/// For each utterance it puts one item on each of its outputs: the phonemes, `[2, ids]` with the
/// number of each and the index of its word (-1 for none); the words; and the pause behind it in
/// milliseconds, `[1]`.
pub(super) struct Frontend {
    frontend: text::Frontend,
    map: Arc<PhonemeMap>,
}

impl Frontend {
    pub(super) fn new(frontend: text::Frontend, map: Arc<PhonemeMap>) -> Self {
        Self { frontend, map }
    }

    fn read(&self, member: &mut Member<'_>) -> Result<(), Cause> {
        let start = member.chunk("text").map_or(0, |chunk| chunk.start);
        let text: Vec<char> = member
            .input("text")
            .iter()
            .filter_map(Payload::as_char)
            .collect();
        let utterance = self
            .frontend
            .utterance(&text.iter().collect::<String>(), &self.map);
        let pause = utterance
            .words
            .last()
            .map_or(0, |word| milliseconds(word.break_after));
        let (words, word_of_id) = written(&utterance, &text, start);
        let pieces = pieces(&utterance.ids, &word_of_id);
        for (index, piece) in (1..).zip(&pieces) {
            let ids = piece.ids.len();
            let mut phonemes = piece.ids.clone();
            phonemes.extend(&piece.words);
            let phonemes = tensor(Tensor::i64([2, ids], phonemes))?;
            let pause = if index == pieces.len() { pause } else { 0 };
            member.put("phonemes", phonemes);
            member.put("words", Payload::Words(Arc::clone(&words)));
            member.put("pause", tensor(Tensor::i64([1], vec![pause]))?);
        }
        Ok(())
    }
}

impl Submodule for Frontend {
    fn step(&mut self, batch: &mut [Member<'_>]) {
        each(batch, |member| self.read(member));
    }
}

/// How long a listener waits after a mark, at the voice's own pace. The voice itself ends an
/// utterance with about a tenth of a second of silence, so these are what is missing to the
/// pauses of a reader, about a third of a second between sentences.
fn milliseconds(pause: Pause) -> i64 {
    match pause {
        Pause::None => 0,
        Pause::Comma => 40,
        Pause::Semicolon | Pause::Colon => 120,
        Pause::Stop | Pause::Question | Pause::Exclamation => 200,
    }
}

/// The words as they are written, with no samples yet, and for each id the index of its word or
/// -1. Spoken words with one source, such as the three of `3.5`, are one written word.
fn written(utterance: &Utterance, text: &[char], start: u64) -> (Arc<[WordMark]>, Vec<i64>) {
    let mut marks: Vec<WordMark> = Vec::new();
    let mut mark_of_word: Vec<i64> = Vec::new();
    for word in &utterance.words {
        let source = start + as_u64(word.source.start)..start + as_u64(word.source.end);
        if marks.last().is_none_or(|last| last.source != source) {
            let written: String = text
                .get(word.source.clone())
                .unwrap_or_default()
                .iter()
                .collect();
            marks.push(WordMark {
                text: written.trim().into(),
                source,
                samples: 0..0,
            });
        }
        mark_of_word.push(i64::try_from(marks.len()).unwrap_or(0) - 1);
    }
    let words = utterance.word_of_id.iter();
    let words = words.map(|word| word.and_then(|word| mark_of_word.get(word).copied()));
    (marks.into(), words.map(|word| word.unwrap_or(-1)).collect())
}

/// What is drawn at once.
struct Piece {
    ids: Vec<i64>,
    words: Vec<i64>,
}

/// Cuts what is too long for one utterance between words, or within a word of a thousand letters.
/// Each piece has the start and the end of the whole.
fn pieces(ids: &[i64], words: &[i64]) -> Vec<Piece> {
    let ([first, pad, body @ .., last], [_, _, owners @ .., _]) = (ids, words) else {
        return Vec::new();
    };
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < body.len() {
        let limit = (from + MAX_IDS - 3).min(body.len());
        let between = (from + 1..limit)
            .rev()
            .find(|&at| owners[at] == -1 && owners[at - 1] != -1);
        let to = if limit == body.len() {
            limit
        } else {
            between.unwrap_or(limit)
        };
        let mut piece = Piece {
            ids: vec![*first, *pad],
            words: vec![-1, -1],
        };
        piece.ids.extend(&body[from..to]);
        piece.words.extend(&owners[from..to]);
        piece.ids.push(*last);
        piece.words.push(-1);
        pieces.push(piece);
        from = to;
    }
    pieces
}

/// Phonemes to latent frames and word times.
pub(super) struct Latents {
    voice: Arc<Voice>,
}

/// How far a request's audio was drawn.
#[derive(Default)]
struct Progress {
    utterances: u64,
    samples: u64,
    /// The pause that the next utterance begins with, in samples. It stands before an utterance
    /// and not behind one, so that it does not matter when the end of a text becomes known.
    pause: u64,
}

impl Latents {
    pub(super) fn new(voice: Arc<Voice>) -> Self {
        Self { voice }
    }

    fn draw(&self, member: &mut Member<'_>) -> Result<(), Cause> {
        let Admitted { manner } = *member.request().admitted::<Admitted>()?;
        let seed = member.request().seed;
        let pieces = member.input("phonemes").to_vec();
        let (words, pauses) = (
            member.input("words").to_vec(),
            member.input("pause").to_vec(),
        );
        let mut spoken = Vec::new();
        for ((phonemes, words), pause) in pieces.iter().zip(&words).zip(&pauses) {
            let phonemes = integers(phonemes)?;
            let (ids, owners) = phonemes.split_at(phonemes.len() / 2);
            let words = words.as_words().ok_or_else(|| wrong("words"))?;
            let progress = member.state::<Progress>()?;
            let drawn = self.voice.draw(ids, manner, seed, progress.utterances);
            let drawn = drawn.map_err(|error| Cause::failed(&error))?;
            let (lead, begin) = (progress.pause, progress.samples + progress.pause);
            let hop = as_u64(self.voice.hop());
            spoken.extend(timed(words, owners, &drawn.durations, hop, begin));
            let pause = integers(pause)?.first().copied().unwrap_or(0);
            progress.utterances += 1;
            progress.samples = begin + as_u64(drawn.frames.size(2)) * hop;
            progress.pause = samples(pause, self.voice.config.sample_rate, manner.speed);
            put_frames(member, &drawn.frames, lead)?;
        }
        if !spoken.is_empty() {
            member.put("words", Payload::Words(spoken.into()));
        }
        Ok(())
    }
}

impl Submodule for Latents {
    fn open(&mut self, _request: &RequestInfo) -> Result<State, Cause> {
        Ok(Box::new(Progress::default()))
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        each(batch, |member| self.draw(member));
    }
}

/// The words of a piece with their samples, counted from the request's beginning.
fn timed(
    words: &[WordMark],
    owners: &[i64],
    durations: &[usize],
    hop: u64,
    begin: u64,
) -> Vec<WordMark> {
    let mut spans: Vec<Option<(u64, u64)>> = vec![None; words.len()];
    let mut at = begin;
    for (&owner, &frames) in owners.iter().zip(durations) {
        let end = at + as_u64(frames) * hop;
        let span = usize::try_from(owner)
            .ok()
            .and_then(|owner| spans.get_mut(owner));
        if let Some(span) = span {
            *span = Some((span.map_or(at, |(start, _)| start), end));
        }
        at = end;
    }
    let timed = words.iter().zip(spans).filter_map(|(word, span)| {
        let (start, end) = span?;
        Some(WordMark {
            samples: start..end,
            ..word.clone()
        })
    });
    timed.collect()
}

/// Puts the frames of an utterance, behind a pause of `lead` samples.
fn put_frames(member: &mut Member<'_>, frames: &Frames, lead: u64) -> Result<(), Cause> {
    let (channels, count) = (frames.size(1), frames.size(2));
    if lead > 0 {
        // Exact up to 2^24 samples; a pause is below one second at the slowest pace.
        let lead = u16::try_from(lead).unwrap_or(u16::MAX);
        member.put("frames", tensor(Tensor::f32([1], vec![f32::from(lead)]))?);
    }
    let transposed = frames.slice(0).transposed().to_vec();
    let rows = Tensor::f32([count, channels], transposed).map_err(|e| Cause::failed(&e))?;
    for index in 0..count {
        let row = rows
            .rows(index..index + 1)
            .and_then(|row| row.reshape([channels]));
        let row = tensor(row)?;
        member.put("frames", if index + 1 == count { row.last() } else { row });
    }
    Ok(())
}

fn samples(milliseconds: i64, rate: u32, speed: f32) -> u64 {
    let seconds = f64::from(u16::try_from(milliseconds).unwrap_or(0)) / 1_000.0;
    let samples = seconds * f64::from(rate) / f64::from(speed);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below 2^20"
    )]
    let samples = samples.round() as u64;
    samples
}

/// Latent frames to samples.
pub(super) struct Vocoder {
    voice: Arc<Voice>,
}

impl Vocoder {
    pub(super) fn new(voice: Arc<Voice>) -> Self {
        Self { voice }
    }

    fn sound(&self, member: &mut Member<'_>) -> Result<(), Cause> {
        let speaker = member.request().admitted::<Admitted>()?.manner.speaker;
        // A payload is cheap to clone, and the state is borrowed from the member, too.
        let items = member.input("frames").to_vec();
        let state = member.state::<Vocoding>()?;
        let mut audio = Vec::new();
        let mut rows: Vec<&[f32]> = Vec::new();
        for item in &items {
            let row = item.as_tensor().ok_or_else(|| wrong("frame"))?.as_f32();
            let row = row.map_err(|error| Cause::failed(&error))?;
            match *row {
                [pause] if self.voice.channels() > 1 => {
                    audio.resize(audio.len() + count(pause), 0.0);
                }
                _ => rows.push(row),
            }
            if matches!(item, Payload::Last(_)) {
                self.vocode(state, &mut rows, true, speaker, &mut audio)?;
            }
        }
        if !rows.is_empty() {
            self.vocode(state, &mut rows, false, speaker, &mut audio)?;
        }
        if !audio.is_empty() {
            let audio = tensor(Tensor::f32([audio.len()], audio))?;
            member.put("audio", audio);
        }
        Ok(())
    }

    fn vocode(
        &self,
        state: &mut Vocoding,
        rows: &mut Vec<&[f32]>,
        ends: bool,
        speaker: i32,
        audio: &mut Vec<f32>,
    ) -> Result<(), Cause> {
        let channels = self.voice.channels();
        if let Some(row) = rows.iter().find(|row| row.len() != channels) {
            return Err(Cause::Failed(format!(
                "a frame of {} numbers, not {channels}",
                row.len()
            )));
        }
        let mut frames = Vec::with_capacity(channels * rows.len());
        for channel in 0..channels {
            frames.extend(rows.iter().map(|row| row[channel]));
        }
        let frames = NdTensor::from_data([1, channels, rows.len()], frames);
        rows.clear();
        let samples = self.voice.vocode(state, Some(frames), ends, speaker);
        audio.append(&mut samples.map_err(|error| Cause::failed(&error))?);
        Ok(())
    }
}

impl Submodule for Vocoder {
    fn open(&mut self, _request: &RequestInfo) -> Result<State, Cause> {
        Ok(Box::new(Vocoding::default()))
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        each(batch, |member| self.sound(member));
    }
}

/// Works on each member alone; one that fails leaves the others as they are.
fn each(batch: &mut [Member<'_>], mut work: impl FnMut(&mut Member<'_>) -> Result<(), Cause>) {
    for member in batch {
        if let Err(cause) = work(member) {
            member.fail(cause);
        }
    }
}

fn tensor(made: tensor::Result<Tensor>) -> Result<Payload, Cause> {
    made.map(Payload::Tensor)
        .map_err(|error| Cause::failed(&error))
}

fn integers(payload: &Payload) -> Result<&[i64], Cause> {
    let tensor = payload.as_tensor().ok_or_else(|| wrong("tensor"))?;
    tensor.as_i64().map_err(|error| Cause::failed(&error))
}

fn wrong(expected: &str) -> Cause {
    Cause::Failed(format!("an item is no {expected}"))
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "written from a u16"
)]
fn count(samples: f32) -> usize {
    samples as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_words() {
        let words = 700;
        let (mut ids, mut owners) = (vec![1, 0], vec![-1, -1]);
        for word in 0..words {
            ids.extend([20, 0, 21, 0, 3, 0]);
            owners.extend([word, word, word, word, -1, -1]);
        }
        ids.push(2);
        owners.push(-1);
        let pieces = pieces(&ids, &owners);
        assert!(pieces.len() > 3);
        let mut seen = Vec::new();
        for piece in &pieces {
            assert!(piece.ids.len() <= MAX_IDS && piece.ids.len() == piece.words.len());
            assert_eq!((piece.ids[0], piece.ids[piece.ids.len() - 1]), (1, 2));
            let mut own: Vec<i64> = piece
                .words
                .iter()
                .copied()
                .filter(|&word| word >= 0)
                .collect();
            own.dedup();
            seen.extend(own);
        }
        assert_eq!(
            seen,
            (0..words).collect::<Vec<_>>(),
            "each word is in one piece"
        );
    }

    #[test]
    fn short_texts_are_one_piece_and_empty_ones_none() {
        assert_eq!(pieces(&[1, 0, 9, 0, 2], &[-1, -1, 0, 0, -1]).len(), 1);
        assert!(pieces(&[], &[]).is_empty());
    }

    #[test]
    fn words_are_timed_by_their_phonemes() {
        let mark = |text: &str| WordMark {
            text: text.into(),
            source: 0..1,
            samples: 0..0,
        };
        let words = [mark("a"), mark("mute"), mark("b")];
        let timed = timed(
            &words,
            &[-1, 0, 0, -1, 2, -1],
            &[2, 3, 1, 1, 4, 2],
            10,
            1_000,
        );
        let spans: Vec<_> = timed
            .iter()
            .map(|word| (&*word.text, word.samples.clone()))
            .collect();
        assert_eq!(spans, [("a", 1_020..1_060), ("b", 1_070..1_110)]);
    }

    #[test]
    fn pauses_follow_the_pace() {
        assert_eq!(samples(200, 22_050, 1.0), 4_410);
        assert_eq!(samples(200, 22_050, 2.0), 2_205);
    }
}
