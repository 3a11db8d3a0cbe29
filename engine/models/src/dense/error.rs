//! Why a language model's files cannot be served. The operator's to mend, before any request.

use std::path::{Path, PathBuf};

use runtime::Suggestion;

/// The result of reading a language model's files.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a language model's files cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused. Look at the path.
    #[error("{}: {message}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        message: String,
    },
    /// The file is damaged, cut off, or not what its name says. Fetch it again.
    #[error("{} is malformed: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where in the file.
        problem: String,
    },
    /// The file is sound, and asks for something that is not built. Convert it, or take another.
    #[error("{}: {what} is {got}, accepted: {accepted}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it asks for, such as a setting's name.
        what: String,
        /// What it says.
        got: String,
        /// What would have been taken.
        accepted: String,
    },
    /// A setting that has to be there is not. The file is of another kind, or incomplete.
    #[error("{}: setting `{name}` is missing", path.display())]
    MissingSetting {
        /// The file.
        path: PathBuf,
        /// The setting's name.
        name: String,
    },
    /// A tensor that the architecture has is not in the file.
    #[error("{}: tensor `{name}` is missing{}", path.display(), near(name, known))]
    MissingTensor {
        /// The file, or the folder of the files.
        path: PathBuf,
        /// The tensor's name.
        name: String,
        /// The names that are there.
        known: Vec<String>,
    },
    /// A tensor is in the file that the architecture does not have: it is of another family.
    #[error("{}: tensor `{name}` is unexpected{}", path.display(), near(name, known))]
    UnexpectedTensor {
        /// The file, or the folder of the files.
        path: PathBuf,
        /// The tensor's name.
        name: String,
        /// The names that the architecture has.
        known: Vec<String>,
    },
    /// A tensor is of another shape than the configuration says.
    #[error("{}: tensor `{name}` has shape {got:?}, expected {expected:?}", path.display())]
    Misshapen {
        /// The file, or the folder of the files.
        path: PathBuf,
        /// The tensor's name.
        name: String,
        /// Its shape, outermost axis first.
        got: Vec<usize>,
        /// The shape by the configuration.
        expected: Vec<usize>,
    },
}

impl Error {
    /// Wraps what the file system says about `path`, for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |error| Self::Io {
            path: path.to_path_buf(),
            message: error.to_string(),
        }
    }

    /// Says what is wrong with the contents of `path`.
    pub(crate) fn malformed(path: &Path, problem: impl Into<String>) -> Self {
        Self::Malformed {
            path: path.to_path_buf(),
            problem: problem.into(),
        }
    }
}

/// The nearest name only: a model has hundreds of tensors.
fn near(name: &str, known: &[String]) -> String {
    match runtime::nearest(name, known) {
        Some(near) => format!(", the nearest is `{near}`"),
        None => Suggestion(name, known).to_string(),
    }
}
