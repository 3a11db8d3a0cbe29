//! `/v1/realtime`: conversations, over a WebSocket or by WebRTC.
//!
//! ```text
//! socket ◀──▶ Driver ◀──▶ session::realtime::Session
//! peer ◀────▶ Call   ◀──▶
//!               │  commands, news
//!               ▼
//!             Brain ◀──▶ engine: who listens, judges, writes down, answers, speaks
//! ```

mod brain;
mod call;
mod calls;
mod driver;
mod reply;
mod roles;
mod secrets;
mod waiting;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::Value;
use session::realtime::{self, Config, Defaults, Limits, Session, Transport};
use session::{Fault, Kind, near};

use self::brain::Brain;
pub(crate) use self::calls::{Ongoing, hang_up, take};
use self::driver::Driver;
use self::roles::Roles;
pub(crate) use self::secrets::{Secrets, make as make_secret};
pub(crate) use self::waiting::Waiting;
use crate::app::{App, Loaded, seconds_since_1970};
use crate::auth::Caller;
use crate::config::seconds;
use crate::http::Failure;
use crate::socket;

/// Names of `OpenAI`'s models for conversations begin so; they lead to the one here.
const STOCK: &str = "gpt-";

/// The name of the conversation as a whole, which is made of several models.
const COMPOSITE: &str = "voice-chat";

/// The largest event that a client may send: 15 MiB of audio, as the public API has it.
const LARGEST_EVENT: usize = 16 * 1024 * 1024;

pub(crate) async fn open(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = socket::upgrade(upgrade)?;
    if speaks_beta(&headers) {
        return Err(realtime::beta_disabled("the header 'OpenAI-Beta' asks for it").into());
    }
    let loaded = app.loaded()?;
    let model = model_in(query.as_deref());
    let session = caller.granted().cloned();
    let (roles, config) = begin(&app, loaded, model, session, Transport::WebSocket)?;
    let place = app.admission.socket()?;
    let brain = Brain::new(Arc::clone(&app), loaded.engine.clone(), caller, roles);
    let inside = app.drain.inside();
    Ok(upgrade
        .max_message_size(LARGEST_EVENT)
        .max_frame_size(LARGEST_EVENT)
        .on_upgrade(move |socket| async move {
            app.metrics.sockets.inc();
            Driver::new(Arc::clone(&app), brain, config)
                .run(socket)
                .await;
            app.metrics.sockets.dec();
            drop((place, inside));
        }))
}

fn speaks_beta(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all("openai-beta").iter();
    values.any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.contains("realtime="))
    })
}

/// The model that a query names.
fn model_in(query: Option<&str>) -> Option<&str> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    let named = pairs.find(|(name, _)| *name == "model");
    named
        .map(|(_, model)| model)
        .filter(|model| !model.is_empty())
}

/// Who works for a session that begins, and what it is told. `session` is what it begins with, as
/// of `session.update`; a model named there goes before `model`.
///
/// # Errors
/// What of it is not accepted.
fn begin(
    app: &App,
    loaded: &Loaded,
    model: Option<&str>,
    session: Option<Value>,
    transport: Transport,
) -> Result<(Roles, Config), Fault> {
    let own = session
        .as_ref()
        .and_then(|session| session["model"].as_str());
    let own = own.filter(|own| !own.is_empty());
    let roles = Roles::of(loaded.engine.models(), own.or(model))?;
    let mut config = config(app, loaded, &roles, transport)?;
    if let Some(session) = session {
        Session::check(&config, session.clone())?;
        config.defaults.session = Some(session);
    }
    Ok((roles, config))
}

/// What a session is told when it begins.
fn config(
    app: &App,
    loaded: &Loaded,
    roles: &Roles,
    transport: Transport,
) -> Result<Config, Fault> {
    let limits = &app.config.limits;
    let own = &app.config.realtime;
    let defaults = Defaults {
        model: roles.name.clone(),
        voices_of: roles.voice.clone(),
        recogniser: roles.recogniser.clone().unwrap_or_default(),
        max_tokens: (own.max_tokens > 0).then_some(own.max_tokens),
        ..Defaults::default()
    };
    let instructions = match own.instructions.as_str() {
        "" => defaults.instructions.clone(),
        own => own.to_owned(),
    };
    Ok(Config {
        transport,
        defaults: Defaults {
            instructions,
            ..defaults
        },
        limits: Limits {
            lifetime: seconds(limits.session_seconds),
            idle: seconds(own.idle_seconds),
            detached: match transport {
                Transport::WebSocket => seconds(own.resume_seconds),
                Transport::WebRtc => Duration::ZERO,
            },
            ..Limits::default()
        },
        unix_time: Duration::from_secs(seconds_since_1970()),
        seed: u64::from_ne_bytes(unguessable()?),
        ..Config::new(Arc::clone(&loaded.catalog))
    })
}

/// Bytes that nobody can guess.
fn unguessable<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("The system gives no random numbers: {error}.");
        Fault::new(Kind::Internal, "no_randomness", message)
    })?;
    Ok(bytes)
}

/// An id that nobody can guess.
fn random_id(prefix: &str) -> Result<String, Fault> {
    let mut id = prefix.to_owned();
    for byte in unguessable::<16>()? {
        // A string takes all that is written.
        let _ = write!(id, "{byte:02x}");
    }
    Ok(id)
}

/// The fault of a model that does not converse.
fn unknown_model(name: &str, known: &[&str]) -> Fault {
    let all = known.join(", ");
    let hint = near::hint(name, known.iter().copied());
    let message = format!(
        "The model {} does not converse here{hint}. Conversations here: {all}; {STOCK}* leads to the first.",
        near::quoted(name),
    );
    Fault::field("model", "model_not_found", message).of_kind(Kind::NotFound)
}
