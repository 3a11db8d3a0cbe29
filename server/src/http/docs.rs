//! The OpenAPI description, and a page that shows it without any other server.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Html;
use serde_json::{Value, json};

use crate::app::App;

const DESCRIPTION: &str = include_str!("../../docs/openapi.json");
const PAGE: &str = include_str!("../../docs/openapi.html");

/// The description, with this server's limits.
pub(super) async fn openapi(State(app): State<Arc<App>>) -> Json<Value> {
    let mut description = description();
    let limits = &app.config.limits;
    for (place, value) in [
        (
            "SpeechRequest/properties/input/maxLength",
            limits.input_chars,
        ),
        (
            "ChatRequest/properties/messages/maxItems",
            limits.chat_messages,
        ),
        ("ChatRequest/properties/tools/maxItems", limits.chat_tools),
        ("ChatRequest/properties/n/maximum", limits.chat_choices),
        (
            "ChatRequest/properties/max_tokens/maximum",
            limits.chat_tokens,
        ),
        (
            "ChatRequest/properties/max_completion_tokens/maximum",
            limits.chat_tokens,
        ),
    ] {
        if let Some(limit) = description.pointer_mut(&format!("/components/schemas/{place}")) {
            *limit = json!(value);
        }
    }
    description["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    Json(description)
}

pub(super) async fn page() -> Html<&'static str> {
    Html(PAGE)
}

fn description() -> Value {
    // Held to be JSON by the test below.
    serde_json::from_str(DESCRIPTION).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::ROUTES;

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let description = description();
        let mut described: Vec<&str> = description["paths"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let mut routes = ROUTES.to_vec();
        described.sort_unstable();
        routes.sort_unstable();
        assert_eq!(described, routes);
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn walk(value: &Value, root: &Value) {
            match value {
                Value::Object(map) => {
                    if let Some(Value::String(target)) = map.get("$ref") {
                        let pointer = target.trim_start_matches('#');
                        assert!(root.pointer(pointer).is_some(), "{target}");
                    }
                    map.values().for_each(|inner| walk(inner, root));
                }
                Value::Array(items) => items.iter().for_each(|inner| walk(inner, root)),
                _ => {}
            }
        }
        let description = description();
        walk(&description, &description);
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        assert!(!PAGE.contains("http://") && !PAGE.contains("https://"));
    }
}
