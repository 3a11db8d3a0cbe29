//! One utterance: text on its way to the engine, and its audio on the way back.

use std::collections::VecDeque;

use codecs::SampleRate;
use codecs::audio::{Encoder, Format};
use serde_json::{Value, json};

use super::event::Word;
use super::frames::{Frames, Place, Queued};
use super::message::Delivery;
use super::sentences::Sentences;
use super::session::{Command, UtteranceId};
use crate::{Fault, Kind, Settings, text};

/// Encoded audio of one sentence that is held back when whole sentences are asked for; a longer
/// one is sent in parts.
const HELD_BYTES: usize = 4 * 1024 * 1024;

/// Text or a flush, in the order in which the client sent them.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Flush,
}

/// The sentence that is being sent.
#[derive(Debug)]
struct Open {
    sentence: u64,
    index: u32,
    held: Vec<u8>,
}

/// Where the audio of a sentence begins.
#[derive(Debug, Clone, Copy)]
struct Mark {
    sentence: u64,
    start: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Utterance {
    pub(super) id: UtteranceId,
    pub(super) place: Place,
    settings: Settings,
    delivery: Delivery,
    // Towards the engine.
    pieces: VecDeque<Piece>,
    speakable: bool,
    opened: bool,
    feeding: bool,
    ended: bool,
    end_sent: bool,
    /// Characters received.
    pub(super) chars: usize,
    /// Characters of sentences that have been passed, as far as word times tell.
    passed_chars: usize,
    // Back from it.
    sentences: Sentences,
    marks: VecDeque<Mark>,
    last_marked: Option<u64>,
    position: u64,
    rate: Option<SampleRate>,
    encoder: Option<Encoder>,
    open: Option<Open>,
    announced: u32,
    has_sent_audio: bool,
    /// Told by the engine at the end.
    pub(super) rtf: Option<f64>,
}

impl Utterance {
    pub(super) fn new(
        id: UtteranceId,
        place: Place,
        settings: Settings,
        delivery: Delivery,
    ) -> Self {
        Self {
            id,
            place,
            settings,
            delivery,
            pieces: VecDeque::new(),
            speakable: false,
            opened: false,
            feeding: false,
            ended: false,
            end_sent: false,
            chars: 0,
            passed_chars: 0,
            sentences: Sentences::new(delivery.granularity),
            marks: VecDeque::new(),
            last_marked: None,
            position: 0,
            rate: None,
            encoder: None,
            open: None,
            announced: 0,
            has_sent_audio: false,
            rtf: None,
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn is_opened(&self) -> bool {
        self.opened
    }

    /// Ended, and there never was anything to say.
    pub(super) fn is_silent(&self) -> bool {
        self.ended && !self.speakable
    }

    /// Characters received and, as far as is known, not spoken yet.
    pub(super) fn waiting_chars(&self) -> usize {
        self.chars.saturating_sub(self.passed_chars)
    }

    pub(super) fn push_text(&mut self, more: &str) {
        self.chars += text::count(more);
        self.speakable |= text::is_speakable(more);
        self.sentences.push(more);
        if let Some(Piece::Text(last)) = self.pieces.back_mut() {
            last.push_str(more);
        } else if !more.is_empty() {
            self.pieces.push_back(Piece::Text(more.to_owned()));
        }
    }

    pub(super) fn flush(&mut self) {
        if self.pieces.back() != Some(&Piece::Flush) {
            self.pieces.push_back(Piece::Flush);
        }
    }

    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn fed(&mut self) {
        self.feeding = false;
    }

    /// Hands on to the engine what it may take now. The engine hears of an utterance when there
    /// is something to say, and takes one piece of text at a time.
    pub(super) fn advance(&mut self, commands: &mut VecDeque<Command>) {
        if !self.opened {
            if !self.speakable {
                return;
            }
            self.opened = true;
            commands.push_back(Command::Open {
                utterance: self.id,
                settings: self.settings.clone(),
            });
        }
        while !self.feeding {
            let utterance = self.id;
            match self.pieces.pop_front() {
                Some(Piece::Text(text)) => {
                    self.feeding = true;
                    commands.push_back(Command::Feed { utterance, text });
                }
                Some(Piece::Flush) => commands.push_back(Command::Flush { utterance }),
                None => {
                    if self.ended && !self.end_sent {
                        self.end_sent = true;
                        commands.push_back(Command::End { utterance });
                    }
                    return;
                }
            }
        }
    }

    /// Notes where sentences begin, and tells the client the word times if it wants them.
    pub(super) fn words(&mut self, words: &[Word], rate: SampleRate, frames: &mut Frames) {
        let mut shown = Vec::new();
        for word in words {
            let sentence = self.sentences.at(word.source.start);
            if self.last_marked.is_none_or(|last| sentence > last) {
                self.last_marked = Some(sentence);
                let start = word.samples.start;
                self.marks.push_back(Mark { sentence, start });
            }
            if self.delivery.word_times {
                shown.push(word_value(word, rate));
            }
        }
        if !shown.is_empty() {
            frames.push(Queued::Note {
                place: self.place.clone(),
                value: json!({"type": "audio.words", "words": shown}),
            });
        }
    }

    /// Encodes samples and queues them under the sentences that they belong to.
    pub(super) fn audio(
        &mut self,
        mut samples: &[f32],
        rate: SampleRate,
        frames: &mut Frames,
    ) -> Result<(), Fault> {
        self.rate = Some(rate);
        while !samples.is_empty() {
            if self.open.is_none() || self.marks.front().is_some_and(|m| m.start <= self.position) {
                self.next_sentence(frames)?;
            }
            let until_mark = self.marks.front().map_or(u64::MAX, |mark| mark.start);
            let here = usize::try_from(until_mark.saturating_sub(self.position));
            let (now, later) = samples.split_at(here.unwrap_or(usize::MAX).min(samples.len()));
            self.position += now.len() as u64;
            self.encode(now, rate, frames)?;
            samples = later;
        }
        Ok(())
    }

    /// Ends the audio: the tail of the encoder, and the end of the last sentence.
    pub(super) fn finish(&mut self, frames: &mut Frames) -> Result<(), Fault> {
        if let Some(encoder) = self.encoder.take() {
            let mut bytes = Vec::new();
            encoder.finish(&mut bytes).map_err(|e| codec_fault(&e))?;
            self.queue_audio(bytes, frames);
        }
        self.end_sentence(false, frames);
        Ok(())
    }

    /// Ends the audio after a failure: a client sees that the sentence is not whole.
    pub(super) fn abort(&mut self, frames: &mut Frames) {
        self.encoder = None;
        self.end_sentence(true, frames);
    }

    /// The message that ends an utterance.
    pub(super) fn summary(&self, error: bool) -> Value {
        let seconds = self.rate.map_or(0.0, |rate| seconds(self.position, rate));
        json!({
            "type": "session.done",
            "total_sentences": self.announced,
            "input_characters": self.chars,
            "audio_seconds": seconds,
            "rtf": self.rtf,
            "error": error,
        })
    }

    /// Goes on to the sentence that the next sample belongs to.
    fn next_sentence(&mut self, frames: &mut Frames) -> Result<(), Fault> {
        let mut next = None;
        while self.marks.front().is_some_and(|m| m.start <= self.position) {
            next = self.marks.pop_front().map(|mark| mark.sentence);
        }
        if let Some(open) = &self.open {
            if next.is_none_or(|next| next <= open.sentence) {
                return Ok(());
            }
            if self.settings.format != Format::Pcm
                && let Some(encoder) = self.encoder.take()
            {
                let mut bytes = Vec::new();
                encoder.finish(&mut bytes).map_err(|e| codec_fault(&e))?;
                self.queue_audio(bytes, frames);
            }
            self.end_sentence(false, frames);
        }
        // Silence before the first word belongs to it; without word times all is one sentence.
        let first = || self.marks.front().map(|mark| mark.sentence);
        self.start_sentence(next.or_else(first).unwrap_or(0), frames);
        Ok(())
    }

    fn start_sentence(&mut self, sentence: u64, frames: &mut Frames) {
        self.passed_chars = self.passed_chars.max(self.sentences.start_of(sentence));
        self.sentences.pass(sentence);
        let index = self.announced;
        self.announced += 1;
        self.open = Some(Open {
            sentence,
            index,
            held: Vec::new(),
        });
        frames.push(Queued::Start {
            place: self.place.clone(),
            sentence: index,
            value: json!({
                "type": "audio.start",
                "sentence_index": index,
                "sentence_text": self.sentences.text(sentence),
                "format": self.settings.format.name(),
                "sample_rate": self.settings.format.sample_rate().hz(),
            }),
        });
    }

    fn encode(
        &mut self,
        samples: &[f32],
        rate: SampleRate,
        frames: &mut Frames,
    ) -> Result<(), Fault> {
        let mut encoder = match self.encoder.take() {
            Some(encoder) => encoder,
            None => Encoder::new(self.settings.format, rate).map_err(|e| codec_fault(&e))?,
        };
        let mut bytes = Vec::new();
        encoder
            .push(samples, &mut bytes)
            .map_err(|e| codec_fault(&e))?;
        self.encoder = Some(encoder);
        self.queue_audio(bytes, frames);
        Ok(())
    }

    fn queue_audio(&mut self, mut bytes: Vec<u8>, frames: &mut Frames) {
        let Some(open) = &mut self.open else { return };
        if self.delivery.whole_sentences {
            open.held.append(&mut bytes);
            if open.held.len() < HELD_BYTES {
                return;
            }
            bytes = std::mem::take(&mut open.held);
        }
        let sentence = open.index;
        self.push_audio(sentence, bytes, frames);
    }

    fn push_audio(&mut self, sentence: u32, bytes: Vec<u8>, frames: &mut Frames) {
        if bytes.is_empty() {
            return;
        }
        let first = (!self.has_sent_audio).then_some(self.id);
        self.has_sent_audio = true;
        frames.push(Queued::Audio {
            place: self.place.clone(),
            sentence,
            bytes,
            first,
        });
    }

    fn end_sentence(&mut self, error: bool, frames: &mut Frames) {
        let Some(open) = self.open.take() else { return };
        self.push_audio(open.index, open.held, frames);
        frames.push(Queued::Done {
            place: self.place.clone(),
            sentence: open.index,
            error,
        });
    }
}

fn word_value(word: &Word, rate: SampleRate) -> Value {
    json!({
        "text": word.text,
        "start": seconds(word.samples.start, rate),
        "end": seconds(word.samples.end, rate),
        "source": [word.source.start, word.source.end],
    })
}

/// Seconds, rounded to microseconds so that they read well.
fn seconds(samples: u64, rate: SampleRate) -> f64 {
    let exact = codecs::Samples(samples).at(rate).as_secs_f64();
    (exact * 1e6).round() / 1e6
}

fn codec_fault(error: &codecs::Error) -> Fault {
    let kind = match error.kind() {
        codecs::Kind::Invalid => Kind::Invalid,
        _ => Kind::Internal,
    };
    Fault::new(
        kind,
        "encoding_failed",
        format!("The audio could not be encoded: {error}."),
    )
}
