//! A language model of the shape of SmolLM2-135M with random weights: tokens a second.
//!
//! ```text
//! cargo bench -p kernels --bench llm -- [threads] [formats]
//! cargo bench -p kernels --bench llm -- 2 q8_0,q4_1
//! ```
//!
//! The embedding is `q8_0` where the rest is in four bits, as in GGUF files of this model. The best
//! of several runs counts: the machine may be shared. With `PROFILE` in the environment the time of
//! each operation is printed too.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a bench reads the clock and prints"
)]

use std::time::Instant;

use kernels::matrix::encode;
use kernels::ops::{Angles, add, rms_norm, rope, silu_mul};
use kernels::paged::{Queries, Row, Shape, Store, attend};
use kernels::{Format, Matrix, Pool, matmul};

const LAYERS: usize = 30;
const WIDTH: usize = 576;
const HEADS: usize = 9;
const KV_HEADS: usize = 3;
const DIM: usize = 64;
const INNER: usize = 1_536;
const WORDS: usize = 49_152;
const PAGE: usize = 16;

struct Layer {
    qkv: [Matrix; 3],
    out: Matrix,
    gate_up: [Matrix; 2],
    down: Matrix,
    norms: [Vec<f32>; 2],
}

struct Model {
    layers: Vec<Layer>,
    head: Matrix,
    norm: Vec<f32>,
    frequencies: Vec<f32>,
}

/// Where each token of a step stands.
struct Step {
    tokens: Vec<usize>,
    positions: Vec<usize>,
    pages: Vec<Vec<u32>>,
    /// Rows at the end whose logits are asked for.
    logits: usize,
}

/// Seconds by operation.
struct Clock {
    names: Vec<(&'static str, f64)>,
    last: Instant,
}

impl Clock {
    fn new() -> Self {
        Self {
            names: Vec::new(),
            last: Instant::now(),
        }
    }

    fn mark(&mut self, name: &'static str) {
        let now = Instant::now();
        let spent = (now - self.last).as_secs_f64();
        self.last = now;
        match self.names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, seconds)) => *seconds += spent,
            None => self.names.push((name, spent)),
        }
    }
}

fn random(format: Format, rows: usize, cols: usize, random: &mut fastrand::Rng) -> Matrix {
    let size = (3.0 / cols as f32).sqrt();
    let weights: Vec<f32> = (0..rows * cols)
        .map(|_| (2.0 * random.f32() - 1.0) * size)
        .collect();
    Matrix::new(format, rows, cols, &encode(format, &weights)).unwrap()
}

impl Model {
    fn new(format: Format) -> Self {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut matrix = |rows, cols| random(format, rows, cols, &mut rng);
        let layers = (0..LAYERS).map(|_| Layer {
            qkv: [
                matrix(HEADS * DIM, WIDTH),
                matrix(KV_HEADS * DIM, WIDTH),
                matrix(KV_HEADS * DIM, WIDTH),
            ],
            out: matrix(WIDTH, HEADS * DIM),
            gate_up: [matrix(INNER, WIDTH), matrix(INNER, WIDTH)],
            down: matrix(WIDTH, INNER),
            norms: [vec![1.0; WIDTH], vec![1.0; WIDTH]],
        });
        let layers = layers.collect();
        let words = match format {
            Format::Q4_0 | Format::Q4_1 => Format::Q8_0,
            format => format,
        };
        let frequencies = (0..DIM / 2).map(|i| 1e5_f32.powf(-2.0 * i as f32 / DIM as f32));
        Self {
            layers,
            head: random(words, WORDS, WIDTH, &mut rng),
            norm: vec![1.0; WIDTH],
            frequencies: frequencies.collect(),
        }
    }

    fn bytes(&self) -> usize {
        let all = self.layers.iter().flat_map(|layer| {
            let pairs = layer.qkv.iter().chain(&layer.gate_up);
            pairs.chain([&layer.out, &layer.down])
        });
        all.chain([&self.head]).map(Matrix::bytes).sum()
    }

    fn forward(
        &self,
        pool: &Pool,
        store: &mut Store,
        step: &Step,
        logits: &mut Vec<f32>,
        clock: &mut Clock,
    ) {
        let rows = step.tokens.len();
        clock.last = Instant::now();
        let mut x = vec![0.0; rows * WIDTH];
        for (x, &token) in x.chunks_mut(WIDTH).zip(&step.tokens) {
            self.head.row(token, x);
        }
        let mut angles = Angles::default();
        angles.set(step.positions.iter().copied(), &self.frequencies);
        let mut normed = vec![0.0; rows * WIDTH];
        let mut q = vec![0.0; rows * WIDTH];
        let mut k = vec![0.0; rows * KV_HEADS * DIM];
        let mut v = k.clone();
        let mut mixed = q.clone();
        let (mut gate, mut up) = (vec![0.0; rows * INNER], vec![0.0; rows * INNER]);
        let seen = step.positions.iter().zip(&step.pages);
        let seen: Vec<Row<'_>> = seen
            .map(|(&position, pages)| Row {
                pages,
                position,
                window: None,
            })
            .collect();
        clock.mark("embed");
        for (index, layer) in self.layers.iter().enumerate() {
            rms_norm(pool, &x, &layer.norms[0], 1e-5, &mut normed);
            clock.mark("norm");
            let [wq, wk, wv] = &layer.qkv;
            matmul(pool, &normed, &[wq, wk, wv], &mut [&mut q, &mut k, &mut v]);
            clock.mark("qkv");
            rope(pool, &mut q, HEADS, &angles);
            rope(pool, &mut k, KV_HEADS, &angles);
            clock.mark("rope");
            let size = KV_HEADS * DIM;
            for (row, (k, v)) in k.chunks(size).zip(v.chunks(size)).enumerate() {
                let position = step.positions[row];
                let page = step.pages[row][position / PAGE];
                store.write(index, page, position % PAGE, k, v);
            }
            clock.mark("write");
            let queries = Queries {
                q: &q,
                heads: HEADS,
                scale: 0.125,
                rows: &seen,
            };
            attend(pool, store, index, &queries, &mut mixed);
            clock.mark("attend");
            matmul(pool, &mixed, &[&layer.out], &mut [&mut normed]);
            clock.mark("out");
            add(pool, &mut x, &normed);
            clock.mark("add");
            rms_norm(pool, &x, &layer.norms[1], 1e-5, &mut normed);
            clock.mark("norm");
            let [wg, wu] = &layer.gate_up;
            matmul(pool, &normed, &[wg, wu], &mut [&mut gate, &mut up]);
            clock.mark("gate_up");
            silu_mul(pool, &mut gate, &up);
            clock.mark("silu");
            matmul(pool, &gate, &[&layer.down], &mut [&mut normed]);
            clock.mark("down");
            add(pool, &mut x, &normed);
            clock.mark("add");
        }
        let last = &x[(rows - step.logits) * WIDTH..];
        let mut normed = vec![0.0; last.len()];
        rms_norm(pool, last, &self.norm, 1e-5, &mut normed);
        logits.resize(step.logits * WORDS, 0.0);
        matmul(pool, &normed, &[&self.head], &mut [logits.as_mut_slice()]);
        clock.mark("logits");
    }
}

fn store() -> Store {
    Store::in_halves(Shape {
        layers: LAYERS,
        pages: 1_024,
        page_tokens: PAGE,
        kv_heads: KV_HEADS,
        head_dim: DIM,
    })
    .unwrap()
}

fn pages(sequence: usize) -> Vec<u32> {
    let first = u32::try_from(sequence).unwrap() * 64;
    (first..first + 64).collect()
}

/// Seconds of the fastest of some runs, whose operations are printed on demand.
fn best(what: &str, runs: usize, mut run: impl FnMut(&mut Clock)) -> f64 {
    let mut fastest = (f64::INFINITY, Clock::new());
    for _ in 0..runs {
        let mut clock = Clock::new();
        let start = Instant::now();
        run(&mut clock);
        let seconds = start.elapsed().as_secs_f64();
        if seconds < fastest.0 {
            fastest = (seconds, clock);
        }
    }
    if std::env::var_os("PROFILE").is_some() {
        print!("{what}, {:.2} ms:", 1e3 * fastest.0);
        for (name, seconds) in fastest.1.names {
            print!(" {name} {:.2}", 1e3 * seconds);
        }
        println!();
    }
    fastest.0
}

/// Seconds a step of `batch` sequences that each have 64 tokens before.
fn decode(model: &Model, pool: &Pool, batch: usize) -> f64 {
    const STEPS: usize = 16;
    let mut store = store();
    let mut logits = Vec::new();
    let seconds = best(&format!("{STEPS} steps of {batch}"), 8, |clock| {
        for index in 0..STEPS {
            let step = Step {
                tokens: (0..batch).map(|token| 7 * token + index).collect(),
                positions: vec![64 + index; batch],
                pages: (0..batch).map(pages).collect(),
                logits: batch,
            };
            model.forward(pool, &mut store, &step, &mut logits, clock);
        }
    });
    seconds / STEPS as f64
}

fn prefill(model: &Model, pool: &Pool, tokens: usize) -> f64 {
    let mut store = store();
    let mut logits = Vec::new();
    let step = Step {
        tokens: (0..tokens).collect(),
        positions: (0..tokens).collect(),
        pages: vec![pages(0); tokens],
        logits: 1,
    };
    best(&format!("prefill of {tokens}"), 3, |clock| {
        model.forward(pool, &mut store, &step, &mut logits, clock);
    })
}

fn main() {
    let all = [
        ("f32", Format::F32),
        ("f16", Format::F16),
        ("bf16", Format::Bf16),
        ("q8_0", Format::Q8_0),
        ("q4_0", Format::Q4_0),
        ("q4_1", Format::Q4_1),
    ];
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let threads = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(2);
    let wanted = args.next();
    let pool = Pool::new(threads);
    println!("{threads} threads; tokens a second (weights read)");
    for (name, format) in all {
        let skip = |wanted: &String| !wanted.split(',').any(|wanted| wanted == name);
        if wanted.as_ref().is_some_and(skip) {
            continue;
        }
        let model = Model::new(format);
        let one = decode(&model, &pool, 1);
        let eight = decode(&model, &pool, 8);
        let (short, long) = (prefill(&model, &pool, 128), prefill(&model, &pool, 512));
        println!(
            "{name:5} decode {:6.1} ({:4.1} GB/s)   batch of 8 {:6.1} ({:.2}x)   prefill of 128 {:6.1}, of 512 {:6.1}",
            1.0 / one,
            model.bytes() as f64 / one / 1e9,
            8.0 / eight,
            8.0 * one / eight,
            128.0 / short,
            512.0 / long,
        );
    }
}
