//! What can go wrong between bytes and samples.
//!
//! Each variant carries values; its text is short and names what is accepted. [`Error::kind`]
//! sorts a variant for whoever must turn it into a status or a wire code.

use thiserror::Error as ThisError;

/// The result of everything fallible in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between bytes and samples.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The caller named a format that does not exist here. Choose one of `accepted`.
    #[error("unknown audio format `{name}`: accepted are {accepted}")]
    UnknownFormat {
        /// The name as given, cut to a printable length.
        name: String,
        /// The names that work in this build, separated by commas.
        accepted: String,
    },
    /// The caller named a format that exists elsewhere and is refused here, with the reason.
    #[error("audio format `{name}` is not offered: {reason}; accepted are {accepted}")]
    RefusedFormat {
        /// The name of the format.
        name: &'static str,
        /// Why it is not offered.
        reason: &'static str,
        /// The names that work in this build, separated by commas.
        accepted: String,
    },
    /// The caller gave a sample rate outside of what audio uses.
    #[error("sample rate {hz} Hz is out of range: accepted are {min} to {max} Hz")]
    SampleRate {
        /// The rate as given, in Hz.
        hz: u64,
        /// The lowest accepted rate, in Hz.
        min: u32,
        /// The highest accepted rate, in Hz.
        max: u32,
    },
    /// The caller pushed more audio into one stream than its container can count.
    #[error("{format} stream is over its limit of {limit} samples")]
    TooLong {
        /// The wire name of the format.
        format: &'static str,
        /// How many samples of the encoded rate one stream may hold.
        limit: u64,
    },
    /// The caller's file is no audio that can be read here.
    #[error("the file cannot be decoded: {problem}; accepted are {accepted}")]
    Undecodable {
        /// What is wrong with it.
        problem: String,
        /// What can be read.
        accepted: &'static str,
    },
    /// The caller's file holds more audio than it may.
    #[error("the recording is longer than {seconds} s")]
    Overlong {
        /// The longest that is taken.
        seconds: u64,
    },
    /// The codec library refused what we gave it. Its fault or ours, never the caller's.
    #[error("{codec} failed: {message}")]
    Codec {
        /// Which codec.
        codec: &'static str,
        /// What it said.
        message: String,
    },
}

/// Whose doing an [`Error`] was, as far as a server must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The request is malformed or over a limit; asking again does not help.
    Invalid,
    /// The request is sound but not offered by this build.
    Unsupported,
    /// The fault is on this side.
    Internal,
}

impl Error {
    /// Wraps what a codec's library says, for `map_err`.
    pub(crate) fn codec<E: std::fmt::Display>(codec: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::Codec {
            codec,
            message: error.to_string(),
        }
    }

    /// Sorts this error into one of a few kinds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::UnknownFormat { .. }
            | Self::SampleRate { .. }
            | Self::TooLong { .. }
            | Self::Undecodable { .. }
            | Self::Overlong { .. } => Kind::Invalid,
            Self::RefusedFormat { .. } => Kind::Unsupported,
            Self::Codec { .. } => Kind::Internal,
        }
    }
}
