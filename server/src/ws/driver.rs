//! The driver of one speech socket: the only place with the socket and the clock.
//!
//! One loop: have the engine do what the session wants, then wait for whatever comes first (the
//! socket takes a frame, the client says something, the engine has news, a deadline, the server
//! closes) and tell the session. Every frame is flushed before the next is asked for, so that a
//! client who does not read holds back the engine and nothing else.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use engine::Engine;
use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use session::speech::{Body, Command, Config, Event, Frame, Session, UtteranceId};
use tokio::time::Instant;

use super::speaker::{News, Speaker};
use crate::app::App;
use crate::auth::Caller;
use crate::bridge;
use crate::drain::Phase;
use crate::metrics::Door;
use crate::socket::{self, Out, Progress};

/// See the [module](self).
pub(super) struct Driver {
    app: Arc<App>,
    engine: Engine,
    caller: Caller,
    session: Session,
    speakers: BTreeMap<UtteranceId, Speaker>,
    /// First audio in the frame that is being flushed.
    first: Option<UtteranceId>,
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

impl Driver {
    pub(super) fn new(app: Arc<App>, engine: Engine, caller: Caller, config: Config) -> Self {
        Self {
            app,
            engine,
            caller,
            session: Session::new(config, Duration::ZERO),
            speakers: BTreeMap::new(),
            first: None,
            origin: Instant::now(),
            phase: Phase::Serving,
        }
    }

    pub(super) async fn run(mut self, socket: WebSocket) {
        let (sink, mut stream) = socket.split();
        let mut out = Out::new(sink);
        loop {
            self.execute_commands();
            if self.session.is_closed() && !out.is_flushing() {
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
                    out.send_last(socket::reason(&error)).await;
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
        socket::read_out(&mut stream).await;
    }

    async fn wait(&mut self, out: &mut Out, stream: &mut SplitStream<WebSocket>) -> Wake {
        let deadline = self.session.poll_deadline().map(|at| self.origin + at);
        let has_frames = self.session.has_frames();
        for (id, speaker) in &mut self.speakers {
            speaker.wanted = self.session.wants(*id);
        }
        tokio::select! {
            progress = out.progress(has_frames) => Wake::Progress(progress),
            message = stream.next() => Wake::Message(message),
            (id, news) = next_news(&mut self.speakers) => Wake::News(id, news),
            () = socket::sleep_until(deadline) => Wake::Deadline,
            phase = self.app.drain.after(self.phase) => Wake::Phase(phase),
        }
    }

    fn progress(&mut self, progress: Progress, out: &mut Out) -> Result<(), axum::Error> {
        match progress {
            Progress::Ready => {
                if let Some(frame) = self.session.poll_frame() {
                    self.first = self.first.or(frame.first_audio_of);
                    out.send(message_of(frame))?;
                }
            }
            Progress::Flushed => {
                let first = self.first.take().and_then(|id| self.speakers.get_mut(&id));
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
                        let rate = bridge::sample_rate(&self.engine, &settings.model);
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

fn message_of(frame: Frame) -> Message {
    match frame.body {
        Body::Text(text) => Message::Text(text.into()),
        Body::Binary(bytes) => Message::Binary(bytes.into()),
        Body::Close { code, reason } => socket::close(code, reason),
    }
}
