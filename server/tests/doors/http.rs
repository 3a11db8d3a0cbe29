//! What a client gets who asks properly.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::harness::{
    Answer, changed, exchange, get, get_with, good, metric, post_with, serve, speak,
};

/// The toy sounds each letter for 60 ms at 24 kHz.
const LETTER_BYTES: usize = 1440 * 2;

#[tokio::test]
async fn a_text_is_spoken_in_every_format() {
    let server = serve(|_| {}).await;
    let pcm = speak(&server, &good()).await;
    assert_eq!((pcm.status, pcm.whole), (200, true));
    assert_eq!(pcm.body.len(), "Hello there.".len() * LETTER_BYTES);
    assert_eq!(
        pcm.header("content-type"),
        Some("audio/pcm; rate=24000; channels=1; encoding=s16le")
    );
    for (format, kind, magic) in [
        ("wav", "audio/wav", &b"RIFF"[..]),
        ("mp3", "audio/mpeg", b"\xff"),
        ("opus", "audio/ogg", b"OggS"),
        ("flac", "audio/flac", b"fLaC"),
    ] {
        let answer = speak(&server, &changed(&json!({"response_format": format}))).await;
        assert_eq!((answer.status, answer.whole), (200, true), "{format}");
        assert!(
            answer.header("content-type").unwrap().starts_with(kind),
            "{format}"
        );
        assert!(
            answer.body.starts_with(magic),
            "{format}: {:?}",
            &answer.body[..8]
        );
    }
    let default = speak(&server, &changed(&json!({"response_format": null}))).await;
    assert_eq!(default.header("content-type"), Some("audio/mpeg"));
}

#[tokio::test]
async fn a_wav_has_one_header_that_is_true_when_it_can_be() {
    let server = serve(|_| {}).await;
    let streamed = speak(&server, &changed(&json!({"response_format": "wav"}))).await;
    let pcm = speak(&server, &good()).await;
    assert_eq!(streamed.body[44..], pcm.body[..]);
    assert_eq!(streamed.body.windows(4).filter(|w| w == b"RIFF").count(), 1);
    assert_eq!(streamed.header("transfer-encoding"), Some("chunked"));

    let whole = speak(
        &server,
        &changed(&json!({"response_format": "wav", "stream": false})),
    )
    .await;
    assert_eq!(
        whole.header("content-length").unwrap(),
        whole.body.len().to_string()
    );
    let field = |at: usize| u32::from_le_bytes(whole.body[at..at + 4].try_into().unwrap());
    assert_eq!(field(4) as usize, whole.body.len() - 8);
    assert_eq!(field(40) as usize, whole.body.len() - 44);
    assert_eq!(whole.body[44..], pcm.body[..]);
}

fn events(answer: &Answer) -> Vec<Value> {
    let text = std::str::from_utf8(&answer.body).unwrap();
    let events = text.split("\n\n").filter(|event| !event.is_empty());
    events
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

#[tokio::test]
async fn events_carry_the_same_audio_and_its_usage() {
    let server = serve(|_| {}).await;
    let answer = speak(&server, &changed(&json!({"stream_format": "sse"}))).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = events(&answer);
    let (done, deltas) = events.split_last().unwrap();
    let mut audio = Vec::new();
    for delta in deltas {
        assert_eq!(delta["type"], "speech.audio.delta");
        let bytes = delta["audio"].as_str().unwrap();
        audio.extend(
            base64::engine::general_purpose::STANDARD
                .decode(bytes)
                .unwrap(),
        );
    }
    assert_eq!(audio, speak(&server, &good()).await.body);
    assert_eq!(done["type"], "speech.audio.done");
    // 12 letters of 60 ms: 0.72 s, which begin 15 tokens of 50 ms.
    let usage = json!({"input_tokens": 12, "output_tokens": 15, "total_tokens": 27});
    assert_eq!(done["usage"], usage);
}

#[tokio::test]
async fn extensions_and_unknown_fields_do_no_harm_and_are_named() {
    let server = serve(|_| {}).await;
    let more = json!({
        "voice": {"id": "square"}, "instructions": "Whisper.", "seed": 7, "speed": 2.0,
        "language": "en", "ref_text": "x", "stream": true, "sample_rate": 24000,
    });
    let answer = speak(&server, &changed(&more)).await;
    assert_eq!(answer.status, 200);
    let ignored = answer.header("x-promenade-ignored").unwrap();
    assert_eq!(ignored, "instructions, language, ref_text");
}

#[tokio::test]
async fn stock_names_are_understood() {
    let server = serve(|_| {}).await;
    for model in ["tts-1", "tts-1-hd", "gpt-4o-mini-tts"] {
        for voice in ["alloy", "nova", "sine"] {
            let body = changed(&json!({"model": model, "voice": voice}));
            assert_eq!(speak(&server, &body).await.status, 200, "{model} {voice}");
        }
    }
}

#[tokio::test]
async fn what_there_is_can_be_asked_for() {
    let server = serve(|_| {}).await;
    let models = get(&server, "/v1/models").await.json();
    assert_eq!(
        (&models["object"], &models["data"][0]["id"]),
        (&json!("list"), &json!("toy"))
    );
    assert_eq!(models["data"][0]["object"], "model");
    assert_eq!(get(&server, "/v1/models/tts-1").await.json()["id"], "toy");
    let voices = get(&server, "/v1/audio/voices").await.json();
    assert_eq!(
        (&voices["voices"][0]["id"], &voices["aliases"]["alloy"]),
        (&json!("sine"), &json!("sine"))
    );
    assert_eq!(get(&server, "/health").await.json()["status"], "ok");
    assert_eq!(
        get(&server, "/ready").await.json()["models"],
        json!(["toy", "toy-chat", "toy-failing", "toy-scribe", "toy-vad"])
    );
    let graph = get(&server, "/v1/models/toy/graph?format=json")
        .await
        .json();
    assert!(
        graph["nodes"]
            .as_array()
            .is_some_and(|nodes| !nodes.is_empty()),
        "{graph}"
    );
    for (format, start) in [("mermaid", "flowchart"), ("dot", "digraph")] {
        let drawing = get(&server, &format!("/v1/models/toy/graph?format={format}")).await;
        assert!(drawing.body.starts_with(start.as_bytes()), "{drawing:?}");
    }
    for page in ["/", "/docs"] {
        let answer = get(&server, page).await;
        assert!(
            answer
                .header("content-type")
                .unwrap()
                .starts_with("text/html"),
            "{page}"
        );
    }
    let description = get(&server, "/openapi.json").await.json();
    let limit =
        &description["components"]["schemas"]["SpeechRequest"]["properties"]["input"]["maxLength"];
    assert_eq!(*limit, 16384);
}

#[tokio::test]
async fn metrics_tell_what_happened() {
    let server = serve(|_| {}).await;
    speak(&server, &good()).await;
    speak(&server, &changed(&json!({"voice": "nobody"}))).await;
    assert_eq!(
        metric(
            &server,
            "promenade_streams_total{door=\"http\",end=\"done\"}"
        )
        .await,
        1.0
    );
    let route = "route=\"/v1/audio/speech\"";
    for status in [200, 400] {
        let name = format!("promenade_http_requests_total{{{route},status=\"{status}\"}}");
        assert_eq!(metric(&server, &name).await, 1.0);
    }
    for name in ["first_chunk_seconds", "first_chunk_handover_seconds"] {
        let count = format!("promenade_{name}_count{{door=\"http\"}}");
        assert_eq!(metric(&server, &count).await, 1.0, "{name}");
    }
    assert_eq!(
        metric(&server, "promenade_requests_total{end=\"done\"}").await,
        1.0
    );
    assert_eq!(
        metric(&server, "promenade_input_characters_total").await,
        12.0
    );
}

#[tokio::test]
async fn keys_open_the_door_and_have_limits_of_their_own() {
    let server = serve(|config| {
        config.auth.keys = vec!["secret".into()];
    })
    .await;
    let body = good().to_string();
    let send = |headers: &'static str| {
        let request = post_with(
            &format!("content-type: application/json\r\n{headers}"),
            body.as_bytes(),
        );
        let server = &server;
        async move { exchange(server, &request).await }
    };
    assert_eq!(send("authorization: Bearer secret\r\n").await.status, 200);
    for headers in ["", "authorization: Bearer wrong\r\n"] {
        let answer = send(headers).await;
        assert_eq!(
            (answer.status, answer.header("www-authenticate")),
            (401, Some("Bearer"))
        );
    }
    assert_eq!(get(&server, "/v1/models").await.status, 401);
    for open in ["/health", "/ready", "/metrics", "/docs", "/"] {
        assert_eq!(get(&server, open).await.status, 200, "{open}");
    }
}

#[tokio::test]
async fn pages_of_strangers_are_refused() {
    let server = serve(|config| config.cors.origins = vec!["https://app.example".into()]).await;
    let friend = get_with(&server, "/v1/models", "origin: https://app.example\r\n").await;
    assert_eq!(
        friend.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    let stranger = get_with(&server, "/v1/models", "origin: https://evil.example\r\n").await;
    assert_eq!(
        (stranger.status, stranger.code().as_str()),
        (403, "origin_not_allowed")
    );
    let preflight = b"OPTIONS /v1/audio/speech HTTP/1.1\r\nhost: test\r\n\
        origin: http://localhost:3000\r\naccess-control-request-method: POST\r\n\
        access-control-request-headers: content-type,x-openai-agents-sdk\r\n\r\n";
    let allowed = exchange(&server, preflight).await;
    assert_eq!(allowed.status, 204);
    assert_eq!(
        allowed.header("access-control-allow-headers"),
        Some("content-type,x-openai-agents-sdk")
    );
}
