//! WebRTC: the other end of a browser's call, as audio frames and texts.
//!
//! ```text
//! offer ─ Calls::answer ─┬─▶ answer
//!                        └─▶ Peer ─ recv ──▶ Connected, Audio, Text, Due, Closed
//!                                 ◀─ send_audio (once for each Due), texts, close
//! ```
//!
//! - The answer does not wait for the network: a server has no STUN to ask, its addresses are
//!   known. Each peer has one UDP port out of the configured range.
//! - Audio comes in as Opus at 48 kHz, goes through [`codecs::packet::Receiver`] and arrives as
//!   20 ms frames at 24 kHz; what goes out takes the same way back. [`Peer`] keeps the pace: it
//!   says [`PeerEvent::Due`] every 20 ms by a monotonic clock.
//! - Texts go over the data channel `oai-events`, in order.
//! - Nothing is unbounded, and a peer that has vanished is noticed within 30 s.
//!
//! The `webrtc` crate is known in this folder only.

mod answer;
mod connection;
mod loudspeaker;
mod microphone;
mod peer;
mod ports;
mod sdp;

pub use answer::Calls;
pub use peer::{Peer, PeerEvent, PeerStats, Reason, Texts};
