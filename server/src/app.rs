//! Builds the parts of a server, runs them, and stops them in order.
//!
//! The socket listens before the models are loaded, so that `/health` answers at once and
//! `/ready` tells what is being waited for.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::{Engine, ModelConfig};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use session::{Catalog, Fault, Kind};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::admission::{Admission, Gate, Place};
use crate::auth::Keys;
use crate::config::{self, Config, seconds};
use crate::drain::{Drain, Phase};
use crate::metrics::Metrics;
use crate::net::Connection;
use crate::origin::Origins;
use crate::realtime::{Ongoing, Secrets, Waiting};
use crate::rtc::Calls;
use crate::{bridge, http};

/// How long connections may take to end once everything inside was told to stop.
const LAST_CALL: Duration = Duration::from_secs(1);
/// How long to wait before accepting again when the system has no more sockets to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// What a connection beyond the limit hears.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\
content-type: application/json\r\ncontent-length: 128\r\n\r\n\
{\"error\":{\"message\":\"The server has as many connections as it may.\",\"type\":\"overloaded_error\",\"param\":null,\"code\":\"overloaded\"}}";

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened on: it is taken, or not this machine's.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        reason: String,
    },
    /// The models could not be loaded.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A model that was named is of no kind that there is.
    #[error("{0}")]
    Model(String),
    /// The thread that loads the models ended early.
    #[error("loading the models ended early")]
    Interrupted,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) admission: Admission,
    pub(crate) keys: Keys,
    pub(crate) origins: Origins,
    pub(crate) drain: Drain,
    /// Conversations, to be found by a client that comes back.
    pub(crate) waiting: Waiting,
    /// Takes calls by WebRTC.
    pub(crate) calls: Calls,
    /// Those that go on, to be found by who hangs up from beside.
    pub(crate) ongoing: Ongoing,
    /// Keys for browsers.
    pub(crate) secrets: Secrets,
    loaded: OnceLock<Loaded>,
}

/// What there is once the models are loaded.
pub(crate) struct Loaded {
    pub(crate) engine: Engine,
    pub(crate) catalog: Arc<Catalog>,
    /// When that was, in seconds since 1970.
    pub(crate) at: u64,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("catalog", &self.catalog)
            .finish_non_exhaustive()
    }
}

impl App {
    fn new(config: Config) -> Self {
        let per_key = config
            .auth
            .streams_per_key
            .map(|limit| (limit, config.auth.keys.len()));
        let limits = &config.limits;
        Self {
            metrics: Arc::new(Metrics::new()),
            admission: Admission::new(limits.streams, limits.sockets, per_key),
            keys: Keys::new(config.auth.keys.clone()),
            origins: Origins::new(config.cors.origins.clone()),
            drain: Drain::new(),
            waiting: Waiting::default(),
            calls: Calls::new(&config.rtc, config.listen.ip()),
            ongoing: Ongoing::default(),
            secrets: Secrets::default(),
            loaded: OnceLock::new(),
            config,
        }
    }

    /// The engine, if it can be asked now.
    pub(crate) fn loaded(&self) -> Result<&Loaded, Fault> {
        if self.drain.phase() != Phase::Serving {
            return Err(unavailable("server_closing", "The server is closing."));
        }
        let loading = || unavailable("loading", "The models are still being loaded.");
        self.loaded.get().ok_or_else(loading)
    }

    /// The engine, whether or not requests are let in.
    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.loaded.get().map(|loaded| &loaded.engine)
    }
}

fn unavailable(code: &'static str, message: &str) -> Fault {
    Fault::new(Kind::Unavailable, code, message)
}

/// A running server. Dropping it leaves it running; [`Server::drain`] ends it.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
    loading: Option<JoinHandle<Result<(), Error>>>,
}

impl Server {
    /// Listens, and begins to load the models.
    ///
    /// # Errors
    /// [`Error::Listen`], and [`Error::Model`] for a model of no known kind.
    pub async fn start(config: Config) -> Result<Self, Error> {
        let engine = engine_config(&config)?;
        Self::start_with(config, engine).await
    }

    /// As [`Server::start`], with the engine's configuration made by the caller; the names in
    /// `config.models` are not looked at.
    ///
    /// # Errors
    /// [`Error::Listen`].
    pub async fn start_with(config: Config, engine: engine::Config) -> Result<Self, Error> {
        let listen = |error: std::io::Error| Error::Listen {
            address: config.listen,
            reason: error.to_string(),
        };
        let listener = TcpListener::bind(config.listen).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let app = Arc::new(App::new(config));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&app)));
        let loading = tokio::task::spawn_blocking({
            let app = Arc::clone(&app);
            move || load(&app, engine)
        });
        Ok(Self {
            app,
            address,
            accepting,
            loading: Some(loading),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the models are loaded and requests are let in.
    ///
    /// # Errors
    /// [`Error::Engine`] when they could not be.
    pub async fn ready(&mut self) -> Result<(), Error> {
        match self.loading.take() {
            Some(loading) => loading.await.map_err(|_| Error::Interrupted)?,
            None => Ok(()),
        }
    }

    /// What is served, once it is loaded.
    #[must_use]
    pub fn models(&self) -> &[engine::ModelInfo] {
        self.app.engine().map(Engine::models).unwrap_or_default()
    }

    /// Lets nobody in any more, lets those inside finish up to the configured time, and ends
    /// what is left.
    pub async fn drain(self) {
        let limit = seconds(self.app.config.limits.drain_seconds);
        self.app.drain.enter(Phase::Draining);
        let mut accepting = self.accepting;
        let finished = async {
            let _ = (&mut accepting).await;
            self.app.drain.empty().await;
        };
        if tokio::time::timeout(limit, finished).await.is_err() {
            self.app.drain.enter(Phase::Stopping);
            let stopped = async {
                if !accepting.is_finished() {
                    let _ = (&mut accepting).await;
                }
                self.app.drain.empty().await;
            };
            if tokio::time::timeout(LAST_CALL, stopped).await.is_err() {
                accepting.abort();
            }
        }
        if let Some(engine) = self.app.engine() {
            engine.shutdown();
        }
    }
}

fn load(app: &App, config: engine::Config) -> Result<(), Error> {
    let engine = Engine::start(config)?;
    let catalog = Arc::new(bridge::catalog(engine.models()));
    for info in engine.models().iter().filter(|info| info.converses) {
        app.metrics.expect_chat(&info.id);
    }
    let at = seconds_since_1970();
    let _ = app.loaded.set(Loaded {
        engine,
        catalog,
        at,
    });
    Ok(())
}

/// What the system's clock says, for clients who want to know when something was made.
pub(crate) fn seconds_since_1970() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a driver: the time of day is told to clients"
    )]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// What the engine is started with.
///
/// # Errors
/// [`Error::Model`] for a model of no known kind.
pub fn engine_config(config: &Config) -> Result<engine::Config, Error> {
    let names = config.models.iter().flat_map(|name| group(name));
    let models = names.map(|name| model_config(&name));
    let models: Vec<_> = models.collect::<Result<_, _>>()?;
    let workers = match config.workers {
        0 => 1 + usize::from(models.iter().any(ModelConfig::listens)),
        given => given,
    };
    let mut engine = engine::Config {
        models,
        workers,
        scheduling: scheduling(&config.scheduling),
        ..engine::Config::default()
    };
    if config.threads > 0 {
        engine.threads = config.threads;
    }
    engine.limits.requests = config.limits.streams;
    let chars = config.limits.input_chars.max(config.limits.buffered_chars);
    engine.limits.input_items = chars as u64;
    Ok(engine)
}

fn scheduling(config: &config::Scheduling) -> engine::Scheduling {
    engine::Scheduling {
        policy: match config.policy {
            config::Policy::Deadline => engine::Policy::Deadline,
            config::Policy::Fifo => engine::Policy::Fifo,
            config::Policy::RoundRobin => engine::Policy::RoundRobin,
        },
        first_output: seconds(config.first_output_seconds),
        text: seconds(config.text_seconds),
        admission: config.admission.then(|| engine::Admission {
            load: config.admission_load,
            first_output: seconds(config.admission_first_output_seconds),
        }),
        ..engine::Scheduling::default()
    }
}

/// The models of a conversation have a name together; every other name stands for itself.
fn group(name: &str) -> Vec<String> {
    let members: &[&str] = match name {
        "voice-chat" => &VOICE_CHAT,
        "toy-voice-chat" => &TOY_VOICE_CHAT,
        other => return vec![other.to_owned()],
    };
    members.iter().map(|&member| member.to_owned()).collect()
}

/// A voice, a language model, a recogniser, what tells speech from silence, and what tells whether a
/// turn is complete.
const VOICE_CHAT: [&str; 5] = [
    "default",
    engine::dense::DEFAULT_ID,
    engine::whisper::DEFAULT_ID,
    "silero-vad",
    "smart-turn",
];

/// The same without weights.
const TOY_VOICE_CHAT: [&str; 4] = ["toy", "toy-chat", "toy-scribe", "toy-vad"];

/// `default` is the installed voice, whatever its id.
fn model_config(name: &str) -> Result<ModelConfig, Error> {
    let id = match name {
        "default" => engine::vits::DEFAULT_ID,
        other => other,
    };
    ModelConfig::named(id).map_err(|error| {
        Error::Model(format!(
            "{error}; accepted are 'default' too, the path of a voice's .onnx file, and that of a \
             language model's .gguf file or folder"
        ))
    })
}

/// Accepts connections until the server drains, and waits for them to end.
async fn accept(listener: TcpListener, app: Arc<App>) {
    let gate = Gate::new(app.config.limits.connections);
    let router = http::router(Arc::clone(&app));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => match gate.enter() {
                    Some(place) => {
                        connections.spawn(serve(stream, router.clone(), Arc::clone(&app), place));
                    }
                    None => { connections.spawn(refuse(stream)); }
                },
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = app.drain.reached(Phase::Draining) => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Serves one connection to its end.
async fn serve(stream: TcpStream, router: axum::Router, app: Arc<App>, _place: Place) {
    // A chunk of audio must not wait for the acknowledgement of the one before.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let limits = &app.config.limits;
    let io = TokioIo::new(Connection::new(stream, seconds(limits.stall_seconds)));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(seconds(limits.head_seconds))
        .max_buf_size(limits.head_bytes);
    app.metrics.connections.inc();
    let connection = builder
        .serve_connection(io, TowerToHyperService::new(router))
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = app.drain.reached(Phase::Draining) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    app.metrics.connections.dec();
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Tells a connection that there is no room for it.
async fn refuse(mut stream: TcpStream) {
    let told = async {
        let _ = stream.write_all(FULL).await;
        let _ = stream.shutdown().await;
    };
    let _ = tokio::time::timeout(LAST_CALL, told).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refused_connection_hears_is_as_long_as_it_says() {
        let text = std::str::from_utf8(FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{}",
            body.len()
        );
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"]["code"], "overloaded");
    }
}
