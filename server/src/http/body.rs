//! A request's body, within limits of size and time.

use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use session::{Fault, Kind, near};

/// Reads a whole JSON body.
pub(crate) async fn read_json(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    patience: Duration,
) -> Result<Bytes, Fault> {
    check_type(headers)?;
    if declared_length(headers).is_some_and(|length| length > limit as u64) {
        return Err(too_large(limit));
    }
    match tokio::time::timeout(patience, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit)),
        Ok(Err(error)) => Err(Fault::new(
            Kind::Invalid,
            "incomplete_body",
            format!("The body could not be read: {error}."),
        )),
        Err(_) => Err(Fault::new(
            Kind::Slow,
            "body_timeout",
            format!(
                "The body did not arrive within {} s.",
                patience.as_secs_f64()
            ),
        )),
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Fault> {
    let given = headers
        .get(CONTENT_TYPE)
        .map_or("none", |value| value.to_str().unwrap_or("?"));
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Fault::new(
        Kind::MediaType,
        "unsupported_media_type",
        format!(
            "Expected 'Content-Type: application/json', but got {}.",
            near::quoted(given)
        ),
    ))
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large(limit: usize) -> Fault {
    Fault::new(
        Kind::TooLarge,
        "body_too_large",
        format!("The body is larger than {limit} bytes, which is the limit."),
    )
}
