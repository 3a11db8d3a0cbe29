//! GGUF files, versions 2 and 3: settings and tensors in one file, mapped into memory.
//!
//! ```text
//! "GGUF" version tensors settings │ key type value … │ name rank lengths type offset … │ pad │ data
//! ```
//!
//! All numbers are little-endian. A tensor's lengths are innermost first; here they are outermost
//! first. Format: `docs/gguf.md` of the ggml project, as of version 3.
//!
//! What always holds: whatever the bytes are, the result is a file whose tensors all lie inside
//! it, or an error. Memory is bounded by a small multiple of the file's header.

mod cursor;
mod value;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use self::cursor::{Cursor, Damage};
pub(in crate::dense) use self::value::Settings;
#[cfg(not(test))]
use self::value::Value;
#[cfg(test)]
pub(in crate::dense) use self::value::{List, Value};
use super::{Bytes, Storage, Stored, Tensors};
use crate::dense::{Error, Result};

/// Where data begins without a word about it.
const ALIGNMENT: usize = 32;
/// A page of huge pages; nobody aligns by more.
const MAX_ALIGNMENT: usize = 1 << 21;
/// Axes of a tensor.
const MAX_RANK: u32 = 4;
/// The least bytes of a setting: an empty name, a type, a byte.
const LEAST_SETTING: usize = 8 + 4 + 1;
/// The least bytes of a tensor's description: an empty name, no axes, a type, an offset.
const LEAST_TENSOR: usize = 8 + 4 + 4 + 8;

/// A file's settings and tensors.
pub(in crate::dense) struct Gguf {
    pub(in crate::dense) settings: Settings,
    pub(in crate::dense) tensors: Tensors,
}

impl Gguf {
    /// Maps and reads the file at `path`. Its tensors share the mapping.
    pub(in crate::dense) fn open(path: &Path) -> Result<Self> {
        let bytes = super::map(path)?;
        Self::parse(path, &bytes)
    }

    /// Reads the file's bytes; `path` is for errors.
    pub(in crate::dense) fn parse(path: &Path, bytes: &Bytes) -> Result<Self> {
        let damaged = |damage: Damage| Error::malformed(path, damage.to_string());
        let header = Header::read(bytes.as_ref()).map_err(damaged)?;
        let settings = Settings::new(path, header.settings);
        let alignment = match settings.size("general.alignment")? {
            None => ALIGNMENT,
            Some(size) if size.is_power_of_two() && size <= MAX_ALIGNMENT => size,
            Some(size) => {
                let problem = format!("general.alignment is {size}, which is no power of two");
                return Err(Error::malformed(path, problem));
            }
        };
        let data = header.end.next_multiple_of(alignment);
        let mut stored = BTreeMap::new();
        for described in header.tensors {
            let (name, tensor) = described
                .locate(bytes, data, alignment)
                .map_err(|problem| Error::malformed(path, problem))?;
            if stored.insert(name.clone(), tensor).is_some() {
                return Err(Error::malformed(path, format!("two tensors `{name}`")));
            }
        }
        Ok(Self {
            settings,
            tensors: Tensors::new(path, stored),
        })
    }
}

/// What stands before the data.
struct Header {
    settings: BTreeMap<String, Value>,
    tensors: Vec<Described>,
    /// The first byte behind it.
    end: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self, Damage> {
        let mut cursor = Cursor::new(bytes);
        if cursor.array("the magic number")? != *b"GGUF" {
            return Err(cursor.damage("no GGUF magic number"));
        }
        let version = cursor.u32("the version")?;
        if !(2..=3).contains(&version) {
            let accepted = "2 and 3 in little-endian order are read";
            return Err(cursor.damage(format!("version {version:#x}, {accepted},")));
        }
        let tensor_count = cursor.count("the number of tensors", LEAST_TENSOR)?;
        let setting_count = cursor.count("the number of settings", LEAST_SETTING)?;
        let mut settings = BTreeMap::new();
        for _ in 0..setting_count {
            let name = cursor.text("a setting's name")?;
            let kind = cursor.u32("a setting's type")?;
            let value = cursor.value(kind)?;
            if settings.insert(name.clone(), value).is_some() {
                return Err(cursor.damage(format!("the setting `{name}` stands twice")));
            }
        }
        let mut tensors = Vec::new();
        for _ in 0..tensor_count {
            tensors.push(Described::read(&mut cursor)?);
        }
        Ok(Self {
            settings,
            tensors,
            end: cursor.at(),
        })
    }
}

/// A tensor as the header describes it.
struct Described {
    name: String,
    /// Outermost first.
    shape: Vec<usize>,
    kind: u32,
    offset: u64,
}

impl Described {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Damage> {
        let name = cursor.text("a tensor's name")?;
        let rank = cursor.u32("a tensor's rank")?;
        if rank > MAX_RANK {
            return Err(cursor.damage(format!("`{name}` has {rank} axes, at most {MAX_RANK}")));
        }
        let mut shape = Vec::new();
        for _ in 0..rank {
            let length = cursor.u64("a tensor's length")?;
            let length = usize::try_from(length);
            shape.push(length.map_err(|_| cursor.damage("a length beyond this machine"))?);
        }
        shape.reverse();
        Ok(Self {
            name,
            shape,
            kind: cursor.u32("a tensor's type")?,
            offset: cursor.u64("a tensor's offset")?,
        })
    }

    /// The tensor's place in the file, whose data begins at `data`. Its bytes are checked where
    /// the type is one that is read; of others nothing is known, and nothing is used.
    fn locate(
        self,
        bytes: &Bytes,
        data: usize,
        alignment: usize,
    ) -> Result<(String, Stored), String> {
        let Self {
            name,
            shape,
            kind,
            offset,
        } = self;
        let Some(storage) = storage(kind) else {
            let stored = Stored::unread(shape, type_name(kind));
            return Ok((name, stored));
        };
        let elements = shape
            .iter()
            .try_fold(1, |all: usize, &n| all.checked_mul(n));
        let inner = shape.last().copied().unwrap_or(1);
        let size = elements.and_then(|elements| storage.bytes(elements));
        let (Some(size), 0) = (size, inner % storage.block()) else {
            return Err(format!("`{name}` of shape {shape:?} cannot be {storage}"));
        };
        let start = usize::try_from(offset)
            .ok()
            .filter(|offset| offset.is_multiple_of(alignment))
            .and_then(|offset| offset.checked_add(data));
        let range = start.and_then(|start| Some(start..start.checked_add(size)?));
        let slice = range.and_then(|range| bytes.slice(range));
        let slice = slice.ok_or_else(|| {
            format!("`{name}` has {size} bytes at offset {offset}: not inside the file")
        })?;
        Ok((name, Stored::new(shape, storage, slice)))
    }
}

/// What the type of this number is, where it is read.
fn storage(kind: u32) -> Option<Storage> {
    Some(match kind {
        0 => Storage::F32,
        1 => Storage::F16,
        2 => Storage::Q4_0,
        3 => Storage::Q4_1,
        8 => Storage::Q8_0,
        30 => Storage::Bf16,
        _ => return None,
    })
}

/// The names of what is not read, for errors; a few new ones have none here.
fn type_name(kind: u32) -> Arc<str> {
    let name = match kind {
        6 => "q5_0",
        7 => "q5_1",
        9 => "q8_1",
        10 => "q2_k",
        11 => "q3_k",
        12 => "q4_k",
        13 => "q5_k",
        14 => "q6_k",
        15 => "q8_k",
        20 => "iq4_nl",
        23 => "iq4_xs",
        24 => "i8",
        25 => "i16",
        26 => "i32",
        27 => "i64",
        28 => "f64",
        other => return format!("of type number {other}").into(),
    };
    name.into()
}

#[cfg(test)]
pub(in crate::dense) mod tests;
