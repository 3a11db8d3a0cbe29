//! The load test: a plan out of options, its levels, and the report.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;

use crate::arrivals::{Arrivals, Load, Pace};
use crate::capacity::{Capacity, Search};
use crate::cli::TtsArgs;
use crate::clock::unix_seconds;
use crate::door::{Ask, Door, Format, Kind};
use crate::load::{self, Stage};
use crate::measure::Level;
use crate::measure::verdict::{LATE_MS, Targets, broken, doubts};
use crate::report::{self, Report, Setup, Verdict};
use crate::scenario;
use crate::target::Target;
use crate::texts::Texts;

/// The longest that one level may run, in seconds: a day.
const LONGEST: f64 = 86_400.0;

/// The most users or open requests: each takes a socket.
const MOST_OPEN: usize = 20_000;

/// A run that was checked and may begin.
#[derive(Debug)]
pub struct Plan {
    url: String,
    kind: Kind,
    ask: Ask,
    texts: Texts,
    loads: Loads,
    warm_up: Duration,
    window: Duration,
    ramp: Duration,
    timeout: Duration,
    cancel_share: f64,
    cancel_within: Duration,
    most_open: usize,
    seed: u64,
    late_ms: f64,
    json: Option<String>,
    html: Option<String>,
}

#[derive(Debug)]
enum Loads {
    Levels(Vec<Load>),
    Search {
        most: u32,
        pace: Pace,
        targets: Targets,
    },
}

impl Plan {
    /// Checks `args` and fills in the defaults.
    ///
    /// # Errors
    /// When an option is missing or out of range; the message names it and says what is accepted.
    pub fn new(args: TtsArgs) -> Result<Self> {
        let url = args
            .url
            .clone()
            .context("--url is missing; give one like http://127.0.0.1:8080")?;
        let kind = args.door.unwrap_or(Kind::Http);
        let format = args.format.unwrap_or(match kind {
            Kind::Http => Format::Wav,
            Kind::Ws => Format::Pcm,
        });
        ensure!(
            !(kind == Kind::Ws && format == Format::Wav),
            "--door ws speaks --format pcm: a socket has no file around its audio"
        );
        let pcm_rate = args.pcm_rate.unwrap_or(24_000);
        ensure!(
            (1_000..=192_000).contains(&pcm_rate),
            "--pcm-rate {pcm_rate}: 1000 to 192000 are accepted"
        );
        let cancel_share = args.cancel_share.unwrap_or(0.0);
        ensure!(
            (0.0..=1.0).contains(&cancel_share),
            "--cancel-share {cancel_share}: 0 to 1 is accepted"
        );
        let late_ms = args.max_late.unwrap_or(LATE_MS);
        ensure!(
            late_ms > 0.0,
            "--max-late {late_ms}: more than 0 is accepted"
        );
        let most_open = args.max_open.unwrap_or(1024);
        ensure!(
            (1..=MOST_OPEN).contains(&most_open),
            "--max-open {most_open}: 1 to {MOST_OPEN} are accepted"
        );
        let seed = args.seed.unwrap_or(1);
        Ok(Self {
            kind,
            loads: loads(&args)?,
            texts: texts(&args, seed)?,
            warm_up: seconds("--warmup", args.warmup.unwrap_or(3.0), 0.0)?,
            window: seconds("--duration", args.duration.unwrap_or(30.0), 0.1)?,
            ramp: seconds("--ramp", args.ramp.unwrap_or(0.0), 0.0)?,
            timeout: seconds("--timeout", args.timeout.unwrap_or(30.0), 0.01)?,
            cancel_share,
            cancel_within: seconds("--cancel-within", args.cancel_within.unwrap_or(1.0), 0.0)?,
            most_open,
            seed,
            late_ms,
            ask: Ask {
                model: args.model.unwrap_or_else(|| "tts-1".to_owned()),
                voice: args.voice.unwrap_or_else(|| "alloy".to_owned()),
                format,
                pcm_rate,
                key: args.key,
            },
            url,
            json: args.json,
            html: args.html,
        })
    }

    async fn stage(self) -> Result<(Stage, Loads)> {
        let target = Target::resolve(&self.url).await?;
        let connect = tokio::net::TcpStream::connect(target.address);
        connect
            .await
            .with_context(|| format!("cannot connect to {}: is the server running?", self.url))?;
        let stage = Stage {
            door: Door {
                kind: self.kind,
                target,
                ask: self.ask,
            },
            texts: Arc::new(Mutex::new(self.texts)),
            warm_up: self.warm_up,
            window: self.window,
            ramp: self.ramp,
            timeout: self.timeout,
            cancel_share: self.cancel_share,
            cancel_within: self.cancel_within,
            most_open: self.most_open,
            seed: self.seed,
        };
        Ok((stage, self.loads))
    }
}

/// The load that the options ask for.
fn loads(args: &TtsArgs) -> Result<Loads> {
    if args.find_capacity {
        let most = args.max_users.unwrap_or(64);
        ensure!(
            (1..=MOST_OPEN).contains(&(most as usize)),
            "--max-users {most}: 1 to {MOST_OPEN} are accepted"
        );
        return Ok(Loads::Search {
            most,
            pace: args.pace.unwrap_or(Pace::Listen),
            targets: Targets {
                ttfa_p95_ms: args.target_ttfa,
            },
        });
    }
    if let Some(rate) = args.rate {
        ensure!(
            args.pace.is_none(),
            "--pace is for users of a closed loop; --rate has none"
        );
        ensure!(
            rate > 0.0 && rate <= 10_000.0,
            "--rate {rate}: over 0 to 10000 is accepted"
        );
        let arrivals = args.arrivals.unwrap_or(Arrivals::Poisson);
        let burst = match arrivals {
            Arrivals::Burst => args.burst.unwrap_or(8),
            Arrivals::Poisson | Arrivals::Uniform => 1,
        };
        ensure!(
            (1..=10_000).contains(&burst),
            "--burst {burst}: 1 to 10000 are accepted"
        );
        return Ok(Loads::Levels(vec![Load::Open {
            rate,
            arrivals,
            burst,
        }]));
    }
    let levels = args.concurrency.clone().unwrap_or_else(|| vec![1]);
    ensure!(
        !levels.is_empty(),
        "--concurrency needs at least one number"
    );
    let pace = args.pace.unwrap_or(Pace::None);
    let level = |users: u32| {
        ensure!(
            (1..=MOST_OPEN).contains(&(users as usize)),
            "--concurrency {users}: 1 to {MOST_OPEN} are accepted"
        );
        Ok(Load::Closed { users, pace })
    };
    Ok(Loads::Levels(
        levels.into_iter().map(level).collect::<Result<_>>()?,
    ))
}

fn texts(args: &TtsArgs, seed: u64) -> Result<Texts> {
    let sentences = args.sentences.unwrap_or(1);
    ensure!(
        (1..=30).contains(&sentences),
        "--sentences {sentences}: 1 to 30 are accepted"
    );
    match &args.texts {
        Some(path) => {
            ensure!(
                args.sentences.is_none(),
                "--sentences is for generated texts, not for --texts"
            );
            Texts::of_file(path, seed)
        }
        None => Ok(Texts::generated(sentences, seed)),
    }
}

fn seconds(option: &str, value: f64, least: f64) -> Result<Duration> {
    ensure!(
        (least..=LONGEST).contains(&value),
        "{option} {value}: {least} to {LONGEST} seconds are accepted"
    );
    Ok(Duration::try_from_secs_f64(value)?)
}

/// Runs the load test: figures to `out` and to the files, progress to `log`.
///
/// # Errors
/// When the options are wrong, the server cannot be reached, or a report cannot be written.
pub async fn run(args: TtsArgs, out: &mut impl Write, log: &mut impl Write) -> Result<Verdict> {
    let args = match &args.scenario {
        Some(name) => {
            let scenario = scenario::load(name)?;
            args.or(scenario)
        }
        None => args,
    };
    let plan = Plan::new(args)?;
    let late_ms = plan.late_ms;
    // A file that cannot be written is found out now, not after the run.
    let json = plan.json.clone().map(create).transpose()?;
    let html = plan.html.clone().map(create).transpose()?;
    let url = plan.url.clone();
    let (stage, loads) = plan.stage().await?;
    let started = unix_seconds();
    let (levels, capacity) = match loads {
        Loads::Levels(loads) => (run_levels(&stage, &loads, log).await?, None),
        Loads::Search {
            most,
            pace,
            targets,
        } => {
            let search = Search::new(most);
            search_capacity(&stage, search, pace, targets, late_ms, log).await?
        }
    };
    let setup = Setup::of(&url, &stage, late_ms, started);
    let report = Report::new(setup, &levels, late_ms, capacity);
    writeln!(out, "{}", report::table(&report))?;
    if let Some(mut file) = json {
        file.write(&report::json(&report)?)?;
    }
    if let Some(mut file) = html {
        file.write(&report::html(&report, &levels))?;
    }
    Ok(report.verdict())
}

async fn run_levels(stage: &Stage, loads: &[Load], log: &mut impl Write) -> Result<Vec<Level>> {
    let mut levels = Vec::new();
    for load in loads {
        announce(stage, *load, log)?;
        levels.push(load::run(stage, *load).await);
    }
    Ok(levels)
}

async fn search_capacity(
    stage: &Stage,
    mut search: Search,
    pace: Pace,
    targets: Targets,
    late_ms: f64,
    log: &mut impl Write,
) -> Result<(Vec<Level>, Option<Capacity>)> {
    let mut levels = Vec::new();
    let mut because = Vec::new();
    while let Some(users) = search.next_users() {
        let load = Load::Closed { users, pace };
        announce(stage, load, log)?;
        let level = load::run(stage, load).await;
        let summary = level.summary();
        levels.push(level);
        let mut reasons = broken(&summary, targets);
        // A level that does not count cannot be said to have held.
        reasons.extend(doubts(&summary, late_ms));
        if reasons.is_empty() {
            search.held(users);
            writeln!(log, "  held")?;
        } else {
            search.broke(users);
            writeln!(log, "  did not hold: {}", reasons.join("; "))?;
            because = reasons;
        }
    }
    let (users, broke) = search.found();
    let held_s = stage.window.as_secs_f64();
    let capacity = Capacity {
        users,
        broke,
        because,
        held_s,
    };
    Ok((levels, Some(capacity)))
}

fn announce(stage: &Stage, load: Load, log: &mut impl Write) -> Result<()> {
    let (warm_up, window) = (stage.warm_up.as_secs_f64(), stage.window.as_secs_f64());
    writeln!(log, "{load}: {warm_up} s of warm-up, {window} s measured")?;
    Ok(())
}

/// A file that was made before the run, so that the run is not wasted.
pub(crate) struct Output {
    path: String,
    file: File,
}

pub(crate) fn create(path: String) -> Result<Output> {
    let file = File::create(&path).with_context(|| format!("cannot write `{path}`"))?;
    Ok(Output { path, file })
}

impl Output {
    /// Writes it all, to the disk.
    pub(crate) fn write(&mut self, text: &str) -> Result<()> {
        let written = self.file.write_all(text.as_bytes());
        written
            .and_then(|()| self.file.sync_all())
            .with_context(|| format!("cannot write `{}`", self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> TtsArgs {
        TtsArgs {
            url: Some("http://127.0.0.1:1".into()),
            ..TtsArgs::default()
        }
    }

    #[test]
    fn each_wrong_option_is_named_with_what_is_accepted() {
        let cases = [
            (
                TtsArgs {
                    url: None,
                    ..args()
                },
                "--url is missing",
            ),
            (
                TtsArgs {
                    duration: Some(-1.0),
                    ..args()
                },
                "--duration -1: 0.1 to",
            ),
            (
                TtsArgs {
                    duration: Some(f64::NAN),
                    ..args()
                },
                "--duration NaN",
            ),
            (
                TtsArgs {
                    concurrency: Some(vec![2, 0]),
                    ..args()
                },
                "--concurrency 0: 1 to",
            ),
            (
                TtsArgs {
                    rate: Some(0.0),
                    ..args()
                },
                "--rate 0: over 0",
            ),
            (
                TtsArgs {
                    rate: Some(1.0),
                    pace: Some(Pace::Listen),
                    ..args()
                },
                "--pace is for users",
            ),
            (
                TtsArgs {
                    cancel_share: Some(1.5),
                    ..args()
                },
                "--cancel-share 1.5: 0 to 1",
            ),
            (
                TtsArgs {
                    door: Some(Kind::Ws),
                    format: Some(Format::Wav),
                    ..args()
                },
                "--door ws speaks --format pcm",
            ),
            (
                TtsArgs {
                    sentences: Some(0),
                    ..args()
                },
                "--sentences 0: 1 to 30",
            ),
            (
                TtsArgs {
                    texts: Some("/no/such".into()),
                    ..args()
                },
                "cannot read the texts",
            ),
        ];
        for (args, words) in cases {
            let error = format!("{:#}", Plan::new(args).unwrap_err());
            assert!(error.contains(words), "{words}: {error}");
        }
        Plan::new(args()).unwrap();
    }
}
