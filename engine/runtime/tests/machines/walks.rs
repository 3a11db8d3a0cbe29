//! Walks after one another, loops that stop, and what models can get wrong.

use std::{sync::Arc, time::Duration};

use graph::{Call, Graph, LoopSpec, Modality, PartitionSpec, Section};
use runtime::{
    Config, Error, Event, Finish, Input, Limits, Message, Next, Options, Payload, Simulation,
    Source, Tokens,
};

use crate::{
    declared::{doubling, feed, node, on_workers, read, simulate},
    scripted::Scripted,
};

const STEP: Duration = Duration::from_micros(100);

/// A prompt is read once and kept; then a loop counts until it stops itself.
fn counting(stop_at: u64) -> Scripted {
    let count = Section::from(
        Call::new("model")
            .takes(["state"])
            .to("state", "model", "state")
            .emit("token", Modality::Text),
    );
    let graph = Graph::builder("counting")
        .node(node(
            "model",
            &["prompt", "state"],
            &["state", "token", "kept"],
        ))
        .walk("prefill", Call::new("model").takes(["prompt"]).keep("kept"))
        .walk("decode", LoopSpec::new("tokens", 100, count).dynamic())
        .partition(PartitionSpec::new("one", ["prefill", "decode"]).initial("prefill"));
    let model = Scripted::new(graph, 4, move |_, member| {
        if let Some(prompt) = member.input("prompt").first().cloned() {
            member.put("kept", prompt);
            member.spent(Tokens {
                prompt: 5,
                cached: 2,
                completion: 0,
            });
            return;
        }
        let said = member
            .input("state")
            .iter()
            .filter_map(Payload::as_text)
            .next()
            .cloned();
        let steps = *member.state::<u64>().unwrap();
        member.put("token", said.clone().map_or("-", |_| "x"));
        member.spent(Tokens {
            completion: 1,
            ..Tokens::default()
        });
        if let Some(said) = said {
            member.put("state", Payload::Text(said));
        }
        if steps > stop_at {
            member.finish(Finish::Length);
            member.stop("tokens");
        }
    });
    model.choosing(|graph, _, progress| {
        let (prefill, decode) = (
            graph.walk_named("prefill").unwrap(),
            graph.walk_named("decode").unwrap(),
        );
        let entry = |walk: &graph::Walk, source| {
            let entry = walk.entries().next().unwrap();
            vec![Input {
                node: entry.node,
                input: entry.input,
                source,
            }]
        };
        match progress.passes {
            0 => Next::Walk {
                walk: prefill.id(),
                inputs: entry(prefill, Source::Given(vec![Payload::from("hello")])),
            },
            1 => {
                assert_eq!(progress.last, Some(prefill.id()));
                Next::Walk {
                    walk: decode.id(),
                    inputs: entry(decode, Source::Kept("kept".into())),
                }
            }
            _ => Next::Done,
        }
    })
}

fn run(model: Scripted, config: Config) -> (usize, runtime::End, runtime::Snapshot) {
    let mut simulation = Simulation::new(vec![Arc::new(model)], config, STEP, 5).unwrap();
    let (_feed, mut outputs) = simulation.submit(0, Options::default()).unwrap();
    let mut emitted = 0;
    for _ in 0..1_000 {
        assert!(simulation.run(100_000));
        while let Some(event) = outputs.try_next() {
            match event {
                Event::Emitted(_) => emitted += 1,
                Event::End(end) => return (emitted, end, simulation.snapshot()),
            }
        }
    }
    panic!("no end");
}

#[test]
fn a_kept_payload_enters_a_later_walk_and_a_stop_ends_its_loop() {
    let (emitted, end, snapshot) = run(counting(10), Config::default());
    assert_eq!((emitted, end.error, end.usage.steps), (10, None, 11));
    assert!(snapshot.workers.iter().all(runtime::WorkerGauges::at_rest));
}

#[test]
fn a_loop_that_is_not_stopped_ends_at_its_bound() {
    let (emitted, end, _) = run(counting(1_000), Config::default());
    assert_eq!((emitted, end.error), (100, None));
}

#[test]
fn the_end_tells_the_tokens_and_the_reason_that_the_nodes_named() {
    let (_, end, _) = run(counting(10), Config::default());
    let tokens = Tokens {
        prompt: 5,
        cached: 2,
        completion: 10,
    };
    assert_eq!((end.usage.tokens, end.finish), (tokens, Finish::Length));
    let (_, end, _) = run(counting(1_000), Config::default());
    assert_eq!(end.finish, Finish::Stop, "nobody said otherwise");
}

#[test]
fn what_a_failed_step_spent_does_not_count() {
    let graph = Graph::builder("failing")
        .node(node("model", &[], &["out"]))
        .walk("only", Call::new("model").emit("out", Modality::Text));
    let model = Scripted::new(graph, 1, |_, member| {
        member.spent(Tokens {
            completion: 9,
            ..Tokens::default()
        });
        member.finish(Finish::Length);
        member.fail(runtime::Cause::Failed("no".into()));
    });
    let (_, end, _) = run(model, Config::default());
    assert!(end.error.is_some());
    assert_eq!(
        (end.usage.tokens, end.finish),
        (Tokens::default(), Finish::Stop)
    );
}

/// As [`counting`], for conversations.
fn talker() -> Scripted {
    let mut model = counting(3);
    model.info.converses = true;
    model
}

#[test]
fn a_conversation_goes_only_to_a_model_that_takes_one() {
    let talk = Options {
        messages: vec![Message::text("user", "hello")],
        ..Options::default()
    };
    let refused = |model: Scripted, options: Options| {
        let mut simulation =
            Simulation::new(vec![Arc::new(model)], Config::default(), STEP, 5).unwrap();
        let refused = simulation.submit(0, options).map(|_| ()).unwrap_err();
        assert_eq!(refused.kind(), runtime::Kind::Invalid);
        assert!(
            simulation
                .snapshot()
                .workers
                .iter()
                .all(runtime::WorkerGauges::at_rest)
        );
        refused
    };
    let model = || "counting".to_owned();
    assert_eq!(
        refused(counting(3), talk.clone()),
        Error::NoConversation { model: model() }
    );
    assert_eq!(
        refused(talker(), Options::default()),
        Error::NoMessages { model: model() }
    );
    let mut simulation =
        Simulation::new(vec![Arc::new(talker())], Config::default(), STEP, 5).unwrap();
    assert!(simulation.submit(0, talk).is_ok());
}

#[test]
fn a_request_may_have_so_many_steps() {
    let config = Config {
        limits: Limits {
            steps: 7,
            ..Limits::default()
        },
        ..Config::default()
    };
    let (emitted, end, snapshot) = run(counting(1_000), config);
    assert_eq!(
        (emitted, end.finish, end.usage.steps),
        (6, Finish::Length, 7)
    );
    assert!(snapshot.workers.iter().all(runtime::WorkerGauges::at_rest));
}

#[test]
fn a_choice_that_makes_no_sense_fails_the_request_by_name() {
    let check = |model: Scripted, message: &str| {
        let (_, end, snapshot) = run(model, Config::default());
        assert_eq!(end.error.unwrap().to_string(), message);
        assert!(snapshot.workers.iter().all(runtime::WorkerGauges::at_rest));
    };
    let decode_first = |source: Source| {
        counting(3).choosing(move |graph, _, _| {
            let walk = graph.walk_named("decode").unwrap();
            let entry = walk.entries().next().unwrap();
            let input = Input {
                node: entry.node,
                input: entry.input,
                source: source.clone(),
            };
            Next::Walk {
                walk: walk.id(),
                inputs: vec![input],
            }
        })
    };
    check(
        decode_first(Source::Kept("nothing".into())),
        "model `counting`: walk `decode` asks for `nothing`, which was not kept",
    );
    check(
        counting(3).choosing(|_, _, _| Next::Stream {
            walk: graph::WalkId::new(9),
        }),
        "model `counting`: partition `one` was given WalkId(9), which it does not have",
    );
    check(
        counting(3).choosing(|_, _, _| panic!("no idea")),
        "model `counting`: choosing the next walk panicked: no idea",
    );
}

#[test]
fn a_walk_whose_stream_is_over_does_not_wait_for_ever() {
    let model = Scripted::new(doubling(2, 12), 1, crate::declared::double).choosing(
        |graph, partition, _| Next::Stream {
            walk: graph.partition(partition).unwrap().initial().unwrap(),
        },
    );
    let mut simulation =
        Simulation::new(vec![Arc::new(model)], Config::default(), STEP, 1).unwrap();
    let (to_feed, mut outputs) = simulation.submit(0, Options::default()).unwrap();
    to_feed.end();
    assert!(simulation.run(10_000));
    let (_, end) = read(&mut outputs);
    assert_eq!(
        end,
        Some(Err(
            "model `doubling`, node `double`: waits for a stream that is over".into()
        ))
    );
}

#[test]
fn a_stream_may_be_walked_chunk_by_chunk_as_well() {
    let graph = doubling(2, 12);
    let model =
        Scripted::new(graph, 1, crate::declared::double).choosing(|graph, partition, progress| {
            let walk = graph.partition(partition).unwrap().initial().unwrap();
            if progress.streams_over {
                Next::Done
            } else {
                Next::Walk {
                    walk,
                    inputs: Vec::new(),
                }
            }
        });
    let mut simulation = Simulation::new(vec![Arc::new(model)], on_workers(2), STEP, 1).unwrap();
    let (to_feed, mut outputs) = simulation.submit(0, Options::default()).unwrap();
    assert_eq!(feed(&to_feed, "abcdefg"), "");
    to_feed.end();
    assert!(simulation.run(10_000));
    let (said, end) = read(&mut outputs);
    assert_eq!(said, "aabbccddeeffgg");
    end.unwrap().unwrap();
}

#[test]
fn a_listener_that_does_not_read_stops_the_walk_and_not_the_clock() {
    for workers in [1, 2] {
        let limits = Limits {
            outputs: 2,
            ..Limits::default()
        };
        let mut simulation = simulate(
            doubling(2, 6),
            Config {
                limits,
                ..on_workers(workers)
            },
            3,
        );
        let (to_feed, mut outputs) = simulation.submit(0, Options::default()).unwrap();
        let text = "abcdefghijklmnopqrstuvwxyz".repeat(10);
        let mut rest = text.as_str();
        for _ in 0..50 {
            rest = feed(&to_feed, rest);
            assert!(simulation.run(1_000), "it goes on without a reader");
        }
        let buffered: usize = simulation
            .snapshot()
            .workers
            .iter()
            .map(|worker| worker.buffered)
            .sum();
        let fed = text.len() - rest.len();
        assert!(
            fed <= 80 && buffered <= 32 + 6 + 4 + 3 + 2,
            "{fed} fed, {buffered} buffered"
        );
        let mut said = String::new();
        while !rest.is_empty() {
            said.push_str(&read(&mut outputs).0);
            rest = feed(&to_feed, rest);
            assert!(simulation.run(1_000));
        }
        to_feed.end();
        loop {
            assert!(simulation.run(1_000));
            let (more, end) = read(&mut outputs);
            said.push_str(&more);
            if let Some(end) = end {
                end.unwrap();
                break;
            }
        }
        assert_eq!(said, crate::declared::doubled(&text));
    }
}

#[test]
fn first_chunks_and_running_streams_take_turns() {
    let mut simulation = simulate(doubling(1, 64), Config::default(), 2);
    let talk = |simulation: &mut Simulation| {
        let (to_feed, outputs) = simulation.submit(0, Options::default()).unwrap();
        feed(&to_feed, "abcdefghijklmnopqrstuvwxyz");
        (to_feed, outputs)
    };
    let (running_feed, mut running) = talk(&mut simulation);
    simulation.pass(Duration::from_millis(1));
    assert!(!read(&mut running).0.is_empty());
    // A flood of new requests does not silence the one that runs, nor wait for it.
    let mut flood: Vec<_> = (0..40).map(|_| talk(&mut simulation)).collect();
    simulation.pass(STEP * 40);
    assert!(
        !read(&mut running).0.is_empty(),
        "the running one fell silent"
    );
    simulation.pass(STEP * 40);
    let mut first = 0;
    for (_, outputs) in &mut flood {
        first += usize::from(!read(outputs).0.is_empty());
    }
    assert!(first >= 20, "only {first} of 40 have begun");
    drop((running_feed, flood));
}
