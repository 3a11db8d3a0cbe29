//! What a client may ask for, and what it is told when it may not.

use serde_json::{Value, json};
use session::realtime::{Config, Session};

use crate::stage::{Piece, Stage, short_reply};

fn text(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" {
        "output_text"
    } else {
        "input_text"
    };
    json!({"type": "conversation.item.create", "item": {"type": "message", "role": role,
        "content": [{"type": kind, "text": text}]}})
}

#[test]
fn the_created_session_is_whole_and_gives_its_capabilities() {
    let stage = Stage::new();
    let event = stage.one("session.created");
    let session = &event["session"];
    for field in [
        "id",
        "object",
        "type",
        "model",
        "instructions",
        "tools",
        "expires_at",
    ] {
        assert!(!session[field].is_null(), "{field} in {session}");
    }
    assert_eq!(session["type"], "realtime");
    assert_eq!(session["output_modalities"], json!(["audio"]));
    assert_eq!(
        session["audio"]["input"]["turn_detection"],
        json!({"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300,
            "silence_duration_ms": 500, "idle_timeout_ms": null,
            "create_response": true, "interrupt_response": true})
    );
    assert_eq!(session["audio"]["output"]["voice"], "sine");
    assert!(event["capabilities"]["resume"]["seconds"].is_u64());
}

#[test]
fn what_is_written_is_answered_by_text_where_that_is_wanted() {
    let mut stage = Stage::new();
    stage.update(json!({"output_modalities": ["text"]}));
    stage.send(text("system", "Be brief."));
    stage.send(text("user", "Good day."));
    stage.take();
    stage.send(json!({"type": "response.create"}));
    stage.pass(500);
    assert_eq!(
        stage.told(0)[1..],
        [("system", "Be brief."), ("user", "Good day.")]
    );
    assert!(!stage.requests[0].1.audio);
    assert_eq!(
        stage.one("response.output_text.done")["text"],
        "Alpha bravo."
    );
    let part = &stage.one("response.content_part.done")["part"];
    assert_eq!(part["type"], "text");
    assert_eq!(stage.audio_ms(), 0);
    stage.assert_quiet();
}

#[test]
fn an_unknown_field_refuses_the_whole_update_and_is_named() {
    let mut stage = Stage::new();
    stage.take();
    stage.send(
        json!({"type": "session.update", "event_id": "mine", "session": {
        "type": "realtime", "instructions": "Sing.", "audio": {"output": {"voise": "sine"}}}}),
    );
    let error = &stage.one("error")["error"];
    assert_eq!(error["param"], "session.audio.output.voise");
    assert_eq!(error["event_id"], "mine");
    stage.take();
    stage.update(json!({"max_output_tokens": 50}));
    stage.send(json!({"type": "session.update", "session": {"type": "realtime"}}));
    let session = &stage.one("session.updated")["session"];
    assert_ne!(session["instructions"], "Sing.");
    assert_eq!(session["max_output_tokens"], 50);
}

#[test]
fn the_voice_may_be_changed_until_it_was_heard() {
    let mut stage = Stage::new();
    stage.update(json!({"audio": {"output": {"voice": "square"}}}));
    stage.talk(500);
    stage.hush(1500);
    stage.take();
    assert_eq!(stage.requests[0].1.voice.as_deref(), Some("square"));
    let event = json!({"type": "session.update", "session": {"type": "realtime",
        "audio": {"output": {"voice": "sine"}}}});
    stage.send(event);
    let error = &stage.one("error")["error"];
    assert_eq!(error["param"], "session.audio.output.voice");
    // The same again is no change.
    stage.update(json!({"audio": {"output": {"voice": "square"}}}));
    stage.take();
    stage.send(
        json!({"type": "session.update", "session": {"type": "realtime",
        "audio": {"output": {"voice": "loud"}}}}),
    );
    let message = stage.one("error")["error"]["message"].as_str().unwrap();
    assert!(message.contains("sine"), "{message}");
}

#[test]
fn what_is_wrong_is_named_and_changes_nothing() {
    let mut stage = Stage::new();
    stage.take();
    for (event, code, param) in [
        (json!({"type": "session.updat"}), "invalid_value", "type"),
        (json!({}), "missing_required_parameter", "type"),
        (
            json!({"type": "session.update"}),
            "missing_required_parameter",
            "session",
        ),
        (
            json!({"type": "input_audio_buffer.append", "audio": "%"}),
            "invalid_base64",
            "audio",
        ),
        (
            json!({"type": "conversation.item.delete", "item_id": "none"}),
            "item_not_found",
            "item_id",
        ),
        (
            json!({"type": "response.create", "response": {"voice": "sine"}}),
            "beta_api_shape_disabled",
            "",
        ),
        (
            json!({"type": "session.update", "session": {"type": "realtime", "modalities": ["text"]}}),
            "beta_api_shape_disabled",
            "",
        ),
        (
            json!({"type": "output_audio_buffer.clear"}),
            "no_output_audio_buffer",
            "",
        ),
    ] {
        stage.send(event.clone());
        let error = &stage.one("error")["error"];
        assert_eq!(error["code"], code, "{event}: {error}");
        if !param.is_empty() {
            assert_eq!(error["param"], param, "{event}: {error}");
        }
        stage.take();
    }
    stage.session.handle_text("{\"type\"", stage.now);
    stage.pump();
    assert_eq!(stage.one("error")["error"]["type"], "invalid_request_error");
}

#[test]
fn items_are_placed_told_and_deleted() {
    let mut stage = Stage::new();
    stage.send(text("user", "First."));
    stage.take();
    let mut second = text("user", "Before it.");
    second["previous_item_id"] = json!("root");
    second["item"]["id"] = json!("mine");
    stage.send(second.clone());
    assert_eq!(
        stage.types(),
        ["conversation.item.added", "conversation.item.done"]
    );
    stage.take();
    stage.send(second);
    assert_eq!(stage.one("error")["error"]["code"], "item_already_exists");
    stage.take();
    stage.send(json!({"type": "conversation.item.retrieve", "item_id": "mine"}));
    let item = &stage.one("conversation.item.retrieved")["item"];
    assert_eq!(item["content"][0]["text"], "Before it.");
    stage.send(json!({"type": "response.create"}));
    stage.pass(500);
    assert_eq!(
        stage.told(0)[1..],
        [("user", "Before it."), ("user", "First.")]
    );
    stage.take();
    stage.send(json!({"type": "conversation.item.delete", "item_id": "mine"}));
    stage.one("conversation.item.deleted");
    stage.send(json!({"type": "response.create"}));
    stage.pass(500);
    assert_eq!(stage.told(1)[1], ("user", "First."));
}

#[test]
fn a_function_is_called_and_its_result_read() {
    let mut stage = Stage::new();
    stage.update(json!({"tools": [{"type": "function", "name": "weather",
        "description": "The weather.", "parameters": {"type": "object"}}]}));
    let call = |arguments, last| Piece::Call {
        id: "call_1",
        name: "weather",
        arguments,
        last,
    };
    stage.models.reply = vec![
        (30, call("{\"city\":", false)),
        (40, call("\"Rome\"}", true)),
        (50, Piece::Done),
    ];
    stage.send(text("user", "Weather in Rome?"));
    stage.take();
    stage.send(json!({"type": "response.create"}));
    stage.pass(500);
    assert_eq!(stage.requests[0].1.tools[0].name, "weather");
    let done = stage.one("response.function_call_arguments.done");
    assert_eq!(done["arguments"], "{\"city\":\"Rome\"}");
    assert_eq!(done["call_id"], "call_1");
    let output = &stage.one("response.done")["response"]["output"][0];
    assert_eq!(output["type"], "function_call");
    stage.take();
    stage.models.reply = short_reply();
    stage.send(json!({"type": "conversation.item.create", "item": {
        "type": "function_call_output", "call_id": "call_1", "output": "sunny"}}));
    stage.send(json!({"type": "response.create"}));
    stage.pass(500);
    let messages = &stage.requests[1].1.messages;
    let calls = &messages[messages.len() - 2].tool_calls;
    assert_eq!(calls[0].arguments, "{\"city\":\"Rome\"}");
    assert_eq!(
        messages.last().unwrap().tool_call_id.as_deref(),
        Some("call_1")
    );
    assert_eq!(messages.last().unwrap().text, "sunny");
    stage.assert_quiet();
}

#[test]
fn beside_the_conversation_responses_run_at_the_same_time() {
    let mut stage = Stage::new();
    stage.send(text("user", "Hello."));
    stage.take();
    stage.send(json!({"type": "response.create"}));
    stage.send(json!({"type": "response.create"}));
    let code = &stage.one("error")["error"]["code"];
    assert_eq!(code, "conversation_already_has_active_response");
    stage.take();
    stage.send(
        json!({"type": "response.create", "response": {"conversation": "none",
        "output_modalities": ["text"], "metadata": {"topic": "mood"},
        "instructions": "Classify.", "input": [{"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "I am well."}]}]}}),
    );
    stage.pass(500);
    assert_eq!(
        stage.told(1),
        [("system", "Classify."), ("user", "I am well.")]
    );
    let mut done = stage
        .received
        .iter()
        .filter(|e| e["type"] == "response.done");
    let aside = done.find(|e| !e["response"]["metadata"].is_null()).unwrap();
    assert_eq!(aside["response"]["metadata"]["topic"], "mood");
    assert!(aside["response"]["conversation_id"].is_null());
    // The conversation does not know of it.
    stage.send(json!({"type": "response.create"}));
    stage.pass(500);
    assert_eq!(
        stage.told(2)[1..],
        [("user", "Hello."), ("assistant", "Alpha bravo.")]
    );
    stage.assert_quiet();
}

#[test]
fn a_lost_connection_goes_on_where_it_was() {
    let mut stage = Stage::new();
    let token = stage.session.resume_token().to_owned();
    stage.talk(600);
    stage.hush(560);
    let before = stage.take();
    let last = before.last().unwrap()["server_event_seq"].as_u64().unwrap();
    let known = last - 3;
    stage.session.handle_peer_closed(stage.now);
    stage.pass(1000);
    assert!(!stage.session.is_closed());
    stage.session.resume(&token, known, stage.now).unwrap();
    let mut again = Vec::new();
    while let Some(frame) = stage.session.poll_frame(stage.now) {
        if let session::realtime::Body::Text(text) = frame.body {
            again.push(serde_json::from_str::<Value>(&text).unwrap());
        }
    }
    assert_eq!(again[0]["type"], "session.resumed");
    assert_eq!(again[1..4], before[before.len() - 3..]);
    let seqs: Vec<u64> = again[1..]
        .iter()
        .map(|e| e["server_event_seq"].as_u64().unwrap())
        .collect();
    assert!(seqs.windows(2).all(|w| w[1] == w[0] + 1), "{seqs:?}");
    let refused = stage.session.resume("other", 0, stage.now).unwrap_err();
    assert_eq!(refused.code, "session_not_resumable");
    // Nobody comes.
    stage.session.handle_peer_closed(stage.now);
    stage.pass(31_000);
    assert!(stage.session.is_closed());
}

#[test]
fn a_session_object_is_checked_before_there_is_a_session() {
    let config = Config::new(std::sync::Arc::new(session::Catalog { models: Vec::new() }));
    let good = Session::check(
        &config,
        json!({"type": "realtime", "instructions": "Sing."}),
    );
    assert_eq!(good.unwrap()["instructions"], "Sing.");
    let bad = Session::check(
        &config,
        json!({"type": "realtime", "audio": {"input": {"x": 1}}}),
    );
    assert_eq!(
        bad.unwrap_err().param.as_deref(),
        Some("session.audio.input.x")
    );
}

#[test]
fn who_does_not_read_is_let_go() {
    let mut stage = Stage::new();
    for _ in 0..5000 {
        stage.session.handle_text("{}", stage.now);
    }
    stage.pump();
    assert_eq!(stage.closed, Some(1008));
    assert!(stage.session.is_closed());
}
