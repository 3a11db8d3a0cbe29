//! Figures out of traces. Pure: no clock, no socket, no randomness.
//!
//! [`playout`] is what a listener would have heard, [`distribution`] how a figure is spread,
//! [`stream`] what one trace says, [`level`] what all traces under one load say, [`verdict`]
//! whether that counts, and [`histogram`] reads the server's own.

pub mod distribution;
pub mod histogram;
pub mod level;
pub mod playout;
pub mod stream;
pub mod verdict;

pub use distribution::Distribution;
pub use level::{Level, Summary};
pub use playout::Playout;
pub use stream::Stream;

/// Each figure's name and its formula, printed beside the figures in every report.
pub const FORMULAS: &[(&str, &str)] = &[
    (
        "TTFB",
        "first byte of the body (WAV head included) - request due",
    ),
    (
        "TTFC",
        "first byte of audio (WAV head excluded) - request due",
    ),
    (
        "TTFA",
        "moment at which the first sample of -50 dBFS or louder is played at prebuffer 0 - request \
         due; leading silence and stalls before it included",
    ),
    (
        "RTF (stream)",
        "(last byte of audio - first byte of audio) / audio time; what the client sees of the \
         server's pace, without queue and first chunk",
    ),
    (
        "RTF (end to end)",
        "(last byte of audio - request due) / audio time; queue included",
    ),
    (
        "RTF (model)",
        "(last model step - first model step) / audio time, by the server's own word where it \
         gives one",
    ),
    (
        "stall",
        "a player starts B after the first chunk (B = 0, 50, 100 ms), plays at real time, stops \
         when it has nothing left and goes on with the next chunk; each stop is a stall",
    ),
    ("stall-free", "streams without any stall / complete streams"),
    (
        "stall per minute",
        "sum of all stalls / sum of all audio, in ms per minute",
    ),
    (
        "worst deficit",
        "largest lateness of any chunk against an unstopped player, which equals the stream's \
         total stall time",
    ),
    (
        "gap",
        "time between the arrivals of two chunks; arrivals within 1 ms are one chunk",
    ),
    (
        "throughput",
        "audio that arrived in the measured window / its length; cancelled included",
    ),
    (
        "percentile",
        "nearest rank: the smallest value with at least p % of all values at or below",
    ),
];
