//! Puts packets in order and decides that one is lost. A state machine: the time is an argument.
//!
//! - A packet that follows the one before passes at once.
//! - Behind a hole packets are held until the missing one comes or its **wait** is over. Then it
//!   is lost, and all that was held passes together, so the depth is back at its base, zero.
//! - The wait follows what the network does: as long as a packet has recently been late, and a
//!   quarter more; it shrinks by half in seven seconds, within [`Config::wait_min`] and
//!   [`Config::wait_max`].
//! - When nothing comes for [`Config::quiet`], the sender is silent (DTX), muted or stalled. Then
//!   the time passes as silence, by the clock, so that a listener notices the end of speech;
//!   after [`Config::quiet_max`] nobody talks any more and nothing is made.
//!
//! What always holds: packets pass in the order of their numbers, each at most once, and what is
//! held is at most [`Config::capacity`] packets.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;

use super::FRAME_TICKS;

/// A jump of the sequence by more than this is a new stream, not a loss.
const RESTART: i64 = 500;
/// A hole longer than this many ticks (240 ms) is left as silence of that length, not concealed.
const LONGEST_CONCEALED: u32 = 11_520;
/// The most silence that stands for a jump of the timestamps at once: 1 s.
const LONGEST_JUMP: u32 = 48_000;
/// How many lost packets are remembered, to learn from those that come too late.
const REMEMBERED: usize = 32;
/// The share of the wait that is left after each packet.
const DECAY: f64 = 0.998;
/// How long [`FRAME_TICKS`] last.
const FRAME_TIME: Duration = Duration::from_millis(20);

/// How patient to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The least time to wait for a missing packet.
    pub wait_min: Duration,
    /// The most.
    pub wait_max: Duration,
    /// After how long without a packet time passes as silence.
    pub quiet: Duration,
    /// For how long it does.
    pub quiet_max: Duration,
    /// How many packets are held at most.
    pub capacity: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // Two packets: reordering by one is common, and costs nothing where it is not.
            wait_min: Duration::from_millis(40),
            wait_max: Duration::from_millis(120),
            quiet: Duration::from_millis(200),
            quiet_max: Duration::from_secs(10),
            capacity: 64,
        }
    }
}

/// A packet as the network brought it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Its number, one more than that of the packet sent before it; wraps.
    pub sequence: u16,
    /// When it was sampled, in ticks of 48 kHz; wraps.
    pub timestamp: u32,
    /// How long it lasts, in ticks.
    pub ticks: u32,
    /// What it holds.
    pub payload: Bytes,
}

/// What to do next to get on by some audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Decode this.
    Decode(Bytes),
    /// The packet before this one, of so many ticks, is lost: recover it from `next`.
    Recover {
        /// What it lasted.
        ticks: u32,
        /// What comes after it, which comes as a step of its own next.
        next: Bytes,
    },
    /// So many ticks are lost, or silent.
    Conceal {
        /// How many.
        ticks: u32,
        /// Whether packets were lost there.
        lost: bool,
    },
}

/// Where the stream stands.
#[derive(Debug)]
struct Place {
    /// The number of the next packet, unwrapped.
    sequence: i64,
    /// The timestamp at which it begins if nothing is missing.
    timestamp: u32,
    /// When the last packet came.
    heard: Duration,
    /// Ticks of silence made since then.
    filled: u32,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Jitter {
    config: Config,
    place: Option<Place>,
    held: BTreeMap<i64, Packet>,
    /// When the hole in front of what is held was noticed.
    hole: Option<Duration>,
    wait: Duration,
    /// Numbers given up, and when their hole was noticed.
    given_up: VecDeque<(i64, Duration)>,
    steps: VecDeque<Step>,
    late: u64,
    lost: u64,
}

impl Jitter {
    /// A buffer before its first packet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            place: None,
            held: BTreeMap::new(),
            hole: None,
            wait: config.wait_min,
            given_up: VecDeque::new(),
            steps: VecDeque::new(),
            late: 0,
            lost: 0,
        }
    }

    /// Takes a packet. [`Self::poll`] gives what it completes.
    pub fn push(&mut self, packet: Packet, now: Duration) {
        self.handle_timeout(now);
        let place = self.place.get_or_insert_with(|| Place {
            sequence: i64::from(packet.sequence),
            timestamp: packet.timestamp,
            heard: now,
            filled: 0,
        });
        let ahead = sequence_after(place.sequence, packet.sequence);
        if ahead.abs() > RESTART {
            self.restart(packet, now);
            return;
        }
        let sequence = place.sequence + ahead;
        if ahead < 0 {
            self.learn_from_late(sequence, now);
            return;
        }
        place.heard = now;
        self.wait = self.wait.mul_f64(DECAY).max(self.config.wait_min);
        if ahead == 0
            && let Some(noticed) = self.hole
        {
            self.learn(now.saturating_sub(noticed));
        }
        self.held.insert(sequence, packet);
        self.release(now);
        if self.held.len() > self.config.capacity {
            self.give_up(now);
        }
    }

    /// The next step, oldest first.
    pub fn poll(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// When to call [`Self::handle_timeout`].
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let place = self.place.as_ref()?;
        if let Some(noticed) = self.hole {
            return Some(noticed + self.wait);
        }
        let silent = place.silent();
        // A packet comes when its audio is over, so that the next one in time brings the frame
        // before it: silence stays that frame behind, or it would be counted twice.
        let next = (silent + 2 * FRAME_TIME).max(self.config.quiet);
        (silent < self.config.quiet_max).then(|| place.heard + next)
    }

    /// Gives up what has not come in time; makes silence where nothing comes.
    pub fn handle_timeout(&mut self, now: Duration) {
        while self.hole.is_some_and(|noticed| noticed + self.wait <= now) {
            self.give_up(now);
        }
        if self.hole.is_some() {
            return;
        }
        while self.deadline().is_some_and(|deadline| deadline <= now) {
            let Some(place) = &mut self.place else { return };
            place.filled += FRAME_TICKS;
            self.steps.push_back(Step::Conceal {
                ticks: FRAME_TICKS,
                lost: false,
            });
        }
    }

    /// How much is held back behind a hole, in ticks; zero is its base.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.held.values().map(|packet| packet.ticks).sum()
    }

    /// How long a missing packet is waited for now.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// How many packets were given up.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How many came after they were given up, or twice.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Passes all that is in order.
    fn release(&mut self, now: Duration) {
        while let Some(place) = &mut self.place
            && let Some(packet) = self.held.remove(&place.sequence)
        {
            // Between packets in order there can only be silence.
            let gap = packet.timestamp.wrapping_sub(place.timestamp);
            if gap > 0 && gap <= i32::MAX.cast_unsigned() {
                let ticks = gap.min(LONGEST_JUMP).saturating_sub(place.filled);
                if ticks > 0 {
                    self.steps.push_back(Step::Conceal { ticks, lost: false });
                }
            }
            place.pass(&packet);
            self.steps.push_back(Step::Decode(packet.payload));
        }
        self.hole = match (self.held.is_empty(), self.hole) {
            (true, _) => None,
            (false, noticed) => noticed.or(Some(now)),
        };
    }

    /// What is missing in front of the first packet held is lost.
    fn give_up(&mut self, now: Duration) {
        let (Some(place), Some((&next, packet))) = (&mut self.place, self.held.first_key_value())
        else {
            self.hole = None;
            return;
        };
        let count = u32::try_from(next - place.sequence).unwrap_or(1).max(1);
        let span = packet.timestamp.wrapping_sub(place.timestamp);
        let each = (span / count).clamp(0, FRAME_TICKS * 6);
        let noticed = self.hole.unwrap_or(now);
        for sequence in (place.sequence..next).take(REMEMBERED) {
            self.given_up.push_back((sequence, noticed));
        }
        while self.given_up.len() > REMEMBERED {
            self.given_up.pop_front();
        }
        self.lost += u64::from(count);
        let missing = span.min(LONGEST_JUMP).saturating_sub(place.filled);
        if missing > 0 {
            let recovered = if missing <= LONGEST_CONCEALED {
                each.min(missing)
            } else {
                0
            };
            if missing > recovered {
                self.steps.push_back(Step::Conceal {
                    ticks: missing - recovered,
                    lost: true,
                });
            }
            if recovered > 0 {
                self.steps.push_back(Step::Recover {
                    ticks: recovered,
                    next: packet.payload.clone(),
                });
            }
        }
        place.sequence = next;
        place.timestamp = packet.timestamp;
        place.filled = 0;
        // A hole further on has been there as long as the packets behind it.
        self.hole = None;
        self.release(noticed);
    }

    fn restart(&mut self, packet: Packet, now: Duration) {
        self.held.clear();
        self.hole = None;
        self.given_up.clear();
        let mut place = Place {
            sequence: i64::from(packet.sequence),
            timestamp: packet.timestamp,
            heard: now,
            filled: 0,
        };
        place.pass(&packet);
        self.place = Some(place);
        self.steps.push_back(Step::Decode(packet.payload));
    }

    fn learn_from_late(&mut self, sequence: i64, now: Duration) {
        self.late += 1;
        let found = self.given_up.iter().position(|(lost, _)| *lost == sequence);
        if let Some((_, noticed)) = found.and_then(|index| self.given_up.remove(index)) {
            self.learn(now.saturating_sub(noticed));
        }
    }

    /// A packet has come `lateness` after one that was sent after it.
    fn learn(&mut self, lateness: Duration) {
        let wanted = lateness + lateness / 4;
        self.wait = self.wait.max(wanted.min(self.config.wait_max));
    }
}

impl Place {
    /// The time that `filled` is.
    fn silent(&self) -> Duration {
        Duration::from_micros(u64::from(self.filled) * 1_000 / 48)
    }

    fn pass(&mut self, packet: &Packet) {
        self.sequence += 1;
        self.timestamp = packet.timestamp.wrapping_add(packet.ticks);
        self.filled = 0;
    }
}

/// How far `sequence` (16 bits) is after `expected`, by the shorter way around.
fn sequence_after(expected: i64, sequence: u16) -> i64 {
    let low = u16::try_from(expected.rem_euclid(1 << 16)).unwrap_or(0);
    i64::from(sequence.wrapping_sub(low).cast_signed())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The `n`-th packet of a stream whose numbers and timestamps are about to wrap.
    fn packet(n: u16) -> Packet {
        Packet {
            sequence: n.wrapping_add(65_530),
            timestamp: (u32::MAX - 3_000).wrapping_add(u32::from(n) * 960),
            ticks: 960,
            payload: Bytes::copy_from_slice(&n.to_be_bytes()),
        }
    }

    fn drain(jitter: &mut Jitter) -> Vec<String> {
        std::iter::from_fn(|| jitter.poll())
            .map(|step| match step {
                Step::Decode(payload) => u16::from_be_bytes([payload[0], payload[1]]).to_string(),
                Step::Recover { ticks, .. } => format!("r{ticks}"),
                Step::Conceal { ticks, lost: true } => format!("c{ticks}"),
                Step::Conceal { ticks, lost: false } => format!("q{ticks}"),
            })
            .collect()
    }

    /// Pushes packets at their times, lets the clock run to the end, gives all steps.
    fn run(arrivals: &[(u16, u64)], end: u64) -> (Vec<String>, Jitter) {
        let mut jitter = Jitter::new(Config::default());
        let mut steps = Vec::new();
        let mut arrivals = arrivals.iter().peekable();
        for now in 0..=end {
            jitter.handle_timeout(ms(now));
            while let Some((n, _)) = arrivals.next_if(|(_, at)| *at <= now) {
                jitter.push(packet(*n), ms(now));
            }
            steps.extend(drain(&mut jitter));
        }
        (steps, jitter)
    }

    #[test]
    fn packets_in_order_pass_at_once() {
        let mut jitter = Jitter::new(Config::default());
        for n in 0..20 {
            jitter.push(packet(n), ms(u64::from(n) * 20));
            assert_eq!(drain(&mut jitter), [n.to_string()]);
            assert_eq!(jitter.depth(), 0);
        }
    }

    #[test]
    fn packets_that_overtake_are_put_in_order_without_loss() {
        let (steps, jitter) = run(&[(0, 0), (2, 30), (1, 35), (4, 60), (3, 90), (5, 100)], 120);
        assert_eq!(steps, ["0", "1", "2", "3", "4", "5"]);
        assert_eq!((jitter.lost(), jitter.late()), (0, 0));
    }

    #[test]
    fn a_single_loss_is_recovered_and_the_depth_is_back_at_its_base() {
        let mut jitter = Jitter::new(Config::default());
        let mut deep_since = None;
        for now in 0..2_000 {
            jitter.handle_timeout(ms(now));
            let n = u16::try_from(now / 20).unwrap();
            if now % 20 == 0 && n != 25 {
                jitter.push(packet(n), ms(now));
            }
            deep_since = match (jitter.depth(), deep_since) {
                (0, _) => None,
                (_, None) => Some(now),
                (_, since) => since,
            };
            assert!(deep_since.is_none_or(|since| now - since <= 40), "{now}");
        }
        let steps = drain(&mut jitter);
        assert_eq!(steps[24..28], ["24", "r960", "26", "27"]);
        assert_eq!((steps.len(), jitter.lost()), (100, 1));
    }

    #[test]
    fn several_lost_packets_are_concealed_and_the_last_of_them_recovered() {
        let (steps, jitter) = run(&[(0, 0), (1, 20), (5, 100), (6, 120)], 160);
        assert_eq!(steps, ["0", "1", "c1920", "r960", "5", "6"]);
        assert_eq!(jitter.lost(), 3);
    }

    #[test]
    fn the_wait_learns_from_what_comes_too_late_and_forgets_again() {
        // Packet 1 is given up 40 ms after packet 2, and comes 70 ms after it.
        let mut arrivals = vec![(0, 0), (2, 40), (3, 60), (4, 80), (5, 100), (1, 110)];
        arrivals.extend((6..40).map(|n: u16| (n, u64::from(n) * 20)));
        let (steps, jitter) = run(&arrivals, 800);
        assert_eq!(jitter.late(), 1);
        assert!(
            jitter.wait() > ms(75) && jitter.wait() <= ms(88),
            "{jitter:?}"
        );
        assert_eq!(steps.iter().filter(|step| *step == "1").count(), 0);
        arrivals.extend((40..2_000).map(|n: u16| (n, u64::from(n) * 20)));
        assert_eq!(run(&arrivals, 40_000).1.wait(), ms(40));
    }

    #[test]
    fn silence_passes_by_the_clock_while_nothing_comes() {
        let (steps, jitter) = run(&[(0, 0)], 1_000);
        let filled = steps.iter().filter(|step| *step == "q960").count();
        assert_eq!((steps.len(), filled), (50, 49));
        assert!(jitter.deadline().is_some());
        let (steps, jitter) = run(&[(0, 0)], 60_000);
        assert_eq!(steps.len(), 501);
        assert_eq!(jitter.deadline(), None);
    }

    #[test]
    fn a_sender_that_does_not_send_silence_keeps_its_time() {
        let mut jitter = Jitter::new(Config::default());
        let mut ticks = 0;
        // A packet every 400 ms, as Opus does when there is nothing to hear.
        for n in 0..10_u16 {
            let at = u64::from(n) * 400;
            let mut silent = packet(n);
            silent.timestamp = u32::from(n) * 19_200;
            for now in at.saturating_sub(399)..=at {
                jitter.handle_timeout(ms(now));
            }
            jitter.push(silent, ms(at));
        }
        while let Some(step) = jitter.poll() {
            ticks += match step {
                Step::Decode(_) => 960,
                Step::Recover { ticks, .. } | Step::Conceal { ticks, .. } => ticks,
            };
        }
        assert_eq!(ticks, 9 * 19_200 + 960);
    }

    #[test]
    fn a_sender_whose_clock_drifts_leaves_no_depth_and_no_hole() {
        for period_us in [19_980, 20_020_u64] {
            let mut jitter = Jitter::new(Config::default());
            for n in 0..30_000_u16 {
                let now = Duration::from_micros(u64::from(n) * period_us);
                jitter.push(packet(n), now);
                assert_eq!(drain(&mut jitter), [n.to_string()]);
            }
            assert_eq!((jitter.depth(), jitter.lost()), (0, 0));
        }
    }

    #[test]
    fn what_comes_in_a_burst_after_a_stall_is_all_heard() {
        let mut arrivals: Vec<_> = (0..10).map(|n: u16| (n, u64::from(n) * 20)).collect();
        arrivals.extend((10..30).map(|n| (n, 580)));
        let (steps, _) = run(&arrivals, 590);
        let heard: Vec<_> = steps.iter().filter(|step| !step.starts_with('q')).collect();
        assert_eq!(heard.len(), 30);
    }

    #[test]
    fn a_jump_of_the_numbers_is_a_new_stream() {
        let (steps, jitter) = run(&[(0, 0), (1, 20), (5_000, 40), (5_001, 60)], 60);
        assert_eq!(steps, ["0", "1", "5000", "5001"]);
        assert_eq!(jitter.lost(), 0);
    }

    proptest! {
        #[test]
        fn whatever_the_network_does_order_holds_and_memory_is_bounded(
            arrivals in prop::collection::vec((0_u16..300, 0_u64..60), 0..200),
        ) {
            let mut jitter = Jitter::new(Config::default());
            let (mut now, mut last) = (0, None);
            for (n, pause) in arrivals {
                now += pause;
                jitter.handle_timeout(ms(now));
                jitter.push(packet(n), ms(now));
                prop_assert!(jitter.held.len() <= Config::default().capacity);
                for step in drain(&mut jitter) {
                    if let Ok(n) = step.parse::<u16>() {
                        prop_assert!(last.is_none_or(|last| last < n), "{n} after {last:?}");
                        last = Some(n);
                    }
                }
            }
            for later in 0..400 {
                jitter.handle_timeout(ms(now + later));
            }
            prop_assert_eq!(jitter.depth(), 0);
        }
    }
}
