//! One caller: audio and texts in both directions until one side hangs up.

use std::sync::Arc;
use std::time::Duration;

use codecs::packet::{self, FRAME};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;
use webrtc::peer_connection::RTCIceCandidateInit;

use super::connection::{GOODBYE, Line, Link};
use super::loudspeaker::Loudspeaker;
use super::microphone::Frames;
use crate::admission::Place;

/// The pace of what goes out.
const PACE: Duration = Duration::from_millis(20);
/// Behind by more than this, what was due is skipped: the listener has heard silence by then,
/// and a burst would only wait in its buffer.
const MOST_BEHIND: Duration = Duration::from_millis(100);

/// What happens on a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PeerEvent {
    /// Audio and texts pass from now on. Comes once.
    Connected,
    /// 20 ms of what the caller said, at 24 kHz, in -1 to 1.
    Audio(Box<[f32; FRAME]>),
    /// An event of the caller.
    Text(String),
    /// Something on the events' channel that is not text, of so many bytes.
    Binary(usize),
    /// The next 20 ms are to be given by [`Peer::send_audio`].
    Due,
    /// It is over. Comes last, and once.
    Closed(Reason),
}

/// Why a call is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The caller hung up.
    #[error("the caller hung up")]
    HungUp,
    /// The caller has not been heard for 20 s: it is gone, or its network is.
    #[error("nothing has come from the caller for 20 s")]
    Vanished,
    /// No packet came through in time: addresses or ports are not reachable.
    #[error(
        "no UDP packet passed between the caller and this server: are rtc.ports open, and is \
         rtc.public_address the address by which callers reach this machine?"
    )]
    Unreachable,
    /// Packets pass, but the handshake for the keys (DTLS) was not finished.
    #[error("packets pass, but the DTLS handshake was not finished in time")]
    Handshake,
}

/// What a call has met so far; counts only grow, except `depth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PeerStats {
    /// Of what the caller said.
    pub received: packet::Stats,
    /// Samples at 24 kHz held back behind a lost packet now; 0 at rest.
    pub depth: u64,
    /// Samples that came while nobody took them.
    pub dropped: u64,
    /// Packets of audio sent.
    pub sent_packets: u64,
    /// Bytes of Opus sent.
    pub sent_bytes: u64,
}

/// A caller. Dropping it hangs up.
pub struct Peer {
    pub(super) line: Line,
    pub(super) link: watch::Receiver<Link>,
    pub(super) events: mpsc::Receiver<PeerEvent>,
    pub(super) texts: Texts,
    pub(super) written: Arc<Notify>,
    pub(super) reads: bool,
    pub(super) frames: Frames,
    pub(super) loudspeaker: Option<Loudspeaker>,
    pub(super) state: State,
    /// By when the call must be connected.
    pub(super) connect_by: Instant,
    pub(super) _place: Place,
}

/// The way of texts to a caller. Those sent before the caller's channel is open wait for it.
#[derive(Debug, Clone)]
pub struct Texts(pub(super) mpsc::Sender<String>);

impl Texts {
    /// Returns when [`Self::send`] has room. Never, when the caller takes no more texts.
    pub async fn ready(&self) {
        if self.0.reserve().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Sends a text after those before it. `false` if there is no room: see [`Self::ready`].
    #[must_use]
    pub fn send(&self, text: String) -> bool {
        self.0.try_send(text).is_ok()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Connecting,
    /// Until the next frame is due.
    Connected(Instant),
    /// Nothing leads back.
    Closed,
}

impl Peer {
    /// The next event. Dropping the future loses nothing. After [`PeerEvent::Closed`] none comes.
    pub async fn recv(&mut self) -> PeerEvent {
        loop {
            if self.state == State::Closed {
                return std::future::pending().await;
            }
            if let Some(event) = self.changed() {
                return event;
            }
            if let Some(frame) = self.frames.pop() {
                return PeerEvent::Audio(Box::new(frame));
            }
            let wake = match self.state {
                State::Connected(due) => due,
                _ => self.connect_by,
            };
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(wake) => if let Some(event) = self.woken() {
                    return event;
                },
                // The sender lives in the connection's handler, and so as long as `self`.
                _ = self.link.changed() => {}
                () = self.frames.filled() => {}
                Some(event) = self.events.recv() => return event,
            }
        }
    }

    /// Gives the next 20 ms at 24 kHz; none is silence. Once for each [`PeerEvent::Due`].
    pub async fn send_audio(&mut self, frame: Option<&[f32; FRAME]>) {
        if let Some(loudspeaker) = &mut self.loudspeaker {
            loudspeaker.play(frame).await;
        }
    }

    /// The way of texts to the caller.
    #[must_use]
    pub fn texts(&self) -> Texts {
        self.texts.clone()
    }

    /// Takes one more address of the caller, as `a=candidate` has it, without `a=`.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub async fn add_candidate(&self, candidate: &str) -> Result<(), String> {
        let candidate = RTCIceCandidateInit {
            candidate: candidate.to_owned(),
            ..Default::default()
        };
        let added = self.line.connection().add_ice_candidate(candidate).await;
        added.map_err(|error| error.to_string())
    }

    /// Hangs up when the texts sent so far have arrived, or a second has passed; returns when the
    /// socket is closed. Every [`Texts`] of this caller is to be dropped before.
    pub async fn close(self) {
        let Self {
            line,
            texts,
            written,
            reads,
            state,
            ..
        } = self;
        drop(texts);
        if reads && matches!(state, State::Connected(_)) {
            let _ = tokio::time::timeout(GOODBYE, written.notified()).await;
        }
        line.close().await;
    }

    /// Whether the caller has a channel for texts.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.reads
    }

    /// Whether the caller hears us.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.loudspeaker.is_some()
    }

    /// What it has met so far.
    #[must_use]
    pub fn stats(&self) -> PeerStats {
        let loudspeaker = self.loudspeaker.as_ref();
        PeerStats {
            received: self.frames.stats(),
            depth: self.frames.depth(),
            dropped: self.frames.dropped(),
            sent_packets: loudspeaker.map_or(0, |loudspeaker| loudspeaker.packets),
            sent_bytes: loudspeaker.map_or(0, |loudspeaker| loudspeaker.bytes),
        }
    }

    /// What the connection's state means now, if it is news.
    fn changed(&mut self) -> Option<PeerEvent> {
        let link = *self.link.borrow_and_update();
        if link.closed {
            return Some(self.closed(Reason::HungUp));
        }
        if link.failed {
            return Some(self.closed(match (self.state, link.reachable) {
                (State::Connected(_), _) => Reason::Vanished,
                (_, true) => Reason::Handshake,
                (_, false) => Reason::Unreachable,
            }));
        }
        if link.connected && self.state == State::Connecting {
            self.state = State::Connected(Instant::now());
            return Some(PeerEvent::Connected);
        }
        None
    }

    fn woken(&mut self) -> Option<PeerEvent> {
        match self.state {
            State::Connecting => {
                let reachable = self.link.borrow().reachable;
                Some(self.closed(match reachable {
                    true => Reason::Handshake,
                    false => Reason::Unreachable,
                }))
            }
            State::Connected(due) => {
                let behind = Instant::now().saturating_duration_since(due);
                let mut next = due + PACE;
                if behind > MOST_BEHIND {
                    let skipped = u32::try_from(behind.as_millis() / PACE.as_millis()).unwrap_or(0);
                    next += PACE * skipped;
                    if let Some(loudspeaker) = &mut self.loudspeaker {
                        loudspeaker.skip(skipped);
                    }
                }
                self.state = State::Connected(next);
                Some(PeerEvent::Due)
            }
            State::Closed => None,
        }
    }

    fn closed(&mut self, reason: Reason) -> PeerEvent {
        match reason {
            Reason::HungUp => tracing::debug!("{reason}"),
            _ => tracing::info!("a call ended: {reason}"),
        }
        self.state = State::Closed;
        PeerEvent::Closed(reason)
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer")
            .field("state", &self.state)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
