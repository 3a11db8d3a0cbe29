//! What a streamed voice costs: `voice_cost TEXTS [THREADS]`, one text a line in the file TEXTS.
//!
//! Speaks every text through the walk, alone and with its ramp of chunks, and prints one JSON
//! object a text: its phoneme numbers, the CPU seconds of the whole process while it was spoken,
//! the seconds of audio, and when its first chunk and its end came. The first text is spoken
//! twice and counted once, so that nothing is counted that happens once.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use models::{ModelConfig, text, vits, weights::Cache};
use runtime::{Driver, Event, Options, Payload};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let texts = fs::read_to_string(
        arguments
            .next()
            .ok_or("usage: voice_cost TEXTS [THREADS]")?,
    )?;
    let threads = arguments.next().map_or(Ok(1), |threads| threads.parse())?;
    let started = Instant::now();
    let model = ModelConfig::named(vits::DEFAULT_ID)?.load(threads)?;
    let rate = model.info().sample_rate.ok_or("a voice without a rate")?;
    eprintln_ready(started.elapsed());
    let driver = Driver::start(vec![model], runtime::Config::default())?;
    let numbers = Numbers::load()?;
    let lines: Vec<&str> = texts
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if let Some(first) = lines.first() {
        speak(&driver, first)?;
    }
    for line in lines {
        let spoken = speak(&driver, line)?;
        let ids = numbers.of(line);
        println!(
            r#"{{"ids":{ids:?},"audio_s":{:.4},"cpu_s":{:.4},"first_ms":{:.1},"all_ms":{:.1},"chunks":{}}}"#,
            f64::from(u32::try_from(spoken.samples)?) / f64::from(rate),
            spoken.cpu,
            spoken.first.as_secs_f64() * 1e3,
            spoken.all.as_secs_f64() * 1e3,
            spoken.chunks,
        );
    }
    driver.shutdown();
    Ok(())
}

fn eprintln_ready(after: Duration) {
    use std::io::Write;
    // Nothing depends on whether anybody reads it.
    let _ = writeln!(std::io::stderr(), "ready after {after:?}");
}

struct Spoken {
    samples: usize,
    chunks: usize,
    cpu: f64,
    first: Duration,
    all: Duration,
}

fn speak(driver: &Driver, text: &str) -> Result<Spoken, Failure> {
    let (cpu, start) = (cpu_seconds()?, Instant::now());
    let options = Options {
        seed: Some(1),
        ..Options::default()
    };
    let (feed, mut outputs) = driver.submit(0, options)?;
    let mut rest = text.chars().map(Payload::Char).peekable();
    while rest.peek().is_some() {
        if feed.put(0, &mut rest)?.0 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    feed.end();
    let (mut samples, mut chunks, mut first) = (0, 0, None);
    while let Some(event) = outputs.next_within(Duration::from_secs(600)) {
        match event {
            Event::Emitted(emitted) => {
                if let Some(audio) = emitted.payload.as_tensor() {
                    first.get_or_insert_with(|| start.elapsed());
                    samples += audio.as_f32()?.len();
                    chunks += 1;
                }
            }
            Event::End(end) => {
                if let Some(error) = end.error {
                    return Err(error.into());
                }
                break;
            }
        }
    }
    let all = start.elapsed();
    let cpu = cpu_seconds()? - cpu;
    Ok(Spoken {
        samples,
        chunks,
        cpu,
        first: first.unwrap_or(all),
        all,
    })
}

/// CPU seconds of all threads of this process; Linux says so to the nanosecond.
fn cpu_seconds() -> Result<f64, Failure> {
    let mut nanoseconds = 0.0;
    for task in fs::read_dir("/proc/self/task")? {
        let path = task?.path().join("schedstat");
        let text = fs::read_to_string(path)?;
        nanoseconds += text
            .split(' ')
            .next()
            .ok_or("an empty schedstat")?
            .parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

/// The same phonemes as the voice is given, for whoever runs the weights another way.
struct Numbers {
    frontend: text::Frontend,
    map: Arc<text::PhonemeMap>,
}

impl Numbers {
    fn load() -> Result<Self, Failure> {
        let cache = Cache::from_environment(|name| std::env::var_os(name))?;
        let (lexicon, letters) = (cache.locate("lexicon-en")?, cache.locate("g2p-en")?);
        let voice = cache
            .locate(vits::DEFAULT_ID)?
            .join("en_US-joe-medium.onnx.json");
        let frontend = text::Frontend::load(&text::Paths {
            gold: lexicon.join("us_gold.json"),
            silver: lexicon.join("us_silver.json"),
            g2p: letters.join("checkpoint20.npz"),
            homographs: letters.join("homographs.en"),
        })?;
        Ok(Self {
            frontend,
            map: Arc::new(text::PhonemeMap::load(&voice)?),
        })
    }

    fn of(&self, text: &str) -> Vec<i64> {
        self.frontend.utterance(text, &self.map).ids
    }
}
