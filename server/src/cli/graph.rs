//! `promenade graph show`: a model's graph as text that draws.

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use server::Config;

use super::{Failure, print};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the graph of a model.
    Show {
        /// `default`, `toy`, or the path of a voice's .onnx file.
        model: String,
        /// How to draw it.
        #[arg(long, value_enum, default_value_t = Format::Mermaid)]
        format: Format,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// For Markdown pages.
    Mermaid,
    /// For Graphviz.
    Dot,
    /// For programs.
    Json,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Command::Show { model, format } = &args.command;
    let config = Config {
        models: vec![model.clone()],
        ..Config::default()
    };
    let engine = engine::Engine::start(server::engine_config(&config)?)?;
    let served = engine
        .models()
        .first()
        .map(|info| info.id.clone())
        .unwrap_or_default();
    let graph = engine
        .graph(&served)
        .ok_or_else(|| Failure::failed(format!("the model {served} has no graph")))?;
    print(&match format {
        Format::Mermaid => engine::graph::mermaid(&graph),
        Format::Dot => engine::graph::dot(&graph),
        Format::Json => server::walk::json(&graph).to_string(),
    });
    engine.shutdown();
    Ok(ExitCode::SUCCESS)
}
