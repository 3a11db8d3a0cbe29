//! All traces under one load, and what they amount to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::Distribution;
use super::stream::{PREBUFFERS, Stream};
use crate::arrivals::Load;
use crate::trace::{Outcome, Trace};

/// What was recorded under one load.
#[derive(Clone, Debug)]
pub struct Level {
    /// The load.
    pub load: Load,
    /// Start of the measured window, by the run's clock.
    pub from: Duration,
    /// End of the measured window: no request starts after it, those that run are awaited.
    pub to: Duration,
    /// Every request, warm-up included, in the order in which they were due.
    pub traces: Vec<Trace>,
    /// How late the generator's own timer woke, sampled all through the run.
    pub timer_late: Vec<Duration>,
    /// Requests that were due but not sent, since the run's bound on open requests was reached.
    pub unsent: u64,
}

/// The figures of one load. Times in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The load in words.
    pub load: String,
    /// Users of a closed loop.
    pub users: Option<u32>,
    /// Requests per second of an open loop.
    pub rate: Option<f64>,
    /// Length of the measured window, in seconds.
    pub window_s: f64,
    /// Requests by end.
    pub requests: Requests,
    /// Failures by kind.
    pub errors: BTreeMap<&'static str, usize>,
    /// Up to five failures in words.
    pub error_samples: Vec<String>,
    /// Refusals by status.
    pub refusals: BTreeMap<u16, usize>,
    /// Time from due to connected.
    pub connect_ms: Option<Distribution>,
    /// Streams that completed.
    pub complete: Figures,
    /// Streams that the client cut off, with what had arrived by then.
    pub cancelled: Figures,
    /// Audio that arrived in the window / its length: seconds per second.
    pub throughput_audio_s_per_s: f64,
    /// Streams completed in the window / its length, per second.
    pub throughput_streams_per_s: f64,
    /// How late the generator was.
    pub lateness: Lateness,
}

/// Measured requests by end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// All of them.
    pub started: usize,
    /// Whole streams.
    pub complete: usize,
    /// Cut off by the client on purpose.
    pub cancelled: usize,
    /// Declined by the server, 503 or 429.
    pub refused: usize,
    /// Failed.
    pub failed: usize,
    /// Due but not sent: the bound on open requests was reached.
    pub unsent: u64,
}

/// What a set of streams felt like.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// How many streams carried audio.
    pub streams: usize,
    /// Lengths of the texts, in characters.
    pub text_chars: Option<Distribution>,
    /// Lengths of the audio, in seconds.
    pub audio_s: Option<Distribution>,
    /// Time to the first byte of the body.
    pub ttfb_ms: Option<Distribution>,
    /// Time to the first byte of audio.
    pub ttfc_ms: Option<Distribution>,
    /// Time to the first audible sample.
    pub ttfa_ms: Option<Distribution>,
    /// Pace from the first byte of audio to the last.
    pub rtf_stream: Option<Distribution>,
    /// Pace from due to the last byte.
    pub rtf_end_to_end: Option<Distribution>,
    /// Pace from the first model step to the last, where the server told.
    pub rtf_model: Option<Distribution>,
    /// Time between chunks.
    pub gap_ms: Option<Distribution>,
    /// Stalls at each prebuffer.
    pub playout: Vec<Stalls>,
}

/// Stalls at one prebuffer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stalls {
    /// The prebuffer.
    pub prebuffer_ms: f64,
    /// Share of streams without any stall, 0 to 1; `None` without streams.
    pub stall_free: Option<f64>,
    /// Stalls of all streams together.
    pub stalls: usize,
    /// Stalled time per minute of audio.
    pub stall_ms_per_minute: Option<f64>,
    /// The worst stream's deficit.
    pub worst_deficit_ms: f64,
}

/// How late the generator was against its own plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// Requests: begun - due.
    pub starts_ms: Option<Distribution>,
    /// Its timer: woken - asked for, every 10 ms.
    pub timer_ms: Option<Distribution>,
}

/// Milliseconds of a time.
#[must_use]
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Level {
    /// Computes everything.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let measured: Vec<&Trace> = self.traces.iter().filter(|t| t.measured).collect();
        let window = (self.to - self.from).as_secs_f64();
        Summary {
            load: self.load.to_string(),
            users: self.load.users(),
            rate: self.load.rate(),
            window_s: window,
            requests: self.requests(&measured),
            errors: errors(&measured),
            error_samples: error_samples(&measured),
            refusals: refusals(&measured),
            connect_ms: Distribution::of(
                measured
                    .iter()
                    .filter_map(|t| t.connected.map(|at| ms(at.saturating_sub(t.due)))),
            ),
            complete: Figures::of(&with_outcome(&measured, &Outcome::Complete)),
            cancelled: Figures::of(&with_outcome(&measured, &Outcome::Cancelled)),
            throughput_audio_s_per_s: self.audio_in_window().as_secs_f64() / window,
            throughput_streams_per_s: self.completed_in_window() as f64 / window,
            lateness: Lateness {
                starts_ms: Distribution::of(measured.iter().map(|t| ms(t.late))),
                timer_ms: Distribution::of(self.timer_late.iter().map(|late| ms(*late))),
            },
        }
    }

    fn requests(&self, measured: &[&Trace]) -> Requests {
        let mut requests = Requests {
            started: measured.len(),
            unsent: self.unsent,
            ..Requests::default()
        };
        for trace in measured {
            *match trace.outcome {
                Outcome::Complete => &mut requests.complete,
                Outcome::Cancelled => &mut requests.cancelled,
                Outcome::Refused(_) => &mut requests.refused,
                Outcome::Failed(_) => &mut requests.failed,
            } += 1;
        }
        requests
    }

    /// Audio that arrived in the window, of whatever stream.
    fn audio_in_window(&self) -> Duration {
        let inside = |at: Duration| self.from <= at && at < self.to;
        let of_trace = |trace: &Trace| {
            let chunks = trace.chunks.iter().filter(|chunk| inside(chunk.at));
            crate::trace::media_time(chunks.map(|chunk| chunk.samples).sum(), trace.rate)
        };
        self.traces.iter().map(of_trace).sum()
    }

    fn completed_in_window(&self) -> usize {
        let inside = |t: &&Trace| self.from <= t.end && t.end < self.to;
        let complete = self.traces.iter().filter(|t| Stream::is_complete(t));
        complete.filter(inside).count()
    }
}

fn with_outcome<'a>(traces: &[&'a Trace], outcome: &Outcome) -> Vec<&'a Trace> {
    let same = traces.iter().filter(|t| t.outcome == *outcome);
    same.copied().collect()
}

fn errors(traces: &[&Trace]) -> BTreeMap<&'static str, usize> {
    let mut errors = BTreeMap::new();
    for trace in traces {
        if let Outcome::Failed(failure) = &trace.outcome {
            *errors.entry(failure.kind()).or_default() += 1;
        }
    }
    errors
}

fn error_samples(traces: &[&Trace]) -> Vec<String> {
    let mut samples = Vec::new();
    for trace in traces {
        if let Outcome::Failed(failure) = &trace.outcome {
            let words = failure.to_string();
            if samples.len() < 5 && !samples.contains(&words) {
                samples.push(words);
            }
        }
    }
    samples
}

fn refusals(traces: &[&Trace]) -> BTreeMap<u16, usize> {
    let mut refusals = BTreeMap::new();
    for trace in traces {
        if let Outcome::Refused(status) = trace.outcome {
            *refusals.entry(status).or_default() += 1;
        }
    }
    refusals
}

impl Figures {
    /// The figures of those of `traces` that carried audio.
    #[must_use]
    pub fn of(traces: &[&Trace]) -> Self {
        let streams: Vec<Stream> = traces.iter().filter_map(|t| Stream::of(t)).collect();
        let of = |figure: fn(&Stream) -> f64| Distribution::of(streams.iter().map(figure));
        Self {
            streams: streams.len(),
            text_chars: Distribution::of(traces.iter().map(|t| t.text_chars as f64)),
            audio_s: of(|s| s.audio),
            ttfb_ms: of(|s| s.ttfb * 1e3),
            ttfc_ms: of(|s| s.ttfc * 1e3),
            ttfa_ms: Distribution::of(streams.iter().filter_map(|s| s.ttfa).map(|s| s * 1e3)),
            rtf_stream: of(|s| s.rtf_stream),
            rtf_end_to_end: of(|s| s.rtf_end_to_end),
            rtf_model: Distribution::of(streams.iter().filter_map(|s| s.rtf_model)),
            gap_ms: Distribution::of(streams.iter().flat_map(|s| &s.gaps).map(|gap| gap * 1e3)),
            playout: (0..PREBUFFERS.len())
                .map(|i| Stalls::of(&streams, i))
                .collect(),
        }
    }
}

impl Stalls {
    /// Stalls of `streams` at the prebuffer of that index.
    fn of(streams: &[Stream], index: usize) -> Self {
        let playouts = || streams.iter().map(|stream| &stream.playouts[index]);
        let audio: f64 = streams.iter().map(|stream| stream.audio).sum();
        let stalled: Duration = playouts().map(super::Playout::stalled).sum();
        let free = playouts().filter(|p| p.stalls.is_empty()).count();
        Self {
            prebuffer_ms: ms(PREBUFFERS[index]),
            stall_free: (!streams.is_empty()).then(|| free as f64 / streams.len() as f64),
            stalls: playouts().map(|p| p.stalls.len()).sum(),
            stall_ms_per_minute: (audio > 0.0).then(|| ms(stalled) * 60.0 / audio),
            worst_deficit_ms: playouts().map(|p| ms(p.stalled())).fold(0.0, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Pace;
    use crate::trace::{Failure, Framing, Recorder};

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// 100 ms of sound at each of `arrivals`, by a request that was due at `due`.
    fn trace(due: u64, arrivals: &[u64], outcome: Outcome) -> Trace {
        let mut seen = Recorder::new(Framing::Pcm { rate: 1000 }, at(due), at(due + 1), 10);
        for arrival in arrivals {
            seen.bytes(at(*arrival), &[50; 200]).unwrap();
        }
        let last = arrivals.last().copied().unwrap_or(due);
        seen.finish(at(last), outcome)
    }

    fn level(traces: Vec<Trace>) -> Level {
        Level {
            load: Load::Closed {
                users: 2,
                pace: Pace::None,
            },
            from: at(1000),
            to: at(3000),
            traces,
            timer_late: vec![at(1), at(3)],
            unsent: 0,
        }
    }

    #[test]
    fn ends_are_told_apart_and_only_whole_streams_give_the_figures() {
        let mut warm = trace(500, &[600, 1100], Outcome::Complete);
        warm.measured = false;
        let summary = level(vec![
            warm,
            trace(1000, &[1040, 1160], Outcome::Complete),
            trace(1100, &[1200], Outcome::Cancelled),
            trace(1100, &[], Outcome::Refused(503)),
            trace(
                1200,
                &[1300],
                Outcome::Failed(Failure::CutOff("eof".into())),
            ),
            trace(1200, &[], Outcome::Failed(Failure::Timeout)),
        ])
        .summary();
        let requests = summary.requests;
        assert_eq!(
            (requests.started, requests.complete, requests.cancelled),
            (5, 1, 1)
        );
        assert_eq!((requests.refused, requests.failed), (1, 2));
        assert_eq!(
            summary.errors,
            BTreeMap::from([("cut_off", 1), ("timeout", 1)])
        );
        assert_eq!(summary.refusals, BTreeMap::from([(503, 1)]));
        assert_eq!(summary.complete.ttfc_ms.unwrap().max.round(), 40.0);
        assert_eq!(summary.cancelled.ttfc_ms.unwrap().max.round(), 100.0);
        // Of 2 s: 100 ms of the warm-up's stream, 200 complete, 100 cancelled, 100 cut off.
        assert!((summary.throughput_audio_s_per_s - 0.25).abs() < 1e-9);
        assert!((summary.throughput_streams_per_s - 1.0).abs() < 1e-9);
        let starts = summary.lateness.starts_ms.unwrap();
        assert_eq!((starts.n, starts.p99.round()), (5, 1.0));
    }

    #[test]
    fn stalls_per_minute_by_hand() {
        let summary = level(vec![
            // 20 ms late after 100 ms of sound.
            trace(1000, &[1000, 1120], Outcome::Complete),
            trace(1000, &[1000, 1100], Outcome::Complete),
        ])
        .summary();
        let [none, fifty, hundred] = summary.complete.playout[..] else {
            panic!("three prebuffers");
        };
        assert_eq!(none.stall_free, Some(0.5));
        assert_eq!(none.stalls, 1);
        // 20 ms in 0.4 s of audio is 3,000 ms in a minute.
        assert!((none.stall_ms_per_minute.unwrap() - 3000.0).abs() < 1e-6);
        assert!((none.worst_deficit_ms - 20.0).abs() < 1e-9);
        assert_eq!(
            (fifty.stall_free, hundred.stall_free),
            (Some(1.0), Some(1.0))
        );
    }

    #[test]
    fn an_empty_level_has_no_figures_rather_than_zeros() {
        let summary = level(Vec::new()).summary();
        assert!(summary.complete.ttfc_ms.is_none());
        assert_eq!(summary.complete.playout[0].stall_free, None);
    }
}
