//! Weights as `CTranslate2` stores them, under Hugging Face's names.
//!
//! A file is little-endian: version, name of the architecture, revision, number of variables; for
//! each its name, axes, type, bytes; then names that stand for others. Texts have their length
//! before them and a zero at their end. Queries, keys and values of a layer are one matrix there,
//! and so are keys and values of what is attended to across; the bias of keys, which changes
//! nothing, is filled up with zeros.
//!
//! Source: the format of `CTranslate2` 4, binary version 6.

use std::collections::BTreeMap;
use std::path::Path;

use crate::dense::weights::{Bytes, Storage, Stored, Tensors, map};
use crate::dense::{Error, Result};

/// The version of the format that is read.
const VERSION: u32 = 6;
/// More variables than any model has.
const MOST_VARIABLES: u32 = 10_000;

/// A variable as it lies in the file.
struct Variable {
    shape: Vec<usize>,
    storage: Storage,
    bytes: Bytes,
}

/// The tensors of the file at `path`.
///
/// # Errors
/// Where it is of another version, damaged, or of a type that is not read.
pub(super) fn open(path: &Path) -> Result<Tensors> {
    let bytes = map(path)?;
    let mut reader = Reader {
        path,
        bytes: &bytes,
        at: 0,
    };
    let version = reader.number()?;
    if version != VERSION {
        return Err(reader.unsupported("the file's version", &version.to_string(), "6"));
    }
    let kind = reader.text()?;
    if kind != "WhisperSpec" {
        return Err(reader.unsupported("the file's kind", &kind, "WhisperSpec"));
    }
    reader.number()?;
    let count = reader.number()?;
    if count > MOST_VARIABLES {
        return Err(Error::malformed(path, format!("{count} variables")));
    }
    let mut stored = BTreeMap::new();
    for _ in 0..count {
        let name = reader.text()?;
        let variable = reader.variable(&name)?;
        put(path, &mut stored, &name, &variable)?;
    }
    Ok(Tensors::new(path, stored))
}

/// Puts a variable under its other name, or its parts under theirs; leaves aside what the network
/// does not have, such as a scale.
fn put(
    path: &Path,
    stored: &mut BTreeMap<String, Stored>,
    name: &str,
    variable: &Variable,
) -> Result<()> {
    let mut add = |name: String, shape: Vec<usize>, bytes: Bytes| {
        stored.insert(name, Stored::new(shape, variable.storage, bytes));
    };
    let Some((place, kind)) = name.rsplit_once('/') else {
        return Ok(());
    };
    let kind = match kind {
        "gamma" | "weight" => "weight",
        "beta" | "bias" => "bias",
        "encodings" => "weight",
        _ => return Ok(()),
    };
    let Some((place, parts)) = place_of(place) else {
        return Ok(());
    };
    if parts.is_empty() {
        add(
            format!("{place}.{kind}"),
            variable.shape.clone(),
            variable.bytes.clone(),
        );
        return Ok(());
    }
    let malformed = || {
        Error::malformed(
            path,
            format!("variable `{name}` has no {} parts", parts.len()),
        )
    };
    let (rows, rest) = variable.shape.split_first().ok_or_else(malformed)?;
    let length = variable.bytes.as_ref().len();
    if !rows.is_multiple_of(parts.len()) || !length.is_multiple_of(parts.len()) {
        return Err(malformed());
    }
    let size = length / parts.len();
    for (index, part) in parts.iter().enumerate() {
        let bytes = variable.bytes.slice(index * size..(index + 1) * size);
        let bytes = bytes.ok_or_else(malformed)?;
        if *part == "k_proj" && kind == "bias" {
            if bytes.as_ref().iter().any(|&byte| byte & 0x7f != 0) {
                return Err(Error::malformed(
                    path,
                    format!("`{name}`: keys have a bias"),
                ));
            }
            continue;
        }
        let shape = [&[rows / parts.len()], rest].concat();
        add(format!("{place}.{part}.{kind}"), shape, bytes);
    }
    Ok(())
}

/// Hugging Face's name of a place, and of its parts where it is several in one.
fn place_of(place: &str) -> Option<(String, &'static [&'static str])> {
    let (side, rest) = place.split_once('/')?;
    let whole: &[&str] = &[];
    let (rest, parts) = match rest {
        "conv1" | "conv2" | "layer_norm" => (rest.to_owned(), whole),
        "position_encodings" => ("embed_positions".to_owned(), whole),
        "embeddings" => ("embed_tokens".to_owned(), whole),
        _ => {
            let (layer, rest) = rest.strip_prefix("layer_")?.split_once('/')?;
            let (rest, parts): (&str, &[&str]) = match rest {
                "self_attention/layer_norm" => ("self_attn_layer_norm", whole),
                "self_attention/linear_0" => ("self_attn", &["q_proj", "k_proj", "v_proj"]),
                "self_attention/linear_1" => ("self_attn.out_proj", whole),
                "attention/layer_norm" => ("encoder_attn_layer_norm", whole),
                "attention/linear_0" => ("encoder_attn.q_proj", whole),
                "attention/linear_1" => ("encoder_attn", &["k_proj", "v_proj"]),
                "attention/linear_2" => ("encoder_attn.out_proj", whole),
                "ffn/layer_norm" => ("final_layer_norm", whole),
                "ffn/linear_0" => ("fc1", whole),
                "ffn/linear_1" => ("fc2", whole),
                _ => return None,
            };
            (format!("layers.{layer}.{rest}"), parts)
        }
    };
    Some((format!("model.{side}.{rest}"), parts))
}

struct Reader<'a> {
    path: &'a Path,
    bytes: &'a Bytes,
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, length: usize) -> Result<Bytes> {
        let end = self.at.checked_add(length);
        let taken = end.and_then(|end| self.bytes.slice(self.at..end));
        let taken = taken.ok_or_else(|| {
            Error::malformed(
                self.path,
                format!("it ends within {length} bytes at {}", self.at),
            )
        })?;
        self.at += length;
        Ok(taken)
    }

    fn small<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(taken.as_ref());
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32> {
        self.small().map(u32::from_le_bytes)
    }

    fn text(&mut self) -> Result<String> {
        let length = u16::from_le_bytes(self.small()?);
        let taken = self.take(usize::from(length))?;
        let text = taken.as_ref().strip_suffix(&[0]).unwrap_or(taken.as_ref());
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    fn variable(&mut self, name: &str) -> Result<Variable> {
        let [rank] = self.small()?;
        let axes = (0..rank).map(|_| self.number().map(|axis| axis as usize));
        let shape = axes.collect::<Result<Vec<_>>>()?;
        let [kind] = self.small()?;
        let length = self.number()? as usize;
        let bytes = self.take(length)?;
        // Whole numbers are settings and scales of other variables, of which none is needed.
        let storage = match kind {
            0 => Storage::F32,
            4 => Storage::F16,
            5 => Storage::Bf16,
            _ if shape.len() > 1 => {
                let what = format!("the type of `{name}`");
                return Err(self.unsupported(&what, &kind.to_string(), "0, 4, 5 (f32, f16, bf16)"));
            }
            _ => {
                return Ok(Variable {
                    shape,
                    storage: Storage::F32,
                    bytes,
                });
            }
        };
        let elements = shape
            .iter()
            .try_fold(1, |all: usize, &axis| all.checked_mul(axis));
        if elements.and_then(|elements| storage.bytes(elements)) != Some(length) {
            let problem = format!("variable `{name}` of shape {shape:?} has {length} bytes");
            return Err(Error::malformed(self.path, problem));
        }
        Ok(Variable {
            shape,
            storage,
            bytes,
        })
    }

    fn unsupported(&self, what: &str, got: &str, accepted: &str) -> Error {
        Error::Unsupported {
            path: self.path.to_path_buf(),
            what: what.to_owned(),
            got: got.to_owned(),
            accepted: accepted.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_their_other_names() {
        let (name, parts) = place_of("decoder/layer_3/attention/linear_1").unwrap();
        assert_eq!(name, "model.decoder.layers.3.encoder_attn");
        assert_eq!(parts, ["k_proj", "v_proj"]);
        let (name, parts) = place_of("encoder/position_encodings").unwrap();
        assert_eq!(name, "model.encoder.embed_positions");
        assert!(parts.is_empty());
        assert!(place_of("decoder/scale_embeddings").is_none());
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.bin");
        std::fs::write(&path, [6, 0, 0, 0, 200, 0, b'W']).unwrap();
        let problem = open(&path).unwrap_err().to_string();
        assert!(problem.contains("model.bin is malformed"), "{problem}");
        std::fs::write(&path, [9, 0, 0, 0]).unwrap();
        let problem = open(&path).unwrap_err().to_string();
        assert!(problem.contains("is 9, accepted: 6"), "{problem}");
    }
}
