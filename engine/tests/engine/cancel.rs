//! A requester that goes, by word or by silence, leaves nothing behind.

use std::time::Duration;

use engine::{Error, Kind, Limits, Output, toy};

use crate::support::{PATIENCE, Random, at_rest, engine, eventually, listen, options, say, submit};

/// A toy whose steps are long enough to be cancelled in.
fn slow(workers: usize) -> engine::Engine {
    let toy = toy::Config {
        step_cost: Duration::from_micros(500),
        ..toy::Config::default()
    };
    engine(
        Limits {
            outputs: 1_000,
            ..Limits::default()
        },
        toy,
        workers,
    )
}

#[test]
fn a_cancelled_request_says_so_and_stops_within_a_step() {
    for workers in [1, 2] {
        let engine = slow(workers);
        let mut request = say(&engine, &"word ".repeat(500), options(&[]));
        assert!(request.outputs.recv_blocking(PATIENCE).is_some());
        request.feed.cancel();
        request.feed.cancel();
        let (_, end) = listen_on(&mut request.outputs);
        assert_eq!(end.map_err(|error| error.kind()), Err(Kind::Cancelled));
        assert!(matches!(
            request.feed.text("more"),
            Err(engine::FeedError::Closed)
        ));
        at_rest(&engine);
        let snapshot = engine.snapshot();
        assert_eq!(
            (snapshot.requests.cancelled, snapshot.steps_after_cancel),
            (1, 0)
        );
    }
}

fn listen_on(outputs: &mut engine::Outputs) -> (usize, Result<(), Error>) {
    let mut count = 0;
    loop {
        match outputs
            .recv_blocking(PATIENCE)
            .expect("an output within the time")
        {
            Output::Done { .. } => return (count, Ok(())),
            Output::Failed(error) => return (count, Err(error)),
            _ => count += 1,
        }
    }
}

#[test]
fn dropped_outputs_cancel() {
    let engine = slow(2);
    let request = say(&engine, &"word ".repeat(500), options(&[]));
    drop(request.outputs);
    eventually("it is cancelled", || {
        engine.snapshot().requests.cancelled == 1
    });
    at_rest(&engine);
    assert!(request.feed.text("more").is_err());
}

#[test]
fn outputs_that_were_read_to_the_end_cancel_nothing() {
    let engine = slow(1);
    let (_, end) = listen(say(&engine, "Done.", options(&[])).outputs);
    end.unwrap();
    assert_eq!(
        (
            engine.snapshot().requests.done,
            engine.snapshot().requests.cancelled
        ),
        (1, 0)
    );
}

#[test]
fn requests_that_vanish_at_any_time_leave_nothing() {
    let engine = slow(2);
    let mut random = Random(11);
    let mut open = Vec::new();
    for _ in 0..200 {
        if let Ok(request) = submit(&engine, options(&[])) {
            let letters = 1 + random.below(80);
            request
                .feed
                .text(&"anyone, ".repeat(letters)[..letters])
                .unwrap();
            if random.below(2) == 0 {
                request.feed.end();
            }
            open.push(request);
        }
        if open.len() > 8 {
            let mut request = open.swap_remove(random.below(8));
            match random.below(3) {
                0 => request.feed.cancel(),
                1 => drop(request.outputs.try_recv()),
                _ => {}
            }
        }
    }
    drop(open);
    at_rest(&engine);
    let counts = engine.snapshot().requests;
    assert_eq!(counts.done + counts.cancelled, 200);
    assert!(counts.cancelled > 50, "{counts:?}");
}

#[test]
fn a_shutdown_ends_every_request_with_a_reason() {
    let engine = slow(2);
    let requests: Vec<_> = (0..5)
        .map(|_| say(&engine, &"word ".repeat(500), options(&[])))
        .collect();
    engine.shutdown();
    for request in requests {
        let (_, end) = listen(request.outputs);
        assert_eq!(end.map_err(|error| error.kind()), Err(Kind::Unavailable));
    }
    assert_eq!(
        submit(&engine, options(&[]))
            .err()
            .map(|error| error.kind()),
        Some(Kind::Unavailable)
    );
}
