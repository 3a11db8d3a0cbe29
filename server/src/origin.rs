//! Which web pages may use this server.
//!
//! A browser tells where a page came from in `Origin`; other clients send none and are not
//! concerned. Let in are the server's own page, pages on this machine (`localhost` and loopback
//! addresses at any port: development) and the origins of the configuration. Everything else is
//! refused before any work, WebSockets too, to which a browser's own rule does not apply:
//! otherwise any page that a user visits could speak through a server on their machine.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};
use session::{Fault, Kind};

/// The configured origins.
#[derive(Debug)]
pub(crate) struct Origins(Vec<String>);

impl Origins {
    pub(crate) fn new(origins: Vec<String>) -> Self {
        Self(origins)
    }

    /// The origin to allow in the answer, if the request came from a page.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, Fault> {
        let Some(value) = headers.get(ORIGIN) else {
            return Ok(None);
        };
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let allowed = value.to_str().is_ok_and(|origin| self.allows(origin, host));
        if allowed {
            Ok(Some(value.clone()))
        } else {
            Err(refused())
        }
    }

    fn allows(&self, origin: &str, host: Option<&str>) -> bool {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        let own = authority.is_some() && authority == host;
        own || authority.is_some_and(is_local) || self.0.iter().any(|o| o == "*" || o == origin)
    }
}

fn is_local(authority: &str) -> bool {
    let name = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    name == "localhost"
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn refused() -> Fault {
    Fault::new(
        Kind::Forbidden,
        "origin_not_allowed",
        "Pages of this origin may not use this server; the operator can add it to cors.origins.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_let_in_by_where_they_come_from() {
        let origins = Origins::new(vec!["https://app.example".into()]);
        for (origin, allowed) in [
            ("http://speech.test:8080", true), // its own
            ("http://localhost:5173", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:3000", true),
            ("https://app.example", true),
            ("https://evil.example", false),
            ("http://localhost.evil.example", false),
            ("http://127.0.0.1.evil.example", false),
            ("null", false),
        ] {
            assert_eq!(
                origins.allows(origin, Some("speech.test:8080")),
                allowed,
                "{origin}"
            );
        }
        assert!(Origins::new(vec!["*".into()]).allows("https://evil.example", None));
    }
}
