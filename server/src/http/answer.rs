//! What streamed answers of all doors have in common: their head, their events, their ends.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use bytes::Bytes;
use session::{Fault, Kind};

/// Names the fields of a request that had no effect.
pub(super) const IGNORED: HeaderName = HeaderName::from_static("x-promenade-ignored");
/// Tells reverse proxies of a common kind not to gather the body.
pub(super) const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// An answer of status 200.
pub(super) fn response(headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response
}

/// One server-sent event with a JSON object.
pub(super) fn event(value: &serde_json::Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

pub(super) fn closing() -> Fault {
    Fault::new(
        Kind::Unavailable,
        "server_closing",
        "The server is closing.",
    )
}

pub(super) fn too_long() -> Fault {
    Fault::new(
        Kind::Cancelled,
        "stream_timeout",
        "The answer took longer than it may.",
    )
}

pub(super) fn cut_short() -> Fault {
    Fault::new(
        Kind::Internal,
        "cut_short",
        "The model stopped without an end.",
    )
}
