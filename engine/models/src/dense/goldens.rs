//! The reference's numbers for three tiny models: every intermediate, alone and beside others,
//! whole and in chunks.
//!
//! The reference ran transformers in f32; `tests/reference/dense/*/README.md` says how, and lists
//! the tensors. Tolerance: 1e-4, by how far the reference itself moves when each weight is off by
//! ten roundings. Tokens are exact.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kernels::Pool;
use proptest::prelude::*;
use runtime::kv::{Rows, Step};

use super::checkpoint::Checkpoint;
use super::config::{Rope, Scaling};
use super::forward::{Forward, Point};
use super::network::Network;
use super::weights::gguf::tests as gguf;
use super::weights::names::{Layout, ROPE_FACTORS};
use super::weights::{self, Stored};

const TOLERANCE: f32 = 1e-4;
const MODELS: [&str; 3] = ["smollm2", "llama3", "qwen3"];
/// Small, so that sequences have several pages.
const PAGE_TOKENS: usize = 4;
const PAGES: usize = 64;

fn folder(model: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/reference/dense").join(model)
}

/// What the reference stored.
struct Goldens(BTreeMap<String, Stored>);

impl Goldens {
    fn read(model: &str) -> Self {
        let path = folder(model).join("goldens.safetensors");
        let mut stored = BTreeMap::new();
        let bytes = weights::map(&path).unwrap();
        weights::safetensors::read(&path, &bytes, &mut stored).unwrap();
        Self(stored)
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        let bytes = self.0[name].bytes();
        let numbers = bytes
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        numbers.collect()
    }

    /// Token ids, which are stored as i64.
    fn tokens(&self, model: &str, name: &str) -> Vec<u32> {
        let path = folder(model).join("goldens.safetensors");
        let bytes = std::fs::read(path).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let tensor = file.tensor(name).unwrap();
        let numbers = tensor.data().chunks_exact(8);
        numbers
            .map(|bytes| u32::try_from(i64::from_le_bytes(bytes.try_into().unwrap())).unwrap())
            .collect()
    }
}

/// One model, with its goldens and sequences of pages.
struct Bench {
    goldens: Goldens,
    prompt: Vec<u32>,
    answer: Vec<u32>,
    forward: Forward,
    vocabulary: usize,
    kv: (usize, usize),
    next_page: u32,
}

/// A request as the KV engine would keep it.
struct Sequence {
    tokens: Vec<u32>,
    done: usize,
    pages: Vec<u32>,
    chosen: Vec<u32>,
}

impl Bench {
    fn new(model: &str) -> Self {
        Self::of(model, &folder(model))
    }

    /// A model whose weights are at `path`.
    fn of(model: &str, path: &Path) -> Self {
        let checkpoint = Checkpoint::open(path).unwrap();
        let network = Arc::new(Network::load(&checkpoint).unwrap());
        let shape = &network.architecture;
        let (vocabulary, kv) = (shape.vocabulary, (shape.kv_heads, shape.head_dim));
        let goldens = Goldens::read(model);
        assert_near(
            "rope.inv_freq",
            &network.frequencies,
            &goldens.floats("rope.inv_freq"),
        );
        Self {
            prompt: goldens.tokens(model, "input_ids"),
            answer: goldens.tokens(model, "decode.tokens"),
            goldens,
            forward: Forward::new(network, Arc::new(Pool::new(1)), PAGES, PAGE_TOKENS).unwrap(),
            vocabulary,
            kv,
            next_page: 0,
        }
    }

    fn sequence(&self, tokens: &[u32]) -> Sequence {
        Sequence {
            tokens: tokens.to_vec(),
            done: 0,
            pages: Vec::new(),
            chosen: Vec::new(),
        }
    }

    /// One step of `chunk` tokens for each sequence; gives the logits of each one's last token.
    fn step(
        &mut self,
        sequences: &mut [(&mut Sequence, usize)],
        watch: &mut impl FnMut(Point, &[f32]),
    ) -> Vec<Vec<f32>> {
        let mut tokens = Vec::new();
        for (sequence, chunk) in sequences.iter_mut() {
            let end = sequence.done + *chunk;
            tokens.extend(&sequence.tokens[sequence.done..end]);
            while sequence.pages.len() * PAGE_TOKENS < end {
                // Neighbours take turns, so that no sequence's pages lie in a row.
                sequence.pages.push(self.next_page);
                self.next_page += 1;
            }
        }
        let mut start = 0;
        let members: Vec<Rows<'_>> = sequences
            .iter()
            .map(|(sequence, chunk)| {
                let range = start..start + *chunk;
                start = range.end;
                Rows {
                    range,
                    past: sequence.done,
                    pages: &sequence.pages,
                    logits: true,
                }
            })
            .collect();
        let mut logits = vec![0.0; members.len() * self.vocabulary];
        let step = Step {
            tokens: &tokens,
            members: &members,
            copies: &[],
        };
        self.forward.run(&step, &mut logits, watch);
        for (sequence, chunk) in sequences.iter_mut() {
            sequence.done += *chunk;
        }
        logits
            .chunks(self.vocabulary)
            .map(<[f32]>::to_vec)
            .collect()
    }

    /// Feeds all that is left of a sequence in chunks, then `count` tokens of its own choice;
    /// the logits of the last prompt token and of each chosen one.
    fn alone(
        &mut self,
        sequence: &mut Sequence,
        chunks: &mut dyn Iterator<Item = usize>,
        count: usize,
    ) -> Vec<Vec<f32>> {
        let mut all = Vec::new();
        while all.len() < count + 1 {
            let left = sequence.tokens.len() - sequence.done;
            let chunk = chunks.next().unwrap_or(left).clamp(1, left);
            let logits = self
                .step(&mut [(sequence, chunk)], &mut |_, _| {})
                .remove(0);
            if chunk == left {
                sequence.choose(&logits);
                all.push(logits);
            }
        }
        all
    }
}

impl Sequence {
    fn choose(&mut self, logits: &[f32]) {
        let token = (0_u32..)
            .zip(logits)
            .max_by(|a, b| a.1.total_cmp(b.1))
            .unwrap()
            .0;
        self.chosen.push(token);
        self.tokens.push(token);
    }
}

/// The first number that is off, by how much.
fn assert_near(what: &str, got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        let off = (got - expected).abs();
        assert!(
            off <= TOLERANCE,
            "{what}[{index}] is {got}, expected {expected}, off by {off:e}"
        );
    }
}

/// `[heads, time, dim]` as `[time, heads, dim]`.
fn by_time(numbers: &[f32], (heads, dim): (usize, usize)) -> Vec<f32> {
    let times = numbers.len() / heads / dim;
    let at = |time: usize, head: usize| &numbers[(head * times + time) * dim..][..dim];
    (0..times)
        .flat_map(|time| (0..heads).flat_map(move |head| at(time, head).iter().copied()))
        .collect()
}

#[test]
fn every_intermediate_of_a_prompt_is_the_references() {
    for model in MODELS {
        let mut bench = Bench::new(model);
        let prompt = bench.prompt.clone();
        let mut sequence = bench.sequence(&prompt);
        let mut seen = BTreeMap::new();
        let mut watch = |point: Point, numbers: &[f32]| {
            let name = match point {
                Point::Embedded => "hidden.0".to_owned(),
                Point::Block(index) => format!("hidden.{}", index + 1),
                Point::Keys(index) => format!("k.{index}"),
                Point::Values(index) => format!("v.{index}"),
                Point::FinalNorm => return,
            };
            seen.insert(name, numbers.to_vec());
        };
        let whole = prompt.len();
        bench.step(&mut [(&mut sequence, whole)], &mut watch);
        for name in ["hidden.0", "hidden.1", "k.0", "v.0", "k.1", "v.1"] {
            let mut expected = bench.goldens.floats(&format!("prefill.{name}"));
            if !name.starts_with("hidden") {
                expected = by_time(&expected, bench.kv);
            }
            assert_near(&format!("{model} {name}"), &seen[name], &expected);
        }
    }
}

#[test]
fn logits_of_every_position_are_the_references() {
    for model in MODELS {
        let mut bench = Bench::new(model);
        let prompt = bench.prompt.clone();
        let mut sequence = bench.sequence(&prompt);
        let (mut normed, mut logits) = (Vec::new(), Vec::new());
        for _ in 0..prompt.len() {
            let mut watch = |point: Point, numbers: &[f32]| {
                if point == Point::FinalNorm {
                    normed.extend_from_slice(numbers);
                }
            };
            logits.extend(bench.step(&mut [(&mut sequence, 1)], &mut watch).remove(0));
        }
        assert_near(
            &format!("{model} final_norm"),
            &normed,
            &bench.goldens.floats("prefill.final_norm"),
        );
        assert_near(
            &format!("{model} logits"),
            &logits,
            &bench.goldens.floats("prefill.logits"),
        );
    }
}

#[test]
fn greedy_tokens_are_the_references() {
    for model in MODELS {
        let mut bench = Bench::new(model);
        let (prompt, answer) = (bench.prompt.clone(), bench.answer.clone());
        let mut sequence = bench.sequence(&prompt);
        let logits = bench.alone(&mut sequence, &mut std::iter::empty(), answer.len());
        assert_eq!(sequence.chosen[..answer.len()], answer, "{model}");
        assert_near(
            model,
            &logits[1..].concat(),
            &bench.goldens.floats("decode.logits"),
        );
    }
}

#[test]
fn a_shorter_prompt_in_a_batch_is_the_references() {
    for model in MODELS {
        let mut bench = Bench::new(model);
        let prompt = bench.prompt.clone();
        let (mut long, mut short) = (bench.sequence(&prompt), bench.sequence(&prompt[..13]));
        let logits = bench.step(
            &mut [(&mut long, prompt.len()), (&mut short, 13)],
            &mut |_, _| {},
        );
        assert_near(
            model,
            &logits[1],
            &bench.goldens.floats("batch.row1_last_logits"),
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_chunks_give_the_whole(model in 0..MODELS.len(), chunks in proptest::collection::vec(1_usize..9, 0..20)) {
        let mut bench = Bench::new(MODELS[model]);
        let (prompt, answer) = (bench.prompt.clone(), bench.answer.clone());
        let mut sequence = bench.sequence(&prompt);
        let logits = bench.alone(&mut sequence, &mut chunks.into_iter(), answer.len());
        prop_assert_eq!(&sequence.chosen[..answer.len()], &answer[..]);
        assert_near("logits", &logits[1..].concat(), &bench.goldens.floats("decode.logits"));
    }

    /// Four requests at four places of their ways: in each step some read a chunk of their
    /// prompts, some decode, and some wait.
    #[test]
    fn a_mixed_batch_gives_what_each_gives_alone(
        model in 0..MODELS.len(),
        plan in proptest::collection::vec(proptest::array::uniform4(0_usize..7), 1..40),
    ) {
        let mut bench = Bench::new(MODELS[model]);
        let (prompt, answer) = (bench.prompt.clone(), bench.answer.clone());
        let prompts: [Vec<u32>; 4] = [
            prompt.clone(),
            prompt[..13].to_vec(),
            prompt.iter().rev().copied().collect(),
            prompt.clone(),
        ];
        let mut together: Vec<Sequence> = prompts.iter().map(|prompt| bench.sequence(prompt)).collect();
        for chunks in plan {
            let mut members: Vec<(&mut Sequence, usize)> = Vec::new();
            for (sequence, chunk) in together.iter_mut().zip(chunks) {
                let left = sequence.tokens.len() - sequence.done;
                if chunk > 0 && sequence.chosen.len() < answer.len() {
                    members.push((sequence, chunk.min(left)));
                }
            }
            if members.is_empty() {
                continue;
            }
            let logits = bench.step(&mut members, &mut |_, _| {});
            for ((sequence, _), logits) in members.into_iter().zip(logits) {
                if sequence.done == sequence.tokens.len() {
                    sequence.choose(&logits);
                }
            }
        }
        for (prompt, sequence) in prompts.iter().zip(&together) {
            let mut bench = Bench::new(MODELS[model]);
            let mut alone = bench.sequence(prompt);
            bench.alone(&mut alone, &mut std::iter::empty(), answer.len());
            prop_assert_eq!(&alone.chosen[..sequence.chosen.len()], &sequence.chosen[..]);
        }
        for sequence in [&together[0], &together[3]] {
            prop_assert_eq!(&answer[..sequence.chosen.len()], &sequence.chosen[..]);
        }
    }
}

/// The model in `folder` as llama.cpp's converter would write it: other names, lengths innermost
/// first, the rows of Llama's query and key heads with mates side by side, and scaled frequencies
/// as what each is divided by.
fn as_gguf(model: &str) -> Vec<u8> {
    let Checkpoint {
        architecture: shape,
        tensors,
        ..
    } = Checkpoint::open(&folder(model)).unwrap();
    let name = if shape.head_norms() { "qwen3" } else { "llama" };
    let mut value = Vec::new();
    gguf::text(&mut value, name);
    let mut writer = gguf::Writer::default().setting("general.architecture", 8, &value);
    let sizes = [
        ("block_count", shape.layers),
        ("context_length", shape.context),
        ("embedding_length", shape.width),
        ("feed_forward_length", shape.hidden),
        ("attention.head_count", shape.heads),
        ("attention.head_count_kv", shape.kv_heads),
        ("attention.key_length", shape.head_dim),
        ("rope.dimension_count", shape.head_dim),
    ];
    for (key, size) in sizes {
        let size = u32::try_from(size).unwrap().to_le_bytes();
        writer = writer.setting(&format!("{name}.{key}"), 4, &size);
    }
    #[expect(clippy::cast_possible_truncation, reason = "exact in f32")]
    let theta = (shape.rope.theta as f32).to_le_bytes();
    writer = writer
        .setting(&format!("{name}.rope.freq_base"), 6, &theta)
        .setting(
            &format!("{name}.attention.layer_norm_rms_epsilon"),
            6,
            &shape.norm_eps.to_le_bytes(),
        );
    let mut tokens = 8_u32.to_le_bytes().to_vec();
    tokens.extend((shape.vocabulary as u64).to_le_bytes());
    for token in 0..shape.vocabulary {
        gguf::text(&mut tokens, &token.to_string());
    }
    writer = writer.setting("tokenizer.ggml.tokens", 9, &tokens);
    let roles = Layout::Gguf
        .names(&shape)
        .into_iter()
        .zip(Layout::HuggingFace.names(&shape));
    for (name, theirs) in roles {
        let Some(stored) = tensors.stored(&theirs) else {
            continue;
        };
        let heads = match &theirs {
            name if name.contains("q_proj") => shape.heads,
            name if name.contains("k_proj") => shape.kv_heads,
            _ => 0,
        };
        let mut bytes = stored.bytes().to_vec();
        if heads > 0 && !shape.head_norms() {
            bytes = side_by_side(&bytes, heads, shape.head_dim);
        }
        let lengths: Vec<u64> = stored
            .shape()
            .iter()
            .rev()
            .map(|&length| length as u64)
            .collect();
        writer = writer.tensor(&name, &lengths, 0, &bytes);
    }
    let plain = Rope {
        scaling: Scaling::None,
        ..shape.rope.clone()
    };
    let scaled = shape.rope.frequencies(shape.head_dim);
    let factors: Vec<u8> = plain
        .frequencies(shape.head_dim)
        .iter()
        .zip(&scaled)
        .flat_map(|(plain, scaled)| (plain / scaled).to_le_bytes())
        .collect();
    writer
        .tensor(ROPE_FACTORS, &[scaled.len() as u64], 0, &factors)
        .finish(3)
}

/// Row `j` of a head's first half, then row `j` of its second.
fn side_by_side(bytes: &[u8], heads: usize, head_dim: usize) -> Vec<u8> {
    let row = bytes.len() / heads / head_dim;
    let order = (0..heads).flat_map(|head| {
        (0..head_dim).map(move |at| head * head_dim + at % 2 * (head_dim / 2) + at / 2)
    });
    order
        .flat_map(|from| bytes[from * row..][..row].iter().copied())
        .collect()
}

#[test]
fn the_same_weights_in_a_gguf_file_give_the_same() {
    for model in MODELS {
        let file = tempfile::Builder::new().suffix(".gguf").tempfile().unwrap();
        std::fs::write(file.path(), as_gguf(model)).unwrap();
        let mut bench = Bench::of(model, file.path());
        let (prompt, answer) = (bench.prompt.clone(), bench.answer.clone());
        let mut sequence = bench.sequence(&prompt);
        let logits = bench.alone(&mut sequence, &mut std::iter::empty(), answer.len());
        assert_eq!(sequence.chosen[..answer.len()], answer, "{model}");
        assert_near(
            model,
            &logits[1..].concat(),
            &bench.goldens.floats("decode.logits"),
        );
    }
}
