//! Does a run count, and did a level hold? Reasons in words, so that no report shows a figure
//! without them.

use serde::Serialize;

use super::level::Summary;

/// A run whose generator was later than this at the 99th percentile does not count, unless it is
/// told another bound. Twice the 10 ms of a short audio chunk, a tenth of a good first chunk.
pub const LATE_MS: f64 = 20.0;

/// The share of streams that must be free of stalls for a level to hold.
pub const STALL_FREE: f64 = 0.99;

/// What a level must keep to hold, besides end-to-end RTF below 1 and 99 % of streams without a
/// stall at prebuffer 100 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Targets {
    /// TTFA at the 95th percentile must not be over this, in milliseconds.
    pub ttfa_p95_ms: Option<f64>,
}

/// Why the figures of this level do not count; empty when they do.
#[must_use]
pub fn doubts(summary: &Summary, late_ms: f64) -> Vec<String> {
    let mut doubts = Vec::new();
    let late = [
        ("requests were begun", summary.lateness.starts_ms),
        ("its timer woke", summary.lateness.timer_ms),
    ];
    for (what, spread) in late {
        if let Some(spread) = spread.filter(|spread| spread.p99 > late_ms) {
            let p99 = spread.p99;
            doubts.push(format!(
                "the generator was late: {what} {p99:.1} ms late at p99, over the {late_ms} ms \
                 allowed"
            ));
        }
    }
    let requests = summary.requests;
    if requests.failed > 0 {
        let kinds: Vec<_> = summary
            .errors
            .iter()
            .map(|(k, n)| format!("{k} {n}"))
            .collect();
        let (failed, started, kinds) = (requests.failed, requests.started, kinds.join(", "));
        doubts.push(format!(
            "{failed} of {started} requests failed ({kinds}); the figures are of the others"
        ));
    }
    if requests.unsent > 0 {
        let unsent = requests.unsent;
        doubts.push(format!(
            "{unsent} requests were due but not sent: the bound on open requests was reached"
        ));
    }
    if requests.complete == 0 {
        doubts.push("not one stream completed".to_owned());
    }
    doubts
}

/// What this level failed to keep; empty when it held.
#[must_use]
pub fn broken(summary: &Summary, targets: Targets) -> Vec<String> {
    let mut broken = Vec::new();
    let figures = &summary.complete;
    if let Some(rtf) = figures.rtf_end_to_end.filter(|rtf| rtf.p95 >= 1.0) {
        broken.push(format!("end-to-end RTF p95 {:.3} is not below 1", rtf.p95));
    }
    let hundred = figures
        .playout
        .iter()
        .find(|stalls| stalls.prebuffer_ms == 100.0);
    match hundred.and_then(|stalls| stalls.stall_free) {
        Some(free) if free < STALL_FREE => broken.push(format!(
            "only {:.1} % of streams free of stalls at prebuffer 100 ms, 99 % needed",
            free * 100.0
        )),
        Some(_) => {}
        None => broken.push("not one stream completed".to_owned()),
    }
    if let (Some(target), Some(ttfa)) = (targets.ttfa_p95_ms, figures.ttfa_ms)
        && ttfa.p95 > target
    {
        broken.push(format!(
            "TTFA p95 {:.0} ms is over {target:.0} ms",
            ttfa.p95
        ));
    }
    if summary.requests.failed > 0 {
        broken.push(format!("{} requests failed", summary.requests.failed));
    }
    if summary.requests.refused > 0 {
        broken.push(format!(
            "{} requests were refused",
            summary.requests.refused
        ));
    }
    broken
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::arrivals::{Load, Pace};
    use crate::measure::Level;
    use crate::trace::{Failure, Framing, Outcome, Recorder, Trace};

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn trace(step: u64, outcome: Outcome) -> Trace {
        let mut seen = Recorder::new(Framing::Pcm { rate: 1000 }, at(0), at(0), 10);
        for index in 0..3 {
            seen.bytes(at(10 + index * step), &[50; 200]).unwrap();
        }
        seen.finish(at(10 + 3 * step), outcome)
    }

    fn summary(traces: Vec<Trace>, late: u64) -> Summary {
        Level {
            load: Load::Closed {
                users: 1,
                pace: Pace::None,
            },
            from: at(0),
            to: at(1000),
            traces,
            timer_late: vec![at(late)],
            unsent: 0,
        }
        .summary()
    }

    #[test]
    fn a_clean_level_counts_and_holds() {
        let summary = summary(vec![trace(50, Outcome::Complete)], 1);
        assert!(doubts(&summary, LATE_MS).is_empty());
        assert!(
            broken(
                &summary,
                Targets {
                    ttfa_p95_ms: Some(10.0)
                }
            )
            .is_empty()
        );
    }

    #[test]
    fn a_late_generator_and_an_error_are_doubts() {
        let failed = Outcome::Failed(Failure::Timeout);
        let summary = summary(vec![trace(50, Outcome::Complete), trace(50, failed)], 21);
        let doubts = doubts(&summary, LATE_MS);
        assert_eq!(doubts.len(), 2, "{doubts:?}");
        assert!(doubts[0].contains("timer woke 21.0 ms late"), "{doubts:?}");
        assert!(
            doubts[1].contains("1 of 2 requests failed (timeout 1)"),
            "{doubts:?}"
        );
    }

    #[test]
    fn refusals_are_no_doubt_unless_nothing_else_came() {
        let refused = || trace(50, Outcome::Refused(429));
        assert!(
            doubts(
                &summary(vec![trace(50, Outcome::Complete), refused()], 0),
                LATE_MS
            )
            .is_empty()
        );
        assert_eq!(doubts(&summary(vec![refused()], 0), LATE_MS).len(), 1);
    }

    #[test]
    fn each_promise_is_named_when_broken() {
        // A chunk of 100 ms every 160: 120 ms behind at the end, RTF over 1.
        let slow = summary(
            vec![
                trace(160, Outcome::Complete),
                trace(50, Outcome::Refused(503)),
            ],
            0,
        );
        let words = broken(
            &slow,
            Targets {
                ttfa_p95_ms: Some(5.0),
            },
        )
        .join("; ");
        for part in [
            "RTF p95 1.100",
            "only 0.0 %",
            "TTFA p95 10 ms",
            "1 requests were refused",
        ] {
            assert!(words.contains(part), "{part} not in {words}");
        }
    }
}
