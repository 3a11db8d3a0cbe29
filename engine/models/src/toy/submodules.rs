//! The two nodes of a toy: one reads, one sounds.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use runtime::{Cause, Member, Payload, RequestInfo, State, Submodule, WordMark};
use tensor::Tensor;

use super::{
    SAMPLE_RATE,
    config::{Admitted, Mishap, Voice},
};

/// Samples of one letter at speed 1: 60 ms.
const LETTER_SAMPLES: f32 = 1_440.0;
/// Samples over which a tone fades in and out, so that none begins or ends with a click.
const FADE: usize = 48;
/// Peak of a tone.
const LOUDNESS: f32 = 0.3;

/// Turns letters into notes and words.
pub(super) struct Reader {
    pub(super) cost: Duration,
    pub(super) max_batch: usize,
}

/// How far a request's text was read.
#[derive(Default)]
struct Reading {
    chars: u64,
    samples: u64,
    word: String,
    word_chars: u64,
    word_samples: u64,
}

impl Submodule for Reader {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn open(&mut self, _request: &RequestInfo) -> Result<State, Cause> {
        Ok(Box::new(Reading::default()))
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        spend(self.cost, batch);
        for member in batch {
            if let Err(cause) = read(member) {
                member.fail(cause);
            }
        }
    }
}

fn read(member: &mut Member<'_>) -> Result<(), Cause> {
    let admitted = member.request().admitted::<Admitted>()?;
    let (length, echo, seed) = (
        letter_samples(admitted.speed),
        admitted.echo,
        member.request().seed,
    );
    let text: Vec<char> = member
        .input("text")
        .iter()
        .filter_map(Payload::as_char)
        .collect();
    let (ends, is_final) = member
        .chunk("text")
        .map_or((true, true), |chunk| (chunk.closes_segment, chunk.is_final));
    let reading = member.state::<Reading>()?;
    let (mut notes, mut words) = (Vec::with_capacity(text.len()), Vec::new());
    for &letter in &text {
        reading.letter(letter, length, &mut words);
        notes.push(note(letter, length, seed));
    }
    if is_final {
        reading.end_word(&mut words);
    }
    let last = notes.len();
    for (index, note) in (1..).zip(notes) {
        let note = Payload::Tensor(note.map_err(|error| Cause::failed(&error))?);
        member.put(
            "notes",
            if ends && index == last {
                note.last()
            } else {
                note
            },
        );
    }
    if !words.is_empty() {
        member.put("words", Payload::Words(words.into()));
    }
    if echo && !text.is_empty() {
        member.put(
            "echo",
            Payload::Text(text.iter().collect::<String>().into()),
        );
    }
    Ok(())
}

impl Reading {
    fn letter(&mut self, letter: char, length: usize, words: &mut Vec<WordMark>) {
        if letter.is_whitespace() {
            self.end_word(words);
        } else {
            if self.word.is_empty() {
                (self.word_chars, self.word_samples) = (self.chars, self.samples);
            }
            self.word.push(letter);
        }
        self.chars += 1;
        self.samples += length as u64;
    }

    fn end_word(&mut self, words: &mut Vec<WordMark>) {
        if !self.word.is_empty() {
            words.push(WordMark {
                text: Arc::from(std::mem::take(&mut self.word)),
                source: self.word_chars..self.chars,
                samples: self.word_samples..self.samples,
            });
        }
    }
}

/// A note for any character: `[frequency in Hz, samples]`, silent for a space. The seed detunes
/// it by up to two percent.
fn note(letter: char, length: usize, seed: u64) -> tensor::Result<Tensor> {
    let detune = u16::try_from(mix(seed ^ u64::from(letter)) % 1_000).unwrap_or(0);
    let pitch = pitch(letter) * (1.0 + f32::from(detune) / 50_000.0);
    Tensor::f32(
        [2],
        vec![
            if letter.is_whitespace() { 0.0 } else { pitch },
            float(length),
        ],
    )
}

/// The frequency that a character has by itself, in Hz.
pub(super) fn pitch(letter: char) -> f32 {
    let step = u16::try_from(u32::from(letter) % 48).unwrap_or(0);
    110.0 * (f32::from(step) / 12.0).exp2()
}

/// A well-mixed number from any number (splitmix64).
pub(super) fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Turns notes into samples.
pub(super) struct Tone {
    pub(super) cost: Duration,
    pub(super) max_batch: usize,
}

impl Submodule for Tone {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        spend(self.cost, batch);
        for member in batch {
            if let Err(cause) = sound(member) {
                member.fail(cause);
            }
        }
    }
}

fn sound(member: &mut Member<'_>) -> Result<(), Cause> {
    let Admitted { voice, mishap, .. } = *member.request().admitted::<Admitted>()?;
    let first = member.chunk("notes").map_or(0, |chunk| chunk.start);
    let mut samples = Vec::new();
    for (index, note) in (first..).zip(member.input("notes")) {
        let note = note
            .as_tensor()
            .ok_or_else(|| Cause::Failed("a note is no tensor".into()))?;
        let &[pitch, length] = note.as_f32().map_err(|error| Cause::failed(&error))? else {
            return Err(Cause::Failed(format!(
                "a note has shape {}, expected [2]",
                note.shape()
            )));
        };
        tone(voice, pitch, count(length), &mut samples);
        if mishap.is_some_and(|(_, at)| at == index)
            && let Some((kind, _)) = mishap
        {
            go_wrong(kind, index, &mut samples)?;
        }
    }
    if !samples.is_empty() {
        let length = samples.len();
        let samples = Tensor::f32([length], samples).map_err(|error| Cause::failed(&error))?;
        member.put("audio", samples);
    }
    Ok(())
}

fn go_wrong(mishap: Mishap, index: u64, samples: &mut [f32]) -> Result<(), Cause> {
    match mishap {
        Mishap::Fail => Err(Cause::Failed(format!("asked to fail at letter {index}"))),
        #[expect(
            clippy::panic,
            reason = "a toy that panics on request shows that the runtime holds"
        )]
        Mishap::Panic => panic!("asked to panic at letter {index}"),
        Mishap::NotANumber => {
            samples.iter_mut().for_each(|sample| *sample = f32::NAN);
            Ok(())
        }
    }
}

/// Appends one tone. Each begins at phase 0, so that it depends on nothing but its note.
fn tone(voice: Voice, pitch: f32, length: usize, samples: &mut Vec<f32>) {
    let step = pitch / float(SAMPLE_RATE as usize);
    samples.extend((0..length).map(|index| {
        let phase = (float(index) * step).fract();
        let wave = match voice {
            Voice::Sine => (phase * std::f32::consts::TAU).sin(),
            Voice::Square if pitch == 0.0 => 0.0,
            Voice::Square => (0.5 - phase).signum() * 0.5,
        };
        let edge = index.min(length - 1 - index).min(FADE);
        wave * LOUDNESS * float(edge) / float(FADE)
    }));
}

fn letter_samples(speed: f32) -> usize {
    count(LETTER_SAMPLES / speed)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of samples within one note, far below 2^24"
)]
fn float(count: usize) -> f32 {
    count as f32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and notes are short"
)]
fn count(samples: f32) -> usize {
    samples as usize
}

/// Keeps the thread busy: for the node's own cost and the largest one that a member asks for.
fn spend(cost: Duration, batch: &[Member<'_>]) {
    let asked = batch
        .iter()
        .filter_map(|member| member.request().admitted::<Admitted>().ok());
    let cost = cost
        + asked
            .map(|admitted| admitted.cost)
            .max()
            .unwrap_or_default();
    busy(cost);
}

/// Keeps the thread busy for so long.
pub(super) fn busy(cost: Duration) {
    if cost.is_zero() {
        return;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "the cost that is asked for is real time on this thread"
    )]
    let start = Instant::now();
    while start.elapsed() < cost {
        std::hint::spin_loop();
    }
}
