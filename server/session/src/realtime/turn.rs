//! Who has the floor: when the user begins to speak, and when a turn is over.
//!
//! Silence is counted in audio, as it was heard. Where no audio comes, the clock counts instead
//! ([`Timer::Silence`]), so that a client which sends nothing between turns is answered too.

use std::ops::Range;
use std::time::Duration;

use serde_json::json;

use super::command::{Command, TranscriptionId, TurnId};
use super::config::Kind as SessionKind;
use super::detection::{Detection, Kind, Mode, ms};
use super::guess::Guess;
use super::input::{duration, samples};
use super::respond::Auto;
use super::response::Timing;
use super::session::Session;
use super::timer::Timer;

/// Frames of speech in a row that begin a turn: 64 ms. One alone is a click.
const ONSET: u32 = 2;
/// By how much less than the threshold speech goes on.
const HYSTERESIS: f32 = 0.15;
/// Silence after which the judge of turns is asked, and asked again.
const JUDGE_AT: Duration = Duration::from_millis(160);
const JUDGE_AGAIN: Duration = Duration::from_millis(960);
/// The most audio that the judge is given.
const JUDGED: Duration = Duration::from_secs(8);
/// How late audio may be before it counts as missing.
const LATE: Duration = Duration::from_millis(200);
const LATEST: Duration = Duration::from_secs(1);
/// How long answers about audio that came may take before the clock decides without them.
const UNHEARD: Duration = Duration::from_secs(5);

/// What the user is saying.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) item: String,
    /// Where its audio begins, padding included.
    pub(super) start: u64,
    /// The end of the last speech in it.
    voice_end: u64,
    /// Up to where it was listened to.
    heard: u64,
    /// The judge's questions in this pause, and the wait that came of them.
    judged: u32,
    judging: Option<TurnId>,
    wait: Option<Duration>,
    interim: Option<TranscriptionId>,
    interim_at: u64,
}

/// Frames of speech in a row, before there is a turn.
#[derive(Debug, Default)]
pub(super) struct Onset {
    frames: u32,
    first: u64,
}

impl Turn {
    /// Silence after which the turn is over.
    fn needed(&self, detection: &Detection) -> Duration {
        match detection.kind {
            Kind::Server { silence, .. } => silence,
            Kind::Semantic(eagerness) => self.wait.unwrap_or(eagerness.longest()),
        }
    }
}

impl Session {
    /// Speech or not, in the next frame.
    pub(super) fn on_voice(&mut self, probability: f32, now: Duration) {
        let Some(range) = self.input.next_heard() else {
            return;
        };
        let Some(detection) = self.settings.detection else {
            return;
        };
        if range.end <= self.input.start() {
            return;
        }
        let threshold = detection.threshold();
        let goes_on = (threshold - HYSTERESIS).max(0.05);
        let probability = match probability >= goes_on && self.echo.is_at(range.end) {
            true => 0.0,
            false => probability,
        };
        if self.turn.is_some() {
            self.on_frame(&detection, range, probability >= goes_on, now);
        } else if probability >= threshold {
            if self.onset.frames == 0 {
                self.onset.first = range.start;
            }
            self.onset.frames += 1;
            if self.onset.frames >= ONSET {
                self.speech_started(&detection, range.end, now);
            }
        } else {
            self.onset.frames = 0;
            self.input
                .drop_before(range.end.saturating_sub(samples(detection.prefix())));
        }
    }

    fn speech_started(&mut self, detection: &Detection, heard: u64, now: Duration) {
        let first = std::mem::take(&mut self.onset).first;
        let start = first.saturating_sub(samples(detection.prefix()));
        let start = start.max(self.input.start());
        self.input.drop_before(start);
        let item = self.ids.draw("item_");
        self.say(json!({
            "type": "input_audio_buffer.speech_started",
            "audio_start_ms": ms(duration(start)),
            "item_id": item,
        }));
        self.timers.set(Timer::Unanswered, None);
        self.turn = Some(Turn {
            item,
            start,
            voice_end: heard,
            heard,
            judged: 0,
            judging: None,
            wait: None,
            interim: None,
            interim_at: heard,
        });
        if !detection.interrupt_response {
            return;
        }
        // What was said before goes on; it is answered with what is said now.
        self.forget_auto();
        if !self.is_answering(now) {
            return;
        }
        match detection.overlap.mode {
            Mode::Interrupt => self.interrupt(now),
            mode => self.begin_overlap(mode, detection.overlap.decide(), now),
        }
    }

    fn on_frame(&mut self, detection: &Detection, range: Range<u64>, voice: bool, now: Duration) {
        let Some(turn) = &mut self.turn else { return };
        turn.heard = range.end;
        if voice {
            turn.voice_end = range.end;
            turn.judged = 0;
            turn.judging = None;
            turn.wait = None;
            if let Some(guess) = self.guess.take() {
                self.drop_guess(&guess);
            }
            self.ask_interim(range.end);
        } else {
            let silence = duration(range.end - turn.voice_end);
            self.on_silence(detection, silence, now);
        }
        let longest = samples(self.config.limits.turn);
        if self
            .turn
            .as_ref()
            .is_some_and(|t| t.heard - t.start >= longest)
        {
            self.end_turn(now);
        }
    }

    fn on_silence(&mut self, detection: &Detection, silence: Duration, now: Duration) {
        let Some(turn) = &mut self.turn else { return };
        if silence >= turn.needed(detection) {
            return self.end_turn(now);
        }
        let due = match turn.judged {
            0 => JUDGE_AT,
            1 => JUDGE_AGAIN,
            _ => Duration::MAX,
        };
        if matches!(detection.kind, Kind::Semantic(_)) && silence >= due {
            turn.judged += 1;
            self.next_id += 1;
            let id = TurnId(self.next_id);
            turn.judging = Some(id);
            let from = turn.start.max(turn.heard.saturating_sub(samples(JUDGED)));
            let audio = self.input.audio_16k(from, turn.heard);
            self.commands.push_back(Command::JudgeTurn { id, audio });
        }
        if let Some(probable) = self.config.ahead.probable_end
            && silence >= probable
            && self.guess.is_none()
        {
            self.begin_guess();
        }
    }

    /// The judge has answered.
    pub(super) fn on_judged(&mut self, id: TurnId, complete: f32, now: Duration) {
        let Some(detection) = self.settings.detection else {
            return;
        };
        let Kind::Semantic(eagerness) = detection.kind else {
            return;
        };
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.judging == Some(id)) else {
            return;
        };
        turn.judging = None;
        let (short, long) = (eagerness.shortest(), eagerness.longest());
        let middle = long / 4;
        let complete = if complete.is_finite() {
            complete.clamp(0.0, 1.0)
        } else {
            0.5
        };
        let wait = if complete >= 0.5 {
            middle - (middle - short).mul_f32((complete - 0.5) * 2.0)
        } else {
            middle + (long - middle).mul_f32(1.0 - complete * 2.0)
        };
        turn.wait = Some(wait);
        if duration(turn.heard - turn.voice_end) >= wait {
            self.end_turn(now);
        }
    }

    /// No audio has come for as long as the turn's end needs.
    pub(super) fn on_silent_clock(&mut self, now: Duration) {
        let last = self.input.last_at.unwrap_or(now);
        if self.input.is_listening() && now < last + UNHEARD {
            return; // and asks again
        }
        if self.turn.is_some() {
            self.end_turn(now);
        }
    }

    /// When the clock decides that the turn is over. While answers about audio that came are still
    /// to come, it waits for them, up to [`UNHEARD`]: never in the past, or the driver would spin.
    pub(super) fn silence_deadline(&self, now: Duration) -> Option<Duration> {
        let (turn, detection) = (self.turn.as_ref()?, self.settings.detection?);
        let silent = duration(self.input.end().saturating_sub(turn.voice_end));
        let missing = turn.needed(&detection).saturating_sub(silent);
        let late = (self.input.gap * 2).clamp(LATE, LATEST);
        let last = self.input.last_at?;
        let at = last + missing + late;
        if at <= now && self.input.is_listening() && now < last + UNHEARD {
            return Some((now + LATE).min(last + UNHEARD));
        }
        Some(at)
    }

    /// The turn is over: it becomes an item, and is answered.
    pub(super) fn end_turn(&mut self, now: Duration) {
        let Some(turn) = self.turn.take() else { return };
        self.say(json!({
            "type": "input_audio_buffer.speech_stopped",
            "audio_end_ms": ms(duration(turn.heard)),
            "item_id": turn.item,
        }));
        if let Some(id) = turn.interim {
            self.forget_transcription(id);
        }
        let spoken_for = duration(self.input.end().saturating_sub(turn.voice_end));
        let arrived = self.input.last_at.unwrap_or(now);
        let timing = Timing {
            item: Some(turn.item.clone()),
            speech_end: Some(arrived.saturating_sub(spoken_for)),
            committed: Some(now),
            ..Timing::default()
        };
        let guess = self.guess.take();
        self.commit_turn(&turn.item, turn.start, turn.heard, guess, timing, now);
    }

    /// Makes an item of what was heard, and has it answered if turns are.
    fn commit_turn(
        &mut self,
        item: &str,
        from: u64,
        to: u64,
        guess: Option<Guess>,
        mut timing: Timing,
        now: Duration,
    ) {
        timing.transcript = guess.as_ref().and_then(|guess| guess.known_at);
        let answers = self.answers_turns();
        let guess = self.commit_audio(item, from, to, guess);
        let known = self.history.get(item).is_some_and(|i| !i.is_pending());
        if answers {
            self.forget_auto();
            self.auto = Some(Auto {
                item: Some(item.to_owned()),
                guess,
                timing,
            });
        } else if let Some(guess) = guess {
            self.drop_guess(&guess);
        }
        if known {
            self.on_item_known(item, now);
        }
    }

    /// Transcribes what was said so far, while more is said.
    fn ask_interim(&mut self, heard: u64) {
        let Some(every) = self.config.ahead.interim else {
            return;
        };
        let Some(turn) = &mut self.turn else { return };
        if turn.interim.is_some() || heard < turn.interim_at + samples(every) {
            return;
        }
        turn.interim_at = heard;
        let from = turn.start;
        let id = self.transcribe(from, heard, true, super::hear::Purpose::Interim);
        if let Some(turn) = &mut self.turn {
            turn.interim = Some(id);
        }
    }

    /// An interim transcript is whole.
    pub(super) fn on_interim(&mut self, id: TranscriptionId, text: &str) {
        let shown = self.settings.transcription.is_some();
        let Some(turn) = self.turn.as_mut().filter(|t| t.interim == Some(id)) else {
            return;
        };
        turn.interim = None;
        let item = turn.item.clone();
        if shown && !text.is_empty() {
            self.say(json!({
                "type": "promenade.transcript.interim",
                "item_id": item,
                "transcript": text,
            }));
        }
    }

    /// The turn is probably over: what was said is transcribed and answered ahead of time.
    fn begin_guess(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let (from, to) = (turn.start, turn.heard);
        if let Some(id) = turn.interim.take() {
            self.forget_transcription(id);
        }
        let id = self.transcribe(from, to, true, super::hear::Purpose::Guess);
        self.guess = Some(Guess::new(id));
    }

    /// What the client's own `commit` or `clear` does to the turn. Gives back its item's id.
    pub(super) fn take_turn(&mut self) -> Option<(String, u64)> {
        self.onset = Onset::default();
        self.overlap = None;
        self.timers.set(Timer::Overlap, None);
        self.playout.pause(false);
        self.playout.duck(false);
        if let Some(guess) = self.guess.take() {
            self.drop_guess(&guess);
        }
        let turn = self.turn.take()?;
        if let Some(id) = turn.interim {
            self.forget_transcription(id);
        }
        Some((turn.item, turn.start))
    }

    /// Nobody has said anything since the last response.
    pub(super) fn on_unanswered(&mut self, now: Duration) {
        if self.turn.is_some() || self.is_answering(now) || !self.answers_turns() {
            return;
        }
        let item = self.ids.draw("item_");
        let (from, to) = (self.input.start(), self.input.end());
        self.say(json!({
            "type": "input_audio_buffer.timeout_triggered",
            "audio_start_ms": ms(duration(from)),
            "audio_end_ms": ms(duration(to)),
            "item_id": item,
        }));
        self.commit_silence(&item);
        self.auto = Some(Auto {
            item: None,
            guess: None,
            timing: Timing::default(),
        });
        self.answer(now);
    }

    /// Whether this is a session that only writes down what it hears.
    pub(super) fn only_transcribes(&self) -> bool {
        self.settings.kind == SessionKind::Transcription
    }
}
