//! Speech over a network that loses, delays and reorders: Opus packets, and the way back.
//!
//! ```text
//! 24 kHz, 20 ms ─ Encoder ─▶ packets ~~~ network ~~~▶ Receiver ─▶ 24 kHz
//!                                                     │ Jitter: order, what is lost
//!                                                     └ Decoder: decode, recover, conceal
//! ```
//!
//! Nothing here knows RTP's bytes, a socket or a clock: a packet is a sequence number, a
//! timestamp and a payload, and the time is an argument.
//!
//! What comes out is for ears, not for a loudspeaker: a recogniser takes audio when it comes. So
//! packets in order pass at once and nothing is held back "just in case"; only behind a hole
//! packets wait, as long as the missing one may still come. A player's buffer holds everything
//! back all the time, and has to match two clocks; here there is one clock, the sender's, so
//! its drift has nothing to drift against.

mod jitter;
mod opus;
mod receiver;

pub use jitter::{Config, Jitter, Packet, Step};
pub use opus::{Decoder, Encoder, Settings};
pub use receiver::{Receiver, Stats};

/// Samples of a 20 ms frame at 24 kHz.
pub const FRAME: usize = 480;

/// Ticks of the RTP clock (48 kHz for Opus, whatever the rate of the audio) in 20 ms.
pub const FRAME_TICKS: u32 = 960;

/// RTP ticks for each sample at 24 kHz.
const TICKS_PER_SAMPLE: u32 = 2;
