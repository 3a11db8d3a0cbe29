//! `WS /v1/audio/speech/stream`: a socket drives a speech session.

mod driver;
mod speaker;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use session::speech;

use self::driver::Driver;
use crate::app::{App, Loaded};
use crate::auth::Caller;
use crate::config::seconds;
use crate::http::Failure;
use crate::socket;

pub(crate) async fn open(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = socket::upgrade(upgrade)?;
    let loaded = app.loaded()?;
    let place = app.admission.socket()?;
    let config = session_config(&app, loaded);
    let engine = loaded.engine.clone();
    let bytes = app.config.limits.message_bytes;
    let inside = app.drain.inside();
    Ok(upgrade
        .max_message_size(bytes)
        .max_frame_size(bytes)
        .on_upgrade(move |socket| async move {
            app.metrics.sockets.inc();
            Driver::new(Arc::clone(&app), engine, caller, config)
                .run(socket)
                .await;
            app.metrics.sockets.dec();
            drop((place, inside));
        }))
}

fn session_config(app: &App, loaded: &Loaded) -> speech::Config {
    let limits = &app.config.limits;
    speech::Config {
        catalog: Arc::clone(&loaded.catalog),
        limits: speech::Limits {
            contexts: limits.contexts,
            utterances: limits.utterances,
            buffered_chars: limits.buffered_chars,
            config: seconds(limits.config_seconds),
            idle: seconds(limits.idle_seconds),
            lifetime: seconds(limits.session_seconds),
        },
    }
}
