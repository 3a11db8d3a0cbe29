//! The driver of one conversation over a WebSocket: the only place with the socket and the clock.
//!
//! One loop: have the engine do what the session wants, then wait for whatever comes first (the
//! socket takes an event, the client says something, the engine has news, a deadline, the server
//! closes) and tell the session. Every event is flushed before the next is asked for, so that a
//! client who does not read holds back its own reply and nothing else.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use session::realtime::{Body, Command, Config, Event, Frame, Session};
use session::{Fault, Kind};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::brain::{Brain, News};
use super::waiting::{Place, Return};
use crate::app::App;
use crate::drain::Phase;
use crate::socket::{self, Out, Progress};

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
        let out = Out::new(sink);
        let mut socket = Box::new(Socket { out, stream });
        loop {
            socket = match self.serve(socket).await {
                Left::Over(mut socket) => {
                    self.brain.clear();
                    socket::read_out(&mut socket.stream).await;
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
            if self.session.is_closed() && !socket.out.is_flushing() {
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
                    if socket::is_lost(&error) {
                        return Left::Lost;
                    }
                    self.brain.clear();
                    socket.out.send_last(socket::reason(&error)).await;
                    return Left::Gone;
                }
                // The client is gone, or takes nothing any more.
                Wake::Progress(Err(_)) | Wake::Message(None) => return Left::Lost,
                Wake::Return(back) => {
                    if let Some(next) = self.resume(back) {
                        let close = socket::close(1000, "resumed elsewhere");
                        socket.out.send_last(close).await;
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
            let wake = tokio::select! {
                biased;
                phase = self.app.drain.after(self.phase) => Wake::Phase(phase),
                Some(back) = self.place.returned() => Wake::Return(back),
                () = socket::sleep_until(deadline) => Wake::Deadline,
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
        let has_frames = self.session.has_frames();
        // What is due goes first: news of models never hold back an event that waits.
        tokio::select! {
            biased;
            phase = self.app.drain.after(self.phase) => Wake::Phase(phase),
            () = socket::sleep_until(deadline) => Wake::Deadline,
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
        if let Progress::Ready = progress
            && let Some(frame) = self.session.poll_frame(self.now())
        {
            out.send(message_of(frame))?;
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

fn message_of(frame: Frame) -> Message {
    match frame.body {
        Body::Text(text) => Message::Text(text.into()),
        Body::Close { code, reason } => socket::close(code, reason),
    }
}

fn nobody_waits() -> Fault {
    Fault::new(
        Kind::NotFound,
        "session_not_resumable",
        "The session cannot be resumed: no session waits under this resume_token.",
    )
}
