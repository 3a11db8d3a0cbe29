//! What a language model costs: `language_cost MODEL [THREADS] [STREAMS] [TOKENS] [WORDS]`.
//!
//! MODEL is an id of `promenade models list`, or the path of a `.gguf` file or a folder. Asks one
//! question for its greedy answer, lets one request read a long prompt of WORDS words, and then
//! lets STREAMS requests write TOKENS tokens each at the same time. Prints one JSON object:
//!
//! - `answer`: the greedy answer to the question.
//! - `prefill_tokens`, `prefill_tok_s`: the long prompt, from its first step to its first token.
//! - `decode_tok_s`: tokens of all streams a second, from the first one's first token to the last
//!   one's last.
//!
//! Tokens that would end an answer are banned while it measures, so that every stream writes as
//! many as it is asked to.

#![expect(clippy::print_stdout, reason = "a program that measures and prints")]

use std::time::Duration;

use engine::{
    Config, Engine, Handle, Job, Message, ModelConfig, Options, Output, Sampling, Time, Usage,
};

type Failure = Box<dyn std::error::Error>;

const PATIENCE: Duration = Duration::from_secs(600);
const QUESTION: &str = "What is the capital of France?";

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments
        .next()
        .ok_or("usage: language_cost MODEL [THREADS] [STREAMS] [TOKENS] [WORDS]")?;
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |given| given.parse());
    let (threads, streams, tokens, words) = (number(2)?, number(1)?, number(128)?, number(500)?);
    let model = ModelConfig::named(&name)?;
    let id = model.id().to_owned();
    let engine = Engine::start(Config {
        models: vec![model],
        threads,
        ..Config::default()
    })?;
    let ask = |text: &str, tokens: usize, sampling: Sampling| -> Result<Handle, Failure> {
        let sampling = Sampling {
            temperature: Some(0.0),
            max_tokens: Some(u32::try_from(tokens)?),
            ..sampling
        };
        let options = Options {
            messages: vec![Message::text("user", text)],
            sampling,
            ..Options::default()
        };
        Ok(engine.submit(Job {
            model: id.clone(),
            options,
        })?)
    };
    let endless = Sampling {
        logit_bias: (0..3).map(|id| (id, -100.0)).collect(),
        ..Sampling::default()
    };

    let answer = listen(ask(QUESTION, 32, Sampling::default())?)?;
    let long = (0..words).map(|word| ["river", "stone", "window", "seven"][word % 4]);
    let long = listen(ask(
        &long.collect::<Vec<_>>().join(" "),
        1,
        endless.clone(),
    )?)?;
    let requests = (0..streams)
        .map(|stream| ask(&format!("Tell me story {stream}."), tokens, endless.clone()));
    let requests = requests.collect::<Result<Vec<_>, _>>()?;
    let listeners: Vec<_> = requests
        .into_iter()
        .map(|request| std::thread::spawn(|| listen(request).map_err(|error| error.to_string())))
        .collect();
    let mut heard = Vec::new();
    for listener in listeners {
        heard.push(listener.join().map_err(|_| "a listener panicked")??);
    }
    let first = heard
        .iter()
        .map(|heard| heard.first)
        .min()
        .ok_or("no streams")?;
    let last = heard
        .iter()
        .map(|heard| heard.last)
        .max()
        .ok_or("no streams")?;
    let written: u64 = heard
        .iter()
        .map(|heard| heard.usage.tokens.completion.saturating_sub(1))
        .sum();
    let begun = long
        .usage
        .first_step_at
        .ok_or("the long prompt made no step")?;
    let read = long.usage.tokens.prompt - long.usage.tokens.cached;
    println!(
        r#"{{"answer":{:?},"threads":{threads},"streams":{streams},"prefill_tokens":{read},"prefill_tok_s":{:.1},"decode_tokens":{written},"decode_tok_s":{:.1}}}"#,
        answer.text,
        per_second(read, long.first.since(begun)),
        per_second(written, last.since(first)),
    );
    engine.shutdown();
    Ok(())
}

struct Heard {
    text: String,
    first: Time,
    last: Time,
    usage: Usage,
}

fn listen(mut request: Handle) -> Result<Heard, Failure> {
    let (mut text, mut first, mut last) = (String::new(), None, None);
    while let Some(output) = request.outputs.recv_blocking(PATIENCE) {
        match output {
            Output::Text { text: more, at } => {
                text.push_str(&more);
                first.get_or_insert(at);
                last = Some(at);
            }
            Output::Done { usage, at, .. } => {
                return Ok(Heard {
                    text,
                    first: first.unwrap_or(at),
                    last: last.unwrap_or(at),
                    usage,
                });
            }
            Output::Failed(error) => return Err(error.into()),
            _ => {}
        }
    }
    Err("the answer took too long".into())
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens")]
fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}
