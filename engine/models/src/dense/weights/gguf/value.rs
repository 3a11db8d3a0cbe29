//! The settings that a GGUF file carries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::dense::{Error, Result};

/// One setting's value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::dense) enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    List(List),
}

/// A list of values of one type.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::dense) enum List {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<String>),
}

impl Value {
    /// A whole number, or a truth as 0 and 1.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Unsigned(number) => i64::try_from(*number).ok(),
            Self::Signed(number) => Some(*number),
            Self::Bool(truth) => Some((*truth).into()),
            _ => None,
        }
    }

    /// What it is, for an error; a long one is not repeated.
    fn shown(&self) -> String {
        match self {
            Self::Unsigned(number) => number.to_string(),
            Self::Signed(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Bool(truth) => truth.to_string(),
            Self::Text(text) => format!("`{}`", text.chars().take(64).collect::<String>()),
            Self::List(_) => "a list".to_owned(),
        }
    }
}

/// A file's settings by name, with errors that name file and setting.
#[derive(Clone, Debug)]
pub(in crate::dense) struct Settings {
    path: PathBuf,
    values: BTreeMap<String, Value>,
}

impl Settings {
    pub(in crate::dense) fn new(path: &Path, values: BTreeMap<String, Value>) -> Self {
        Self {
            path: path.to_path_buf(),
            values,
        }
    }

    /// Another value for a setting.
    #[cfg(test)]
    pub(in crate::dense) fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    pub(in crate::dense) fn path(&self) -> &Path {
        &self.path
    }

    /// A setting that has to be there.
    pub(in crate::dense) fn required<T>(&self, name: &str, value: Result<Option<T>>) -> Result<T> {
        value?.ok_or_else(|| Error::MissingSetting {
            path: self.path.clone(),
            name: name.to_owned(),
        })
    }

    pub(in crate::dense) fn text(&self, name: &str) -> Result<Option<&str>> {
        self.read(name, "a text", |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    pub(in crate::dense) fn size(&self, name: &str) -> Result<Option<usize>> {
        self.read(name, "a whole number from 0", |value| {
            value
                .integer()
                .and_then(|number| usize::try_from(number).ok())
        })
    }

    pub(in crate::dense) fn id(&self, name: &str) -> Result<Option<u32>> {
        self.read(name, "a token's number", |value| {
            value
                .integer()
                .and_then(|number| u32::try_from(number).ok())
        })
    }

    pub(in crate::dense) fn float(&self, name: &str) -> Result<Option<f64>> {
        self.read(name, "a number", |value| match value {
            Value::Float(number) => Some(*number),
            _ => None,
        })
    }

    pub(in crate::dense) fn texts(&self, name: &str) -> Result<Option<&[String]>> {
        self.read(name, "a list of texts", |value| match value {
            Value::List(List::Texts(texts)) => Some(texts.as_slice()),
            _ => None,
        })
    }

    pub(in crate::dense) fn integers(&self, name: &str) -> Result<Option<&[i64]>> {
        self.read(name, "a list of whole numbers", |value| match value {
            Value::List(List::Integers(numbers)) => Some(numbers.as_slice()),
            _ => None,
        })
    }

    fn read<'a, T>(
        &'a self,
        name: &str,
        accepted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.values.get(name) else {
            return Ok(None);
        };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(Error::Unsupported {
                path: self.path.clone(),
                what: format!("setting `{name}`"),
                got: value.shown(),
                accepted: accepted.to_owned(),
            }),
        }
    }
}
