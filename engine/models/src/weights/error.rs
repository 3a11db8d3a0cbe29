//! Why weights could not be found or installed. All of it is the operator's to mend.

use std::io;
use std::path::{Path, PathBuf};

/// The result of everything fallible about weights.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why weights could not be found or installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller named an id that is not in the catalog. Choose one of `known`.
    #[error("unknown weights `{id}`: known are {known}")]
    Unknown {
        /// The id as given, cut to a printable length.
        id: String,
        /// The ids of the catalog.
        known: String,
    },
    /// The weights are in the catalog and not in the cache. Install them.
    #[error("weights `{id}` are not in {}; run: promenade models install{}", folder.display(), asked(id))]
    NotInstalled {
        /// Which.
        id: String,
        /// Where they would lie.
        folder: PathBuf,
    },
    /// The weights are in the cache and something changed them. Install them again.
    #[error(
        "weights `{id}` are damaged ({problem}); run: promenade models install{}",
        asked(id)
    )]
    Damaged {
        /// Which.
        id: String,
        /// What is wrong, with the file's name.
        problem: String,
    },
    /// A file of an installed entry is not what the manifest says.
    #[error("{file}: {problem}")]
    File {
        /// Its name in the entry's folder.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No folder to keep weights in: the environment names none. Set one of the variables.
    #[error("no cache folder: set PROMENADE_CACHE, XDG_CACHE_HOME or HOME")]
    NoCacheFolder,
    /// Python is not there. Install it, or name another.
    #[error("cannot run `{program}`, which fetches packages: install Python 3 with pip")]
    NoPython {
        /// What was to be run.
        program: String,
    },
    /// Python is there without its package client. Install pip.
    #[error("`{program}` has no pip, which fetches packages: install python3-pip")]
    NoPip {
        /// What was run.
        program: String,
    },
    /// The package registry cannot be reached. Look at the network or pip's settings.
    #[error("cannot fetch {package}: the package registry is not reachable ({message})")]
    Offline {
        /// Name and version of the package.
        package: String,
        /// What the client said, its last line.
        message: String,
    },
    /// The registry has no such package any more, or none that this Python may use.
    #[error("cannot fetch {package}: the package registry does not have it ({message})")]
    Gone {
        /// Name and version of the package.
        package: String,
        /// What the client said, its last line.
        message: String,
    },
    /// The package client failed in a way that is not known here.
    #[error("cannot fetch {package}: pip failed: {message}")]
    Client {
        /// Name and version of the package.
        package: String,
        /// What the client said, its last lines.
        message: String,
    },
    /// What was fetched is not what the catalog pins. Never used; look at the registry.
    #[error("{file} hashes to {got}, expected {expected}")]
    HashMismatch {
        /// The wheel's or the file's name.
        file: String,
        /// SHA-256 by the catalog or the manifest.
        expected: String,
        /// SHA-256 of what is there.
        got: String,
    },
    /// The wheel is of the right hash and not what the catalog says is in it. Ours to mend.
    #[error("{wheel}: {problem}")]
    Wheel {
        /// Its name.
        wheel: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no room. Free some, or put the cache elsewhere.
    #[error("the disk is full under {}: {needed} bytes are needed", folder.display())]
    DiskFull {
        /// The cache.
        folder: PathBuf,
        /// Bytes that the entry needs in all while it is installed.
        needed: u64,
    },
    /// The user's voice lacks one of its two files.
    #[error("voice {}: {problem}", path.display())]
    Voice {
        /// The file that is there, or was named.
        path: PathBuf,
        /// What is missing.
        problem: String,
    },
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl Error {
    /// Wraps what the file system says about `path`, for `map_err`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_path_buf(),
            source,
        }
    }

    /// Whether this says that there is no room.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }
}

/// What installing `id` has to be asked for: nothing for what is installed by default.
fn asked(id: &str) -> String {
    match super::entry(id) {
        Ok(entry) if !entry.default => format!(" {id}"),
        _ => String::new(),
    }
}
