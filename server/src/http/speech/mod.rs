//! `POST /v1/audio/speech`: one text in, a body of audio out as it is made.
//!
//! The answer's head waits for the first audio, so that whatever goes wrong before it has a
//! status and an error body. Afterwards a failure aborts the chunked body (no last chunk, the
//! connection closes), or is a `speech.audio.error` event: it never looks like a normal end.

mod request;
mod stream;

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use codecs::audio::{Format, wav};
use engine::Handle;
use futures_util::StreamExt;
use session::{Fault, Kind};

use self::request::Ask;
use self::stream::{Framing, Speech, Start};
use super::answer::{IGNORED, NO_BUFFERING, closing, event, response, too_long};
use super::body::read_json;
use super::{Failure, error};
use crate::app::{App, Loaded};
use crate::auth::Caller;
use crate::bridge;
use crate::config::seconds;
use crate::drain::Phase;
use crate::metrics::Door;

const SAMPLE_RATE: HeaderName = HeaderName::from_static("x-promenade-sample-rate");

pub(super) async fn speak(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Failure> {
    let loaded = app.loaded()?;
    let limits = &app.config.limits;
    let (head, body) = request.into_parts();
    let patience = seconds(limits.body_seconds);
    let bytes = read_json(&head.headers, body, limits.body_bytes, patience).await?;
    let ask = Ask::parse(&bytes, &loaded.catalog, limits.input_chars)?;
    let mut speech = begin(&app, loaded, &caller, &ask)?;
    let stopping = app.drain.clone();
    tokio::select! {
        begun = speech.begin() => begun?,
        () = stopping.reached(Phase::Stopping) => return Err(closing().into()),
        () = tokio::time::sleep(seconds(limits.stream_seconds)) => return Err(too_long().into()),
    }
    let mut headers = headers_of(&ask);
    if ask.whole {
        let body = whole(speech, &ask, limits.whole_bytes).await?;
        return Ok(response(headers, Body::from(body)));
    }
    headers.insert(NO_BUFFERING, HeaderValue::from_static("no"));
    Ok(response(headers, Body::from_stream(speech)))
}

/// Hands the text to the engine.
fn begin(app: &Arc<App>, loaded: &Loaded, caller: &Caller, ask: &Ask) -> Result<Speech, Fault> {
    let admitted = app.admission.stream(caller.key)?;
    let now = loaded.engine.now();
    let job = bridge::job(&ask.settings);
    let handle = loaded
        .engine
        .submit(job)
        .map_err(|error| bridge::fault(&error))?;
    let Handle { feed, outputs, .. } = handle;
    let (door, framing) = if ask.sse {
        (Door::Sse, Framing::Events)
    } else {
        (Door::Http, Framing::Plain)
    };
    let format = if ask.whole && ask.settings.format == Format::Wav {
        Format::Pcm // the header comes when the length is known
    } else {
        ask.settings.format
    };
    let limit = seconds(app.config.limits.stream_seconds);
    Ok(Speech::new(Start {
        outputs,
        feeding: stream::feed(feed, &ask.input),
        format,
        framing,
        engine: loaded.engine.clone(),
        stats: app.metrics.stream(door),
        admitted,
        begun_at: now,
        drain: app.drain.clone(),
        limit,
    }))
}

/// Collects all of the audio.
async fn whole(mut speech: Speech, ask: &Ask, limit: usize) -> Result<Vec<u8>, Fault> {
    let mut audio: Vec<u8> = Vec::new();
    while let Some(piece) = speech.next().await {
        audio.extend_from_slice(&piece?);
        if audio.len() > limit {
            return Err(Fault::new(
                Kind::TooLarge,
                "audio_too_large",
                format!("The audio is larger than {limit} bytes; ask without 'stream': false."),
            ));
        }
    }
    if ask.settings.format == Format::Wav {
        let samples = codecs::Samples(audio.len() as u64 / 2);
        let header = wav::file_header(ask.settings.format.sample_rate(), samples);
        let header = header.map_err(|error| bridge::internal(&error))?;
        audio.splice(0..0, header);
    }
    Ok(audio)
}

fn headers_of(ask: &Ask) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let rate = ask.settings.format.sample_rate().hz();
    let kind = if ask.sse {
        "text/event-stream".to_owned()
    } else if ask.settings.format == Format::Pcm {
        // Raw samples do not describe themselves.
        format!("audio/pcm; rate={rate}; channels=1; encoding=s16le")
    } else {
        ask.settings.format.content_type().to_owned()
    };
    let mut insert = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    insert(CONTENT_TYPE, &kind);
    insert(CACHE_CONTROL, "no-store");
    insert(SAMPLE_RATE, &rate.to_string());
    if !ask.ignored.is_empty() {
        insert(IGNORED, &ask.ignored.join(", "));
    }
    headers
}

fn error_event(fault: &Fault) -> Bytes {
    let mut value = error::error_body(fault);
    value["type"] = "speech.audio.error".into();
    event(&value)
}
