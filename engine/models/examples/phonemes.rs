//! Text to phonemes, seen from outside.
//!
//! ```text
//! cargo run -p models --example phonemes -- VOICE.onnx.json LEXICONS [words|ids] < sentences.txt
//! ```
//!
//! `LEXICONS` is a folder with `us_gold.json`, `us_silver.json`, `checkpoint20.npz` and
//! `homographs.en`. Each line of the input is one utterance. Printed are its words with their
//! phonemes, with `words` only the words, with `ids` the voice's input.

use std::{
    io::{BufRead, Write},
    path::Path,
};

use models::text::{Frontend, Paths, PhonemeMap, Utterance};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [voice, folder, rest @ ..] = arguments.as_slice() else {
        return Err("usage: phonemes VOICE.onnx.json LEXICONS [words|ids] < sentences.txt".into());
    };
    let folder = Path::new(folder);
    let frontend = Frontend::load(&Paths {
        gold: folder.join("us_gold.json"),
        silver: folder.join("us_silver.json"),
        g2p: folder.join("checkpoint20.npz"),
        homographs: folder.join("homographs.en"),
    })?;
    let map = PhonemeMap::load(Path::new(voice))?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let utterance = frontend.utterance(&line?, &map);
        writeln!(
            out,
            "{}",
            show(&utterance, rest.first().map(String::as_str))
        )?;
    }
    Ok(())
}

fn show(utterance: &Utterance, what: Option<&str>) -> String {
    let words = utterance.words.iter();
    let parts: Vec<String> = match what {
        Some("ids") => utterance.ids.iter().map(ToString::to_string).collect(),
        Some("words") => words.map(|word| word.text.clone()).collect(),
        _ => words
            .map(|word| {
                let mark = word
                    .break_after
                    .symbol()
                    .map(String::from)
                    .unwrap_or_default();
                format!("{}/{}{mark}", word.text, word.phonemes)
            })
            .collect(),
    };
    parts.join(" ")
}
