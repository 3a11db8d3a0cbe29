//! Where the server is: a parsed address that both doors connect to.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};

/// A server on plain TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Host and port, as the `Host` header wants them.
    pub authority: String,
    /// What stands before the paths of the doors, without a slash at its end.
    pub base: String,
    /// Where to connect.
    pub address: SocketAddr,
}

impl Target {
    /// Parses `url` and asks the resolver once, so that no request waits for it.
    ///
    /// # Errors
    /// When the URL is not of plain HTTP or its host has no address.
    pub async fn resolve(url: &str) -> Result<Self> {
        let (authority, host, port, base) = parts(url)?;
        let mut found = tokio::net::lookup_host((host.as_str(), port))
            .await
            .with_context(|| format!("cannot resolve `{host}`"))?;
        let address = found
            .next()
            .with_context(|| format!("`{host}` has no address"))?;
        Ok(Self {
            authority,
            base,
            address,
        })
    }

    /// The path of a door.
    #[must_use]
    pub fn path(&self, door: &str) -> String {
        format!("{}{door}", self.base)
    }
}

/// Authority, host, port and base path of `url`.
fn parts(url: &str) -> Result<(String, String, u16, String)> {
    let uri: http::Uri = url
        .parse()
        .with_context(|| format!("`{url}` is not a URL; give one like http://127.0.0.1:8080"))?;
    match uri.scheme_str() {
        Some("http" | "ws") => {}
        Some("https" | "wss") => bail!(
            "`{url}` needs TLS, which the load test does not speak: its cost would be measured with \
             the server's. Give the plain http:// address of the server itself"
        ),
        Some(other) => bail!("`{url}` has the scheme `{other}`; http and ws are understood"),
        None => bail!("`{url}` has no scheme; give a URL like http://127.0.0.1:8080"),
    }
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    ensure!(!host.is_empty(), "`{url}` names no host");
    ensure!(
        uri.query().is_none(),
        "`{url}` has a query; give the address alone"
    );
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    ensure!(
        !authority.contains('@'),
        "`{url}` holds a user's name; give a key by --key"
    );
    Ok((
        authority,
        host.to_owned(),
        uri.port_u16().unwrap_or(80),
        uri.path().trim_end_matches('/').to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let (authority, host, port, base) = parts("http://127.0.0.1:8080/").unwrap();
        assert_eq!(
            (authority.as_str(), host.as_str(), port),
            ("127.0.0.1:8080", "127.0.0.1", 8080)
        );
        assert_eq!(base, "");
        let (_, host, port, base) = parts("ws://[::1]/tts/").unwrap();
        assert_eq!((host.as_str(), port, base.as_str()), ("::1", 80, "/tts"));
    }

    #[test]
    fn what_cannot_be_tested_is_refused_with_the_reason() {
        for (url, reason) in [
            ("https://example.com", "needs TLS"),
            ("wss://example.com", "needs TLS"),
            ("ftp://example.com", "http and ws are understood"),
            ("127.0.0.1:8080", "no scheme"),
            ("http://a/?b", "has a query"),
            ("http://me:secret@a/", "--key"),
            ("http://a b/", "not a URL"),
        ] {
            let error = parts(url).unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }
}
