//! What plays: a queue of audio that leaves in packets of 20 ms, and what of it was heard.
//!
//! The hot path of a WebRTC session is [`Playout::poll`]: it copies, and allocates nothing.

use std::collections::VecDeque;

use super::command::ReplyId;
use super::input::count;
use super::session::PACKET;

/// Audio that may wait, in samples: 10 s. More would only hold memory.
const MOST: u64 = 240_000;
/// How loud a ducked response is: -12 dB.
const DUCKED: f32 = 0.25;

/// The audio of one item.
#[derive(Debug)]
struct Track {
    reply: ReplyId,
    response: String,
    item: String,
    samples: VecDeque<f32>,
    /// Samples that have left.
    taken: u64,
    /// No more will come.
    whole: bool,
}

/// What has left: an item and how many samples of it were heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) response: String,
    pub(super) item: String,
    pub(super) samples: u64,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Playout {
    tracks: VecDeque<Track>,
    waiting: u64,
    /// Samples that have left, all in all, and that were played as far as is known.
    taken: u64,
    played: Option<u64>,
    /// The end of what was cut off, fading.
    tail: Option<[f32; PACKET]>,
    paused: bool,
    gain: f32,
    wanted_gain: f32,
}

impl Playout {
    pub(super) fn new() -> Self {
        Self {
            gain: 1.0,
            wanted_gain: 1.0,
            ..Self::default()
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.waiting < MOST
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tracks.is_empty() && self.tail.is_none()
    }

    /// Takes audio in. Says whether it is the first of this item.
    pub(super) fn push(
        &mut self,
        reply: ReplyId,
        response: &str,
        item: &str,
        more: &[f32],
    ) -> bool {
        self.waiting += count(more.len());
        if let Some(track) = self.tracks.iter_mut().find(|track| track.item == item) {
            track.samples.extend(more.iter().copied());
            return false;
        }
        self.tracks.push_back(Track {
            reply,
            response: response.to_owned(),
            item: item.to_owned(),
            samples: more.iter().copied().collect(),
            taken: 0,
            whole: false,
        });
        true
    }

    /// No more audio of this response will come.
    pub(super) fn finish(&mut self, response: &str) {
        for track in &mut self.tracks {
            track.whole |= track.response == response;
        }
    }

    /// The response whose audio has all left, if there is one: once for each.
    pub(super) fn take_drained(&mut self) -> Option<String> {
        let front = self.tracks.front()?;
        if !front.whole || !front.samples.is_empty() {
            return None;
        }
        self.tracks.pop_front().map(|track| track.response)
    }

    /// The way out has played this much of what has left.
    pub(super) fn played(&mut self, samples: u64) {
        self.played = Some(samples.min(self.taken).max(self.played.unwrap_or(0)));
    }

    pub(super) fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    pub(super) fn duck(&mut self, ducked: bool) {
        self.wanted_gain = if ducked { DUCKED } else { 1.0 };
    }

    /// The reply whose audio is next to leave and has not begun to.
    pub(super) fn unheard(&self) -> Option<ReplyId> {
        let track = self.tracks.iter().find(|track| !track.samples.is_empty())?;
        (track.taken == 0).then_some(track.reply)
    }

    /// Drops all audio that waits; what plays fades out within a packet. Gives back what was
    /// heard of each item.
    pub(super) fn clear(&mut self) -> Vec<Heard> {
        let ahead = self.played.map_or(0, |played| self.taken - played);
        let next = if self.paused {
            None
        } else {
            self.next_packet(true)
        };
        self.tail = next.map(|mut packet| {
            fade(&mut packet, self.gain, 0.0);
            packet
        });
        self.paused = false;
        self.gain = 1.0;
        self.wanted_gain = 1.0;
        self.waiting = 0;
        let tracks = self.tracks.drain(..);
        tracks
            .map(|track| Heard {
                response: track.response,
                item: track.item,
                samples: track.taken.saturating_sub(ahead),
            })
            .collect()
    }

    /// The next packet; none is silence.
    pub(super) fn poll(&mut self) -> Option<[f32; PACKET]> {
        if let Some(tail) = self.tail.take() {
            return Some(tail);
        }
        if self.paused {
            return None;
        }
        let mut packet = self.next_packet(false)?;
        if self.gain < 1.0 || self.wanted_gain < 1.0 {
            fade(&mut packet, self.gain, self.wanted_gain);
            self.gain = self.wanted_gain;
        }
        Some(packet)
    }

    /// A whole packet, or the end of a track that is whole (or, where `any`, of any).
    fn next_packet(&mut self, any: bool) -> Option<[f32; PACKET]> {
        let track = self.tracks.iter_mut().find(|t| !t.samples.is_empty())?;
        let some = track.samples.len().min(PACKET);
        if some < PACKET && !track.whole && !any {
            return None;
        }
        let mut packet = [0.0; PACKET];
        for (to, from) in packet.iter_mut().zip(track.samples.drain(..some)) {
            *to = from;
        }
        let some = count(some);
        track.taken += some;
        self.taken += some;
        self.waiting -= some.min(self.waiting);
        Some(packet)
    }
}

/// A straight line from one loudness to another.
fn fade(packet: &mut [f32; PACKET], from: f32, to: f32) {
    let step = (to - from) / 480.0;
    let mut gain = from;
    for sample in packet {
        gain += step;
        *sample *= gain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn playing(samples: usize) -> Playout {
        let mut playout = Playout::new();
        assert!(playout.push(ReplyId(1), "r", "i", &vec![1.0; samples]));
        playout
    }

    #[test]
    fn a_part_of_a_packet_waits_for_more_or_the_end() {
        let mut playout = playing(700);
        assert!(playout.poll().is_some());
        assert_eq!(playout.poll(), None);
        playout.finish("r");
        assert_eq!(playout.take_drained(), None);
        let last = playout.poll().unwrap();
        assert!(last[..220].iter().all(|s| *s == 1.0) && last[220..].iter().all(|s| *s == 0.0));
        assert_eq!(playout.take_drained().as_deref(), Some("r"));
        assert!(playout.is_empty());
    }

    #[test]
    fn a_clear_fades_within_one_packet_and_says_what_was_heard() {
        let mut playout = playing(24_000);
        for _ in 0..3 {
            playout.poll();
        }
        playout.played(960);
        let heard = playout.clear();
        // Three packets and the fading one have left or will; two of four are not played yet.
        assert_eq!(heard[0].samples, 4 * 480 - 480);
        let tail = playout.poll().unwrap();
        assert!(tail.windows(2).all(|w| w[1] < w[0]) && tail[479].abs() < 1e-3);
        assert_eq!(playout.poll(), None);
    }

    #[test]
    fn a_pause_resumes_at_the_exact_sample() {
        let mut playout = Playout::new();
        let ramp: Vec<f32> = (0..960_u16).map(|n| f32::from(n) / 1000.0).collect();
        playout.push(ReplyId(1), "r", "i", &ramp);
        let first = playout.poll().unwrap();
        playout.pause(true);
        assert_eq!(playout.poll(), None);
        playout.pause(false);
        let second = playout.poll().unwrap();
        assert_eq!([first, second].concat(), ramp);
    }
}
