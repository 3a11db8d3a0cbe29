//! The web page, embedded in the binary by `build.rs` from `web/dist`.
//!
//! Everything is served from this origin and nothing else is loaded. Without a built page, `/`
//! says how to build it.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};

use super::no_such_path;

/// One file of the page.
struct Asset {
    /// Its path below `/`.
    path: &'static str,
    /// Changes with the content.
    etag: &'static str,
    bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

const POLICY: &str = "default-src 'self'; img-src 'self' data:; media-src 'self' blob:; \
style-src 'self' 'unsafe-inline'; worker-src 'self' blob:; script-src 'self' blob:; \
connect-src 'self' ws: wss:; base-uri 'none'; frame-ancestors 'self'";

const NO_PAGE: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Promenade</title>\
<h1>Promenade</h1><p>The server runs. This binary was built without its page: run \
<code>make page</code>, then build again.</p>\
<p><a href=/docs>The interface</a> is there without it.</p></html>";

pub(super) async fn index(headers: HeaderMap) -> Response {
    match find("index.html") {
        Some(asset) => answer(asset, &headers),
        None => Html(NO_PAGE).into_response(),
    }
}

pub(super) async fn file(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let found = find(uri.path().trim_start_matches('/'));
    match found.filter(|_| method == Method::GET || method == Method::HEAD) {
        Some(asset) => answer(asset, &headers),
        None => no_such_path(uri.path()).into_response(),
    }
}

fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

fn answer(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let fixed = [
        (CONTENT_TYPE, content_type(asset.path)),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
        (ETAG, asset.etag),
    ];
    if headers
        .get(IF_NONE_MATCH)
        .is_some_and(|tag| tag.as_bytes() == asset.etag.as_bytes())
    {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    (fixed, asset.bytes).into_response()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" | "md" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
