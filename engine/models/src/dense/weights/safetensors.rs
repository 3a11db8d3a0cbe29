//! Safetensors files: one, or several with an index.
//!
//! A folder has `model.safetensors`, or `model.safetensors.index.json`, whose `weight_map` says
//! which file has which tensor. A tensor that the index promises and its file lacks is missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors, tensor::TensorInfo};
use serde::Deserialize;

use super::{Bytes, Storage, Stored, Tensors};
use crate::dense::{Error, Result};

/// The name of a model that is one file.
pub(crate) const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// An index of a million tensors is smaller.
const MAX_INDEX_BYTES: u64 = 128 << 20;
/// Files of one model; the largest have a few hundred.
const MAX_FILES: usize = 4_096;

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The tensors of the model in `folder`, mapped.
pub(crate) fn open(folder: &Path) -> Result<Tensors> {
    let index = folder.join(INDEX);
    if index.is_file() {
        return sharded(folder, &index);
    }
    let path = folder.join(SINGLE);
    let mut stored = BTreeMap::new();
    read(&path, &super::map(&path)?, &mut stored)?;
    Ok(Tensors::new(&path, stored))
}

fn sharded(folder: &Path, index_path: &Path) -> Result<Tensors> {
    let size = fs::metadata(index_path)
        .map_err(Error::io(index_path))?
        .len();
    if size > MAX_INDEX_BYTES {
        let problem = format!("{size} bytes, at most {MAX_INDEX_BYTES}");
        return Err(Error::malformed(index_path, problem));
    }
    let text = fs::read(index_path).map_err(Error::io(index_path))?;
    let index: Index = serde_json::from_slice(&text)
        .map_err(|error| Error::malformed(index_path, error.to_string()))?;
    let mut files: Vec<&String> = index.weight_map.values().collect();
    files.sort_unstable();
    files.dedup();
    if files.len() > MAX_FILES {
        let problem = format!("{} files, at most {MAX_FILES}", files.len());
        return Err(Error::malformed(index_path, problem));
    }
    let mut stored = BTreeMap::new();
    for file in files {
        let path = beside(folder, index_path, file)?;
        read(&path, &super::map(&path)?, &mut stored)?;
    }
    if let Some(name) = index
        .weight_map
        .keys()
        .find(|name| !stored.contains_key(*name))
    {
        return Err(Error::MissingTensor {
            path: folder.join(&index.weight_map[name]),
            name: name.clone(),
            known: stored.into_keys().collect(),
        });
    }
    Ok(Tensors::new(folder, stored))
}

/// The file of this name in `folder`: an index names no files elsewhere.
fn beside(folder: &Path, index: &Path, file: &str) -> Result<PathBuf> {
    if file.contains(['/', '\\']) || file.starts_with('.') {
        let problem = format!("names the file `{file}`, which is not one beside it");
        return Err(Error::malformed(index, problem));
    }
    Ok(folder.join(file))
}

/// Adds the tensors of a file.
pub(crate) fn read(
    path: &Path,
    bytes: &Bytes,
    stored: &mut BTreeMap<String, Stored>,
) -> Result<()> {
    let malformed = |problem: String| Error::malformed(path, problem);
    let (header, metadata) =
        SafeTensors::read_metadata(bytes.as_ref()).map_err(|error| malformed(error.to_string()))?;
    // A length and the header stand before the data.
    let data = bytes.slice(header.saturating_add(8)..bytes.as_ref().len());
    let data = data.ok_or_else(|| malformed("the header is longer than the file".into()))?;
    for (name, info) in metadata.tensors() {
        let (from, to) = info.data_offsets;
        let slice = data.slice(from..to);
        let slice = slice.ok_or_else(|| malformed(format!("`{name}` lies outside the file")))?;
        let tensor =
            described(info, slice).map_err(|problem| malformed(format!("`{name}` {problem}")))?;
        if stored.insert(name.clone(), tensor).is_some() {
            return Err(malformed(format!("`{name}` is in another file, too")));
        }
    }
    Ok(())
}

fn described(info: &TensorInfo, bytes: Bytes) -> Result<Stored, String> {
    let shape = info.shape.clone();
    let storage = match info.dtype {
        Dtype::F32 => Storage::F32,
        Dtype::F16 => Storage::F16,
        Dtype::BF16 => Storage::Bf16,
        other => {
            let name = format!("{other:?}").to_lowercase();
            return Ok(Stored::unread(shape, name.into()));
        }
    };
    let elements = shape
        .iter()
        .try_fold(1, |all: usize, &n| all.checked_mul(n));
    let expected = elements.and_then(|elements| storage.bytes(elements));
    let got = bytes.as_ref().len();
    if expected != Some(got) {
        return Err(format!("of shape {shape:?} in {storage} has {got} bytes"));
    }
    Ok(Stored::new(shape, storage, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with these header and data.
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    const ONE: &str = r#"{"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}"#;
    const OTHER: &str = r#"{"b":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#;

    #[test]
    fn shards_are_one_model() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("1.safetensors", &file(ONE, &[1, 2, 3, 4]));
        write("2.safetensors", &file(OTHER, &[0; 8]));
        let map = r#"{"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}"#;
        write(INDEX, map.as_bytes());
        let tensors = open(folder.path()).unwrap();
        let (storage, bytes) = tensors.get("a", &[1, 2]).unwrap();
        assert_eq!(
            (storage, bytes.as_ref()),
            (Storage::Bf16, &[1, 2, 3, 4][..])
        );
        let error = tensors.get("b", &[1]).unwrap_err().to_string();
        assert!(
            error.ends_with("tensor `b` is i64, accepted: f32, f16, bf16, q8_0, q4_0, q4_1"),
            "{error}"
        );
        let error = tensors.get("a", &[2, 1]).unwrap_err().to_string();
        assert!(
            error.ends_with("tensor `a` has shape [1, 2], expected [2, 1]"),
            "{error}"
        );
    }

    #[test]
    fn what_the_index_says_wrongly_is_named() {
        let check = |map: &str, message: &str| {
            let folder = tempfile::tempdir().unwrap();
            let write =
                |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
            write("1.safetensors", &file(ONE, &[1, 2, 3, 4]));
            write(INDEX, map.as_bytes());
            let error = open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        };
        check(
            r#"{"weight_map":{"aa":"1.safetensors"}}"#,
            "tensor `aa` is missing, the nearest is `a`",
        );
        check(
            r#"{"weight_map":{"a":"../1.safetensors"}}"#,
            "which is not one beside it",
        );
        check(r#"{"weight_map":{"a":"3.safetensors"}}"#, "3.safetensors: ");
        check("{}", "missing field `weight_map`");
    }

    #[test]
    fn a_cut_or_crooked_file_is_malformed() {
        let whole = file(ONE, &[1, 2, 3, 4]);
        for cut in 0..whole.len() {
            let mut stored = BTreeMap::new();
            let bytes = Bytes::from(whole[..cut].to_vec());
            assert!(matches!(
                read(Path::new("x"), &bytes, &mut stored),
                Err(Error::Malformed { .. })
            ));
        }
        let crooked = ONE.replace("[1,2]", "[1,3]");
        let bytes = Bytes::from(file(&crooked, &[1, 2, 3, 4]));
        let error = read(Path::new("x"), &bytes, &mut BTreeMap::new()).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }
}
