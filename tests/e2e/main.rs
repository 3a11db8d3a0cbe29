//! Stories told from outside, one a file. They run the real binary and speak to its sockets.

mod client_vanishes;
mod drain;
mod overload;
mod socket;
mod voice;
mod without_weights;

use anyhow::Result;
use serde_json::{Value, json};

/// A request for the toy model's deterministic tones.
fn toy(text: &str) -> Value {
    json!({"model": "toy", "voice": "alloy", "input": text, "response_format": "pcm", "seed": 7})
}

/// Text that takes the toy model some hundred chunks.
fn long_text() -> String {
    "All work and no play makes a long line of text. ".repeat(100)
}

/// Sum of the squares of 16-bit samples, over their count: is anything to be heard?
fn power(pcm: &[u8]) -> f64 {
    let samples = pcm
        .chunks_exact(2)
        .map(|pair| f64::from(i16::from_le_bytes([pair[0], pair[1]])) / 32768.0);
    let (sum, count) = samples.fold((0.0, 0.0), |(sum, count), sample| {
        (sum + sample * sample, count + 1.0)
    });
    if count == 0.0 { 0.0 } else { sum / count }
}

/// What must be 0 when nobody is being served.
const AT_REST: &[&str] = &[
    "promenade_streams_active",
    "promenade_requests_open",
    "promenade_sockets_active",
];

type Story = Result<()>;
