//! What is over a limit is refused by name, before any work.

use engine::{Finish, Job, Kind, Limits, Options, Value, toy};

use crate::support::{alone, at_rest, engine, eventually, free, listen, options, say, submit};

#[test]
fn one_request_too_many_is_refused_until_there_is_room() {
    let engine = engine(
        Limits {
            requests: 3,
            ..Limits::default()
        },
        toy::Config::default(),
        1,
    );
    let mut open: Vec<_> = (0..3)
        .map(|_| submit(&engine, options(&[])).unwrap())
        .collect();
    let refused = submit(&engine, options(&[])).err().unwrap();
    assert_eq!(refused.kind(), Kind::Overloaded);
    assert_eq!(
        refused.to_string(),
        "overloaded: 3 requests are open, which is the limit"
    );
    assert_eq!(
        engine
            .snapshot()
            .nodes
            .iter()
            .map(|node| node.steps)
            .sum::<u64>(),
        0,
        "no work was done"
    );
    let ended = open.pop().unwrap();
    ended.feed.end();
    listen(ended.outputs).1.unwrap();
    // Whoever has the end of a request may send the next one at once.
    drop(submit(&engine, options(&[])).unwrap());
    eventually("the dropped one is gone", || {
        engine.snapshot().requests.open == 2
    });
    assert_eq!(engine.snapshot().requests.refused, 1);
}

#[test]
fn an_input_over_the_limit_is_refused() {
    let engine = engine(
        Limits {
            input_items: 10,
            ..Limits::default()
        },
        toy::Config::default(),
        1,
    );
    let request = submit(&engine, options(&[])).unwrap();
    assert_eq!(request.feed.text("0123456789").unwrap().0, 10);
    assert_eq!(
        request.feed.text("0").unwrap_err().to_string(),
        "the input is longer than 10 items"
    );
}

#[test]
fn a_request_over_its_steps_ends_by_length() {
    let engine = engine(
        Limits {
            steps: 5,
            ..Limits::default()
        },
        toy::Config::default(),
        1,
    );
    let text = "one two three four five six seven eight nine ten. ".repeat(10);
    let (spoken, end) = listen(say(&engine, &text, options(&[])).outputs);
    let (finish, usage) = end.unwrap();
    assert_eq!((finish, usage.steps), (Finish::Length, 5));
    assert!(spoken.samples.len() < text.len() * 1_440);
    at_rest(&engine);
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let engine = free(1);
    let check = |job: Job, kind: Kind, message: &str| {
        let error = engine.submit(job).err().unwrap();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
    };
    let toy = |options: Options| Job {
        model: "toy".into(),
        options,
    };
    check(
        Job {
            model: "toi".into(),
            ..Job::default()
        },
        Kind::NotFound,
        "unknown model `toi`, did you mean `toy`? known: toy",
    );
    check(
        toy(Options {
            voice: Some("bell".into()),
            ..Options::default()
        }),
        Kind::NotFound,
        "unknown voice `bell`; known: sine, square",
    );
    check(
        toy(Options {
            speed: 0.0,
            ..Options::default()
        }),
        Kind::Invalid,
        "option `speed` is 0, accepted: a number from 0.25 to 4",
    );
    let extra = [("temperature".to_owned(), Value::Number(1.0))].into();
    check(
        toy(Options {
            extra,
            ..Options::default()
        }),
        Kind::Invalid,
        "unknown option `temperature`; known: cost_us, echo, fail_at, nan_at, panic_at",
    );
    assert_eq!(engine.snapshot().requests.open, 0);
}

#[test]
fn a_thousand_requests_one_after_the_other_leave_nothing() {
    let engine = engine(
        Limits {
            requests: 1,
            ..Limits::default()
        },
        toy::Config::default(),
        2,
    );
    let expected = alone("Again.", options(&[]));
    for _ in 0..1_000 {
        let (spoken, end) = listen(say(&engine, "Again.", options(&[])).outputs);
        end.unwrap();
        assert!(spoken.samples == expected.samples);
    }
    at_rest(&engine);
    let snapshot = engine.snapshot();
    assert_eq!(snapshot.requests.done, 1_000);
    assert!(
        snapshot.longest_link < 40,
        "{} messages waited on a link",
        snapshot.longest_link
    );
}

#[test]
fn seeds_differ_where_none_is_asked_for_and_echo_gives_the_text_back() {
    let engine = free(1);
    let text = "Twice the same text.";
    let spoken = |options: Options| listen(say(&engine, text, options).outputs).0;
    assert!(spoken(Options::default()).samples != spoken(Options::default()).samples);
    let extra = [("echo".to_owned(), Value::Bool(true))].into();
    assert_eq!(
        spoken(Options {
            extra,
            ..Options::default()
        })
        .text,
        text
    );
}
