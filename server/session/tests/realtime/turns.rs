//! A turn from the first word to the last sample of its answer.

use serde_json::json;
use session::realtime::{Ahead, Transport};
use session::{Fault, Kind};

use crate::stage::{Piece, Stage};

/// What follows a turn, in its order.
const ANSWER: [&str; 12] = [
    "response.created",
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
    "response.output_audio_transcript.delta",
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
];

/// The types, those that repeat at once told once.
fn outline(stage: &Stage) -> Vec<&str> {
    let mut types = stage.types();
    types.dedup();
    types
}

fn careful(stage: impl FnOnce(&mut session::realtime::Config)) -> Stage {
    Stage::with(|config| {
        config.ahead = Ahead {
            probable_end: None,
            replies: false,
            interim: None,
        };
        stage(config);
    })
}

#[test]
fn a_turn_is_heard_written_down_and_answered_in_order() {
    let mut stage = careful(|_| {});
    assert_eq!(stage.types(), ["session.created", "conversation.created"]);
    stage.take();
    stage.update(json!({"audio": {"input": {"transcription": {"model": "whisper-1"}}}}));
    stage.hush(400);
    stage.talk(1000);
    stage.hush(2000);
    let mut expected = vec![
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.completed",
    ];
    expected.extend(ANSWER);
    expected.push("promenade.turn.timing");
    let position = expected
        .iter()
        .position(|kind| *kind == "response.output_audio.delta")
        .unwrap();
    // Words that come before the audio are told before it.
    assert_eq!(&outline(&stage)[..position], &expected[..position]);
    let mut sorted = (outline(&stage), expected);
    sorted.0.sort_unstable();
    sorted.1.sort_unstable();
    assert_eq!(sorted.0, sorted.1);
    assert_eq!(stage.audio_ms(), 1000);
    let started = stage.one("input_audio_buffer.speech_started");
    // 400 ms of silence, of which 300 belong to the turn; a frame is 32 ms.
    let at = started["audio_start_ms"].as_u64().unwrap();
    assert!((80..=132).contains(&at), "{at}");
    let stopped = stage.one("input_audio_buffer.speech_stopped");
    let at = stopped["audio_end_ms"].as_u64().unwrap();
    assert!((1900..=1960).contains(&at), "{at}");
    let done = &stage.one("response.done")["response"];
    assert_eq!(done["status"], "completed");
    assert_eq!(
        done["output"][0]["content"][0]["transcript"],
        "Alpha bravo."
    );
    assert_eq!(done["usage"]["input_tokens"], 20);
    assert_eq!(done["usage"]["total_tokens"], 24);
    let stages = &stage.one("promenade.turn.timing")["stages"];
    assert_eq!(stages["speech_end"], 0.0);
    let times = [
        "committed",
        "transcript",
        "first_text",
        "first_audio",
        "sent",
    ];
    let times: Vec<f64> = times.iter().map(|s| stages[s].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!((480.0..560.0).contains(&times[0]), "{times:?}");
    assert_eq!(
        stage.told(0)[1..],
        [("user", "Hello there.")],
        "the instructions go before"
    );
    // The next turn knows the first.
    stage.take();
    stage.talk(500);
    stage.hush(1500);
    assert_eq!(
        stage.told(1)[1..],
        [
            ("user", "Hello there."),
            ("assistant", "Alpha bravo."),
            ("user", "Hello there.")
        ]
    );
    stage.assert_quiet();
}

#[test]
fn what_was_begun_at_a_probable_end_goes_out_as_the_turn_is_over() {
    let mut stage = Stage::new();
    stage.take();
    stage.talk(1000);
    stage.hush(460);
    // Transcribed and answered, and nobody has heard of it.
    assert_eq!(stage.requests.len(), 1);
    assert!(stage.requests[0].1.speculative);
    assert_eq!(stage.types(), ["input_audio_buffer.speech_started"]);
    stage.hush(100);
    assert_eq!(stage.committed, [stage.requests[0].0]);
    stage.hush(500);
    assert_eq!(stage.requests.len(), 1, "asked once");
    assert_eq!(stage.transcriptions, 1, "transcribed once");
    assert_eq!(stage.audio_ms(), 1000);
    let timing = stage.one("promenade.turn.timing");
    assert_eq!(timing["speculative"], true);
    let sent = timing["stages"]["sent"].as_f64().unwrap();
    assert!(sent < 560.0, "{timing}");
    // It waited to be sent, and was there long before.
    let there = timing["stages"]["first_audio"].as_f64().unwrap();
    assert!(there < 350.0, "{timing}");
    stage.assert_quiet();
}

#[test]
fn a_pause_for_breath_takes_back_what_was_begun() {
    let mut stage = Stage::new();
    stage.models.said = vec![Ok("I would like"), Ok("I would like tea.")];
    stage.take();
    stage.talk(800);
    stage.hush(300);
    assert_eq!(stage.requests.len(), 1);
    stage.talk(600);
    assert_eq!(stage.cancelled, [stage.requests[0].0]);
    stage.hush(1500);
    assert_eq!(stage.committed, [stage.requests[1].0]);
    assert_eq!(stage.told(1)[1..], [("user", "I would like tea.")]);
    assert!(
        stage
            .types()
            .iter()
            .filter(|t| **t == "response.created")
            .count()
            == 1
    );
    stage.assert_quiet();
}

#[test]
fn a_click_is_no_turn_and_noise_without_words_is_not_answered() {
    let mut stage = Stage::new();
    stage.take();
    stage.talk(20);
    stage.hush(1000);
    assert_eq!(stage.types(), [""; 0]);
    stage.models.said = vec![Ok("...")];
    stage.talk(200);
    stage.hush(1000);
    assert_eq!(stage.one("promenade.turn.unanswered")["reason"], "no_words");
    assert!(stage.requests.is_empty());
    stage.assert_quiet();
}

#[test]
fn a_command_of_200_ms_and_a_monologue_of_60_s_are_turns() {
    let mut stage = Stage::new();
    stage.take();
    stage.talk(200);
    stage.hush(1500);
    assert_eq!(
        stage.one("response.done")["response"]["status"],
        "completed"
    );
    stage.take();
    stage.talk(60_000);
    stage.hush(1500);
    assert_eq!(
        stage.one("response.done")["response"]["status"],
        "completed"
    );
    // Longer than what may wait: a turn ends there.
    stage.take();
    stage.talk(130_000);
    let stopped = stage.one("input_audio_buffer.speech_stopped");
    let from = stage.one("input_audio_buffer.committed");
    assert_eq!(from["item_id"], stopped["item_id"]);
}

#[test]
fn where_audio_stops_coming_the_clock_ends_the_turn() {
    let mut stage = Stage::new();
    stage.take();
    stage.talk(1000);
    stage.pass(600);
    assert!(stage.types().len() == 1, "{:?}", stage.types());
    stage.pass(1500);
    assert_eq!(
        stage.one("response.done")["response"]["status"],
        "completed"
    );
    stage.assert_quiet();
}

#[test]
fn where_nobody_says_what_was_heard_the_clock_waits_and_then_ends_the_turn() {
    let mut stage = Stage::new();
    stage.take();
    stage.talk(1000);
    stage.models.deaf = true;
    stage.talk(200);
    // Others look after the time, too, and none of them may be kept busy by it.
    stage.pass(4000);
    assert_eq!(stage.types(), ["input_audio_buffer.speech_started"]);
    stage.pass(2500);
    assert_eq!(
        stage.one("response.done")["response"]["status"],
        "completed"
    );
    stage.assert_quiet();
}

#[test]
fn a_recogniser_that_fails_fails_the_answer_and_not_the_session() {
    let fault = Fault::new(Kind::Internal, "model_failed", "The model failed.");
    let mut stage = careful(|_| {});
    stage.update(json!({"audio": {"input": {"transcription": {"model": "whisper-1"}}}}));
    stage.models.said = vec![Err(fault), Ok("And now?")];
    stage.talk(500);
    stage.hush(1000);
    let failed = stage.one("conversation.item.input_audio_transcription.failed");
    assert_eq!(failed["error"]["code"], "model_failed");
    let done = &stage.one("response.done")["response"];
    assert_eq!(done["status"], "failed");
    assert_eq!(done["status_details"]["error"]["code"], "model_failed");
    stage.take();
    stage.talk(500);
    stage.hush(1500);
    assert_eq!(
        stage.one("response.done")["response"]["status"],
        "completed"
    );
    stage.assert_quiet();
}

#[test]
fn a_reply_that_fails_is_told_once() {
    let fault = Fault::new(Kind::Unavailable, "overloaded", "Too much to do.");
    let mut stage = Stage::new();
    stage.models.reply = vec![(40, Piece::Text("Al")), (50, Piece::Failed(fault))];
    stage.take();
    stage.talk(500);
    stage.hush(1500);
    let done = &stage.one("response.done")["response"];
    assert_eq!(done["status"], "failed", "{done}");
    assert_eq!(done["status_details"]["error"]["code"], "overloaded");
    stage.assert_quiet();
}

#[test]
fn push_to_talk_waits_for_the_client() {
    let mut stage = Stage::new();
    stage.update(json!({"audio": {"input": {"turn_detection": null}}}));
    stage.talk(1000);
    stage.hush(2000);
    assert!(stage.types().is_empty());
    stage.send(json!({"type": "input_audio_buffer.commit"}));
    assert_eq!(
        stage.types(),
        [
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done"
        ]
    );
    // It is asked before what was said is known, and waits for that.
    stage.send(json!({"type": "response.create"}));
    assert!(stage.requests.is_empty());
    stage.pass(500);
    assert_eq!(stage.told(0)[1..], [("user", "Hello there.")]);
    assert_eq!(
        stage.one("response.done")["response"]["status"],
        "completed"
    );
    stage.take();
    stage.send(json!({"type": "input_audio_buffer.commit"}));
    let error = &stage.one("error")["error"];
    assert_eq!(error["code"], "input_audio_buffer_commit_empty");
    stage.assert_quiet();
}

#[test]
fn a_semantic_end_waits_for_who_has_not_finished() {
    for (complete, least, most) in [(1.0, 300, 450), (0.0, 3900, 4300)] {
        let mut stage = Stage::new();
        stage.models.complete = complete;
        stage.update(json!({"audio": {"input": {"turn_detection": {"type": "semantic_vad"}}}}));
        stage.talk(1000);
        let from = stage.now;
        while !stage.types().contains(&"input_audio_buffer.committed") {
            stage.hush(20);
        }
        let took = (stage.now - from).as_millis();
        assert!((least..=most).contains(&took), "{complete}: {took} ms");
    }
}

#[test]
fn a_session_that_transcribes_does_nothing_else() {
    let mut stage = Stage::with(|config| {
        config.defaults.kind = session::realtime::Kind::Transcription;
    });
    assert_eq!(stage.types(), ["session.created"]);
    assert_eq!(
        stage.one("session.created")["session"]["type"],
        "transcription"
    );
    stage.take();
    stage.talk(1000);
    stage.hush(1000);
    let done = stage.one("conversation.item.input_audio_transcription.completed");
    assert_eq!(done["transcript"], "Hello there.");
    assert_eq!(done["usage"]["type"], "duration");
    assert!(stage.requests.is_empty());
    stage.send(json!({"type": "response.create"}));
    assert_eq!(stage.one("error")["error"]["code"], "transcription_session");
    stage.assert_quiet();
}

#[test]
fn over_webrtc_audio_leaves_in_packets_and_the_buffer_is_told_of() {
    let mut stage = Stage::with(|config| config.transport = Transport::WebRtc);
    stage.take();
    stage.talk(1000);
    stage.hush(2500);
    let types = stage.types();
    let at = |kind: &str| types.iter().position(|t| *t == kind).unwrap();
    assert!(at("output_audio_buffer.started") < at("response.done"));
    assert!(at("response.done") < at("output_audio_buffer.stopped"));
    assert_eq!(stage.audio_ms(), 0);
    let loud = stage.played.iter().filter(|s| **s > 0.2).count();
    assert_eq!(loud, 24_000);
    stage.send(json!({"type": "input_audio_buffer.append", "audio": "AAAA"}));
    assert_eq!(stage.one("error")["error"]["code"], "audio_comes_by_rtp");
    stage.assert_quiet();
}

#[test]
fn who_says_nothing_is_spoken_to_after_the_idle_timeout() {
    let mut stage = Stage::new();
    stage.update(json!({"audio": {"input": {"turn_detection":
        {"type": "server_vad", "idle_timeout_ms": 5000}}}}));
    stage.talk(500);
    stage.hush(1500);
    assert_eq!(stage.requests.len(), 1);
    stage.take();
    stage.hush(6500);
    stage.one("input_audio_buffer.timeout_triggered");
    assert_eq!(stage.requests.len(), 2);
    assert_eq!(
        stage.one("response.done")["response"]["status"],
        "completed"
    );
}

#[test]
fn a_session_ends_at_its_age_and_after_long_silence() {
    let mut stage = Stage::new();
    stage.take();
    stage.pass(14 * 60_000);
    assert_eq!(stage.closed, None);
    stage.pass(2 * 60_000);
    assert_eq!(stage.one("error")["error"]["code"], "idle_timeout");
    assert_eq!(stage.closed, Some(1000));
    assert!(stage.session.is_closed());

    let mut stage = Stage::with(|config| config.limits.idle = config.limits.lifetime * 2);
    stage.take();
    stage.pass(59 * 60_000 + 1);
    assert_eq!(stage.one("promenade.session.expiring")["seconds_left"], 60);
    stage.pass(60_000);
    assert_eq!(stage.one("error")["error"]["code"], "session_expired");
    assert_eq!(stage.closed, Some(1001));
}

#[test]
fn a_closing_server_lets_an_answer_end_and_takes_no_more() {
    let mut stage = Stage::new();
    stage.talk(500);
    stage.hush(520);
    stage.session.handle_drain(stage.now);
    stage.pump();
    assert_eq!(stage.closed, None);
    stage.hush(500);
    assert_eq!(
        stage.one("response.done")["response"]["status"],
        "completed"
    );
    assert_eq!(stage.closed, Some(1001));
}
