//! What a toy model is set up with, and what a request may ask of it.

use std::time::Duration;

use runtime::{Options, Result, Value};

/// How a toy model is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The id by which requests ask for it.
    pub id: String,
    /// How long each step keeps its worker busy, however many members it has.
    pub step_cost: Duration,
    /// The most members of one step.
    pub max_batch: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            id: "toy".into(),
            step_cost: Duration::ZERO,
            max_batch: 8,
        }
    }
}

/// The shape of a tone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    Sine,
    Square,
}

/// The voices by their ids, in the order of [`Voice`].
pub(super) const VOICES: [&str; 2] = ["sine", "square"];

/// What a request asks for, checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Admitted {
    pub(super) voice: Voice,
    pub(super) speed: f32,
    /// Keeps the worker busy once more for each step that the request is a member of.
    pub(super) cost: Duration,
    /// Gives the text back as it is read.
    pub(super) echo: bool,
    pub(super) mishap: Option<(Mishap, u64)>,
}

/// What is made to go wrong, at one letter of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    Fail,
    Panic,
    NotANumber,
}

/// The options of a toy beside voice, speed and seed.
const KNOWN: [&str; 5] = ["cost_us", "echo", "fail_at", "nan_at", "panic_at"];

impl Admitted {
    pub(super) fn new(options: &Options) -> Result<Self> {
        options.only(&KNOWN)?;
        let voice = match options.voice_among(&VOICES, 0)? {
            0 => Voice::Sine,
            _ => Voice::Square,
        };
        let cost_us = options.number("cost_us", 0.0..=1e6, 0.0)?;
        let mishaps = [
            ("fail_at", Mishap::Fail),
            ("panic_at", Mishap::Panic),
            ("nan_at", Mishap::NotANumber),
        ];
        let mut mishap = None;
        for (name, kind) in mishaps {
            if options.extra.contains_key(name) {
                mishap = Some((kind, whole(options.number(name, 0.0..=1e9, 0.0)?)));
            }
        }
        Ok(Self {
            voice,
            speed: options.speed_within(0.25..=4.0)?,
            cost: Duration::from_micros(whole(cost_us)),
            echo: options.flag("echo")?,
            mishap,
        })
    }
}

/// A number that was checked to be between 0 and 1e9, without its fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 1e9"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

/// The options that make a toy go wrong at letter `at`, for tests.
#[must_use]
pub fn mishap(name: &str, at: u32) -> Options {
    let mut options = Options::default();
    options
        .extra
        .insert(name.to_owned(), Value::Number(f64::from(at)));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_toy_cannot_do_is_refused_by_name() {
        let check = |change: fn(&mut Options), message: &str| {
            let mut options = Options::default();
            change(&mut options);
            assert_eq!(Admitted::new(&options).unwrap_err().to_string(), message);
        };
        check(
            |options| options.voice = Some("sinus".into()),
            "unknown voice `sinus`, did you mean `sine`? known: sine, square",
        );
        check(
            |options| options.speed = 5.0,
            "option `speed` is 5, accepted: a number from 0.25 to 4",
        );
        check(
            |options| {
                options.extra.insert("fail_at".into(), Value::Bool(true));
            },
            "option `fail_at` is true, accepted: a number from 0 to 1000000000",
        );
        check(
            |options| {
                options.extra.insert("fail-at".into(), Value::Number(1.0));
            },
            "unknown option `fail-at`, did you mean `fail_at`? known: cost_us, echo, fail_at, nan_at, panic_at",
        );
    }
}
