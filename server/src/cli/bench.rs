//! `promenade bench runtime`: what the runtime itself costs on this machine.

use std::{path::PathBuf, process::ExitCode};

use clap::Subcommand;

use super::{Failure, print, say};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Time hops, loops, walks, streams and set-up with nodes that do nothing.
    Runtime {
        /// Also write the figures to this file.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Few of each: to see that it works, not to quote.
        #[arg(long)]
        short: bool,
    },
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Command::Runtime { json, short } = &args.command;
    if cfg!(debug_assertions) {
        say("this is a debug build: its figures are of no use");
    }
    let figures = engine::bench::runtime(*short).map_err(Failure::failed)?;
    print("times between steps that do nothing, in microseconds");
    print(&format!("{:16} {:>9} {:>9} {:>9}", "", "p50", "p99", "n"));
    let mut object = serde_json::Map::new();
    for (name, figure) in &figures {
        let engine::bench::Figure { p50_us, p99_us, n } = figure;
        print(&format!("{name:16} {p50_us:9.2} {p99_us:9.2} {n:9}"));
        let figure = serde_json::json!({ "p50_us": p50_us, "p99_us": p99_us, "n": n });
        object.insert((*name).to_owned(), figure);
    }
    if let Some(path) = json {
        let text = serde_json::Value::from(object).to_string();
        std::fs::write(path, text)
            .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
    }
    Ok(ExitCode::SUCCESS)
}
