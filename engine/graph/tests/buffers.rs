//! What every policy keeps to, over any order of arrivals, and what a buffer does at its bounds:
//! growth, context, flushes, credit, drops, aborts and failures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly, in its helpers as well"
)]

use std::ops::Range;

use graph::Ratio;
use graph::stream::{Chunk, ChunkPolicy, Config, Error, Event, Item, StreamBuffer, Time};
use proptest::prelude::*;

fn next<T: Item + std::fmt::Debug>(buffer: &mut StreamBuffer<T>) -> Option<Chunk<T>> {
    buffer.poll(Time::ZERO).map(|event| match event {
        Event::Chunk(chunk) => chunk,
        other => panic!("{other:?} instead of a chunk"),
    })
}

fn extend(buffer: &mut StreamBuffer<u64>, items: Range<u64>) -> Result<(), Error> {
    buffer.extend(items.collect::<Vec<_>>())
}

fn drain(buffer: &mut StreamBuffer<u64>) -> Vec<Chunk<u64>> {
    std::iter::from_fn(|| next(buffer)).collect()
}

fn ramp(first: usize, grow: (u32, u32), max: usize, left: usize, right: usize) -> Config {
    let grow = Ratio::new(grow.0, grow.1).unwrap();
    Config::new(ChunkPolicy::Ramp {
        first,
        grow,
        max,
        left,
        right,
    })
}

/// The chunks of the items `0..count`, each of which is its position.
fn chunks(config: &Config, count: u64) -> Vec<(Range<u64>, Range<u64>)> {
    let mut buffer = StreamBuffer::new(config);
    let mut chunks = Vec::new();
    for item in 0..count {
        buffer.push(item).unwrap();
        chunks.extend(drain(&mut buffer));
    }
    buffer.end();
    chunks.extend(drain(&mut buffer));
    assert!(chunks.last().unwrap().is_final);
    let spans = chunks.into_iter().filter(|chunk| !chunk.items.is_empty());
    spans
        .map(|chunk| {
            let end = chunk.start + chunk.items.len() as u64;
            assert_eq!(chunk.items, (chunk.start..end).collect::<Vec<_>>());
            (chunk.start..end, chunk.core)
        })
        .collect()
}

#[test]
fn a_ramp_grows_to_its_largest_chunk() {
    let sizes = |config: &Config, count| {
        let cores = chunks(config, count).into_iter();
        cores
            .map(|(_, core)| core.end - core.start)
            .collect::<Vec<_>>()
    };
    assert_eq!(sizes(&ramp(1, (2, 1), 8, 0, 0), 30), [1, 2, 4, 8, 8, 7]);
    assert_eq!(sizes(&ramp(2, (3, 2), 5, 0, 0), 17), [2, 3, 5, 5, 2]);
    assert_eq!(sizes(&ramp(3, (1, 1), 3, 0, 0), 7), [3, 3, 1]);
}

#[test]
fn a_ramp_gives_context_on_both_sides() {
    let spans = chunks(&ramp(2, (2, 1), 4, 3, 2), 13);
    assert_eq!(
        spans,
        [(0..4, 0..2), (0..8, 2..6), (3..12, 6..10), (7..13, 10..13),]
    );
    // Right context that never comes is not waited for at the end.
    assert_eq!(
        chunks(&ramp(2, (2, 1), 4, 3, 2), 3),
        [(0..3, 0..2), (0..3, 2..3)]
    );
}

#[test]
fn a_flush_gives_the_tail_and_ends_the_context() {
    let mut buffer = StreamBuffer::new(&ramp(2, (2, 1), 4, 2, 1));
    extend(&mut buffer, 0..5).unwrap();
    assert_eq!(drain(&mut buffer).len(), 1);
    buffer.flush();
    let tail = next(&mut buffer).unwrap();
    assert_eq!((tail.items, tail.core), (vec![0, 1, 2, 3, 4], 2..5));
    assert!(tail.closes_segment && !tail.is_final);
    assert_eq!(next(&mut buffer), None);
    // A second flush of nothing is nothing.
    buffer.flush();
    assert_eq!(next(&mut buffer), None);
    extend(&mut buffer, 5..10).unwrap();
    let first = next(&mut buffer).unwrap();
    assert_eq!((first.start, first.left_context()), (5, 0));
    assert_eq!(first.core, 5..9);
    assert_eq!(first.right_context(), 1);
}

#[test]
fn a_flush_behind_a_whole_chunk_says_so() {
    let mut buffer = StreamBuffer::new(&Config::new(ChunkPolicy::Fixed { chunk: 2 }));
    extend(&mut buffer, 0..2).unwrap();
    assert!(!next(&mut buffer).unwrap().closes_segment);
    buffer.flush();
    let marker = next(&mut buffer).unwrap();
    assert!(marker.closes_segment && marker.items.is_empty() && !marker.is_final);
    assert_eq!(next(&mut buffer), None);
}

#[test]
fn an_edge_that_pauses_takes_no_more_than_its_credit() {
    let config = Config::new(ChunkPolicy::LeftContext { chunk: 2, left: 1 }).capacity(4);
    let mut buffer = StreamBuffer::new(&config);
    extend(&mut buffer, 0..3).unwrap();
    assert_eq!(buffer.credit(), 1);
    let refused = extend(&mut buffer, 3..5);
    assert_eq!(
        refused,
        Err(Error::Full {
            credit: 1,
            announced: 2
        })
    );
    assert_eq!(buffer.announced(), 3);
    // The item that is given again as context keeps its place.
    assert_eq!(next(&mut buffer).unwrap().items, [0, 1]);
    assert_eq!((buffer.len(), buffer.credit()), (2, 2));
}

#[test]
fn a_live_edge_drops_its_oldest_items() {
    let policy = ChunkPolicy::LeftContext { chunk: 2, left: 1 };
    let config = Config::new(policy).capacity(4).drop_oldest();
    let mut buffer = StreamBuffer::new(&config);
    extend(&mut buffer, 0..2).unwrap();
    assert_eq!(next(&mut buffer).unwrap().core, 0..2);
    // Item 1 is context and not lost; 2 is.
    extend(&mut buffer, 2..7).unwrap_err();
    for item in 2_u64..7 {
        buffer.push(item).unwrap();
    }
    assert_eq!(buffer.dropped(), 1);
    let chunk = next(&mut buffer).unwrap();
    assert_eq!(
        (chunk.items, chunk.core, chunk.fresh_from),
        (vec![3, 4], 3..5, 3)
    );
    // Bytes that come for a dropped place are no error.
    assert_eq!(buffer.put(2, 2), Ok(()));
}

#[test]
fn an_abort_drops_what_waits() {
    let mut buffer = StreamBuffer::new(&Config::new(ChunkPolicy::Fixed { chunk: 2 }));
    let late = buffer.announce(5).unwrap();
    buffer.put(0, 0_u64).unwrap();
    buffer.put(1, 1).unwrap();
    buffer.abort();
    assert_eq!(buffer.put(late + 2, 2), Ok(()));
    assert_eq!(buffer.announce(1), Err(Error::Ended));
    assert_eq!(buffer.poll(Time::ZERO), Some(Event::Aborted));
    assert!(buffer.is_finished() && buffer.is_empty());
    assert_eq!(buffer.poll(Time::ZERO), None);
}

#[test]
fn a_failure_follows_the_chunks_that_are_complete() {
    for ended in [false, true] {
        let mut buffer = StreamBuffer::new(&Config::new(ChunkPolicy::Fixed { chunk: 2 }));
        extend(&mut buffer, 0..3).unwrap();
        if ended {
            buffer.end();
        }
        buffer.error("out of memory");
        buffer.error("too late");
        assert_eq!(next(&mut buffer).unwrap().items, [0, 1]);
        let failed = Event::Failed("out of memory".into());
        assert_eq!(buffer.poll(Time::ZERO), Some(failed));
        assert_eq!(buffer.poll(Time::ZERO), None);
        assert_eq!(buffer.announce(1), Err(Error::Ended));
    }
}

#[test]
fn a_place_is_announced_once_and_filled_once() {
    let mut buffer = StreamBuffer::new(&Config::new(ChunkPolicy::Fixed { chunk: 2 }));
    assert_eq!(buffer.put(0, 7_u64), Err(Error::NotAnnounced(0)));
    buffer.announce(1).unwrap();
    buffer.put(0, 7).unwrap();
    assert_eq!(buffer.put(0, 8), Err(Error::Twice(0)));
    buffer.end();
    assert_eq!(buffer.announce(1), Err(Error::Ended));
    assert_eq!(next(&mut buffer).unwrap().items, [7]);
}

#[test]
fn an_endless_consumer_gets_empty_chunks() {
    let config = Config::new(ChunkPolicy::Fixed { chunk: 2 }).continue_after_done();
    let mut buffer = StreamBuffer::new(&config);
    extend(&mut buffer, 0..3).unwrap();
    buffer.end();
    assert_eq!(next(&mut buffer).unwrap().items, [0, 1]);
    assert_eq!(next(&mut buffer).unwrap().items, [2]);
    for _ in 0..5 {
        let chunk = next(&mut buffer).unwrap();
        assert!(chunk.items.is_empty() && !chunk.is_final);
    }
}

fn policies() -> impl Strategy<Value = ChunkPolicy> {
    let small = 1_usize..7;
    prop_oneof![
        small.clone().prop_map(|chunk| ChunkPolicy::Fixed { chunk }),
        (small.clone(), 0_usize..7).prop_map(|(stride, more)| ChunkPolicy::SlidingWindow {
            window: stride + more,
            stride,
        }),
        (small.clone(), 0_usize..7).prop_map(|(chunk, left)| ChunkPolicy::LeftContext {
            chunk,
            left: left.min(chunk),
        }),
        (
            small,
            1_u32..4,
            0_u32..6,
            0_usize..9,
            0_usize..5,
            0_usize..5
        )
            .prop_map(|(first, denominator, more, beyond, left, right)| {
                ChunkPolicy::Ramp {
                    first,
                    grow: Ratio::new(denominator + more, denominator).unwrap(),
                    max: first + beyond,
                    left,
                    right,
                }
            }),
    ]
}

/// Items that are announced together, and whether a flush follows.
fn bursts() -> impl Strategy<Value = Vec<(usize, bool)>> {
    prop::collection::vec((0_usize..9, prop::bool::weighted(0.3)), 0..12)
}

/// The most items for whose output one chunk answers.
fn largest(policy: &ChunkPolicy) -> u64 {
    policy.needs() as u64
}

/// What holds for the chunks of `count` items with segments that end at `marks`.
fn check_chunks(policy: &ChunkPolicy, chunks: &[Chunk<u64>], count: u64, marks: &[u64]) {
    let (mut core, mut fresh, mut segment) = (0, 0, 0);
    for (index, chunk) in chunks.iter().enumerate() {
        let end = chunk.start + chunk.items.len() as u64;
        assert_eq!(chunk.index, index as u64);
        assert_eq!(chunk.items, (chunk.start..end).collect::<Vec<_>>());
        assert_eq!(chunk.core.start, core, "cores follow each other");
        assert!(chunk.core.end - core <= largest(policy));
        assert!(chunk.start >= segment, "no context from another segment");
        assert!(chunk.start <= core && chunk.core.end <= end);
        assert_eq!(chunk.fresh_from, fresh.min(end));
        assert_eq!(chunk.core_items().len() as u64, chunk.core.end - core);
        (core, fresh) = (chunk.core.end, fresh.max(end));
        let closes = chunk.closes_segment;
        assert!(!closes || marks.contains(&core) || core == count);
        if closes {
            (segment, fresh) = (core, core);
        }
        let crossed = marks
            .iter()
            .any(|mark| (chunk.start + 1..end).contains(mark));
        assert!(!crossed, "no chunk crosses a flush");
        assert_eq!(chunk.is_final, index + 1 == chunks.len());
    }
    assert_eq!(core, count, "every item is in a core");
    let closed: Vec<_> = chunks
        .iter()
        .filter(|chunk| chunk.closes_segment)
        .map(|chunk| chunk.core.end)
        .collect();
    assert!(marks.iter().all(|mark| closed.contains(mark)));
}

proptest! {
    /// With the least capacity, and a producer that waits for credit.
    #[test]
    fn cores_cover_every_item_once(policy in policies(), bursts in bursts(), lazy in any::<bool>()) {
        let config = Config::new(policy.clone()).capacity(policy.needs());
        let mut buffer = StreamBuffer::new(&config);
        let (mut chunks, mut count, mut marks) = (Vec::new(), 0, Vec::new());
        for (items, flush) in bursts {
            for _ in 0..items {
                if buffer.credit() == 0 || !lazy {
                    chunks.extend(drain(&mut buffer));
                }
                prop_assert!(buffer.credit() > 0, "full, and nothing leaves");
                buffer.push(count).unwrap();
                count += 1;
            }
            if flush {
                buffer.flush();
                if count > marks.last().copied().unwrap_or(0) {
                    marks.push(count);
                }
            }
        }
        chunks.extend(drain(&mut buffer));
        buffer.end();
        chunks.extend(drain(&mut buffer));
        check_chunks(&policy, &chunks, count, &marks);
        prop_assert!(buffer.is_finished());
        prop_assert_eq!(buffer.dropped(), 0);
    }

    #[test]
    fn bytes_may_arrive_in_any_order(
        policy in policies(),
        bursts in bursts(),
        order in prop::collection::vec(any::<u32>(), 108),
    ) {
        let config = Config::new(policy.clone()).capacity(1000);
        let mut in_order = StreamBuffer::new(&config);
        let mut marks = Vec::new();
        for (items, flush) in bursts {
            in_order.announce(items).unwrap();
            if flush {
                in_order.flush();
                let count = in_order.announced();
                if count > marks.last().copied().unwrap_or(0) {
                    marks.push(count);
                }
            }
        }
        in_order.end();
        let count = in_order.announced();
        let mut shuffled = in_order.clone();
        let mut expected = Vec::new();
        for place in 0..count {
            in_order.put(place, place).unwrap();
            expected.extend(drain(&mut in_order));
        }
        expected.extend(drain(&mut in_order));
        check_chunks(&policy, &expected, count, &marks);
        let mut places: Vec<(u32, u64)> = order.into_iter().zip(0..count).collect();
        places.sort();
        let mut chunks = Vec::new();
        for &(_, place) in &places {
            shuffled.put(place, place).unwrap();
            chunks.extend(drain(&mut shuffled));
        }
        chunks.extend(drain(&mut shuffled));
        prop_assert_eq!(chunks, expected);
    }

    #[test]
    fn what_a_live_edge_does_not_drop_is_given_once(
        policy in policies(),
        polls in prop::collection::vec(prop::bool::weighted(0.2), 0..120),
    ) {
        let config = Config::new(policy.clone()).capacity(policy.needs()).drop_oldest();
        let mut buffer = StreamBuffer::new(&config);
        let mut chunks = Vec::new();
        for (item, poll) in (0..).zip(&polls) {
            buffer.push(item).unwrap();
            prop_assert!(buffer.len() <= config.capacity);
            if *poll {
                chunks.extend(drain(&mut buffer));
            }
        }
        buffer.end();
        chunks.extend(drain(&mut buffer));
        let (mut core, mut given) = (0, 0);
        for chunk in &chunks {
            let end = chunk.start + chunk.items.len() as u64;
            prop_assert_eq!(&chunk.items, &(chunk.start..end).collect::<Vec<_>>());
            prop_assert!(chunk.core.start >= core);
            prop_assert!(chunk.start <= chunk.core.start && chunk.core.end <= end);
            core = chunk.core.end;
            given += chunk.core.end - chunk.core.start;
        }
        prop_assert_eq!(given + buffer.dropped(), polls.len() as u64);
        prop_assert!(buffer.is_finished());
    }
}
