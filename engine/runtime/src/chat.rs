//! A conversation, as a language model's template takes it.
//!
//! Plain data: roles and texts as the requester gave them. Which roles there may be, and how they
//! become tokens, is for the model's own template to say.

/// One message of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Who speaks, such as `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// What is said, part by part, in order.
    pub content: Vec<Part>,
    /// The speaker's name, where the requester gave one.
    pub name: Option<String>,
    /// The calls that an assistant's message makes.
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool's message answers.
    pub tool_call_id: Option<String>,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(String),
}

/// A call of a tool by the assistant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The call's own name.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// What the tool is called with: a JSON object, as text.
    pub arguments: String,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The tool's name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The JSON schema of what it is called with, as text.
    pub parameters: String,
}

impl Message {
    /// A message that is one text.
    #[must_use]
    pub fn text(role: &str, text: &str) -> Self {
        Self {
            role: role.to_owned(),
            content: vec![Part::Text(text.to_owned())],
            ..Self::default()
        }
    }
}
