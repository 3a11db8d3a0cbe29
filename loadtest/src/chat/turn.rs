//! What one turn of a conversation was like, by the client's clock.

use std::time::Duration;

use serde_json::Value;

use super::line::Door;
use super::{seconds, words};
use crate::trace::AUDIBLE;

/// Instants and words of one turn. What did not happen is none.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// What was said.
    pub said: String,
    /// What the server understood.
    pub heard: Option<String>,
    /// What the server answered, as far as it was spoken.
    pub answer: String,
    /// The first sample of the utterance was captured.
    pub began: Option<Duration>,
    /// The last sample of the utterance was captured.
    pub ended: Option<Duration>,
    /// `input_audio_buffer.speech_started` came.
    pub noticed: Option<Duration>,
    /// `input_audio_buffer.speech_stopped` came.
    pub stopped: Option<Duration>,
    /// The words understood came whole.
    pub transcribed: Option<Duration>,
    /// `response.created` came.
    pub created: Option<Duration>,
    /// The first words of the answer came.
    pub first_text: Option<Duration>,
    /// The first audio of the answer came.
    pub first_chunk: Option<Duration>,
    /// The first audible sample of the answer would have been heard.
    pub first_audio: Option<Duration>,
    /// The latest audio of the answer came.
    pub last_chunk: Option<Duration>,
    /// `response.done` came.
    pub done: Option<Duration>,
    /// Nothing more of the answer comes: all of it is here, or by RTP has been heard or cut off.
    pub over: Option<Duration>,
    /// Its status.
    pub status: String,
    /// Samples of the answer.
    pub samples: usize,
    /// This turn was cut off by the next one.
    pub interrupted: bool,
    /// Utterances that were answered although nobody had said anything more.
    pub extra_turns: usize,
    /// What the server says of where the time went.
    pub timing: Option<Value>,
    /// How long a player that begins 100 ms after the first chunk would have stood still.
    pub stalled: Duration,
    pub(super) plays_until: Option<Duration>,
    /// By RTP: the server has sent all that it will.
    pub(super) played: bool,
}

/// Whether something of a response was spoken.
fn has_audio(done: &Value) -> bool {
    let items = done["response"]["output"].as_array().into_iter().flatten();
    let mut parts = items.flat_map(|item| item["content"].as_array().into_iter().flatten());
    parts.any(|part| part["type"] == "output_audio")
}

/// How long a player waits before it begins.
const PREBUFFER: Duration = Duration::from_millis(100);

impl Turn {
    /// Takes an event of the server.
    pub(super) fn event(&mut self, now: Duration, event: &Value, door: Door) {
        match event["type"].as_str().unwrap_or_default() {
            "input_audio_buffer.speech_started" => {
                self.noticed.get_or_insert(now);
            }
            // The latest one: a pause inside an utterance is no end.
            "input_audio_buffer.speech_stopped" => self.stopped = Some(now),
            "conversation.item.input_audio_transcription.completed" => {
                self.transcribed = Some(now);
                let words = event["transcript"].as_str().unwrap_or_default().trim();
                match &mut self.heard {
                    Some(heard) => {
                        heard.push(' ');
                        heard.push_str(words);
                    }
                    None => self.heard = Some(words.to_owned()),
                }
            }
            "response.created" => {
                self.created = Some(now);
            }
            "response.output_audio_transcript.delta" | "response.output_text.delta" => {
                self.first_text.get_or_insert(now);
                self.answer
                    .push_str(event["delta"].as_str().unwrap_or_default());
            }
            "output_audio_buffer.stopped" | "output_audio_buffer.cleared" => {
                self.played = true;
                self.over = self.done.map(|_| now);
            }
            "response.done" => {
                self.done = Some(now);
                let waits = door == Door::Webrtc && has_audio(event) && !self.played;
                self.over = (!waits).then_some(now);
                let status = event["response"]["status"].as_str().unwrap_or_default();
                status.clone_into(&mut self.status);
            }
            "promenade.turn.timing" => self.timing = Some(event.clone()),
            _ => {}
        }
    }

    /// Takes audio of the answer.
    pub(super) fn audio(&mut self, now: Duration, audio: &[i16]) {
        if audio.is_empty() {
            return;
        }
        self.first_chunk.get_or_insert(now);
        self.last_chunk = Some(now);
        let begins = self.plays_until.unwrap_or(now + PREBUFFER);
        self.stalled += now.saturating_sub(begins);
        self.plays_until = Some(begins.max(now) + seconds(audio.len()));
        if self.first_audio.is_none()
            && let Some(at) = audio.iter().position(|s| s.unsigned_abs() >= AUDIBLE)
        {
            self.first_audio = Some(now + seconds(at));
        }
        self.samples += audio.len();
    }

    /// A turn that another response follows because the first one was given up.
    pub(super) fn begin_again(&mut self) {
        *self = Self {
            said: std::mem::take(&mut self.said),
            heard: self.heard.take(),
            began: self.began,
            ended: self.ended,
            noticed: self.noticed,
            stopped: self.stopped,
            transcribed: self.transcribed,
            extra_turns: self.extra_turns + 1,
            ..Self::default()
        };
    }

    /// From the last sample said to this instant, in milliseconds; below 0 for what came before.
    pub(super) fn since_end(&self, at: Option<Duration>) -> Option<f64> {
        let (at, ended) = (at?.as_secs_f64(), self.ended?.as_secs_f64());
        Some((at - ended) * 1e3)
    }

    /// Words understood wrongly, and words said; none where the words are not known.
    pub(super) fn word_errors(&self) -> Option<(usize, usize)> {
        let said = words::words(&self.said);
        let heard = words::words(self.heard.as_deref()?);
        (!said.is_empty()).then(|| (words::errors(&said, &heard), said.len()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_audible_sample_is_what_was_waited_for() {
        let ms = Duration::from_millis;
        let mut turn = Turn {
            ended: Some(ms(1000)),
            ..Turn::default()
        };
        turn.audio(ms(1500), &[0; 240]);
        assert_eq!(turn.first_audio, None);
        let mut audio = vec![0; 480];
        audio[240] = 2000;
        turn.audio(ms(1510), &audio);
        assert_eq!(turn.since_end(turn.first_chunk), Some(500.0));
        assert_eq!(turn.first_audio, Some(ms(1520)));
        assert_eq!(turn.stalled, Duration::ZERO);
        // 30 ms of audio from 1600 on; the next piece is 70 ms late.
        turn.audio(ms(1700), &audio);
        assert_eq!(turn.stalled, ms(70));
    }

    #[test]
    fn by_rtp_an_answer_is_over_when_it_has_been_played() {
        let ms = Duration::from_millis;
        let done = json!({"type": "response.done", "response": {"status": "completed",
            "output": [{"content": [{"type": "output_audio"}]}]}});
        let played = json!({"type": "output_audio_buffer.stopped"});
        let mut turn = Turn::default();
        turn.event(ms(10), &done, Door::Webrtc);
        assert_eq!((turn.done, turn.over), (Some(ms(10)), None));
        turn.event(ms(900), &played, Door::Webrtc);
        assert_eq!(turn.over, Some(ms(900)));
        let mut cut = Turn::default();
        cut.event(ms(10), &played, Door::Webrtc);
        cut.event(ms(20), &done, Door::Webrtc);
        assert_eq!(cut.over, Some(ms(20)));
        let mut socket = Turn::default();
        socket.event(ms(10), &done, Door::Ws);
        assert_eq!(socket.over, Some(ms(10)));
    }
}
