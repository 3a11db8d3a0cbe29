//! A node that fails takes its own request with it and no other.

use std::time::Duration;

use engine::{Limits, Options, toy};

use crate::support::{alone, at_rest, engine, listen, options, say};

const TEXT: &str = "Every one of these letters is a tone of its own, and they all sound alike.";

/// Steps slow enough for requests to meet in batches.
fn together() -> engine::Engine {
    let toy = toy::Config {
        step_cost: Duration::from_micros(300),
        max_batch: 8,
        ..toy::Config::default()
    };
    engine(Limits::default(), toy, 1)
}

#[test]
fn a_mishap_is_named_and_its_neighbours_sound_as_if_alone() {
    let expected = alone(TEXT, options(&[]));
    let mishaps = [
        (
            "fail_at",
            "model `toy`, node `tone`: asked to fail at letter 20",
        ),
        (
            "panic_at",
            "model `toy`, node `tone`: panicked: asked to panic at letter 20",
        ),
        (
            "nan_at",
            "model `toy`, node `tone`: port `audio` carries a number that is not finite",
        ),
    ];
    for (name, message) in mishaps {
        let engine = together();
        let neighbours: Vec<_> = (0..6).map(|_| say(&engine, TEXT, options(&[]))).collect();
        let unlucky = say(&engine, TEXT, options(&[(name, 20.0)]));
        let (spoken, end) = listen(unlucky.outputs);
        assert_eq!(end.unwrap_err().to_string(), message);
        assert!(
            expected.samples.starts_with(&spoken.samples),
            "{name}: what came before is right"
        );
        for neighbour in neighbours {
            let (spoken, end) = listen(neighbour.outputs);
            end.unwrap();
            assert!(
                spoken.samples == expected.samples,
                "{name}: a neighbour's samples differ"
            );
            assert_eq!(spoken.words, expected.words);
        }
        at_rest(&engine);
        let snapshot = engine.snapshot();
        assert_eq!(
            (snapshot.requests.done, snapshot.requests.failed),
            (6, 1),
            "{name}"
        );
        let tone = snapshot
            .nodes
            .iter()
            .find(|node| &*node.node == "tone")
            .unwrap();
        assert!(tone.members > tone.steps, "{name}: nobody met in a batch");
    }
}

#[test]
fn a_batch_of_different_requests_is_as_each_alone() {
    let engine = together();
    let asked: Vec<(String, Options)> = (0..12_u64)
        .map(|index| {
            let voice = ["sine", "square"][usize::from(index % 2 == 1)].to_owned();
            let speed = [0.5, 1.0, 2.0][usize::try_from(index % 3).unwrap()];
            let options = Options {
                voice: Some(voice),
                speed,
                seed: Some(index),
                ..Options::default()
            };
            (
                TEXT.chars().skip(usize::try_from(index).unwrap()).collect(),
                options,
            )
        })
        .collect();
    let requests: Vec<_> = asked
        .iter()
        .map(|(text, options)| say(&engine, text, options.clone()))
        .collect();
    for ((text, options), request) in asked.iter().zip(requests) {
        let (spoken, end) = listen(request.outputs);
        end.unwrap();
        assert!(
            spoken.samples == alone(text, options.clone()).samples,
            "{text}"
        );
    }
    let tone = engine
        .snapshot()
        .nodes
        .into_iter()
        .find(|node| &*node.node == "tone")
        .unwrap();
    assert_eq!(tone.batch.count(), tone.steps);
    assert_eq!(tone.batch.sum(), tone.members);
    assert!(tone.members > tone.steps, "nobody met in a batch");
}
