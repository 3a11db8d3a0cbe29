//! A JSON object from outside, read field by field.
//!
//! Each accessor takes its field out, checks type and range, and answers with a fault that names
//! the field, what it was and what is accepted. What is left over at the end was not understood;
//! [`Fields::ignored`] names it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{Fault, near};

/// How many left-over names are reported.
const REPORTED: usize = 16;

/// The fields of one object that have not been read yet. See the [module](self).
#[derive(Debug, Clone, Default)]
pub struct Fields {
    map: Map<String, Value>,
    /// Where the object stands in the body, as faults name it; empty for the body itself.
    path: String,
}

impl Fields {
    /// Parses one JSON object.
    ///
    /// # Errors
    /// `invalid_utf8` with the position, `invalid_json` with what the parser said and where, or
    /// `invalid_type` when it is not an object.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            Fault::new(
                crate::Kind::Invalid,
                "invalid_utf8",
                format!(
                    "The text is not valid UTF-8: the byte at offset {} does not belong there.",
                    error.valid_up_to()
                ),
            )
        })?;
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(Self {
                map,
                path: String::new(),
            }),
            Ok(other) => Err(Fault::new(
                crate::Kind::Invalid,
                "invalid_type",
                format!("Expected a JSON object, but got {}.", kind_of(&other)),
            )),
            Err(error) => Err(Fault::new(
                crate::Kind::Invalid,
                "invalid_json",
                format!("Could not parse the text as JSON: {error}."),
            )),
        }
    }

    /// The fields of an object inside of the body, which stands at `path`, such as `messages[3]`.
    ///
    /// # Errors
    /// `invalid_type` when it is not an object.
    pub fn nested(value: Value, path: String) -> Result<Self, Fault> {
        match value {
            Value::Object(map) => Ok(Self { map, path }),
            other => Err(wrong_type(path, "an object", &other)),
        }
    }

    /// The full name of a field, as faults have it.
    #[must_use]
    pub fn at(&self, name: &'static str) -> Cow<'static, str> {
        if self.path.is_empty() {
            Cow::Borrowed(name)
        } else {
            Cow::Owned(format!("{}.{name}", self.path))
        }
    }

    /// The fault of a required field that is not there.
    #[must_use]
    pub fn missing(&self, name: &'static str) -> Fault {
        Fault::missing(self.at(name))
    }

    /// Takes out an object, to be read like this one.
    ///
    /// # Errors
    /// `invalid_type` for anything else.
    pub fn object(&mut self, name: &'static str) -> Result<Option<Self>, Fault> {
        let path = self.at(name).into_owned();
        self.take(name)
            .map(|value| Self::nested(value, path))
            .transpose()
    }

    /// Takes out an object as it is.
    ///
    /// # Errors
    /// `invalid_type` for anything else.
    pub fn object_value(&mut self, name: &'static str) -> Result<Option<Value>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(value @ Value::Object(_)) => Ok(Some(value)),
            Some(other) => Err(wrong_type(self.at(name), "an object", &other)),
        }
    }

    /// Takes out a list of at most `max` values.
    ///
    /// # Errors
    /// `invalid_type`, or `array_above_max_length` naming the limit.
    pub fn list(&mut self, name: &'static str, max: usize) -> Result<Option<Vec<Value>>, Fault> {
        let path = self.at(name);
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(values)) if values.len() > max => Err(Fault::field(
                path.clone(),
                "array_above_max_length",
                format!(
                    "Invalid '{path}': array too long. Expected at most {max} entries, but got {}.",
                    values.len()
                ),
            )),
            Some(Value::Array(values)) => Ok(Some(values)),
            Some(other) => Err(wrong_type(path, "an array", &other)),
        }
    }

    /// Takes out a whole number in `min..=max`.
    ///
    /// # Errors
    /// `invalid_type`, `integer_below_min_value` or `integer_above_max_value`.
    pub fn integer_within(
        &mut self,
        name: &'static str,
        min: u64,
        max: u64,
    ) -> Result<Option<u64>, Fault> {
        let path = self.at(name);
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let Some(number) = value
            .as_i64()
            .map(i128::from)
            .or(value.as_u64().map(i128::from))
        else {
            return Err(wrong_type(path, "a whole number", &value));
        };
        let (code, relation, bound) = match u64::try_from(number) {
            Ok(number) if (min..=max).contains(&number) => return Ok(Some(number)),
            Ok(number) if number > max => ("integer_above_max_value", "<=", max),
            _ => ("integer_below_min_value", ">=", min),
        };
        Err(Fault::field(
            path.clone(),
            code,
            format!("Invalid '{path}': expected a value {relation} {bound}, but got {number}."),
        ))
    }

    /// Takes out any whole number of 64 bits, negative ones too, as its bits.
    ///
    /// # Errors
    /// `invalid_type` for anything else.
    pub fn bits(&mut self, name: &'static str) -> Result<Option<u64>, Fault> {
        let path = self.at(name);
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let bits = value.as_u64().or(value.as_i64().map(i64::cast_unsigned));
        bits.map(Some)
            .ok_or_else(|| wrong_type(path, "a whole number of 64 bits", &value))
    }

    /// Takes out a string. Absent and `null` are `None`.
    ///
    /// # Errors
    /// `invalid_type` for anything else.
    pub fn string(&mut self, name: &'static str) -> Result<Option<String>, Fault> {
        let path = self.at(name);
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(path, "a string", &other)),
        }
    }

    /// Takes out a string of at most `max` characters.
    ///
    /// # Errors
    /// `invalid_type`, or `string_above_max_length` naming the limit.
    pub fn short_string(
        &mut self,
        name: &'static str,
        max: usize,
    ) -> Result<Option<String>, Fault> {
        let text = self.string(name)?;
        match text {
            Some(text) if text.len() > max && text.chars().count() > max => {
                Err(too_long(self.at(name), max, text.chars().count()))
            }
            text => Ok(text),
        }
    }

    /// Takes out a name, given as a string or as an object with a string `id`.
    ///
    /// # Errors
    /// `invalid_type` for anything else.
    pub fn name_or_id(&mut self, name: &'static str) -> Result<Option<String>, Fault> {
        const EXPECTED: &str = "a string or an object with a string 'id'";
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Object(mut object)) => match object.remove("id") {
                Some(Value::String(id)) => Ok(Some(id)),
                _ => Err(wrong_type(self.at(name), EXPECTED, &Value::Object(object))),
            },
            Some(other) => Err(wrong_type(self.at(name), EXPECTED, &other)),
        }
    }

    /// Takes out one of `accepted`.
    ///
    /// # Errors
    /// `invalid_type`, or `invalid_value` listing what is accepted.
    pub fn one_of<'a>(
        &mut self,
        name: &'static str,
        accepted: &'a [&'a str],
    ) -> Result<Option<&'a str>, Fault> {
        let Some(text) = self.string(name)? else {
            return Ok(None);
        };
        match accepted.iter().find(|value| **value == text) {
            Some(value) => Ok(Some(value)),
            None => Err(Fault::field(
                self.at(name),
                "invalid_value",
                format!(
                    "Invalid value for '{}': {}{}. Accepted are: {}.",
                    self.at(name),
                    near::quoted(&text),
                    near::hint(&text, accepted.iter().copied()),
                    accepted.join(", "),
                ),
            )),
        }
    }

    /// Takes out `true` or `false`.
    ///
    /// # Errors
    /// `invalid_type` for anything else.
    pub fn boolean(&mut self, name: &'static str) -> Result<Option<bool>, Fault> {
        let path = self.at(name);
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(wrong_type(path, "a boolean", &other)),
        }
    }

    /// Takes out a number in `min..=max`.
    ///
    /// # Errors
    /// `invalid_type`, `decimal_below_min_value` or `decimal_above_max_value`.
    pub fn number(&mut self, name: &'static str, min: f64, max: f64) -> Result<Option<f64>, Fault> {
        let path = self.at(name);
        let number = match self.take(name) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_f64().unwrap_or(f64::NAN),
            Some(other) => return Err(wrong_type(path, "a number", &other)),
        };
        let (code, relation, bound) = if number < min {
            ("decimal_below_min_value", ">=", min)
        } else if number > max {
            ("decimal_above_max_value", "<=", max)
        } else {
            return Ok(Some(number));
        };
        Err(Fault::field(
            path.clone(),
            code,
            format!("Invalid '{path}': expected a value {relation} {bound}, but got {number}."),
        ))
    }

    /// Takes out a whole number, 0 or greater.
    ///
    /// # Errors
    /// `invalid_type` for anything else.
    pub fn integer(&mut self, name: &'static str) -> Result<Option<u64>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong_type(name, "a whole number from 0 on", &value)),
            },
        }
    }

    /// Takes a field out, whatever it is. Absent and `null` are `None`.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// Whether a field is there and `null`; takes it out then.
    pub fn clears(&mut self, name: &str) -> bool {
        let is_null = self.map.get(name).is_some_and(Value::is_null);
        if is_null {
            self.map.remove(name);
        }
        is_null
    }

    /// That nothing is left over.
    ///
    /// # Errors
    /// `unknown_parameter` for the first field that nobody took, with the nearest of `known`.
    pub fn finish(&self, known: &[&str]) -> Result<(), Fault> {
        let Some(name) = self.map.keys().next() else {
            return Ok(());
        };
        let shown = near::quoted(name);
        let path = match self.path.as_str() {
            "" => printable(name),
            path => format!("{path}.{}", printable(name)),
        };
        let message = format!(
            "Unknown parameter: '{path}'{}.",
            near::hint(shown.trim_matches('\''), known.iter().copied())
        );
        Err(Fault::field(path, "unknown_parameter", message))
    }

    /// The names of what nobody took: at most 16, cut short, printable ASCII only.
    #[must_use]
    pub fn ignored(&self) -> Vec<String> {
        self.map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .take(REPORTED)
            .map(|(name, _)| printable(name))
            .collect()
    }
}

/// The fault of a text with more characters than `max`.
pub(crate) fn too_long(name: impl Into<Cow<'static, str>>, max: usize, got: usize) -> Fault {
    let name = name.into();
    Fault::field(
        name.clone(),
        "string_above_max_length",
        format!(
            "Invalid '{name}': string too long. Expected at most {max} characters, but got {got}."
        ),
    )
}

fn printable(name: &str) -> String {
    name.chars()
        .take(32)
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '.' => c,
            _ => '?',
        })
        .collect()
}

/// The fault of a value of another type than `expected`, at this place in the body.
#[must_use]
pub fn wrong_type(name: impl Into<Cow<'static, str>>, expected: &str, got: &Value) -> Fault {
    let name = name.into();
    Fault::field(
        name.clone(),
        "invalid_type",
        format!(
            "Invalid type for '{name}': expected {expected}, but got {}.",
            kind_of(got)
        ),
    )
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Fields {
        Fields::parse(json.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_not_an_object_says_what_it_is() {
        for (bytes, code) in [
            (&b"{\"a\": "[..], "invalid_json"),
            (b"", "invalid_json"),
            (b"[1]", "invalid_type"),
            (b"{\"a\":\"\xff\"}", "invalid_utf8"),
            (b"{\"a\":\"\\ud800\"}", "invalid_json"),
        ] {
            assert_eq!(Fields::parse(bytes).unwrap_err().code, code);
        }
        let deep = "[".repeat(100_000);
        assert_eq!(
            Fields::parse(deep.as_bytes()).unwrap_err().code,
            "invalid_json"
        );
    }

    #[test]
    fn wrong_types_name_the_field_and_both_types() {
        let mut f = fields(r#"{"input": 7, "speed": "fast", "stream": 1, "voice": {"id": 3}}"#);
        let fault = f.string("input").unwrap_err();
        assert_eq!(fault.param.as_deref(), Some("input"));
        assert!(
            fault
                .message
                .contains("expected a string, but got a number")
        );
        assert_eq!(
            f.number("speed", 0.25, 4.0).unwrap_err().code,
            "invalid_type"
        );
        assert_eq!(f.boolean("stream").unwrap_err().code, "invalid_type");
        assert_eq!(f.name_or_id("voice").unwrap_err().code, "invalid_type");
    }

    #[test]
    fn ranges_name_their_bound() {
        let mut f = fields(r#"{"low": 0.1, "high": 9, "seed": -1, "fraction": 1.5}"#);
        assert_eq!(
            f.number("low", 0.25, 4.0).unwrap_err().code,
            "decimal_below_min_value"
        );
        assert_eq!(
            f.number("high", 0.25, 4.0).unwrap_err().code,
            "decimal_above_max_value"
        );
        assert!(f.integer("seed").is_err());
        assert!(f.integer("fraction").is_err());
    }

    #[test]
    fn a_place_inside_of_the_body_is_named_in_full() {
        let mut f = fields(r#"{"a": {"b": 1, "n": -3, "l": [1, 2]}, "seed": -1}"#);
        let mut a = f.object("a").unwrap().unwrap();
        let faults = [
            a.string("b").unwrap_err(),
            a.integer_within("n", 1, 2).unwrap_err(),
            a.list("l", 1).unwrap_err(),
            a.missing("c"),
        ];
        let places = faults.each_ref().map(|fault| fault.param.clone().unwrap());
        assert_eq!(places, ["a.b", "a.n", "a.l", "a.c"]);
        let codes = faults.map(|fault| fault.code);
        assert_eq!(
            codes[1..3],
            ["integer_below_min_value", "array_above_max_length"]
        );
        assert_eq!(f.bits("seed").unwrap(), Some(u64::MAX));
    }

    #[test]
    fn what_is_left_over_is_named() {
        let mut f = fields(r#"{"input": "a", "zzz": 1, "null": null, "b\nd": 2}"#);
        f.string("input").unwrap();
        assert_eq!(f.ignored(), ["b?d", "zzz"]);
    }
}
