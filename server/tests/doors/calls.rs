//! Conversations by WebRTC, with the toys: one speaks letters as tones, another reads them.

use serde_json::{Value, json};
use server::Server;

use crate::caller::{Audio, Caller};
use crate::harness::{
    Answer, PATIENCE, at_rest, changed, exchange, get_with, metric, post_to, serve, serve_costing,
    speak,
};

const CALLS: &str = "/v1/realtime/calls";
const SDP: &str = "content-type: application/sdp\r\n";

/// A form with an offer, and a session where one is given.
async fn call_with(server: &Server, offer: &str, session: Option<&str>) -> Answer {
    let mut form =
        format!("--x\r\ncontent-disposition: form-data; name=\"sdp\"\r\n\r\n{offer}\r\n");
    if let Some(session) = session {
        form += "--x\r\ncontent-disposition: form-data; name=\"session\"\r\n";
        form += &format!("content-type: application/json\r\n\r\n{session}\r\n");
    }
    form += "--x--\r\n";
    let headers = "content-type: multipart/form-data; boundary=x\r\n";
    exchange(server, &post_to(CALLS, headers, form.as_bytes())).await
}

/// A call that is connected, and where it is.
async fn connect(server: &Server, audio: Audio, session: &Value) -> (Line, String) {
    let (mut caller, offer) = Caller::new(audio).await;
    let answer = call_with(server, &offer, Some(&session.to_string())).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/sdp"));
    let location = answer.header("location").unwrap().to_owned();
    caller
        .accept(std::str::from_utf8(&answer.body).unwrap())
        .await;
    caller.connected().await;
    let received = Vec::new();
    (Line { caller, received }, location)
}

/// A caller and what it has read.
struct Line {
    caller: Caller,
    received: Vec<Value>,
}

impl Line {
    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let text = tokio::time::timeout(PATIENCE / 2, self.caller.read()).await;
            let text = text.unwrap_or_else(|_| panic!("no {kind}: {:?}", self.types()));
            let event: Value = serde_json::from_str(&text).unwrap();
            assert!(event["type"] != "error" || kind == "error", "{event}");
            self.received.push(event.clone());
            if event["type"] == kind {
                return event;
            }
        }
    }

    /// The answer that was spoken first, as the conversation has it now.
    async fn item(&mut self) -> Value {
        let added = |event: &&Value| {
            event["type"] == "response.output_item.added" && event["item"]["role"] == "assistant"
        };
        let item = self.received.iter().find(added).unwrap()["item"]["id"].clone();
        self.send(json!({"type": "conversation.item.retrieve", "item_id": item}))
            .await;
        self.until("conversation.item.retrieved").await["item"].clone()
    }

    async fn send(&self, event: Value) {
        self.caller.write(&event.to_string()).await;
    }

    fn types(&self) -> Vec<&str> {
        self.received
            .iter()
            .filter_map(|event| event["type"].as_str())
            .collect()
    }

    /// Says something, and is silent for a while.
    async fn say(&mut self, samples: &[f32]) {
        self.caller.play(samples).await;
        self.caller.play(&[0.0; 14_400]).await;
    }
}

/// What the toy voice makes of a text, at 24 kHz.
async fn spoken(server: &Server, text: &str) -> Vec<f32> {
    let bytes = speak(server, &changed(&json!({"input": text}))).await.body;
    let samples = bytes.chunks_exact(2);
    samples
        .map(|s| f32::from(i16::from_le_bytes([s[0], s[1]])) / 32_768.0)
        .collect()
}

fn transcribed() -> Value {
    json!({"type": "realtime", "model": "gpt-realtime",
           "audio": {"input": {"transcription": {"model": "whisper-1"}}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_a_conversation_by_ear() {
    let server = serve(|_| {}).await;
    let (mut line, location) = connect(&server, Audio::Both, &transcribed()).await;
    let created = line.until("session.created").await;
    assert_eq!(
        created["session"]["audio"]["input"]["transcription"]["model"],
        "toy-scribe"
    );
    assert_eq!(metric(&server, "promenade_calls_active").await, 1.0);
    let question = spoken(&server, "hello there.").await;
    line.say(&question).await;
    let heard = line
        .until("conversation.item.input_audio_transcription.completed")
        .await;
    assert_eq!(heard["transcript"], "hello there.");
    let done = line.until("response.done").await;
    assert_eq!(done["response"]["status"], "completed", "{done}");
    line.until("output_audio_buffer.stopped").await;
    let types = line.types();
    assert!(types.contains(&"output_audio_buffer.started"), "{types:?}");
    assert!(!types.contains(&"response.output_audio.delta"), "{types:?}");
    // What was said came by the other way: as long as the voice makes it, and as loud.
    let said = done["response"]["output"][0]["content"][0]["transcript"]
        .as_str()
        .unwrap();
    let expected = spoken(&server, said).await;
    let loud = |samples: &[f32]| {
        let frames = samples.chunks(480);
        frames
            .filter(|frame| frame.iter().any(|s| s.abs() > 0.05))
            .count()
    };
    let (ours, theirs) = (loud(&expected), loud(&line.caller.heard()));
    assert!(
        theirs.abs_diff(ours) <= 4 + ours / 10,
        "{theirs} frames of {ours}"
    );
    // Audio comes by its track only.
    line.send(json!({"type": "input_audio_buffer.append", "audio": "AAAA", "event_id": "e1"}))
        .await;
    let error = line.until("error").await;
    assert_eq!(error["error"]["code"], "audio_comes_by_rtp");
    let ended = exchange(&server, &post_to(&format!("{location}/hangup"), "", b"")).await;
    assert_eq!(ended.status, 200, "{ended:?}");
    at_rest(&server).await;
    let again = exchange(&server, &post_to(&format!("{location}/hangup"), "", b"")).await;
    assert_eq!(again.status, 200, "{again:?}");
    let none = exchange(&server, &post_to(&format!("{CALLS}/rtc_0/hangup"), "", b"")).await;
    assert_eq!((none.status, none.code().as_str()), (404, "call_not_found"));
    assert!(
        metric(
            &server,
            "promenade_call_packets_total{packets=\"received\"}"
        )
        .await
            > 30.0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn speech_stops_what_is_said_at_once_and_the_end_of_a_call_ends_all() {
    let server = serve_costing(std::time::Duration::from_millis(2), |config| {
        config.realtime.max_tokens = 400;
    })
    .await;
    let (mut line, _) = connect(&server, Audio::Both, &transcribed()).await;
    let story = spoken(&server, "tell me a long story.").await;
    line.say(&story).await;
    line.until("output_audio_buffer.started").await;
    line.caller.play(&[0.0; 24_000]).await;
    line.say(&story).await;
    line.until("output_audio_buffer.cleared").await;
    line.until("output_audio_buffer.started").await;
    // Of the first answer as much is kept as was heard: a second or two of many.
    let item = line.item().await;
    let kept = item["content"][0]["transcript"].as_str().unwrap();
    assert!(!kept.is_empty() && kept.len() < 200, "{item}");
    // The next is being said, and whoever should hear it leaves.
    line.caller.hang_up().await;
    at_rest(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_listens_or_only_reads_is_served_too() {
    let server = serve(|_| {}).await;
    for audio in [Audio::HearOnly, Audio::None] {
        let (mut line, location) = connect(&server, audio, &transcribed()).await;
        line.until("session.created").await;
        line.send(
            json!({"type": "conversation.item.create", "item": {"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "hello there."}]}}),
        )
        .await;
        line.send(json!({"type": "response.create"})).await;
        let done = line.until("response.done").await;
        assert_eq!(done["response"]["status"], "completed", "{done}");
        line.until("output_audio_buffer.stopped").await;
        let heard = line.caller.heard().iter().any(|s| s.abs() > 0.05);
        assert_eq!(heard, audio == Audio::HearOnly);
        exchange(&server, &post_to(&format!("{location}/hangup"), "", b"")).await;
        at_rest(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_secret_opens_the_session_that_it_stands_for_and_nothing_else() {
    let server = serve(|config| {
        config.auth.keys = vec!["secret".into()];
        config.realtime.resume_seconds = 0.0;
    })
    .await;
    let json_with =
        |key: &str| format!("content-type: application/json\r\nauthorization: Bearer {key}\r\n");
    let path = "/v1/realtime/client_secrets";
    let body = json!({"expires_after": {"anchor": "created_at", "seconds": 60},
                      "session": {"type": "realtime", "instructions": "Be a pirate."}});
    let body = body.to_string();
    let made = exchange(
        &server,
        &post_to(path, &json_with("secret"), body.as_bytes()),
    )
    .await;
    assert_eq!(made.status, 200, "{made:?}");
    let made = made.json();
    assert_eq!(made["session"]["instructions"], "Be a pirate.");
    let secret = made["value"].as_str().unwrap();
    assert!(
        secret.starts_with("ek_") && made["expires_at"].is_u64(),
        "{made}"
    );

    let (mut caller, offer) = Caller::new(Audio::Both).await;
    let headers = format!("{SDP}authorization: Bearer {secret}\r\n");
    let answer = exchange(&server, &post_to(CALLS, &headers, offer.as_bytes())).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    caller
        .accept(std::str::from_utf8(&answer.body).unwrap())
        .await;
    let created: Value = serde_json::from_str(&caller.read().await).unwrap();
    assert_eq!(created["session"]["instructions"], "Be a pirate.");
    caller.hang_up().await;

    let speech = post_to("/v1/audio/speech", &json_with(secret), b"{}");
    for (request, status, code) in [
        (speech, 403, "client_secret_forbidden"),
        (
            post_to(path, &json_with(secret), body.as_bytes()),
            403,
            "client_secret_forbidden",
        ),
        (
            post_to(path, &json_with("ek_0"), b"{}"),
            401,
            "invalid_client_secret",
        ),
        (
            post_to(path, "content-type: application/json\r\n", b"{}"),
            401,
            "missing_api_key",
        ),
        (
            post_to(
                path,
                &json_with("secret"),
                b"{\"session\": {\"type\": \"realtime\", \"voise\": 1}}",
            ),
            400,
            "unknown_parameter",
        ),
    ] {
        let answer = exchange(&server, &request).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
    }
    let socket = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
                  sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let protocol =
        format!("{socket}sec-websocket-protocol: realtime, openai-insecure-api-key.{secret}\r\n");
    let opened = get_with(&server, "/v1/realtime", &protocol).await;
    assert_eq!(opened.status, 101);
    at_rest(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_call_is_refused_by_name() {
    let server = serve(|config| config.rtc.max_peers = 1).await;
    let (_caller, offer) = Caller::new(Audio::Both).await;
    let post = |headers: &'static str, body: String| {
        let server = &server;
        async move { exchange(server, &post_to(CALLS, headers, body.as_bytes())).await }
    };
    for (answer, status, code) in [
        (
            post("content-type: application/json\r\n", "{}".into()).await,
            415,
            "unsupported_media_type",
        ),
        (post("", offer.clone()).await, 415, "unsupported_media_type"),
        (post(SDP, String::new()).await, 400, "invalid_offer"),
        (post(SDP, "v=0\r\n".into()).await, 400, "invalid_offer"),
        (
            post(SDP, offer[..offer.len() / 3].into()).await,
            400,
            "invalid_offer",
        ),
        (
            post(SDP, "x".repeat(3_000_000)).await,
            413,
            "body_too_large",
        ),
        (
            post(
                "content-type: multipart/form-data; boundary=x\r\n",
                "--x--\r\n".into(),
            )
            .await,
            400,
            "missing_required_parameter",
        ),
        (
            call_with(&server, &offer, Some("{")).await,
            400,
            "invalid_json",
        ),
        (
            call_with(&server, &offer, Some("[]")).await,
            400,
            "invalid_type",
        ),
        (
            call_with(
                &server,
                &offer,
                Some("{\"type\": \"realtime\", \"model\": \"nobody\"}"),
            )
            .await,
            404,
            "model_not_found",
        ),
        (
            post(
                "content-type: application/sdp\r\nopenai-beta: realtime=v1\r\n",
                offer.clone(),
            )
            .await,
            400,
            "beta_api_shape_disabled",
        ),
    ] {
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{answer:?}"
        );
    }
    assert_eq!(call_with(&server, &offer, None).await.status, 201);
    let full = call_with(&server, &offer, None).await;
    assert_eq!((full.status, full.code().as_str()), (503, "overloaded"));
    assert!(full.header("retry-after").is_some());
    server.drain().await;
}
