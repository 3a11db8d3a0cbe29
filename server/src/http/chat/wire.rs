//! How answers look on the wire: `chat.completion` and `chat.completion.chunk`.

use bytes::Bytes;
use engine::{Finish, Tokens};
use serde_json::{Value, json};

use crate::http::answer::event;

/// The end of every stream of events.
pub(super) const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");

/// What all parts of one answer repeat.
#[derive(Debug, Clone)]
pub(super) struct Head {
    /// The answer's own name.
    pub(super) id: String,
    /// Seconds since 1970.
    pub(super) created: u64,
    pub(super) model: String,
}

/// One answer that is complete.
#[derive(Debug, Clone, Default)]
pub(super) struct Whole {
    pub(super) text: String,
    pub(super) finish: Option<Finish>,
}

impl Head {
    /// All answers in one piece.
    pub(super) fn whole(&self, choices: &[Whole], tokens: Tokens) -> Value {
        let choice = |(index, whole): (usize, &Whole)| {
            json!({
                "index": index,
                "message": {"role": "assistant", "content": whole.text, "refusal": null},
                "logprobs": null,
                "finish_reason": whole.finish.map(reason),
            })
        };
        let choices: Vec<Value> = choices.iter().enumerate().map(choice).collect();
        let mut whole = self.object("chat.completion", &choices);
        whole["usage"] = usage(tokens);
        whole
    }

    /// An event about one answer. With `usage`, it says that what was used is not known yet.
    pub(super) fn chunk(
        &self,
        index: usize,
        delta: &Value,
        finish: Option<Finish>,
        usage: bool,
    ) -> Bytes {
        let choice = json!({
            "index": index,
            "delta": delta,
            "logprobs": null,
            "finish_reason": finish.map(reason),
        });
        let mut chunk = self.object("chat.completion.chunk", &[choice]);
        if usage {
            chunk["usage"] = Value::Null;
        }
        event(&chunk)
    }

    /// The event that tells what was used.
    pub(super) fn usage_chunk(&self, tokens: Tokens) -> Bytes {
        let mut chunk = self.object("chat.completion.chunk", &[]);
        chunk["usage"] = usage(tokens);
        event(&chunk)
    }

    fn object(&self, object: &str, choices: &[Value]) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": null,
            "choices": choices,
        })
    }
}

fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
    }
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "total_tokens": tokens.total(),
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    })
}
