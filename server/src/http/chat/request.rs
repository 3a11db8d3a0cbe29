//! What a client asks of `POST /v1/chat/completions`, checked.

use engine::{Options, Sampling};
use serde_json::Value;
use session::{Catalog, Fault, Fields, near, wrong_type};

use super::messages;
use crate::config::Limits;

/// Texts that may end an answer, at most; as `OpenAI` has it.
const STOPS: usize = 4;
/// Characters of one of them.
const STOP_CHARS: usize = 1024;
/// Tokens whose likelihood one request may change, or that may end its answer.
const TOKENS: usize = 1024;

/// A request that can be answered.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) model: String,
    pub(super) options: Options,
    /// How many answers.
    pub(super) choices: usize,
    /// As events; none is one piece.
    pub(super) events: Option<Events>,
    /// Names of fields that have no effect.
    pub(super) ignored: Vec<String>,
}

/// How a streamed answer is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events {
    /// A last event tells what was used.
    pub(super) usage: bool,
}

impl Ask {
    pub(super) fn parse(bytes: &[u8], catalog: &Catalog, limits: &Limits) -> Result<Self, Fault> {
        let mut fields = Fields::parse(bytes)?;
        let model = fields.string("model")?;
        let model = model.ok_or_else(|| fields.missing("model"))?;
        let model = catalog.conversing(&model)?.id.clone();
        let messages = messages::messages(&mut fields, limits.chat_messages)?;
        let tools = messages::tools(&mut fields, limits.chat_tools)?;
        let options = Options {
            messages,
            tools: if may_call(&mut fields)? {
                tools
            } else {
                Vec::new()
            },
            sampling: sampling(&mut fields, limits.chat_tokens)?,
            seed: fields.bits("seed")?,
            ..Options::default()
        };
        let choices = fields.integer_within("n", 1, limits.chat_choices as u64)?;
        let events = events(&mut fields)?;
        refuse_unsupported(&mut fields)?;
        let mut ignored = without_effect(&mut fields)?;
        ignored.extend(fields.ignored());
        Ok(Self {
            model,
            options,
            choices: choices.and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
            events,
            ignored,
        })
    }
}

fn sampling(fields: &mut Fields, most_tokens: usize) -> Result<Sampling, Fault> {
    let tokens = fields.integer_within("max_tokens", 1, most_tokens as u64)?;
    let newer = fields.integer_within("max_completion_tokens", 1, most_tokens as u64)?;
    let max_tokens = newer.or(tokens).unwrap_or(most_tokens as u64);
    let top_k = fields.integer_within("top_k", 0, u32::MAX.into())?;
    Ok(Sampling {
        temperature: number(fields, "temperature", 0.0, 2.0)?,
        top_k: top_k.and_then(|k| u32::try_from(k).ok()),
        // 0 is taken by OpenAI and means the same: the likeliest token alone.
        top_p: number(fields, "top_p", 0.0, 1.0)?.map(|p| p.max(f32::MIN_POSITIVE)),
        min_p: number(fields, "min_p", 0.0, 1.0)?,
        repetition_penalty: number(fields, "repetition_penalty", 0.01, 10.0)?,
        presence_penalty: number(fields, "presence_penalty", -2.0, 2.0)?,
        frequency_penalty: number(fields, "frequency_penalty", -2.0, 2.0)?,
        logit_bias: logit_bias(fields)?,
        stop: stop(fields)?,
        stop_ids: stop_ids(fields)?,
        max_tokens: Some(u32::try_from(max_tokens).unwrap_or(u32::MAX)),
    })
}

fn number(
    fields: &mut Fields,
    name: &'static str,
    min: f64,
    max: f64,
) -> Result<Option<f32>, Fault> {
    #[expect(clippy::cast_possible_truncation, reason = "within -100 to 100")]
    let narrow = |number| number as f32;
    Ok(fields.number(name, min, max)?.map(narrow))
}

/// One text or a list of them.
fn stop(fields: &mut Fields) -> Result<Vec<String>, Fault> {
    let texts = match fields.take("stop") {
        None => return Ok(Vec::new()),
        Some(Value::String(text)) => vec![Value::String(text)],
        Some(Value::Array(texts)) => texts,
        Some(other) => {
            return Err(wrong_type(
                "stop",
                "a string or an array of strings",
                &other,
            ));
        }
    };
    if texts.len() > STOPS {
        return Err(Fault::field(
            "stop",
            "array_above_max_length",
            format!(
                "Invalid 'stop': array too long. Expected at most {STOPS} entries, but got {}.",
                texts.len()
            ),
        ));
    }
    let one = |(index, value)| match value {
        Value::String(text) if text.is_empty() || text.len() > STOP_CHARS => Err(Fault::field(
            "stop",
            "invalid_value",
            format!(
                "Invalid 'stop[{index}]': {} bytes long, expected 1 to {STOP_CHARS}.",
                text.len()
            ),
        )),
        Value::String(text) => Ok(text),
        other => Err(wrong_type(format!("stop[{index}]"), "a string", &other)),
    };
    texts.into_iter().enumerate().map(one).collect()
}

/// Peers' `stop_token_ids`.
fn stop_ids(fields: &mut Fields) -> Result<Vec<u32>, Fault> {
    let ids = fields.list("stop_token_ids", TOKENS)?.unwrap_or_default();
    let one = |(index, value): (usize, Value)| {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| wrong_type(format!("stop_token_ids[{index}]"), "a token's id", &value))
    };
    ids.into_iter().enumerate().map(one).collect()
}

/// `{"token id": bias}`.
fn logit_bias(fields: &mut Fields) -> Result<Vec<(u32, f32)>, Fault> {
    let map = match fields.take("logit_bias") {
        None => return Ok(Vec::new()),
        Some(Value::Object(map)) => map,
        Some(other) => return Err(wrong_type("logit_bias", "an object", &other)),
    };
    let invalid = |problem: String| {
        let message = format!("Invalid 'logit_bias': {problem}.");
        Fault::field("logit_bias", "invalid_value", message)
    };
    if map.len() > TOKENS {
        return Err(invalid(format!(
            "{} tokens, accepted: up to {TOKENS}",
            map.len()
        )));
    }
    let one = |(name, value): (String, Value)| {
        let id = name.parse::<u32>().map_err(|_| {
            invalid(format!(
                "{} is no token's id, expected a whole number",
                near::quoted(&name)
            ))
        })?;
        let bias = value
            .as_f64()
            .filter(|bias| (-100.0..=100.0).contains(bias));
        let bias = bias.ok_or_else(|| {
            invalid(format!(
                "the bias of token {id} is no number from -100 to 100"
            ))
        })?;
        #[expect(clippy::cast_possible_truncation, reason = "within -100 to 100")]
        Ok((id, bias as f32))
    };
    map.into_iter().map(one).collect()
}

/// Whether the model is told of the tools.
fn may_call(fields: &mut Fields) -> Result<bool, Fault> {
    match fields.take("tool_choice") {
        None => Ok(true),
        Some(Value::String(choice)) if choice == "auto" => Ok(true),
        Some(Value::String(choice)) if choice == "none" => Ok(false),
        Some(Value::String(choice)) => Err(unsupported(
            "tool_choice",
            &near::quoted(&choice),
            "'auto', 'none'",
        )),
        Some(Value::Object(_)) => Err(unsupported("tool_choice", "a named tool", "'auto', 'none'")),
        Some(other) => Err(wrong_type("tool_choice", "a string", &other)),
    }
}

fn events(fields: &mut Fields) -> Result<Option<Events>, Fault> {
    let is_streamed = fields.boolean("stream")? == Some(true);
    let Some(mut options) = fields.object("stream_options")? else {
        return Ok(is_streamed.then_some(Events { usage: false }));
    };
    if !is_streamed {
        return Err(Fault::field(
            "stream_options",
            "invalid_value",
            "Invalid value for 'stream_options': it is only allowed when 'stream' is true.",
        ));
    }
    let usage = options.boolean("include_usage")? == Some(true);
    Ok(Some(Events { usage }))
}

/// What would change the answer's form and is not made here is refused, not left aside.
fn refuse_unsupported(fields: &mut Fields) -> Result<(), Fault> {
    if fields.boolean("logprobs")? == Some(true) {
        return Err(unsupported("logprobs", "true", "false"));
    }
    if fields
        .integer("top_logprobs")?
        .is_some_and(|count| count > 0)
    {
        return Err(unsupported("top_logprobs", "above 0", "0"));
    }
    if let Some(mut format) = fields.object("response_format")? {
        let kind = format.string("type")?;
        let kind = kind.ok_or_else(|| format.missing("type"))?;
        if kind != "text" {
            return Err(unsupported(
                "response_format",
                &near::quoted(&kind),
                "{\"type\": \"text\"}",
            ));
        }
    }
    for value in fields.list("modalities", 8)?.unwrap_or_default() {
        match value {
            Value::String(text) if text == "text" => {}
            Value::String(other) => {
                return Err(unsupported(
                    "modalities",
                    &near::quoted(&other),
                    "[\"text\"]",
                ));
            }
            other => return Err(wrong_type("modalities", "an array of strings", &other)),
        }
    }
    Ok(())
}

/// What `OpenAI`'s clients send for its own books: of the right type, and without effect here.
fn without_effect(fields: &mut Fields) -> Result<Vec<String>, Fault> {
    let mut names = Vec::new();
    let mut note = |name: &str, is_there: bool| {
        if is_there {
            names.push(name.to_owned());
        }
    };
    note("user", fields.string("user")?.is_some());
    note("store", fields.boolean("store")?.is_some());
    note("metadata", fields.object("metadata")?.is_some());
    Ok(names)
}

fn unsupported(name: &'static str, got: &str, accepted: &str) -> Fault {
    Fault::field(
        name,
        "unsupported_value",
        format!("Unsupported value for '{name}': {got}. Accepted are: {accepted}."),
    )
}
