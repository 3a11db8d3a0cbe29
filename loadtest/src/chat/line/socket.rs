//! A conversation over `GET /v1/realtime`.

use std::collections::VecDeque;

use ::http::header;
use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::News;
use crate::chat::microphone::FRAME;
use crate::cli::ChatArgs;
use crate::door::{connect, ws};
use crate::target::Target;

/// Where conversations are held.
const PATH: &str = "/v1/realtime";

/// See the [module](self).
pub(crate) struct Socket {
    socket: ws::Socket,
    /// Audio that an event has brought.
    waiting: VecDeque<News>,
}

impl Socket {
    pub(super) async fn open(args: &ChatArgs, target: &Target, session: Value) -> Result<Self> {
        let path = target.path(PATH);
        let url = format!("ws://{}{path}?model={}", target.authority, args.model);
        let mut request = url.into_client_request()?;
        if let Some(key) = &args.key {
            let value = format!("Bearer {key}").parse()?;
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let opened = client_async(request, connect(target).await?).await;
        let (socket, _) = opened.map_err(refusal)?;
        let mut line = Self {
            socket,
            waiting: VecDeque::new(),
        };
        let update = json!({"type": "session.update", "session": session});
        line.send(&update).await?;
        Ok(line)
    }

    pub(super) async fn speak(&mut self, frame: &[i16; FRAME]) -> Result<()> {
        let bytes: Vec<u8> = frame
            .iter()
            .flat_map(|sample| sample.to_le_bytes())
            .collect();
        let audio = STANDARD.encode(bytes);
        self.send(&json!({"type": "input_audio_buffer.append", "audio": audio}))
            .await
    }

    pub(super) async fn next(&mut self) -> Result<News> {
        loop {
            if let Some(news) = self.waiting.pop_front() {
                return Ok(news);
            }
            let message = self.socket.next().await;
            let text = match message.context("the socket was closed")?? {
                Message::Text(text) => text,
                Message::Close(frame) => bail!("the server closed the socket: {frame:?}"),
                _ => continue,
            };
            let event: Value = serde_json::from_str(&text)?;
            if event["type"] == "response.output_audio.delta" {
                self.waiting.push_back(News::Audio(samples(&event)?));
            }
            return Ok(News::Event(event));
        }
    }

    pub(super) async fn close(mut self) {
        let _ = self.socket.close(None).await;
    }

    async fn send(&mut self, event: &Value) -> Result<()> {
        let message = Message::Text(event.to_string().into());
        self.socket.send(message).await.context("cannot send")
    }
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
