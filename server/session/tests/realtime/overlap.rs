//! The user speaks while an answer is heard.

use serde_json::json;
use session::realtime::Transport;

use crate::stage::{Piece, Stage};

/// Four words in four seconds, made much faster than they are heard.
fn long_reply() -> Vec<(u64, Piece)> {
    let words = vec![
        (0..3, 0..900),
        (4..7, 1000..1900),
        (8..13, 2000..2900),
        (14..19, 3000..3900),
    ];
    vec![
        (40, Piece::Text("One two three four.")),
        (80, Piece::Words(words)),
        (80, Piece::Audio(2000)),
        (100, Piece::Audio(2000)),
        (3500, Piece::Done),
    ]
}

/// The user has spoken, and the answer has been heard for this long.
fn listening(transport: Transport, heard: u64) -> Stage {
    let mut stage = Stage::with(|config| config.transport = transport);
    stage.models.reply = long_reply();
    stage.talk(600);
    while !stage.types().contains(&"response.created") {
        stage.hush(20);
    }
    stage.hush(heard);
    stage.take();
    stage
}

#[test]
fn speech_stops_the_answer_at_once() {
    let mut stage = listening(Transport::WebRtc, 1200);
    let reply = stage.requests[0].0;
    let before = stage.played.len();
    stage.talk(100);
    let types = stage.types();
    assert_eq!(
        types[..3],
        [
            "input_audio_buffer.speech_started",
            "output_audio_buffer.cleared",
            "conversation.item.truncated"
        ]
    );
    let cut = stage.one("conversation.item.truncated");
    let end = cut["audio_end_ms"].as_u64().unwrap();
    assert!((1200..1400).contains(&end), "{cut}");
    let done = &stage.one("response.done")["response"];
    assert_eq!(done["status"], "cancelled");
    assert_eq!(done["status_details"]["reason"], "turn_detected");
    assert_eq!(stage.cancelled, [reply]);
    // Silence from the packet after the next: one fades.
    stage.talk(100);
    let after = &stage.played[before..];
    let last = after.iter().rposition(|s| *s != 0.0).unwrap();
    assert!(last < 24 * 140, "{} ms", last / 24);
    // What was not heard was not said.
    stage.hush(6000);
    let told = stage.told(1);
    assert_eq!(told[2].0, "assistant");
    assert_eq!(told[2].1, "One");
    assert_eq!(told[3], ("user", "Hello there."));
    stage.assert_quiet();
}

#[test]
fn on_a_websocket_the_client_says_what_was_heard() {
    let mut stage = listening(Transport::WebSocket, 1200);
    stage.talk(100);
    let done = stage.one("response.done");
    let item = done["response"]["output"][0]["id"].clone();
    stage.take();
    stage.send(
        json!({"type": "conversation.item.truncate", "item_id": item,
        "content_index": 0, "audio_end_ms": 2100}),
    );
    assert_eq!(
        stage.one("conversation.item.truncated")["audio_end_ms"],
        2100
    );
    stage.send(json!({"type": "conversation.item.retrieve", "item_id": item}));
    let kept = stage.one("conversation.item.retrieved");
    assert_eq!(kept["item"]["content"][0]["transcript"], "One two");
    stage.hush(2000);
    assert_eq!(stage.told(1)[2], ("assistant", "One two"));
    stage.take();
    stage.send(
        json!({"type": "conversation.item.truncate", "item_id": item,
        "content_index": 0, "audio_end_ms": 60_000}),
    );
    assert_eq!(stage.one("error")["error"]["param"], "audio_end_ms");
}

#[test]
fn who_says_nothing_about_it_is_believed_to_play_at_once() {
    let mut stage = listening(Transport::WebSocket, 1200);
    stage.talk(600);
    stage.hush(2000);
    let told = stage.told(1)[2].1;
    assert!(told == "One" || told == "One two", "{told}");
}

#[test]
fn with_ducking_a_sign_of_listening_lets_the_answer_go_on_to_its_last_sample() {
    for mode in ["duck", "pause"] {
        let mut stage = Stage::with(|config| config.transport = Transport::WebRtc);
        stage.update(json!({"audio": {"input": {"turn_detection":
            {"type": "server_vad", "overlap": {"mode": mode, "decide_ms": 800}}}}}));
        stage.models.reply = long_reply();
        stage.models.said = vec![Ok("Hello there."), Ok("Mm-hmm.")];
        stage.talk(600);
        while !stage.types().contains(&"response.created") {
            stage.hush(20);
        }
        stage.hush(1000);
        stage.take();
        let before = stage.played.len();
        stage.talk(200);
        stage.hush(300);
        let during = &stage.played[before + 24 * 150..];
        let loudest = during.iter().copied().fold(0.0, f32::max);
        assert!(loudest < 0.1, "{mode}: {loudest}");
        stage.hush(6000);
        assert_eq!(
            stage.one("promenade.overlap.decided")["decision"],
            "backchannel"
        );
        assert_eq!(
            stage.one("response.done")["response"]["status"],
            "completed"
        );
        stage.one("output_audio_buffer.stopped");
        assert_eq!(stage.committed.len(), 1, "{mode}: it is not answered");
        assert!(!stage.cancelled.contains(&stage.committed[0]), "{mode}");
        let sounding = stage.played.iter().filter(|s| **s != 0.0).count();
        assert_eq!(sounding, 4 * 24_000, "{mode}: no sample is lost");
        stage.assert_quiet();
    }
}

#[test]
fn with_ducking_words_and_long_speech_interrupt() {
    for (said, talk) in [("No, stop.", 300), ("Mm-hmm.", 1200)] {
        let mut stage = Stage::with(|config| config.transport = Transport::WebRtc);
        stage.update(json!({"audio": {"input": {"turn_detection":
            {"type": "server_vad", "overlap": {"mode": "duck", "decide_ms": 800}}}}}));
        stage.models.reply = long_reply();
        stage.models.said = vec![Ok("Hello there."), Ok(said)];
        stage.talk(600);
        while !stage.types().contains(&"response.created") {
            stage.hush(20);
        }
        stage.hush(1000);
        stage.take();
        stage.talk(talk);
        stage.hush(900);
        assert_eq!(
            stage.one("promenade.overlap.decided")["decision"],
            "interruption",
            "{said}"
        );
        let done = stage.received.iter().find(|e| e["type"] == "response.done");
        assert_eq!(done.unwrap()["response"]["status"], "cancelled", "{said}");
    }
}

#[test]
fn where_interruptions_are_off_the_answer_is_said_to_its_end() {
    let mut stage = Stage::with(|config| config.transport = Transport::WebRtc);
    stage.update(json!({"audio": {"input": {"turn_detection":
        {"type": "server_vad", "interrupt_response": false}}}}));
    stage.models.reply = long_reply();
    stage.talk(600);
    while !stage.types().contains(&"response.created") {
        stage.hush(20);
    }
    stage.hush(1000);
    stage.talk(500);
    stage.hush(6000);
    assert!(!stage.types().contains(&"output_audio_buffer.cleared"));
    let done: Vec<_> = stage
        .received
        .iter()
        .filter(|e| e["type"] == "response.done")
        .map(|e| e["response"]["status"].as_str().unwrap())
        .collect();
    assert_eq!(done, ["completed"; 2]);
    stage.assert_quiet();
}

#[test]
fn who_cancels_is_told_and_hears_no_more() {
    let mut stage = listening(Transport::WebRtc, 500);
    stage.send(json!({"type": "response.cancel"}));
    let done = &stage.one("response.done")["response"];
    assert_eq!(done["status_details"]["reason"], "client_cancelled");
    stage.send(json!({"type": "output_audio_buffer.clear"}));
    stage.one("output_audio_buffer.cleared");
    stage.take();
    stage.send(json!({"type": "response.cancel"}));
    assert_eq!(
        stage.one("error")["error"]["code"],
        "response_cancel_not_active"
    );
    stage.assert_quiet();
}
