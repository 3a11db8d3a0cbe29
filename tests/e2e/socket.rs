//! Text is written word by word into a socket: its voice begins before the text is complete, and says
//! the same samples as when the text had come at once.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use e2e::Promenade;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

use crate::{Story, power, toy};

const PATIENCE: Duration = Duration::from_secs(30);

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    async fn open(server: &Promenade) -> Result<Self> {
        let (socket, _) =
            connect_async(format!("ws://{}/v1/audio/speech/stream", server.address())).await?;
        Ok(Self(socket))
    }

    async fn say(&mut self, message: Value) -> Result<()> {
        Ok(self.0.send(Message::text(message.to_string())).await?)
    }

    /// The next message: JSON, or the bytes of a binary frame.
    async fn hear(&mut self) -> Result<Result<Value, Vec<u8>>> {
        loop {
            match timeout(PATIENCE, self.0.next())
                .await?
                .context("the socket ended")??
            {
                Message::Text(text) => return Ok(Ok(serde_json::from_str(&text)?)),
                Message::Binary(bytes) => return Ok(Err(bytes.to_vec())),
                Message::Close(frame) => bail!("the socket closed: {frame:?}"),
                _ => {}
            }
        }
    }

    /// All audio up to `session.done`.
    async fn rest(&mut self) -> Result<Vec<u8>> {
        let mut audio = Vec::new();
        loop {
            match self.hear().await? {
                Err(bytes) => audio.extend(bytes),
                Ok(message) if message["type"] == "session.done" => return Ok(audio),
                Ok(message) if message["type"] == "error" => bail!("{message}"),
                Ok(_) => {}
            }
        }
    }
}

#[tokio::test]
async fn the_voice_begins_before_the_text_is_complete() -> Story {
    let text = "This sentence is complete. This one is still being written.";
    let server = Promenade::serve(&["toy"]).await?;
    let whole = server
        .client()
        .post("/v1/audio/speech", &toy(text))
        .await?
        .body;
    assert!(power(&whole) > 1e-4, "tones are heard");

    let mut socket = Socket::open(&server).await?;
    socket
        .say(json!({"type": "session.config", "model": "toy", "voice": "alloy", "seed": 7}))
        .await?;
    let (complete, written) = text.split_at(30);
    for word in complete.split_inclusive(' ') {
        socket
            .say(json!({"type": "input.text", "text": word}))
            .await?;
    }
    let mut audio = loop {
        if let Err(bytes) = socket.hear().await? {
            break bytes; // and only now is the rest of the text sent
        }
    };
    for word in written.split_inclusive(' ') {
        socket
            .say(json!({"type": "input.text", "text": word}))
            .await?;
    }
    socket.say(json!({"type": "input.done"})).await?;
    audio.extend(socket.rest().await?);
    assert_eq!(audio.len(), whole.len());
    assert!(audio == whole, "the same samples, whenever the text came");
    Ok(())
}
