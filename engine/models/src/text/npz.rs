//! A tiny reader of `.npz` archives: named `f32` arrays in C order.
//!
//! An `.npz` is a zip of `.npy` files: a magic number, a version, a header that is a Python
//! dictionary in ASCII, and the numbers (`NumPy`'s `numpy.lib.format`). Only what weights use is
//! read: little-endian `f32`, not in Fortran order. Sizes are bounded before memory is taken.

use std::{
    collections::HashMap,
    io::{Cursor, Read},
};

/// The largest array accepted, in bytes.
const ARRAY_LIMIT: u64 = 64 << 20;
/// The most arrays accepted.
const COUNT_LIMIT: usize = 256;

/// One array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    /// The length of each axis, outermost first.
    pub(crate) shape: Vec<usize>,
    /// The numbers in C order.
    pub(crate) data: Vec<f32>,
}

/// All arrays of an archive by name, without the `.npy`. The error says what was wrong.
pub(crate) fn read(bytes: &[u8]) -> Result<HashMap<String, Array>, String> {
    let mut archive =
        zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    if archive.len() > COUNT_LIMIT {
        return Err(format!(
            "{} arrays, the limit is {COUNT_LIMIT}",
            archive.len()
        ));
    }
    let mut arrays = HashMap::new();
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(|error| error.to_string())?;
        let name = file.name().to_owned();
        let Some(key) = name.strip_suffix(".npy") else {
            continue;
        };
        let mut npy = Vec::new();
        file.take(ARRAY_LIMIT + 1)
            .read_to_end(&mut npy)
            .map_err(|error| format!("{name}: {error}"))?;
        if u64::try_from(npy.len()).unwrap_or(u64::MAX) > ARRAY_LIMIT {
            return Err(format!("{name}: over {ARRAY_LIMIT} bytes"));
        }
        arrays.insert(
            key.to_owned(),
            array(&npy).map_err(|error| format!("{name}: {error}"))?,
        );
    }
    Ok(arrays)
}

fn array(npy: &[u8]) -> Result<Array, String> {
    let (header, data) = split(npy).ok_or("not an npy file")?;
    if field(header, "descr") != Some("'<f4'") {
        return Err(format!(
            "expected little-endian f32 ('<f4'), got {}",
            field(header, "descr").unwrap_or("none")
        ));
    }
    if field(header, "fortran_order") != Some("False") {
        return Err("expected C order".to_owned());
    }
    let shape = shape(header).ok_or("cannot read the shape")?;
    let count = shape
        .iter()
        .try_fold(1_usize, |count, axis| count.checked_mul(*axis))
        .ok_or("shape overflows")?;
    if count.checked_mul(4) != Some(data.len()) {
        return Err(format!("shape {shape:?} does not fit {} bytes", data.len()));
    }
    let data = data
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    Ok(Array { shape, data })
}

/// Header and data.
fn split(npy: &[u8]) -> Option<(&str, &[u8])> {
    let rest = npy.strip_prefix(b"\x93NUMPY")?;
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (
            usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).ok()?,
            rest,
        ),
        _ => return None,
    };
    let (header, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// The value behind a key of the header, up to the next comma.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    Some(rest.split([',', '}']).next()?.trim())
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let (_, rest) = header.split_once("'shape':")?;
    let (_, rest) = rest.split_once('(')?;
    let (inside, _) = rest.split_once(')')?;
    inside
        .split(',')
        .map(str::trim)
        .filter(|axis| !axis.is_empty())
        .map(|axis| axis.parse().ok())
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use super::*;

    /// An archive as `NumPy` writes it.
    pub(crate) fn archive(arrays: &[(&str, &[usize], &[f32])]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, shape, data) in arrays {
            let axes: String = shape.iter().map(|axis| format!("{axis},")).collect();
            let header =
                format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({axes}), }}\n");
            zip.start_file(
                format!("{name}.npy"),
                zip::write::SimpleFileOptions::default(),
            )
            .unwrap();
            zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
            zip.write_all(&u16::try_from(header.len()).unwrap().to_le_bytes())
                .unwrap();
            zip.write_all(header.as_bytes()).unwrap();
            for number in *data {
                zip.write_all(&number.to_le_bytes()).unwrap();
            }
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn arrays_come_back_as_written() {
        let arrays = read(&archive(&[
            ("a", &[2, 3], &[1., 2., 3., 4., 5., 6.]),
            ("b", &[1], &[-0.5]),
        ]))
        .unwrap();
        assert_eq!(
            arrays["a"],
            Array {
                shape: vec![2, 3],
                data: vec![1., 2., 3., 4., 5., 6.]
            }
        );
        assert_eq!(arrays["b"].data, [-0.5]);
    }

    #[test]
    fn a_shape_that_lies_is_refused() {
        let error = read(&archive(&[("a", &[2, 2], &[1.])])).unwrap_err();
        assert!(
            error.contains("a.npy") && error.contains("[2, 2]"),
            "{error}"
        );
        assert!(
            read(&archive(&[("a", &[usize::MAX, 2], &[1.])]))
                .unwrap_err()
                .contains("overflows")
        );
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(read(b"not a zip").is_err());
        assert!(array(b"\x93NUMPY\x01\x00\xff\xff{").is_err());
        assert!(array(b"").is_err());
    }
}
