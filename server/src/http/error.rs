//! The one place where a fault becomes an HTTP answer: a status, and `OpenAI`'s error body.

use axum::Json;
use axum::http::header::{CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use session::{Fault, Kind};

/// Seconds after which a refused client should try again. Places come back within a sentence.
const RETRY_SECONDS: u64 = 1;

/// A fault as an answer.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Fault);

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self(fault)
    }
}

/// `{"error": {"message", "type", "param", "code"}}`.
pub(crate) fn error_body(fault: &Fault) -> Value {
    json!({"error": {
        "message": fault.message,
        "type": fault.wire_type(),
        "param": fault.param,
        "code": fault.code,
    }})
}

pub(crate) fn status(kind: Kind) -> StatusCode {
    match kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::Unauthorized => StatusCode::UNAUTHORIZED,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Method => StatusCode::METHOD_NOT_ALLOWED,
        Kind::Slow => StatusCode::REQUEST_TIMEOUT,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Kind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Kind::Unavailable | Kind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self(fault) = self;
        if fault.kind == Kind::Internal {
            tracing::error!(code = fault.code, "{fault}");
        }
        let mut response = (status(fault.kind), Json(error_body(&fault))).into_response();
        let headers = response.headers_mut();
        match fault.kind {
            Kind::Unavailable | Kind::RateLimited | Kind::Cancelled => {
                let seconds = fault.retry_after.unwrap_or(RETRY_SECONDS);
                headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
            Kind::Unauthorized => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            // The rest of the body is not read, so the connection is of no more use.
            Kind::TooLarge | Kind::Slow => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_types_are_fixed() {
        for (kind, expected, wire_type) in [
            (Kind::Invalid, 400, "invalid_request_error"),
            (Kind::Unauthorized, 401, "authentication_error"),
            (Kind::Forbidden, 403, "permission_error"),
            (Kind::NotFound, 404, "invalid_request_error"),
            (Kind::Method, 405, "invalid_request_error"),
            (Kind::Slow, 408, "invalid_request_error"),
            (Kind::TooLarge, 413, "invalid_request_error"),
            (Kind::MediaType, 415, "invalid_request_error"),
            (Kind::RateLimited, 429, "rate_limit_error"),
            (Kind::Cancelled, 503, "request_cancelled"),
            (Kind::Unavailable, 503, "overloaded_error"),
            (Kind::Internal, 500, "server_error"),
        ] {
            let fault = Fault::new(kind, "code", "message");
            assert_eq!(fault.wire_type(), wire_type);
            let response = Failure(fault).into_response();
            assert_eq!(response.status().as_u16(), expected);
            assert_eq!(
                response.headers().contains_key(RETRY_AFTER),
                matches!(expected, 429 | 503)
            );
        }
    }

    #[test]
    fn the_body_has_every_field_even_when_empty() {
        let body = error_body(&Fault::new(Kind::Invalid, "code", "message"));
        assert_eq!(
            body.to_string(),
            r#"{"error":{"code":"code","message":"message","param":null,"type":"invalid_request_error"}}"#
        );
    }
}
