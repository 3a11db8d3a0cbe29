//! The network against what ONNX Runtime makes of the same file. Needs the weights: `promenade
//! models install silero-vad`.

use kernels::Pool;

use super::network::{FRAME, Memory, Network, RATE, Scratch};
use crate::weights;

/// What `make.py` beside it wrote.
const PROBABILITIES: &str = include_str!("../../tests/reference/silero/probabilities.json");

fn network() -> Network {
    let path = weights::file_of(super::DEFAULT_ID, None, None).unwrap();
    Network::load(&path).unwrap()
}

/// The signal of `make.py`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "samples of a test"
)]
pub(crate) fn signal(frames: usize) -> Vec<[f32; FRAME]> {
    use std::f64::consts::TAU;
    let (mut noise, mut phase) = (1_u32, 0.0);
    let mut sample = |n: usize| {
        let t = n as f64 / f64::from(RATE);
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let hiss = (f64::from(noise) / 4_294_967_296.0 - 0.5) * 0.002;
        phase += (120.0 + 25.0 * (TAU * 0.7 * t).sin()) / f64::from(RATE);
        let speaks = if t % 2.2 >= 0.8 { 1.0 } else { 0.0 };
        let envelope = speaks * (0.5 - 0.5 * (TAU * 4.0 * t).cos());
        let vowel: f64 = (1..25)
            .map(|k| {
                let hertz = 120.0 * f64::from(k);
                let formants = [600.0_f64, 1200.0, 2500.0];
                let loud = formants.map(|f| (-((hertz - f) / 180.0).powi(2)).exp());
                (0.02 + loud.iter().sum::<f64>()) * (TAU * f64::from(k) * phase).sin()
            })
            .sum();
        (hiss + 0.08 * envelope * vowel) as f32
    };
    (0..frames)
        .map(|frame| std::array::from_fn(|n| sample(frame * FRAME + n)))
        .collect()
}

/// The probabilities for each of some listeners who hear at the same time.
fn heard(network: &Network, listeners: &[&[[f32; FRAME]]]) -> Vec<Vec<f32>> {
    let (pool, mut scratch) = (Pool::new(1), Scratch::default());
    let mut memories = vec![Memory::default(); listeners.len()];
    let mut heard = vec![Vec::new(); listeners.len()];
    for index in 0..listeners.iter().map(|frames| frames.len()).max().unwrap() {
        let (mut batch, mut places) = (Vec::new(), Vec::new());
        for (place, memory) in memories.iter_mut().enumerate() {
            if let Some(frame) = listeners[place].get(index) {
                batch.push((memory, frame));
                places.push(place);
            }
        }
        let mut probabilities = Vec::new();
        network.hear(&pool, &mut scratch, &mut batch, &mut probabilities);
        for (place, probability) in places.into_iter().zip(probabilities) {
            heard[place].push(probability);
        }
    }
    heard
}

#[test]
fn each_probability_is_that_of_the_reference() {
    let expected: Vec<f32> = serde_json::from_str(PROBABILITIES).unwrap();
    let frames = signal(expected.len());
    let heard = heard(&network(), &[&frames]);
    for (index, (got, want)) in heard[0].iter().zip(&expected).enumerate() {
        assert!(
            (got - want).abs() < 1e-4,
            "frame {index}: {got}, not {want}"
        );
    }
    // It is not all the same.
    assert!(expected.iter().any(|p| *p > 0.9) && expected.iter().any(|p| *p < 0.05));
}

#[test]
fn who_else_listens_changes_no_bit() {
    let network = network();
    let frames = signal(60);
    let (late, short) = (&frames[13..], &frames[20..31]);
    let together = heard(&network, &[&frames, late, short]);
    for (listener, together) in [&frames[..], late, short].into_iter().zip(together) {
        assert_eq!(heard(&network, &[listener])[0], together);
    }
}
