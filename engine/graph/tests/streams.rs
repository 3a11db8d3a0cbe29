//! The recorded behaviour of stream buffers, by the rules in which ours differs:
//!
//! - a recorded chunk that carries a fresh item holds in items, order and start;
//! - a flush without a fresh item is empty, and only there when the end was not known as the last
//!   fresh item left;
//! - the chunk with the last fresh item is final where the end is known.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly, in its helpers as well"
)]

use graph::stream::{Chunk, ChunkPolicy, Config, Event, StreamBuffer, Time};
use serde_json::Value;

const CASES: &str = include_str!("cases/streams.json");

#[test]
fn recorded_streams_hold_for_every_fresh_item() {
    let cases: Value = serde_json::from_str(CASES).unwrap();
    let cases = cases["stream_buffer"].as_array().unwrap();
    assert_eq!(cases.len(), 87);
    let fresh: usize = cases.iter().map(|case| Replay::of(case).run()).sum();
    // As many recorded chunks carry a fresh item.
    assert_eq!(fresh, 227);
}

fn config(policy: &Value) -> Config {
    let number = |key: &str| usize::try_from(policy[key].as_u64().unwrap()).unwrap();
    let kind = policy["kind"].as_str().unwrap();
    let config = Config::new(match kind {
        "fixed" => ChunkPolicy::Fixed {
            chunk: number("chunk"),
        },
        "sliding_window" => ChunkPolicy::SlidingWindow {
            window: number("window"),
            stride: number("stride"),
        },
        "left_context" => ChunkPolicy::LeftContext {
            chunk: number("chunk"),
            left: number("left_context"),
        },
        other => panic!("unknown policy {other}"),
    });
    let config = config.capacity(1000);
    match policy["continue_after_done"].as_bool() {
        Some(true) => config.continue_after_done(),
        _ => config,
    }
}

/// A recorded case beside the buffer that plays it.
struct Replay<'a> {
    case: &'a Value,
    buffer: StreamBuffer<u64>,
    endless: bool,
    order: Vec<u64>,
    arrived: usize,
    done: bool,
    /// Items that a recorded chunk held.
    given: usize,
    finished: bool,
    compared: usize,
}

impl<'a> Replay<'a> {
    fn of(case: &'a Value) -> Self {
        let config = config(&case["policy"]);
        Self {
            case,
            endless: config.continue_after_done,
            buffer: StreamBuffer::new(&config),
            order: Vec::new(),
            arrived: 0,
            done: false,
            given: 0,
            finished: false,
            compared: 0,
        }
    }

    fn run(mut self) -> usize {
        for op in self.case["ops"].as_array().unwrap() {
            match op["op"].as_str().unwrap() {
                "register" => self.register(&ids(op)),
                "put" => self.put(&ids(op)),
                "arrive" => {
                    self.register(&ids(op));
                    self.put(&ids(op));
                }
                "done" => {
                    self.buffer.end();
                    self.done = true;
                }
                "poll" => self.poll(op),
                other => panic!("unknown op {other}"),
            }
        }
        self.compared
    }

    fn register(&mut self, ids: &[u64]) {
        let first = self.buffer.announce(ids.len()).unwrap();
        assert_eq!(first, self.order.len() as u64, "{}", self.case["id"]);
        self.order.extend(ids);
    }

    fn put(&mut self, ids: &[u64]) {
        for &id in ids {
            let position = self.order.iter().position(|&other| other == id).unwrap();
            self.buffer.put(position as u64, id).unwrap();
            self.arrived += 1;
        }
    }

    fn poll(&mut self, recorded: &Value) {
        let id = &self.case["id"];
        let polled = match self.buffer.poll(Time::ZERO) {
            Some(Event::Chunk(chunk)) => Some(chunk),
            None => None,
            Some(other) => panic!("{id}: {other:?}"),
        };
        if !recorded["ready"].as_bool().unwrap() {
            return assert_eq!(polled, None, "{id}");
        }
        let items = ids_of(&recorded["items"]);
        let fresh_to = items.last().map_or(0, |last| {
            self.order.iter().position(|id| id == last).unwrap() + 1
        });
        if fresh_to > self.given {
            self.compare(
                &polled.unwrap_or_else(|| panic!("{id}: no chunk")),
                recorded,
                fresh_to,
            );
        } else if self.finished {
            assert_eq!(polled, None, "{id}: nothing follows the final chunk");
        } else {
            let chunk = polled.unwrap_or_else(|| panic!("{id}: no end marker"));
            assert!(chunk.items.is_empty(), "{id}");
            assert_eq!(chunk.is_final, !self.endless, "{id}");
            self.finished = chunk.is_final;
        }
    }

    fn compare(&mut self, chunk: &Chunk<u64>, recorded: &Value, fresh_to: usize) {
        let id = &self.case["id"];
        assert_eq!(chunk.items, ids_of(&recorded["items"]), "{id}");
        assert_eq!(Some(chunk.start), recorded["start_offset"].as_u64(), "{id}");
        assert_eq!(Some(chunk.index), recorded["index"].as_u64(), "{id}");
        assert_eq!(chunk.fresh_from, self.given as u64, "{id}");
        assert_eq!(chunk.core, self.given as u64..fresh_to as u64, "{id}");
        self.given = fresh_to;
        let end_known = self.done && self.arrived == self.order.len();
        let last = end_known && self.given == self.order.len();
        assert_eq!(chunk.is_final, last && !self.endless, "{id}");
        self.finished = chunk.is_final;
        self.compared += 1;
    }
}

fn ids(op: &Value) -> Vec<u64> {
    ids_of(&op["ids"])
}

fn ids_of(list: &Value) -> Vec<u64> {
    let list = list.as_array().unwrap();
    list.iter().map(|id| id.as_u64().unwrap()).collect()
}
