//! A model's graph as a drawing or as data.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use session::{Fault, Kind, near};

use super::Failure;
use crate::app::App;

const FORMATS: [&str; 3] = ["mermaid", "dot", "json"];

/// `?format=mermaid` (the default), `dot` or `json`.
pub(super) async fn draw(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let loaded = app.loaded()?;
    let model = loaded.catalog.any(&id)?;
    let graph = loaded
        .engine
        .graph(&model.id)
        .ok_or_else(|| Fault::new(Kind::Internal, "internal_error", "The model has no graph."))?;
    let text = |kind: &'static str, text: String| ([(CONTENT_TYPE, kind)], text).into_response();
    Ok(match format(query.as_deref())? {
        "dot" => text(
            "text/vnd.graphviz; charset=utf-8",
            engine::graph::dot(&graph),
        ),
        "json" => Json(crate::walk::json(&graph)).into_response(),
        _ => text(
            "text/vnd.mermaid; charset=utf-8",
            engine::graph::mermaid(&graph),
        ),
    })
}

fn format(query: Option<&str>) -> Result<&'static str, Fault> {
    let pairs = query.unwrap_or_default().split('&');
    let Some(wanted) = pairs
        .filter_map(|pair| pair.strip_prefix("format="))
        .next_back()
    else {
        return Ok("mermaid");
    };
    FORMATS
        .into_iter()
        .find(|format| *format == wanted)
        .ok_or_else(|| {
            Fault::field(
                "format",
                "invalid_value",
                format!(
                    "Invalid value for 'format': {}. Accepted are: {}.",
                    near::quoted(wanted),
                    FORMATS.join(", ")
                ),
            )
        })
}
