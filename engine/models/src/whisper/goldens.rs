//! The reference's numbers for a tiny model: every intermediate, alone and beside others.
//!
//! The reference ran transformers in f32; `tests/reference/whisper/README.md` says how, and lists
//! the tensors. Tolerance: 1e-4, by how far the reference itself moves when each weight is off by
//! ten roundings. Tokens are exact.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kernels::Pool;

use super::decoder::{Hidden, Memory, Part};
use super::encoder::Point;
use super::mel::Mel;
use super::model::Settings;
use super::network::{DecoderWeights, EncoderWeights};
use super::rules::{self, Marks};
use crate::dense::weights::{self, Stored, safetensors};

const TOLERANCE: f32 = 1e-4;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/reference/whisper")
}

struct Bench {
    goldens: BTreeMap<String, Stored>,
    encoder: EncoderWeights,
    decoder: DecoderWeights,
    pool: Pool,
}

impl Bench {
    fn new() -> Self {
        let path = folder().join("goldens.safetensors");
        let mut goldens = BTreeMap::new();
        safetensors::read(&path, &weights::map(&path).unwrap(), &mut goldens).unwrap();
        let tensors = safetensors::open(&folder()).unwrap();
        let settings = Settings::read(&folder().join("config.json")).unwrap();
        let shape = settings.shape(&tensors).unwrap();
        Self {
            goldens,
            encoder: EncoderWeights::load(&tensors, "model.encoder.", &shape).unwrap(),
            decoder: DecoderWeights::load(&tensors, "model.decoder.", &shape).unwrap(),
            pool: Pool::new(2),
        }
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        let bytes = self.goldens[name].bytes().chunks_exact(4);
        bytes
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect()
    }

    /// Token ids, which are stored as i64.
    fn tokens(name: &str) -> Vec<u32> {
        let bytes = std::fs::read(folder().join("goldens.safetensors")).unwrap();
        let file = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let tensor = file.tensor(name).unwrap();
        let numbers = tensor.data().chunks_exact(8);
        numbers
            .map(|bytes| u32::try_from(i64::from_le_bytes(bytes.try_into().unwrap())).unwrap())
            .collect()
    }

    /// Frames as they go in, `[frames, bins]`; the reference has them the other way round.
    fn frames(&self) -> Vec<f32> {
        turned(&self.floats("input_features"), 80)
    }

    fn states(&self) -> Vec<f32> {
        self.encoder.run(&self.pool, &self.frames()).unwrap()
    }

    fn open(&self) -> Memory {
        self.decoder.open(&self.pool, &self.states()).unwrap()
    }

    fn step(&self, memory: &mut Memory, tokens: &[u32], all: bool) -> Vec<f32> {
        let mut parts = [Part { memory, tokens }];
        self.decoder
            .run(&self.pool, &mut parts, all, &mut |_, _| {})
    }
}

/// `[rows, columns]` to `[columns, rows]`.
fn turned(numbers: &[f32], rows: usize) -> Vec<f32> {
    let columns = numbers.len() / rows;
    let row = |column: usize| numbers.iter().skip(column).step_by(columns).copied();
    (0..columns).flat_map(row).collect()
}

fn assert_near(name: &str, got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{name}");
    let far = got.iter().zip(expected).map(|(a, b)| (a - b).abs());
    let farthest = far.fold(0.0, f32::max);
    assert!(farthest <= TOLERANCE, "{name} is off by {farthest}");
}

#[test]
fn samples_become_the_references_frames() {
    let bench = Bench::new();
    let pcm = bench.floats("pcm");
    let mel = Mel::new(80);
    let frames = mel.frames(&pcm, 300).unwrap();
    assert_near(
        "input_features",
        &turned(&frames, 300),
        &bench.floats("input_features"),
    );
    let long = mel.frames(&pcm, 3000).unwrap();
    let head = turned(&long[..220 * 80], 220);
    assert_near("head", &head, &bench.floats("input_features_30s.head"));
    let tail = turned(&long[2996 * 80..], 4);
    assert_near("tail", &tail, &bench.floats("input_features_30s.tail"));
}

#[test]
fn frames_become_the_references_states() {
    let bench = Bench::new();
    let mut seen = 0;
    let states = bench
        .encoder
        .run_watched(&bench.pool, &bench.frames(), &mut |point, got| {
            seen += 1;
            match point {
                Point::Convolution(index) => {
                    let name = format!("encoder.conv{}", index + 1);
                    let rows = got.len() / 48;
                    assert_near(&name, &turned(got, rows), &bench.floats(&name));
                }
                Point::Hidden(index) => {
                    let name = format!("encoder.hidden.{index}");
                    assert_near(&name, got, &bench.floats(&name));
                }
            }
        });
    assert_near(
        "encoder.out",
        &states.unwrap(),
        &bench.floats("encoder.out"),
    );
    assert_eq!(seen, 4);
}

#[test]
fn tokens_become_the_references_logits() {
    let bench = Bench::new();
    let (prompt, answer) = (
        Bench::tokens("decoder.input_ids"),
        Bench::tokens("decode.tokens"),
    );
    let mut memory = bench.open();
    let mut seen = 0;
    let mut parts = [Part {
        memory: &mut memory,
        tokens: &prompt,
    }];
    let logits = bench
        .decoder
        .run(&bench.pool, &mut parts, true, &mut |Hidden(index), got| {
            seen += 1;
            let name = format!("decoder.prefill.hidden.{index}");
            assert_near(&name, got, &bench.floats(&name));
        });
    assert_eq!(seen, 3);
    assert_near("logits", &logits, &bench.floats("decoder.prefill.logits"));
    assert_eq!(memory.len(), prompt.len());
    let expected = bench.floats("decode.logits");
    for (token, expected) in answer.iter().zip(expected.chunks_exact(128)) {
        assert_near(
            "decode",
            &bench.step(&mut memory, &[*token], false),
            expected,
        );
    }
}

#[test]
fn the_references_tokens_are_chosen_alone_and_beside_others() {
    let bench = Bench::new();
    let prompt = Bench::tokens("decoder.input_ids");
    let suppressed = [vec![], vec![1, 2, 12]];
    let first = [vec![], vec![7, 90]];
    for (case, name) in ["decode.tokens", "decode.tokens_suppressed"]
        .iter()
        .enumerate()
    {
        let marks = Marks {
            // No mark ends or times the reference's answer.
            end: 1000,
            no_stamps: 1000,
            suppressed: &suppressed[case],
            suppressed_first: &first[case],
            stamps: false,
        };
        let expected = Bench::tokens(name);
        let (mut memory, mut other) = (bench.open(), bench.open());
        let mut alone = bench.open();
        let (mut written, mut next) = (Vec::new(), prompt.clone());
        for step in 0..expected.len() {
            let others: Vec<u32> = (0..3).take(1 + step % 3).collect();
            let mut parts = [
                Part {
                    memory: &mut other,
                    tokens: &others,
                },
                Part {
                    memory: &mut memory,
                    tokens: &next,
                },
            ];
            let both = bench
                .decoder
                .run(&bench.pool, &mut parts, false, &mut |_, _| {});
            let mut logits = bench.step(&mut alone, &next, false);
            // Not near: the same.
            assert_eq!(both[128..], logits[..]);
            let token = rules::choose(&marks, &written, &mut logits);
            written.push(token);
            next = vec![token];
        }
        assert_eq!(written, expected, "{name}");
    }
}
