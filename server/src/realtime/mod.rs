//! `GET /v1/realtime`: a socket drives a conversation.
//!
//! ```text
//! socket ◀──▶ Driver ◀──▶ session::realtime::Session
//!               │  commands, news
//!               ▼
//!             Brain ◀──▶ engine: who listens, judges, writes down, answers, speaks
//! ```

mod brain;
mod driver;
mod reply;
mod roles;
mod waiting;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use session::realtime::{self, Config, Defaults, Limits, Transport};
use session::{Fault, Kind, near};

use self::brain::Brain;
use self::driver::Driver;
use self::roles::Roles;
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
    let roles = Roles::of(loaded.engine.models(), model_in(query.as_deref()))?;
    let place = app.admission.socket()?;
    let config = config(&app, loaded, &roles, Transport::WebSocket);
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

/// What a session is told when it begins.
fn config(app: &App, loaded: &Loaded, roles: &Roles, transport: Transport) -> Config {
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
    Config {
        transport,
        defaults: Defaults {
            instructions,
            ..defaults
        },
        limits: Limits {
            lifetime: seconds(limits.session_seconds),
            idle: seconds(own.idle_seconds),
            detached: seconds(own.resume_seconds),
            ..Limits::default()
        },
        unix_time: Duration::from_secs(seconds_since_1970()),
        seed: unguessable(),
        ..Config::new(Arc::clone(&loaded.catalog))
    }
}

/// A number that nobody can guess: the standard library keys its hashes with what the system
/// gives it for that.
fn unguessable() -> u64 {
    RandomState::new().build_hasher().finish()
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
