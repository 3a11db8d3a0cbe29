//! Drives users against a door under one load: the only place with tasks.
//!
//! Every task ends by itself: a user by the end of the window, a request by its timeout. The
//! numbers of open requests and of traces are bounded; what a bound kept from being sent is
//! counted and makes the run not count.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::arrivals::{Load, Pace, Schedule};
use crate::clock::Clock;
use crate::door::Door;
use crate::measure::{Level, Playout};
use crate::texts::Texts;
use crate::trace::{Outcome, Trace};
use crate::user::{self, Wish};

/// The most requests of one level. A trace takes about a kilobyte.
const MOST_REQUESTS: u64 = 100_000;

/// How long a user of a closed loop waits after a refusal or a failure, lest a broken server is
/// asked thousands of times a second.
const AFTER_TROUBLE: Duration = Duration::from_millis(250);

/// The prebuffer of a user who listens.
const LISTENS_AFTER: Duration = Duration::from_millis(100);

/// How often the generator's timer is checked.
const BEAT: Duration = Duration::from_millis(10);

/// What stays the same over the levels of a run.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Where requests go.
    pub door: Door,
    /// What they ask for.
    pub texts: Arc<Mutex<Texts>>,
    /// Requests due before this are not measured.
    pub warm_up: Duration,
    /// Length of the measured window, after the warm-up.
    pub window: Duration,
    /// Users of a closed loop begin spread evenly over this.
    pub ramp: Duration,
    /// Time allowed to one request.
    pub timeout: Duration,
    /// Share of requests whose user hangs up, 0 to 1.
    pub cancel_share: f64,
    /// Those users hang up at an even chance within this, since due.
    pub cancel_within: Duration,
    /// The most requests of an open loop that may be open at once.
    pub most_open: usize,
    /// Decides arrivals and cancels.
    pub seed: u64,
}

/// What the tasks of one level share.
struct Shared {
    stage: Stage,
    clock: Clock,
    end: Duration,
    begun: AtomicU64,
    unsent: AtomicU64,
}

/// Runs one load from warm-up to the end of its last request.
pub async fn run(stage: &Stage, load: Load) -> Level {
    let shared = Arc::new(Shared {
        stage: stage.clone(),
        clock: Clock::start(),
        end: stage.warm_up + stage.window,
        begun: AtomicU64::new(0),
        unsent: AtomicU64::new(0),
    });
    let mut timer = JoinSet::new();
    timer.spawn(watch_timer(shared.clock, stage.warm_up, shared.end));
    let mut traces = match load {
        Load::Closed { users, pace } => closed(&shared, users, pace).await,
        Load::Open {
            rate,
            arrivals,
            burst,
        } => open(&shared, Schedule::new(arrivals, rate, burst, stage.seed)).await,
    };
    traces.sort_by_key(|trace| trace.due);
    Level {
        load,
        from: stage.warm_up,
        to: shared.end,
        traces,
        timer_late: timer
            .join_next()
            .await
            .and_then(Result::ok)
            .unwrap_or_default(),
        unsent: shared.unsent.load(Ordering::Relaxed),
    }
}

/// Users who each take turns with their own stream.
async fn closed(shared: &Arc<Shared>, users: u32, pace: Pace) -> Vec<Trace> {
    let mut tasks = JoinSet::new();
    for index in 0..users {
        let begin = shared.stage.ramp * index / users;
        tasks.spawn(take_turns(Arc::clone(shared), index, begin, pace));
    }
    tasks.join_all().await.into_iter().flatten().collect()
}

async fn take_turns(shared: Arc<Shared>, index: u32, begin: Duration, pace: Pace) -> Vec<Trace> {
    let mut rng = fastrand::Rng::with_seed(shared.stage.seed ^ (u64::from(index) << 32));
    let mut traces = Vec::new();
    let mut due = begin;
    loop {
        if due >= shared.end || !shared.may_begin() {
            return traces;
        }
        shared.clock.sleep_until(due).await;
        let wish = shared.wish(due, &mut rng);
        let trace = user::ask(&shared.stage.door, &shared.clock, wish).await;
        due = next_turn(&trace, pace);
        traces.push(trace);
    }
}

/// When the user asks again.
fn next_turn(trace: &Trace, pace: Pace) -> Duration {
    match (&trace.outcome, pace) {
        (Outcome::Refused(_) | Outcome::Failed(_), _) => trace.end + AFTER_TROUBLE,
        (Outcome::Complete, Pace::Listen) => {
            let playout = Playout::of(&trace.chunks, trace.rate, LISTENS_AFTER);
            playout.end.max(trace.end)
        }
        (Outcome::Complete | Outcome::Cancelled, _) => trace.end,
    }
}

/// Requests that come when they come.
async fn open(shared: &Arc<Shared>, schedule: Schedule) -> Vec<Trace> {
    let mut rng = fastrand::Rng::with_seed(shared.stage.seed.rotate_left(17));
    let mut traces = Vec::new();
    let mut tasks = JoinSet::new();
    for due in schedule.take_while(|due| *due < shared.end) {
        shared.clock.sleep_until(due).await;
        while let Some(done) = tasks.try_join_next() {
            traces.extend(done.ok());
        }
        if tasks.len() >= shared.stage.most_open {
            shared.unsent.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        if !shared.may_begin() {
            continue;
        }
        let wish = shared.wish(due, &mut rng);
        let shared = Arc::clone(shared);
        tasks.spawn(async move { user::ask(&shared.stage.door, &shared.clock, wish).await });
    }
    traces.extend(tasks.join_all().await);
    traces
}

impl Shared {
    /// Counts a request, unless there have been too many.
    fn may_begin(&self) -> bool {
        let may = self.begun.fetch_add(1, Ordering::Relaxed) < MOST_REQUESTS;
        if !may {
            self.unsent.fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    fn wish(&self, due: Duration, rng: &mut fastrand::Rng) -> Wish {
        let stage = &self.stage;
        let measured = due >= stage.warm_up;
        let cancels = rng.f64() < stage.cancel_share;
        let patience = stage.cancel_within.mul_f64(rng.f64());
        let mut texts = stage.texts.lock();
        Wish {
            text: if measured {
                texts.measured()
            } else {
                texts.warm_up()
            },
            due,
            measured,
            patience: cancels.then_some(patience),
            timeout: stage.timeout,
        }
    }
}

/// How late the timer woke at each beat between `from` and `end`. When it missed beats, they are
/// not made up for: one long hang is one late wake, beside the requests that it delayed.
async fn watch_timer(clock: Clock, from: Duration, end: Duration) -> Vec<Duration> {
    let mut late = Vec::new();
    let mut beat = from;
    while beat < end {
        clock.sleep_until(beat).await;
        let now = clock.now();
        late.push(now.saturating_sub(beat));
        beat = now.max(beat) + BEAT;
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Failure, Framing, Recorder};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_listener_asks_again_when_the_sound_has_ended() {
        let end = |outcome, pace| {
            let mut seen = Recorder::new(Framing::Pcm { rate: 1000 }, ms(0), ms(0), 3);
            seen.bytes(ms(40), &[9; 4000]).unwrap();
            next_turn(&seen.finish(ms(60), outcome), pace)
        };
        assert_eq!(end(Outcome::Complete, Pace::Listen), ms(40 + 100 + 2000));
        assert_eq!(end(Outcome::Complete, Pace::None), ms(60));
        assert_eq!(end(Outcome::Cancelled, Pace::Listen), ms(60));
        assert_eq!(end(Outcome::Refused(503), Pace::None), ms(310));
        assert_eq!(
            end(Outcome::Failed(Failure::Timeout), Pace::Listen),
            ms(310)
        );
    }
}
