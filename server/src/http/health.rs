//! Whether the server lives, whether it can serve, and what it counts.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Failure;
use crate::app::App;

/// 200 as long as the process answers.
pub(super) async fn health() -> Json<Value> {
    Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
}

/// 200 when a request would be let in; 503 with the reason otherwise.
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let loaded = app.loaded()?;
    let models: Vec<&str> = loaded
        .catalog
        .models
        .iter()
        .map(|m| m.id.as_str())
        .collect();
    Ok(Json(json!({"status": "ready", "models": models})))
}

/// All metrics as `OpenMetrics` text.
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let snapshot = app.engine().map(engine::Engine::snapshot);
    let text = app.metrics.render(snapshot.as_ref());
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, kind)], text).into_response()
}
