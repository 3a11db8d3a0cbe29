//! Listeners on a worker of a known speed: who stalls, under which rule, and that nobody starves.

use std::{sync::Arc, time::Duration};

use graph::{
    Call, ConnectionSpec, Graph, Modality, PartitionSpec,
    stream::{ChunkPolicy, Config as Stream, Time},
};
use runtime::{
    Admission, Config, Costs, Error, Event, Limits, Model, Options, Outputs, Policy, Scheduling,
    Simulation, StepInfo, Timing,
};
use tensor::Tensor;

use crate::{
    declared::{feed, node},
    scripted::{RATE, Scripted},
};

const MS: Duration = Duration::from_millis(1);
/// Audio that each letter becomes.
const LETTER: Duration = Duration::from_millis(100);
/// Letters of one sentence, which are read in one step.
const SENTENCE: usize = 20;
/// Work of reading a sentence, and of making two letters sound: a worker serves eleven listeners.
const READ: Duration = Duration::from_millis(80);
const SOUND: Duration = Duration::from_millis(10);
/// What a player holds back before it begins.
const PREBUFFER: Duration = Duration::from_millis(50);

/// `requester ─letters, by sentences─▶ [read] ─notes, two by two─▶ [sound]─▶ audio`, as voices are
/// made: long steps for what is said, short ones for how it sounds.
fn speaking() -> Arc<dyn Model> {
    let by = |chunk| Stream::new(ChunkPolicy::Fixed { chunk }).capacity(64);
    let graph = Graph::builder("speaking")
        .node(node("read", &["letters"], &["notes"]))
        .node(node("sound", &["notes"], &["audio"]))
        .walk("read", Call::new("read").stream("notes", "sound", "notes"))
        .walk("speak", Call::new("sound").emit("audio", Modality::Audio))
        .partition(PartitionSpec::new("text", ["read"]))
        .partition(PartitionSpec::new("voice", ["speak"]))
        .connection(ConnectionSpec::from_requester(
            "text",
            "read",
            "letters",
            by(SENTENCE),
        ))
        .connection(ConnectionSpec::new(
            "text",
            "voice",
            "sound",
            "notes",
            by(2),
        ));
    let model = Scripted::new(graph, 1, |node, member| {
        if node == "read" {
            for letter in member.input("letters").to_vec() {
                member.put("notes", letter);
            }
            return;
        }
        let samples = vec![0.0; member.input("notes").len() * RATE as usize / 10];
        if !samples.is_empty() {
            member.put("audio", Tensor::f32([samples.len()], samples).unwrap());
        }
    });
    Arc::new(model)
}

/// What steps cost.
struct Work;

impl Costs for Work {
    fn step(&mut self, step: StepInfo<'_>) -> Duration {
        if step.node == "read" { READ } else { SOUND }
    }
}

/// Arrivals without memory, from a seed.
struct Arrivals(u64);

impl Arrivals {
    fn next(&mut self, mean: Duration) -> Duration {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
        let uniform = ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        mean.mul_f64(-uniform.ln())
    }
}

/// One listener, who plays what comes at the pace of time.
struct Listener {
    outputs: Outputs,
    asked: Time,
    first: Option<Time>,
    runs_dry: Time,
    stalls: usize,
    is_over: bool,
}

impl Listener {
    fn listen(&mut self) {
        while let Some(event) = self.outputs.try_next() {
            match event {
                Event::Emitted(emitted) => self.hear(emitted.at, emitted.payload.length()),
                Event::End(end) => {
                    assert_eq!(end.error, None);
                    self.is_over = true;
                }
            }
        }
    }

    fn hear(&mut self, at: Time, samples: usize) {
        if self.first.is_none() {
            self.first = Some(at);
            self.runs_dry = at.after(PREBUFFER);
        }
        if at > self.runs_dry {
            self.stalls += 1;
            self.runs_dry = at;
        }
        let letters = u32::try_from(samples * 10 / RATE as usize).unwrap();
        self.runs_dry = self.runs_dry.after(LETTER * letters);
    }
}

/// What came of a run.
#[derive(Debug, Default)]
struct Tally {
    heard: usize,
    without_stall: usize,
    refused: usize,
    /// Times to the first audio, sorted.
    waits: Vec<Duration>,
}

impl Tally {
    fn share(&self) -> f64 {
        f64::from(u32::try_from(self.without_stall).unwrap())
            / f64::from(u32::try_from(self.heard.max(1)).unwrap())
    }

    fn percentile(&self, percent: usize) -> Duration {
        self.waits[(self.waits.len() * percent / 100).min(self.waits.len() - 1)]
    }
}

/// Requests of four seconds of speech each arrive at random for `time`, so that the worker has
/// `load` times what it can do.
fn offer(scheduling: Scheduling, load: f64, time: Duration) -> Tally {
    const TEXT: &str = "abcdefghijklmnopqrstuvwxyzabcdefghijklmn";
    let config = Config {
        scheduling,
        limits: Limits {
            requests: 10_000,
            ..Limits::default()
        },
        ..Config::default()
    };
    let mut simulation = Simulation::new(vec![speaking()], config, Work, 1).unwrap();
    let mut arrivals = Arrivals(7);
    let mean = (2 * READ + 20 * SOUND).div_f64(load);
    let (mut listeners, mut tally) = (Vec::<Listener>::new(), Tally::default());
    let mut next = Time::ZERO;
    loop {
        while simulation.step_until(next) {
            listeners.iter_mut().for_each(Listener::listen);
        }
        simulation.pass(next.since(simulation.now()));
        let over = next.since(Time::ZERO) >= time;
        for done in listeners.extract_if(.., |listener| listener.is_over || over) {
            if done.is_over {
                tally.heard += 1;
                tally.without_stall += usize::from(done.stalls == 0);
            }
            tally
                .waits
                .extend(done.first.map(|first| first.since(done.asked)));
        }
        if over {
            tally.waits.sort_unstable();
            return tally;
        }
        match simulation.submit(0, Options::default()) {
            Ok((door, outputs)) => {
                assert_eq!(feed(&door, TEXT), "");
                door.end();
                listeners.push(Listener {
                    outputs,
                    asked: simulation.now(),
                    first: None,
                    runs_dry: Time::ZERO,
                    stalls: 0,
                    is_over: false,
                });
            }
            Err(Error::Saturated { .. }) => tally.refused += 1,
            Err(error) => panic!("{error}"),
        }
        next = next.after(arrivals.next(mean));
    }
}

fn by(policy: Policy) -> Scheduling {
    Scheduling {
        policy,
        ..Scheduling::default()
    }
}

/// The largest of these loads at which 99 of 100 listeners hear no stall.
fn carries(policy: Policy) -> u32 {
    let loads = (10..=100_u32).step_by(5);
    let time = Duration::from_secs(900);
    loads
        .take_while(|&load| offer(by(policy), f64::from(load) / 100.0, time).share() >= 0.99)
        .last()
        .unwrap_or(0)
}

#[test]
fn by_deadline_a_worker_carries_half_as_many_listeners_again() {
    let (deadline, fifo) = (carries(Policy::Deadline), carries(Policy::Fifo));
    assert!(
        2 * deadline >= 3 * fifo,
        "deadline {deadline} %, fifo {fifo} %"
    );
}

#[test]
fn with_admission_listeners_hear_no_stall_however_many_ask() {
    let scheduling = Scheduling {
        admission: Some(Admission::default()),
        ..Scheduling::default()
    };
    let tally = offer(scheduling, 3.0, Duration::from_secs(600));
    assert!(
        tally.share() >= 0.99,
        "{} of {}",
        tally.without_stall,
        tally.heard
    );
    assert!(tally.refused > 0, "nobody was refused");
    // The worker can serve 1,666 at the very most.
    assert!(tally.heard >= 1_500, "only {} were let in", tally.heard);
}

#[test]
fn who_is_let_in_hears_the_first_audio_as_soon_as_when_idle_but_for_one_step() {
    let soon = Admission {
        first_output: Duration::from_millis(135),
        ..Admission::default()
    };
    let scheduling = Scheduling {
        admission: Some(soon),
        ..Scheduling::default()
    };
    let idle = offer(by(Policy::Deadline), 0.02, Duration::from_secs(900)).percentile(50);
    let busy = offer(scheduling, 3.0, Duration::from_secs(600)).percentile(95);
    assert!(
        busy <= idle + READ,
        "first audio after {busy:?}, {idle:?} when idle"
    );
}

#[test]
fn nobody_starves_however_late_others_are() {
    // Twice as many listeners as the worker can serve, for ever late, and one who can wait.
    let config = Config {
        scheduling: by(Policy::Deadline),
        ..Config::default()
    };
    let mut simulation = Simulation::new(vec![speaking()], config, Work, 3).unwrap();
    let mut open = Vec::new();
    let submit = |simulation: &mut Simulation, timing: Timing| {
        let options = Options {
            timing,
            ..Options::default()
        };
        let (door, outputs) = simulation.submit(0, options).unwrap();
        (door, outputs)
    };
    for _ in 0..20 {
        open.push(submit(&mut simulation, Timing::Live));
    }
    simulation.pass(MS);
    let (patient, mut heard) = submit(&mut simulation, Timing::Background);
    feed(&patient, "abcdefghijklmnopqrstabcdefghijklmnopqrst");
    let mut count = 0;
    for _ in 0..200 {
        for (door, outputs) in &mut open {
            feed(door, "abcdefghijklmnopqrst");
            while outputs.try_next().is_some() {}
        }
        simulation.pass(25 * MS);
        while let Some(Event::Emitted(_)) = heard.try_next() {
            count += 1;
        }
    }
    assert!(count >= 2, "in 5 s it had {count} steps");
}

#[test]
fn what_is_due_at_once_goes_before_what_can_wait() {
    let config = Config {
        scheduling: by(Policy::Deadline),
        ..Config::default()
    };
    let mut simulation = Simulation::new(vec![speaking()], config, Work, 3).unwrap();
    let timings = [Timing::Background, Timing::Live, Timing::Within(READ)];
    let mut open: Vec<_> = timings
        .iter()
        .map(|&timing| {
            let options = Options {
                timing,
                ..Options::default()
            };
            let (door, outputs) = simulation.submit(0, options).unwrap();
            feed(&door, "abc");
            door.end();
            (door, outputs)
        })
        .collect();
    simulation.pass(Duration::from_secs(2));
    let mut ends = open.iter_mut().map(|(_, outputs)| {
        std::iter::from_fn(|| outputs.try_next())
            .find_map(|event| match event {
                Event::End(end) => Some(end.at),
                Event::Emitted(_) => None,
            })
            .unwrap()
    });
    let [background, live, within] = std::array::from_fn(|_| ends.next().unwrap());
    assert!(
        within < live && live < background,
        "{within:?} {live:?} {background:?}"
    );
}
