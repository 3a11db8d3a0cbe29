//! Which models and voices there are.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use engine::ModelInfo;
use serde_json::{Value, json};
use session::catalog::{STOCK_MODELS, STOCK_VOICES};

use super::Failure;
use crate::app::{App, Loaded};
use crate::bridge;

/// `OpenAI`'s list of models, with what else is known of each.
pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let loaded = app.loaded()?;
    let models = loaded.engine.models();
    let data: Vec<Value> = models.iter().map(|info| model(info, loaded)).collect();
    Ok(Json(json!({
        "object": "list",
        "data": data,
        "aliases": aliases(&STOCK_MODELS, loaded.catalog.speaking().map(|m| m.id.as_str())),
    })))
}

/// One model, by its id or a stock name.
pub(super) async fn retrieve(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Failure> {
    let loaded = app.loaded()?;
    let found = loaded.catalog.any(&id)?;
    let info = loaded
        .engine
        .models()
        .iter()
        .find(|info| info.id == found.id);
    Ok(Json(info.map_or(Value::Null, |info| model(info, loaded))))
}

/// All voices of all models.
pub(super) async fn voices(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let loaded = app.loaded()?;
    let models = loaded.engine.models();
    let all: Vec<Value> = models.iter().flat_map(voices_of).collect();
    let speaking = loaded.catalog.speaking();
    let default = speaking.and_then(|model| model.default_voice.as_deref());
    Ok(Json(
        json!({"voices": all, "aliases": aliases(&STOCK_VOICES, default)}),
    ))
}

fn voices_of(info: &ModelInfo) -> impl Iterator<Item = Value> + '_ {
    info.voices.iter().map(|voice| {
        json!({
            "id": voice.id,
            "name": voice.id,
            "model": info.id,
            "language": voice.language,
            "description": voice.description,
            "default": info.default_voice.as_ref() == Some(&voice.id),
        })
    })
}

fn model(info: &ModelInfo, loaded: &Loaded) -> Value {
    let names = |modalities: &[engine::graph::Modality]| -> Vec<&str> {
        modalities.iter().map(|modality| modality.name()).collect()
    };
    let task = bridge::task(info);
    json!({
        "id": info.id,
        "object": "model",
        "created": loaded.at,
        "owned_by": "promenade",
        "kind": info.kind,
        "task": task.name(),
        "endpoints": task.endpoints(),
        "description": info.description,
        "inputs": names(&info.inputs),
        "outputs": names(&info.outputs),
        "sample_rate": info.sample_rate,
        "voices": info.voices.iter().map(|voice| &voice.id).collect::<Vec<_>>(),
        "default_voice": info.default_voice,
        "licence": info.licence,
        "weights": info.weights,
    })
}

/// Stock names with what they lead to.
fn aliases(names: &[&str], target: Option<&str>) -> Value {
    names
        .iter()
        .map(|name| ((*name).to_owned(), json!(target)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
