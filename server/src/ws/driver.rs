//! The driver of one speech socket: the only place with the socket and the clock.
//!
//! One loop: have the engine do what the session wants, then wait for whatever comes first (the
//! socket takes a frame, the client says something, the engine has news, a deadline, the server
//! closes) and tell the session. Every frame is flushed before the next is asked for, so that a
//! client who does not read holds back the engine and nothing else.

use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use engine::Engine;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt, StreamExt};
use session::speech::{Body, Command, Config, Event, Frame, Session, UtteranceId};
use tokio::time::Instant;

use super::speaker::{News, Speaker};
use crate::app::App;
use crate::auth::Caller;
use crate::bridge;
use crate::drain::Phase;
use crate::metrics::Door;

/// How long the client may take to answer our closing.
const CLOSING: Duration = Duration::from_secs(1);

/// See the [module](self).
pub(super) struct Driver {
    app: Arc<App>,
    engine: Engine,
    caller: Caller,
    session: Session,
    speakers: BTreeMap<UtteranceId, Speaker>,
    origin: Instant,
    phase: Phase,
}

/// What ends the loop's wait.
enum Wake {
    Progress(Result<Progress, axum::Error>),
    Message(Option<Result<Message, axum::Error>>),
    News(UtteranceId, News),
    Deadline,
    Phase(Phase),
}

/// How far the socket has come.
#[derive(Clone, Copy)]
enum Progress {
    /// It takes a frame.
    Ready,
    /// All frames are on their way.
    Flushed,
}

/// The way out, and what is on it.
struct Out {
    sink: SplitSink<WebSocket, Message>,
    flushing: bool,
    /// First audio in the frame being flushed.
    first: Option<UtteranceId>,
}

impl Driver {
    pub(super) fn new(app: Arc<App>, engine: Engine, caller: Caller, config: Config) -> Self {
        Self {
            app,
            engine,
            caller,
            session: Session::new(config, Duration::ZERO),
            speakers: BTreeMap::new(),
            origin: Instant::now(),
            phase: Phase::Serving,
        }
    }

    pub(super) async fn run(mut self, socket: WebSocket) {
        let (sink, mut stream) = socket.split();
        let mut out = Out {
            sink,
            flushing: false,
            first: None,
        };
        loop {
            self.execute_commands();
            if self.session.is_closed() && !out.flushing {
                break;
            }
            match self.wait(&mut out, &mut stream).await {
                Wake::Progress(Ok(progress)) => {
                    if self.progress(progress, &mut out).is_err() {
                        self.session.handle_peer_closed();
                    }
                }
                Wake::Message(Some(Ok(message))) => self.message(message),
                Wake::Message(Some(Err(error))) => {
                    self.session.handle_peer_closed();
                    self.speakers.clear();
                    let _ = tokio::time::timeout(CLOSING, out.sink.send(reason(&error))).await;
                    return;
                }
                // The client is gone, or takes nothing any more.
                Wake::Progress(Err(_)) | Wake::Message(None) => {
                    self.session.handle_peer_closed();
                    return;
                }
                Wake::News(id, news) => self.news(id, news),
                Wake::Deadline => self.session.handle_timeout(self.now()),
                Wake::Phase(phase) => self.enter(phase),
            }
        }
        self.speakers.clear();
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
        for (id, speaker) in &mut self.speakers {
            speaker.wanted = self.session.wants(*id);
        }
        let app = Arc::clone(&self.app);
        tokio::select! {
            progress = out.progress(has_frames) => Wake::Progress(progress),
            message = stream.next() => Wake::Message(message),
            (id, news) = next_news(&mut self.speakers) => Wake::News(id, news),
            () = sleep_until(deadline) => Wake::Deadline,
            () = app.drain.reached(next_phase), if phase_watched => Wake::Phase(next_phase),
        }
    }

    fn progress(&mut self, progress: Progress, out: &mut Out) -> Result<(), axum::Error> {
        match progress {
            Progress::Ready => {
                if let Some(frame) = self.session.poll_frame() {
                    out.first = out.first.or(frame.first_audio_of);
                    Pin::new(&mut out.sink).start_send(message_of(frame))?;
                    out.flushing = true;
                }
            }
            Progress::Flushed => {
                out.flushing = false;
                let first = out.first.take().and_then(|id| self.speakers.get_mut(&id));
                if let Some(speaker) = first {
                    speaker.first_sent(self.engine.now());
                }
            }
        }
        Ok(())
    }

    fn message(&mut self, message: Message) {
        let now = self.now();
        match message {
            Message::Text(text) => self.session.handle_message(now, text.as_bytes()),
            Message::Binary(_) => self.session.handle_binary(now),
            Message::Ping(_) | Message::Pong(_) => self.session.handle_keepalive(now),
            Message::Close(_) => {
                self.session.handle_peer_closed();
                self.speakers.clear();
            }
        }
    }

    fn news(&mut self, id: UtteranceId, news: News) {
        let now = self.now();
        match news {
            News::Fed => self.session.handle_fed(now, id),
            News::Output(output) => {
                let Some(speaker) = self.speakers.get_mut(&id) else {
                    return;
                };
                speaker.note(&output);
                let event = match bridge::event(&output, speaker.rate) {
                    Ok(Some(event)) => event,
                    Ok(None) => return,
                    Err(fault) => Event::Failed(fault),
                };
                let over = matches!(event, Event::Done { .. } | Event::Failed(_));
                self.session.handle_event(now, id, event);
                if over && !speaker.awaits_first() {
                    self.speakers.remove(&id);
                }
            }
            News::Failed(fault) => {
                self.speakers.remove(&id);
                self.session.handle_event(now, id, Event::Failed(fault));
            }
        }
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
            self.execute(command);
        }
        self.speakers.retain(|_, speaker| !speaker.is_spent());
    }

    fn execute(&mut self, command: Command) {
        let now = self.now();
        match command {
            Command::Open {
                utterance,
                settings,
            } => {
                let opened = self
                    .app
                    .admission
                    .stream(self.caller.key)
                    .and_then(|admitted| {
                        let submitted = self.engine.submit(bridge::job(&settings));
                        let handle = submitted.map_err(|error| bridge::fault(&error))?;
                        let rate = rate_of(&self.engine, &settings.model);
                        let stats = self.app.metrics.stream(Door::Ws);
                        Ok(Speaker::new(
                            handle,
                            admitted,
                            stats,
                            rate,
                            self.engine.now(),
                        ))
                    });
                match opened {
                    Ok(speaker) => {
                        self.speakers.insert(utterance, speaker);
                    }
                    Err(fault) => {
                        self.session
                            .handle_event(now, utterance, Event::Failed(fault));
                    }
                }
            }
            Command::Feed { utterance, text } => {
                if let Some(speaker) = self.speakers.get_mut(&utterance)
                    && speaker.feed(&text)
                {
                    self.session.handle_fed(now, utterance);
                }
            }
            Command::Flush { utterance } => {
                if let Some(speaker) = self.speakers.get(&utterance) {
                    speaker.flush();
                }
            }
            Command::End { utterance } => {
                if let Some(speaker) = self.speakers.get(&utterance) {
                    speaker.end();
                }
            }
            Command::Cancel { utterance } => {
                self.speakers.remove(&utterance);
            }
        }
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }
}

impl Out {
    /// Flushes what was sent; then, if a frame waits, becomes ready for it.
    async fn progress(&mut self, has_frames: bool) -> Result<Progress, axum::Error> {
        poll_fn(|context| {
            let mut sink = Pin::new(&mut self.sink);
            if self.flushing {
                return sink
                    .as_mut()
                    .poll_flush(context)
                    .map_ok(|()| Progress::Flushed);
            }
            if has_frames {
                return sink
                    .as_mut()
                    .poll_ready(context)
                    .map_ok(|()| Progress::Ready);
            }
            Poll::Pending
        })
        .await
    }
}

/// News of any utterance; its outputs only if the session wants to hear of them.
async fn next_news(speakers: &mut BTreeMap<UtteranceId, Speaker>) -> (UtteranceId, News) {
    poll_fn(|context| {
        for (id, speaker) in speakers.iter_mut() {
            if let Poll::Ready(news) = speaker.poll(context) {
                return Poll::Ready((*id, news));
            }
        }
        Poll::Pending
    })
    .await
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => pending().await,
    }
}

fn rate_of(engine: &Engine, model: &str) -> u32 {
    let info = engine.models().iter().find(|info| info.id == model);
    info.and_then(|info| info.sample_rate).unwrap_or_default()
}

fn message_of(frame: Frame) -> Message {
    match frame.body {
        Body::Text(text) => Message::Text(text.into()),
        Body::Binary(bytes) => Message::Binary(bytes.into()),
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
