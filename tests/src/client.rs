//! A plain HTTP/1.1 client that keeps what a listener would notice: the status, the headers, and when
//! each piece of the body came.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, client::conn::http1, header::HeaderMap};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// One address; every request has a connection of its own.
pub struct Client {
    address: String,
}

/// A whole answer.
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Header fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// When the first and the last piece of the body arrived, since the request was sent.
    pub first_and_last: (Duration, Duration),
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Errors
    /// If it is none.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).context("the body is not JSON")
    }
}

/// A body that is still arriving. Dropping it closes the connection, as a listener who leaves does.
pub struct Body {
    /// HTTP status.
    pub status: u16,
    incoming: Incoming,
}

impl Body {
    /// The next piece, or none at the end.
    ///
    /// # Errors
    /// If the server broke the body off.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        while let Some(frame) = self.incoming.frame().await {
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

impl Client {
    /// A client of the server at `host:port`.
    #[must_use]
    pub fn new(address: &str) -> Self {
        Self {
            address: address.to_owned(),
        }
    }

    /// GET, whole.
    ///
    /// # Errors
    /// If the connection fails or breaks.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        self.whole(Request::get(path), Bytes::new()).await
    }

    /// POST of a JSON value, whole.
    ///
    /// # Errors
    /// If the connection fails or breaks, also in the middle of the body.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.whole(Self::json_post(path), body.to_string().into())
            .await
    }

    /// POST of a JSON value; the body is handed over as it comes.
    ///
    /// # Errors
    /// If the connection fails.
    pub async fn stream(&self, path: &str, body: &Value) -> Result<Body> {
        let response = self
            .send(Self::json_post(path), body.to_string().into())
            .await?;
        Ok(Body {
            status: response.status().as_u16(),
            incoming: response.into_body(),
        })
    }

    fn json_post(path: &str) -> hyper::http::request::Builder {
        Request::post(path).header("content-type", "application/json")
    }

    async fn whole(&self, request: hyper::http::request::Builder, body: Bytes) -> Result<Answer> {
        let sent = clock();
        let response = self.send(request, body).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut incoming = response.into_body();
        let (mut body, mut first) = (Vec::new(), None);
        while let Some(frame) = incoming.frame().await {
            if let Ok(data) = frame?.into_data() {
                first.get_or_insert_with(|| sent.elapsed());
                body.extend_from_slice(&data);
            }
        }
        let last = sent.elapsed();
        Ok(Answer {
            status,
            headers,
            body: body.into(),
            first_and_last: (first.unwrap_or(last), last),
        })
    }

    async fn send(
        &self,
        request: hyper::http::request::Builder,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let socket = TcpStream::connect(&self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
        // The connection ends by itself with the body, or when the body is dropped.
        tokio::spawn(connection);
        Ok(sender
            .send_request(
                request
                    .header("host", &self.address)
                    .body(Full::new(body))?,
            )
            .await?)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a client outside the program has a clock of its own"
)]
fn clock() -> Instant {
    Instant::now()
}
