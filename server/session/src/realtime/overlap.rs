//! The user speaks while an answer is heard: an interruption, or only a sign of listening?
//!
//! With `turn_detection.overlap.mode` `interrupt` (the default, and `OpenAI`'s way) each speech
//! is an interruption at once. With `duck` or `pause` the answer goes on quietly or stands still
//! until it is decided: speech of `decide_ms` is an interruption whatever is said; shorter speech
//! is judged by its words. What was no interruption is not answered, and the answer goes on at
//! the exact sample.

use std::time::Duration;

use serde_json::json;

use super::detection::Mode;
use super::session::Session;
use super::timer::Timer;
use crate::text;

/// Words that only say: I am listening.
const BACKCHANNELS: [&str; 28] = [
    "ah", "aha", "alright", "cool", "exactly", "good", "great", "haha", "hm", "hmm", "i", "see",
    "mhm", "mm", "mmhmm", "nice", "oh", "ok", "okay", "right", "sure", "true", "uh", "uhhuh",
    "huh", "wow", "yeah", "yes",
];
/// The most words of a sign of listening.
const MOST_WORDS: usize = 3;

impl Session {
    pub(super) fn begin_overlap(&mut self, mode: Mode, decide: Duration, now: Duration) {
        let Some(turn) = &self.turn else { return };
        let item = turn.item.clone();
        match mode {
            Mode::Pause => self.playout.pause(true),
            Mode::Duck => self.playout.duck(true),
            Mode::Interrupt => {}
        }
        self.timers.set(Timer::Overlap, Some(now + decide));
        self.say(json!({
            "type": "promenade.overlap.started",
            "item_id": item,
            "mode": match mode {
                Mode::Pause => "pause",
                _ => "duck",
            },
        }));
        self.overlap = Some(item);
    }

    /// The user has spoken for long enough.
    pub(super) fn on_overlap_timer(&mut self, now: Duration) {
        let speaking = self.turn.as_ref().map(|turn| turn.item.clone());
        if speaking.is_some() && speaking == self.overlap {
            self.decide_overlap(true, now);
        }
    }

    /// What was said over an answer is known. Says whether it is to be answered.
    pub(super) fn judge_overlap(&mut self, item: &str, said: &str, now: Duration) -> bool {
        if self.overlap.as_deref() != Some(item) {
            return true;
        }
        let interrupts = !is_backchannel(said);
        self.decide_overlap(interrupts, now);
        interrupts
    }

    fn decide_overlap(&mut self, interrupts: bool, now: Duration) {
        let Some(item) = self.overlap.take() else {
            return;
        };
        self.timers.set(Timer::Overlap, None);
        self.say(json!({
            "type": "promenade.overlap.decided",
            "item_id": item,
            "decision": if interrupts { "interruption" } else { "backchannel" },
        }));
        if interrupts {
            self.interrupt(now);
        } else {
            self.playout.pause(false);
            self.playout.duck(false);
        }
    }
}

/// Whether it only says that one is listening, or nothing.
fn is_backchannel(said: &str) -> bool {
    if !text::is_speakable(said) {
        return true;
    }
    let words = said.split_whitespace().map(|word| {
        let letters = word.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect::<String>()
    });
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    words.len() <= MOST_WORDS && words.iter().all(|w| BACKCHANNELS.contains(&w.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_listening_are_told_from_words() {
        for said in ["", "…", "Mm-hmm.", "Yeah.", "Uh-huh, okay.", "I see."] {
            assert!(is_backchannel(said), "{said}");
        }
        for said in [
            "Stop.",
            "No",
            "Yes, but wait",
            "What?",
            "yeah yeah yeah yeah",
        ] {
            assert!(!is_backchannel(said), "{said}");
        }
    }
}
