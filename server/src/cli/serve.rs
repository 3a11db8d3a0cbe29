//! `promenade serve`: read the configuration, run, wait for a signal.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use server::{Config, Server};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::{Failure, say};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// `default` (the installed voice), the path of a voice's .onnx file, that of a language
    /// model's .gguf file or folder, or another model's id, such as `smollm2-135m-instruct`, `toy`
    /// and `toy-chat`. Several stand side by side.
    models: Vec<String>,
    /// Where to listen.
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// A TOML file; see server/configs for one with every key.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let mut config = Config::load(args.config.as_deref())?;
    if !args.models.is_empty() {
        config.models = args.models;
    }
    if let Some(listen) = args.listen {
        config.listen = listen;
    }
    let filter = EnvFilter::try_new(&config.log)
        .map_err(|error| Failure::usage(format!("`log` is {:?}: {error}", config.log)))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::failed)?;
    runtime.block_on(serve(config))
}

async fn serve(config: Config) -> Result<ExitCode, Failure> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::failed)?;
    warn_if_open(&config);
    let drain_seconds = config.limits.drain_seconds;
    let mut server = Server::start(config).await?;
    say(&format!(
        "listening on http://{}/, loading the models",
        server.address()
    ));
    tokio::select! {
        ready = server.ready() => ready?,
        _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
        _ = interrupt.recv() => return Ok(ExitCode::from(130)),
    }
    let models: Vec<&str> = server
        .models()
        .iter()
        .map(|info| info.id.as_str())
        .collect();
    say(&format!(
        "ready: {} at http://{}/ (interface at /docs, Ctrl-C ends it)",
        models.join(", "),
        server.address(),
    ));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    say(&format!(
        "closing: streams have {drain_seconds} s to finish; a second signal ends them now"
    ));
    tokio::select! {
        () = server.drain() => Ok(ExitCode::SUCCESS),
        _ = terminate.recv() => Ok(ExitCode::from(130)),
        _ = interrupt.recv() => Ok(ExitCode::from(130)),
    }
}

fn warn_if_open(config: &Config) {
    if !config.listen.ip().is_loopback() && config.auth.keys.is_empty() {
        say(&format!(
            "warning: {} can be reached from other machines and no key is set: everybody who \
             reaches it may use it. Set auth.keys, or listen on 127.0.0.1.",
            config.listen
        ));
    }
}
