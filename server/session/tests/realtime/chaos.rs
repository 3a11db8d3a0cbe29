//! Whatever happens in whatever order, what always holds does.

use proptest::prelude::*;
use serde_json::json;
use session::realtime::Transport;

use crate::stage::{Piece, Stage};

#[derive(Debug, Clone)]
enum Step {
    Talk(u64),
    Hush(u64),
    Pass(u64),
    Send(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1_u64..60).prop_map(|n| Step::Talk(n * 20)),
        3 => (1_u64..60).prop_map(|n| Step::Hush(n * 20)),
        1 => (0_u64..3000).prop_map(Step::Pass),
        2 => (0_usize..11).prop_map(Step::Send),
    ]
}

fn event(n: usize) -> serde_json::Value {
    match n {
        0 => json!({"type": "response.create"}),
        1 => json!({"type": "response.cancel"}),
        2 => json!({"type": "input_audio_buffer.commit"}),
        3 => json!({"type": "input_audio_buffer.clear"}),
        4 => json!({"type": "output_audio_buffer.clear"}),
        5 => json!({"type": "session.update", "session": {"type": "realtime",
            "audio": {"input": {"turn_detection": null}}}}),
        6 => json!({"type": "session.update", "session": {"type": "realtime",
            "audio": {"input": {"turn_detection": {"type": "semantic_vad"}}}}}),
        7 => json!({"type": "session.update", "session": {"type": "realtime",
            "audio": {"input": {"turn_detection": {"type": "server_vad",
                "overlap": {"mode": "pause"}}}}}}),
        8 => json!({"type": "conversation.item.create", "item": {"type": "message",
            "role": "user", "content": [{"type": "input_text", "text": "Hm."}]}}),
        9 => json!({"type": "response.create", "response": {"conversation": "none"}}),
        _ => json!({"type": "session.update", "session": {"type": "realtime",
            "audio": {"input": {"turn_detection": {"type": "server_vad",
                "overlap": {"mode": "duck"}}}}}}),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn all_that_begins_ends_once(
        webrtc in any::<bool>(),
        slow in 0_u64..800,
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut stage = Stage::with(|config| {
            if webrtc {
                config.transport = Transport::WebRtc;
            }
        });
        stage.models.transcribing = std::time::Duration::from_millis(slow);
        stage.models.complete = 0.7;
        stage.models.reply = vec![
            (slow / 2, Piece::Text("Well, ")),
            (slow, Piece::Audio(700)),
            (slow, Piece::Text("then.")),
            (slow + 300, Piece::Audio(900)),
            (slow + 400, Piece::Done),
        ];
        for step in steps {
            match step {
                Step::Talk(ms) => stage.talk(ms),
                Step::Hush(ms) => stage.hush(ms),
                Step::Pass(ms) => stage.pass(ms),
                Step::Send(n) => stage.send(event(n)),
            }
        }
        stage.session.handle_drain(stage.now);
        stage.pump();
        stage.hush(3000);
        stage.pass(20_000);
        stage.session.handle_stop();
        stage.pump();
        stage.assert_quiet();
        prop_assert!(stage.session.is_closed());
    }
}
