//! Recordings over HTTP: a toy speaks, another one reads what it said.

use serde_json::{Value, json};
use server::Server;

use crate::harness::{Answer, at_rest, changed, exchange, post_to, serve, speak};

const DOOR: &str = "/v1/audio/transcriptions";
const BOUNDARY: &str = "edge";

/// Fields, a file, and the status, the code and a word of the answer.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [u8], u16, &'a str, &'a str);

/// A form of fields and a file.
fn form(fields: &[(&str, &str)], file: Option<&[u8]>) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend_from_slice(
            format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            )
            .as_bytes(),
        );
    }
    if let Some(file) = file {
        body.extend_from_slice(
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n").as_bytes(),
        );
        body.extend_from_slice(file);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

async fn ask_at(
    server: &Server,
    door: &str,
    fields: &[(&str, &str)],
    file: Option<&[u8]>,
) -> Answer {
    let kind = format!("content-type: multipart/form-data; boundary={BOUNDARY}\r\n");
    exchange(server, &post_to(door, &kind, &form(fields, file))).await
}

async fn ask(server: &Server, fields: &[(&str, &str)], file: &[u8]) -> Answer {
    ask_at(server, DOOR, fields, Some(file)).await
}

async fn said(server: &Server, text: &str, format: &str) -> Vec<u8> {
    let answer = speak(
        server,
        &changed(&json!({"input": text, "response_format": format})),
    )
    .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

#[tokio::test]
async fn what_a_toy_says_is_written_down_whatever_the_container() {
    let server = serve(|_| {}).await;
    for format in ["wav", "flac", "mp3", "opus"] {
        let file = said(&server, "hello there, this is a toy.", format).await;
        let answer = ask(&server, &[("model", "whisper-1")], &file).await;
        assert_eq!(answer.status, 200, "{format}: {answer:?}");
        let text = answer.json()["text"].as_str().unwrap().to_owned();
        if matches!(format, "wav" | "flac") {
            assert_eq!(text, "hello there, this is a toy.", "{format}");
        }
        // A codec's delay shifts the letters; some are read all the same.
        assert!(text.len() > 10, "{format}: {text}");
        assert_eq!(answer.json()["usage"]["type"], "duration");
    }
    at_rest(&server).await;
}

#[tokio::test]
async fn a_transcript_has_the_shape_that_was_asked_for() {
    let server = serve(|_| {}).await;
    let file = said(&server, "one two.", "wav").await;
    let text = ask(&server, &[("response_format", "text")], &file).await;
    assert_eq!(text.body, b"one two.\n");
    assert_eq!(
        text.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    let stream = ask(&server, &[("stream", "true")], &file).await;
    let body = String::from_utf8(stream.body).unwrap();
    let events: Vec<Value> = body
        .split_terminator("\n\n")
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect();
    assert_eq!(
        events[0],
        json!({"type": "transcript.text.delta", "delta": "one two."})
    );
    assert_eq!(events[1]["type"], "transcript.text.done");
    assert_eq!(events[1]["text"], "one two.");
    at_rest(&server).await;
}

#[tokio::test]
async fn what_is_wrong_with_a_form_is_named() {
    let server = serve(|config| {
        config.limits.file_bytes = 200_000;
        config.limits.recording_seconds = 2.0;
    })
    .await;
    let file = said(&server, "one two.", "wav").await;
    let cases: [Case<'_>; 9] = [
        (
            &[("model", "whisper-2")],
            &file,
            404,
            "model_not_found",
            "toy-scribe",
        ),
        (
            &[("model", "toy-chat")],
            &file,
            404,
            "model_not_suitable",
            "not for transcription",
        ),
        (
            &[("response_format", "diarized_json")],
            &file,
            400,
            "invalid_value",
            "verbose_json",
        ),
        (
            &[("timestamp_granularities[]", "word")],
            &file,
            400,
            "unsupported_value",
            "segment",
        ),
        (
            &[("stream", "true"), ("response_format", "srt")],
            &file,
            400,
            "invalid_value",
            "srt",
        ),
        (
            &[("langage", "en")],
            &file,
            400,
            "unknown_field",
            "did you mean 'language'",
        ),
        (&[], b"no audio", 400, "invalid_file", "accepted are wav"),
        (&[], &[0; 200_001], 413, "body_too_large", "200000 bytes"),
        // The toy cannot time what it reads.
        (
            &[("response_format", "srt")],
            &file,
            400,
            "invalid_option",
            "timestamps",
        ),
    ];
    for (fields, file, status, code, word) in cases {
        let answer = ask(&server, fields, file).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{answer:?}"
        );
        let message = answer.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains(word), "{message}");
    }
    let long = said(&server, &"a".repeat(60), "wav").await;
    let answer = ask(&server, &[], &long).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (400, "recording_too_long")
    );
    let answer = ask_at(&server, DOOR, &[("model", "whisper-1")], None).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (400, "missing_required_parameter")
    );
    let answer = exchange(
        &server,
        &post_to(DOOR, "content-type: application/json\r\n", b"{}"),
    )
    .await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (415, "unsupported_media_type")
    );
    let answer = ask_at(&server, "/v1/audio/translations", &[], Some(&file)).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    at_rest(&server).await;
}
