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
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::brain::{Brain, News};
use super::waiting::{Place, Return};
use crate::app::App;
use crate::drain::Phase;

/// How long the client may take to answer our closing.
const CLOSING: Duration = Duration::from_secs(1);

/// See the [module](self).
pub(super) struct Driver {
    app: Arc<App>,
    brain: Brain,
    session: Session,
    /// Where a client that comes back by another connection finds this session.
    place: Place,
    /// The token and the last number with which the client asks for an earlier session.
    wanted: Option<(String, u64)>,
    origin: Instant,
    phase: Phase,
}

/// A connection.
pub(super) struct Socket {
    out: Out,
    stream: SplitStream<WebSocket>,
}

/// What ends the loop's wait.
enum Wake {
    Progress(Result<Progress, axum::Error>),
    Message(Option<Result<Message, axum::Error>>),
    News(News),
    Deadline,
    Phase(Phase),
    Return(Return),
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

/// What ends a connection.
enum Left {
    /// The session is over, and its client was told.
    Over(Box<Socket>),
    /// The client took its leave, or made no sense.
    Gone,
    /// The connection broke.
    Lost,
    /// The client has come back by another one.
    Replaced(Box<Socket>),
    /// The socket went to the session that the client had before.
    Handed,
}

impl Driver {
    pub(super) fn new(app: Arc<App>, brain: Brain, config: Config) -> Self {
        let session = Session::new(config, Duration::ZERO);
        Self {
            place: app.waiting.enter(session.resume_token()),
            app,
            brain,
            session,
            wanted: None,
            origin: Instant::now(),
            phase: Phase::Serving,
        }
    }

    pub(super) async fn run(mut self, socket: WebSocket) {
        let (sink, stream) = socket.split();
        let out = Out {
            sink,
            flushing: false,
        };
        let mut socket = Box::new(Socket { out, stream });
        loop {
            socket = match self.serve(socket).await {
                Left::Over(mut socket) => {
                    self.brain.clear();
                    // Reads to the client's own close, so that its last frames do not reset the
                    // connection before it has read ours.
                    let goodbye = async { while let Some(Ok(_)) = socket.stream.next().await {} };
                    let _ = tokio::time::timeout(CLOSING, goodbye).await;
                    return;
                }
                Left::Gone | Left::Handed => return,
                Left::Replaced(socket) => socket,
                Left::Lost => match self.wait_for_return().await {
                    Some(socket) => socket,
                    None => return,
                },
            };
        }
    }

    /// Drives the session over one connection.
    async fn serve(&mut self, mut socket: Box<Socket>) -> Left {
        loop {
            self.execute_commands();
            if let Some((token, last_seq)) = self.wanted.take() {
                match self.hand_over(socket, &token, last_seq).await {
                    Some(kept) => socket = kept,
                    None => return Left::Handed,
                }
            }
            if self.session.is_closed() && !socket.out.flushing {
                return Left::Over(socket);
            }
            match self.wait(&mut socket).await {
                Wake::Progress(Ok(progress)) => {
                    if self.progress(progress, &mut socket.out).is_err() {
                        return Left::Lost;
                    }
                }
                Wake::Message(Some(Ok(message))) => {
                    if !self.message(message) {
                        return Left::Gone;
                    }
                }
                Wake::Message(Some(Err(error))) => {
                    let Some(reason) = reason(&error) else {
                        return Left::Lost;
                    };
                    self.brain.clear();
                    let _ = tokio::time::timeout(CLOSING, socket.out.sink.send(reason)).await;
                    return Left::Gone;
                }
                // The client is gone, or takes nothing any more.
                Wake::Progress(Err(_)) | Wake::Message(None) => return Left::Lost,
                Wake::Return(back) => {
                    if let Some(next) = self.resume(back) {
                        let close = close(1000, "resumed elsewhere");
                        let _ = tokio::time::timeout(CLOSING, socket.out.sink.send(close)).await;
                        return Left::Replaced(next);
                    }
                }
                wake => self.wake(wake),
            }
        }
    }

    /// What is the same with a connection and without.
    fn wake(&mut self, wake: Wake) {
        match wake {
            Wake::News(news) => {
                let now = self.now();
                self.brain.tell(&news, &mut self.session, now);
            }
            Wake::Deadline => self.session.handle_timeout(self.now()),
            Wake::Phase(phase) => self.enter(phase),
            Wake::Progress(_) | Wake::Message(_) | Wake::Return(_) => {}
        }
    }

    /// Keeps the session going until its client comes back; none where it does not.
    async fn wait_for_return(&mut self) -> Option<Box<Socket>> {
        self.session.handle_peer_closed(self.now());
        loop {
            self.execute_commands();
            // A server that closes waits for nobody.
            if self.session.is_closed() || self.phase != Phase::Serving {
                return None;
            }
            let deadline = self.deadline();
            let app = Arc::clone(&self.app);
            let wake = tokio::select! {
                biased;
                () = app.drain.reached(Phase::Draining) => Wake::Phase(Phase::Draining),
                Some(back) = self.place.returned() => Wake::Return(back),
                () = sleep_until(deadline) => Wake::Deadline,
                news = self.brain.next(&self.session) => Wake::News(news),
            };
            match wake {
                Wake::Return(back) => {
                    if let Some(socket) = self.resume(back) {
                        return Some(socket);
                    }
                }
                wake => self.wake(wake),
            }
        }
    }

    /// Goes on with the connection of a client that has come back, if that can be.
    fn resume(&mut self, back: Return) -> Option<Box<Socket>> {
        let (token, now) = (self.session.resume_token().to_owned(), self.now());
        match self.session.resume(&token, back.last_seq, now) {
            Ok(()) => Some(back.socket),
            Err(fault) => {
                // Who does not take it back is gone.
                drop(back.refused.send((fault, back.socket)));
                None
            }
        }
    }

    /// Gives the connection to the session that its client had before. Gives it back where that
    /// cannot be, and the client is told.
    async fn hand_over(
        &mut self,
        socket: Box<Socket>,
        token: &str,
        last_seq: u64,
    ) -> Option<Box<Socket>> {
        let own = token == self.session.resume_token();
        let (fault, socket) = match self.app.waiting.find(token).filter(|_| !own) {
            None => (nobody_waits(), socket),
            Some(sender) => {
                let (refused, answer) = oneshot::channel();
                let back = Return {
                    socket,
                    last_seq,
                    refused,
                };
                match sender.send(back).await {
                    Ok(()) => answer.await.ok()?,
                    Err(error) => (nobody_waits(), error.0.socket),
                }
            }
        };
        self.session.handle(Event::ResumeFailed(fault), self.now());
        Some(socket)
    }

    async fn wait(&mut self, socket: &mut Socket) -> Wake {
        let deadline = self.deadline();
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
            progress = socket.out.progress(has_frames) => Wake::Progress(progress),
            message = socket.stream.next() => Wake::Message(message),
            Some(back) = self.place.returned() => Wake::Return(back),
            news = self.brain.next(&self.session) => Wake::News(news),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.session.poll_deadline().map(|at| self.origin + at)
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
                Command::Resume { token, last_seq } => self.wanted = Some((token, last_seq)),
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

/// What to close with when the client's bytes make no sense, or are too many; none where the
/// connection itself is lost.
fn reason(error: &axum::Error) -> Option<Message> {
    let text = error.to_string().to_lowercase();
    if text.contains("io error") || text.contains("connection") {
        return None;
    }
    Some(if text.contains("too long") || text.contains("too big") {
        close(1009, "message too big")
    } else if text.contains("utf-8") {
        close(1007, "text is not UTF-8")
    } else {
        close(1002, "protocol error")
    })
}

fn nobody_waits() -> Fault {
    Fault::new(
        Kind::NotFound,
        "session_not_resumable",
        "The session cannot be resumed: no session waits under this resume_token.",
    )
}

fn close(code: u16, reason: &'static str) -> Message {
    Message::Close(Some(CloseFrame {
        code,
        reason: reason.into(),
    }))
}
