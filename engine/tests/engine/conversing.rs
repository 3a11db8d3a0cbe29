//! A conversation in, its continuation out, a token at a time.

use std::time::Duration;

use engine::{
    Config, Engine, Finish, Job, Kind, Message, ModelConfig, Options, Sampling, Tokens, Tool,
    ToolCall, toy,
};

use crate::support::{at_rest, eventually, listen};

fn engine(chat: toy::chat::Config) -> Engine {
    let config = Config {
        models: vec![ModelConfig::ToyChat(chat), ModelConfig::default()],
        ..Config::default()
    };
    Engine::start(config).unwrap()
}

fn told(text: &str, sampling: Sampling) -> Job {
    Job {
        model: "toy-chat".into(),
        options: Options {
            messages: vec![
                Message::text("system", "Be kind."),
                Message::text("user", text),
            ],
            sampling,
            seed: Some(3),
            ..Options::default()
        },
    }
}

fn answered(engine: &Engine, job: Job) -> (String, Finish, Tokens) {
    let (said, end) = listen(engine.submit(job).unwrap().outputs);
    let (finish, usage) = end.unwrap();
    (said.text, finish, usage.tokens)
}

#[test]
fn an_answer_ends_as_it_was_asked_to() {
    let engine = engine(toy::chat::Config::default());
    let text = "one two  three\nfour five";
    let plain = Sampling::default();
    for (sampling, expected, finish, completion) in [
        (plain.clone(), text, Finish::Stop, 5),
        (
            Sampling {
                max_tokens: Some(3),
                ..plain.clone()
            },
            "one two  three\n",
            Finish::Length,
            3,
        ),
        (
            Sampling {
                max_tokens: Some(5),
                ..plain.clone()
            },
            text,
            Finish::Stop,
            5,
        ),
        (
            Sampling {
                stop: vec!["ree\nfo".into(), "six".into()],
                ..plain.clone()
            },
            "one two  th",
            Finish::Stop,
            4,
        ),
        (
            Sampling {
                stop_ids: vec![5],
                ..plain.clone()
            },
            "one two  ",
            Finish::Stop,
            3,
        ),
        (
            Sampling {
                logit_bias: vec![(3, -100.0), (4, 1.0)],
                ..plain
            },
            "three\nfour five",
            Finish::Stop,
            3,
        ),
    ] {
        let answer = answered(&engine, told(text, sampling.clone()));
        let tokens = Tokens {
            prompt: 7,
            cached: 0,
            completion,
        };
        assert_eq!(
            answer,
            (expected.to_owned(), finish, tokens),
            "{sampling:?}"
        );
    }
    assert_eq!(answered(&engine, told("", Sampling::default())).0, "");
    at_rest(&engine);
}

#[test]
fn the_seed_chooses_and_says_the_same_again() {
    let engine = engine(toy::chat::Config::default());
    let text = "a b c d e f g h i j k l m n o p";
    let warm = Sampling {
        temperature: Some(1.0),
        ..Sampling::default()
    };
    let with_seed = |seed| {
        let mut job = told(text, warm.clone());
        job.options.seed = Some(seed);
        answered(&engine, job).0
    };
    assert_eq!(with_seed(1), with_seed(1));
    assert_ne!(with_seed(1), with_seed(2));
    assert_eq!(with_seed(2).to_lowercase(), text);
}

#[test]
fn tools_and_their_calls_reach_the_model() {
    let engine = engine(toy::chat::Config::default());
    let mut job = told("one", Sampling::default());
    job.options.tools = vec![Tool {
        name: "weather".into(),
        description: Some("tells the weather".into()),
        parameters: "{} {}".into(),
    }];
    job.options.messages[0].tool_calls = vec![ToolCall {
        id: "1".into(),
        name: "weather".into(),
        arguments: "{\"city\": \"Rome\"}".into(),
    }];
    // "Be kind.", "one", a tool of 1 + 3 + 2 words and a call of 1 + 2.
    assert_eq!(answered(&engine, job).2.prompt, 3 + 6 + 3);
}

#[test]
fn who_does_not_talk_is_not_talked_to() {
    let engine = engine(toy::chat::Config {
        context: 4,
        ..toy::chat::Config::default()
    });
    let refused = |model: &str, options| {
        let job = Job {
            model: model.into(),
            options,
        };
        let error = engine.submit(job).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        error.to_string()
    };
    let talk = told("one two three", Sampling::default()).options;
    assert_eq!(
        refused("toy", talk.clone()),
        "model `toy` takes no conversation; give it a text"
    );
    assert_eq!(
        refused("toy-chat", Options::default()),
        "model `toy-chat` continues a conversation; give it at least one message"
    );
    assert_eq!(
        refused("toy-chat", talk),
        "the conversation is 5 tokens long, accepted: up to 4"
    );
    assert_eq!(
        engine
            .snapshot()
            .nodes
            .iter()
            .map(|node| node.steps)
            .sum::<u64>(),
        0
    );
}

#[test]
fn a_listener_who_leaves_ends_the_answer() {
    let engine = engine(toy::chat::Config {
        step_cost: Duration::from_millis(1),
        ..toy::chat::Config::default()
    });
    let mut handle = engine
        .submit(told(&"word ".repeat(5_000), Sampling::default()))
        .unwrap();
    let first = handle.outputs.recv_blocking(crate::support::PATIENCE);
    assert!(
        matches!(first, Some(engine::Output::Text { .. })),
        "{first:?}"
    );
    drop(handle);
    at_rest(&engine);
    eventually("the cancel is counted", || {
        engine.snapshot().requests.cancelled == 1
    });
    let snapshot = engine.snapshot();
    assert!(snapshot.steps_after_cancel <= 1);
    let steps: u64 = snapshot.nodes.iter().map(|node| node.steps).sum();
    assert!(steps < 4_000, "{steps} steps");
}

#[test]
fn a_failure_comes_after_what_was_said() {
    let engine = engine(toy::chat::Config {
        fail_at: Some(2),
        ..toy::chat::Config::default()
    });
    let handle = engine
        .submit(told("one two three", Sampling::default()))
        .unwrap();
    let (said, end) = listen(handle.outputs);
    assert_eq!(said.text, "one two ");
    assert_eq!(
        end.unwrap_err().to_string(),
        "model `toy-chat`, node `parrot`: asked to fail at word 2"
    );
}
