//! The network against what ONNX Runtime makes of the same file without its roundings. Needs the
//! weights: `promenade models install smart-turn`.

use kernels::Pool;
use serde::Deserialize;

use super::network::{HEARD, Network};
use crate::silero::tests::signal;
use crate::weights;

/// What `make.py` beside it wrote.
const JUDGEMENTS: &str = include_str!("../../tests/reference/smart_turn/judgements.json");

#[derive(Deserialize)]
struct Case {
    frames: usize,
    probability: f32,
    pooled: Vec<f32>,
}

fn network() -> Network {
    let path = weights::file_of(super::DEFAULT_ID, None, None).unwrap();
    Network::load(&path).unwrap()
}

fn samples(frames: usize) -> Vec<f32> {
    signal(frames).concat()
}

#[test]
fn each_judgement_is_that_of_the_reference() {
    let (network, pool) = (network(), Pool::new(2));
    let cases: Vec<Case> = serde_json::from_str(JUDGEMENTS).unwrap();
    for case in &cases {
        let judgement = network.judge(&pool, &samples(case.frames)).unwrap();
        let off = judgement.pooled.iter().zip(&case.pooled);
        let off = off
            .map(|(got, want)| (got - want).abs())
            .fold(0.0, f32::max);
        assert!(
            off < 1e-3,
            "{} frames: a state is off by {off}",
            case.frames
        );
        let (got, want) = (judgement.probability, case.probability);
        assert!(
            (got - want).abs() < 1e-3,
            "{} frames: {got}, not {want}",
            case.frames
        );
    }
    // They are not all the same.
    assert!(cases.iter().any(|case| case.probability > 0.8));
    assert!(cases.iter().any(|case| case.probability < 0.05));
}

#[test]
fn only_the_last_eight_seconds_count_and_threads_change_nothing() {
    let network = network();
    let long = samples(300);
    let judge = |threads, samples: &[f32]| {
        let judgement = network.judge(&Pool::new(threads), samples);
        judgement.unwrap().probability
    };
    let whole = judge(1, &long);
    assert_eq!(whole, judge(1, &long[long.len() - HEARD..]));
    assert_eq!(whole, judge(2, &long));
}

#[test]
fn what_is_no_recording_is_not_judged() {
    let (network, pool) = (network(), Pool::new(1));
    assert!(network.judge(&pool, &[]).is_none());
    assert!(network.judge(&pool, &[0.1, f32::NAN]).is_none());
    assert!(network.judge(&pool, &[0.0; 16_000]).is_some());
}
