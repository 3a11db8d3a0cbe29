//! The two nodes: one hears a window, the other writes its words.

use std::sync::Arc;

use runtime::{Cause, Finish, Member, Payload, RequestInfo, State, Submodule, Tokens, WordMark};
use tensor::Tensor;

use super::admit::Asked;
use super::decoder::{Memory, Part};
use super::mel::{HOP, Mel};
use super::model::Shared;
use super::rules::{self, Marks};
use super::vocabulary::STAMP;
use super::{RATE, WRITE_LOOP};
use crate::dense::detokenize::{Answer, Stops};

/// Seconds of silence behind a window's words, and the least that a window is filled up to.
const BEHIND: usize = 1;
const LEAST: usize = 8;
/// An answer ends after this many tokens, and so many for each second: nobody speaks faster.
const TOKENS: usize = 6;
const TOKENS_PER_SECOND: usize = 6;
/// Tokens of a prompt that is no long one.
const FEW: usize = 8;
/// Nobody speaks where the model is this sure of it.
const SILENT: f32 = 0.6;

/// Hears a window.
pub(super) struct Encoder {
    shared: Arc<Shared>,
    mel: Mel,
}

impl Encoder {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            mel: Mel::new(shared.shape.bins),
            shared,
        }
    }

    fn hear(&self, member: &mut Member<'_>) -> Result<(), Cause> {
        let index = index_of(member)?;
        let request = member.request();
        let asked = request.admitted::<Asked>()?;
        let window = asked.windows.get(index).cloned().unwrap_or_default();
        let samples = asked.sound.get(window).unwrap_or_default();
        let frames = frames(samples.len(), self.shared.shape.positions);
        let silent = || Cause::Failed("the window has no frames".into());
        let mel = self.mel.frames(samples, frames).ok_or_else(silent)?;
        let states = self
            .shared
            .encoder
            .run(&self.shared.pool, &mel)
            .ok_or_else(silent)?;
        let shape = [
            states.len() / self.shared.shape.width,
            self.shared.shape.width,
        ];
        let states = Tensor::f32(shape, states).map_err(|error| Cause::failed(&error))?;
        member.put("states", states);
        Ok(())
    }
}

/// Frames of a window: an even number, and no more than there are positions for.
pub(super) fn frames(samples: usize, positions: usize) -> usize {
    let rate = RATE as usize;
    let filled = (samples + BEHIND * rate).max(LEAST * rate);
    (filled.div_ceil(2 * HOP) * 2).min(positions * 2)
}

/// The window's number, which the walk began with.
fn index_of(member: &Member<'_>) -> Result<usize, Cause> {
    let index = member.input("window").first().and_then(Payload::as_tensor);
    let index = index.and_then(|tensor| tensor.as_i64().ok()?.first().copied());
    let index = index.and_then(|index| usize::try_from(index).ok());
    index.ok_or_else(|| Cause::Failed("a window has no number".into()))
}

impl Submodule for Encoder {
    fn step(&mut self, batch: &mut [Member<'_>]) {
        for member in batch {
            if let Err(cause) = self.hear(member) {
                member.fail(cause);
            }
        }
    }
}

/// Writes what was heard.
pub(super) struct Decoder {
    shared: Arc<Shared>,
}

/// One request's window, as far as it is written.
#[derive(Default)]
struct Page {
    memory: Option<Memory>,
    /// Windows opened before.
    opened: usize,
    /// What the model has to read next.
    next: Vec<u32>,
    /// What it has written of this window.
    written: Vec<u32>,
    most: usize,
    answer: Answer,
    /// Where the segment being written begins, in steps of the time stamps, and its text.
    segment: Option<(u32, String)>,
    /// The language's mark, once it was found out.
    language: Option<u32>,
    /// Characters given out in all.
    chars: u64,
}

impl Decoder {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Takes the states of a window, if this step brings them, and says what to read.
    fn prepare(&self, member: &mut Member<'_>) -> Result<(), Cause> {
        let states = member.input("states").first().cloned();
        let Some(states) = states else {
            return Ok(());
        };
        let states = states.as_tensor().cloned();
        let states = states.ok_or_else(|| Cause::Failed("states are no tensor".into()))?;
        let states = states.as_f32().map_err(|error| Cause::failed(&error))?;
        let memory = self.shared.decoder.open(&self.shared.pool, states);
        let memory = memory.ok_or_else(|| Cause::Failed("there are no states".into()))?;
        let admitted = Arc::clone(&member.request().admitted);
        let asked = asked(&*admitted)?;
        let page = member.state::<Page>()?;
        let length = asked
            .windows
            .get(page.opened)
            .map_or(0, ExactSizeIterator::len);
        page.opened += 1;
        let room = self
            .shared
            .decoder
            .context
            .saturating_sub(asked.prompt.len() + 2);
        page.most = (TOKENS + (length * TOKENS_PER_SECOND).div_ceil(RATE as usize)).min(room);
        if asked.stamps {
            // Each segment has two more.
            page.most = (page.most * 2).min(room);
        }
        page.memory = Some(memory);
        page.written.clear();
        page.answer = Answer::new(Stops::default());
        page.segment = None;
        page.next.clone_from(&asked.prompt);
        if asked.detect && page.language.is_none() {
            page.next = vec![self.shared.vocabulary.begin];
        } else if let Some(language) = page.language {
            self.put_language(page, language);
        }
        Ok(())
    }

    /// Puts the language's mark behind that of the beginning.
    fn put_language(&self, page: &mut Page, language: u32) {
        let begin = self.shared.vocabulary.begin;
        if let Some(at) = page.next.iter().position(|&token| token == begin) {
            page.next.insert(at + 1, language);
        }
    }

    /// The language that is likeliest behind the mark of the beginning.
    fn detected(&self, logits: &[f32]) -> Option<u32> {
        let marks = self.shared.vocabulary.languages.values().copied();
        let logit = |mark: &u32| {
            logits
                .get(*mark as usize)
                .copied()
                .unwrap_or(f32::NEG_INFINITY)
        };
        marks.max_by(|a, b| logit(a).total_cmp(&logit(b)))
    }

    /// One step of a member, with the logits behind what it read: behind each of the tokens, or
    /// behind the last.
    fn write(&self, member: &mut Member<'_>, logits: &mut [f32]) -> Result<(), Cause> {
        let admitted = Arc::clone(&member.request().admitted);
        let asked = asked(&*admitted)?;
        let vocabulary = &self.shared.vocabulary;
        let page = member.state::<Page>()?;
        let read = page.next.len();
        let begin = page
            .next
            .iter()
            .position(|&token| token == vocabulary.begin);
        let begin = begin.filter(|_| logits.len() == read * vocabulary.size);
        let silence = begin.and_then(|row| logits.chunks_exact(vocabulary.size).nth(row));
        let silence = silence.map_or(0.0, |logits| silence_in(logits, vocabulary.nothing));
        let last = logits.len().saturating_sub(vocabulary.size);
        let logits = &mut logits[last..];
        if asked.detect && page.language.is_none() {
            let language = self.detected(logits);
            page.language = language;
            page.memory = page.memory.take().map(Memory::emptied);
            page.next.clone_from(&asked.prompt);
            if let Some(language) = language {
                self.put_language(page, language);
            }
            member.again();
            return Ok(());
        }
        let is_first = page.written.is_empty();
        let is_silent = is_first && silence > SILENT;
        let marks = Marks {
            end: vocabulary.end,
            no_stamps: vocabulary.no_stamps,
            suppressed: &vocabulary.suppressed,
            suppressed_first: &vocabulary.suppressed_first,
            stamps: asked.stamps,
        };
        let token = rules::choose(&marks, &page.written, logits);
        let last = page.written.last();
        let is_whole = last.is_some_and(|&token| {
            let end = vocabulary.tokenizer.bytes_of(token).last();
            end.is_some_and(|byte| b".?!".contains(byte))
        });
        let window = asked.windows.get(page.opened - 1);
        let samples = window.map_or(usize::MAX, |window| window.end - window.start);
        let again = rules::begins_again(&page.written, token, is_whole, seconds(samples));
        let mut over = token == vocabulary.end || is_silent || again;
        let mut cut = false;
        let (mut text, mut segments) = (String::new(), Vec::new());
        if !over {
            page.written.push(token);
            let offset = asked
                .windows
                .get(page.opened - 1)
                .map_or(0, |w| w.start as u64);
            if token >= vocabulary.first_stamp() {
                page.stamp(token - vocabulary.first_stamp(), offset, &mut segments);
            } else {
                text = page.answer.push(vocabulary.tokenizer.bytes_of(token));
            }
            cut = page.written.len() >= page.most;
            over = cut || rules::repeats(&page.written);
        }
        if over {
            text.push_str(&page.answer.finish());
        }
        page.note(&text);
        if over && let Some(end) = asked.windows.get(page.opened - 1) {
            page.close(end.end as u64, end.start as u64, &mut segments);
        }
        page.next = vec![token];
        let is_last = page.opened == asked.windows.len();
        member.spent(Tokens {
            prompt: if is_first { read as u64 } else { 0 },
            completion: 1,
            ..Tokens::default()
        });
        if !text.is_empty() {
            member.put("text", Payload::from(text.as_str()));
        }
        if !segments.is_empty() {
            member.put("segments", Payload::Words(segments.into()));
        }
        if over {
            if cut && is_last {
                member.finish(Finish::Length);
            }
            member.state::<Page>()?.memory = None;
        }
        Ok(())
    }
}

impl Page {
    /// A time stamp: it ends the segment that is being written, or begins one.
    fn stamp(&mut self, stamp: u32, offset: u64, segments: &mut Vec<WordMark>) {
        match self.segment.take() {
            Some((start, text)) if !text.trim().is_empty() => {
                segments.push(self.mark(&text, offset + at(start), offset + at(stamp)));
            }
            _ => self.segment = Some((stamp, String::new())),
        }
    }

    /// Adds text to the segment being written.
    fn note(&mut self, text: &str) {
        self.chars += text.chars().count() as u64;
        if let Some((_, segment)) = &mut self.segment {
            segment.push_str(text);
        }
    }

    /// Ends a segment that has no end of its own at `end`.
    fn close(&mut self, end: u64, offset: u64, segments: &mut Vec<WordMark>) {
        if let Some((start, text)) = self.segment.take()
            && !text.trim().is_empty()
        {
            let start = (offset + at(start)).min(end);
            segments.push(self.mark(&text, start, end));
        }
    }

    fn mark(&self, text: &str, start: u64, end: u64) -> WordMark {
        WordMark {
            text: Arc::from(text),
            source: self.chars - (text.chars().count() as u64).min(self.chars)..self.chars,
            samples: start..end.max(start),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the length of a recording")]
fn seconds(samples: usize) -> f32 {
    samples as f32 / RATE as f32
}

/// Samples at a time stamp.
fn at(stamp: u32) -> u64 {
    u64::from(stamp) * STAMP
}

/// How sure the model is that nobody speaks.
fn silence_in(logits: &[f32], nothing: Option<u32>) -> f32 {
    let Some(logit) = nothing.and_then(|mark| logits.get(mark as usize)) else {
        return 0.0;
    };
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = logits.iter().map(|l| (l - largest).exp()).sum();
    (logit - largest).exp() / total
}

fn asked(admitted: &(dyn std::any::Any + Send + Sync)) -> Result<&Asked, Cause> {
    let asked = admitted.downcast_ref::<Asked>();
    asked.ok_or_else(|| Cause::Failed("what was admitted is of another type".into()))
}

impl Submodule for Decoder {
    fn max_batch(&self) -> usize {
        16
    }

    fn open(&mut self, _request: &RequestInfo) -> Result<State, Cause> {
        Ok(Box::new(Page::default()))
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        let mut readers = Vec::with_capacity(batch.len());
        for (index, member) in batch.iter_mut().enumerate() {
            if let Err(cause) = self.prepare(member) {
                member.fail(cause);
                continue;
            }
            let Ok(page) = member.state::<Page>() else {
                continue;
            };
            if let Some(memory) = page.memory.take() {
                readers.push((index, memory, page.next.clone()));
            }
        }
        let mut parts: Vec<Part<'_>> = readers
            .iter_mut()
            .map(|(_, memory, tokens)| Part { memory, tokens })
            .collect();
        // The logits behind the mark of the beginning say whether anybody speaks; behind a long
        // prompt they would cost more than they tell.
        let all = parts.iter().all(|part| part.tokens.len() <= FEW);
        let mut logits = if parts.is_empty() {
            Vec::new()
        } else {
            let (pool, watch) = (&self.shared.pool, &mut |_, _: &[f32]| {});
            self.shared.decoder.run(pool, &mut parts, all, watch)
        };
        let mut rest = logits.as_mut_slice();
        for (index, memory, tokens) in readers {
            let rows = if all { tokens.len() } else { 1 };
            let (own, others) = rest.split_at_mut(rows * self.shared.vocabulary.size);
            rest = others;
            let member = &mut batch[index];
            let kept = member
                .state::<Page>()
                .map(|page| page.memory = Some(memory));
            if let Err(cause) = kept.and_then(|()| self.write(member, own)) {
                member.fail(cause);
            }
        }
        for member in batch {
            finish(member);
        }
    }
}

/// Goes round once more, or ends the loop where the window is written.
fn finish(member: &mut Member<'_>) {
    if member.has_failed() {
        return;
    }
    let is_over = member
        .state::<Page>()
        .is_ok_and(|page| page.memory.is_none());
    member.put("last", Payload::from(""));
    if is_over && member.is_in_loop(WRITE_LOOP) {
        member.stop(WRITE_LOOP);
    }
}
