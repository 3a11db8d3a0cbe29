//! What the engine refuses, and why a request ends early.

pub use runtime::Kind;
use runtime::Suggestion;

/// The result of asking the engine for something.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the engine could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller named a model that is not served.
    #[error("unknown model `{id}`{}", Suggestion(id, known))]
    UnknownModel {
        /// The id as given.
        id: String,
        /// The ids of the models that are served.
        known: Vec<String>,
    },
    /// Two models of the configuration have one id: give one of them another.
    #[error("two models have the id `{id}`")]
    TwoModels {
        /// The id.
        id: String,
    },
    /// A model could not be loaded: most often its weights are not there.
    #[error(transparent)]
    Load(#[from] models::Error),
    /// The request itself: its options, its room, its nodes, its end.
    #[error(transparent)]
    Request(#[from] runtime::Error),
}

impl Error {
    /// When it is worth asking again, where that is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<std::time::Duration> {
        match self {
            Self::Request(runtime::Error::Saturated { retry, .. }) => Some(*retry),
            _ => None,
        }
    }

    /// Which of the few kinds this is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::UnknownModel { .. } => Kind::NotFound,
            Self::TwoModels { .. } => Kind::Invalid,
            Self::Load(models::Error::Unknown { .. }) => Kind::NotFound,
            Self::Load(_) => Kind::Unavailable,
            Self::Request(error) => error.kind(),
        }
    }
}
