//! Why an ONNX file cannot be used. The operator's to mend, before any request.

use std::path::PathBuf;

/// The result of reading an ONNX file.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an ONNX file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not there or cannot be read. The caller's path, or weights that are not
    /// installed.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not an ONNX model, or is cut short.
    #[error("{} is not an ONNX model: {problem}", path.display())]
    NotOnnx {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        problem: String,
    },
    /// A part of the graph cannot be cut out. A damaged file, or one of another kind.
    #[error("the part `{part}` cannot be cut out: {problem}")]
    Cut {
        /// Which part.
        part: String,
        /// What lies in the way.
        problem: String,
    },
    /// A weight is not there, or is not a tensor of numbers. The file is of another model.
    #[error("there is no weight `{name}`: {problem}")]
    NoWeight {
        /// Its name.
        name: String,
        /// What is there in its place.
        problem: String,
    },
    /// A weight has another shape than the model says. The file is of another model.
    #[error("the weight `{name}` has shape {got:?}, expected {expected:?}")]
    Misshapen {
        /// Its name.
        name: String,
        /// Its shape, outermost axis first.
        got: Vec<usize>,
        /// The shape that the model has.
        expected: Vec<usize>,
    },
}
