//! Why a model cannot be served.

use runtime::Suggestion;

/// The result of loading a model.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a model cannot be served. The operator's to mend, before any request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no model of this id.
    #[error("unknown model `{id}`{}", Suggestion(id, known))]
    Unknown {
        /// The id as given.
        id: String,
        /// The ids that there are.
        known: Vec<String>,
    },
    /// The files of a model are missing, damaged, or of a form that is not known.
    #[error("model `{model}` cannot be loaded: {problem}")]
    Load {
        /// The model's id.
        model: String,
        /// What is wrong, with the path that it concerns, and what helps.
        problem: String,
    },
    /// The model's own declaration is unsound.
    #[error("model `{model}` is declared wrongly: {problem}")]
    Declaration {
        /// The model's id.
        model: String,
        /// The finding, with the names of node and port.
        problem: String,
    },
}
