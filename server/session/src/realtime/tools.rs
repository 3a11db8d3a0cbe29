//! Functions that a model may call, and the numbers that shape a response.

use serde_json::{Value, json};

use super::command::{Tool, ToolChoice};
use super::settings::{NAME_CHARS, unsupported};
use crate::{Fault, Fields};

/// The most bytes of one function's schema.
const SCHEMA_BYTES: usize = 64 * 1024;
const DESCRIPTION_CHARS: usize = 16 * 1024;

/// `tools`, `tool_choice` and `parallel_tool_calls`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tools {
    pub(super) list: Vec<Tool>,
    pub(super) choice: ToolChoice,
    pub(super) parallel: bool,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            choice: ToolChoice::Auto,
            parallel: true,
        }
    }
}

impl Tools {
    /// Takes the three fields out and changes what they name.
    pub(super) fn read(&mut self, fields: &mut Fields, most: usize) -> Result<(), Fault> {
        if fields.clears("tools") {
            self.list.clear();
        } else if let Some(list) = fields.list("tools", most)? {
            let at = fields.at("tools").into_owned();
            let read = |(n, value)| read_tool(value, format!("{at}[{n}]"));
            self.list = list
                .into_iter()
                .enumerate()
                .map(read)
                .collect::<Result<_, _>>()?;
        }
        if fields.clears("tool_choice") {
            self.choice = ToolChoice::Auto;
        } else if let Some(choice) = fields.take("tool_choice") {
            self.choice = read_choice(choice, fields.at("tool_choice").into_owned())?;
        }
        if let ToolChoice::Function(name) = &self.choice
            && !self.list.iter().any(|tool| tool.name == *name)
        {
            let at = fields.at("tool_choice").into_owned();
            let known = self.list.iter().map(|tool| tool.name.as_str());
            let message = format!(
                "Invalid value for '{at}': no function {} is offered{}.",
                crate::near::quoted(name),
                crate::near::hint(name, known)
            );
            return Err(Fault::field(at, "invalid_value", message));
        }
        if fields.clears("parallel_tool_calls") {
            self.parallel = true;
        } else if let Some(parallel) = fields.boolean("parallel_tool_calls")? {
            self.parallel = parallel;
        }
        Ok(())
    }

    pub(super) fn value(&self) -> Value {
        let show = |tool: &Tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            })
        };
        self.list.iter().map(show).collect()
    }

    pub(super) fn choice_value(&self) -> Value {
        match &self.choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::None => json!("none"),
            ToolChoice::Required => json!("required"),
            ToolChoice::Function(name) => json!({"type": "function", "name": name}),
        }
    }
}

fn read_tool(value: Value, at: String) -> Result<Tool, Fault> {
    let mut fields = Fields::nested(value, at)?;
    if fields.one_of("type", &["function", "mcp"])? == Some("mcp") {
        return Err(unsupported(
            "session.tools",
            "tools of type 'mcp' are not called here; offer functions",
        ));
    }
    let name = fields.short_string("name", NAME_CHARS)?;
    let name = name.ok_or_else(|| fields.missing("name"))?;
    let description = fields.short_string("description", DESCRIPTION_CHARS)?;
    let parameters = fields.object_value("parameters")?.unwrap_or(json!({}));
    let size = parameters.to_string().len();
    if size > SCHEMA_BYTES {
        let at = fields.at("parameters");
        let message = format!(
            "Invalid '{at}': expected at most {SCHEMA_BYTES} bytes of JSON, but got {size}."
        );
        return Err(Fault::field(at, "string_above_max_length", message));
    }
    fields.clears("description");
    fields.clears("parameters");
    fields.boolean("strict")?;
    fields.finish(&["type", "name", "description", "parameters"])?;
    Ok(Tool {
        name,
        description,
        parameters,
    })
}

fn read_choice(value: Value, at: String) -> Result<ToolChoice, Fault> {
    match &value {
        Value::String(name) => match name.as_str() {
            "" | "auto" => return Ok(ToolChoice::Auto),
            "none" => return Ok(ToolChoice::None),
            "required" => return Ok(ToolChoice::Required),
            _ => {}
        },
        Value::Object(_) => {
            let mut fields = Fields::nested(value, at)?;
            fields.one_of("type", &["function"])?;
            let name = fields.short_string("name", NAME_CHARS)?;
            let name = name.ok_or_else(|| fields.missing("name"))?;
            fields.finish(&["type", "name"])?;
            return Ok(ToolChoice::Function(name));
        }
        _ => {}
    }
    let message = format!(
        "Invalid value for '{at}': accepted are \"auto\", \"none\", \"required\" and \
         {{\"type\": \"function\", \"name\": …}}."
    );
    Err(Fault::field(at, "invalid_value", message))
}

/// `max_output_tokens`: a number, or none for `"inf"`.
pub(super) fn max_tokens(fields: &mut Fields) -> Result<Option<Option<u32>>, Fault> {
    const NAME: &str = "max_output_tokens";
    if fields.clears(NAME) {
        return Ok(Some(None));
    }
    let at = fields.at(NAME);
    match fields.take(NAME) {
        None => Ok(None),
        Some(Value::String(text)) if text == "inf" => Ok(Some(None)),
        Some(value) => match value.as_u64().and_then(|n| u32::try_from(n).ok()) {
            Some(tokens @ 1..=4096) => Ok(Some(Some(tokens))),
            _ => Err(Fault::field(
                at.clone(),
                "invalid_value",
                format!("Invalid '{at}': expected a whole number from 1 to 4096 or \"inf\"."),
            )),
        },
    }
}

pub(super) fn max_tokens_value(max: Option<u32>) -> Value {
    max.map_or(json!("inf"), |max| json!(max))
}

/// `speed`, 0.25 to 1.5.
pub(super) fn speed(fields: &mut Fields) -> Result<Option<f32>, Fault> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "in 0.25..=1.5, where rounding to f32 cannot be heard"
    )]
    Ok(fields.number("speed", 0.25, 1.5)?.map(|speed| speed as f32))
}

/// `metadata`: at most 16 short strings.
pub(super) fn metadata(fields: &mut Fields) -> Result<Value, Fault> {
    let at = fields.at("metadata").into_owned();
    let Some(value) = fields.object_value("metadata")? else {
        return Ok(Value::Null);
    };
    let fits = value.as_object().is_some_and(|map| {
        let short = |(key, value): (&String, &Value)| {
            key.len() <= 64 && value.as_str().is_some_and(|text| text.len() <= 512)
        };
        map.len() <= 16 && map.iter().all(short)
    });
    if fits {
        return Ok(value);
    }
    let message = format!(
        "Invalid '{at}': expected at most 16 strings of at most 512 bytes, with names of at most \
         64 bytes."
    );
    Err(Fault::field(at, "invalid_value", message))
}
