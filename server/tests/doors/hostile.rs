//! What a client gets who asks wrongly: the documented answer each time, and nothing left behind.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{
    PATIENCE, at_rest, changed, exchange, get, good, metric, post, post_with, read_answer, serve,
    serve_costing, speak,
};

#[tokio::test]
async fn every_wrong_request_is_answered_by_name() {
    let server = serve(|_| {}).await;
    let of = |change| changed(&change).to_string().into_bytes();
    let mut broken = good().to_string().into_bytes();
    broken.retain(|byte| *byte != b'}');
    let mut not_utf8 = good().to_string().replace("Hello", "He#lo").into_bytes();
    let hash = not_utf8.iter().position(|byte| *byte == b'#').unwrap();
    not_utf8[hash] = 0xff;
    for (name, body, status, code, param) in [
        (
            "empty text",
            of(json!({"input": ""})),
            400,
            "empty_string",
            "input",
        ),
        (
            "white space",
            of(json!({"input": " \t\n\u{3000}"})),
            400,
            "nothing_to_say",
            "input",
        ),
        (
            "only emoji",
            of(json!({"input": "🎉👩‍🚀"})),
            400,
            "nothing_to_say",
            "input",
        ),
        (
            "only punctuation",
            of(json!({"input": "...!"})),
            400,
            "nothing_to_say",
            "input",
        ),
        (
            "100,000 characters",
            of(json!({"input": "a".repeat(100_000)})),
            400,
            "string_above_max_length",
            "input",
        ),
        (
            "a body over its limit",
            of(json!({"input": "a".repeat(300_000)})),
            413,
            "body_too_large",
            "",
        ),
        (
            "unknown voice",
            of(json!({"voice": "squre"})),
            400,
            "voice_not_found",
            "voice",
        ),
        (
            "unknown model",
            of(json!({"model": "tts-2"})),
            404,
            "model_not_found",
            "model",
        ),
        (
            "unknown format",
            of(json!({"response_format": "ogg"})),
            400,
            "invalid_value",
            "response_format",
        ),
        (
            "refused format",
            of(json!({"response_format": "aac"})),
            400,
            "unsupported_format",
            "response_format",
        ),
        (
            "unknown stream format",
            of(json!({"stream_format": "ws"})),
            400,
            "invalid_value",
            "stream_format",
        ),
        (
            "speed too low",
            of(json!({"speed": 0.1})),
            400,
            "decimal_below_min_value",
            "speed",
        ),
        (
            "speed too high",
            of(json!({"speed": 4.1})),
            400,
            "decimal_above_max_value",
            "speed",
        ),
        (
            "speed as text",
            of(json!({"speed": "fast"})),
            400,
            "invalid_type",
            "speed",
        ),
        (
            "text as number",
            of(json!({"input": 3})),
            400,
            "invalid_type",
            "input",
        ),
        (
            "text as list",
            of(json!({"input": ["a"]})),
            400,
            "invalid_type",
            "input",
        ),
        (
            "voice as number",
            of(json!({"voice": 3})),
            400,
            "invalid_type",
            "voice",
        ),
        (
            "stream as text",
            of(json!({"stream": "yes"})),
            400,
            "invalid_type",
            "stream",
        ),
        (
            "seed below zero",
            of(json!({"seed": -1})),
            400,
            "invalid_type",
            "seed",
        ),
        (
            "another rate",
            of(json!({"sample_rate": 8000})),
            400,
            "invalid_value",
            "sample_rate",
        ),
        (
            "no text",
            of(json!({"input": null})),
            400,
            "missing_required_parameter",
            "input",
        ),
        (
            "no model",
            of(json!({"model": null})),
            400,
            "missing_required_parameter",
            "model",
        ),
        (
            "no voice",
            of(json!({"voice": null})),
            400,
            "missing_required_parameter",
            "voice",
        ),
        (
            "long instructions",
            of(json!({"instructions": "a".repeat(5000)})),
            400,
            "string_above_max_length",
            "instructions",
        ),
        ("no body", Vec::new(), 400, "invalid_json", ""),
        ("no end", broken, 400, "invalid_json", ""),
        ("not an object", b"[]".to_vec(), 400, "invalid_type", ""),
        (
            "too deep",
            "[".repeat(100_000).into_bytes(),
            400,
            "invalid_json",
            "",
        ),
        ("not UTF-8", not_utf8, 400, "invalid_utf8", ""),
        (
            "half a surrogate",
            good().to_string().replace("Hello", "\\ud800").into_bytes(),
            400,
            "invalid_json",
            "",
        ),
    ] {
        let answer = exchange(&server, &post(&body)).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{name}: {answer:?}"
        );
        let error = &answer.json()["error"];
        assert_eq!(error["param"].as_str().unwrap_or_default(), param, "{name}");
        assert_eq!(error["type"], "invalid_request_error", "{name}");
        assert!(
            error["message"].as_str().unwrap().len() < 1000,
            "{name}: {error}"
        );
    }
    let near = speak(&server, &changed(&json!({"voice": "squre"})))
        .await
        .json();
    assert!(
        near["error"]["message"]
            .as_str()
            .unwrap()
            .contains("did you mean 'square'")
    );
    let limit = speak(&server, &changed(&json!({"input": "a".repeat(20_000)})))
        .await
        .json();
    assert!(
        limit["error"]["message"]
            .as_str()
            .unwrap()
            .contains("16384")
    );
    at_rest(&server).await;
    assert_eq!(
        metric(&server, "promenade_requests_total{end=\"done\"}").await,
        0.0
    );
}

#[tokio::test]
async fn strange_but_sound_texts_are_spoken() {
    let server = serve(|_| {}).await;
    for text in [
        "Hello 世界 мир שלום",
        "a\u{0}b\u{1b}[31mc\u{7f}",
        "<speak><break time=\"1s\"/>hi</speak>",
        "{\"input\": \"x\"}",
        "e\u{301}\u{200d}x 🎉 party",
    ] {
        let answer = speak(&server, &changed(&json!({"input": text}))).await;
        assert_eq!((answer.status, answer.whole), (200, true), "{text:?}");
        assert!(
            !answer.body.is_empty() && answer.body.len() % 2 == 0,
            "{text:?}"
        );
    }
}

#[tokio::test]
async fn wrong_ways_in_are_named() {
    let server = serve(|_| {}).await;
    let body = good().to_string();
    for (headers, status) in [
        ("content-type: text/plain\r\n", 415),
        ("", 415),
        ("content-type: application/json; charset=utf-8\r\n", 200),
    ] {
        let answer = exchange(&server, &post_with(headers, body.as_bytes())).await;
        assert_eq!(answer.status, status, "{headers:?}");
    }
    let wrong = get(&server, "/v1/audio/speech").await;
    assert_eq!(
        (wrong.status, wrong.code().as_str()),
        (405, "method_not_allowed")
    );
    let missing = get(&server, "/v1/audio/speach").await;
    assert_eq!(missing.status, 404);
    assert!(
        missing.json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("'/v1/audio/speech'")
    );
    let plain = get(&server, "/v1/audio/speech/stream").await;
    assert_eq!(
        (plain.status, plain.code().as_str()),
        (400, "upgrade_required")
    );
    let format = get(&server, "/v1/models/toy/graph?format=png").await;
    assert_eq!(format.status, 400);
}

#[tokio::test]
async fn a_huge_head_is_refused() {
    let server = serve(|_| {}).await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let huge = format!(
        "GET /health HTTP/1.1\r\nhost: test\r\nx: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    // The server may close before it has taken all.
    let _ = stream.write_all(huge.as_bytes()).await;
    let mut answer = [0; 64];
    let count = tokio::time::timeout(PATIENCE, stream.read(&mut answer))
        .await
        .unwrap();
    let answer = String::from_utf8_lossy(&answer[..count.unwrap_or(0)]).into_owned();
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    assert_eq!(get(&server, "/health").await.status, 200);
}

#[tokio::test]
async fn slow_senders_are_cut_off() {
    let server = serve(|config| {
        config.limits.head_seconds = 0.3;
        config.limits.body_seconds = 0.3;
    })
    .await;
    // A head that never ends.
    let mut head = TcpStream::connect(server.address()).await.unwrap();
    head.write_all(b"POST /v1/audio/speech HTTP/1.1\r\nhost: t")
        .await
        .unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(PATIENCE, head.read_to_end(&mut rest))
        .await
        .unwrap()
        .unwrap();
    // A body that comes byte by byte and never ends.
    let mut body = TcpStream::connect(server.address()).await.unwrap();
    let start = b"POST /v1/audio/speech HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
        content-length: 1000\r\n\r\n";
    body.write_all(start).await.unwrap();
    let (mut reading, mut writing) = body.into_split();
    let dripping = tokio::spawn(async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, reading.read_to_end(&mut answer))
        .await
        .unwrap();
    dripping.abort();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.starts_with("HTTP/1.1 408") && answer.contains("body_timeout"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_reader_who_stops_reading_is_cut_off() {
    let server = serve(|config| config.limits.stall_seconds = 0.3).await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    // Far more audio than all buffers on the way hold: 16,000 letters are 46 MB.
    let body = changed(&json!({"input": "a".repeat(16_000)})).to_string();
    stream.write_all(&post(body.as_bytes())).await.unwrap();
    at_rest(&server).await;
    let answer = read_answer(&mut stream).await;
    assert_eq!((answer.status, answer.whole), (200, false));
    assert_eq!(
        metric(
            &server,
            "promenade_streams_total{door=\"http\",end=\"cancelled\"}"
        )
        .await,
        1.0
    );
}

#[tokio::test]
async fn a_hundred_clients_vanish_and_nothing_is_left() {
    let server = serve_costing(Duration::from_millis(1), |_| {}).await;
    let body = changed(&json!({"input": "Some words. ".repeat(500)}));
    let request = post(body.to_string().as_bytes());
    let mut clients = Vec::new();
    for index in 0..100 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(&request).await.unwrap();
        let mut some = [0; 256];
        match index % 3 {
            0 => {} // before the head
            1 => {
                let _ = stream.read(&mut some).await.unwrap();
            } // at its start
            _ => {
                for _ in 0..4 {
                    let _ = stream.read(&mut some).await.unwrap();
                }
            }
        }
        clients.push(stream);
    }
    drop(clients);
    at_rest(&server).await;
    assert_eq!(
        metric(&server, "promenade_requests_total{end=\"cancelled\"}").await,
        100.0
    );
    assert_eq!(speak(&server, &good()).await.status, 200);
}

#[tokio::test]
async fn too_many_are_told_to_come_back() {
    let server = serve_costing(Duration::from_millis(50), |config| {
        config.limits.streams = 1;
    })
    .await;
    let body = changed(&json!({"input": "Some words. ".repeat(100)}));
    let mut inside = TcpStream::connect(server.address()).await.unwrap();
    inside
        .write_all(&post(body.to_string().as_bytes()))
        .await
        .unwrap();
    let mut first = [0; 16];
    inside.read_exact(&mut first).await.unwrap();
    let refused = speak(&server, &good()).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "overloaded")
    );
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(inside);
    at_rest(&server).await;
    assert_eq!(speak(&server, &good()).await.status, 200);
}

#[tokio::test]
async fn too_many_connections_are_told_so() {
    let server = serve(|config| config.limits.connections = 1).await;
    let held = TcpStream::connect(server.address()).await.unwrap();
    // The connection before is accepted first: the listener's queue keeps the order.
    let refused = async {
        let mut second = TcpStream::connect(server.address()).await.unwrap();
        read_answer(&mut second).await
    };
    let answer = tokio::time::timeout(PATIENCE, refused).await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (503, "overloaded"));
    drop(held);
}
