//! The microphone hears the answer, where no browser takes it out.

use session::realtime::Transport;

use crate::stage::{Piece, Stage, voice};

/// The user has asked, and the answer begins: four seconds of something like speech.
fn answered(transport: Transport) -> Stage {
    let mut stage = Stage::with(|config| config.transport = transport);
    stage.models.reply = vec![
        (40, Piece::Text("One two three four.")),
        (80, Piece::Voice(4000)),
        (120, Piece::Done),
    ];
    stage.talk(600);
    // The softest echo would be taken for speech.
    stage.models.loud = 0.01;
    while !stage.types().contains(&"response.created") {
        stage.hush(20);
    }
    stage.take();
    stage
}

#[test]
fn an_answer_does_not_interrupt_itself_and_is_not_answered() {
    for transport in [Transport::WebRtc, Transport::WebSocket] {
        for (delay, db) in [
            (20, -6.0),
            (80, -20.0),
            (160, -12.0),
            (300, -6.0),
            (300, -20.0),
        ] {
            let mut stage = answered(transport);
            stage.echo(6000, delay, db, &[]);
            let at = format!("{transport:?}, {delay} ms, {db} dB");
            let types = stage.types();
            assert!(
                !types.contains(&"input_audio_buffer.speech_started"),
                "{at}: {types:?}"
            );
            assert_eq!(
                stage.one("response.done")["response"]["status"],
                "completed",
                "{at}"
            );
            assert_eq!(stage.requests.len(), 1, "{at}");
            stage.assert_quiet();
        }
    }
}

#[test]
fn who_speaks_over_the_echo_interrupts_as_ever() {
    for transport in [Transport::WebRtc, Transport::WebSocket] {
        for (delay, db) in [(60, -6.0), (200, -20.0)] {
            let mut stage = answered(transport);
            stage.echo(1000, delay, db, &[]);
            let begun = stage.now;
            let mut spoke = None;
            let user = voice(24_000, 190.0);
            for part in user.chunks(480) {
                stage.echo(20, delay, db, part);
                if spoke.is_none() && stage.types().contains(&"input_audio_buffer.speech_started") {
                    spoke = Some(stage.now - begun);
                }
            }
            let noticed = spoke.expect("an interruption").as_millis();
            assert!(
                noticed <= 200,
                "{transport:?}, {delay} ms, {db} dB: {noticed} ms"
            );
        }
    }
}
