//! What a request asks of a conversing toy, checked and counted.

use runtime::{Error, Message, Options, Part, Result, Sampling, Tokens, Tool};

/// What a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// The words of the answer, in order, each with the white space behind it.
    pub(super) words: Vec<String>,
    /// Tokens of the conversation.
    pub(super) prompt: Tokens,
    /// Words are made loud by the seed.
    pub(super) loud: bool,
    pub(super) max_tokens: usize,
    pub(super) sampling: Sampling,
}

impl Asked {
    pub(super) fn new(options: &Options, context: u64) -> Result<Self> {
        options.only(&[])?;
        let sampling = &options.sampling;
        let temperature = sampling.temperature.unwrap_or(0.0);
        if !(0.0..=2.0).contains(&temperature) {
            return Err(invalid("temperature", &temperature, "a number from 0 to 2"));
        }
        if sampling.max_tokens == Some(0) {
            return Err(invalid("max_tokens", &0, "a whole number from 1 on"));
        }
        let count = options.messages.iter().map(in_message).sum::<usize>()
            + options.tools.iter().map(in_tool).sum::<usize>();
        let tokens = count as u64;
        if tokens > context {
            let limit = context;
            return Err(Error::TooLong { tokens, limit });
        }
        let is_left = |word: &String| {
            let id = token_id(word);
            let banned = |&(token, bias): &(u32, f32)| token == id && bias < 0.0;
            !sampling.logit_bias.iter().any(banned)
        };
        let last = options.messages.last().map(text_of).unwrap_or_default();
        Ok(Self {
            words: words(&last).into_iter().filter(is_left).collect(),
            prompt: Tokens {
                prompt: tokens,
                ..Tokens::default()
            },
            loud: temperature > 0.0,
            max_tokens: sampling
                .max_tokens
                .and_then(|max| usize::try_from(max).ok())
                .unwrap_or(usize::MAX),
            sampling: sampling.clone(),
        })
    }
}

/// The id of a word as a token: its length in characters, without the white space behind it.
pub(super) fn token_id(word: &str) -> u32 {
    u32::try_from(word.trim_end().chars().count()).unwrap_or(u32::MAX)
}

fn text_of(message: &Message) -> String {
    let texts = message.content.iter().map(|part| match part {
        Part::Text(text) => text.as_str(),
        _ => "",
    });
    texts.collect()
}

fn in_message(message: &Message) -> usize {
    let calls = message
        .tool_calls
        .iter()
        .map(|call| in_text(&call.name) + in_text(&call.arguments));
    in_text(&text_of(message)) + calls.sum::<usize>()
}

fn in_tool(tool: &Tool) -> usize {
    let description = tool.description.as_deref().unwrap_or_default();
    in_text(&tool.name) + in_text(description) + in_text(&tool.parameters)
}

fn in_text(text: &str) -> usize {
    text.split_whitespace().count()
}

/// A text in words, each with the white space behind it, the first one with that before it as
/// well. Together they are the text.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for letter in text.chars() {
        let begins = !letter.is_whitespace() && word.ends_with(char::is_whitespace);
        if begins && !word.trim_start().is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.push(letter);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn invalid(name: &str, got: &dyn std::fmt::Display, accepted: &str) -> Error {
    Error::InvalidOption {
        name: name.into(),
        got: got.to_string(),
        accepted: accepted.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_text() {
        for (text, expected) in [
            ("", vec![]),
            ("  ", vec!["  "]),
            ("one", vec!["one"]),
            (" a  b\nc ", vec![" a  ", "b\n", "c "]),
        ] {
            assert_eq!(words(text), expected);
        }
    }

    #[test]
    fn a_request_that_cannot_be_is_refused_by_name() {
        let check = |change: fn(&mut Options), message: &str| {
            let mut options = Options {
                messages: vec![Message::text("user", "one two three")],
                ..Options::default()
            };
            change(&mut options);
            assert_eq!(Asked::new(&options, 3).unwrap_err().to_string(), message);
        };
        check(
            |options| options.sampling.temperature = Some(f32::NAN),
            "option `temperature` is NaN, accepted: a number from 0 to 2",
        );
        check(
            |options| options.sampling.max_tokens = Some(0),
            "option `max_tokens` is 0, accepted: a whole number from 1 on",
        );
        check(
            |options| options.messages.push(Message::text("user", "four")),
            "the conversation is 4 tokens long, accepted: up to 3",
        );
    }
}
