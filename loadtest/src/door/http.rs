//! `POST /v1/audio/speech`: one body, streamed in the container that was asked for.

use ::http::{HeaderMap, Request, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Ask, Door, End, connect, is_refusal, model_time};
use crate::clock::Clock;
use crate::target::Target;
use crate::trace::{Failure, Recorder};

/// Where speech is asked for.
const PATH: &str = "/v1/audio/speech";

/// How much of an error's body is kept, in bytes.
const ERROR_BYTES: usize = 400;

/// How much of a page is read, in bytes. A metrics page of a busy server is some 100 KB.
const PAGE_BYTES: usize = 16 << 20;

pub(super) async fn speak(
    door: &Door,
    clock: &Clock,
    text: &str,
    seen: &mut Recorder,
) -> Result<(), End> {
    let stream = connect(&door.target).await?;
    seen.connected(clock.now());
    let request = speech_request(&door.target, &door.ask, text)?;
    let (response, _connection) = send(stream, request).await?;
    let status = response.status().as_u16();
    if is_refusal(status) {
        return Err(End::Refused(status));
    }
    let (head, mut body) = response.into_parts();
    if status != 200 {
        let body = error_words(&mut body).await;
        return Err(Failure::Status { status, body }.into());
    }
    if let Some(rate) = pcm_rate(&head.headers) {
        seen.rate(rate)?;
    }
    note_model_time(&head.headers, seen);
    while let Some(frame) = body.frame().await {
        let now = clock.now();
        let frame = frame.map_err(cut_off)?;
        if let Some(bytes) = frame.data_ref() {
            seen.bytes(now, bytes)?;
        }
        if let Some(trailers) = frame.trailers_ref() {
            note_model_time(trailers, seen);
        }
    }
    Ok(())
}

/// The body of `GET path`, as text.
///
/// # Errors
/// When it cannot be had with status 200, or is no text.
pub async fn get(target: &Target, path: &str, key: Option<&str>) -> Result<String, Failure> {
    let request = with_key(Request::get(target.path(path)), key)
        .header(header::HOST, &target.authority)
        .body(Empty::<Bytes>::new())
        .map_err(|error| Failure::Malformed(error.to_string()))?;
    let (mut response, _connection) = send(connect(target).await?, request).await?;
    let status = response.status().as_u16();
    if status != 200 {
        let body = error_words(response.body_mut()).await;
        return Err(Failure::Status { status, body });
    }
    let body = http_body_util::Limited::new(response.into_body(), PAGE_BYTES);
    let bytes = body
        .collect()
        .await
        .map_err(|e| Failure::CutOff(e.to_string()))?;
    String::from_utf8(bytes.to_bytes().to_vec())
        .map_err(|error| Failure::Malformed(error.to_string()))
}

/// The request for `text`.
pub(crate) fn speech_request(
    target: &Target,
    ask: &Ask,
    text: &str,
) -> Result<Request<Full<Bytes>>, Failure> {
    let mut fields = ask.fields();
    fields.insert("input".into(), text.into());
    fields.insert("stream_format".into(), "audio".into());
    let body = Value::Object(fields).to_string();
    with_key(Request::post(target.path(PATH)), ask.key.as_deref())
        .header(header::HOST, &target.authority)
        .header(header::CONTENT_TYPE, "application/json")
        // Says that trailers are welcome: the model's time comes in one.
        .header(header::TE, "trailers")
        .body(Full::from(body))
        .map_err(|error| Failure::Malformed(format!("cannot build the request: {error}")))
}

fn with_key(request: ::http::request::Builder, key: Option<&str>) -> ::http::request::Builder {
    match key {
        Some(key) => request.header(header::AUTHORIZATION, format!("Bearer {key}")),
        None => request,
    }
}

/// Sends `request` on its own connection. The connection lives as long as the second value.
pub(crate) async fn send<B>(
    stream: TcpStream,
    request: Request<B>,
) -> Result<(::http::Response<Incoming>, JoinSet<()>), Failure>
where
    B: hyper::body::Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(cut_off)?;
    let mut task = JoinSet::new();
    task.spawn(async move {
        // Its error reaches the request or the body, which is where it is told.
        let _ = connection.await;
    });
    let response = sender.send_request(request).await.map_err(cut_off)?;
    Ok((response, task))
}

#[expect(clippy::needless_pass_by_value, reason = "fits map_err")]
fn cut_off(error: hyper::Error) -> Failure {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
    Failure::CutOff(format!("{error}{}", cause.unwrap_or_default()))
}

/// The beginning of an error's body, on one line.
async fn error_words(body: &mut Incoming) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < ERROR_BYTES {
        let Some(Ok(frame)) = body.frame().await else {
            break;
        };
        bytes.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new()));
    }
    bytes.truncate(ERROR_BYTES);
    let words = String::from_utf8_lossy(&bytes).into_owned();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rate of bare samples, where the type of the body says it: `audio/pcm;rate=24000`.
fn pcm_rate(headers: &HeaderMap) -> Option<u32> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let mut parts = kind.split(';').map(str::trim);
    let bare = ["audio/pcm", "audio/l16"];
    let name = parts.next()?.to_ascii_lowercase();
    bare.contains(&name.as_str()).then_some(())?;
    parts.find_map(|part| part.strip_prefix("rate=")?.parse().ok())
}

fn note_model_time(headers: &HeaderMap, seen: &mut Recorder) {
    if let Some(wall) = model_time(headers) {
        seen.model_time(wall);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_believed_only_for_bare_samples() {
        for (kind, rate) in [
            ("audio/pcm;rate=22050", Some(22_050)),
            ("audio/L16; channels=1; rate=16000", Some(16_000)),
            ("audio/pcm", None),
            ("audio/wav;rate=8000", None),
            ("audio/pcm;rate=fast", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
            assert_eq!(pcm_rate(&headers), rate, "{kind}");
        }
    }
}
