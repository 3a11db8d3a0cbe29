//! The command line of the load test.
//!
//! Leaves with 0 when the run counts and, where something was to be held, was held; 1 when it
//! could not be run; 2 for a wrong command line; 3 when it ran but does not count; 4 when it
//! counts and missed what it was to hold.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use loadtest::cli::{Cli, Command};
use loadtest::report::Verdict;
use loadtest::{chat, overhead, tts};

fn main() -> ExitCode {
    match run() {
        Ok(Verdict::Counts) => ExitCode::SUCCESS,
        Ok(Verdict::DoesNotCount) => ExitCode::from(3),
        Ok(Verdict::Missed) => ExitCode::from(4),
        Err(error) => {
            // Nothing is left to do when even this cannot be told.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<Verdict> {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let (mut out, mut log) = (std::io::stdout(), std::io::stderr());
    match cli.command {
        Command::Tts(args) => runtime.block_on(tts::run(*args, &mut out, &mut log)),
        Command::Overhead(args) => runtime.block_on(overhead::run(*args, &mut out, &mut log)),
        Command::Chat(args) => runtime.block_on(chat::run(*args, &mut out, &mut log)),
    }
}
