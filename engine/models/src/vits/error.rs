//! What keeps a voice from being loaded or from speaking.

use std::path::PathBuf;

use crate::onnx;

/// The result of loading or running a voice.
pub type Result<T> = std::result::Result<T, Error>;

/// What keeps a voice from being loaded or from speaking.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the voice is not there or cannot be read. The caller's path, or weights that
    /// are not installed.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The `.onnx.json` beside the weights is not a description of a voice of this family.
    #[error("{}: {problem}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is missing or out of range, and what is accepted.
        problem: String,
    },
    /// The weights cannot be read, are no ONNX model, or cannot be cut.
    #[error(transparent)]
    Onnx(#[from] onnx::Error),
    /// The model's graph is not that of a VITS voice. Another voice helps.
    #[error("not the graph of a VITS voice: looked for {looked_for}, {found}")]
    Graph {
        /// The part of the graph that was looked for, with how it is recognised.
        looked_for: &'static str,
        /// What was there in its place.
        found: String,
    },
    /// A part of the graph could not be made ready to run. An operator that is not supported, or
    /// a damaged file.
    #[error("the voice's {part} cannot be loaded: {problem}")]
    Load {
        /// Which part.
        part: String,
        /// What the runtime of the weights said.
        problem: String,
    },
    /// A part of the graph failed while it ran.
    #[error("the voice's {part} failed: {problem}")]
    Run {
        /// Which part.
        part: String,
        /// What the runtime of the weights said.
        problem: String,
    },
    /// The request asks for more than one utterance may hold. The sender should split it.
    #[error("an utterance of {got} {of} is too long, at most {limit}")]
    TooLong {
        /// What was counted.
        of: &'static str,
        /// How many there were.
        got: usize,
        /// How many there may be.
        limit: usize,
    },
    /// An option is out of range.
    #[error("`{name}` is {got}, accepted: {accepted}")]
    Option {
        /// The option.
        name: &'static str,
        /// Its value.
        got: String,
        /// What would have been taken.
        accepted: String,
    },
}
