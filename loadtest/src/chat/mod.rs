//! Conversations by voice: how long from the last word said to the first one heard.
//!
//! A user opens `GET /v1/realtime`, or makes a call by WebRTC, speaks into a microphone that runs in
//! real time, and listens.
//! The utterances are made by the server's own voice before anything is measured, unless files
//! are given. Every instant is the client's: a sample counts as spoken when a microphone would have
//! captured it, and as heard when a player without any buffer would have played it.

mod line;
mod microphone;
mod report;
mod talk;
mod turn;
mod utterance;
mod words;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::task::JoinSet;

pub use line::Door;
pub use report::Report;
pub use turn::Turn;
pub use utterance::Utterance;

use crate::cli::ChatArgs;
use crate::clock::Clock;
use crate::report::Verdict;
use crate::target::Target;
use crate::tts;

use self::talk::Talk;

/// Samples per second of everything that is said and heard here.
pub const RATE: u32 = 24_000;

/// Runs the conversations: figures to `out` and the file, progress to `log`.
///
/// # Errors
/// When an option is wrong, the server cannot be reached, or a conversation breaks.
pub async fn run(args: ChatArgs, out: &mut impl Write, log: &mut impl Write) -> Result<Verdict> {
    check(&args)?;
    let file = args.json.clone().map(tts::create).transpose()?;
    let target = Target::resolve(&args.url).await?;
    let utterances: Arc<[Utterance]> = utterance::prepare(&args, &target, log).await?.into();
    let args = Arc::new(args);
    let clock = Clock::start();
    let mut users = JoinSet::new();
    for user in 0..args.users {
        let talk = Talk {
            args: Arc::clone(&args),
            target: target.clone(),
            utterances: Arc::clone(&utterances),
            clock,
            user,
        };
        users.spawn(talk.run());
    }
    let (mut turns, mut failures) = (Vec::new(), Vec::new());
    while let Some(user) = users.join_next().await {
        let (told, failure) = user.context("a user's task ended early")?;
        turns.extend(told);
        failures.extend(failure);
        writeln!(log, "{} turns", turns.len())?;
    }
    let report = Report::of(&args, &turns, failures);
    writeln!(out, "{report}")?;
    if let Some(mut file) = file {
        file.write(&(serde_json::to_string_pretty(&report)? + "\n"))?;
    }
    Ok(report.verdict())
}

fn check(args: &ChatArgs) -> Result<()> {
    ensure!(
        (1..=1000).contains(&args.users),
        "--users {}: 1 to 1000 are accepted",
        args.users
    );
    ensure!(
        (1..=10_000).contains(&args.turns),
        "--turns {}: 1 to 10000 are accepted",
        args.turns
    );
    ensure!(
        (0.5..=600.0).contains(&args.timeout),
        "--timeout {}: 0.5 to 600 seconds are accepted",
        args.timeout
    );
    if let Some(after) = args.interrupt_after
        && !(0.0..=60.0).contains(&after)
    {
        bail!("--interrupt-after {after}: 0 to 60 seconds are accepted");
    }
    Ok(())
}

/// How long `samples` sound.
pub(crate) fn seconds(samples: usize) -> Duration {
    Duration::from_secs_f64(samples as f64 / f64::from(RATE))
}
