//! Subcommands, one file each, and what their errors exit with.

mod bench;
mod failure;
mod graph;
mod models;
mod play;
mod serve;
mod speak;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::failure::Failure;

/// A streaming-first server for speech and other composite models.
#[derive(Debug, Parser)]
#[command(name = "promenade", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong command line or configuration, \
3 weights are missing (run: promenade models install), 130 interrupted.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve models over HTTP and WebSocket.
    Serve(serve::Args),
    /// Speak a text here, streamed, and say how long it took.
    Speak(speak::Args),
    /// The weights on this machine.
    Models(models::Args),
    /// Draw the graph of a model.
    Graph(graph::Args),
    /// Measure what the program itself costs.
    Bench(bench::Args),
}

/// Runs the command line to its end.
pub(crate) fn run() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => serve::run(args),
        Command::Speak(args) => speak::run(&args),
        Command::Models(args) => models::run(args),
        Command::Graph(args) => graph::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            say(&format!("promenade: {failure}"));
            failure.code()
        }
    }
}

/// A line for people, on standard error.
#[expect(clippy::print_stderr, reason = "the command line prints")]
fn say(line: &str) {
    eprintln!("{line}");
}

/// A line of the result, on standard output.
#[expect(clippy::print_stdout, reason = "the command line prints")]
fn print(line: &str) {
    println!("{line}");
}
