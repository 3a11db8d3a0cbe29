//! What a run says: a table for people, JSON for programs, a page with pictures.
//!
//! All three carry the formulas, the set-up and, before any figure, the reasons why the run does
//! not count, if there are any.

mod html;
mod json;
mod plot;
mod table;

use std::fs;

use serde::Serialize;

pub use html::html;
pub use json::json;
pub use table::table;

use crate::capacity::Capacity;
use crate::load::Stage;
use crate::measure::verdict::doubts;
use crate::measure::{FORMULAS, Level, Summary};

/// Version of the JSON; a field that changes its meaning or goes raises it.
pub const SCHEMA: u32 = 1;

/// What to make of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its figures may be quoted.
    Counts,
    /// They may not.
    DoesNotCount,
    /// They may, and say that something was not held.
    Missed,
}

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// False when there are doubts.
    pub counts: bool,
    /// Why the run does not count, with the load of which it was said.
    pub doubts: Vec<String>,
    /// What does not spoil the run but must be known beside its figures.
    pub notes: Vec<String>,
    /// How it was run.
    pub setup: Setup,
    /// What each figure means.
    pub formulas: Vec<Formula>,
    /// The figures of each load, in the order in which they were run.
    pub levels: Vec<Summary>,
    /// What a search for the largest number of users found.
    pub capacity: Option<Capacity>,
}

/// A figure's definition.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Formula {
    /// The figure.
    pub figure: &'static str,
    /// How it is computed.
    pub formula: &'static str,
}

/// How a run was made.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// Name and version of this program.
    pub tool: &'static str,
    /// When it began, in seconds since 1970, UTC.
    pub at_unix_s: u64,
    /// The machine of the load test, which may be the server's too.
    pub machine: String,
    /// The server.
    pub url: String,
    /// Its door.
    pub door: &'static str,
    /// The container of the audio.
    pub format: &'static str,
    /// The model that was asked for.
    pub model: String,
    /// The voice that was asked for.
    pub voice: String,
    /// Where the texts came from.
    pub texts: String,
    /// Whether measured texts came more than once.
    pub texts_repeated: bool,
    /// Decides texts, arrivals and cancels.
    pub seed: u64,
    /// Seconds before each measured window.
    pub warmup_s: f64,
    /// Seconds of each measured window.
    pub duration_s: f64,
    /// Seconds over which users begin.
    pub ramp_s: f64,
    /// Seconds allowed to one request.
    pub timeout_s: f64,
    /// Share of requests whose user hangs up.
    pub cancel_share: f64,
    /// Seconds within which those hang up.
    pub cancel_within_s: f64,
    /// The lateness of the generator at p99 over which a run does not count.
    pub max_late_ms: f64,
}

impl Setup {
    /// What was set up on `stage`.
    #[must_use]
    pub fn of(url: &str, stage: &Stage, max_late_ms: f64, at_unix_s: u64) -> Self {
        let texts = stage.texts.lock();
        Self {
            tool: concat!("loadtest ", env!("CARGO_PKG_VERSION")),
            at_unix_s,
            machine: machine(),
            url: url.to_owned(),
            door: match stage.door.kind {
                crate::door::Kind::Http => "POST /v1/audio/speech",
                crate::door::Kind::Ws => "WS /v1/audio/speech/stream",
            },
            format: stage.door.ask.format.name(),
            model: stage.door.ask.model.clone(),
            voice: stage.door.ask.voice.clone(),
            texts: texts.source(),
            texts_repeated: texts.repeated(),
            seed: stage.seed,
            warmup_s: stage.warm_up.as_secs_f64(),
            duration_s: stage.window.as_secs_f64(),
            ramp_s: stage.ramp.as_secs_f64(),
            timeout_s: stage.timeout.as_secs_f64(),
            cancel_share: stage.cancel_share,
            cancel_within_s: stage.cancel_within.as_secs_f64(),
            max_late_ms,
        }
    }
}

impl Report {
    /// Puts a report together.
    #[must_use]
    pub fn new(setup: Setup, levels: &[Level], late_ms: f64, capacity: Option<Capacity>) -> Self {
        let levels: Vec<Summary> = levels.iter().map(Level::summary).collect();
        let doubts = run_doubts(&levels, late_ms, capacity.as_ref());
        Self {
            schema: SCHEMA,
            counts: doubts.is_empty(),
            doubts,
            notes: notes(&setup, &levels, capacity.as_ref()),
            setup,
            formulas: FORMULAS
                .iter()
                .map(|&(figure, formula)| Formula { figure, formula })
                .collect(),
            levels,
            capacity,
        }
    }

    /// What to make of the run.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.counts, &self.capacity) {
            (false, _) => Verdict::DoesNotCount,
            (true, Some(capacity)) if capacity.users == 0 => Verdict::Missed,
            (true, _) => Verdict::Counts,
        }
    }
}

/// The doubts of all levels. In a search, a level that failed did its work by failing: only a
/// generator that was late leaves the answer open.
fn run_doubts(levels: &[Summary], late_ms: f64, capacity: Option<&Capacity>) -> Vec<String> {
    let mut all = Vec::new();
    for level in levels {
        let doubts = doubts(level, late_ms).into_iter();
        let told = doubts.filter(|doubt| capacity.is_none() || doubt.contains("generator"));
        all.extend(told.map(|doubt| format!("{}: {doubt}", level.load)));
    }
    all
}

/// What must be known beside the figures.
fn notes(setup: &Setup, levels: &[Summary], capacity: Option<&Capacity>) -> Vec<String> {
    let mut notes = Vec::new();
    for level in levels {
        let n = level.complete.streams;
        if n < crate::measure::distribution::ENOUGH {
            notes.push(format!(
                "{}: {n} complete streams; percentiles of fewer than 100 are marked *",
                level.load
            ));
        }
        if level.requests.refused > 0 {
            let (refused, started) = (level.requests.refused, level.requests.started);
            notes.push(format!(
                "{}: {refused} of {started} requests were refused",
                level.load
            ));
        }
    }
    if setup.texts_repeated {
        notes.push("measured texts came more than once; a cache of the server may show".to_owned());
    }
    if capacity.is_some_and(|capacity| capacity.held_s < 300.0) {
        notes.push(
            "levels were held for less than the 5 minutes that a quoted capacity needs".to_owned(),
        );
    }
    notes
}

/// Processor, cores, system and load of this machine, as far as it tells.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let (system, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let mut machine = format!("{cores} cores, {system} {arch}");
    if let Ok(info) = fs::read_to_string("/proc/cpuinfo") {
        let line = info.lines().find(|line| line.starts_with("model name"));
        if let Some((_, name)) = line.and_then(|line| line.split_once(':')) {
            machine = format!("{}, {machine}", name.trim());
        }
    }
    if let Ok(load) = fs::read_to_string("/proc/loadavg") {
        let minute = load.split(' ').next().unwrap_or_default();
        machine = format!("{machine}, load average {minute} at the end");
    }
    machine
}
