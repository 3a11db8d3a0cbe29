//! The installed language model, through the engine: `promenade models install
//! smollm2-135m-instruct` first; without its weights these stories fail.

use std::sync::OnceLock;

use engine::{
    Config, Engine, Finish, Handle, Job, Kind, Message, ModelConfig, Options, Sampling, Tokens,
    dense,
};

use crate::support::{at_rest, listen};

const QUESTION: &str = "What is the capital of France?";
const ANSWER: &str = "The capital of France is Paris.";
/// The question in the model's template: its own system message, the user's, and the beginning
/// of the assistant's.
const PROMPT: u64 = 37;

/// Loading takes a second or two: once for all stories.
fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let config = Config {
            models: vec![ModelConfig::named(dense::DEFAULT_ID).unwrap()],
            threads: 2,
            ..Config::default()
        };
        Engine::start(config).unwrap()
    })
}

fn greedy() -> Sampling {
    Sampling {
        temperature: Some(0.0),
        max_tokens: Some(12),
        ..Sampling::default()
    }
}

fn ask(text: &str, sampling: Sampling) -> Handle {
    let options = Options {
        messages: vec![Message::text("user", text)],
        sampling,
        seed: Some(5),
        ..Options::default()
    };
    let model = dense::DEFAULT_ID.into();
    engine().submit(Job { model, options }).unwrap()
}

fn heard(request: Handle) -> (String, Finish, Tokens) {
    let (said, end) = listen(request.outputs);
    let (finish, usage) = end.unwrap();
    (said.text, finish, usage.tokens)
}

#[test]
fn the_capital_of_france_is_paris() {
    let (text, finish, tokens) = heard(ask(QUESTION, greedy()));
    assert_eq!((text.as_str(), finish), (ANSWER, Finish::Stop));
    // Seven words and marks, and the token that ends the answer.
    assert_eq!((tokens.prompt, tokens.completion), (PROMPT, 8));
}

#[test]
fn an_answer_ends_where_it_was_asked_to() {
    let cut = Sampling {
        max_tokens: Some(3),
        ..greedy()
    };
    let (text, finish, tokens) = heard(ask(QUESTION, cut));
    assert_eq!((text.as_str(), finish), ("The capital of", Finish::Length));
    assert_eq!(tokens.completion, 3);
    for (stop, expected) in [("ance is", "The capital of Fr"), ("The", "")] {
        let stopped = Sampling {
            stop: vec!["no such text".into(), stop.into()],
            ..greedy()
        };
        let (text, finish, _) = heard(ask(QUESTION, stopped));
        assert_eq!((text.as_str(), finish), (expected, Finish::Stop));
    }
}

#[test]
fn company_changes_no_answer() {
    let questions = [
        (QUESTION, greedy()),
        ("Name a colour.", Sampling::default()),
        ("Say hello to Anna, in one short sentence.", greedy()),
        (
            "Count from one to ten.",
            Sampling {
                temperature: Some(1.0),
                ..Sampling::default()
            },
        ),
    ];
    let ask = |(text, sampling): &(&str, Sampling)| {
        let sampling = Sampling {
            max_tokens: Some(12),
            ..sampling.clone()
        };
        ask(text, sampling)
    };
    let alone: Vec<_> = questions
        .iter()
        .map(|question| heard(ask(question)).0)
        .collect();
    let requests: Vec<_> = questions.iter().map(ask).collect();
    let together: Vec<_> = requests
        .into_iter()
        .map(|request| heard(request).0)
        .collect();
    assert_eq!(alone, together);
    assert_eq!(alone[0], ANSWER);
}

#[test]
fn a_conversation_that_is_too_long_is_refused_by_number() {
    let options = Options {
        messages: vec![Message::text("user", &"one two ".repeat(5_000))],
        ..Options::default()
    };
    let model = dense::DEFAULT_ID.into();
    let error = engine().submit(Job { model, options }).err().unwrap();
    assert_eq!(error.kind(), Kind::Invalid);
    let message = error.to_string();
    assert!(
        message.ends_with("tokens long, accepted: up to 8191"),
        "{message}"
    );
}

#[test]
fn who_leaves_holds_nothing() {
    let mut request = ask("Tell me a long story.", Sampling::default());
    let first = request.outputs.recv_blocking(crate::support::PATIENCE);
    assert!(first.is_some());
    drop(request);
    at_rest(engine());
}
