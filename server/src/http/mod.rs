//! The routes, and what every request passes on its way to one.
//!
//! [`ROUTES`] is the table of paths; metrics use its entries as labels and a test holds the
//! OpenAPI description against it.

mod answer;
mod assets;
pub(crate) mod body;
mod chat;
mod docs;
mod error;
mod graph;
mod health;
mod models;
mod speech;
mod transcriptions;

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use session::{Fault, Kind, near};
use tokio::time::Instant;

use crate::app::App;
use crate::auth::{self, Caller};
use crate::realtime::Secrets;
use crate::{realtime, ws};
pub(crate) use error::Failure;

/// Every path, as the router spells it.
pub(crate) const ROUTES: [&str; 20] = [
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/v1/realtime",
    "/v1/realtime/calls",
    "/v1/realtime/calls/{id}/hangup",
    "/v1/realtime/client_secrets",
    "/v1/chat/completions",
    "/v1/audio/speech",
    "/v1/audio/speech/stream",
    "/v1/audio/voices",
    "/v1/models",
    "/v1/models/{id}",
    "/v1/models/{id}/graph",
    "/health",
    "/live",
    "/ready",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/",
];

/// What pages of other origins may read of an answer's head.
const EXPOSED: &str = "location, retry-after, x-promenade-ignored, x-promenade-sample-rate";

pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/audio/speech", post(speech::speak))
        .route("/v1/audio/speech/stream", get(ws::open))
        .route("/v1/realtime", get(realtime::open))
        .route("/v1/realtime/calls", post(realtime::take))
        .route("/v1/realtime/calls/{id}/hangup", post(realtime::hang_up))
        .route("/v1/realtime/client_secrets", post(realtime::make_secret))
        .route("/v1/audio/transcriptions", post(transcriptions::transcribe))
        .route("/v1/audio/translations", post(transcriptions::translate))
        .route("/v1/audio/voices", get(models::voices))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{id}", get(models::retrieve))
        .route("/v1/models/{id}/graph", get(graph::draw))
        .route("/health", get(health::health))
        .route("/live", get(health::health))
        .route("/ready", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(docs::openapi))
        .route("/docs", get(docs::page))
        .route("/", get(assets::index))
        .fallback(any(assets::file))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(&app), gate))
        .with_state(app)
}

/// Origin, key, and the count of what was answered.
async fn gate(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let route = label(&request);
    let response = match app.origins.check(request.headers()) {
        Err(fault) => Failure(fault).into_response(),
        Ok(None) => keyed(&app, request, next).await,
        Ok(Some(origin)) => {
            let response = if is_preflight(&request) {
                preflight(request.headers())
            } else {
                keyed(&app, request, next).await
            };
            with_origin(response, origin)
        }
    };
    app.metrics.answered(route, response.status().as_u16());
    response
}

async fn keyed(app: &App, mut request: Request, next: Next) -> Response {
    if request.uri().path().starts_with("/v1/") {
        match caller(app, &request) {
            Ok(caller) => {
                request.extensions_mut().insert(caller);
            }
            Err(fault) => return Failure(fault).into_response(),
        }
    }
    next.run(request).await
}

/// Who is calling, by a key or by a client secret.
fn caller(app: &App, request: &Request) -> Result<Caller, Fault> {
    let shown = auth::shown_key(request.headers());
    let secret = shown.filter(|key| Secrets::is_one(key) && !app.keys.contain(key));
    let Some(secret) = secret else {
        return app.keys.check(request.headers());
    };
    let grant = app.secrets.find(secret, Instant::now())?;
    let path = request.uri().path();
    if !path.starts_with("/v1/realtime") || path == "/v1/realtime/client_secrets" {
        return Err(Fault::new(
            Kind::Forbidden,
            "client_secret_forbidden",
            "A client secret opens /v1/realtime and /v1/realtime/calls only.",
        ));
    }
    Ok(Caller {
        key: grant.key,
        grant: Some(grant),
    })
}

/// The route's pattern: one of a known few, whatever the path.
fn label(request: &Request) -> &'static str {
    let matched = request
        .extensions()
        .get::<MatchedPath>()
        .map(MatchedPath::as_str);
    let known = matched.and_then(|path| ROUTES.into_iter().find(|route| *route == path));
    known.unwrap_or("other")
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Headers are allowed as they are asked for: clients send ones of their own, and which origins may
/// come at all has been decided.
fn preflight(asked: &HeaderMap) -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    let mut response = (StatusCode::NO_CONTENT, headers).into_response();
    if let Some(asked) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        let allowed = response.headers_mut();
        allowed.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    response
}

fn with_origin(mut response: Response, origin: HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(EXPOSED),
    );
    headers.append(VARY, HeaderValue::from_static("origin"));
    response
}

async fn wrong_method(request: Request) -> Failure {
    Failure(Fault::new(
        Kind::Method,
        "method_not_allowed",
        format!(
            "{} does not take {}; see /docs.",
            near::quoted(request.uri().path()),
            near::quoted(request.method().as_str()),
        ),
    ))
}

/// The answer to a path that there is not.
pub(crate) fn no_such_path(path: &str) -> Failure {
    Failure(Fault::new(
        Kind::NotFound,
        "unknown_path",
        format!(
            "There is nothing at {}{}. See /docs.",
            near::quoted(path),
            near::hint(path, ROUTES),
        ),
    ))
}
