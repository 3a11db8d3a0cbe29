//! From the model's hand to the requester's: how long the first chunk of a request takes while
//! 200 others are open. One thread reads all of them by their wakers, as an async runtime would.
//!
//! Prints percentiles over requests in milliseconds, for requests that come one by one and for
//! 200 that come at once (these wait for each other's steps before the hand-over, not after it).

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::{
    collections::HashMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake},
    time::Duration,
};

use engine::{Config, Engine, Feed, Job, Limits, Output, Outputs};
use futures_core::Stream;
use parking_lot::{Condvar, Mutex};

const OPEN: usize = 200;
const ROUNDS: usize = 10;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let rounds = if std::env::args().any(|argument| argument == "--bench") {
        ROUNDS
    } else {
        1
    };
    let limits = Limits {
        requests: 2 * OPEN,
        ..Limits::default()
    };
    let engine = Engine::start(Config {
        limits,
        ..Config::default()
    })?;
    // These stay open and silent.
    let silent = (0..OPEN)
        .map(|_| submit(&engine))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut single, mut burst) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for _ in 0..OPEN / 10 {
            single.extend(first_chunks(&engine, 1)?);
        }
        burst.extend(first_chunks(&engine, OPEN - 1)?);
    }
    drop(silent);
    report("one at a time", single);
    report("all at once", burst);
    Ok(())
}

fn submit(engine: &Engine) -> Result<(Feed, Outputs), Error> {
    let handle = engine.submit(Job {
        model: "toy".into(),
        ..Job::default()
    })?;
    Ok((handle.feed, handle.outputs))
}

fn report(what: &str, mut waits: Vec<Duration>) {
    waits.sort_unstable();
    let at = |percent: usize| {
        waits
            .get((waits.len() - 1) * percent / 100)
            .map_or(0.0, |wait| wait.as_secs_f64() * 1e3)
    };
    println!(
        "{what:14} n={:5}  p50 {:.3} ms  p99 {:.3} ms  max {:.3} ms",
        waits.len(),
        at(50),
        at(99),
        at(100)
    );
}

/// Opens this many requests and reads them to their ends; how long each first chunk was on its way.
fn first_chunks(engine: &Engine, count: usize) -> Result<Vec<Duration>, Error> {
    let woken = Arc::new(Woken::default());
    let mut open: HashMap<usize, (Outputs, bool)> = HashMap::new();
    for index in 0..count {
        let (feed, outputs) = submit(engine)?;
        feed.text("Hello to everyone.")?;
        feed.end();
        open.insert(index, (outputs, false));
        woken.add(index);
    }
    let mut waits = Vec::with_capacity(count);
    while !open.is_empty() {
        let index = woken.next();
        let Some((outputs, has_begun)) = open.get_mut(&index) else {
            continue;
        };
        let waker = Arc::new(Entry {
            index,
            woken: Arc::clone(&woken),
        })
        .into();
        let mut context = Context::from_waker(&waker);
        while let Poll::Ready(output) = Pin::new(&mut *outputs).poll_next(&mut context) {
            match output {
                Some(Output::Audio { at, .. }) if !*has_begun => {
                    *has_begun = true;
                    waits.push(engine.now().since(at));
                }
                Some(Output::Failed(error)) => return Err(error.into()),
                Some(_) => {}
                None => {
                    open.remove(&index);
                    break;
                }
            }
        }
    }
    Ok(waits)
}

/// Requests that have something to read.
#[derive(Default)]
struct Woken {
    queue: Mutex<Vec<usize>>,
    arrived: Condvar,
}

impl Woken {
    fn add(&self, index: usize) {
        self.queue.lock().push(index);
        self.arrived.notify_one();
    }

    fn next(&self) -> usize {
        let mut queue = self.queue.lock();
        loop {
            if !queue.is_empty() {
                return queue.remove(0);
            }
            self.arrived.wait(&mut queue);
        }
    }
}

struct Entry {
    index: usize,
    woken: Arc<Woken>,
}

impl Wake for Entry {
    fn wake(self: Arc<Self>) {
        self.woken.add(self.index);
    }
}
