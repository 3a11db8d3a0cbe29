//! An item of the conversation: a message, a call of a function, what it gave back.

use serde_json::{Value, json};

use super::command::{Message, Role, ToolCall};
use super::settings::{NAME_CHARS, unsupported};
use super::speech::Speech;
use crate::{Fault, Fields, text};

/// The longest id that a client may give.
const ID_CHARS: usize = 64;
/// Parts of one message.
const PARTS: usize = 64;

/// See the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) status: Status,
    pub(super) body: Body,
}

/// How far an item has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    InProgress,
    Completed,
    Incomplete,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    Message { role: Role, parts: Vec<Part> },
    Call(ToolCall),
    CallOutput { call_id: String, output: String },
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    InputText(String),
    /// What a user said; the audio itself is not kept.
    InputAudio {
        transcript: Option<String>,
        /// The transcript is still being written.
        pending: bool,
        /// The client wants to see it.
        shown: bool,
    },
    OutputText(String),
    OutputAudio(Speech),
}

/// What a client wants put into the conversation: an item, or audio that is to be one.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) item: Item,
    /// Base64 of a part of type `input_audio`, and its part's index.
    pub(super) audio: Vec<(usize, String)>,
}

impl Item {
    pub(super) fn message(id: String, role: Role, part: Part) -> Self {
        Self {
            id,
            status: Status::Completed,
            body: Body::Message {
                role,
                parts: vec![part],
            },
        }
    }

    /// Reads an item of a client. `id` is used where it names none.
    pub(super) fn read(mut fields: Fields, id: String) -> Result<Given, Fault> {
        let given = fields.short_string("id", ID_CHARS)?;
        fields.clears("id");
        let id = given.filter(|id| !id.is_empty()).unwrap_or(id);
        // What an item that was shown has, and what a new one cannot choose.
        for name in ["object", "status", "phase"] {
            drop(fields.take(name));
            fields.clears(name);
        }
        let kinds = ["message", "function_call", "function_call_output"];
        let kind = fields.one_of("type", &kinds)?;
        let kind = kind.ok_or_else(|| fields.missing("type"))?;
        let mut audio = Vec::new();
        let body = match kind {
            "message" => read_message(&mut fields, &mut audio)?,
            "function_call" => {
                let call = ToolCall {
                    id: required(&mut fields, "call_id", NAME_CHARS)?,
                    name: required(&mut fields, "name", NAME_CHARS)?,
                    arguments: required(&mut fields, "arguments", usize::MAX)?,
                };
                fields.finish(&["id", "type", "call_id", "name", "arguments"])?;
                Body::Call(call)
            }
            _ => {
                let body = Body::CallOutput {
                    call_id: required(&mut fields, "call_id", NAME_CHARS)?,
                    output: required(&mut fields, "output", usize::MAX)?,
                };
                fields.finish(&["id", "type", "call_id", "output"])?;
                body
            }
        };
        let item = Self {
            id,
            status: Status::Completed,
            body,
        };
        Ok(Given { item, audio })
    }

    pub(super) fn value(&self) -> Value {
        let mut value = match &self.body {
            Body::Message { role, parts } => json!({
                "type": "message",
                "role": role.name(),
                "content": parts.iter().map(Part::value).collect::<Vec<_>>(),
            }),
            Body::Call(call) => json!({
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }),
            Body::CallOutput { call_id, output } => json!({
                "type": "function_call_output",
                "call_id": call_id,
                "output": output,
            }),
        };
        value["id"] = json!(self.id);
        value["object"] = json!("realtime.item");
        value["status"] = json!(self.status.name());
        value
    }

    /// Characters that it holds.
    pub(super) fn chars(&self) -> usize {
        match &self.body {
            Body::Message { parts, .. } => parts.iter().map(|part| part.heard().len()).sum(),
            Body::Call(call) => call.arguments.len() + call.name.len(),
            Body::CallOutput { output, .. } => output.len(),
        }
    }

    /// The part that a user said, with its index.
    pub(super) fn input_audio(&mut self) -> Option<&mut Part> {
        let Body::Message { parts, .. } = &mut self.body else {
            return None;
        };
        parts
            .iter_mut()
            .find(|part| matches!(part, Part::InputAudio { .. }))
    }

    /// Whether its client sees the transcript of what a user said in it.
    pub(super) fn shows_transcript(&self) -> bool {
        let Body::Message { parts, .. } = &self.body else {
            return false;
        };
        parts
            .iter()
            .any(|part| matches!(part, Part::InputAudio { shown: true, .. }))
    }

    /// What a user said in it.
    pub(super) fn transcript(&self) -> &str {
        let Body::Message { parts, .. } = &self.body else {
            return "";
        };
        let said = parts.iter().find_map(|part| match part {
            Part::InputAudio { transcript, .. } => transcript.as_deref(),
            _ => None,
        });
        said.unwrap_or_default()
    }

    /// What the model has said aloud in it.
    pub(super) fn speech(&mut self) -> Option<&mut Speech> {
        let Body::Message { parts, .. } = &mut self.body else {
            return None;
        };
        parts.iter_mut().find_map(|part| match part {
            Part::OutputAudio(speech) => Some(speech),
            _ => None,
        })
    }

    /// Whether a transcript of it is still being written.
    pub(super) fn is_pending(&self) -> bool {
        let Body::Message { parts, .. } = &self.body else {
            return false;
        };
        parts
            .iter()
            .any(|part| matches!(part, Part::InputAudio { pending: true, .. }))
    }

    /// Adds it to the messages that a model is to read.
    pub(super) fn tell(&self, messages: &mut Vec<Message>) {
        match &self.body {
            Body::Message { role, parts } => {
                let heard: Vec<_> = parts.iter().map(Part::heard).collect();
                let said = heard.join(" ");
                if !said.trim().is_empty() {
                    messages.push(message(*role, said.trim().to_owned()));
                }
            }
            Body::Call(call) => {
                if let Some(last) = messages.last_mut().filter(|m| m.role == Role::Assistant) {
                    last.tool_calls.push(call.clone());
                    return;
                }
                let mut calling = message(Role::Assistant, String::new());
                calling.tool_calls.push(call.clone());
                messages.push(calling);
            }
            Body::CallOutput { call_id, output } => {
                let mut answer = message(Role::Tool, output.clone());
                answer.tool_call_id = Some(call_id.clone());
                messages.push(answer);
            }
        }
    }
}

impl Part {
    fn value(&self) -> Value {
        match self {
            Self::InputText(text) => json!({"type": "input_text", "text": text}),
            Self::InputAudio {
                transcript, shown, ..
            } => {
                let transcript = transcript.as_ref().filter(|_| *shown);
                json!({"type": "input_audio", "transcript": transcript})
            }
            Self::OutputText(text) => json!({"type": "output_text", "text": text}),
            Self::OutputAudio(speech) => {
                json!({"type": "output_audio", "transcript": speech.shown()})
            }
        }
    }

    /// As `response.content_part.*` shows it.
    pub(super) fn part_value(&self, ended: bool) -> Value {
        match self {
            Self::OutputAudio(_) if !ended => json!({"type": "audio", "transcript": ""}),
            Self::OutputAudio(speech) => json!({"type": "audio", "transcript": speech.shown()}),
            _ if !ended => json!({"type": "text", "text": ""}),
            other => json!({"type": "text", "text": other.heard()}),
        }
    }

    /// What the other side has heard or read of it.
    fn heard(&self) -> &str {
        match self {
            Self::InputText(text) | Self::OutputText(text) => text,
            Self::InputAudio { transcript, .. } => transcript.as_deref().unwrap_or_default(),
            Self::OutputAudio(speech) => speech.heard(),
        }
    }
}

pub(super) fn message(role: Role, text: String) -> Message {
    Message {
        role,
        text,
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}

fn required(fields: &mut Fields, name: &'static str, max: usize) -> Result<String, Fault> {
    let value = fields.short_string(name, max)?;
    value.ok_or_else(|| fields.missing(name))
}

fn read_message(fields: &mut Fields, audio: &mut Vec<(usize, String)>) -> Result<Body, Fault> {
    let role = fields.one_of("role", &["user", "assistant", "system"])?;
    let role = match role.ok_or_else(|| fields.missing("role"))? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::System,
    };
    let at = fields.at("content").into_owned();
    let list = fields.list("content", PARTS)?;
    let list = list.ok_or_else(|| fields.missing("content"))?;
    let mut parts = Vec::with_capacity(list.len());
    for (n, value) in list.into_iter().enumerate() {
        let part = Fields::nested(value, format!("{at}[{n}]"))?;
        parts.push(read_part(part, role, n, audio)?);
    }
    fields.finish(&["id", "type", "role", "content"])?;
    Ok(Body::Message { role, parts })
}

fn read_part(
    mut fields: Fields,
    role: Role,
    index: usize,
    audio: &mut Vec<(usize, String)>,
) -> Result<Part, Fault> {
    let accepted: &[&str] = match role {
        Role::User => &["input_text", "input_audio", "input_image"],
        Role::Assistant => &["output_text", "output_audio"],
        Role::System | Role::Tool => &["input_text"],
    };
    let kind = fields.one_of("type", accepted)?;
    let kind = kind.ok_or_else(|| fields.missing("type"))?;
    let part = match kind {
        "input_image" => {
            return Err(unsupported(
                "item.content",
                "no model here looks at images; send input_text or input_audio",
            ));
        }
        "input_audio" => {
            if let Some(data) = fields.string("audio")? {
                audio.push((index, data));
            }
            let transcript = fields.string("transcript")?;
            Part::InputAudio {
                shown: transcript.is_some(),
                transcript,
                pending: false,
            }
        }
        "output_audio" => {
            drop(fields.take("audio"));
            let transcript = fields.string("transcript")?;
            Part::OutputAudio(Speech::told(transcript.unwrap_or_default()))
        }
        kind => {
            let read = required(&mut fields, "text", usize::MAX)?;
            let read = text::clean(&read).into_owned();
            if kind == "input_text" {
                Part::InputText(read)
            } else {
                Part::OutputText(read)
            }
        }
    };
    for name in ["audio", "transcript", "text"] {
        fields.clears(name);
    }
    fields.finish(&["type", "text", "audio", "transcript"])?;
    Ok(part)
}
