//! Stories of one socket in virtual time: no sleeping, no engine.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may fail loudly, and reads better without borrows"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use codecs::SampleRate;
use proptest::prelude::*;
use serde_json::{Value, json};
use session::speech::{Body, Command, Config, Event, Session, UtteranceId, Word};
use session::{
    Catalog, Fault, Kind,
    catalog::{Model, Task},
};

const RATE: SampleRate = SampleRate::HZ_24000;

/// A session with a client and an engine that do what the test says.
struct Stage {
    session: Session,
    now: Duration,
    /// What the client has received.
    received: Vec<Received>,
    /// What the engine was told.
    commands: Vec<Command>,
    closed: Option<u16>,
}

#[derive(Debug, Clone, PartialEq)]
enum Received {
    Json(Value),
    Binary(usize),
}

impl Stage {
    fn unconfigured() -> Self {
        let model = |id: &str| Model {
            id: id.into(),
            voices: vec!["sine".into(), "square".into()],
            default_voice: Some("sine".into()),
            task: Task::Speech,
        };
        let catalog = Catalog {
            models: vec![model("toy")],
        };
        Self {
            session: Session::new(Config::new(Arc::new(catalog)), Duration::ZERO),
            now: Duration::ZERO,
            received: Vec::new(),
            commands: Vec::new(),
            closed: None,
        }
    }

    fn new() -> Self {
        Self::with(json!({}))
    }

    fn with(mut config: Value) -> Self {
        let mut stage = Self::unconfigured();
        config["type"] = json!("session.config");
        stage.send(config);
        assert_eq!(stage.types(), ["session.configured"]);
        stage.received.clear();
        stage
    }

    fn send(&mut self, message: Value) {
        self.session
            .handle_message(self.now, message.to_string().as_bytes());
        self.drain();
    }

    fn text(&mut self, context: &str, text: &str) {
        self.send(json!({"type": "input.text", "context_id": context, "text": text}));
    }

    fn done(&mut self, context: &str) {
        self.send(json!({"type": "input.done", "context_id": context}));
    }

    fn event(&mut self, id: u64, event: Event<'_>) {
        self.session.handle_event(self.now, UtteranceId(id), event);
        self.drain();
    }

    fn audio(&mut self, id: u64, samples: usize) {
        let samples = vec![0.1; samples];
        self.event(
            id,
            Event::Audio {
                samples: &samples,
                rate: RATE,
            },
        );
    }

    fn finish(&mut self, id: u64) {
        self.event(id, Event::Done { rtf: Some(0.5) });
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        if self
            .session
            .poll_deadline()
            .is_some_and(|at| at <= self.now)
        {
            self.session.handle_timeout(self.now);
        }
        self.drain();
    }

    /// Takes all there is, as a driver whose engine takes all text at once.
    fn drain(&mut self) {
        while let Some(command) = self.session.poll_command() {
            if let Command::Feed { utterance, .. } = &command {
                self.session.handle_fed(self.now, *utterance);
            }
            self.commands.push(command);
        }
        while let Some(frame) = self.session.poll_frame() {
            assert_eq!(self.closed, None, "nothing follows the close frame");
            match frame.body {
                Body::Text(text) => {
                    self.received
                        .push(Received::Json(serde_json::from_str(&text).unwrap()));
                }
                Body::Binary(bytes) => self.received.push(Received::Binary(bytes.len())),
                Body::Close { code, .. } => self.closed = Some(code),
            }
        }
    }

    fn types(&self) -> Vec<String> {
        self.received
            .iter()
            .map(|received| match received {
                Received::Json(value) => value["type"].as_str().unwrap().to_owned(),
                Received::Binary(_) => "binary".to_owned(),
            })
            .collect()
    }

    fn all(&self, kind: &str) -> Vec<&Value> {
        let of_kind =
            |received: &Received| matches!(received, Received::Json(v) if v["type"] == kind);
        let values = self
            .received
            .iter()
            .filter(|r| of_kind(r))
            .filter_map(|r| match r {
                Received::Json(value) => Some(value),
                Received::Binary(_) => None,
            });
        values.collect()
    }

    fn last_error(&self) -> &str {
        self.all("error")
            .last()
            .and_then(|e| e["code"].as_str())
            .unwrap_or("no error")
    }

    fn fed(&self, id: u64) -> String {
        let text = |command: &Command| match command {
            Command::Feed { utterance, text } if utterance.0 == id => Some(text.clone()),
            _ => None,
        };
        self.commands.iter().filter_map(text).collect()
    }

    fn told(&self, wanted: &Command) -> bool {
        self.commands.contains(wanted)
    }
}

fn word(text: &str, source: std::ops::Range<u64>, samples: std::ops::Range<u64>) -> Word {
    Word {
        text: text.into(),
        source,
        samples,
    }
}

#[test]
fn one_utterance_is_told_in_order() {
    let mut stage = Stage::new();
    stage.text("", "Hello ");
    stage.text("", "there.");
    stage.done("");
    assert_eq!(stage.fed(0), "Hello there.");
    assert!(stage.told(&Command::End {
        utterance: UtteranceId(0)
    }));
    let words = vec![word("Hello", 0..5, 0..100), word("there.", 6..12, 100..240)];
    stage.event(0, Event::Words { words, rate: RATE });
    stage.audio(0, 240);
    stage.finish(0);
    assert_eq!(
        stage.types(),
        [
            "audio.words",
            "audio.start",
            "binary",
            "audio.done",
            "session.done"
        ]
    );
    let start = stage.all("audio.start")[0];
    assert_eq!(start["sentence_text"], "Hello there.");
    assert_eq!(
        (&start["sample_rate"], &start["format"]),
        (&json!(24000), &json!("pcm"))
    );
    assert_eq!(start.get("context_id"), None);
    assert_eq!(stage.all("audio.done")[0]["total_bytes"], 480);
    let done = stage.all("session.done")[0];
    assert_eq!(
        (&done["total_sentences"], &done["audio_seconds"]),
        (&json!(1), &json!(0.01))
    );
    assert_eq!(stage.all("audio.words")[0]["words"][1]["end"], 0.01);
}

#[test]
fn audio_is_cut_where_the_words_of_the_next_sentence_begin() {
    let mut stage = Stage::new();
    stage.text("", "One. Two.");
    stage.done("");
    let words = vec![word("One.", 0..4, 0..90), word("Two.", 5..9, 100..190)];
    stage.event(0, Event::Words { words, rate: RATE });
    stage.audio(0, 150);
    stage.audio(0, 50);
    stage.finish(0);
    let starts: Vec<_> = stage
        .all("audio.start")
        .iter()
        .map(|s| s["sentence_text"].clone())
        .collect();
    assert_eq!(starts, ["One.", "Two."]);
    let bytes: Vec<_> = stage
        .all("audio.done")
        .iter()
        .map(|s| s["total_bytes"].clone())
        .collect();
    assert_eq!(bytes, [200, 200]);
    assert_eq!(stage.all("session.done")[0]["total_sentences"], 2);
}

#[test]
fn each_sentence_is_a_file_of_its_own_in_a_container() {
    let mut stage = Stage::with(json!({"response_format": "wav", "stream_audio": false}));
    stage.text("", "One. Two.");
    stage.done("");
    let words = vec![word("One.", 0..4, 0..90), word("Two.", 5..9, 100..190)];
    stage.event(0, Event::Words { words, rate: RATE });
    for _ in 0..20 {
        stage.audio(0, 10);
    }
    stage.finish(0);
    let binary: Vec<_> = stage
        .received
        .iter()
        .filter(|r| matches!(r, Received::Binary(_)))
        .collect();
    assert_eq!(binary, [&Received::Binary(244), &Received::Binary(244)]);
}

#[test]
fn config_comes_first_and_once() {
    let mut stage = Stage::unconfigured();
    stage.text("", "Hello");
    assert_eq!(stage.last_error(), "session_config_required");
    stage.send(json!({"type": "session.config", "voice": "sqare"}));
    assert_eq!(stage.last_error(), "voice_not_found");
    stage.send(json!({"type": "session.config", "session": {"voice": "square"}, "typo": 1}));
    stage.send(json!({"type": "session.config"}));
    assert_eq!(stage.last_error(), "session_already_configured");
    stage.text("", "Hello");
    let Command::Open { settings, .. } = &stage.commands[0] else {
        panic!()
    };
    assert_eq!(settings.voice.as_deref(), Some("square"));
}

#[test]
fn wrong_messages_are_named_and_change_nothing() {
    let mut stage = Stage::new();
    for (message, code) in [
        ("", "invalid_json"),
        ("[]", "invalid_type"),
        ("{}", "missing_required_parameter"),
        (r#"{"type": "input.txt"}"#, "invalid_value"),
        (r#"{"type": "input.text"}"#, "missing_required_parameter"),
        (r#"{"type": "input.text", "text": 3}"#, "invalid_type"),
        (
            r#"{"type": "context.close", "context_id": "none"}"#,
            "unknown_context",
        ),
    ] {
        stage.session.handle_message(stage.now, message.as_bytes());
        stage.drain();
        assert_eq!(stage.last_error(), code, "{message}");
    }
    stage.session.handle_binary(stage.now);
    stage.drain();
    assert_eq!(stage.last_error(), "binary_not_accepted");
    assert!(stage.commands.is_empty());
}

#[test]
fn contexts_are_told_apart_by_headers() {
    let mut stage = Stage::new();
    for context in ["a", "b"] {
        stage.text(context, "Hello.");
        stage.done(context);
    }
    stage.audio(0, 10);
    stage.audio(1, 20);
    assert_eq!(
        stage.types(),
        [
            "audio.start",
            "audio.chunk",
            "binary",
            "audio.start",
            "audio.chunk",
            "binary"
        ]
    );
    let chunks = stage.all("audio.chunk");
    assert_eq!(
        (&chunks[0]["context_id"], &chunks[0]["bytes"]),
        (&json!("a"), &json!(20))
    );
    assert_eq!(
        (&chunks[1]["context_id"], &chunks[1]["bytes"]),
        (&json!("b"), &json!(40))
    );
}

#[test]
fn base64_needs_no_binary_frames() {
    let mut stage = Stage::with(json!({"audio_encoding": "base64"}));
    stage.text("a", "Hello.");
    stage.audio(0, 2);
    assert_eq!(stage.types(), ["audio.start", "audio.delta"]);
    assert_eq!(stage.all("audio.delta")[0]["audio"], "zQzNDA==");
}

#[test]
fn the_next_utterance_is_prepared_and_waits_for_its_turn() {
    let mut stage = Stage::new();
    stage.text("", "One.");
    stage.done("");
    stage.text("", "Two.");
    stage.done("");
    assert_eq!((stage.fed(0), stage.fed(1)), ("One.".into(), "Two.".into()));
    assert!(stage.session.wants(UtteranceId(0)) && !stage.session.wants(UtteranceId(1)));
    stage.audio(0, 10);
    stage.finish(0);
    assert!(stage.session.wants(UtteranceId(1)));
    assert_eq!(stage.all("session.done")[0]["utterance_index"], 0);
}

#[test]
fn a_flush_keeps_its_place_in_the_text() {
    let mut stage = Stage::new();
    // The engine has not taken the first text yet when the rest comes.
    stage
        .session
        .handle_message(stage.now, br#"{"type":"input.text","text":"one"}"#);
    stage
        .session
        .handle_message(stage.now, br#"{"type":"input.flush"}"#);
    stage
        .session
        .handle_message(stage.now, br#"{"type":"input.text","text":"two"}"#);
    stage.drain();
    let id = UtteranceId(0);
    assert_eq!(
        stage.commands[1..],
        [
            Command::Feed {
                utterance: id,
                text: "one".into()
            },
            Command::Flush { utterance: id },
            Command::Feed {
                utterance: id,
                text: "two".into()
            },
        ]
    );
}

#[test]
fn clear_drops_what_waits_and_counts_what_left() {
    let mut stage = Stage::new();
    stage.text("", "Hello.");
    stage.done("");
    stage.audio(0, 10);
    // More audio is queued and has not been taken by the socket when the client clears.
    let samples = [0.0; 500];
    let audio = Event::Audio {
        samples: &samples,
        rate: RATE,
    };
    stage.session.handle_event(stage.now, UtteranceId(0), audio);
    stage.send(json!({"type": "input.clear"}));
    assert!(stage.told(&Command::Cancel {
        utterance: UtteranceId(0)
    }));
    assert_eq!(
        stage.types(),
        ["audio.start", "binary", "audio.done", "input.cleared"]
    );
    let done = stage.all("audio.done")[0];
    assert_eq!(
        (&done["total_bytes"], &done["cleared"]),
        (&json!(20), &json!(true))
    );
    // What the engine still sends of it is not heard.
    stage.audio(0, 10);
    stage.finish(0);
    assert_eq!(stage.received.len(), 4);
    stage.text("", "Again.");
    stage.audio(1, 10);
    assert_eq!(stage.all("audio.start")[1]["utterance_index"], 1);
}

#[test]
fn nothing_to_say_is_said_and_not_asked_for() {
    let mut stage = Stage::new();
    stage.text("", " 🎉 ...");
    stage.done("");
    stage.done("");
    assert_eq!(
        stage.types(),
        [
            "input.skipped",
            "session.done",
            "input.skipped",
            "session.done"
        ]
    );
    assert!(stage.commands.is_empty());
}

#[test]
fn a_failed_utterance_ends_and_others_go_on() {
    let mut stage = Stage::new();
    stage.text("a", "Hello.");
    stage.text("b", "Hello.");
    stage.audio(0, 10);
    stage.received.clear();
    let fault = Fault::new(Kind::Internal, "model_failed", "no");
    stage.event(0, Event::Failed(fault));
    assert_eq!(stage.types(), ["audio.done", "error", "session.done"]);
    assert_eq!(stage.all("audio.done")[0]["error"], true);
    assert_eq!(stage.all("error")[0]["context_id"], "a");
    stage.done("b");
    stage.audio(1, 10);
    stage.finish(1);
    assert_eq!(stage.all("session.done")[1]["error"], false);
}

#[test]
fn limits_are_named() {
    let mut stage = Stage::new();
    for index in 0..16 {
        stage.text(&format!("c{index}"), "a");
    }
    stage.text("one more", "a");
    assert_eq!(stage.last_error(), "too_many_contexts");
    stage.text("c0", &"a".repeat(256 * 1024));
    assert_eq!(stage.last_error(), "text_buffer_full");
    stage.text(&"x".repeat(65), "a");
    assert_eq!(stage.last_error(), "string_above_max_length");
    for _ in 0..16 {
        stage.text("c0", "b");
        stage.done("c0");
    }
    stage.text("c0", "b");
    assert_eq!(stage.last_error(), "too_many_utterances");
}

#[test]
fn a_closed_context_speaks_to_its_end_and_is_forgotten() {
    let mut stage = Stage::new();
    stage.text("a", "Hello.");
    stage.send(json!({"type": "context.close", "context_id": "a"}));
    assert!(stage.told(&Command::End {
        utterance: UtteranceId(0)
    }));
    stage.text("a", "More.");
    assert_eq!(stage.last_error(), "context_closing");
    stage.audio(0, 10);
    stage.finish(0);
    assert_eq!(stage.types().last().unwrap(), "context.closed");
}

#[test]
fn closing_waits_for_what_was_given() {
    let mut stage = Stage::new();
    stage.text("", "Hello.");
    stage.send(json!({"type": "session.close"}));
    assert_eq!(stage.closed, None);
    stage.text("", "More.");
    assert_eq!(stage.last_error(), "session_closing");
    stage.audio(0, 10);
    stage.finish(0);
    assert_eq!(stage.closed, Some(1000));
    assert!(stage.session.is_closed());
}

#[test]
fn deadlines_close_with_their_reason() {
    let mut stage = Stage::unconfigured();
    stage.wait(Duration::from_secs(10));
    assert_eq!(
        (stage.last_error(), stage.closed),
        ("config_timeout", Some(1008))
    );

    let mut stage = Stage::new();
    stage.wait(Duration::from_secs(29));
    stage.send(json!({"type": "ping"}));
    stage.wait(Duration::from_secs(29));
    assert_eq!(stage.closed, None);
    stage.wait(Duration::from_secs(1));
    assert_eq!(
        (stage.last_error(), stage.closed),
        ("idle_timeout", Some(1000))
    );

    let mut stage = Stage::new();
    stage.text("", "Long.");
    stage.done("");
    stage.wait(Duration::from_secs(120));
    assert_eq!(stage.closed, None, "speaking is not idling");
    stage.wait(Duration::from_secs(3600));
    assert_eq!(
        (stage.last_error(), stage.closed),
        ("session_expired", Some(1001))
    );
    assert!(stage.told(&Command::Cancel {
        utterance: UtteranceId(0)
    }));
}

#[test]
fn draining_finishes_and_stopping_does_not() {
    let mut stage = Stage::new();
    stage.text("", "Hello.");
    stage.session.handle_drain(stage.now);
    stage.drain();
    assert_eq!(stage.closed, None);
    stage.session.handle_stop();
    stage.drain();
    assert_eq!(
        (stage.last_error(), stage.closed),
        ("server_closing", Some(1001))
    );
    assert!(stage.told(&Command::Cancel {
        utterance: UtteranceId(0)
    }));
}

#[test]
fn a_client_that_asks_and_does_not_read_is_closed() {
    let mut stage = Stage::new();
    for _ in 0..2000 {
        stage
            .session
            .handle_message(stage.now, br#"{"type":"ping"}"#);
    }
    stage.drain();
    assert_eq!(stage.closed, Some(1008));
}

#[test]
fn audio_that_nobody_takes_is_not_asked_for() {
    let mut stage = Stage::new();
    stage.text("", "Hello.");
    let samples = vec![0.0; 24_000];
    let id = UtteranceId(0);
    let mut taken = 0;
    while stage.session.wants(id) {
        let audio = Event::Audio {
            samples: &samples,
            rate: RATE,
        };
        stage.session.handle_event(stage.now, id, audio);
        taken += 1;
        assert!(taken < 100);
    }
    stage.drain();
    assert!(stage.session.wants(id));
}

/// What may happen to a session.
#[derive(Debug, Clone)]
enum Step {
    Message(Value),
    Audio(u64, usize),
    Words(u64, u64),
    Done(u64),
    Failed(u64),
    Wait(u64),
    Drain,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let context = prop_oneof![Just(""), Just("a"), Just("b"), Just("c")];
    let kind = prop_oneof![
        Just("input.flush"),
        Just("input.clear"),
        Just("input.done"),
        Just("context.open"),
        Just("context.close"),
        Just("session.close"),
        Just("nonsense"),
    ];
    let text = prop_oneof![
        Just("Hello. You"),
        Just(" "),
        Just(""),
        Just("one. Two! three")
    ];
    let step = prop_oneof![
        6 => (context.clone(), text).prop_map(|(context, text)| Step::Message(
            json!({"type": "input.text", "context_id": context, "text": text})
        )),
        4 => (context, kind).prop_map(|(context, kind)| Step::Message(
            json!({"type": kind, "context_id": context})
        )),
        4 => (0u64..8, 1usize..3000).prop_map(|(id, count)| Step::Audio(id, count)),
        2 => (0u64..8, 0u64..20).prop_map(|(id, at)| Step::Words(id, at)),
        3 => (0u64..8).prop_map(Step::Done),
        1 => (0u64..8).prop_map(Step::Failed),
        1 => (0u64..20).prop_map(Step::Wait),
        1 => Just(Step::Drain),
    ];
    prop::collection::vec(step, 0..80)
}

fn apply(stage: &mut Stage, step: Step) {
    match step {
        Step::Message(message) => stage.send(message),
        // A driver takes only what is wanted.
        Step::Audio(id, _) | Step::Words(id, _) if !stage.session.wants(UtteranceId(id)) => {}
        Step::Audio(id, count) => stage.audio(id, count),
        Step::Words(id, at) => {
            let words = vec![word("w", at..at + 1, at * 10..at * 10 + 5)];
            stage.event(id, Event::Words { words, rate: RATE });
        }
        Step::Done(id) => stage.finish(id),
        Step::Failed(id) => stage.event(id, Event::Failed(Fault::new(Kind::Internal, "x", "x"))),
        Step::Wait(seconds) => stage.wait(Duration::from_secs(seconds)),
        Step::Drain => {
            stage.session.handle_drain(stage.now);
            stage.drain();
        }
    }
}

/// The utterances that the engine was told of and that are not over.
fn left_open(commands: &[Command], over: &[u64]) -> Vec<u64> {
    let mut open: BTreeMap<u64, bool> = BTreeMap::new();
    for command in commands {
        match command {
            Command::Open { utterance, .. } => {
                assert!(open.insert(utterance.0, true).is_none(), "opened twice");
            }
            Command::Cancel { utterance } => {
                assert_eq!(
                    open.insert(utterance.0, false),
                    Some(true),
                    "cancelled unopened"
                );
            }
            Command::Feed { utterance, .. }
            | Command::Flush { utterance }
            | Command::End { utterance } => {
                assert_eq!(
                    open.get(&utterance.0),
                    Some(&true),
                    "told of an unopened one"
                );
            }
        }
    }
    open.into_iter()
        .filter(|(id, open)| *open && !over.contains(id))
        .map(|(id, _)| id)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_events_leaves_anything_behind(steps in steps()) {
        let mut stage = Stage::new();
        let mut over = Vec::new();
        for step in steps {
            if let Step::Done(id) | Step::Failed(id) = step {
                // An engine tells the end of what it was told of, once.
                let told = |c: &Command| matches!(c, Command::Open { utterance, .. } if utterance.0 == id);
                if !stage.commands.iter().any(told) || over.contains(&id) {
                    continue;
                }
                over.push(id);
            }
            if let Step::Audio(id, _) | Step::Words(id, _) = step
                && over.contains(&id)
            {
                continue;
            }
            apply(&mut stage, step);
        }
        // The client hangs up: whatever the engine still works on is given up.
        stage.session.handle_peer_closed();
        stage.drain();
        prop_assert!(stage.session.is_closed());
        prop_assert_eq!(stage.session.poll_deadline(), None);
        prop_assert_eq!(left_open(&stage.commands, &over), Vec::<u64>::new());
        // Every sentence that began has ended, unless the hanging up cut it off.
        let starts = stage.all("audio.start").len();
        let ends = stage.all("audio.done").len();
        prop_assert!(starts >= ends && starts - ends <= 4, "{} {}", starts, ends);
    }

    #[test]
    fn whatever_was_given_is_spoken_before_a_close(steps in steps()) {
        let mut stage = Stage::new();
        for step in steps {
            match step {
                Step::Message(_) | Step::Words(..) | Step::Audio(..) => apply(&mut stage, step),
                _ => {}
            }
        }
        stage.send(json!({"type": "session.close"}));
        // Utterances end in the order of their ids within a context, as the engine is asked.
        for _ in 0..200 {
            for id in 0..200 {
                if stage.session.wants(UtteranceId(id)) {
                    stage.finish(id);
                }
            }
            if stage.session.is_closed() {
                break;
            }
        }
        prop_assert!(stage.session.is_closed());
        prop_assert_eq!(stage.closed, Some(1000));
        prop_assert_eq!(stage.all("audio.start").len(), stage.all("audio.done").len());
    }
}
