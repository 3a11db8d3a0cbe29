//! JSON as Python's `json.dumps` writes it, which is what models were trained on: a space behind
//! each comma and colon, no escapes for what is not ASCII, keys in their own order.

use std::io;

use minijinja::{Error, ErrorKind, Value, value::Kwargs};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// The deepest indent that is taken.
const MAX_INDENT: usize = 16;

/// The JSON of a text, with its keys in order; the text itself where it is no JSON.
pub(super) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// The filter `tojson`; `indent` is a number of spaces.
#[expect(clippy::needless_pass_by_value, reason = "the form of a filter")]
pub(super) fn dumps(value: Value, kwargs: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = kwargs.get("indent")?;
    // Keys are in their own order and nothing is escaped already.
    let _: Option<bool> = kwargs.get("ensure_ascii")?;
    kwargs.assert_all_used()?;
    let text = match indent {
        None => written(&value, Spaced),
        Some(indent) => {
            let spaces = " ".repeat(indent.min(MAX_INDENT));
            written(&value, PrettyFormatter::with_indent(spaces.as_bytes()))
        }
    };
    let text = text.map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    Ok(Value::from_safe_string(text))
}

fn written(value: &Value, formatter: impl Formatter) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// On one line, with spaces.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_as_python_writes_it() {
        let value = value(r#"{"b":[1,2.5,"<é>\n"],"a":{},"n":null}"#);
        let check = |kwargs: &[(&'static str, Value)], expected: &str| {
            let kwargs = kwargs.iter().cloned().collect();
            assert_eq!(dumps(value.clone(), kwargs).unwrap().to_string(), expected);
        };
        check(&[], r#"{"b": [1, 2.5, "<é>\n"], "a": {}, "n": null}"#);
        check(
            &[("indent", Value::from(2))],
            "{\n  \"b\": [\n    1,\n    2.5,\n    \"<é>\\n\"\n  ],\n  \"a\": {},\n  \"n\": null\n}",
        );
    }
}
