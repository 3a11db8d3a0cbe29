//! `POST /v1/audio/transcriptions` and `/v1/audio/translations`: a recording in, its words out.
//!
//! The form is read and the file decoded before anything is asked of a model. A stream begins with
//! the first words; what goes wrong before them has a status and an error body.

mod form;
mod wire;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use codecs::{SampleRate, Samples};
use engine::{Job, Options, Output, Outputs, Sound, Value};
use futures_core::Stream;
use futures_util::StreamExt;
use session::{Fault, Kind};

use self::form::{Form, Shape};
use self::wire::Transcript;
use super::answer::{IGNORED, NO_BUFFERING, cut_short, event, response};
use super::{Failure, error};
use crate::admission::Admitted;
use crate::app::{App, Loaded};
use crate::auth::Caller;
use crate::bridge;
use crate::config::seconds;

pub(super) async fn transcribe(
    state: State<Arc<App>>,
    caller: Extension<Caller>,
    request: Request,
) -> Result<Response, Failure> {
    answer(&state, &caller, request, false).await
}

pub(super) async fn translate(
    state: State<Arc<App>>,
    caller: Extension<Caller>,
    request: Request,
) -> Result<Response, Failure> {
    answer(&state, &caller, request, true).await
}

async fn answer(
    app: &Arc<App>,
    caller: &Caller,
    request: Request,
    translate: bool,
) -> Result<Response, Failure> {
    let loaded = app.loaded()?;
    let limits = &app.config.limits;
    let reading = form::read(request, limits.file_bytes, translate);
    let form = tokio::time::timeout(seconds(limits.body_seconds), reading).await;
    let mut form = form.map_err(|_| late(limits.body_seconds))??;
    let (model, rate) = recogniser(loaded, form.model.as_deref())?;
    let file = std::mem::take(&mut form.file);
    let samples = decoded(file, rate, seconds(limits.recording_seconds)).await?;
    let duration = Samples::of(&samples).at(rate).as_secs_f64();
    let admitted = app.admission.stream(caller.key)?;
    let job = job(model, samples, rate, &form, translate);
    let handle = loaded
        .engine
        .submit(job)
        .map_err(|error| bridge::fault(&error))?;
    let words = Words {
        outputs: handle.outputs,
        _admitted: admitted,
    };
    let headers = headers_of(&form);
    let transcript = Transcript::new(&form, duration, rate, translate);
    if form.stream {
        return Ok(response(
            headers,
            Body::from_stream(events(words, transcript).await?),
        ));
    }
    let text = whole(words, transcript, form.shape).await?;
    Ok(response(headers, Body::from(text)))
}

fn late(limit: f64) -> Fault {
    Fault::new(
        Kind::Slow,
        "body_timeout",
        format!("The body did not arrive within {limit} s."),
    )
}

/// The recogniser that a name leads to, and the rate at which it hears.
fn recogniser(loaded: &Loaded, name: Option<&str>) -> Result<(String, SampleRate), Fault> {
    let id = loaded.catalog.recognising(name)?.id.clone();
    let info = loaded.engine.models().iter().find(|info| info.id == id);
    let rate = info.and_then(|info| info.hears).unwrap_or_default();
    Ok((id, bridge::rate_of(rate)?))
}

/// Decodes the file on a thread of its own: it may take a while.
async fn decoded(
    file: Vec<u8>,
    rate: SampleRate,
    longest: std::time::Duration,
) -> Result<Vec<f32>, Fault> {
    let longest = rate.samples_floor(longest);
    let decoding = tokio::task::spawn_blocking(move || codecs::audio::decode(file, rate, longest));
    let decoded = decoding.await.map_err(|_| {
        Fault::new(
            Kind::Invalid,
            "invalid_file",
            "The file could not be decoded.",
        )
    })?;
    decoded.map_err(|error| {
        let code = match error {
            codecs::Error::Overlong { .. } => "recording_too_long",
            _ => "invalid_file",
        };
        Fault::field("file", code, format!("Invalid 'file': {error}."))
    })
}

fn job(model: String, samples: Vec<f32>, rate: SampleRate, form: &Form, translate: bool) -> Job {
    let mut options = Options {
        audio: Some(Sound {
            samples: samples.into(),
            rate: rate.hz(),
        }),
        ..Options::default()
    };
    let mut set = |name: &str, value: Value| options.extra.insert(name.to_owned(), value);
    if let Some(language) = &form.language {
        set("language", Value::Text(language.clone()));
    }
    if let Some(prompt) = &form.prompt {
        set("prompt", Value::Text(prompt.clone()));
    }
    if form.shape.has_times() {
        set("timestamps", Value::Bool(true));
    }
    if translate {
        set("translate", Value::Bool(true));
    }
    Job { model, options }
}

fn headers_of(form: &Form) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let kind = match (form.stream, form.shape) {
        (true, _) => "text/event-stream",
        (false, Shape::Json | Shape::Verbose) => "application/json",
        (false, Shape::Text | Shape::Srt) => "text/plain; charset=utf-8",
        (false, Shape::Vtt) => "text/vtt; charset=utf-8",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if form.stream {
        headers.insert(NO_BUFFERING, HeaderValue::from_static("no"));
    }
    if let Ok(ignored) = HeaderValue::from_str(&form.ignored.join(", "))
        && !ignored.is_empty()
    {
        headers.insert(IGNORED, ignored);
    }
    headers
}

/// What the model makes of the recording. Dropping it cancels.
struct Words {
    outputs: Outputs,
    _admitted: Admitted,
}

/// The whole transcript, in its shape.
async fn whole(
    mut words: Words,
    mut transcript: Transcript,
    shape: Shape,
) -> Result<String, Fault> {
    loop {
        match words.outputs.next().await {
            Some(Output::Done { .. }) => return Ok(transcript.written(shape)),
            Some(Output::Failed(error)) => return Err(bridge::fault(&error)),
            Some(output) => transcript.take(&output),
            None => return Err(cut_short()),
        }
    }
}

/// The events of a stream, once the first one is certain to come.
async fn events(mut words: Words, mut transcript: Transcript) -> Result<Events, Fault> {
    let first = words.outputs.next().await.ok_or_else(cut_short)?;
    if let Output::Failed(error) = &first {
        return Err(bridge::fault(error));
    }
    let ready = transcript.events(&first).into();
    Ok(Events {
        is_over: matches!(first, Output::Done { .. }),
        words,
        transcript,
        ready,
    })
}

struct Events {
    words: Words,
    transcript: Transcript,
    ready: std::collections::VecDeque<Bytes>,
    is_over: bool,
}

impl Stream for Events {
    type Item = Result<Bytes, Fault>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(bytes) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(bytes)));
            }
            if this.is_over {
                return Poll::Ready(None);
            }
            let fault = match ready!(Pin::new(&mut this.words.outputs).poll_next(context)) {
                Some(Output::Failed(error)) => bridge::fault(&error),
                Some(output) => {
                    this.is_over = matches!(output, Output::Done { .. });
                    this.ready.extend(this.transcript.events(&output));
                    continue;
                }
                None => cut_short(),
            };
            this.is_over = true;
            tracing::warn!(
                code = fault.code,
                "a transcript failed after it had begun: {fault}"
            );
            this.ready.push_back(event(&error::error_body(&fault)));
        }
    }
}
