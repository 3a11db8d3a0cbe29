//! What can go wrong in the text front end: only its data files.
//!
//! Text itself never fails. What cannot be read aloud is left out and listed in
//! [`Utterance::unread`](super::Utterance::unread).

use std::{io, path::PathBuf};

/// A data file of the front end, as error messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// The checked lexicon (`us_gold.json`).
    Gold,
    /// The larger, unchecked lexicon (`us_silver.json`).
    Silver,
    /// The weights of the letter-to-sound network (`checkpoint20.npz`).
    LetterToSound,
    /// The words with two pronunciations (`homographs.en`).
    Homographs,
    /// The voice's own JSON, with its `phoneme_id_map`.
    Voice,
}

impl std::fmt::Display for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gold => "gold lexicon",
            Self::Silver => "silver lexicon",
            Self::LetterToSound => "letter-to-sound weights",
            Self::Homographs => "homograph list",
            Self::Voice => "voice description",
        })
    }
}

/// Why the front end could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened or read. Install the voice again, or correct the path.
    #[error("cannot read the {file} at {}: {source}", path.display())]
    Read {
        /// Which of the files.
        file: File,
        /// Where it was looked for.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file is not what it should be: damaged, or another kind of file.
    #[error("the {file} is damaged: {reason}")]
    Malformed {
        /// Which of the files.
        file: File,
        /// What was found, and what was expected.
        reason: String,
    },
    /// A file is larger than any that this front end was made for.
    #[error("the {file} has {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// Which of the files.
        file: File,
        /// Its size.
        bytes: u64,
        /// The largest size accepted.
        limit: u64,
    },
    /// The voice's `phoneme_id_map` lacks a symbol without which nothing can be said.
    #[error("the voice's phoneme_id_map has no entry for {symbol:?}")]
    MissingSymbol {
        /// The symbol: padding `_`, start `^` or end `$`.
        symbol: char,
    },
}

impl Error {
    pub(super) fn malformed(file: File, reason: impl std::fmt::Display) -> Self {
        Self::Malformed {
            file,
            reason: reason.to_string(),
        }
    }
}

/// A result of the text front end.
pub type Result<T> = std::result::Result<T, Error>;
