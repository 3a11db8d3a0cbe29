//! Conversations by voice with the toys: one speaks letters as tones, another reads them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use server::Server;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::harness::{PATIENCE, at_rest, changed, serve, serve_costing, speak};

/// Bytes of 20 ms at 24 kHz.
const CHUNK: usize = 960;

struct Caller {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    received: Vec<Value>,
}

fn url(server: &Server) -> String {
    format!("ws://{}/v1/realtime?model=gpt-realtime", server.address())
}

impl Caller {
    async fn open(server: &Server) -> Self {
        let (socket, _) = connect_async(url(server)).await.unwrap();
        let mut caller = Self {
            socket,
            received: Vec::new(),
        };
        caller.until("session.created").await;
        caller
    }

    async fn send(&mut self, event: Value) {
        let message = Message::text(event.to_string());
        self.socket.send(message).await.unwrap();
    }

    /// Says something, and is silent for a second after it; as fast as the server takes it.
    async fn say(&mut self, audio: &[u8]) {
        let silence = vec![0; 24_000 * 2];
        for chunk in audio.chunks(CHUNK).chain(silence.chunks(CHUNK)) {
            let audio = STANDARD.encode(chunk);
            self.send(json!({"type": "input_audio_buffer.append", "audio": audio}))
                .await;
        }
    }

    /// Takes its leave, so that nobody waits for it.
    async fn leave(mut self) {
        self.socket.close(None).await.unwrap();
    }

    /// The next event; none once the connection is closed.
    async fn next(&mut self) -> Option<Value> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.socket.next()).await;
            match next.unwrap_or_else(|_| panic!("no news in time: {:?}", self.types())) {
                Some(Ok(Message::Text(text))) => {
                    let event: Value = serde_json::from_str(&text).unwrap();
                    self.received.push(event.clone());
                    return Some(event);
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return None,
            }
        }
    }

    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().await;
            let event = event.unwrap_or_else(|| panic!("closed: {:?}", self.types()));
            assert!(event["type"] != "error" || kind == "error", "{event}");
            if event["type"] == kind {
                return event;
            }
        }
    }

    fn types(&self) -> Vec<&str> {
        let types = self.received.iter().map(|event| event["type"].as_str());
        types.map(Option::unwrap).collect()
    }

    /// The audio that was heard.
    fn heard(&self) -> Vec<u8> {
        let deltas = self.received.iter();
        let deltas = deltas.filter(|e| e["type"] == "response.output_audio.delta");
        let bytes = deltas.map(|e| STANDARD.decode(e["delta"].as_str().unwrap()).unwrap());
        bytes.collect::<Vec<_>>().concat()
    }
}

async fn spoken(server: &Server, text: &str) -> Vec<u8> {
    speak(server, &changed(&json!({"input": text}))).await.body
}

#[tokio::test]
async fn what_is_said_is_understood_and_answered_aloud() {
    let server = serve(|_| {}).await;
    let mut caller = Caller::open(&server).await;
    caller
        .send(
            json!({"type": "session.update", "session": {"type": "realtime",
            "audio": {"input": {"transcription": {"model": "whisper-1"}}}}}),
        )
        .await;
    caller.until("session.updated").await;
    let audio = spoken(&server, "hello there.").await;
    caller.say(&audio).await;
    let heard = caller
        .until("conversation.item.input_audio_transcription.completed")
        .await;
    assert_eq!(heard["transcript"], "hello there.");
    let done = caller.until("response.done").await;
    assert_eq!(done["response"]["status"], "completed", "{done}");
    let said = done["response"]["output"][0]["content"][0]["transcript"].clone();
    let said = said.as_str().unwrap();
    // As long, to the sample, as when the voice says it alone.
    assert_eq!(caller.heard().len(), spoken(&server, said).await.len());
    let timing = caller.until("promenade.turn.timing").await;
    assert!(timing["stages"]["sent"].is_number(), "{timing}");
    caller.leave().await;
    at_rest(&server).await;
}

#[tokio::test]
async fn speech_stops_an_answer_and_leaves_nothing_running() {
    let server = serve_costing(Duration::from_millis(5), |config| {
        config.realtime.max_tokens = 400;
    })
    .await;
    let mut caller = Caller::open(&server).await;
    let audio = spoken(&server, "tell me a long story.").await;
    caller.say(&audio).await;
    caller.until("response.output_audio.delta").await;
    caller.say(&audio).await;
    let done = caller.until("response.done").await;
    assert_eq!(done["response"]["status"], "cancelled", "{done}");
    assert_eq!(
        done["response"]["status_details"]["reason"],
        "turn_detected"
    );
    caller.until("response.output_audio.delta").await;
    caller.send(json!({"type": "response.cancel"})).await;
    let done = caller.until("response.done").await;
    assert_eq!(
        done["response"]["status_details"]["reason"],
        "client_cancelled"
    );
    caller.leave().await;
    at_rest(&server).await;
}

#[tokio::test]
async fn who_loses_the_connection_comes_back_and_misses_nothing() {
    let server = serve_costing(Duration::from_millis(3), |_| {}).await;
    let audio = spoken(&server, "hello there.").await;
    let mut caller = Caller::open(&server).await;
    let token = caller.received[0]["resume_token"].clone();
    caller.say(&audio).await;
    caller.until("response.output_audio.delta").await;
    let seq = caller.received.last().unwrap()["server_event_seq"].clone();
    let mut heard = std::mem::take(&mut caller.received);
    // Gone without a word.
    let MaybeTlsStream::Plain(stream) = caller.socket.get_mut() else {
        panic!("not encrypted");
    };
    stream.set_zero_linger().unwrap();
    drop(caller);

    let mut back = Caller::open(&server).await;
    back.send(json!({"type": "session.resume", "resume_token": "wrong", "last_event_seq": 0}))
        .await;
    let error = back.until("error").await;
    assert_eq!(error["error"]["code"], "session_not_resumable");
    back.send(json!({"type": "session.resume", "resume_token": token, "last_event_seq": seq}))
        .await;
    back.until("session.resumed").await;
    back.received.clear();
    let done = back.until("response.done").await;
    assert_eq!(done["response"]["status"], "completed");
    heard.append(&mut back.received);
    let numbers: Vec<u64> = heard
        .iter()
        .filter_map(|event| event["server_event_seq"].as_u64())
        .collect();
    assert!(numbers.windows(2).all(|w| w[1] == w[0] + 1), "{numbers:?}");
    back.received = heard;
    let said = done["response"]["output"][0]["content"][0]["transcript"].clone();
    assert_eq!(
        back.heard().len(),
        spoken(&server, said.as_str().unwrap()).await.len(),
        "no sample twice and none missing"
    );
    back.leave().await;
    at_rest(&server).await;
}

#[tokio::test]
async fn many_connect_talk_and_vanish() {
    let server = serve(|config| config.realtime.resume_seconds = 0.0).await;
    let audio = spoken(&server, "hello.").await;
    for n in 0..40 {
        let mut caller = Caller::open(&server).await;
        if n % 2 == 0 {
            caller.say(&audio).await;
        }
        if n % 4 == 0 {
            caller.until("response.created").await;
        }
    }
    at_rest(&server).await;
}

#[tokio::test]
async fn the_door_says_what_it_does_not_do() {
    let server = serve(|config| {
        config.auth.keys = vec!["secret".into()];
        config.realtime.resume_seconds = 0.0;
    })
    .await;
    let refused = |header: (&'static str, &'static str), url: String| async move {
        let mut request = url.into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert(
            "sec-websocket-protocol",
            "realtime, openai-insecure-api-key.secret".parse().unwrap(),
        );
        headers.insert(header.0, header.1.parse().unwrap());
        match connect_async(request).await {
            Err(Error::Http(response)) => {
                let body = response.body().clone().unwrap_or_default();
                let body: Value = serde_json::from_slice(&body).unwrap();
                (
                    response.status().as_u16(),
                    body["error"]["code"].as_str().unwrap().to_owned(),
                )
            }
            Ok(_) => (101, String::new()),
            Err(error) => panic!("{error}"),
        }
    };
    let url = url(&server);
    let fine = refused(("x-nothing", "1"), url.clone()).await;
    assert_eq!(fine.0, 101);
    let beta = refused(("openai-beta", "realtime=v1"), url.clone()).await;
    assert_eq!(beta, (400, "beta_api_shape_disabled".to_owned()));
    let other = url.replace("gpt-realtime", "toy");
    let other = refused(("x-nothing", "1"), other).await;
    assert_eq!(other, (404, "model_not_found".to_owned()));
    at_rest(&server).await;
}

#[tokio::test]
async fn where_nobody_judges_turns_a_second_of_silence_ends_them() {
    let server = serve(|_| {}).await;
    let mut caller = Caller::open(&server).await;
    caller
        .send(
            json!({"type": "session.update", "session": {"type": "realtime",
            "audio": {"input": {"turn_detection": {"type": "semantic_vad"}}}}}),
        )
        .await;
    caller.until("session.updated").await;
    let audio = spoken(&server, "hello there.").await;
    // Two seconds of silence: less than the four that an unfinished turn is given.
    caller.say(&audio).await;
    caller.say(&[]).await;
    let done = caller.until("response.done").await;
    assert_eq!(done["response"]["status"], "completed", "{done}");
    caller.leave().await;
    at_rest(&server).await;
}
