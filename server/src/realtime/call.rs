//! The driver of one conversation over WebRTC: the only place with its peer and the clock.
//!
//! As the [driver of a socket](super::driver), with audio beside the events: what the caller says
//! goes in as it comes, and every 20 ms the session gives what is heard next.

use std::sync::Arc;
use std::time::Duration;

use session::realtime::{Body, Command, Config, Event, Session};
use session::{Fault, Kind};
use tokio::time::Instant;

use super::brain::{Brain, News};
use super::calls::{Control, Place};
use crate::app::App;
use crate::drain::Phase;
use crate::rtc::{Peer, PeerEvent, Texts};
use crate::socket;

/// See the [module](self).
pub(super) struct Call {
    app: Arc<App>,
    brain: Brain,
    session: Session,
    peer: Peer,
    texts: Texts,
    place: Place,
    origin: Instant,
    phase: Phase,
}

/// What ends the loop's wait.
enum Wake {
    /// The caller's channel takes an event.
    Ready,
    Peer(PeerEvent),
    News(News),
    Control(Control),
    Deadline,
    Phase(Phase),
}

impl Call {
    pub(super) fn new(
        app: Arc<App>,
        brain: Brain,
        config: Config,
        peer: Peer,
        place: Place,
    ) -> Self {
        Self {
            app,
            brain,
            session: Session::new(config, Duration::ZERO),
            texts: peer.texts(),
            peer,
            place,
            origin: Instant::now(),
            phase: Phase::Serving,
        }
    }

    /// Drives the session to its end.
    pub(super) async fn run(mut self) {
        self.app.metrics.calls.begin();
        loop {
            self.execute_commands();
            if !self.peer.reads() {
                // Without a channel nobody reads events; the conversation goes on by ear.
                while self.session.poll_frame(self.now()).is_some() {}
            }
            if self.session.is_closed() {
                break;
            }
            let wake = self.wait().await;
            self.handle(wake).await;
        }
        let Self {
            app,
            mut brain,
            peer,
            texts,
            ..
        } = self;
        brain.clear();
        let stats = peer.stats();
        drop(texts);
        peer.close().await;
        app.metrics.calls.end(&stats);
    }

    async fn wait(&mut self) -> Wake {
        let deadline = self.session.poll_deadline().map(|at| self.origin + at);
        let has_frames = self.session.has_frames();
        // What is due goes first: news of models hold back neither packets nor events.
        tokio::select! {
            biased;
            phase = self.app.drain.after(self.phase) => Wake::Phase(phase),
            Some(control) = self.place.control() => Wake::Control(control),
            () = socket::sleep_until(deadline) => Wake::Deadline,
            event = self.peer.recv() => Wake::Peer(event),
            () = self.texts.ready(), if has_frames => Wake::Ready,
            news = self.brain.next(&self.session) => Wake::News(news),
        }
    }

    async fn handle(&mut self, wake: Wake) {
        let now = self.now();
        match wake {
            Wake::Ready => self.send(now),
            Wake::Peer(PeerEvent::Due) => {
                let packet = self.session.poll_packet(now);
                self.peer.send_audio(packet.as_ref()).await;
            }
            Wake::Peer(PeerEvent::Audio(frame)) => {
                self.session.handle_microphone(frame.as_slice(), now);
            }
            Wake::Peer(PeerEvent::Text(text)) => self.session.handle_text(&text, now),
            // Not JSON: the session says so.
            Wake::Peer(PeerEvent::Binary(_)) => self.session.handle_text("", now),
            Wake::Peer(PeerEvent::Connected) => {}
            // A call is not resumed: who comes back offers another one.
            Wake::Peer(PeerEvent::Closed(_)) | Wake::Control(Control::HangUp) => {
                self.session.handle_peer_closed(now);
            }
            Wake::News(news) => self.brain.tell(&news, &mut self.session, now),
            Wake::Deadline => self.session.handle_timeout(now),
            Wake::Phase(phase) => self.enter(phase),
        }
    }

    fn send(&mut self, now: Duration) {
        let frame = self.session.poll_frame(now);
        // A close has no words here: the connection ends.
        if let Some(Body::Text(text)) = frame.map(|frame| frame.body)
            && !self.texts.send(text)
        {
            // There was room, so the channel has broken.
            self.session.handle_peer_closed(now);
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
            match command {
                Command::Resume { .. } => {
                    let event = Event::ResumeFailed(not_resumed());
                    self.session.handle(event, self.now());
                }
                command => self.brain.execute(command),
            }
        }
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }
}

fn not_resumed() -> Fault {
    Fault::new(
        Kind::Invalid,
        "session_not_resumable",
        "A call by WebRTC cannot be resumed: POST another offer to /v1/realtime/calls.",
    )
}
