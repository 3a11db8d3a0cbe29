//! Text goes in bit by bit, and audio comes out before the text is over.

use std::time::Duration;

use engine::{Limits, Output, toy};

use crate::support::{
    LETTER, PATIENCE, Random, alone, at_rest, block_on, engine, free, listen, options, say, submit,
};

const TEXT: &str = "It was a bright cold day in April, and the clocks were striking thirteen. \
    Nobody looked up; the wind had been from the east all week. Why would they?";

#[test]
fn text_in_any_pieces_gives_the_same_audio() {
    let whole = alone(TEXT, options(&[]));
    assert_eq!(
        whole.samples.len() as u64,
        TEXT.chars().count() as u64 * LETTER
    );
    let mut random = Random(3);
    for workers in [1, 2] {
        let engine = free(workers);
        for _ in 0..20 {
            let request = submit(&engine, options(&[])).unwrap();
            let mut rest = TEXT;
            while !rest.is_empty() {
                let (piece, more) = rest.split_at(1 + random.below(rest.len().min(9)));
                assert_eq!(request.feed.text(piece).unwrap().0, piece.len());
                if random.below(4) == 0 {
                    std::thread::yield_now();
                }
                rest = more;
            }
            request.feed.end();
            let (spoken, end) = listen(request.outputs);
            end.unwrap();
            assert!(spoken.samples == whole.samples, "samples differ");
            assert_eq!(spoken.words, whole.words);
        }
        at_rest(&engine);
    }
}

#[test]
fn a_sentence_sounds_before_the_next_one_is_fed() {
    let engine = free(2);
    let mut request = submit(&engine, options(&[])).unwrap();
    request.feed.text("First comes this sentence. And").unwrap();
    let first = request.outputs.recv_blocking(PATIENCE);
    assert!(
        matches!(first, Some(Output::Audio { .. } | Output::Words { .. })),
        "{first:?}"
    );
    request.feed.text(" then that one.").unwrap();
    request.feed.end();
    listen_from(request.outputs, first);
}

/// Counts on after what was read already.
fn listen_from(mut outputs: engine::Outputs, first: Option<Output>) {
    let mut sample_count = 0;
    let mut next = first;
    while let Some(output) = next {
        match output {
            Output::Audio { samples, start, .. } => {
                assert_eq!(start, sample_count);
                sample_count += samples.len() as u64;
            }
            Output::Done { usage, .. } => {
                assert_eq!((usage.input_chars, usage.output_samples), (45, 45 * LETTER));
                assert!(
                    usage.first_step_at < usage.last_step_at && usage.steps >= 4,
                    "{usage:?}"
                );
                assert_eq!(sample_count, usage.output_samples);
                return;
            }
            Output::Failed(error) => panic!("{error}"),
            _ => {}
        }
        next = outputs.recv_blocking(PATIENCE);
    }
    panic!("no end");
}

#[test]
fn a_flush_hands_over_what_there_is() {
    let engine = free(1);
    let mut request = submit(&engine, options(&[])).unwrap();
    request.feed.text("Well").unwrap();
    assert_eq!(
        request.outputs.recv_blocking(Duration::from_millis(50)),
        None,
        "no clause ends here"
    );
    request.feed.flush();
    let mut sample_count = 0;
    while sample_count < 4 * LETTER {
        if let Some(Output::Audio { samples, .. }) = request.outputs.recv_blocking(PATIENCE) {
            sample_count += samples.len() as u64;
        }
    }
    assert_eq!(sample_count, 4 * LETTER);
}

#[test]
fn words_say_where_they_stand_in_text_and_audio() {
    let words = alone("Now, two words.", options(&[])).words;
    let marks: Vec<_> = words
        .iter()
        .map(|word| (&*word.text, word.source.clone(), word.samples.clone()))
        .collect();
    let at = |from: u64, to: u64| (from..to, from * LETTER..to * LETTER);
    let expected: Vec<_> = [("Now,", at(0, 4)), ("two", at(5, 8)), ("words.", at(9, 15))]
        .map(|(text, (source, samples))| (text, source, samples))
        .into();
    assert_eq!(marks, expected);
}

#[test]
fn empty_and_odd_texts_come_to_an_end() {
    let engine = free(2);
    for text in ["", " ", "\u{0}\u{7}", "🙂🙂", "ʼ", "\n\n\n"] {
        let (spoken, end) = listen(say(&engine, text, options(&[])).outputs);
        assert_eq!(
            spoken.samples.len() as u64,
            text.chars().count() as u64 * LETTER,
            "{text:?}"
        );
        assert_eq!(end.unwrap().1.input_chars, text.chars().count() as u64);
    }
    at_rest(&engine);
}

#[test]
fn a_long_text_waits_for_room_on_its_edge() {
    let engine = free(2);
    let text = TEXT.repeat(100);
    let request = submit(&engine, options(&[])).unwrap();
    let feed = request.feed.clone();
    let sent = text.clone();
    let feeder = std::thread::spawn(move || {
        block_on(feed.send_text(&sent)).unwrap();
        feed.end();
    });
    let (spoken, end) = listen(request.outputs);
    feeder.join().unwrap();
    assert_eq!(end.unwrap().1.input_chars, text.len() as u64);
    assert_eq!(spoken.samples.len() as u64, text.len() as u64 * LETTER);
}

#[test]
fn a_slow_listener_pauses_its_request_and_nobody_else() {
    for workers in [1, 2] {
        let limits = Limits {
            outputs: 4,
            ..Limits::default()
        };
        let engine = engine(limits, toy::Config::default(), workers);
        let slow = submit(&engine, options(&[])).unwrap();
        // Far more than fits on the edges: the feed fills up and refuses.
        let text = TEXT.repeat(200);
        let mut fed = 0;
        crate::support::eventually("the feed fills up", || {
            let accepted = slow.feed.text(&text[fed..]).unwrap().0;
            fed += accepted;
            fed == text.len() || (accepted == 0 && is_quiet(&engine))
        });
        // The feed and the edge hold 4,096 characters each.
        assert!(
            fed < 2 * 4_096 + 500,
            "{fed} of {} were taken in",
            text.len()
        );
        let snapshot = engine.snapshot();
        let buffered: usize = snapshot.workers.iter().map(|worker| worker.buffered).sum();
        assert!(
            buffered <= 4_096 + 256 + 128 + 64,
            "{buffered} items are buffered"
        );
        // Others go on.
        let (spoken, end) = listen(say(&engine, TEXT, options(&[])).outputs);
        end.unwrap();
        assert!(spoken.samples == alone(TEXT, options(&[])).samples);
        // Once it is listened to, the paused request goes on, too.
        let feed = slow.feed.clone();
        let feeder = std::thread::spawn(move || {
            block_on(feed.send_text(&text[fed..])).unwrap();
            feed.end();
            text.len() as u64
        });
        let (spoken, end) = listen(slow.outputs);
        end.unwrap();
        assert_eq!(spoken.samples.len() as u64, feeder.join().unwrap() * LETTER);
        at_rest(&engine);
    }
}

/// Whether the engine makes no steps.
fn is_quiet(engine: &engine::Engine) -> bool {
    let steps = || {
        engine
            .snapshot()
            .nodes
            .iter()
            .map(|node| node.steps)
            .sum::<u64>()
    };
    let before = steps();
    std::thread::park_timeout(Duration::from_millis(20));
    steps() == before
}
