//! One user's conversation.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::line::{Door, Line, News};
use super::microphone::Microphone;
use super::turn::Turn;
use super::utterance::Utterance;
use crate::cli::ChatArgs;
use crate::clock::Clock;
use crate::target::Target;
use crate::trace::AUDIBLE;

/// Silence before the first utterance, and between an answer and the next one.
const PAUSE: Duration = Duration::from_millis(500);

/// One user.
pub(super) struct Talk {
    pub(super) args: Arc<ChatArgs>,
    pub(super) target: Target,
    pub(super) utterances: Arc<[Utterance]>,
    pub(super) clock: Clock,
    pub(super) user: usize,
}

/// What the loop waits for.
enum Step {
    /// A moment before the user speaks.
    Pausing { until: Duration },
    /// The user speaks, or waits for the answer's end.
    Turn { deadline: Duration },
}

/// What follows a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Another one.
    Turn,
    /// Another one, into this one's answer.
    Interrupt,
}

impl Talk {
    /// All turns of this user, and why they ended early if they did.
    pub(super) async fn run(self) -> (Vec<Turn>, Option<String>) {
        let mut turns = Vec::new();
        let failure = self.talk(&mut turns).await.err();
        let failure = failure.map(|error| format!("user {}: {error:#}", self.user));
        (turns, failure)
    }

    async fn talk(&self, turns: &mut Vec<Turn>) -> Result<()> {
        let mut line = Line::open(&self.args, &self.target, self.session()).await?;
        let mut microphone = Microphone::new(self.clock.now(), self.user as u64);
        let mut step = Step::Pausing {
            until: self.clock.now() + PAUSE,
        };
        let mut turn = Turn::default();
        loop {
            let now = self.clock.now();
            match step {
                Step::Pausing { until } if now >= until => {
                    let utterance = self.utterance(turns.len());
                    utterance.text.clone_into(&mut turn.said);
                    microphone.say(&utterance.samples);
                    let patience = Duration::from_secs_f64(self.args.timeout);
                    step = Step::Turn {
                        deadline: now + super::seconds(utterance.samples.len()) + patience,
                    };
                }
                Step::Turn { deadline } if now >= deadline => {
                    bail!("turn {} took too long: {turn:?}", turns.len() + 1);
                }
                _ => {}
            }
            tokio::select! {
                () = self.clock.sleep_until(microphone.next_at()) => {
                    self.capture(&mut line, &mut microphone, &mut turn).await?;
                }
                news = line.next() => self.take(&news?, &mut turn),
            }
            let now = self.clock.now();
            let Some(next) = self.next(&turn, now) else {
                continue;
            };
            turn.interrupted = next == Next::Interrupt;
            if turn.interrupted {
                let cut = self
                    .interrupt(&mut line, &mut microphone, &mut turn)
                    .await?;
                turns.push(turn);
                turn = cut;
                let patience = Duration::from_secs_f64(self.args.timeout);
                step = Step::Turn {
                    deadline: now + patience,
                };
            } else {
                turns.push(std::mem::take(&mut turn));
                step = Step::Pausing { until: now + PAUSE };
            }
            if turns.len() >= self.args.turns {
                line.close().await;
                return Ok(());
            }
        }
    }

    fn utterance(&self, turn: usize) -> &Utterance {
        &self.utterances[(turn + self.user) % self.utterances.len()]
    }

    /// What the session begins with.
    fn session(&self) -> Value {
        let mut session = json!({
            "type": "realtime",
            "max_output_tokens": self.args.max_tokens,
            "audio": {"input": {"transcription": {"model": "whisper-1"}}},
        });
        if let Some(instructions) = &self.args.instructions {
            session["instructions"] = instructions.as_str().into();
        }
        if let Some(detection) = &self.args.turn_detection {
            session["audio"]["input"]["turn_detection"] = json!({"type": detection});
        }
        session
    }

    /// Sends what the microphone has captured.
    async fn capture(
        &self,
        line: &mut Line,
        microphone: &mut Microphone,
        turn: &mut Turn,
    ) -> Result<()> {
        let captured = microphone.capture();
        turn.began = turn.began.or(captured.began);
        turn.ended = captured.ended.or(turn.ended);
        line.speak(&captured.samples).await
    }

    fn take(&self, news: &News, turn: &mut Turn) {
        let now = self.clock.now();
        match news {
            News::Event(event) => {
                let again = turn.created.is_some() && !turn.interrupted;
                if event["type"] == "response.created" && again {
                    turn.begin_again();
                }
                turn.event(now, event, self.args.door);
            }
            News::Audio(samples) if self.is_of(samples, turn) => turn.audio(now, samples),
            News::Audio(_) => {}
        }
    }

    /// Whether audio is of this turn's answer: by RTP silence comes too, before it and after.
    fn is_of(&self, samples: &[i16], turn: &Turn) -> bool {
        let audible = || {
            samples
                .iter()
                .any(|sample| sample.unsigned_abs() >= AUDIBLE)
        };
        self.args.door == Door::Ws || (turn.ended.is_some() && turn.over.is_none() && audible())
    }

    /// What follows, once this turn has come far enough.
    fn next(&self, turn: &Turn, now: Duration) -> Option<Next> {
        if let (Some(after), Some(first)) = (self.args.interrupt_after, turn.first_audio)
            && now >= first + Duration::from_secs_f64(after)
            && turn.over.is_none()
        {
            return Some(Next::Interrupt);
        }
        let over = turn.over?;
        // What else belongs to the turn comes at once; and a listener hears the answer out.
        let heard = match turn.first_chunk {
            Some(first) if self.args.listen && self.args.door == Door::Ws => {
                first + super::seconds(turn.samples)
            }
            _ => over,
        };
        (turn.ended.is_some() && now >= heard.max(over) + Duration::from_millis(50))
            .then_some(Next::Turn)
    }

    /// Speaks into the answer, and waits until the server has stopped it. Gives the turn that
    /// has begun.
    async fn interrupt(
        &self,
        line: &mut Line,
        microphone: &mut Microphone,
        old: &mut Turn,
    ) -> Result<Turn> {
        let utterance = self.utterance(self.args.turns + self.user);
        let mut new = Turn {
            said: utterance.text.clone(),
            ..Turn::default()
        };
        microphone.say(&utterance.samples);
        let deadline = self.clock.now() + Duration::from_secs_f64(self.args.timeout);
        while old.over.is_none() {
            tokio::select! {
                () = self.clock.sleep_until(deadline) => bail!("an interrupted answer did not end"),
                () = self.clock.sleep_until(microphone.next_at()) => {
                    self.capture(line, microphone, &mut new).await?;
                }
                news = line.next() => {
                    let news = news?;
                    let is_speech = matches!(&news, News::Event(event)
                        if event["type"] == "input_audio_buffer.speech_started");
                    self.take(&news, if is_speech { &mut new } else { &mut *old });
                }
            }
        }
        Ok(new)
    }
}
