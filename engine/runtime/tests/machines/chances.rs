//! Whatever happens in whatever order: outputs are right, neighbours are untouched, and when all
//! requests are over nothing is left.

use proptest::{collection::vec, prelude::*};
use runtime::{Config, Feed, Limits, Options, Outputs, Simulation};

use crate::declared::{double, doubled, doubling, feed, on_workers, read, simulate};

/// Something that a requester does, to one of its requests.
#[derive(Clone, Debug)]
enum Act {
    Submit,
    Feed(usize, String),
    Flush(usize),
    End(usize),
    Read(usize),
    Cancel(usize),
    Drop(usize),
    Pass(u16),
}

fn act() -> impl Strategy<Value = Act> {
    let which = 0..6_usize;
    prop_oneof![
        3 => Just(Act::Submit),
        6 => (which.clone(), "[a-d]{1,12}").prop_map(|(which, text)| Act::Feed(which, text)),
        1 => (which.clone(), "[a-d]{0,6}[!?~]").prop_map(|(which, text)| Act::Feed(which, text)),
        1 => which.clone().prop_map(Act::Flush),
        3 => which.clone().prop_map(Act::End),
        3 => which.clone().prop_map(Act::Read),
        1 => which.clone().prop_map(Act::Cancel),
        1 => which.prop_map(Act::Drop),
        6 => (0..600_u16).prop_map(Act::Pass),
    ]
}

/// A request and what its requester knows of it.
struct Open {
    feed: Feed,
    outputs: Outputs,
    fed: String,
    said: String,
    is_over: bool,
}

impl Open {
    fn read(&mut self) {
        let (said, end) = read(&mut self.outputs);
        self.said.push_str(&said);
        let expected = doubled(&self.fed);
        assert!(
            expected.starts_with(&self.said),
            "{} is not how {expected} begins",
            self.said
        );
        match end {
            None => return,
            Some(Ok(end)) => {
                assert_eq!(self.said, expected);
                assert_eq!(end.usage.input_items, self.fed.chars().count() as u64);
            }
            Some(Err(error)) => assert!(
                ["cancelled", "model `doubling`, node `say`: "]
                    .iter()
                    .any(|start| error.starts_with(start)),
                "{error}"
            ),
        }
        self.is_over = true;
    }
}

fn play(
    acts: &[Act],
    workers: usize,
    capacity: usize,
    seed: u64,
) -> (Vec<String>, runtime::Snapshot) {
    let limits = Limits {
        requests: 5,
        outputs: 2,
        ..Limits::default()
    };
    let mut simulation = simulate(
        doubling(2, capacity),
        Config {
            limits,
            ..on_workers(workers)
        },
        seed,
    );
    let mut open: Vec<Open> = Vec::new();
    for act in acts {
        carry_out(act, &mut simulation, &mut open);
    }
    // Whoever is left is read to the end.
    for request in &open {
        request.feed.end();
    }
    for _ in 0..2_000 {
        assert!(simulation.run(100_000), "it never comes to rest");
        open.iter_mut()
            .filter(|request| !request.is_over)
            .for_each(Open::read);
        if open.iter().all(|request| request.is_over) {
            break;
        }
    }
    assert!(
        open.iter().all(|request| request.is_over),
        "a request has no end"
    );
    let said = open.iter().map(|request| request.said.clone()).collect();
    drop(open);
    assert!(simulation.run(100_000));
    (said, simulation.snapshot())
}

fn carry_out(act: &Act, simulation: &mut Simulation, open: &mut Vec<Open>) {
    let count = open.len().max(1);
    match act {
        Act::Submit => {
            if let Ok((feed, outputs)) = simulation.submit(0, Options::default()) {
                open.push(Open {
                    feed,
                    outputs,
                    fed: String::new(),
                    said: String::new(),
                    is_over: false,
                });
            }
        }
        Act::Pass(micros) => simulation.pass(std::time::Duration::from_micros((*micros).into())),
        Act::Drop(which) if !open.is_empty() => drop(open.swap_remove(which % count)),
        Act::Feed(which, _)
        | Act::Flush(which)
        | Act::End(which)
        | Act::Read(which)
        | Act::Cancel(which) => {
            let Some(request) = open.get_mut(which % count) else {
                return;
            };
            match act {
                Act::Feed(_, text) => {
                    let rest = feed(&request.feed, text);
                    request.fed.push_str(&text[..text.len() - rest.len()]);
                }
                Act::Flush(_) => request.feed.flush(),
                Act::End(_) => request.feed.end(),
                Act::Read(_) if !request.is_over => request.read(),
                Act::Cancel(_) => request.feed.cancel(),
                _ => {}
            }
        }
        Act::Drop(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_left_behind(acts in vec(act(), 1..60), workers in 1..3_usize, capacity in 6..20_usize, seed: u64) {
        let (_, snapshot) = play(&acts, workers, capacity, seed);
        prop_assert_eq!(snapshot.requests.open, 0);
        for worker in &snapshot.workers {
            prop_assert!(worker.at_rest(), "{:?}", worker);
        }
        prop_assert_eq!(snapshot.steps_after_cancel, 0);
    }

    #[test]
    fn one_seed_always_plays_alike(acts in vec(act(), 1..40), workers in 1..3_usize, seed: u64) {
        prop_assert_eq!(play(&acts, workers, 8, seed), play(&acts, workers, 8, seed));
    }

    #[test]
    fn any_pieces_any_timing_and_any_placement_say_the_same(
        pieces in vec("[a-z]{1,9}", 1..12),
        pauses in vec(0..400_u64, 12),
        workers in 1..3_usize,
        capacity in 6..20_usize,
        chunk in 1..5_usize,
        seed: u64,
    ) {
        let mut simulation = simulate(doubling(chunk, capacity), on_workers(workers), seed);
        let (to_feed, mut outputs) = simulation.submit(0, Options::default()).unwrap();
        let mut said = String::new();
        for (piece, pause) in pieces.iter().zip(pauses) {
            let mut rest = piece.as_str();
            while !rest.is_empty() {
                rest = feed(&to_feed, rest);
                simulation.pass(std::time::Duration::from_micros(pause + 50));
                said.push_str(&read(&mut outputs).0);
            }
        }
        to_feed.end();
        prop_assert!(simulation.run(100_000));
        let (more, end) = read(&mut outputs);
        said.push_str(&more);
        prop_assert_eq!(said, doubled(&pieces.concat()));
        prop_assert!(matches!(end, Some(Ok(_))), "{:?}", end);
    }
}

#[test]
fn the_nodes_of_the_stories_do_what_they_say() {
    // `double` is what the properties stand on: it is held to a case by hand.
    let _: fn(&str, &mut runtime::Member<'_>) = double;
    let mut simulation = simulate(doubling(2, 12), on_workers(1), 0);
    let (to_feed, mut outputs) = simulation.submit(0, Options::default()).unwrap();
    assert_eq!(feed(&to_feed, "abc"), "");
    to_feed.end();
    assert!(simulation.run(1_000));
    assert_eq!(read(&mut outputs).0, "aabbcc");
}
