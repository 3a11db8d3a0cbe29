//! How a transcript is written down.

use bytes::Bytes;
use codecs::SampleRate;
use engine::{Output, WordMark};
use serde_json::{Value, json};

use super::form::{Form, Shape};
use crate::http::answer::event;

/// A transcript while it is made.
pub(super) struct Transcript {
    task: &'static str,
    language: String,
    duration: f64,
    rate: SampleRate,
    text: String,
    segments: Vec<Segment>,
}

/// What was said in one go.
struct Segment {
    /// Seconds.
    start: f64,
    end: f64,
    text: String,
}

impl Transcript {
    pub(super) fn new(form: &Form, duration: f64, rate: SampleRate, translate: bool) -> Self {
        Self {
            task: if translate { "translate" } else { "transcribe" },
            language: form.language.clone().unwrap_or_else(|| "en".to_owned()),
            duration,
            rate,
            text: String::new(),
            segments: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, output: &Output) {
        match output {
            Output::Text { text, .. } => self.text.push_str(text),
            Output::Words { words, .. } => {
                let segments = words
                    .iter()
                    .map(|word| segment(word, self.rate, self.duration));
                self.segments.extend(segments);
            }
            _ => {}
        }
    }

    /// The events that follow on an output.
    pub(super) fn events(&mut self, output: &Output) -> Vec<Bytes> {
        let before = self.text.is_empty();
        self.take(output);
        match output {
            Output::Text { text, .. } => {
                // The first token has the space of a word before it.
                let delta = if before { text.trim_start() } else { text };
                vec![event(
                    &json!({"type": "transcript.text.delta", "delta": delta}),
                )]
            }
            Output::Done { .. } => vec![event(&json!({
                "type": "transcript.text.done",
                "text": self.text.trim(),
                "usage": self.usage(),
            }))],
            _ => Vec::new(),
        }
    }

    /// All of it, in a shape.
    pub(super) fn written(&self, shape: Shape) -> String {
        let text = self.text.trim();
        match shape {
            Shape::Json => json!({"text": text, "usage": self.usage()}).to_string(),
            Shape::Text => format!("{text}\n"),
            Shape::Srt => self.captions("", ','),
            Shape::Vtt => format!("WEBVTT\n\n{}", self.captions("", '.')),
            Shape::Verbose => json!({
                "task": self.task,
                "language": self.language,
                "duration": rounded(self.duration),
                "text": text,
                "segments": self.segments.iter().enumerate().map(segment_value).collect::<Vec<_>>(),
                "usage": self.usage(),
            })
            .to_string(),
        }
    }

    /// The public API counts whole seconds, begun ones too.
    fn usage(&self) -> Value {
        json!({"type": "duration", "seconds": self.duration.ceil()})
    }

    fn captions(&self, head: &str, point: char) -> String {
        let numbered = (1..).zip(&self.segments);
        let caption = |(number, segment): (usize, &Segment)| {
            let (start, end) = (clock(segment.start, point), clock(segment.end, point));
            let number = if point == ',' {
                format!("{number}\n")
            } else {
                String::new()
            };
            format!("{number}{start} --> {end}\n{}\n\n", segment.text.trim())
        };
        head.to_owned() + &numbered.map(caption).collect::<String>()
    }
}

fn segment(word: &WordMark, rate: SampleRate, duration: f64) -> Segment {
    let seconds = |samples: u64| {
        codecs::Samples(samples)
            .at(rate)
            .as_secs_f64()
            .min(duration)
    };
    Segment {
        start: seconds(word.samples.start),
        end: seconds(word.samples.end),
        text: word.text.to_string(),
    }
}

fn segment_value((id, segment): (usize, &Segment)) -> Value {
    json!({
        "id": id,
        "start": rounded(segment.start),
        "end": rounded(segment.end),
        "text": segment.text,
    })
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 100.0).round() / 100.0
}

/// Hours, minutes, seconds and milliseconds.
fn clock(seconds: f64, point: char) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a recording is some hours long at most, and begins at 0"
    )]
    let ms = (seconds * 1e3).round() as u64;
    let (hours, minutes) = (ms / 3_600_000, ms / 60_000 % 60);
    format!(
        "{hours:02}:{minutes:02}:{:02}{point}{:03}",
        ms / 1_000 % 60,
        ms % 1_000
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_transcript_has_every_shape() {
        let mut transcript = Transcript::new(&Form::default(), 4.4, SampleRate::HZ_16000, false);
        let at = engine::Time::ZERO;
        transcript.take(&Output::Text {
            text: " Hello there.".into(),
            at,
        });
        let word = WordMark {
            text: " Hello there.".into(),
            source: 0..13,
            samples: 16_000..72_000,
        };
        transcript.take(&Output::Words {
            words: Arc::from([word]),
            at,
        });
        assert_eq!(transcript.written(Shape::Text), "Hello there.\n");
        assert_eq!(
            transcript.written(Shape::Srt),
            "1\n00:00:01,000 --> 00:00:04,400\nHello there.\n\n"
        );
        assert_eq!(
            transcript.written(Shape::Vtt),
            "WEBVTT\n\n00:00:01.000 --> 00:00:04.400\nHello there.\n\n"
        );
        let verbose: Value = serde_json::from_str(&transcript.written(Shape::Verbose)).unwrap();
        assert_eq!(verbose["segments"][0]["end"], 4.4);
        assert_eq!(
            verbose["usage"],
            json!({"type": "duration", "seconds": 5.0})
        );
        assert_eq!(clock(3_661.5, ','), "01:01:01,500");
    }
}
