//! Conversations over HTTP, with a toy behind the door that repeats the last message.

use std::time::Duration;

use serde_json::{Value, json};
use server::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{
    Answer, at_rest, exchange, get, metric, post_to, read_answer, serve, serve_costing,
};

const DOOR: &str = "/v1/chat/completions";

fn request(body: &[u8]) -> Vec<u8> {
    post_to(DOOR, "content-type: application/json\r\n", body)
}

/// A good conversation with other or further fields; null takes one out.
fn talk(change: &Value) -> Value {
    let mut body = json!({"model": "toy-chat", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "one two three four"},
    ]});
    for (name, value) in change.as_object().unwrap() {
        if value.is_null() {
            body.as_object_mut().unwrap().remove(name);
        } else {
            body[name] = value.clone();
        }
    }
    body
}

async fn ask(server: &Server, change: &Value) -> Answer {
    exchange(server, &request(talk(change).to_string().as_bytes())).await
}

/// The events of a streamed answer, and whether `[DONE]` came last.
fn events(answer: &Answer) -> (Vec<Value>, bool) {
    let text = std::str::from_utf8(&answer.body).unwrap();
    let mut events: Vec<&str> = text.split_terminator("\n\n").collect();
    let is_done = events.last() == Some(&"data: [DONE]");
    events.truncate(events.len() - usize::from(is_done));
    let parse = |event: &&str| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
    (events.iter().map(parse).collect(), is_done)
}

/// The text of one answer, put together from its events.
fn text_of(events: &[Value], index: u64) -> String {
    let choices = events
        .iter()
        .flat_map(|event| event["choices"].as_array().unwrap());
    let mine = choices.filter(|choice| choice["index"] == index);
    mine.filter_map(|choice| choice["delta"]["content"].as_str())
        .collect()
}

#[tokio::test]
async fn an_answer_in_one_piece_has_openai_s_shape() {
    let server = serve(|_| {}).await;
    let answer = ask(
        &server,
        &json!({"user": "me", "store": false, "metadata": {"a": "b"}, "zzz": 1}),
    )
    .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(
        answer.header("x-promenade-ignored"),
        Some("user, store, metadata, zzz")
    );
    let mut body = answer.json();
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert!(body["created"].as_u64().unwrap() > 1_700_000_000);
    body["id"] = json!("");
    body["created"] = json!(0);
    assert_eq!(
        body,
        json!({
            "id": "",
            "object": "chat.completion",
            "created": 0,
            "model": "toy-chat",
            "system_fingerprint": null,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": "one two three four", "refusal": null},
                "logprobs": null,
                "finish_reason": "stop",
            }],
            "usage": {
                "prompt_tokens": 6,
                "completion_tokens": 4,
                "total_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
        })
    );
    at_rest(&server).await;
}

#[tokio::test]
async fn a_streamed_answer_begins_with_its_role_and_ends_with_done() {
    let server = serve(|_| {}).await;
    let answer = ask(
        &server,
        &json!({"stream": true, "stream_options": {"include_usage": true}}),
    )
    .await;
    assert_eq!((answer.status, answer.whole), (200, true));
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let (all, is_done) = events(&answer);
    assert!(is_done);
    let id = &all[0]["id"];
    for event in &all {
        assert_eq!(
            (&event["id"], event["object"].as_str()),
            (id, Some("chat.completion.chunk"))
        );
        assert_eq!(event["model"], "toy-chat");
        assert!(event.as_object().unwrap().contains_key("usage"));
    }
    let (usage, chunks) = all.split_last().unwrap();
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["total_tokens"], 10);
    assert_eq!(
        chunks[0]["choices"][0]["delta"],
        json!({"role": "assistant", "content": "", "refusal": null})
    );
    let (end, texts) = chunks.split_last().unwrap();
    assert_eq!(end["choices"][0]["delta"], json!({}));
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    assert!(
        texts
            .iter()
            .all(|chunk| chunk["choices"][0]["finish_reason"].is_null())
    );
    assert_eq!(texts.len(), 1 + 4, "a chunk for each word");
    assert_eq!(text_of(&all, 0), "one two three four");

    let (all, _) = events(&ask(&server, &json!({"stream": true})).await);
    assert!(all.iter().all(|event| event.get("usage").is_none()));
}

#[tokio::test]
async fn an_answer_ends_where_it_is_asked_to() {
    let server = serve(|_| {}).await;
    for (change, text, reason, tokens) in [
        (json!({"max_tokens": 2}), "one two ", "length", 2),
        (
            json!({"max_completion_tokens": 3, "max_tokens": 1}),
            "one two three ",
            "length",
            3,
        ),
        (json!({"max_tokens": 4}), "one two three four", "stop", 4),
        (json!({"stop": "two"}), "one ", "stop", 2),
        (json!({"stop": ["zzz", "ee f"]}), "one two thr", "stop", 4),
        (json!({"stop": null}), "one two three four", "stop", 4),
        (json!({"stop_token_ids": [5]}), "one two ", "stop", 3),
        (json!({"logit_bias": {"3": -100}}), "three four", "stop", 2),
    ] {
        let body = ask(&server, &change).await.json();
        let choice = &body["choices"][0];
        assert_eq!(choice["message"]["content"], text, "{change}");
        assert_eq!(choice["finish_reason"], reason, "{change}");
        assert_eq!(body["usage"]["completion_tokens"], tokens, "{change}");
        let mut streamed = change;
        streamed["stream"] = json!(true);
        let (all, is_done) = events(&ask(&server, &streamed).await);
        assert!(is_done);
        assert_eq!(text_of(&all, 0), text, "{streamed}");
        assert_eq!(all.last().unwrap()["choices"][0]["finish_reason"], reason);
    }
}

#[tokio::test]
async fn several_answers_differ_by_the_seed_and_come_again() {
    let server = serve(|_| {}).await;
    let long = json!([{"role": "user", "content": "a b c d e f g h i j k l m n o p q r s t"}]);
    let change = json!({"n": 3, "seed": -5, "temperature": 1.0, "messages": long});
    let body = ask(&server, &change).await.json();
    let texts = |body: &Value| -> Vec<String> {
        let choices = body["choices"].as_array().unwrap().iter();
        choices
            .map(|choice| choice["message"]["content"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = texts(&body);
    assert_eq!(first.len(), 3);
    assert!(
        first[0] != first[1] && first[1] != first[2] && first[0] != first[2],
        "{first:?}"
    );
    assert_eq!(body["usage"]["prompt_tokens"], 20, "the prompt counts once");
    assert_eq!(body["usage"]["completion_tokens"], 60);
    assert_eq!(texts(&ask(&server, &change).await.json()), first);
    // Alone with the same seed, the first answer is the same.
    let mut alone = change.clone();
    alone["n"] = json!(1);
    assert_eq!(texts(&ask(&server, &alone).await.json())[0], first[0]);
    let mut streamed = change;
    streamed["stream"] = json!(true);
    let (all, is_done) = events(&ask(&server, &streamed).await);
    assert!(is_done);
    for (index, text) in (0..).zip(&first) {
        assert_eq!(&text_of(&all, index), text);
    }
    at_rest(&server).await;
    let stopped = "promenade_chat_answers_total{model=\"toy-chat\",end=\"stop\"}";
    assert_eq!(metric(&server, stopped).await, 10.0);
}

#[tokio::test]
async fn parts_tools_and_their_answers_are_read() {
    let server = serve(|_| {}).await;
    let weather = json!({"type": "function", "strict": true, "function": {
        "name": "weather", "description": "tells the weather", "parameters": {"type": "object"},
    }});
    let messages = json!([
        {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "kind."}]},
        {"role": "user", "content": "And?", "name": "Ada"},
        {"role": "assistant", "content": null, "refusal": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"in\": \"Rome\"}"}},
        ]},
        {"role": "tool", "tool_call_id": "call_1", "content": "It is sunny."},
    ]);
    let prompt =
        async |change| ask(&server, &change).await.json()["usage"]["prompt_tokens"].as_u64();
    // 2 + 1 + 3 words of text, 3 of the call, 5 of the tool.
    let with = json!({"messages": messages, "tools": [weather], "tool_choice": "auto"});
    assert_eq!(prompt(with).await, Some(6 + 3 + 5));
    let without = json!({"messages": messages, "tools": [weather], "tool_choice": "none"});
    assert_eq!(prompt(without).await, Some(6 + 3));
}

#[tokio::test]
async fn every_wrong_conversation_is_answered_by_name() {
    let server = serve(|config| {
        config.limits.body_bytes = 16 << 20;
        config.limits.chat_tools = 2;
    })
    .await;
    let said = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let user = json!({"role": "user", "content": "a"});
    let call = |call: Value| json!({"messages": [{"role": "assistant", "tool_calls": [call]}]});
    for (change, status, code, param) in [
        (
            json!({"model": null}),
            400,
            "missing_required_parameter",
            "model",
        ),
        (json!({"model": 3}), 400, "invalid_type", "model"),
        (json!({"model": "gpt-4o"}), 404, "model_not_found", "model"),
        (json!({"model": "toy"}), 404, "model_not_suitable", "model"),
        (
            json!({"messages": null}),
            400,
            "missing_required_parameter",
            "messages",
        ),
        (json!({"messages": []}), 400, "empty_array", "messages"),
        (
            json!({"messages": "hello"}),
            400,
            "invalid_type",
            "messages",
        ),
        (
            json!({"messages": ["hello"]}),
            400,
            "invalid_type",
            "messages[0]",
        ),
        (
            json!({"messages": [user, {"content": "a"}]}),
            400,
            "missing_required_parameter",
            "messages[1].role",
        ),
        (
            json!({"messages": [{"role": "robot", "content": "a"}]}),
            400,
            "invalid_value",
            "messages[0].role",
        ),
        (
            json!({"messages": [{"role": "user"}]}),
            400,
            "missing_required_parameter",
            "messages[0].content",
        ),
        (
            json!({"messages": [{"role": "tool", "content": "a"}]}),
            400,
            "missing_required_parameter",
            "messages[0].tool_call_id",
        ),
        (
            json!({"messages": vec![&user; 100_000]}),
            400,
            "array_above_max_length",
            "messages",
        ),
        (said(json!(3)), 400, "invalid_type", "messages[0].content"),
        (
            said(json!([{"type": "text"}])),
            400,
            "missing_required_parameter",
            "messages[0].content[0].text",
        ),
        (
            said(json!([{"text": "a"}])),
            400,
            "missing_required_parameter",
            "messages[0].content[0].type",
        ),
        (
            said(
                json!([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}]),
            ),
            400,
            "unsupported_content_part",
            "messages[0].content[1].type",
        ),
        (
            said(json!([{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}])),
            400,
            "unsupported_content_part",
            "messages[0].content[0].type",
        ),
        (
            said(json!("a ".repeat(100_001))),
            400,
            "context_length_exceeded",
            "messages",
        ),
        (
            call(json!({"id": "1", "type": "function"})),
            400,
            "missing_required_parameter",
            "messages[0].tool_calls[0].function",
        ),
        (
            call(json!({"id": "1", "type": "custom"})),
            400,
            "invalid_value",
            "messages[0].tool_calls[0].type",
        ),
        (
            call(
                json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": {}}}),
            ),
            400,
            "invalid_type",
            "messages[0].tool_calls[0].function.arguments",
        ),
        (
            json!({"temperature": 2.1}),
            400,
            "decimal_above_max_value",
            "temperature",
        ),
        (
            json!({"temperature": "hot"}),
            400,
            "invalid_type",
            "temperature",
        ),
        (
            json!({"top_p": -0.1}),
            400,
            "decimal_below_min_value",
            "top_p",
        ),
        (
            json!({"min_p": 1.5}),
            400,
            "decimal_above_max_value",
            "min_p",
        ),
        (
            json!({"top_k": -1}),
            400,
            "integer_below_min_value",
            "top_k",
        ),
        (
            json!({"repetition_penalty": 0}),
            400,
            "decimal_below_min_value",
            "repetition_penalty",
        ),
        (
            json!({"presence_penalty": 3}),
            400,
            "decimal_above_max_value",
            "presence_penalty",
        ),
        (
            json!({"frequency_penalty": -3}),
            400,
            "decimal_below_min_value",
            "frequency_penalty",
        ),
        (
            json!({"max_tokens": 0}),
            400,
            "integer_below_min_value",
            "max_tokens",
        ),
        (
            json!({"max_tokens": 1_000_000}),
            400,
            "integer_above_max_value",
            "max_tokens",
        ),
        (
            json!({"max_completion_tokens": 1.5}),
            400,
            "invalid_type",
            "max_completion_tokens",
        ),
        (json!({"n": 0}), 400, "integer_below_min_value", "n"),
        (json!({"n": 129}), 400, "integer_above_max_value", "n"),
        (json!({"seed": 0.5}), 400, "invalid_type", "seed"),
        (json!({"stop": 3}), 400, "invalid_type", "stop"),
        (json!({"stop": ["a", 3]}), 400, "invalid_type", "stop[1]"),
        (json!({"stop": ""}), 400, "invalid_value", "stop"),
        (
            json!({"stop": ["a", "b", "c", "d", "e"]}),
            400,
            "array_above_max_length",
            "stop",
        ),
        (
            json!({"logit_bias": [1]}),
            400,
            "invalid_type",
            "logit_bias",
        ),
        (
            json!({"logit_bias": {"a": 1}}),
            400,
            "invalid_value",
            "logit_bias",
        ),
        (
            json!({"logit_bias": {"1": 101}}),
            400,
            "invalid_value",
            "logit_bias",
        ),
        (json!({"stream": "yes"}), 400, "invalid_type", "stream"),
        (
            json!({"stream_options": {"include_usage": true}}),
            400,
            "invalid_value",
            "stream_options",
        ),
        (
            json!({"stream": true, "stream_options": {"include_usage": 1}}),
            400,
            "invalid_type",
            "stream_options.include_usage",
        ),
        (
            json!({"tools": [{"type": "function", "function": {"description": "x"}}]}),
            400,
            "missing_required_parameter",
            "tools[0].function.name",
        ),
        (
            json!({"tools": [{}, {}, {}]}),
            400,
            "array_above_max_length",
            "tools",
        ),
        (
            json!({"tool_choice": "required"}),
            400,
            "unsupported_value",
            "tool_choice",
        ),
        (
            json!({"logprobs": true}),
            400,
            "unsupported_value",
            "logprobs",
        ),
        (
            json!({"response_format": {"type": "json_object"}}),
            400,
            "unsupported_value",
            "response_format",
        ),
        (
            json!({"modalities": ["text", "audio"]}),
            400,
            "unsupported_value",
            "modalities",
        ),
        (json!({"user": 3}), 400, "invalid_type", "user"),
        (json!({"metadata": "a"}), 400, "invalid_type", "metadata"),
    ] {
        let shown: String = change.to_string().chars().take(200).collect();
        let answer = ask(&server, &change).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{shown}: {answer:?}"
        );
        let error = &answer.json()["error"];
        assert_eq!(error["param"], param, "{shown}");
        assert_eq!(error["type"], "invalid_request_error", "{shown}");
        assert!(
            error["message"].as_str().unwrap().len() < 400,
            "{shown}: {error}"
        );
    }
    let image = json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]});
    let message = ask(&server, &image).await.json()["error"]["message"].to_string();
    assert!(
        message.contains("'image_url'") && message.contains("accepted here: text"),
        "{message}"
    );
    at_rest(&server).await;
    assert_eq!(
        metric(&server, "promenade_requests_total{end=\"done\"}").await,
        0.0
    );
}

#[tokio::test]
async fn broken_bodies_are_named_and_strange_texts_are_repeated() {
    let server = serve(|_| {}).await;
    let deep = format!(
        "{{\"model\": \"toy-chat\", \"messages\": {}{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let mut not_utf8 = talk(&json!({}))
        .to_string()
        .replace("one", "o#e")
        .into_bytes();
    let hash = not_utf8.iter().position(|byte| *byte == b'#').unwrap();
    not_utf8[hash] = 0xff;
    for (body, status, code) in [
        (deep.into_bytes(), 400, "invalid_json"),
        (not_utf8, 400, "invalid_utf8"),
        (Vec::new(), 400, "invalid_json"),
        (vec![b' '; 300 * 1024], 413, "body_too_large"),
    ] {
        let answer = exchange(&server, &request(&body)).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
    }
    for text in [
        "a\u{0}b \u{0}",
        "e\u{301}\u{200d} 🎉 世界",
        "data: [DONE]\n\ndata: x",
        "",
        " \n",
    ] {
        let said = json!({"messages": [{"role": "user", "content": text}]});
        let body = ask(&server, &said).await.json();
        assert_eq!(body["choices"][0]["message"]["content"], text);
        let mut streamed = said;
        streamed["stream"] = json!(true);
        let (all, is_done) = events(&ask(&server, &streamed).await);
        assert_eq!((text_of(&all, 0).as_str(), is_done), (text, true));
    }
    assert_eq!(get(&server, DOOR).await.status, 405);
}

#[tokio::test]
async fn a_failure_never_looks_like_an_end() {
    let server = serve(|_| {}).await;
    let whole = ask(&server, &json!({"model": "toy-failing"})).await;
    assert_eq!((whole.status, whole.code().as_str()), (500, "model_failed"));
    let streamed = ask(
        &server,
        &json!({"model": "toy-failing", "stream": true, "n": 2}),
    )
    .await;
    assert_eq!(streamed.status, 200);
    let (mut all, is_done) = events(&streamed);
    assert!(!is_done);
    let error = all.pop().unwrap();
    assert_eq!(error["error"]["code"], "model_failed");
    assert_eq!(error["error"]["type"], "server_error");
    let text = text_of(&all, 0);
    assert!(
        "one two ".starts_with(&text) && text.starts_with("one"),
        "{text}"
    );
    at_rest(&server).await;
    let failed = "promenade_chat_answers_total{model=\"toy-failing\",end=\"failed\"}";
    assert_eq!(metric(&server, failed).await, 3.0);
    // It is no matter of the others.
    assert_eq!(ask(&server, &json!({})).await.status, 200);
}

#[tokio::test]
async fn those_who_leave_are_not_written_for() {
    let server = serve_costing(Duration::from_millis(1), |_| {}).await;
    let long = json!([{"role": "user", "content": "word ".repeat(20_000)}]);
    let mut clients = Vec::new();
    for index in 0..30 {
        let change = json!({"messages": long, "stream": index % 3 != 0, "n": 1 + index % 2});
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream
            .write_all(&request(talk(&change).to_string().as_bytes()))
            .await
            .unwrap();
        if index % 3 == 2 {
            let mut some = [0; 512];
            let _ = stream.read(&mut some).await.unwrap();
        }
        clients.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(clients);
    at_rest(&server).await;
    let of = async |end: &str| {
        metric(
            &server,
            &format!("promenade_chat_answers_total{{model=\"toy-chat\",end=\"{end}\"}}"),
        )
        .await
    };
    assert_eq!(
        (of("stop").await, of("length").await, of("failed").await),
        (0.0, 0.0, 0.0)
    );
    // Those whose body had not arrived when they left were never begun.
    let cancelled = of("cancelled").await;
    assert!((20.0..=45.0).contains(&cancelled), "{cancelled}");
    assert_eq!(
        metric(&server, "promenade_requests_total{end=\"cancelled\"}").await,
        cancelled
    );
    // A step that had begun may end after its request was cancelled, no other one begins.
    assert!(metric(&server, "promenade_engine_steps_after_cancel_total").await <= cancelled);
}

#[tokio::test]
async fn every_answer_takes_a_place() {
    let server = serve_costing(Duration::from_millis(20), |config| {
        config.limits.streams = 2;
    })
    .await;
    let refused = ask(&server, &json!({"n": 3})).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "overloaded")
    );
    assert_eq!(refused.header("retry-after"), Some("1"));
    let long = json!({"stream": true, "n": 2, "messages": [{"role": "user", "content": "w ".repeat(500)}]});
    let mut inside = TcpStream::connect(server.address()).await.unwrap();
    inside
        .write_all(&request(talk(&long).to_string().as_bytes()))
        .await
        .unwrap();
    let mut first = [0; 16];
    inside.read_exact(&mut first).await.unwrap();
    assert_eq!(ask(&server, &json!({})).await.status, 503);
    drop(inside);
    at_rest(&server).await;
    assert_eq!(ask(&server, &json!({"n": 2})).await.status, 200);
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_ended_by_name() {
    let server = serve_costing(Duration::from_millis(5), |config| {
        config.limits.stream_seconds = 0.2;
    })
    .await;
    let long =
        json!({"stream": true, "messages": [{"role": "user", "content": "w ".repeat(5_000)}]});
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream
        .write_all(&request(talk(&long).to_string().as_bytes()))
        .await
        .unwrap();
    let (all, is_done) = events(&read_answer(&mut stream).await);
    assert!(!is_done);
    assert_eq!(all.last().unwrap()["error"]["code"], "stream_timeout");
    at_rest(&server).await;
}

#[tokio::test]
async fn voices_and_language_models_stand_side_by_side() {
    let server = serve(|_| {}).await;
    let list = get(&server, "/v1/models").await.json();
    let of = |id: &str| {
        let models = list["data"].as_array().unwrap();
        models
            .iter()
            .find(|model| model["id"] == id)
            .unwrap()
            .clone()
    };
    assert_eq!(of("toy")["task"], "speech");
    assert_eq!(of("toy-chat")["task"], "chat");
    assert_eq!(of("toy-chat")["endpoints"], json!([DOOR]));
    let one = get(&server, "/v1/models/toy-chat").await;
    assert_eq!(one.json()["id"], "toy-chat");
    assert_eq!(get(&server, "/v1/models/toy-chat/graph").await.status, 200);
    let speech = json!({"model": "toy-chat", "input": "a", "voice": "alloy"});
    let wrong = post_to(
        "/v1/audio/speech",
        "content-type: application/json\r\n",
        speech.to_string().as_bytes(),
    );
    let wrong = exchange(&server, &wrong).await;
    assert_eq!(
        (wrong.status, wrong.code().as_str()),
        (404, "model_not_suitable")
    );
    let tokens = ask(&server, &json!({"max_tokens": 3})).await;
    assert_eq!(tokens.status, 200);
    for (kind, count) in [("prompt", 6.0), ("completion", 3.0), ("cached", 0.0)] {
        let name = format!("promenade_chat_tokens_total{{model=\"toy-chat\",kind=\"{kind}\"}}");
        assert_eq!(metric(&server, &name).await, count, "{kind}");
    }
    let first = "promenade_chat_first_token_seconds_count{model=\"toy-chat\"}";
    assert_eq!(metric(&server, first).await, 1.0);
}
