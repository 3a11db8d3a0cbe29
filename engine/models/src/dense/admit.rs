//! What a request asks of a language model: checked, written by the template, and cut into
//! tokens, before any work is done for it.

use runtime::{Error, Message, Options, Part, Result, Sampling, Tool};
use tensor::Tensor;

use super::checkpoint::Texts;
use super::detokenize::Stops;

/// Texts that may end an answer; `OpenAI` takes four.
const MAX_STOPS: usize = 16;
const MAX_STOP_BYTES: usize = 256;

/// What a request asks for.
#[derive(Debug)]
pub(super) struct Asked {
    /// The conversation as tokens, up to where the answer begins: `i64`, `[n]`, at least one.
    pub(super) prompt: Tensor,
    /// How tokens are chosen, with the model's own ways where the request has none.
    pub(super) sampling: Sampling,
    /// The most tokens of the answer: what was asked for, as far as there is room behind the
    /// prompt.
    pub(super) max_tokens: u32,
    pub(super) stops: Stops,
    /// Tokens that end the answer and are no part of it.
    pub(super) ends: Vec<u32>,
}

/// What a model lets in.
pub(super) struct Terms<'a> {
    pub(super) texts: &'a Texts,
    /// The most tokens of a conversation with its answer.
    pub(super) context: usize,
    /// Tokens that there are.
    pub(super) vocabulary: usize,
    /// Tokens that end every answer.
    pub(super) ends: &'a [u32],
    /// What is not asked for is done this way.
    pub(super) defaults: &'a Sampling,
    /// Seconds since 1970, for templates that name the date.
    pub(super) now: u64,
}

impl Asked {
    pub(super) fn new(options: &Options, terms: &Terms<'_>) -> Result<Self> {
        options.only(&[])?;
        options.voice_among(&[], 0)?;
        let sampling = filled(&options.sampling, terms.defaults);
        sampling.check()?;
        known_tokens(&sampling, terms.vocabulary)?;
        let stops = stops(&sampling.stop)?;
        let prompt = prompt(&options.messages, &options.tools, terms)?;
        let room = terms.context - prompt.len();
        let asked = sampling.max_tokens.unwrap_or(u32::MAX);
        let ids = prompt.into_iter().map(i64::from).collect::<Vec<_>>();
        let prompt = Tensor::i64([ids.len()], ids);
        Ok(Self {
            max_tokens: asked.min(u32::try_from(room).unwrap_or(u32::MAX)),
            prompt: prompt.map_err(|error| refused(&error.to_string()))?,
            ends: [terms.ends, &sampling.stop_ids].concat(),
            sampling,
            stops,
        })
    }
}

/// What the template, or what stands behind it, says about a conversation.
fn refused(problem: &str) -> Error {
    let got = "refused by the model's chat template".to_owned();
    invalid("messages", got, problem)
}

/// The conversation as tokens: at least one, and with room for one more in the context.
fn prompt(messages: &[Message], tools: &[Tool], terms: &Terms<'_>) -> Result<Vec<u32>> {
    let Terms { texts, context, .. } = terms;
    if !tools.is_empty() && !texts.template.takes_tools() {
        let got = format!("{} tools", tools.len());
        return Err(invalid(
            "tools",
            got,
            "none: the model's template has no place for them",
        ));
    }
    // A token is no longer than the longest, so this many bytes are too many tokens: said before
    // they are looked at.
    let limit = context.saturating_sub(1);
    let longest = texts.tokenizer.longest();
    let bytes = messages.iter().map(bytes_of).sum::<usize>()
        + tools.iter().map(bytes_of_tool).sum::<usize>();
    let least = bytes / longest;
    if least > limit {
        return Err(too_long(least, limit));
    }
    let text = texts
        .template
        .render(messages, tools, terms.now)
        .map_err(|problem| refused(&problem))?;
    let tokens = texts
        .tokenizer
        .encode(&text)
        .map_err(|problem| refused(&problem))?;
    if tokens.is_empty() {
        return Err(refused("a conversation that is not empty as text"));
    }
    if tokens.len() > limit {
        return Err(too_long(tokens.len(), limit));
    }
    Ok(tokens)
}

fn too_long(tokens: usize, limit: usize) -> Error {
    Error::TooLong {
        tokens: tokens as u64,
        limit: limit as u64,
    }
}

fn bytes_of(message: &Message) -> usize {
    let texts = message.content.iter().map(|part| match part {
        Part::Text(text) => text.len(),
        _ => 0,
    });
    let calls = message
        .tool_calls
        .iter()
        .map(|call| call.name.len() + call.arguments.len());
    texts.sum::<usize>() + calls.sum::<usize>()
}

fn bytes_of_tool(tool: &Tool) -> usize {
    tool.description.as_ref().map_or(0, String::len) + tool.parameters.len()
}

/// A request's sampling, completed by the model's.
fn filled(asked: &Sampling, defaults: &Sampling) -> Sampling {
    let or = |asked: Option<f32>, default: Option<f32>| asked.or(default);
    Sampling {
        temperature: or(asked.temperature, defaults.temperature),
        top_k: asked.top_k.or(defaults.top_k),
        top_p: or(asked.top_p, defaults.top_p),
        min_p: or(asked.min_p, defaults.min_p),
        repetition_penalty: or(asked.repetition_penalty, defaults.repetition_penalty),
        presence_penalty: or(asked.presence_penalty, defaults.presence_penalty),
        frequency_penalty: or(asked.frequency_penalty, defaults.frequency_penalty),
        ..asked.clone()
    }
}

/// That the tokens which are named are tokens of the model.
fn known_tokens(sampling: &Sampling, vocabulary: usize) -> Result<()> {
    let known = |id: u32| (id as usize) < vocabulary;
    let accepted = format!("tokens from 0 to {}", vocabulary.saturating_sub(1));
    let bias = sampling.logit_bias.iter().find(|(id, _)| !known(*id));
    if let Some((id, _)) = bias {
        return Err(invalid("logit_bias", format!("for token {id}"), &accepted));
    }
    match sampling.stop_ids.iter().find(|id| !known(**id)) {
        Some(id) => Err(invalid("stop_ids", id.to_string(), &accepted)),
        None => Ok(()),
    }
}

fn stops(texts: &[String]) -> Result<Stops> {
    if texts.len() > MAX_STOPS {
        let got = format!("{} texts", texts.len());
        return Err(invalid("stop", got, &format!("up to {MAX_STOPS}")));
    }
    if texts.iter().any(String::is_empty) {
        return Err(invalid(
            "stop",
            "an empty text".to_owned(),
            "texts that are not empty",
        ));
    }
    match texts.iter().find(|text| text.len() > MAX_STOP_BYTES) {
        Some(text) => {
            let got = format!("a text of {} bytes", text.len());
            Err(invalid(
                "stop",
                got,
                &format!("texts of up to {MAX_STOP_BYTES}"),
            ))
        }
        None => Ok(Stops::new(texts)),
    }
}

fn invalid(name: &str, got: String, accepted: &str) -> Error {
    Error::InvalidOption {
        name: name.to_owned(),
        got,
        accepted: accepted.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::template::Template;
    use crate::dense::tokenizer::tests::tiny;

    const TEMPLATE: &str = "{% for message in messages %}{% if message.role == 'cat' %}\
        {{ raise_exception('cats do not talk') }}{% endif %}\
        {{ message.role }}:{{ message.content }}<|end|>{% endfor %}";

    fn asked(change: impl Fn(&mut Options)) -> Result<Asked> {
        let texts = Texts {
            tokenizer: tiny(),
            template: Template::new(TEMPLATE, "", "").unwrap(),
        };
        let defaults = Sampling {
            temperature: Some(0.2),
            top_p: Some(0.9),
            ..Sampling::default()
        };
        let mut options = Options {
            messages: vec![Message::text("u", "hello")],
            ..Options::default()
        };
        change(&mut options);
        Asked::new(
            &options,
            &Terms {
                texts: &texts,
                context: 12,
                vocabulary: 265,
                ends: &[2],
                defaults: &defaults,
                now: 0,
            },
        )
    }

    #[test]
    fn a_conversation_becomes_tokens_with_room_for_an_answer() {
        // `u`, `:`, `hello`, `<|end|>` of 12.
        let asked = asked(|options| options.sampling.top_p = Some(0.5)).unwrap();
        assert_eq!((asked.prompt.shape().elements(), asked.max_tokens), (4, 8));
        assert_eq!(asked.sampling.temperature, Some(0.2), "the model's own");
        assert_eq!(asked.sampling.top_p, Some(0.5), "the request's");
    }

    #[test]
    fn an_answer_is_no_longer_than_asked_for() {
        let asked = |max| asked(|options| options.sampling.max_tokens = Some(max)).unwrap();
        assert_eq!((asked(3).max_tokens, asked(900).max_tokens), (3, 8));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let check = |change: fn(&mut Options), message: &str| {
            assert_eq!(asked(change).unwrap_err().to_string(), message);
        };
        check(
            |options| options.messages.push(Message::text("u", "abcdefghi")),
            "the conversation is 16 tokens long, accepted: up to 11",
        );
        check(
            |options| {
                options
                    .messages
                    .push(Message::text("u", &"x".repeat(100_000)));
            },
            "the conversation is 14286 tokens long, accepted: up to 11",
        );
        check(
            |options| options.messages[0].role = "cat".into(),
            "option `messages` is refused by the model's chat template, accepted: cats do not talk",
        );
        check(
            |options| {
                options.tools.push(Tool {
                    name: "look".into(),
                    description: None,
                    parameters: "{}".into(),
                });
            },
            "option `tools` is 1 tools, accepted: none: the model's template has no place for them",
        );
        check(
            |options| options.sampling.stop = vec![String::new()],
            "option `stop` is an empty text, accepted: texts that are not empty",
        );
        check(
            |options| options.sampling.stop = vec!["x".into(); 17],
            "option `stop` is 17 texts, accepted: up to 16",
        );
        check(
            |options| options.sampling.stop = vec!["x".repeat(257)],
            "option `stop` is a text of 257 bytes, accepted: texts of up to 256",
        );
        check(
            |options| options.sampling.logit_bias = vec![(265, 1.0)],
            "option `logit_bias` is for token 265, accepted: tokens from 0 to 264",
        );
        check(
            |options| options.sampling.stop_ids = vec![999],
            "option `stop_ids` is 999, accepted: tokens from 0 to 264",
        );
        check(
            |options| options.voice = Some("joe".into()),
            "unknown voice `joe`; there are none",
        );
    }
}
