//! Who is calling, by a key.
//!
//! With keys configured, everything under `/v1` needs one: `Authorization: Bearer KEY`, or for a
//! browser's WebSocket, which cannot set headers, the sub-protocol
//! `openai-insecure-api-key.KEY`. Pages, health and metrics are open.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use serde_json::Value;
use session::{Fault, Kind};

/// The sub-protocol that carries a key, as the public Realtime API has it.
const PROTOCOL_PREFIX: &str = "openai-insecure-api-key.";

/// Which key a caller showed: its place in the configuration, or none where none is needed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Caller {
    pub(crate) key: Option<usize>,
    /// What a client secret stands for, if it was one.
    pub(crate) grant: Option<Arc<Grant>>,
}

/// What a client secret stands for: the key that made it, and the session that it opens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grant {
    pub(crate) key: Option<usize>,
    /// A session object as of `session.update`; null where none was given.
    pub(crate) session: Value,
}

impl Caller {
    /// The session that a client secret stands for, if the caller showed one that has one.
    pub(crate) fn granted(&self) -> Option<&Value> {
        let session = &self.grant.as_ref()?.session;
        (!session.is_null()).then_some(session)
    }
}

/// The keys that open `/v1`.
#[derive(Debug)]
pub(crate) struct Keys(Vec<String>);

impl Keys {
    pub(crate) fn new(keys: Vec<String>) -> Self {
        Self(keys)
    }

    /// Whether a key is one of these.
    pub(crate) fn contain(&self, shown: &str) -> bool {
        self.0
            .iter()
            .any(|key| same(key.as_bytes(), shown.as_bytes()))
    }

    /// Who is calling.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<Caller, Fault> {
        if self.0.is_empty() {
            return Ok(Caller::default());
        }
        let shown = shown_key(headers).ok_or_else(missing)?;
        // Every key is compared, and to its end, so that time tells nothing.
        let mut found = None;
        for (index, key) in self.0.iter().enumerate() {
            if same(key.as_bytes(), shown.as_bytes()) {
                found = Some(index);
            }
        }
        let key = found.ok_or_else(wrong)?;
        Ok(Caller {
            key: Some(key),
            grant: None,
        })
    }
}

/// The key that a request shows, if any.
pub(crate) fn shown_key(headers: &HeaderMap) -> Option<&str> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let value = value.to_str().ok()?;
        let (scheme, key) = value.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| key.trim());
    }
    headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix(PROTOCOL_PREFIX))
}

fn same(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y));
    a.len() == b.len() && differing == 0
}

fn missing() -> Fault {
    Fault::new(
        Kind::Unauthorized,
        "missing_api_key",
        "This server needs a key. Send it as 'Authorization: Bearer KEY'.",
    )
}

fn wrong() -> Fault {
    Fault::new(
        Kind::Unauthorized,
        "invalid_api_key",
        "The key is not one of this server's.",
    )
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn keys_come_by_header_or_by_protocol() {
        let keys = Keys::new(vec!["one".into(), "two".into()]);
        let check = |name, value| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            keys.check(&headers)
                .map(|caller| caller.key)
                .map_err(|fault| fault.code)
        };
        assert_eq!(check(AUTHORIZATION, "Bearer two"), Ok(Some(1)));
        assert_eq!(check(AUTHORIZATION, "bearer one"), Ok(Some(0)));
        assert_eq!(check(AUTHORIZATION, "Bearer on"), Err("invalid_api_key"));
        assert_eq!(check(AUTHORIZATION, "Basic one"), Err("missing_api_key"));
        assert_eq!(
            check(
                SEC_WEBSOCKET_PROTOCOL,
                "realtime, openai-insecure-api-key.one"
            ),
            Ok(Some(0))
        );
        assert_eq!(
            keys.check(&HeaderMap::new()).unwrap_err().code,
            "missing_api_key"
        );
        assert_eq!(
            Keys::new(vec![]).check(&HeaderMap::new()),
            Ok(Caller::default())
        );
    }
}
