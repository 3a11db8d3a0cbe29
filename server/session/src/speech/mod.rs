//! Speech over one socket: text comes in as it is written, audio goes out as it is made.
//!
//! The machine behind `WS /v1/audio/speech/stream`; `server/docs/protocol.md` describes its
//! messages. A socket is a [`Session`]; it holds **contexts**, each a line of text being spoken,
//! and a context speaks **utterances** one after the other: the text up to `input.done`. An
//! utterance is one request to the engine, so that nothing waits between its sentences.
//!
//! ```text
//! socket ── handle_message ─▶┌─────────┐─▶ poll_command ── engine (open, feed, flush, end, cancel)
//! engine ── handle_event ───▶│ Session │─▶ poll_frame ──── socket (one when the socket is ready)
//! clock ─── handle_timeout ─▶└─────────┘─▶ poll_deadline ─ clock
//! ```
//!
//! The driver's contract: after each `handle_*`, call `poll_command` until it gives none, then
//! wait for the socket, the deadline, the engine or a message. It takes engine events only for
//! utterances that [`Session::wants`] names; that is what bounds the frames in here, and what
//! keeps utterances of one context in order.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//! use session::{Catalog, catalog::{Model, Task}, speech::{Command, Config, Session}};
//!
//! let model = Model { id: "toy".into(), voices: vec![], default_voice: None, task: Task::Speech };
//! let config = Config::new(Arc::new(Catalog { models: vec![model] }));
//! let mut session = Session::new(config, Duration::ZERO);
//! session.handle_message(Duration::ZERO, br#"{"type":"session.config"}"#);
//! session.handle_message(Duration::ZERO, br#"{"type":"input.text","text":"Hello."}"#);
//! assert!(matches!(session.poll_command(), Some(Command::Open { .. })));
//! assert!(matches!(session.poll_command(), Some(Command::Feed { .. })));
//! ```

mod context;
mod event;
mod frames;
mod message;
mod sentences;
mod session;
mod timer;
mod utterance;

pub use event::{Event, Word};
pub use frames::{Body, Frame};
pub use session::{Command, Config, Limits, Session, UtteranceId};
