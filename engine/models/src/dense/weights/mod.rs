//! Weights out of files: tensors by name, each where it lies, checked against the architecture.
//!
//! ```text
//! *.gguf ────────▶ Gguf ──────────┐
//!                                 ├─▶ Tensors ─▶ Weights: matrix, vector, by role ─▶ the network
//! *.safetensors ─▶ Safetensors ───┘
//! ```
//!
//! Files are mapped, not read: each tensor is looked at once, when the kernels put it into their
//! order, and no file is in memory as a whole. What always holds: a tensor's bytes lie inside its
//! file and are as many as its shape and storage say.

pub(super) mod gguf;
pub(super) mod names;
pub(crate) mod safetensors;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Error, Result};

/// Bytes that several may read, and a range of them.
#[derive(Clone)]
pub(crate) struct Bytes {
    all: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl Bytes {
    pub(crate) fn new(all: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Self {
        let range = 0..(*all).as_ref().len();
        Self { all, range }
    }

    /// A range of these, without a copy; none where it does not lie inside.
    pub(crate) fn slice(&self, range: Range<usize>) -> Option<Self> {
        self.as_ref().get(range.clone())?;
        let start = self.range.start;
        Some(Self {
            all: Arc::clone(&self.all),
            range: start + range.start..start + range.end,
        })
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(Arc::new(bytes))
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        // The range was checked when it was made.
        (*self.all).as_ref().get(self.range.clone()).unwrap_or(&[])
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.range.len())
    }
}

/// Maps a file into memory.
pub(crate) fn map(path: &Path) -> Result<Bytes> {
    let mapped = kernels::MappedFile::open(path).map_err(Error::io(path))?;
    Ok(Bytes::new(Arc::new(mapped)))
}

/// How the elements of a tensor lie in its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    F32,
    F16,
    Bf16,
    /// Blocks of 32 elements: a scale in f16 and 32 signed bytes.
    Q8_0,
    /// Blocks of 32 elements: a scale in f16 and 32 numbers of 4 bits, minus 8.
    Q4_0,
    /// Blocks of 32 elements: a scale and a least value in f16, and 32 numbers of 4 bits.
    Q4_1,
}

impl Storage {
    /// The names of all, for errors.
    const ACCEPTED: &'static str = "f32, f16, bf16, q8_0, q4_0, q4_1";

    /// Elements of a block; 1 where each stands alone.
    pub(crate) const fn block(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q8_0 | Self::Q4_0 | Self::Q4_1 => 32,
        }
    }

    const fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q8_0 => 34,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
        }
    }

    /// Bytes of so many elements; none where they are no whole number of blocks, or too many.
    pub(crate) fn bytes(self, elements: usize) -> Option<usize> {
        if !elements.is_multiple_of(self.block()) {
            return None;
        }
        (elements / self.block()).checked_mul(self.block_bytes())
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
            Self::Q4_1 => "q4_1",
        })
    }
}

/// A tensor as it lies in a file.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// Outermost axis first.
    shape: Vec<usize>,
    /// The storage and the bytes, or the name of a type that is not read.
    contents: Result<(Storage, Bytes), Arc<str>>,
}

impl Stored {
    pub(crate) fn new(shape: Vec<usize>, storage: Storage, bytes: Bytes) -> Self {
        Self {
            shape,
            contents: Ok((storage, bytes)),
        }
    }

    /// A tensor of a type that is not read: an error for whoever asks for it.
    pub(crate) fn unread(shape: Vec<usize>, type_name: Arc<str>) -> Self {
        Self {
            shape,
            contents: Err(type_name),
        }
    }
}

#[cfg(test)]
impl Tensors {
    pub(crate) fn stored(&self, name: &str) -> Option<&Stored> {
        self.stored.get(name)
    }
}

#[cfg(test)]
impl Stored {
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes; none of a type that is not read.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.contents
            .as_ref()
            .map_or(&[], |(_, bytes)| bytes.as_ref())
    }
}

/// The tensors of one model's files, by name.
#[derive(Debug)]
pub(crate) struct Tensors {
    path: PathBuf,
    stored: BTreeMap<String, Stored>,
}

impl Tensors {
    /// Tensors out of the file, or the folder of files, at `path`.
    pub(crate) fn new(path: &Path, stored: BTreeMap<String, Stored>) -> Self {
        Self {
            path: path.to_path_buf(),
            stored,
        }
    }

    /// The file, or the folder of files.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a tensor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.stored.contains_key(name)
    }

    /// The axes of a tensor that has so many.
    ///
    /// # Errors
    /// [`Error::MissingTensor`]; [`Error::Malformed`] for another number of axes.
    pub(crate) fn shape<const N: usize>(&self, name: &str) -> Result<[usize; N]> {
        let stored = self.stored.get(name).ok_or_else(|| self.missing(name))?;
        stored.shape.as_slice().try_into().map_err(|_| {
            let problem = format!(
                "tensor `{name}` has shape {:?}, expected {N} axes",
                stored.shape
            );
            Error::malformed(&self.path, problem)
        })
    }

    fn missing(&self, name: &str) -> Error {
        Error::MissingTensor {
            path: self.path.clone(),
            name: name.to_owned(),
            known: self.names().map(str::to_owned).collect(),
        }
    }

    /// The names of all tensors.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.stored.keys().map(String::as_str)
    }

    /// The storage and the bytes of the tensor of this name and shape.
    ///
    /// # Errors
    /// [`Error::MissingTensor`], [`Error::Misshapen`], and [`Error::Unsupported`] for a type that
    /// is not read.
    pub(crate) fn get(&self, name: &str, shape: &[usize]) -> Result<(Storage, Bytes)> {
        let path = || self.path.clone();
        let stored = self.stored.get(name).ok_or_else(|| self.missing(name))?;
        if stored.shape != shape {
            return Err(Error::Misshapen {
                path: path(),
                name: name.to_owned(),
                got: stored.shape.clone(),
                expected: shape.to_vec(),
            });
        }
        match &stored.contents {
            Ok((storage, bytes)) => Ok((*storage, bytes.clone())),
            Err(type_name) => Err(Error::Unsupported {
                path: path(),
                what: format!("tensor `{name}`"),
                got: type_name.to_string(),
                accepted: Storage::ACCEPTED.to_owned(),
            }),
        }
    }

    /// That every tensor is one of `known`, or may be left aside by `aside`.
    ///
    /// # Errors
    /// [`Error::UnexpectedTensor`] with the first that is not.
    pub(crate) fn only(&self, known: &[String], aside: impl Fn(&str) -> bool) -> Result<()> {
        let expected = |name: &&str| known.iter().any(|known| known == name) || aside(name);
        match self.names().find(|name| !expected(name)) {
            None => Ok(()),
            Some(name) => Err(Error::UnexpectedTensor {
                path: self.path.clone(),
                name: name.to_owned(),
                known: known.to_vec(),
            }),
        }
    }
}
