//! What is said in a file, and what finding out costs: `hear FILE [MODEL] [THREADS] [ROUNDS]`.
//!
//! FILE is WAV of 16-bit samples at 16 kHz, one channel, with a head of 44 bytes. MODEL is an id of
//! `promenade models list` or a folder. Prints the text, and the median time from the request to
//! its first text and to its end.

#![expect(clippy::print_stdout, reason = "a program that measures and prints")]

use std::time::Duration;

use engine::{Config, Engine, Job, ModelConfig, Options, Output, Sound, whisper};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments
        .next()
        .ok_or("usage: hear FILE [MODEL] [THREADS] [ROUNDS]")?;
    let model = arguments.next().unwrap_or(whisper::DEFAULT_ID.to_owned());
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |given| given.parse());
    let (threads, rounds) = (number(2)?, number(5)?);
    let bytes = std::fs::read(file)?;
    let samples: Vec<f32> = bytes
        .get(44..)
        .ok_or("no head of 44 bytes")?
        .chunks_exact(2)
        .map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]])) / 32_768.0)
        .collect();
    let model = ModelConfig::named(&model)?;
    let id = model.id().to_owned();
    let engine = Engine::start(Config {
        models: vec![model],
        threads,
        ..Config::default()
    })?;
    let mut times = Vec::new();
    let mut text = String::new();
    for _ in 0..rounds.max(1) {
        text.clear();
        let begun = engine.now();
        let audio = Sound {
            samples: samples.as_slice().into(),
            rate: whisper::RATE,
        };
        let options = Options {
            audio: Some(audio),
            ..Options::default()
        };
        let model = id.clone();
        let mut request = engine.submit(Job { model, options })?;
        let mut first = None;
        while let Some(output) = request.outputs.recv_blocking(Duration::from_secs(60)) {
            match output {
                Output::Text { text: piece, at } => {
                    first.get_or_insert(at.since(begun));
                    text.push_str(&piece);
                }
                Output::Done { at, .. } => {
                    times.push((at.since(begun), first.unwrap_or_default()));
                    break;
                }
                Output::Failed(error) => return Err(error.into()),
                _ => {}
            }
        }
    }
    times.sort();
    let (whole, first) = times.get(times.len() / 2).copied().unwrap_or_default();
    let seconds = samples.len() as f64 / f64::from(whisper::RATE);
    println!("{text}\n{seconds:.1} s of audio: first text after {first:?}, all after {whole:?}");
    Ok(())
}
