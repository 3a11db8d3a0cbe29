//! A spoken conversation over one connection: `OpenAI`'s Realtime protocol, GA shape.
//!
//! The machine behind `GET /v1/realtime` and `POST /v1/realtime/calls`; `server/docs/protocol.md`
//! describes its events. Audio comes in and is listened to; when a **turn** ends it becomes an
//! **item** of the conversation, is transcribed and answered by a **response**, whose text and
//! audio go out as they are made; speech of the user stops that.
//!
//! ```text
//! client ─ handle_text ────────▶┌─────────┐─▶ poll_command ── models (listen, judge, transcribe,
//! microphone, handle_microphone▶│ Session │                   reply, cancel)
//! models ─ handle ─────────────▶│         │─▶ poll_frame ──── client: events
//! clock ── handle_timeout ─────▶└─────────┘─▶ poll_packet ─── loudspeaker (WebRTC), every 20 ms
//!                                          ─▶ poll_deadline ─ clock
//! ```
//!
//! The driver's contract: after each `handle_*`, call `poll_command` until it gives none, then
//! wait for the socket, the deadline, a model or a message. It hands in news of a reply only
//! while [`Session::wants`] names it: that bounds what waits in here.
//!
//! What always holds: each response ends exactly once, and no event of it follows its
//! `response.done`; ids do not repeat; what a client does wrong is answered by an `error` event
//! that names it, and changes nothing.

mod client;
mod command;
mod config;
mod detection;
mod echo;
mod event;
mod format;
mod frames;
mod guess;
mod hear;
mod history;
mod ids;
mod input;
mod item;
mod overlap;
mod playout;
mod respond;
mod response;
mod session;
mod settings;
mod speech;
mod timer;
mod tools;
mod turn;

pub use command::{
    Command, Message, ReplyId, Request, Role, Tool, ToolCall, ToolChoice, TranscriptionId, TurnId,
};
pub use config::{Ahead, Config, Defaults, Kind, Limits, Transport};
pub use event::{Event, Finish, RateLimit, ReplyEvent, Usage, Word};
pub use frames::{Body, Frame};
pub use session::{PACKET, Session};

use crate::Fault;

/// The fault of a client that speaks the beta shape: by its `OpenAI-Beta: realtime=v1` header,
/// or by fields of it. `why` says what gave it away.
#[must_use]
pub fn beta_disabled(why: &str) -> Fault {
    Fault::new(
        crate::Kind::Invalid,
        "beta_api_shape_disabled",
        format!(
            "The beta shape of the Realtime API is not spoken here: {why}. Use the GA shape, \
             without the header 'OpenAI-Beta: realtime=v1'."
        ),
    )
}
