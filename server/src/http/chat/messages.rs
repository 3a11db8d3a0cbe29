//! A conversation and its tools, from JSON to what a model takes.

use engine::{Message, Part, Tool, ToolCall};
use serde_json::Value;
use session::{Fault, Fields, near, wrong_type};

/// Who may speak in a conversation.
const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];
/// Characters of a name: of a speaker, a tool, or a call.
const NAME_CHARS: usize = 64;

/// The required, non-empty list `messages`.
pub(super) fn messages(fields: &mut Fields, max: usize) -> Result<Vec<Message>, Fault> {
    let Some(values) = fields.list("messages", max)? else {
        return Err(fields.missing("messages"));
    };
    if values.is_empty() {
        return Err(Fault::field(
            "messages",
            "empty_array",
            "Invalid 'messages': empty array. Expected at least one message.",
        ));
    }
    let one = |(index, value)| message(value, format!("messages[{index}]"));
    values.into_iter().enumerate().map(one).collect()
}

fn message(value: Value, path: String) -> Result<Message, Fault> {
    let mut fields = Fields::nested(value, path)?;
    let role = fields.one_of("role", &ROLES)?;
    let role = role.ok_or_else(|| fields.missing("role"))?;
    let is_assistant = role == "assistant";
    let tool_calls = if is_assistant {
        tool_calls(&mut fields)?
    } else {
        Vec::new()
    };
    let content = content(&mut fields, is_assistant)?;
    if content.is_none() && tool_calls.is_empty() {
        return Err(fields.missing("content"));
    }
    let tool_call_id = fields.short_string("tool_call_id", NAME_CHARS)?;
    if role == "tool" && tool_call_id.is_none() {
        return Err(fields.missing("tool_call_id"));
    }
    Ok(Message {
        // The newer name of the same role; templates know the older one.
        role: if role == "developer" { "system" } else { role }.to_owned(),
        content: content.unwrap_or_default(),
        name: fields.short_string("name", NAME_CHARS)?,
        tool_calls,
        tool_call_id,
    })
}

/// A text, or a list of parts; none where it is absent or null.
fn content(fields: &mut Fields, is_assistant: bool) -> Result<Option<Vec<Part>>, Fault> {
    let path = fields.at("content");
    match fields.take("content") {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(vec![Part::Text(text)])),
        Some(Value::Array(parts)) => {
            let one = |(index, value)| part(value, format!("{path}[{index}]"), is_assistant);
            parts
                .into_iter()
                .enumerate()
                .map(one)
                .collect::<Result<_, _>>()
                .map(Some)
        }
        Some(other) => Err(wrong_type(path, "a string or an array of parts", &other)),
    }
}

fn part(value: Value, path: String, is_assistant: bool) -> Result<Part, Fault> {
    let mut fields = Fields::nested(value, path)?;
    let kind = fields.string("type")?;
    let kind = kind.ok_or_else(|| fields.missing("type"))?;
    let field = match kind.as_str() {
        "text" => "text",
        // What an assistant would not say is what it said instead.
        "refusal" if is_assistant => "refusal",
        other => return Err(unsupported_part(&fields, other, is_assistant)),
    };
    let text = fields.string(field)?;
    text.map(Part::Text).ok_or_else(|| fields.missing(field))
}

fn unsupported_part(fields: &Fields, kind: &str, is_assistant: bool) -> Fault {
    let path = fields.at("type");
    let accepted: &[&str] = if is_assistant {
        &["text", "refusal"]
    } else {
        &["text"]
    };
    let message = format!(
        "Invalid value for '{path}': {}{}. Parts that are accepted here: {}.",
        near::quoted(kind),
        near::hint(kind, accepted.iter().copied()),
        accepted.join(", "),
    );
    Fault::field(path, "unsupported_content_part", message)
}

/// Calls of tools that an assistant has made.
fn tool_calls(fields: &mut Fields) -> Result<Vec<ToolCall>, Fault> {
    const MOST: usize = 128;
    let path = fields.at("tool_calls");
    let calls = fields.list("tool_calls", MOST)?.unwrap_or_default();
    let one = |(index, value)| tool_call(value, format!("{path}[{index}]"));
    calls.into_iter().enumerate().map(one).collect()
}

fn tool_call(value: Value, path: String) -> Result<ToolCall, Fault> {
    let mut call = Fields::nested(value, path)?;
    let id = call.short_string("id", NAME_CHARS)?;
    let id = id.ok_or_else(|| call.missing("id"))?;
    let mut function = function_of(&mut call)?;
    let arguments = function.string("arguments")?;
    Ok(ToolCall {
        id,
        name: name_of(&mut function)?,
        arguments: arguments.ok_or_else(|| function.missing("arguments"))?,
    })
}

/// Tools that the model may call.
pub(super) fn tools(fields: &mut Fields, max: usize) -> Result<Vec<Tool>, Fault> {
    let tools = fields.list("tools", max)?.unwrap_or_default();
    let one = |(index, value)| tool(value, format!("tools[{index}]"));
    tools.into_iter().enumerate().map(one).collect()
}

fn tool(value: Value, path: String) -> Result<Tool, Fault> {
    let mut tool = Fields::nested(value, path)?;
    let mut function = function_of(&mut tool)?;
    let parameters = function.at("parameters");
    let parameters = match function.take("parameters") {
        None => "{}".to_owned(),
        Some(schema @ Value::Object(_)) => schema.to_string(),
        Some(other) => return Err(wrong_type(parameters, "an object", &other)),
    };
    Ok(Tool {
        name: name_of(&mut function)?,
        description: function.string("description")?,
        parameters,
    })
}

/// The object `function` of a tool or a call of one, the only kind that there is.
fn function_of(fields: &mut Fields) -> Result<Fields, Fault> {
    let kind = fields.one_of("type", &["function"])?;
    kind.ok_or_else(|| fields.missing("type"))?;
    let function = fields.object("function")?;
    function.ok_or_else(|| fields.missing("function"))
}

fn name_of(function: &mut Fields) -> Result<String, Fault> {
    let name = function.short_string("name", NAME_CHARS)?;
    name.filter(|name| !name.is_empty())
        .ok_or_else(|| function.missing("name"))
}
