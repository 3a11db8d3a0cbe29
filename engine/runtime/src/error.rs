//! What goes wrong with a request, and whose doing it was.

use std::{fmt, sync::Arc, time::Duration};

/// The result of asking the runtime for something.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a request was refused or ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller gave an option a value that the model cannot take.
    #[error("option `{name}` is {got}, accepted: {accepted}")]
    InvalidOption {
        /// The option's name.
        name: String,
        /// What was given.
        got: String,
        /// What would have been taken, in words.
        accepted: String,
    },
    /// The caller named an option that the model does not have.
    #[error("unknown option `{name}`{}", Suggestion(name, known))]
    UnknownOption {
        /// The name as given.
        name: String,
        /// The names that the model knows.
        known: Vec<String>,
    },
    /// The caller named a voice that the model does not have.
    #[error("unknown voice `{voice}`{}", Suggestion(voice, known))]
    UnknownVoice {
        /// The voice as given.
        voice: String,
        /// The voices that the model has.
        known: Vec<String>,
    },
    /// The caller gave a conversation to a model that takes none.
    #[error("model `{model}` takes no conversation; give it a text")]
    NoConversation {
        /// The model's id.
        model: String,
    },
    /// The caller gave no message to a model that continues a conversation.
    #[error("model `{model}` continues a conversation; give it at least one message")]
    NoMessages {
        /// The model's id.
        model: String,
    },
    /// The caller's conversation is longer than the model can read. Leaving out old messages
    /// helps.
    #[error("the conversation is {tokens} tokens long, accepted: up to {limit}")]
    TooLong {
        /// Tokens of the conversation.
        tokens: u64,
        /// The most that it may have.
        limit: u64,
    },
    /// As many requests as are allowed are open; no work was done. Come back later.
    #[error("overloaded: {limit} requests are open, which is the limit")]
    Overloaded {
        /// Requests that may be open at once.
        limit: usize,
    },
    /// A node could not do its part. Ours or the model's doing; other requests go on.
    #[error("model `{model}`, node `{node}`: {cause}")]
    Node {
        /// The model's id.
        model: Arc<str>,
        /// The node's name.
        node: Arc<str>,
        /// What happened in it.
        cause: Cause,
    },
    /// A model's own choice of the next walk made no sense, or the runtime broke a promise.
    #[error("model `{model}`: {problem}")]
    Model {
        /// The model's id.
        model: Arc<str>,
        /// What was wrong, with the names that it concerns.
        problem: String,
    },
    /// The runtime cannot be set up as asked.
    #[error("{problem}")]
    Setup {
        /// What was wrong, and what is accepted.
        problem: String,
    },
    /// One more listener would make others wait, or would wait for too long itself.
    #[error("all capacity is taken by {listeners} listeners; try again in {} s", retry.as_secs().max(1))]
    Saturated {
        /// Who is being served.
        listeners: usize,
        /// When it is worth asking again.
        retry: Duration,
    },
    /// The request was cancelled by whoever made it.
    #[error("cancelled")]
    Cancelled,
    /// The engine is shutting down. Another one may take the request.
    #[error("the engine is shut down")]
    ShutDown,
}

/// What happened in a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The node said so, in its own words.
    #[error("{0}")]
    Failed(String),
    /// The node panicked; its message.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The node produced a number that is infinite or not a number.
    #[error("port `{port}` carries a number that is not finite")]
    NotFinite {
        /// The port that it left by.
        port: Arc<str>,
    },
    /// The node put something on a port that it does not have.
    #[error("there is no port `{port}`")]
    NoSuchPort {
        /// The port as named by the node.
        port: String,
    },
}

impl Cause {
    /// A failure with the words of any error.
    #[must_use]
    pub fn failed(error: &dyn fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The few kinds that a caller has to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The request makes no sense as it is; it will not make sense later.
    Invalid,
    /// What the request names is not there.
    NotFound,
    /// There is no room now; later there may be.
    Overloaded,
    /// The caller ended it.
    Cancelled,
    /// The engine is going away.
    Unavailable,
    /// The model's or our doing.
    Internal,
}

impl Error {
    /// Which of the few kinds this is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::InvalidOption { .. }
            | Self::UnknownOption { .. }
            | Self::NoConversation { .. }
            | Self::NoMessages { .. }
            | Self::TooLong { .. } => Kind::Invalid,
            Self::UnknownVoice { .. } => Kind::NotFound,
            Self::Overloaded { .. } | Self::Saturated { .. } => Kind::Overloaded,
            Self::Cancelled => Kind::Cancelled,
            Self::ShutDown => Kind::Unavailable,
            Self::Node { .. } | Self::Model { .. } | Self::Setup { .. } => Kind::Internal,
        }
    }
}

impl Error {
    pub(crate) fn node(model: &Arc<str>, node: &str, cause: Cause) -> Self {
        Self::Node {
            model: Arc::clone(model),
            node: node.into(),
            cause,
        }
    }
}

/// Ends a message about an unknown name: the nearest known one, then all of them.
pub struct Suggestion<'a>(pub &'a str, pub &'a [String]);

/// Names shown at most; a message is for reading.
const SHOWN: usize = 12;

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, known) = self;
        if let Some(near) = nearest(name, known) {
            write!(f, ", did you mean `{near}`?")?;
        }
        match known {
            [] => f.write_str("; there are none"),
            few if few.len() <= SHOWN => {
                write!(f, "{} known: {}", separator(name, known), few.join(", "))
            }
            many => write!(f, "{} {} are known", separator(name, known), many.len()),
        }
    }
}

fn separator(name: &str, known: &[String]) -> &'static str {
    if nearest(name, known).is_some() {
        ""
    } else {
        ";"
    }
}

/// The known name with the fewest edits from `name`, if it is near enough to be what was meant.
#[must_use]
pub fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let near_enough = name.chars().count().div_ceil(3);
    known
        .iter()
        .map(|candidate| (edits(&name, &candidate.to_lowercase()), candidate.as_str()))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= near_enough)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance in characters, one row at a time.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["sine", "square"].map(str::to_owned);
        let cases = [
            ("sin", Some("sine")),
            ("SQUARE", Some("square")),
            ("squear", Some("square")),
            ("organ", None),
            ("", None),
        ];
        for (name, near) in cases {
            assert_eq!(nearest(name, &known), near, "{name}");
        }
        assert_eq!(
            Suggestion("organ", &known).to_string(),
            "; known: sine, square"
        );
    }
}
