//! Numbers and texts out of bytes that nobody has checked.
//!
//! What always holds: nothing is read past the end, and nothing is reserved that the bytes left
//! could not fill.

use super::value::{List, Value};

/// The most items of a list: ten times the largest vocabulary.
const MAX_LIST: usize = 1 << 22;

/// Why reading stopped: what was wrong, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub(super) struct Damage {
    what: String,
    at: usize,
}

/// A place in the bytes of a file.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn damage(&self, what: impl Into<String>) -> Damage {
        Damage {
            what: what.into(),
            at: self.at,
        }
    }

    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], Damage> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| {
            self.damage(format!(
                "{what} of {count} bytes, {} are left,",
                self.left()
            ))
        })?;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Damage> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32, Damage> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, Damage> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// How many of something follow, each of at least `least` bytes: no more than the bytes left
    /// could hold.
    pub(super) fn count(&mut self, what: &str, least: usize) -> Result<usize, Damage> {
        let count = self.u64(what)?;
        let most = self.left() / least.max(1);
        match usize::try_from(count) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(self.damage(format!("{what} is {count}, at most {most} can follow,"))),
        }
    }

    fn list_length(&mut self, least: usize) -> Result<usize, Damage> {
        let length = self.count("a list's length", least)?;
        if length > MAX_LIST {
            return Err(self.damage(format!("a list of {length} items, at most {MAX_LIST},")));
        }
        Ok(length)
    }

    pub(super) fn text(&mut self, what: &str) -> Result<String, Damage> {
        let length = self.count(what, 1)?;
        let bytes = self.take(length, what)?;
        let text = std::str::from_utf8(bytes);
        text.map(str::to_owned)
            .map_err(|error| self.damage(format!("{what} is not UTF-8 ({error})")))
    }

    /// A value of the type of this number.
    pub(super) fn value(&mut self, kind: u32) -> Result<Value, Damage> {
        let what = "a value";
        Ok(match kind {
            0 => Value::Unsigned(self.array::<1>(what)?[0].into()),
            1 => Value::Signed(i8::from_le_bytes(self.array(what)?).into()),
            2 => Value::Unsigned(u16::from_le_bytes(self.array(what)?).into()),
            3 => Value::Signed(i16::from_le_bytes(self.array(what)?).into()),
            4 => Value::Unsigned(self.u32(what)?.into()),
            5 => Value::Signed(i32::from_le_bytes(self.array(what)?).into()),
            6 => Value::Float(f32::from_le_bytes(self.array(what)?).into()),
            7 => Value::Bool(self.array::<1>(what)?[0] != 0),
            8 => Value::Text(self.text(what)?),
            9 => Value::List(self.list()?),
            10 => Value::Unsigned(self.u64(what)?),
            11 => Value::Signed(i64::from_le_bytes(self.array(what)?)),
            12 => Value::Float(f64::from_le_bytes(self.array(what)?)),
            kind => return Err(self.damage(format!("a value of the unknown type {kind}"))),
        })
    }

    fn list(&mut self) -> Result<List, Damage> {
        let kind = self.u32("a list's type")?;
        Ok(match kind {
            8 => {
                let count = self.list_length(8)?;
                let mut texts = Vec::with_capacity(count);
                for _ in 0..count {
                    texts.push(self.text("a list's text")?);
                }
                List::Texts(texts)
            }
            6 | 12 => {
                let count = self.list_length(width(kind))?;
                let mut numbers = Vec::with_capacity(count);
                for _ in 0..count {
                    let Value::Float(number) = self.value(kind)? else {
                        continue;
                    };
                    numbers.push(number);
                }
                List::Floats(numbers)
            }
            0..=5 | 7 | 10 | 11 => {
                let count = self.list_length(width(kind))?;
                let mut numbers = Vec::with_capacity(count);
                for _ in 0..count {
                    let number = self.value(kind)?.integer();
                    numbers.push(number.ok_or_else(|| self.damage("a number beyond i64"))?);
                }
                List::Integers(numbers)
            }
            kind => return Err(self.damage(format!("a list of the unknown type {kind}"))),
        })
    }
}

fn width(kind: u32) -> usize {
    match kind {
        2 | 3 => 2,
        4..=6 => 4,
        10..=12 => 8,
        _ => 1,
    }
}
