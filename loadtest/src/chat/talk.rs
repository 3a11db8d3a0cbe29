//! One user's conversation over `GET /v1/realtime`.

use std::sync::Arc;
use std::time::Duration;

use ::http::header;
use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::microphone::Microphone;
use super::turn::Turn;
use super::utterance::Utterance;
use crate::cli::ChatArgs;
use crate::clock::Clock;
use crate::door::{connect, ws::Socket};
use crate::target::Target;

/// Where conversations are held.
const PATH: &str = "/v1/realtime";

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

impl Talk {
    /// All turns of this user, and why they ended early if they did.
    pub(super) async fn run(self) -> (Vec<Turn>, Option<String>) {
        let mut turns = Vec::new();
        let failure = self.talk(&mut turns).await.err();
        let failure = failure.map(|error| format!("user {}: {error:#}", self.user));
        (turns, failure)
    }

    async fn talk(&self, turns: &mut Vec<Turn>) -> Result<()> {
        let mut socket = self.open().await?;
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
                    let captured = microphone.capture();
                    if captured.began.is_some() {
                        turn.began = captured.began;
                    }
                    if captured.ended.is_some() {
                        turn.ended = captured.ended;
                    }
                    let append = json!({"type": "input_audio_buffer.append", "audio": captured.base64});
                    send(&mut socket, &append).await?;
                }
                message = socket.next() => {
                    let message = message.context("the socket was closed")??;
                    self.message(&message, &mut turn)?;
                }
            }
            let now = self.clock.now();
            if let Some(next) = self.next(&turn, now) {
                turn.interrupted = matches!(next, Next::Interrupt);
                if turn.interrupted {
                    let cut = self
                        .interrupt(&mut socket, &mut microphone, &mut turn)
                        .await?;
                    turns.push(turn);
                    turn = cut;
                } else {
                    turns.push(std::mem::take(&mut turn));
                }
                if turns.len() >= self.args.turns {
                    let _ = socket.close(None).await;
                    return Ok(());
                }
                if !matches!(next, Next::Interrupt) {
                    step = Step::Pausing { until: now + PAUSE };
                } else {
                    step = Step::Turn {
                        deadline: now + Duration::from_secs_f64(self.args.timeout),
                    };
                }
            }
        }
    }

    fn utterance(&self, turn: usize) -> &Utterance {
        &self.utterances[(turn + self.user) % self.utterances.len()]
    }

    async fn open(&self) -> Result<Socket> {
        let path = self.target.path(PATH);
        let url = format!(
            "ws://{}{path}?model={}",
            self.target.authority, self.args.model
        );
        let mut request = url.into_client_request()?;
        if let Some(key) = &self.args.key {
            let value = format!("Bearer {key}").parse()?;
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let opened = client_async(request, connect(&self.target).await?).await;
        let (mut socket, _) = opened.map_err(refusal)?;
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
        send(
            &mut socket,
            &json!({"type": "session.update", "session": session}),
        )
        .await?;
        Ok(socket)
    }

    fn message(&self, message: &Message, turn: &mut Turn) -> Result<()> {
        let now = self.clock.now();
        let text = match message {
            Message::Text(text) => text,
            Message::Close(frame) => bail!("the server closed the socket: {frame:?}"),
            _ => return Ok(()),
        };
        let event: Value = serde_json::from_str(text)?;
        if event["type"] == "error" {
            bail!("the server says: {}", event["error"]);
        }
        let audio = match event["type"].as_str() {
            Some("response.output_audio.delta") => samples(&event)?,
            _ => Vec::new(),
        };
        if event["type"] == "response.created" && turn.created.is_some() && !turn.interrupted {
            turn.begin_again();
        }
        turn.event(now, &event, &audio);
        Ok(())
    }

    /// What follows, once this turn has come far enough.
    fn next(&self, turn: &Turn, now: Duration) -> Option<Next> {
        if let (Some(after), Some(first)) = (self.args.interrupt_after, turn.first_audio)
            && now >= first + Duration::from_secs_f64(after)
            && turn.done.is_none()
        {
            return Some(Next::Interrupt);
        }
        let done = turn.done?;
        // What else belongs to the turn comes at once; and a listener hears the answer out.
        let heard = match turn.first_chunk {
            Some(first) if self.args.listen => first + super::seconds(turn.samples),
            _ => done,
        };
        (turn.ended.is_some() && now >= heard.max(done) + Duration::from_millis(50))
            .then_some(Next::Turn)
    }

    /// Speaks into the answer, and waits until the server has stopped it. Gives the turn that
    /// has begun.
    async fn interrupt(
        &self,
        socket: &mut Socket,
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
        while old.done.is_none() {
            tokio::select! {
                () = self.clock.sleep_until(deadline) => bail!("an interrupted answer did not end"),
                () = self.clock.sleep_until(microphone.next_at()) => {
                    let captured = microphone.capture();
                    new.began = new.began.or(captured.began);
                    new.ended = captured.ended.or(new.ended);
                    let append = json!({"type": "input_audio_buffer.append", "audio": captured.base64});
                    send(socket, &append).await?;
                }
                message = socket.next() => {
                    let message = message.context("the socket was closed")??;
                    let is_speech = message.to_text().is_ok_and(|text| {
                        text.contains("\"input_audio_buffer.speech_started\"")
                    });
                    let turn = if is_speech { &mut new } else { &mut *old };
                    self.message(&message, turn)?;
                }
            }
        }
        Ok(new)
    }
}

/// What follows a turn.
enum Next {
    /// Another one.
    Turn,
    /// Another one, into this one's answer.
    Interrupt,
}

async fn send(socket: &mut Socket, event: &Value) -> Result<()> {
    let text = event.to_string();
    socket
        .send(Message::Text(text.into()))
        .await
        .context("cannot send")
}

fn samples(event: &Value) -> Result<Vec<i16>> {
    let bytes = STANDARD.decode(event["delta"].as_str().unwrap_or_default())?;
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        bail!("a piece of audio ends within a sample");
    }
    Ok(pairs
        .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
        .collect())
}

#[expect(clippy::needless_pass_by_value, reason = "fits map_err")]
fn refusal(error: Error) -> anyhow::Error {
    if let Error::Http(response) = &error {
        let body = response.body().as_deref().unwrap_or_default();
        let body = String::from_utf8_lossy(body);
        return anyhow::anyhow!("the server answered {}: {body}", response.status());
    }
    anyhow::anyhow!("cannot open the socket: {error}")
}
