//! What makes the stories short.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use engine::{
    Config, Engine, Error, Finish, Handle, Job, Limits, ModelConfig, Options, Output, Outputs,
    Usage, Value, WordMark, toy,
};

/// Longer than any output takes on a loaded machine; reaching it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Samples of one letter of the toy at speed 1.
pub(crate) const LETTER: u64 = 1_440;

/// An engine with one toy.
pub(crate) fn engine(limits: Limits, toy: toy::Config, workers: usize) -> Engine {
    let config = Config {
        models: vec![ModelConfig::Toy(toy)],
        limits,
        workers,
        seed: Some(1),
        ..Config::default()
    };
    Engine::start(config).unwrap()
}

/// An engine with one toy that costs nothing, on this many workers.
pub(crate) fn free(workers: usize) -> Engine {
    engine(Limits::default(), toy::Config::default(), workers)
}

pub(crate) fn options(extra: &[(&str, f64)]) -> Options {
    let extra = extra
        .iter()
        .map(|&(name, value)| (name.to_owned(), Value::Number(value)));
    Options {
        seed: Some(7),
        extra: extra.collect(),
        ..Options::default()
    }
}

pub(crate) fn submit(engine: &Engine, options: Options) -> Result<Handle, Error> {
    engine.submit(Job {
        model: "toy".into(),
        options,
    })
}

/// Submits a whole text.
pub(crate) fn say(engine: &Engine, text: &str, options: Options) -> Handle {
    let handle = submit(engine, options).unwrap();
    assert_eq!(handle.feed.text(text).unwrap().0, text.chars().count());
    handle.feed.end();
    handle
}

/// Everything that came out of a request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Spoken {
    pub(crate) samples: Vec<f32>,
    pub(crate) chunks: usize,
    pub(crate) words: Vec<WordMark>,
    pub(crate) text: String,
}

/// Reads a request to its end.
pub(crate) fn listen(mut outputs: Outputs) -> (Spoken, Result<(Finish, Usage), Error>) {
    let mut spoken = Spoken::default();
    loop {
        match outputs
            .recv_blocking(PATIENCE)
            .expect("an output within the time")
        {
            Output::Audio {
                samples,
                start,
                rate,
                ..
            } => {
                assert_eq!((start, rate), (spoken.samples.len() as u64, 24_000));
                spoken.samples.extend_from_slice(&samples);
                spoken.chunks += 1;
            }
            Output::Words { words, .. } => spoken.words.extend_from_slice(&words),
            Output::Text { text, .. } => spoken.text.push_str(&text),
            Output::Done { finish, usage, .. } => {
                assert!(outputs.try_recv().is_none(), "nothing follows the end");
                return (spoken, Ok((finish, usage)));
            }
            Output::Failed(error) => {
                assert!(outputs.try_recv().is_none(), "nothing follows the end");
                return (spoken, Err(error));
            }
            other => panic!("unknown output {other:?}"),
        }
    }
}

/// What a text sounds like when it is alone.
pub(crate) fn alone(text: &str, options: Options) -> Spoken {
    let (spoken, end) = listen(say(&free(1), text, options).outputs);
    assert_eq!(end.unwrap().0, Finish::Stop);
    spoken
}

/// Waits until the condition holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    #[expect(clippy::disallowed_methods, reason = "a test's patience is real time")]
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

/// Waits until nothing is left of any request.
pub(crate) fn at_rest(engine: &Engine) {
    eventually("everything comes to rest", || {
        let snapshot = engine.snapshot();
        snapshot.requests.open == 0 && snapshot.workers.iter().all(engine::WorkerGauges::at_rest)
    });
}

/// A seeded stream of numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
    }
}

/// A future's value, on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => return value,
            std::task::Poll::Pending => std::thread::park_timeout(PATIENCE),
        }
    }
}
