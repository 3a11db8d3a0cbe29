//! Stories on the speech socket.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use server::Server;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::harness::{PATIENCE, at_rest, good, metric, serve, serve_costing, speak};

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

#[derive(Debug, PartialEq)]
enum Got {
    Json(Value),
    Audio(Vec<u8>),
    Closed(u16, String),
    Gone,
}

impl Socket {
    async fn open(server: &Server) -> Self {
        let url = format!("ws://{}/v1/audio/speech/stream", server.address());
        Self(connect_async(url).await.unwrap().0)
    }

    async fn configured(server: &Server, mut config: Value) -> Self {
        let mut socket = Self::open(server).await;
        config["type"] = json!("session.config");
        socket.say(&config).await;
        let Got::Json(answer) = socket.next().await else {
            panic!()
        };
        assert_eq!(answer["type"], "session.configured");
        socket
    }

    async fn say(&mut self, message: &Value) {
        self.0
            .send(Message::text(message.to_string()))
            .await
            .unwrap();
    }

    async fn next(&mut self) -> Got {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.0.next())
                .await
                .expect("news in time");
            return match next {
                Some(Ok(Message::Text(text))) => Got::Json(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Binary(bytes))) => Got::Audio(bytes.to_vec()),
                Some(Ok(Message::Close(Some(frame)))) => {
                    Got::Closed(frame.code.into(), frame.reason.to_string())
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(_) | None => Got::Gone,
            };
        }
    }

    /// All up to a message of this type, which is the last one.
    async fn until(&mut self, kind: &str) -> Vec<Got> {
        let mut all = Vec::new();
        loop {
            let got = self.next().await;
            let over = match &got {
                Got::Json(value) => value["type"] == kind,
                Got::Audio(_) => false,
                other => panic!("{other:?} before {kind}: {all:?}"),
            };
            all.push(got);
            if over {
                return all;
            }
        }
    }
}

fn audio(all: &[Got]) -> Vec<u8> {
    let bytes = all.iter().filter_map(|got| match got {
        Got::Audio(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    bytes.collect::<Vec<_>>().concat()
}

fn last(all: &[Got]) -> &Value {
    match all.last() {
        Some(Got::Json(value)) => value,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn text_in_pieces_sounds_like_the_whole() {
    let server = serve(|_| {}).await;
    let mut socket = Socket::configured(&server, json!({"seed": 7})).await;
    for piece in ["Hel", "lo the", "re."] {
        socket
            .say(&json!({"type": "input.text", "text": piece}))
            .await;
    }
    socket.say(&json!({"type": "input.done"})).await;
    let all = socket.until("session.done").await;
    assert_eq!(audio(&all), speak(&server, &good()).await.body);
    let done = last(&all);
    assert_eq!(
        (&done["total_sentences"], &done["audio_seconds"]),
        (&json!(1), &json!(0.72))
    );
    assert!(done["rtf"].is_number());
    socket.say(&json!({"type": "session.close"})).await;
    socket.until("context.closed").await;
    assert!(matches!(socket.next().await, Got::Closed(1000, _)));
    drop(socket);
    at_rest(&server).await;
    let count = "promenade_first_chunk_handover_seconds_count{door=\"ws\"}";
    assert_eq!(metric(&server, count).await, 1.0);
}

#[tokio::test]
async fn audio_of_the_first_sentence_comes_before_the_second_is_written() {
    let server = serve(|_| {}).await;
    let mut socket = Socket::configured(&server, json!({"seed": 7})).await;
    socket
        .say(&json!({"type": "input.text", "text": "The first sentence is here. And "}))
        .await;
    let all = socket.until("audio.start").await;
    assert_eq!(last(&all)["sentence_text"], "The first sentence is here.");
    assert!(matches!(socket.next().await, Got::Audio(_) | Got::Json(_)));
    socket.say(&json!({"type": "input.clear"})).await;
    socket.until("input.cleared").await;
}

#[tokio::test]
async fn contexts_speak_on_one_socket_without_mixing() {
    let server = serve(|_| {}).await;
    let mut socket = Socket::configured(&server, json!({"seed": 7})).await;
    socket
        .say(&json!({"type": "context.open", "context_id": "b", "voice": "square"}))
        .await;
    for context in ["a", "b"] {
        let text = json!({"type": "input.text", "context_id": context, "text": "Hello there."});
        socket.say(&text).await;
        socket
            .say(&json!({"type": "context.close", "context_id": context}))
            .await;
    }
    let mut heard = std::collections::BTreeMap::<String, Vec<u8>>::new();
    let mut closed = 0;
    while closed < 2 {
        match socket.next().await {
            Got::Json(value) if value["type"] == "audio.chunk" => {
                let Got::Audio(bytes) = socket.next().await else {
                    panic!("a frame follows")
                };
                assert_eq!(value["bytes"], bytes.len());
                let context = value["context_id"].as_str().unwrap().to_owned();
                heard.entry(context).or_default().extend(bytes);
            }
            Got::Json(value) => closed += usize::from(value["type"] == "context.closed"),
            other => panic!("{other:?}"),
        }
    }
    let sine = speak(&server, &good()).await.body;
    assert_eq!(heard["a"], sine);
    assert_eq!(heard["b"].len(), sine.len());
    assert_ne!(heard["b"], sine);
}

#[tokio::test]
async fn a_clear_stops_the_model() {
    let server = serve_costing(std::time::Duration::from_millis(5), |_| {}).await;
    let mut socket = Socket::configured(&server, json!({"seed": 7})).await;
    let text = "Some words that go on. ".repeat(200);
    socket
        .say(&json!({"type": "input.text", "text": text}))
        .await;
    socket.until("audio.start").await;
    socket.say(&json!({"type": "input.clear"})).await;
    let all = socket.until("input.cleared").await;
    let Got::Json(done) = &all[all.len() - 2] else {
        panic!("{all:?}")
    };
    assert_eq!(
        (&done["type"], &done["cleared"]),
        (&json!("audio.done"), &json!(true))
    );
    socket
        .say(&json!({"type": "input.text", "text": "Again."}))
        .await;
    socket.say(&json!({"type": "input.done"})).await;
    assert_eq!(
        last(&socket.until("session.done").await)["utterance_index"],
        1
    );
    assert_eq!(
        metric(&server, "promenade_requests_total{end=\"cancelled\"}").await,
        1.0
    );
}

#[tokio::test]
async fn a_client_that_vanishes_leaves_nothing() {
    let server = serve_costing(std::time::Duration::from_millis(2), |_| {}).await;
    for _ in 0..20 {
        let mut socket = Socket::configured(&server, json!({"seed": 7})).await;
        for context in ["a", "b", "c"] {
            let text = "Some words that go on. ".repeat(100);
            socket
                .say(&json!({"type": "input.text", "context_id": context, "text": text}))
                .await;
        }
        socket.until("audio.start").await;
        drop(socket);
    }
    at_rest(&server).await;
}

#[tokio::test]
async fn what_is_wrong_is_said_and_the_socket_stays() {
    let server = serve(|_| {}).await;
    let mut socket = Socket::open(&server).await;
    for (message, code) in [
        (
            json!({"type": "input.text", "text": "x"}),
            "session_config_required",
        ),
        (
            json!({"type": "session.config", "voice": "nobody"}),
            "voice_not_found",
        ),
        (
            json!({"type": "session.config", "response_format": "aac"}),
            "unsupported_format",
        ),
        (json!({"type": "what"}), "invalid_value"),
    ] {
        socket.say(&message).await;
        assert_eq!(last(&socket.until("error").await)["code"], code);
    }
    socket.0.send(Message::binary(vec![1, 2])).await.unwrap();
    assert_eq!(
        last(&socket.until("error").await)["code"],
        "binary_not_accepted"
    );
    socket.say(&json!({"type": "session.config"})).await;
    socket.until("session.configured").await;
}

#[tokio::test]
async fn limits_close_the_socket_with_their_reason() {
    let server = serve(|config| {
        config.limits.config_seconds = 0.2;
        config.limits.idle_seconds = 0.2;
        config.limits.message_bytes = 4096;
    })
    .await;
    let mut silent = Socket::open(&server).await;
    assert_eq!(last(&silent.until("error").await)["code"], "config_timeout");
    assert!(matches!(silent.next().await, Got::Closed(1008, _)));

    let mut idle = Socket::configured(&server, json!({"seed": 7})).await;
    assert_eq!(last(&idle.until("error").await)["code"], "idle_timeout");
    assert!(matches!(idle.next().await, Got::Closed(1000, _)));

    let mut loud = Socket::configured(&server, json!({"seed": 7})).await;
    loud.say(&json!({"type": "input.text", "text": "a".repeat(5000)}))
        .await;
    assert_eq!(
        loud.next().await,
        Got::Closed(1009, "message too big".into())
    );
    drop((silent, idle, loud));
    at_rest(&server).await;
}

#[tokio::test]
async fn sockets_have_a_limit_and_keys_and_origins() {
    let server = serve(|config| {
        config.limits.sockets = 1;
        config.auth.keys = vec!["secret".into()];
    })
    .await;
    let url = format!("ws://{}/v1/audio/speech/stream", server.address());
    let status = |result: Result<_, tokio_tungstenite::tungstenite::Error>| match result {
        Ok(_) => 101,
        Err(tokio_tungstenite::tungstenite::Error::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
    };
    let request = |origin: Option<&'static str>, key: bool| {
        let mut request = url.as_str().into_client_request().unwrap();
        if let Some(origin) = origin {
            request
                .headers_mut()
                .insert("origin", origin.parse().unwrap());
        }
        if key {
            let protocols = "realtime, openai-insecure-api-key.secret";
            request
                .headers_mut()
                .insert("sec-websocket-protocol", protocols.parse().unwrap());
        }
        request
    };
    assert_eq!(
        status(connect_async(request(None, false)).await.map(drop)),
        401
    );
    let stranger = request(Some("https://evil.example"), true);
    assert_eq!(status(connect_async(stranger).await.map(drop)), 403);
    let (held, response) = connect_async(request(None, true)).await.unwrap();
    assert_eq!(response.headers()["sec-websocket-protocol"], "realtime");
    assert_eq!(
        status(connect_async(request(None, true)).await.map(drop)),
        503
    );
    drop(held);
}
