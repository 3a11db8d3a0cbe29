//! What is said: texts, spoken by the server's own voice, or files of 16-bit PCM in WAV.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use http_body_util::BodyExt;

use super::RATE;
use crate::cli::ChatArgs;
use crate::door::{Ask, Format, connect, http};
use crate::target::Target;
use crate::trace::AUDIBLE;
use crate::wav::HeadReader;

/// Everyday things that people say to a voice assistant.
const TEXTS: [&str; 20] = [
    "What is the capital of France?",
    "Tell me something about the moon.",
    "How many days are there in a week?",
    "Can you help me write a letter?",
    "What should I cook for dinner tonight?",
    "Why is the sky blue?",
    "Please tell me a short story about a cat.",
    "How do I boil an egg?",
    "What is the largest animal in the world?",
    "I would like to learn how to swim.",
    "Who wrote the play about Romeo and Juliet?",
    "What can I do on a rainy day?",
    "My name is Anna. Say hello to me.",
    "How far away is the sun?",
    "Which language do people speak in Brazil?",
    "What is a good name for a dog?",
    "Tell me about your favourite season.",
    "How do birds know where to fly?",
    "What do you think about music?",
    "Give me one tip for a good night of sleep.",
];

/// The largest answer of the voice that is taken: a minute and a half.
const MOST_BYTES: usize = 90 * RATE as usize * 2;

/// Something to say.
#[derive(Clone, Debug)]
pub struct Utterance {
    /// Its words; empty where a file was given, of which nobody knows them.
    pub text: String,
    /// 16-bit samples at [`RATE`], from the first audible one to the last.
    pub samples: Vec<i16>,
}

impl Utterance {
    /// The audible part of `samples`.
    ///
    /// # Errors
    /// When nothing in it is audible.
    pub fn new(text: String, samples: &[i16]) -> Result<Self> {
        let audible = |sample: &i16| sample.unsigned_abs() >= AUDIBLE;
        let first = samples.iter().position(audible);
        let last = samples.iter().rposition(audible);
        let (first, last) = first.zip(last).context("the utterance is silent")?;
        Ok(Self {
            text,
            samples: samples[first..=last].to_vec(),
        })
    }
}

/// All utterances that the arguments name.
pub(super) async fn prepare(
    args: &ChatArgs,
    target: &Target,
    log: &mut impl Write,
) -> Result<Vec<Utterance>> {
    if !args.audio.is_empty() {
        let read = |path: &String| read(path).with_context(|| format!("cannot use {path}"));
        return args.audio.iter().map(read).collect();
    }
    let ask = Ask {
        model: args.speech_model.clone(),
        voice: "alloy".into(),
        format: Format::Pcm,
        pcm_rate: RATE,
        key: args.key.clone(),
    };
    let count = TEXTS.len().min(args.turns);
    writeln!(log, "having {count} utterances spoken")?;
    let mut utterances = Vec::with_capacity(count);
    for text in TEXTS.into_iter().take(count) {
        let spoken = speak(target, &ask, text).await;
        let samples = spoken.with_context(|| format!("the server did not speak '{text}'"))?;
        utterances.push(Utterance::new(text.into(), &samples)?);
    }
    Ok(utterances)
}

async fn speak(target: &Target, ask: &Ask, text: &str) -> Result<Vec<i16>> {
    let request = http::speech_request(target, ask, text)?;
    let (response, _connection) = http::send(connect(target).await?, request).await?;
    ensure!(
        response.status() == 200,
        "it answered with {}",
        response.status()
    );
    let body = http_body_util::Limited::new(response.into_body(), MOST_BYTES);
    let collected = body.collect().await;
    let bytes = collected
        .map_err(|error| anyhow::anyhow!(error))?
        .to_bytes();
    Ok(samples_of(&bytes))
}

fn read(path: &str) -> Result<Utterance> {
    let bytes = std::fs::read(path)?;
    let head = HeadReader::default().push(&bytes)?;
    let (format, start) = head.context("no whole head of a WAV file")?;
    ensure!(
        format.rate == RATE && format.channels == 1,
        "it has {} Hz and {} channels; {RATE} Hz and 1 channel are accepted",
        format.rate,
        format.channels
    );
    let length = format.length.map_or(usize::MAX, |length| length as usize);
    let audio = &bytes[start..];
    Utterance::new(
        String::new(),
        &samples_of(&audio[..audio.len().min(length)]),
    )
}

fn samples_of(bytes: &[u8]) -> Vec<i16> {
    let pairs = bytes.chunks_exact(2);
    pairs
        .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_around_an_utterance_is_no_part_of_it() {
        let samples = [0, 3, -200, 0, 0, 500, -7, 0];
        let utterance = Utterance::new("a".into(), &samples).unwrap();
        assert_eq!(utterance.samples, [-200, 0, 0, 500]);
        assert!(Utterance::new("a".into(), &[1, 2, 3]).is_err());
    }
}
