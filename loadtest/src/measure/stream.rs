//! What one trace says, by the formulas of [`super::FORMULAS`].

use std::time::Duration;

use super::playout::Playout;
use crate::trace::{Chunk, Outcome, Trace};

/// The prebuffers at which playout is simulated.
pub const PREBUFFERS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(100),
];

/// Arrivals closer than this are one chunk that the network cut: gaps between its pieces would
/// drown those that a listener might hear.
const ONE_CHUNK: Duration = Duration::from_millis(1);

/// The figures of one stream. Times in seconds.
#[derive(Clone, Debug)]
pub struct Stream {
    /// First byte of the body, since the request was due.
    pub ttfb: f64,
    /// First byte of audio, since the request was due.
    pub ttfc: f64,
    /// First audible sample heard, since the request was due; `None` when all was silent.
    pub ttfa: Option<f64>,
    /// Length of the audio.
    pub audio: f64,
    /// First byte of audio to last / audio.
    pub rtf_stream: f64,
    /// Request due to last byte of audio / audio.
    pub rtf_end_to_end: f64,
    /// First model step to last / audio, where the server told.
    pub rtf_model: Option<f64>,
    /// Playout at each of [`PREBUFFERS`].
    pub playouts: [Playout; 3],
    /// Gaps between chunks.
    pub gaps: Vec<f64>,
}

impl Stream {
    /// The figures of `trace`, or `None` when no audio came.
    #[must_use]
    pub fn of(trace: &Trace) -> Option<Self> {
        let (first, last) = (trace.chunks.first()?, trace.chunks.last()?);
        let since_due = |at: Duration| at.saturating_sub(trace.due).as_secs_f64();
        let first_audio = trace.first_audio.unwrap_or(first.at);
        let audio = trace.audio().as_secs_f64();
        let playouts =
            PREBUFFERS.map(|prebuffer| Playout::of(&trace.chunks, trace.rate, prebuffer));
        let audible = trace
            .silence
            .and_then(|index| playouts[0].heard_at(&trace.chunks, trace.rate, index));
        Some(Self {
            ttfb: since_due(trace.first_byte.unwrap_or(first_audio)),
            ttfc: since_due(first_audio),
            ttfa: audible.map(since_due),
            audio,
            rtf_stream: last.at.saturating_sub(first_audio).as_secs_f64() / audio,
            rtf_end_to_end: since_due(last.at) / audio,
            rtf_model: trace.model_time.map(|wall| wall.as_secs_f64() / audio),
            gaps: gaps(&trace.chunks),
            playouts,
        })
    }

    /// Did the whole stream arrive?
    #[must_use]
    pub fn is_complete(trace: &Trace) -> bool {
        trace.outcome == Outcome::Complete
    }
}

/// Gaps between arrivals, those within [`ONE_CHUNK`] left out.
fn gaps(chunks: &[Chunk]) -> Vec<f64> {
    let between = chunks
        .windows(2)
        .map(|pair| pair[1].at.saturating_sub(pair[0].at));
    between
        .filter(|gap| *gap >= ONE_CHUNK)
        .map(|gap| gap.as_secs_f64())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Framing, Recorder};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn every_figure_by_hand() {
        let mut seen = Recorder::new(Framing::Pcm { rate: 1000 }, ms(1000), ms(1001), 3);
        let silent = [0u8; 200];
        let loud = [100u8; 200];
        // 100 ms of silence at 1,050, then 100 ms of sound each at 1,170 and (in two pieces) 1,300.
        seen.bytes(ms(1050), &silent).unwrap();
        seen.bytes(ms(1170), &loud).unwrap();
        seen.bytes(ms(1300), &loud[..100]).unwrap();
        seen.bytes(ms(1300), &loud[..100]).unwrap();
        seen.model_time(ms(150));
        let trace = seen.finish(ms(1310), Outcome::Complete);
        let stream = Stream::of(&trace).unwrap();
        close(stream.ttfb, 0.050);
        close(stream.ttfc, 0.050);
        // Silence is heard from 1,050 to 1,150; sound comes 20 ms late, at 1,170.
        close(stream.ttfa.unwrap(), 0.170);
        close(stream.audio, 0.300);
        close(stream.rtf_stream, 0.250 / 0.300);
        close(stream.rtf_end_to_end, 1.0);
        close(stream.rtf_model.unwrap(), 0.5);
        assert_eq!(stream.playouts[0].stalled(), ms(20 + 30));
        assert_eq!(stream.playouts[1].stalled(), ms(0));
        assert_eq!(stream.gaps.len(), 2);
        close(stream.gaps[0], 0.120);
        close(stream.gaps[1], 0.130);
    }

    #[test]
    fn a_silent_stream_has_no_first_audible_sample() {
        let mut seen = Recorder::new(Framing::Pcm { rate: 1000 }, ms(0), ms(0), 3);
        seen.bytes(ms(5), &[0; 20]).unwrap();
        let trace = seen.finish(ms(6), Outcome::Complete);
        assert_eq!(Stream::of(&trace).unwrap().ttfa, None);
    }

    #[test]
    fn a_trace_without_audio_has_no_figures() {
        let seen = Recorder::new(Framing::Wav, ms(0), ms(0), 3);
        assert!(Stream::of(&seen.finish(ms(1), Outcome::Cancelled)).is_none());
    }
}
