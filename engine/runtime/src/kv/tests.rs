//! Pages under any order of events, and a model that reads its past through them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use graph::{
    Call, EngineKind, Graph, InputId, Kind, LoopSpec, Modality, NodeId, NodeSpec, PartitionId,
    PartitionSpec, PortType,
};
use proptest::{collection::vec, prelude::*};
use tensor::Tensor;

use super::*;
use crate::{
    Admitted, Cause, Event, Finish, Input, Model, ModelInfo, Next, Options, Outputs, Payload,
    Progress, RequestInfo, Result, Sampling, Simulation, Source, Submodule,
};

#[derive(Clone, Debug)]
enum Act {
    Open,
    Adopt(usize, Vec<u32>),
    Append(usize, Vec<u32>),
    Commit(usize),
    Fork(usize),
    Rollback(usize, usize),
    Drop(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let which = 0..6_usize;
    // Few tokens, so that sequences begin alike.
    let tokens = || vec(0..2_u32, 1..9);
    prop_oneof![
        2 => Just(Act::Open),
        2 => (which.clone(), tokens()).prop_map(|(which, tokens)| Act::Adopt(which, tokens)),
        6 => (which.clone(), tokens()).prop_map(|(which, tokens)| Act::Append(which, tokens)),
        3 => which.clone().prop_map(Act::Commit),
        1 => which.clone().prop_map(Act::Fork),
        2 => (which.clone(), 0..20_usize).prop_map(|(which, at)| Act::Rollback(which, at)),
        1 => which.prop_map(Act::Drop),
    ]
}

const SIZE: usize = 3;

/// What lies in the pages, token by token.
struct Memory(Vec<u32>);

impl Memory {
    fn write(&mut self, pages: &[PageId], position: usize, token: u32) {
        self.0[pages[position / SIZE] as usize * SIZE + position % SIZE] = token;
    }

    fn read(&self, pages: &[PageId], length: usize) -> Vec<u32> {
        (0..length)
            .map(|at| self.0[pages[at / SIZE] as usize * SIZE + at % SIZE])
            .collect()
    }

    fn copy(&mut self, (from, to): (PageId, PageId)) {
        let (from, to) = (from as usize * SIZE, to as usize * SIZE);
        self.0.copy_within(from..from + SIZE, to);
    }
}

proptest! {
    #[test]
    fn pages_are_neither_lost_nor_written_by_two(acts in vec(act(), 1..120), pages in 1..12_usize) {
        let pool = Pool::new(Config { pages, page_tokens: SIZE, ..Config::default() });
        let mut memory = Memory(vec![9; pages * SIZE]);
        let mut open: Vec<(Sequence, Vec<u32>)> = Vec::new();
        for act in acts {
            match act {
                Act::Open if open.len() < 6 => open.push((pool.open(), Vec::new())),
                Act::Fork(which) if open.len() < 6 && which < open.len() => {
                    let (sequence, tokens) = &open[which];
                    open.push((sequence.fork(), tokens.clone()));
                }
                Act::Adopt(which, tokens) => {
                    if let Some((sequence, known)) = open.get_mut(which) {
                        let count = sequence.adopt(&tokens);
                        prop_assert!(count == 0 || known.is_empty() && count < tokens.len());
                        if known.is_empty() {
                            known.extend_from_slice(&tokens[..count]);
                        }
                    }
                }
                Act::Append(which, tokens) => {
                    if let Some((sequence, known)) = open.get_mut(which) {
                        // What is written has been computed: the pages before are complete.
                        sequence.commit();
                        match sequence.append(&tokens) {
                            Ok(append) => {
                                append.copies.into_iter().for_each(|copy| memory.copy(copy));
                                for (position, &token) in (known.len()..).zip(&tokens) {
                                    memory.write(sequence.pages(), position, token);
                                }
                                known.extend(tokens);
                            }
                            Err(OutOfPages { total }) => {
                                prop_assert_eq!(total, pages);
                                let needed = (known.len() + tokens.len()).div_ceil(SIZE) + 1
                                    - sequence.pages().len();
                                prop_assert!(pool.available() < needed);
                            }
                        }
                    }
                }
                Act::Commit(which) => {
                    if let Some((sequence, _)) = open.get_mut(which) {
                        sequence.commit();
                    }
                }
                Act::Rollback(which, at) => {
                    if let Some((sequence, known)) = open.get_mut(which) {
                        sequence.rollback(at);
                        known.truncate(at);
                    }
                }
                Act::Drop(which) if which < open.len() => drop(open.swap_remove(which)),
                _ => {}
            }
            let mut held: BTreeSet<PageId> = BTreeSet::new();
            for (sequence, known) in &open {
                prop_assert_eq!(sequence.tokens(), &known[..]);
                prop_assert_eq!(sequence.pages().len(), known.len().div_ceil(SIZE));
                prop_assert_eq!(&memory.read(sequence.pages(), known.len()), known);
                held.extend(sequence.pages());
            }
            let stats = pool.stats();
            prop_assert_eq!(stats.in_use, held.len());
            prop_assert_eq!(pool.available() + held.len(), pages);
        }
        drop(open);
        prop_assert_eq!(pool.available(), pages);
    }

    #[test]
    fn behind_a_window_pages_go(lengths in vec(1..7_usize, 1..12), window in 1..9_usize) {
        let pool = Pool::new(Config { pages: 64, page_tokens: SIZE, ..Config::default() });
        let mut sequence = pool.open();
        for length in lengths {
            sequence.append(&vec![1; length]).unwrap();
            sequence.commit();
            sequence.slide(window);
            // The next token looks at the `window` tokens up to itself.
            let first = (sequence.len() + 1).saturating_sub(window);
            for position in first..sequence.len() {
                prop_assert_ne!(sequence.pages()[position / SIZE], GONE);
            }
            let held = sequence.pages().iter().filter(|&&page| page != GONE).count();
            prop_assert!(held <= window / SIZE + 2);
            prop_assert_eq!(pool.stats().in_use, held);
        }
        drop(sequence);
        prop_assert_eq!(pool.available(), 64);
    }

    #[test]
    fn going_back_behind_a_window_leaves_all_pages_that_are_looked_at(
        turns in vec((1..7_usize, 0..30_usize), 1..20), window in 1..9_usize,
    ) {
        let pool = Pool::new(Config { pages: 64, page_tokens: SIZE, ..Config::default() });
        let mut sequence = pool.open();
        for (length, back) in turns {
            sequence.append(&vec![1; length]).unwrap();
            sequence.slide(window);
            let before = sequence.len();
            let position = before.saturating_sub(back);
            let reached = sequence.rollback(position);
            prop_assert!(reached == position || reached == 0 && position < before);
            prop_assert_eq!(sequence.len(), reached);
            sequence.append(&[2]).unwrap();
            let first = sequence.len().saturating_sub(window);
            for position in first..sequence.len() {
                prop_assert_ne!(sequence.pages()[position / SIZE], GONE);
            }
            sequence.slide(window);
            let held = sequence.pages().iter().filter(|&&page| page != GONE).count();
            prop_assert!(held <= window / SIZE + 2);
            prop_assert_eq!(pool.stats().in_use, held);
        }
        drop(sequence);
        prop_assert_eq!(pool.available(), 64);
    }
}

/// Chooses tokens by all that came before, which it reads through its pages: one wrong page or
/// position and every later token differs.
struct Recalls {
    memory: Memory,
    rows: Arc<std::sync::atomic::AtomicUsize>,
}

const VOCABULARY: usize = 32;
/// The token that ends an answer.
const END: u32 = 31;

fn follows(history: &[u32], logits: &mut [f32]) {
    let mut hash = 0;
    for &token in history {
        hash = crate::driver::mix(hash ^ u64::from(token));
    }
    for logit in logits {
        hash = crate::driver::mix(hash);
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let value = (hash % 1000) as f32 / 100.0;
        *logit = value;
    }
}

impl Causal for Recalls {
    fn vocabulary(&self) -> usize {
        VOCABULARY
    }

    fn generation(&self, request: &RequestInfo) -> std::result::Result<Generation, Cause> {
        Ok(Generation {
            sampling: request.options.sampling.clone(),
            ends: vec![END],
            max_tokens: request.options.sampling.max_tokens.unwrap_or(40),
        })
    }

    fn forward(&mut self, step: &Step<'_>, logits: &mut [f32]) -> std::result::Result<(), Cause> {
        step.copies.iter().for_each(|&copy| self.memory.copy(copy));
        let mut asked = logits.chunks_exact_mut(VOCABULARY);
        self.rows
            .fetch_add(step.tokens.len(), std::sync::atomic::Ordering::Relaxed);
        for member in step.members {
            for (position, &token) in (member.past..).zip(&step.tokens[member.range.clone()]) {
                self.memory.write(member.pages, position, token);
            }
            if member.logits {
                let length = member.past + member.range.len();
                follows(
                    &self.memory.read(member.pages, length),
                    asked.next().unwrap(),
                );
            }
        }
        assert!(asked.next().is_none());
        Ok(())
    }
}

/// What [`Recalls`] must answer, without pages.
fn expected(prompt: &[u32], sampling: &Sampling, seed: u64) -> Vec<u32> {
    let mut sampler = crate::Sampler::new(sampling, seed).unwrap();
    sampler.read(prompt);
    let mut tokens = prompt.to_vec();
    for _ in 0..sampling.max_tokens.unwrap_or(40) {
        let mut logits = [0.0; VOCABULARY];
        follows(&tokens, &mut logits);
        let token = sampler.choose(&mut logits).unwrap();
        tokens.push(token);
        if token == END {
            break;
        }
    }
    tokens.split_off(prompt.len())
}

struct Writer {
    graph: Arc<Graph>,
    info: ModelInfo,
    pool: Pool,
    rows: Arc<std::sync::atomic::AtomicUsize>,
}

impl Writer {
    fn new(config: Config) -> Self {
        let node = NodeSpec::new("llm", EngineKind::Kv)
            .input("tokens", PortType::of(Kind::Any))
            .output("tokens", PortType::of(Kind::Any))
            .output("token", PortType::of(Kind::Any));
        let llm = || Call::new("llm").emit("token", Modality::Text);
        let decode = LoopSpec::new("decode_loop", 1000, llm().to("tokens", "llm", "tokens"));
        let graph = Graph::builder("writer")
            .node(node)
            .walk("prefill", llm().keep("tokens"))
            .walk("decode", decode.dynamic())
            .partition(PartitionSpec::new("text", ["prefill", "decode"]).initial("prefill"))
            .build()
            .unwrap_or_else(|findings| panic!("{findings}"));
        let info = ModelInfo {
            id: "writer".into(),
            ..ModelInfo::default()
        };
        Self {
            graph: Arc::new(graph),
            info,
            pool: Pool::new(config),
            rows: Arc::default(),
        }
    }
}

impl Model for Writer {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, options: &Options) -> Result<Admitted> {
        // The voice carries the prompt: digits of base 32.
        let voice = options.voice.clone().unwrap_or_default();
        let prompt: Vec<i64> = voice
            .chars()
            .map(|digit| i64::from(digit.to_digit(32).unwrap()))
            .collect();
        Ok(Arc::new(prompt))
    }

    fn next(&self, _partition: PartitionId, progress: &Progress<'_>) -> Next {
        let prompt = progress.request.admitted::<Vec<i64>>().unwrap();
        let walk = |name| self.graph.walk_named(name).unwrap().id();
        let input = |source| Input {
            node: NodeId::new(0),
            input: InputId::new(0),
            source,
        };
        match progress.passes {
            0 => {
                let tokens = Tensor::i64([prompt.len()], prompt.clone()).unwrap();
                let given = Source::Given(vec![Payload::Tensor(tokens)]);
                Next::Walk {
                    walk: walk("prefill"),
                    inputs: vec![input(given)],
                }
            }
            1 => Next::Walk {
                walk: walk("decode"),
                inputs: vec![input(Source::Kept("tokens".into()))],
            },
            _ => Next::Done,
        }
    }

    fn submodule(&self, _node: NodeId) -> Result<Box<dyn Submodule>> {
        let memory = Memory(vec![0; self.pool.config().pages * SIZE]);
        let rows = Arc::clone(&self.rows);
        Ok(Box::new(Engine::new(
            Recalls { memory, rows },
            self.pool.clone(),
        )))
    }
}

/// Pages of three tokens.
fn config(pages: usize) -> Config {
    Config {
        pages,
        page_tokens: SIZE,
        token_budget: 8,
        ..Config::default()
    }
}

fn simulation(model: Writer) -> (Simulation, Pool) {
    let pool = model.pool.clone();
    let cost = Duration::from_millis(1);
    let config = crate::Config::default();
    let simulation = Simulation::new(vec![Arc::new(model)], config, cost, 5).unwrap();
    (simulation, pool)
}

fn ask(prompt: &str, seed: u64, max_tokens: u32) -> Options {
    Options {
        voice: Some(prompt.into()),
        seed: Some(seed),
        sampling: Sampling {
            temperature: Some(1.0),
            repetition_penalty: Some(1.1),
            max_tokens: Some(max_tokens),
            ..Sampling::default()
        },
        ..Options::default()
    }
}

fn prompt_of(options: &Options) -> Vec<u32> {
    let voice = options.voice.as_deref().unwrap_or_default();
    voice
        .chars()
        .map(|digit| digit.to_digit(32).unwrap())
        .collect()
}

/// What has come, and how it ended.
fn heard(outputs: &mut Outputs) -> (Vec<u32>, Option<crate::End>) {
    let (mut tokens, mut end) = (Vec::new(), None);
    while let Some(event) = outputs.try_next() {
        match event {
            Event::Emitted(emitted) => {
                let tensor = emitted.payload.as_tensor().unwrap().clone();
                tokens.push(u32::try_from(tensor.as_i64().unwrap()[0]).unwrap());
            }
            Event::End(last) => end = Some(last),
        }
    }
    (tokens, end)
}

fn right(options: &Options) -> Vec<u32> {
    expected(
        &prompt_of(options),
        &options.sampling,
        options.seed.unwrap(),
    )
}

/// Some prompts, alike at their beginnings and not, short and longer than a step may read.
fn questions() -> Vec<Options> {
    let long = "0123456789abcdefghijk".repeat(3);
    let prompts = ["1", "123", "1234567", "12345679", &long, "abcabcabcabc"];
    let seeds = 0..12_u64;
    seeds
        .map(|seed| {
            let prompt = prompts[usize::try_from(seed).unwrap() % prompts.len()];
            ask(prompt, seed, 5 + 3 * u32::try_from(seed).unwrap())
        })
        .collect()
}

#[test]
fn answers_are_the_same_alone_together_and_when_pages_are_scarce() {
    for pages in [400, 40, 36] {
        let (mut simulation, pool) = simulation(Writer::new(config(pages)));
        let asked = questions();
        let mut open: Vec<_> = asked
            .iter()
            .map(|options| simulation.submit(0, options.clone()).unwrap())
            .collect();
        assert!(
            simulation.run(200_000),
            "{pages} pages: it goes on for ever"
        );
        for (options, (_, outputs)) in asked.iter().zip(&mut open) {
            let (tokens, end) = heard(outputs);
            let end = end.unwrap();
            assert_eq!(end.error, None, "{pages} pages");
            let right = right(options);
            assert_eq!(tokens, right, "{pages} pages, prompt {:?}", options.voice);
            let finish = match right.last() {
                Some(&END) => Finish::Stop,
                _ => Finish::Length,
            };
            assert_eq!(end.finish, finish);
            assert_eq!(end.usage.tokens.completion, right.len() as u64);
            assert_eq!(end.usage.tokens.prompt, prompt_of(options).len() as u64);
        }
        assert_eq!(pool.stats().in_use, 0);
        assert_eq!(pool.available(), pages);
    }
}

#[test]
fn what_was_read_before_is_not_computed_again() {
    let model = Writer::new(config(400));
    let rows = Arc::clone(&model.rows);
    let (mut simulation, pool) = simulation(model);
    let options = ask("0123456789abcdef", 3, 2);
    let mut computed = Vec::new();
    for _ in 0..2 {
        let (_feed, mut outputs) = simulation.submit(0, options.clone()).unwrap();
        assert!(simulation.run(10_000));
        let (tokens, end) = heard(&mut outputs);
        assert_eq!(tokens, right(&options));
        computed.push((
            rows.swap(0, std::sync::atomic::Ordering::Relaxed),
            end.unwrap().usage.tokens.cached,
        ));
    }
    // Sixteen tokens of the prompt and one of the answer; then all but what is on the last page.
    assert_eq!(computed, [(17, 0), (2, 15)]);
    assert_eq!(pool.stats().hits, 5);
}

#[test]
fn a_long_prompt_does_not_hold_answers_up() {
    let (mut simulation, _) = simulation(Writer::new(config(400)));
    let (_a, mut short) = simulation.submit(0, ask("12", 4, 40)).unwrap();
    simulation.pass(Duration::from_millis(5));
    let before = heard(&mut short).0.len();
    // Sixty-three tokens at seven a step, beside the answer: nine steps.
    let (_b, mut long) = simulation
        .submit(0, ask(&"0123456789abcdefghijk".repeat(3), 0, 4))
        .unwrap();
    simulation.pass(Duration::from_millis(9));
    let (between, _) = heard(&mut short);
    assert!(
        before >= 3 && between.len() >= 8,
        "{before}, then {between:?}"
    );
    assert!(heard(&mut long).0.is_empty());
    simulation.pass(Duration::from_millis(3));
    assert!(!heard(&mut long).0.is_empty());
}

#[test]
fn a_request_that_never_fits_fails_alone_and_says_why() {
    let (mut simulation, pool) = simulation(Writer::new(config(3)));
    let (_a, mut large) = simulation.submit(0, ask("0123456789", 1, 4)).unwrap();
    let (_b, mut small) = simulation.submit(0, ask("01", 2, 3)).unwrap();
    assert!(simulation.run(10_000));
    let (_, end) = heard(&mut large);
    let error = end.unwrap().error.unwrap().to_string();
    assert!(error.contains("all 3 pages"), "{error}");
    let (tokens, end) = heard(&mut small);
    assert_eq!(
        (tokens, end.unwrap().error),
        (right(&ask("01", 2, 3)), None)
    );
    assert_eq!(pool.stats().in_use, 0);
}

#[test]
fn a_thousand_who_leave_leave_nothing() {
    let (mut simulation, pool) = simulation(Writer::new(config(60)));
    let mut random = 1;
    let mut open = Vec::new();
    for round in 0..1_000_u64 {
        random = crate::driver::mix(random);
        let prompt = ["12", "0123456789abcdefghijk", "01234"][usize::try_from(random % 3).unwrap()];
        open.push(simulation.submit(0, ask(prompt, round, 30)).unwrap());
        simulation.pass(Duration::from_micros(random >> 32 & 0xfff));
        if open.len() > 8 {
            let which = usize::try_from((random >> 16) % 8).unwrap();
            let (feed, outputs) = open.swap_remove(which);
            match random & 4 {
                0 => feed.cancel(),
                _ => drop(outputs),
            }
        }
    }
    drop(open);
    assert!(simulation.run(100_000));
    assert_eq!(pool.stats().in_use, 0);
    let snapshot = simulation.snapshot();
    assert_eq!(snapshot.requests.open, 0);
    assert!(
        snapshot.steps_after_cancel <= snapshot.requests.cancelled,
        "{} steps after {} cancels",
        snapshot.steps_after_cancel,
        snapshot.requests.cancelled
    );
}

#[test]
fn a_page_has_room_for_a_token() {
    let pool = Pool::new(Config {
        page_tokens: 0,
        ..Config::default()
    });
    let mut sequence = pool.open();
    assert!(sequence.append(&[1, 2]).is_ok());
    assert_eq!((sequence.pages().len(), pool.config().page_tokens), (2, 1));
}

#[test]
fn who_waits_for_pages_takes_no_steps_and_is_served_when_they_are_given_back() {
    let model = Writer::new(config(12));
    let pool = model.pool.clone();
    let limits = crate::Limits {
        // The listener who does not read stops its walk after the first two tokens.
        outputs: 2,
        steps: 60,
        ..crate::Limits::default()
    };
    let config = crate::Config {
        limits,
        ..crate::Config::default()
    };
    let cost = Duration::from_millis(1);
    let mut simulation = Simulation::new(vec![Arc::new(model)], config, cost, 5).unwrap();
    let holds = ask("0123456789abcdefghijklmno", 1, 6);
    let (_a, mut holder) = simulation.submit(0, holds.clone()).unwrap();
    simulation.pass(Duration::from_millis(20));
    let waits = ask("ponmlkjihgfedcba9876543210", 2, 5);
    let (_b, mut waiter) = simulation.submit(0, waits.clone()).unwrap();
    simulation.pass(Duration::from_secs(10));
    let steps: u64 = simulation
        .snapshot()
        .nodes
        .iter()
        .map(|node| node.steps)
        .sum();
    assert!(
        steps < 20,
        "{steps} steps while one waits and one does not read"
    );
    assert!(heard(&mut waiter).1.is_none());
    let mut tokens = Vec::new();
    for _ in 0..20 {
        tokens.extend(heard(&mut holder).0);
        simulation.pass(Duration::from_millis(5));
    }
    assert_eq!(tokens, right(&holds));
    let mut tokens = Vec::new();
    let mut ended = None;
    for _ in 0..20 {
        let (more, end) = heard(&mut waiter);
        tokens.extend(more);
        ended = ended.or(end);
        simulation.pass(Duration::from_millis(5));
    }
    assert_eq!(tokens, right(&waits));
    assert_eq!(ended.unwrap().error, None);
    assert_eq!(pool.stats().in_use, 0);
}
