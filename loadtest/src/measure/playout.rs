//! The playout simulator: a listener with a perfect sound card and a stated prebuffer.
//!
//! ```text
//! arrivals   |a   |b         |c
//! playing     [ a ][ b ]......[ c ]      ...... a stall: b has ended, c is not there
//!            ^ start = arrival of a + prebuffer
//! ```
//!
//! The player starts `prebuffer` after the first chunk, plays in real time, stops when nothing is
//! left, and goes on the moment the next chunk arrives. For such a player the sum of its stalls
//! equals the largest lateness of any chunk against a player that never stops, so one number says
//! both; a test holds that.

use std::time::Duration;

use crate::trace::{Chunk, media_time};

/// A time in which nothing was played though the stream was not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When the player ran dry.
    pub from: Duration,
    /// Until the next chunk arrived.
    pub length: Duration,
}

/// How a stream would have sounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Playout {
    /// When the first sample of each chunk is heard.
    pub heard: Vec<Duration>,
    /// The stops, in order.
    pub stalls: Vec<Stall>,
    /// When the last sample has been heard.
    pub end: Duration,
}

impl Playout {
    /// Plays `chunks` of `rate` samples per second, starting `prebuffer` after the first arrival.
    #[must_use]
    pub fn of(chunks: &[Chunk], rate: u32, prebuffer: Duration) -> Self {
        let mut playout = Self::default();
        let Some(first) = chunks.first() else {
            return playout;
        };
        // Sound has run without a stop since `since`, for `samples` samples.
        let mut since = first.at + prebuffer;
        let mut samples = 0;
        for chunk in chunks {
            let dry = since + media_time(samples, rate);
            if chunk.at > dry {
                let length = chunk.at - dry;
                playout.stalls.push(Stall { from: dry, length });
                since = chunk.at;
                samples = 0;
            }
            playout.heard.push(since + media_time(samples, rate));
            samples += chunk.samples;
        }
        playout.end = since + media_time(samples, rate);
        playout
    }

    /// Time spent in stalls, which is also the worst deficit against an unstopped player.
    #[must_use]
    pub fn stalled(&self) -> Duration {
        self.stalls.iter().map(|stall| stall.length).sum()
    }

    /// When sample `index` of the stream is heard; `None` beyond its end.
    #[must_use]
    pub fn heard_at(&self, chunks: &[Chunk], rate: u32, index: u64) -> Option<Duration> {
        let mut start = 0;
        for (chunk, heard) in chunks.iter().zip(&self.heard) {
            if index < start + chunk.samples {
                return Some(*heard + media_time(index - start, rate));
            }
            start += chunk.samples;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Chunks of (arrival ms, length ms) at 1,000 samples per second.
    fn chunks(list: &[(u64, u64)]) -> Vec<Chunk> {
        let chunk = |&(at, samples): &(u64, u64)| Chunk {
            at: ms(at),
            samples,
        };
        list.iter().map(chunk).collect()
    }

    /// Stalls as (from ms, length ms).
    fn check(list: &[(u64, u64)], prebuffer: u64, stalls: &[(u64, u64)], end: u64) {
        let playout = Playout::of(&chunks(list), 1000, ms(prebuffer));
        let found: Vec<_> = playout.stalls.iter().map(|s| (s.from, s.length)).collect();
        let expected: Vec<_> = stalls.iter().map(|&(f, l)| (ms(f), ms(l))).collect();
        assert_eq!(found, expected, "{list:?} at prebuffer {prebuffer}");
        assert_eq!(playout.end, ms(end));
    }

    #[test]
    fn stalls_by_hand() {
        // One chunk cannot stall.
        check(&[(5, 100)], 0, &[], 105);
        check(&[(5, 100)], 50, &[], 155);
        // The next arrives exactly when the last ends: no stall.
        check(&[(0, 100), (100, 100)], 0, &[], 200);
        // 20 ms late each time: each is a stall, for the player has no stock.
        check(
            &[(0, 100), (120, 100), (240, 100)],
            0,
            &[(100, 20), (220, 20)],
            340,
        );
        // A prebuffer of 50 ms carries over the first two lates, and half of the third.
        check(
            &[(0, 100), (120, 100), (240, 100), (360, 100)],
            50,
            &[(350, 10)],
            460,
        );
        check(
            &[(0, 100), (120, 100), (240, 100), (360, 100)],
            100,
            &[],
            500,
        );
        // A stock from a fast start is used up before anything stalls.
        check(&[(0, 100), (10, 300), (450, 50)], 0, &[(400, 50)], 500);
        check(&[], 100, &[], 0);
    }

    #[test]
    fn a_sample_is_heard_after_the_stalls_before_it() {
        let list = chunks(&[(0, 100), (120, 100)]);
        let playout = Playout::of(&list, 1000, ms(0));
        assert_eq!(playout.heard_at(&list, 1000, 30), Some(ms(30)));
        assert_eq!(playout.heard_at(&list, 1000, 100), Some(ms(120)));
        assert_eq!(playout.heard_at(&list, 1000, 199), Some(ms(219)));
        assert_eq!(playout.heard_at(&list, 1000, 200), None);
    }

    proptest! {
        #[test]
        fn stalled_time_is_the_worst_deficit(
            list in prop::collection::vec((0u64..300, 1u64..300), 1..40),
            prebuffer in 0u64..200,
        ) {
            let mut at = 0;
            let list: Vec<_> = list.into_iter().map(|(gap, long)| { at += gap; (at, long) }).collect();
            let playout = Playout::of(&chunks(&list), 1000, ms(prebuffer));
            let (mut sent, mut deficit) = (0, 0);
            for &(at, long) in &list {
                deficit = deficit.max(at.saturating_sub(list[0].0 + prebuffer + sent));
                sent += long;
            }
            prop_assert_eq!(playout.stalled(), ms(deficit));
            prop_assert_eq!(playout.end, ms(list[0].0 + prebuffer + sent + deficit));
        }

        #[test]
        fn a_longer_prebuffer_never_stalls_more(
            list in prop::collection::vec((0u64..300, 1u64..300), 1..40),
            short in 0u64..200,
            more in 0u64..200,
        ) {
            let mut at = 0;
            let list: Vec<_> = list.into_iter().map(|(gap, long)| { at += gap; (at, long) }).collect();
            let stalled = |prebuffer| Playout::of(&chunks(&list), 1000, ms(prebuffer)).stalled();
            prop_assert!(stalled(short + more) <= stalled(short));
            prop_assert!(stalled(short) <= stalled(short + more) + ms(more));
        }
    }
}
