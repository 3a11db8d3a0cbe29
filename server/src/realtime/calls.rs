//! `POST /v1/realtime/calls`: an offer in, an answer out, and a conversation over WebRTC; and how
//! to hang up from beside it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use axum::Extension;
use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Path, RawQuery, Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::Value;
use session::realtime::{self, Transport};
use session::{Fault, Kind, near};
use tokio::sync::mpsc;

use super::brain::Brain;
use super::call::Call;
use super::{begin, model_in, random_id, speaks_beta};
use crate::app::App;
use crate::auth::Caller;
use crate::config::seconds;
use crate::http::Failure;

/// Bytes of a body: an offer has a few thousand, a session's instructions and tools are the most.
const LARGEST: usize = 2 * 1024 * 1024;

/// What may be asked of a call from beside it.
#[derive(Debug)]
pub(super) enum Control {
    HangUp,
}

/// How many calls that have ended are remembered: who closes a connection and hangs up in one
/// breath is not told that there is no call.
const REMEMBERED: usize = 1024;

/// Calls that go on, by their ids.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ongoing(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    open: HashMap<String, mpsc::Sender<Control>>,
    /// The last that have ended, the oldest first.
    ended: VecDeque<String>,
}

/// A place among them; given up when it is dropped.
pub(super) struct Place {
    ongoing: Ongoing,
    id: String,
    controls: mpsc::Receiver<Control>,
}

impl Ongoing {
    fn enter(&self, id: String) -> Place {
        let (sender, controls) = mpsc::channel(4);
        self.0.lock().open.insert(id.clone(), sender);
        let ongoing = self.clone();
        Place {
            ongoing,
            id,
            controls,
        }
    }

    /// A call, or none if it has just ended.
    fn find(&self, id: &str) -> Result<Option<mpsc::Sender<Control>>, Fault> {
        let known = self.0.lock();
        match known.open.get(id) {
            Some(call) => Ok(Some(call.clone())),
            None if known.ended.iter().any(|ended| ended == id) => Ok(None),
            None => Err(no_call(id)),
        }
    }
}

impl Place {
    /// What is asked for next.
    pub(super) async fn control(&mut self) -> Option<Control> {
        self.controls.recv().await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut known = self.ongoing.0.lock();
        known.open.remove(&self.id);
        if known.ended.len() >= REMEMBERED {
            known.ended.pop_front();
        }
        known.ended.push_back(std::mem::take(&mut self.id));
    }
}

/// Takes a call.
pub(crate) async fn take(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Failure> {
    if speaks_beta(request.headers()) {
        return Err(realtime::beta_disabled("the header 'OpenAI-Beta' asks for it").into());
    }
    let loaded = app.loaded()?;
    let patience = app.config.limits.body_seconds;
    let asked = tokio::time::timeout(seconds(patience), Asked::read(request)).await;
    let asked = asked.map_err(|_| late(patience))??;
    let session = asked.session(&caller)?;
    let query = model_in(query.as_deref());
    let (roles, config) = begin(&app, loaded, query, session, Transport::WebRtc)?;
    let (peer, answer) = app.calls.answer(&asked.offer).await?;
    let id = random_id("rtc_")?;
    let location = format!("/v1/realtime/calls/{id}");
    let brain = Brain::new(Arc::clone(&app), loaded.engine.clone(), caller, roles);
    let place = app.ongoing.enter(id);
    let call = Call::new(Arc::clone(&app), brain, config, peer, place);
    let inside = app.drain.inside();
    tokio::spawn(async move {
        call.run().await;
        drop(inside);
    });
    let headers = [
        (CONTENT_TYPE, "application/sdp".to_owned()),
        (LOCATION, location),
    ];
    Ok((StatusCode::CREATED, headers, answer).into_response())
}

/// Ends a call.
pub(crate) async fn hang_up(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    if let Some(call) = app.ongoing.find(&id)? {
        // One that ends in this moment has been hung up too.
        let _ = call.send(Control::HangUp).await;
    }
    Ok(StatusCode::OK)
}

/// What a caller sent.
#[derive(Debug, Default)]
struct Asked {
    offer: String,
    session: Option<Value>,
}

impl Asked {
    async fn read(mut request: Request) -> Result<Self, Fault> {
        DefaultBodyLimit::max(LARGEST).apply(&mut request);
        match kind(request.headers()) {
            Some("application/sdp") => {
                let offer = String::from_request(request, &()).await;
                let offer = offer.map_err(|rejection| match rejection.status() {
                    StatusCode::PAYLOAD_TOO_LARGE => too_large(),
                    _ => broken(&rejection.body_text()),
                })?;
                Ok(Self {
                    offer,
                    session: None,
                })
            }
            Some("multipart/form-data") => Self::read_form(request).await,
            other => Err(Fault::new(
                Kind::MediaType,
                "unsupported_media_type",
                format!(
                    "Expected 'Content-Type: application/sdp' with the offer, or \
                     'multipart/form-data' with the parts 'sdp' and 'session', but got {}.",
                    near::quoted(other.unwrap_or("none")),
                ),
            )),
        }
    }

    async fn read_form(request: Request) -> Result<Self, Fault> {
        let parts = Multipart::from_request(request, &()).await;
        let mut parts = parts.map_err(|error| broken(&error.body_text()))?;
        let (mut offer, mut session) = (None, None);
        while let Some(field) = parts.next_field().await.map_err(|error| unread(&error))? {
            let name = field.name().unwrap_or_default().to_owned();
            let place = match name.as_str() {
                "sdp" => &mut offer,
                "session" => &mut session,
                _ => {
                    let hint = near::hint(&name, ["sdp", "session"]);
                    let message = format!(
                        "Unknown part {}{hint}. Accepted: sdp, session.",
                        near::quoted(&name)
                    );
                    return Err(Fault::field(name, "unknown_field", message));
                }
            };
            *place = Some(field.text().await.map_err(|error| unread(&error))?);
        }
        let session = session.map(|text| serde_json::from_str(&text));
        let session = session.transpose().map_err(|error| {
            let message = format!("The part 'session' is not JSON: {error}.");
            Fault::field("session", "invalid_json", message)
        })?;
        Ok(Self {
            offer: offer.ok_or_else(|| Fault::missing("sdp"))?,
            session,
        })
    }

    /// What the session begins with: what came with the offer, or what a client secret stands for.
    fn session(&self, caller: &Caller) -> Result<Option<Value>, Fault> {
        match (&self.session, caller.granted()) {
            (Some(_), Some(_)) => Err(Fault::field(
                "session",
                "session_fixed",
                "The client secret stands for a session of its own; leave out the part 'session', \
                 or send 'session.update' once the call is connected.",
            )),
            (own, granted) => Ok(own.clone().or_else(|| granted.cloned())),
        }
    }
}

/// The kind of a body, without parameters.
fn kind(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(str::trim)
}

fn unread(error: &MultipartError) -> Fault {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => broken(&error.body_text()),
    }
}

fn broken(why: &str) -> Fault {
    let message = format!("The body could not be read: {}.", why.trim_end_matches('.'));
    Fault::new(Kind::Invalid, "invalid_body", message)
}

fn too_large() -> Fault {
    let message = format!("The body is larger than {LARGEST} bytes, which is the limit.");
    Fault::new(Kind::TooLarge, "body_too_large", message)
}

fn late(limit: f64) -> Fault {
    let message = format!("The body did not arrive within {limit} s.");
    Fault::new(Kind::Slow, "body_timeout", message)
}

fn no_call(id: &str) -> Fault {
    let message = format!(
        "There is no call {}; it may have ended long ago.",
        near::quoted(id)
    );
    Fault::new(Kind::NotFound, "call_not_found", message)
}
