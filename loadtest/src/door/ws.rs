//! `WS /v1/audio/speech/stream`: text in pieces, audio in binary messages between `audio.start`
//! and `audio.done`, then `session.done`.
//!
//! The whole text is sent at once, so that this door's figures stand beside those of the other.

use ::http::header;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::{Ask, Door, End, connect, is_refusal, millis};
use crate::clock::Clock;
use crate::target::Target;
use crate::trace::{Failure, Recorder};

/// Where the stream is opened.
const PATH: &str = "/v1/audio/speech/stream";

/// The largest message that is taken: 40 s of audio at 48 kHz in one piece.
const LARGEST_MESSAGE: usize = 4 << 20;

/// An open stream.
pub(crate) type Socket = WebSocketStream<TcpStream>;

pub(super) async fn speak(
    door: &Door,
    clock: &Clock,
    text: &str,
    seen: &mut Recorder,
) -> Result<(), End> {
    let stream = connect(&door.target).await?;
    seen.connected(clock.now());
    let mut socket = open(stream, &door.target, &door.ask).await?;
    send_json(&mut socket, &json!({"type": "input.text", "text": text})).await?;
    send_json(&mut socket, &json!({"type": "input.done"})).await?;
    receive(&mut socket, clock, seen).await
}

/// Opens a stream and configures it, with no text yet.
pub(crate) async fn open(stream: TcpStream, target: &Target, ask: &Ask) -> Result<Socket, End> {
    let url = format!("ws://{}{}", target.authority, target.path(PATH));
    let mut request = url.into_client_request().map_err(cut_off)?;
    if let Some(key) = &ask.key {
        let value = format!("Bearer {key}").parse();
        let value = value.map_err(|_| Failure::Malformed("the key is no header value".into()))?;
        request.headers_mut().insert(header::AUTHORIZATION, value);
    }
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_MESSAGE))
        .max_frame_size(Some(LARGEST_MESSAGE));
    let opened = client_async_with_config(request, stream, Some(config)).await;
    let (mut socket, _) = opened.map_err(handshake_end)?;
    let mut fields = ask.fields();
    fields.insert("type".into(), "session.config".into());
    send_json(&mut socket, &Value::Object(fields)).await?;
    Ok(socket)
}

/// Is this message an `error` event?
pub(crate) fn is_error(message: &Message) -> bool {
    let text = message.to_text().unwrap_or_default();
    let event: Value = serde_json::from_str(text).unwrap_or_default();
    event["type"] == "error"
}

pub(crate) async fn send_json(socket: &mut Socket, message: &Value) -> Result<(), Failure> {
    let text = Utf8Bytes::from(message.to_string());
    socket.send(Message::Text(text)).await.map_err(cut_off)
}

/// Takes messages until the stream is over.
async fn receive(socket: &mut Socket, clock: &Clock, seen: &mut Recorder) -> Result<(), End> {
    let mut heard = false;
    while let Some(message) = socket.next().await {
        let now = clock.now();
        match message.map_err(cut_off)? {
            Message::Binary(bytes) => {
                heard = true;
                seen.bytes(now, &bytes)?;
            }
            Message::Text(text) => {
                if event(&text, heard, seen)? == Next::Over {
                    // Politeness only: the figures are complete, and the server may be gone.
                    let _ = socket.close(None).await;
                    return Ok(());
                }
            }
            Message::Close(frame) => return Err(closed(frame, heard)),
            // The library answers pings by itself.
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
    Err(Failure::CutOff("the socket closed before session.done".into()).into())
}

/// What follows on an event.
#[derive(PartialEq, Eq)]
enum Next {
    More,
    Over,
}

/// Acts on one event. Events that say nothing about audio are passed over.
fn event(text: &str, heard: bool, seen: &mut Recorder) -> Result<Next, End> {
    let event: Value = serde_json::from_str(text)
        .map_err(|error| Failure::Malformed(format!("an event that is no JSON: {error}")))?;
    match event["type"].as_str().unwrap_or_default() {
        "audio.start" => {
            if let Some(rate) = event["sample_rate"].as_u64() {
                seen.rate(u32::try_from(rate).unwrap_or(0))?;
            }
            Ok(Next::More)
        }
        "audio.done" => match failed_audio(&event["error"]) {
            Some(words) => Err(Failure::Server(words).into()),
            None => Ok(Next::More),
        },
        "session.done" => done(&event, seen),
        "error" => Err(error_end(&event, heard)),
        _ => Ok(Next::More),
    }
}

/// The stream is over. Where it tells its RTF and its audio, their product is the model's time.
fn done(event: &Value, seen: &mut Recorder) -> Result<Next, End> {
    if let Some(words) = failed_audio(&event["error"]) {
        return Err(Failure::Server(words).into());
    }
    if let (Some(rtf), Some(seconds)) = (event["rtf"].as_f64(), event["audio_seconds"].as_f64()) {
        let wall = millis(rtf * seconds * 1e3);
        wall.into_iter().for_each(|wall| seen.model_time(wall));
    }
    Ok(Next::Over)
}

/// `audio.done` carries an error in words, an object, or a mark that there was one.
fn failed_audio(error: &Value) -> Option<String> {
    match error {
        Value::Null | Value::Bool(false) => None,
        Value::String(words) => Some(words.clone()),
        other => Some(other.to_string()),
    }
}

/// An error before any audio that speaks of room is a refusal; any other is a failure.
fn error_end(event: &Value, heard: bool) -> End {
    let error = if event["error"].is_object() {
        &event["error"]
    } else {
        event
    };
    let word = |field: &str| error[field].as_str().unwrap_or_default();
    let status = match (word("code"), word("type")) {
        ("rate_limit_exceeded", _) | (_, "rate_limit_error") => 429,
        ("overloaded" | "loading" | "server_closing" | "session_limit_reached", _)
        | (_, "overloaded_error") => 503,
        _ => 0,
    };
    if status > 0 && !heard {
        return End::Refused(status);
    }
    let (code, message) = (word("code"), word("message"));
    Failure::Server(format!("{code}: {message}")).into()
}

fn closed(frame: Option<CloseFrame>, heard: bool) -> End {
    match frame {
        Some(frame) if frame.code == CloseCode::Again && !heard => End::Refused(503),
        Some(frame) => {
            Failure::CutOff(format!("closed with {}: {}", frame.code, frame.reason)).into()
        }
        None => Failure::CutOff("closed before session.done".into()).into(),
    }
}

fn handshake_end(error: Error) -> End {
    match error {
        Error::Http(response) => {
            let status = response.status().as_u16();
            if is_refusal(status) {
                return End::Refused(status);
            }
            let body = response.into_body().unwrap_or_default();
            let body = String::from_utf8_lossy(&Bytes::from(body))
                .chars()
                .take(400)
                .collect();
            Failure::Status { status, body }.into()
        }
        other => cut_off(other).into(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "fits map_err")]
fn cut_off(error: Error) -> Failure {
    Failure::CutOff(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::trace::Framing;

    fn check(text: &str, heard: bool) -> Result<bool, End> {
        let framing = Framing::Pcm { rate: 24_000 };
        let mut seen = Recorder::new(framing, Duration::ZERO, Duration::ZERO, 1);
        event(text, heard, &mut seen).map(|next| next == Next::Over)
    }

    #[test]
    fn events_end_the_stream_as_they_say() {
        assert_eq!(check(r#"{"type":"session.configured"}"#, false), Ok(false));
        assert_eq!(
            check(r#"{"type":"audio.start","sample_rate":22050}"#, false),
            Ok(false)
        );
        assert_eq!(
            check(
                r#"{"type":"audio.done","total_bytes":4,"error":false}"#,
                true
            ),
            Ok(false)
        );
        assert_eq!(
            check(r#"{"type":"session.done","total_sentences":1}"#, true),
            Ok(true)
        );
        let full = r#"{"type":"error","error":{"code":"overloaded","message":"full"}}"#;
        assert_eq!(check(full, false), Err(End::Refused(503)));
        assert!(matches!(
            check(full, true),
            Err(End::Failed(Failure::Server(_)))
        ));
        let bad = r#"{"type":"error","code":"invalid_voice","message":"no voice x"}"#;
        let words = Failure::Server("invalid_voice: no voice x".into());
        assert_eq!(check(bad, false), Err(End::Failed(words)));
        let done = r#"{"type":"audio.done","error":"model failed"}"#;
        assert_eq!(
            check(done, true),
            Err(Failure::Server("model failed".into()).into())
        );
        assert!(matches!(
            check("{", true),
            Err(End::Failed(Failure::Malformed(_)))
        ));
        let done = r#"{"type":"session.done","error":true}"#;
        assert_eq!(
            check(done, true),
            Err(Failure::Server("true".into()).into())
        );
        let zero = r#"{"type":"audio.start","sample_rate":0}"#;
        assert!(matches!(
            check(zero, false),
            Err(End::Failed(Failure::Malformed(_)))
        ));
    }
}
