//! What lies in an entry's folder, written down when it was installed.
//!
//! It is the last file to be written, so a folder with one was complete once. Sizes and times of
//! change are compared at every start; hashes where a time differs, or when asked for.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Entry, Error, Result};

/// The manifest's name in an entry's folder.
pub(super) const NAME: &str = "manifest.json";
/// Of this form. Another number means another program wrote it.
const FORM: u32 = 1;
/// A manifest of a hundred files is smaller.
const MAX_BYTES: u64 = 64 * 1024;

/// What was installed, and from what.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    form: u32,
    id: String,
    package: String,
    version: String,
    wheel_sha256: String,
    files: Vec<Installed>,
}

/// One file as it was when it was installed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Installed {
    name: String,
    bytes: u64,
    sha256: String,
    /// Nanoseconds since 1970 at which it was last changed.
    modified_ns: u128,
}

impl Installed {
    /// The file of that name in `folder`, whose hash is known.
    pub(super) fn describe(folder: &Path, name: &str, sha256: String) -> Result<Self> {
        let (bytes, modified_ns) = look(&folder.join(name))?;
        Ok(Self {
            name: name.into(),
            bytes,
            sha256,
            modified_ns,
        })
    }
}

impl Manifest {
    pub(super) fn new(entry: &Entry, files: Vec<Installed>) -> Self {
        Self {
            form: FORM,
            id: entry.id.into(),
            package: entry.package.into(),
            version: entry.version.into(),
            wheel_sha256: entry.sha256.into(),
            files,
        }
    }

    /// The manifest of a folder.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let mut text = String::new();
        let file = fs::File::open(&path).map_err(|error| unusable(&error.to_string()))?;
        file.take(MAX_BYTES)
            .read_to_string(&mut text)
            .map_err(Error::io(&path))?;
        let manifest: Self =
            serde_json::from_str(&text).map_err(|error| unusable(&error.to_string()))?;
        if manifest.form != FORM {
            return Err(unusable(&format!("form {} is not {FORM}", manifest.form)));
        }
        Ok(manifest)
    }

    /// Writes it into a folder, whose files are all there.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(NAME);
        let text = serde_json::to_vec_pretty(self).map_err(|error| unusable(&error.to_string()))?;
        fs::write(&path, text).map_err(Error::io(&path))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// That this is what the catalog pins today, with every file of it.
    pub(super) fn check_entry(&self, entry: &Entry) -> Result<()> {
        if self.id != entry.id || self.wheel_sha256 != entry.sha256 {
            let problem = format!(
                "from {} {}, the catalog has {} {}",
                self.package, self.version, entry.package, entry.version
            );
            return Err(unusable(&problem));
        }
        for file in entry.files {
            let known = self.files.iter().any(|known| known.name == file.name);
            if !known {
                return Err(unusable(&format!("does not list {}", file.name)));
            }
        }
        Ok(())
    }

    /// Sizes and times of change; a file whose time differs is hashed.
    pub(super) fn check_quickly(&self, folder: &Path) -> Result<()> {
        self.files.iter().try_for_each(|file| {
            if file.check_size(folder)? == file.modified_ns {
                return Ok(());
            }
            file.check_hash(folder)
        })
    }

    /// Sizes and hashes.
    pub(super) fn check_fully(&self, folder: &Path) -> Result<()> {
        self.files.iter().try_for_each(|file| {
            file.check_size(folder)?;
            file.check_hash(folder)
        })
    }
}

impl Installed {
    /// Gives back the time of change.
    fn check_size(&self, folder: &Path) -> Result<u128> {
        let looked = look(&folder.join(&self.name));
        let (bytes, modified) = looked.map_err(|error| self.wrong(error.to_string()))?;
        if bytes != self.bytes {
            return Err(self.wrong(format!("{bytes} bytes, expected {}", self.bytes)));
        }
        Ok(modified)
    }

    fn check_hash(&self, folder: &Path) -> Result<()> {
        let got = sha256_of_file(&folder.join(&self.name))?;
        if got == self.sha256 {
            return Ok(());
        }
        Err(Error::HashMismatch {
            file: self.name.clone(),
            expected: self.sha256.clone(),
            got,
        })
    }

    fn wrong(&self, problem: String) -> Error {
        Error::File {
            file: self.name.clone(),
            problem,
        }
    }
}

/// Bytes, and nanoseconds since 1970.
fn look(path: &Path) -> Result<(u64, u128)> {
    let metadata = fs::metadata(path).map_err(Error::io(path))?;
    let modified = metadata.modified().map_err(Error::io(path))?;
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((metadata.len(), since.as_nanos()))
}

fn unusable(problem: &str) -> Error {
    Error::File {
        file: NAME.into(),
        problem: problem.into(),
    }
}

/// SHA-256 of a file in lower-case hexadecimal.
pub(super) fn sha256_of_file(path: &Path) -> Result<String> {
    let mut hash = Hashing::new(io::sink());
    let mut file = fs::File::open(path).map_err(Error::io(path))?;
    io::copy(&mut file, &mut hash).map_err(Error::io(path))?;
    Ok(hash.finish().1)
}

/// Writes to something and hashes what passes.
pub(super) struct Hashing<W> {
    inner: W,
    hash: Sha256,
}

impl<W: io::Write> Hashing<W> {
    pub(super) fn new(inner: W) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
        }
    }

    /// What was written to, and the SHA-256 of it in lower-case hexadecimal.
    pub(super) fn finish(self) -> (W, String) {
        let digits = self.hash.finalize();
        let text = digits
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        (self.inner, text)
    }
}

impl<W: io::Write> io::Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
