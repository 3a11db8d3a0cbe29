//! `POST /v1/chat/completions`: a conversation in, its continuation out, as it is written.
//!
//! The answer's head waits for the first text, so that whatever goes wrong before it has a status
//! and an error body. In one piece, so has whatever goes wrong later; in a stream of events, a
//! failure is an event with an `error`, and no `[DONE]` follows.

mod choices;
mod messages;
mod request;
mod wire;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use engine::{Handle, Job};
use futures_core::Stream;
use serde_json::{Value, json};
use session::{Fault, Kind};

use self::choices::{Choices, Piece, Start};
use self::request::{Ask, Events};
use self::wire::{DONE, Head, Whole};
use super::answer::{IGNORED, NO_BUFFERING, event, response};
use super::body::read_json;
use super::{Failure, error};
use crate::app::{App, Loaded, seconds_since_1970};
use crate::auth::Caller;
use crate::bridge;
use crate::config::seconds;

pub(super) async fn complete(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Failure> {
    let loaded = app.loaded()?;
    let limits = &app.config.limits;
    let (head, body) = request.into_parts();
    let patience = seconds(limits.body_seconds);
    let bytes = read_json(&head.headers, body, limits.body_bytes, patience).await?;
    let ask = Ask::parse(&bytes, &loaded.catalog, limits)?;
    drop(bytes);
    let mut headers = headers_of(&ask);
    let events = ask.events;
    let (head, mut choices) = begin(&app, loaded, &caller, &ask)?;
    choices.begin().await?;
    if let Some(events) = events {
        headers.insert(NO_BUFFERING, HeaderValue::from_static("no"));
        let stream = Chunks::new(head, choices, events);
        return Ok(response(headers, Body::from_stream(stream)));
    }
    let whole = whole(&head, choices, limits.whole_bytes).await?;
    Ok(response(headers, Body::from(whole.to_string())))
}

/// Hands the conversation to the engine, once for each answer.
fn begin(
    app: &Arc<App>,
    loaded: &Loaded,
    caller: &Caller,
    ask: &Ask,
) -> Result<(Head, Choices), Fault> {
    let begun_at = loaded.engine.now();
    let places = (0..ask.choices).map(|_| app.admission.stream(caller.key));
    let admitted = places.collect::<Result<Vec<_>, _>>()?;
    let mut outputs = Vec::with_capacity(ask.choices);
    let mut id = None;
    for index in 0..ask.choices as u64 {
        let mut options = ask.options.clone();
        // Answers that differ, and that are the same next time.
        options.seed = ask.options.seed.map(|seed| seed.wrapping_add(index));
        let model = ask.model.clone();
        let submitted = loaded.engine.submit(Job { model, options });
        let handle: Handle = submitted.map_err(|error| bridge::fault(&error))?;
        id.get_or_insert(handle.id);
        outputs.push(handle.outputs);
    }
    let head = Head {
        id: format!("chatcmpl-{:x}-{}", loaded.at, id.map_or(0, |id| id.0)),
        created: seconds_since_1970(),
        model: ask.model.clone(),
    };
    let choices = Choices::new(Start {
        outputs,
        engine: loaded.engine.clone(),
        stats: app.metrics.chat(&ask.model, ask.choices),
        admitted,
        begun_at,
        drain: app.drain.clone(),
        limit: seconds(app.config.limits.stream_seconds),
    });
    Ok((head, choices))
}

/// Collects all answers.
async fn whole(head: &Head, mut choices: Choices, limit: usize) -> Result<Value, Fault> {
    let mut all = vec![Whole::default(); choices.count()];
    let mut bytes = 0;
    while let Some(piece) = choices.next_piece().await? {
        match piece {
            Piece::Text { index, text } => {
                bytes += text.len();
                if let Some(whole) = all.get_mut(index) {
                    whole.text.push_str(&text);
                }
            }
            Piece::End { index, finish } => {
                if let Some(whole) = all.get_mut(index) {
                    whole.finish = Some(finish);
                }
            }
        }
        if bytes > limit {
            return Err(Fault::new(
                Kind::TooLarge,
                "answer_too_large",
                format!("The answer is larger than {limit} bytes; ask with 'stream': true."),
            ));
        }
    }
    Ok(head.whole(&all, choices.tokens()))
}

fn headers_of(ask: &Ask) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut insert = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    let kind = match ask.events {
        Some(_) => "text/event-stream",
        None => "application/json",
    };
    insert(CONTENT_TYPE, kind);
    insert(CACHE_CONTROL, "no-store");
    if !ask.ignored.is_empty() {
        insert(IGNORED, &ask.ignored.join(", "));
    }
    headers
}

/// The body of a streamed answer.
struct Chunks {
    head: Head,
    choices: Choices,
    events: Events,
    /// To be sent before anything else.
    ready: VecDeque<Bytes>,
    over: bool,
}

impl Chunks {
    fn new(head: Head, choices: Choices, events: Events) -> Self {
        let role = json!({"role": "assistant", "content": "", "refusal": null});
        let first = |index| head.chunk(index, &role, None, events.usage);
        Self {
            ready: (0..choices.count()).map(first).collect(),
            over: false,
            head,
            choices,
            events,
        }
    }

    fn bytes(&self, piece: &Piece) -> Bytes {
        let usage = self.events.usage;
        match piece {
            Piece::Text { index, text } => {
                self.head
                    .chunk(*index, &json!({"content": &**text}), None, usage)
            }
            Piece::End { index, finish } => {
                self.head.chunk(*index, &json!({}), Some(*finish), usage)
            }
        }
    }

    /// All answers are complete.
    fn end(&mut self) {
        self.over = true;
        if self.events.usage {
            self.ready
                .push_back(self.head.usage_chunk(self.choices.tokens()));
        }
        self.ready.push_back(DONE);
    }

    fn fail(&mut self, fault: &Fault) {
        self.over = true;
        tracing::warn!(
            code = fault.code,
            "an answer failed after it had begun: {fault}"
        );
        self.ready.push_back(event(&error::error_body(fault)));
    }
}

impl Stream for Chunks {
    type Item = Result<Bytes, Fault>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(bytes) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(bytes)));
            }
            if this.over {
                return Poll::Ready(None);
            }
            match ready!(this.choices.poll_piece(context)) {
                Ok(Some(piece)) => return Poll::Ready(Some(Ok(this.bytes(&piece)))),
                Ok(None) => this.end(),
                Err(fault) => this.fail(&fault),
            }
        }
    }
}
