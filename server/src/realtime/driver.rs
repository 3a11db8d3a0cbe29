//! The driver of one conversation over a WebSocket: the only place with the socket and the clock.
//!
//! One loop: have the engine do what the session wants, then wait for whatever comes first (the
//! socket takes an event, the client says something, the engine has news, a deadline, the server
//! closes) and tell the session. Every event is flushed before the next is asked for, so that a
//! client who does not read holds back its own reply and nothing else.

use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt, StreamExt};
use session::realtime::{Body, Command, Config, Event, Frame, Session};
use session::{Fault, Kind};
use tokio::time::Instant;

use super::brain::{Brain, News};
use crate::app::App;
use crate::drain::Phase;

/// How long the client may take to answer our closing.
const CLOSING: Duration = Duration::from_secs(1);

/// See the [module](self).
pub(super) struct Driver {
    app: Arc<App>,
    brain: Brain,
    session: Session,
    origin: Instant,
    phase: Phase,
}

/// What ends the loop's wait.
enum Wake {
    Progress(Result<Progress, axum::Error>),
    Message(Option<Result<Message, axum::Error>>),
    News(News),
    Deadline,
    Phase(Phase),
}

/// How far the socket has come.
#[derive(Clone, Copy)]
enum Progress {
    /// It takes an event.
    Ready,
    /// All events are on their way.
    Flushed,
}

/// The way out, and whether something is on it.
struct Out {
    sink: SplitSink<WebSocket, Message>,
    flushing: bool,
}

impl Driver {
    pub(super) fn new(app: Arc<App>, brain: Brain, config: Config) -> Self {
        Self {
            app,
            brain,
            session: Session::new(config, Duration::ZERO),
            origin: Instant::now(),
            phase: Phase::Serving,
        }
    }

    pub(super) async fn run(mut self, socket: WebSocket) {
        let (sink, mut stream) = socket.split();
        let mut out = Out {
            sink,
            flushing: false,
        };
        loop {
            self.execute_commands();
            if self.session.is_closed() && !out.flushing {
                break;
            }
            match self.wait(&mut out, &mut stream).await {
                Wake::Progress(Ok(progress)) => {
                    if self.progress(progress, &mut out).is_err() {
                        return;
                    }
                }
                Wake::Message(Some(Ok(message))) => {
                    if !self.message(message) {
                        return;
                    }
                }
                Wake::Message(Some(Err(error))) => {
                    self.brain.clear();
                    let _ = tokio::time::timeout(CLOSING, out.sink.send(reason(&error))).await;
                    return;
                }
                // The client is gone, or takes nothing any more.
                Wake::Progress(Err(_)) | Wake::Message(None) => return,
                Wake::News(news) => {
                    let now = self.now();
                    self.brain.tell(&news, &mut self.session, now);
                }
                Wake::Deadline => self.session.handle_timeout(self.now()),
                Wake::Phase(phase) => self.enter(phase),
            }
        }
        self.brain.clear();
        // Reads to the client's own close, so that its last frames do not reset the connection
        // before it has read ours.
        let goodbye = async { while let Some(Ok(_)) = stream.next().await {} };
        let _ = tokio::time::timeout(CLOSING, goodbye).await;
    }

    async fn wait(&mut self, out: &mut Out, stream: &mut SplitStream<WebSocket>) -> Wake {
        let deadline = self.session.poll_deadline().map(|at| self.origin + at);
        let next_phase = match self.phase {
            Phase::Serving => Phase::Draining,
            _ => Phase::Stopping,
        };
        let phase_watched = self.phase != Phase::Stopping;
        let has_frames = self.session.has_frames();
        let app = Arc::clone(&self.app);
        // What is due goes first: news of models never hold back an event that waits.
        tokio::select! {
            biased;
            () = app.drain.reached(next_phase), if phase_watched => Wake::Phase(next_phase),
            () = sleep_until(deadline) => Wake::Deadline,
            progress = out.progress(has_frames) => Wake::Progress(progress),
            message = stream.next() => Wake::Message(message),
            news = self.brain.next(&self.session) => Wake::News(news),
        }
    }

    fn progress(&mut self, progress: Progress, out: &mut Out) -> Result<(), axum::Error> {
        match progress {
            Progress::Ready => {
                if let Some(frame) = self.session.poll_frame(self.now()) {
                    Pin::new(&mut out.sink).start_send(message_of(frame))?;
                    out.flushing = true;
                }
            }
            Progress::Flushed => out.flushing = false,
        }
        Ok(())
    }

    /// Whether the client is still there.
    fn message(&mut self, message: Message) -> bool {
        let now = self.now();
        match message {
            Message::Text(text) => self.session.handle_text(&text, now),
            // Not JSON: the session says so.
            Message::Binary(_) => self.session.handle_text("", now),
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Close(_) => return false,
        }
        true
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        match phase {
            Phase::Serving => {}
            Phase::Draining => self.session.handle_drain(self.now()),
            Phase::Stopping => self.session.handle_stop(),
        }
    }

    fn execute_commands(&mut self) {
        while let Some(command) = self.session.poll_command() {
            match command {
                Command::Resume { .. } => {
                    let message = "Sessions that have lost their connection are not kept here.";
                    let fault = Fault::new(Kind::NotFound, "session_not_found", message);
                    self.session.handle(Event::ResumeFailed(fault), self.now());
                }
                command => self.brain.execute(command),
            }
        }
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }
}

impl Out {
    /// Flushes what was sent; then, if an event waits, becomes ready for it.
    async fn progress(&mut self, has_frames: bool) -> Result<Progress, axum::Error> {
        if !self.flushing && !has_frames {
            return pending().await;
        }
        poll_fn(|context| {
            let mut sink = Pin::new(&mut self.sink);
            if self.flushing {
                let flushed = sink.as_mut().poll_flush(context);
                return flushed.map_ok(|()| Progress::Flushed);
            }
            let ready = sink.as_mut().poll_ready(context);
            ready.map_ok(|()| Progress::Ready)
        })
        .await
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => pending().await,
    }
}

fn message_of(frame: Frame) -> Message {
    match frame.body {
        Body::Text(text) => Message::Text(text.into()),
        Body::Close { code, reason } => close(code, reason),
    }
}

/// What to close with when the client's bytes make no sense, or are too many.
fn reason(error: &axum::Error) -> Message {
    let text = error.to_string();
    if text.contains("too long") || text.contains("too big") {
        return close(1009, "message too big");
    }
    if text.to_lowercase().contains("utf-8") {
        return close(1007, "text is not UTF-8");
    }
    close(1002, "protocol error")
}

fn close(code: u16, reason: &'static str) -> Message {
    Message::Close(Some(CloseFrame {
        code,
        reason: reason.into(),
    }))
}
