//! Text in, a wav file out, with no server: `cargo run -p engine --example speak -- TEXT [FILE]`.
//!
//! `--model ID` chooses among the models that need no set-up.

use std::{fs::File, io::Write, time::Duration};

use engine::{Config, Engine, Job, ModelConfig, Output};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let model = match arguments.iter().position(|argument| argument == "--model") {
        Some(at) if at + 1 < arguments.len() => {
            arguments.drain(at..at + 2).nth(1).unwrap_or_default()
        }
        _ => "toy".to_owned(),
    };
    let [text, rest @ ..] = arguments.as_slice() else {
        return Err("usage: speak [--model ID] TEXT [FILE]".into());
    };
    let path = rest.first().map_or("speech.wav", String::as_str);

    let models = vec![ModelConfig::named(&model)?];
    let engine = Engine::start(Config {
        models,
        ..Config::default()
    })?;
    let submitted = engine.now();
    let mut request = engine.submit(Job {
        model,
        ..Job::default()
    })?;
    let feed = request.feed.clone();
    let whole = text.clone();
    // Feeding and listening at once: a long text waits for room while its beginning sounds.
    let feeder = std::thread::spawn(move || feed_all(&feed, &whole));
    let (mut samples, mut rate_hz, mut first) = (Vec::new(), 0, None);
    while let Some(output) = request.outputs.recv_blocking(Duration::from_secs(60)) {
        match output {
            Output::Audio {
                samples: chunk,
                rate,
                at,
                ..
            } => {
                first.get_or_insert(at);
                rate_hz = rate;
                samples.extend_from_slice(&chunk);
            }
            Output::Failed(error) => return Err(error.into()),
            _ => {}
        }
    }
    feeder.join().map_err(|_| "the feeder panicked")??;
    write_wav(path, &samples, rate_hz)?;
    let first = first.map(|at| at.since(submitted)).unwrap_or_default();
    writeln!(
        std::io::stdout(),
        "{path}: {} samples at {rate_hz} Hz, the first after {first:?}",
        samples.len()
    )?;
    Ok(())
}

fn feed_all(feed: &engine::Feed, text: &str) -> Result<(), engine::FeedError> {
    let mut rest = text;
    while !rest.is_empty() {
        let taken = feed.text(rest)?.0;
        rest = rest
            .char_indices()
            .nth(taken)
            .map_or("", |(at, _)| &rest[at..]);
        if taken == 0 {
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
    feed.end();
    Ok(())
}

/// A wav file of 16-bit mono samples: a header of 44 bytes, then the samples.
fn write_wav(path: &str, samples: &[f32], rate: u32) -> Result<(), Box<dyn std::error::Error>> {
    let bytes = u32::try_from(samples.len() * 2)?;
    let mut file = Vec::with_capacity(44 + samples.len() * 2);
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&(36 + bytes).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&(rate * 2).to_le_bytes());
    file.extend_from_slice(b"\x02\0\x10\0data");
    file.extend_from_slice(&bytes.to_le_bytes());
    for sample in samples {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "clamped to the range of i16"
        )]
        let sample = (sample.clamp(-1.0, 1.0) * 32_767.0).round() as i16;
        file.extend_from_slice(&sample.to_le_bytes());
    }
    File::create(path)?.write_all(&file)?;
    Ok(())
}
