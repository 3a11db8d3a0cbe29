//! Files as memory, so that weights are used where they lie.

use std::fs::File;
use std::io;
use std::path::Path;

/// A file's bytes, mapped read-only. Its pages are fetched when they are first read, and the
/// system may drop them again.
#[derive(Debug)]
pub struct MappedFile(memmap2::Mmap);

impl MappedFile {
    /// Maps the whole file at `path`, which must stay as it is for as long as it is mapped:
    /// reading a part that was cut off ends the process, and a part that was overwritten reads as
    /// other numbers. Replace such a file by renaming another over it, which is safe.
    ///
    /// # Errors
    /// What the system says: the file is not there, may not be read, or is no plain file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a plain file",
            ));
        }
        #[expect(unsafe_code, reason = "a mapping has no safe form")]
        // SAFETY: the bytes are only ever read as numbers, every pattern of which is valid. That
        // nobody writes to the file is asked of whoever names it, in the documentation; the
        // weights' cache keeps it by renaming.
        let mapped = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Self(mapped))
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_reads_as_it_was_written() {
        let path = std::env::temp_dir().join(format!("mapped-{}", std::process::id()));
        std::fs::write(&path, b"weights").unwrap();
        let mapped = MappedFile::open(&path).unwrap();
        assert_eq!(mapped.as_ref(), b"weights");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mapped.as_ref(), b"weights", "the mapping outlives the name");
    }

    #[test]
    fn a_folder_is_refused() {
        let error = MappedFile::open(&std::env::temp_dir()).unwrap_err();
        assert_eq!(error.to_string(), "not a plain file");
    }
}
