//! Real text, with a bar wherever it is cut.

use std::time::Duration;

use proptest::prelude::*;

use crate::stream::{ChunkPolicy, Config, Event, StreamBuffer, Time};

/// Far more than any text here.
const LONG: usize = 1000;

fn policy(first_min: usize, min: usize, max: usize) -> Config {
    Config::new(ChunkPolicy::Boundary {
        first_min,
        min,
        max,
        max_wait: None,
    })
}

/// Cuts only where sentences end.
fn strong() -> Config {
    policy(LONG, LONG, LONG)
}

/// Cuts at every place that a clause ends.
fn weak() -> Config {
    policy(1, 1, LONG)
}

fn drain(buffer: &mut StreamBuffer<char>, pieces: &mut Vec<String>) {
    while let Some(event) = buffer.poll(Time::ZERO) {
        match event {
            Event::Chunk(chunk) if chunk.items.is_empty() => assert!(chunk.is_final),
            Event::Chunk(chunk) => pieces.push(chunk.text()),
            other => assert_eq!(other, Event::Aborted, "a stream of text only ends"),
        }
    }
}

/// The pieces of a text that arrives in parts of these lengths, over and over. The producer waits
/// for credit, so a buffer that waits for more than it holds would never end.
fn pieces(config: &Config, text: &str, lengths: &[usize]) -> Vec<String> {
    let mut buffer = StreamBuffer::new(config);
    let mut pieces = Vec::new();
    let mut lengths = lengths.iter().copied().cycle();
    let mut rest: Vec<char> = text.chars().collect();
    while !rest.is_empty() {
        let wanted = lengths.next().unwrap_or(1).max(1);
        let count = wanted.min(rest.len()).min(buffer.credit());
        assert!(count > 0, "the buffer is full and gives nothing: {text:?}");
        buffer.extend(rest.drain(..count)).ok();
        drain(&mut buffer, &mut pieces);
    }
    buffer.end();
    drain(&mut buffer, &mut pieces);
    assert!(buffer.is_finished());
    pieces
}

fn check(config: &Config, marked: &str) {
    let expected: Vec<_> = marked.split('|').map(str::to_owned).collect();
    let text = expected.concat();
    for lengths in [&[1][..], &[LONG], &[3, 1, 7]] {
        assert_eq!(pieces(config, &text, lengths), expected, "{lengths:?}");
    }
}

#[test]
fn sentences_are_cut_apart() {
    for marked in [
        "One. |Two. |Three.",
        "Really? |Yes! |Good.",
        "Really?! |No!! |What?",
        "He said \"Go.\" |Then he left.",
        "He said “Go.” |Then he left.",
        "(It was late.) |She slept.",
        "It ends here.) |And here.] |So.",
        "“What?” |“Nothing.” |They left.",
        "**Bold.** |_Plain._ |Done.",
        "Wait... |Then go.",
        "Wait… |Then go.",
        "He paused . . . |Then he went.",
        "It costs 3.50. |That is fine.",
        "That was in 1984. |Then came 1985.",
        "See you at 10. |Bye.",
        "I did it. |I know.",
        "So do I. |You too.",
        "The end.\n|A new start.",
        "The end.\r\n|A new start.",
        "你好。|再见！|好吗？|是",
        "「行きます。」|そして。",
        "क्या हाल है।|ठीक।",
        "I like 🎉. |Me too.",
        "Is that all? |yes it is.",
    ] {
        check(&strong(), marked);
    }
}

#[test]
fn no_cut_where_a_sentence_goes_on() {
    for text in [
        "Pi is 3.14 and e is 2.718 or so",
        "Version 1.2.3 is out, v2.0 is next",
        "It was .5 and then",
        "Dr. Smith met Mr. and Mrs. Jones at St. Mary's",
        "Prof. Dr. Lee, Gen. Grant and Sen. Paul",
        "Some fruit, e.g. this one, i.e. an apple",
        "Some fruit (e.g. Apples) cf. Section 2",
        "The U.S. Navy and the U.K. Government",
        "The U.S.\nNavy is here",
        "At 10:30 we had 1,000 of 25,000 points",
        "See https://a.b/c?d=e, next to http://x.y/z.html and so on",
        "Go to www.example.com/a.b?c!d or mail me@x.co.uk now",
        "Open src/main.rs or ../lib.rs with vim.exe",
        "Well... perhaps it is... or not",
        "Well… perhaps",
        "He paused . . . and went on",
        "“Stop!” he said, “Why?” she asked",
        "A book by J. R. R. Tolkien and C. S. Lewis",
        "J. A. Smith and J. I. Packer wrote to George R. R. Martin",
        "No. 5 and Nos. 6 are in Fig. 3 on p. 12 of vol. 2",
        "On Jan. 3 and Feb. 14 at 5 a.m. on Monday, 6 p.m. sharp",
        "At 5 p.m. Monday it rained",
        "Acme Inc. said that Foo Ltd. was late etc. and so on",
        "She has a Ph.D. in physics, he an M.D. from Yale",
        "Approx. 5 kg vs. 6 kg",
        "A line that is wrapped\nby hand goes on\nfor a while",
        "A name like Dr.\nSmith is wrapped",
        "the number 3.14\nand more",
        "1. First of all",
        "a. First of all",
        "Is it 50/50 or 3:2 or 1-2 or A-B",
        "AT&T and R&D at 5.5% or $3.50 each",
        "He asked (why?) and left",
        "It's 5 o'clock, isn't it",
    ] {
        check(&strong(), text);
    }
}

#[test]
fn an_abbreviation_before_a_new_sentence_ends_one() {
    for marked in [
        "We left at 5 a.m. |The sun rose.",
        "He lives in the U.S. |She does not.",
        "Apples, pears, etc. |They are good.",
        "He said no. |That was it.",
        "She works for Acme Inc. |It is big.",
        "It was Plan B. |We liked it.",
        "It happened in Jan. |He knew.",
        "The answer is no. |5 of them said so.",
    ] {
        // `no. 5` is a number: one of the two readings has to lose.
        let marked = marked.replace("no. |5", "no. 5");
        check(&strong(), &marked);
    }
}

#[test]
fn clauses_are_cut_past_the_least_length() {
    for marked in [
        "First, |second; |third: |fourth.",
        "He said, |“go,” |and left.",
        "One — |two.",
        "One—|two.",
        "One – |two - |three.",
        "One--|two -- |three.",
        "Well... |perhaps.",
        "“Stop!” |he said.",
        "In 1990, 20 people, |no more.",
        "At 10:30 sharp, |1,000 of them.",
        "From 10 - 12 on, |or 3 – 4.",
        "Use --release or -x.",
        "See a.b/c--d or x@y--z.co or f.rs--g.",
        "Fruit, |e.g., apples.",
        "https://a.b/c?d=e, |next",
        "你好，|再见。",
        "A well-known thing.",
        "“Why”—|“Because.”",
        "“Go—” |he said.",
    ] {
        check(&weak(), marked);
    }
}

#[test]
fn the_first_piece_may_be_shorter() {
    check(
        &policy(5, 20, LONG),
        "Hello, |my dear, my good friend, |how are, well, you all?",
    );
    check(
        &policy(LONG, LONG, LONG),
        "Hi. |Hello, my dear, my good friend.",
    );
}

#[test]
fn lines_matter_where_they_end_something() {
    for marked in [
        "A heading\n\n|A paragraph\nof two lines",
        "A heading\r\n\r\n|A paragraph",
        "A heading\n \t\n|A paragraph",
        "To buy\n|- milk\n|- bread and\nbutter\n|* tea",
        "Steps\n|1. Take it\n|2) Eat it\n|10. Sleep",
        "Text\n|# Part one\n|## Chapter two",
        "in the year\n2020. |After that",
        "Dr. No\n\n|said",
    ] {
        check(&strong(), marked);
    }
    check(&strong(), "it was\n-5 degrees or\n#1 or\n*very* cold");
}

#[test]
fn white_space_leaves_with_what_it_follows() {
    for marked in [
        "One. ",
        "One.\n",
        "One.\r\n",
        "  One.",
        "One",
        " ",
        "\n\n",
        "...",
        "One. |Two. ",
    ] {
        check(&strong(), marked);
    }
    // More than one is not waited for.
    check(&strong(), "One. | Two.");
}

#[test]
fn a_long_piece_is_cut_at_its_last_space() {
    let at_most = |max| policy(1, max, max);
    check(&at_most(10), "one two |three four| five six |seven");
    check(&at_most(10), "onetwothre|efourfives|ix");
    check(&at_most(3), "a |bc |def| gh|i");
    check(&at_most(1), "a|b| |c");
    // A mark stays with the letter that it is on.
    check(&at_most(5), "abcd|e\u{301}fg");
    // A sentence that fits leaves whole.
    check(&at_most(4), "One.| Two|.");
}

#[test]
fn a_flush_gives_what_is_there() {
    let mut buffer = StreamBuffer::new(&strong());
    let mut chunks = Vec::new();
    for (text, expected) in [
        ("I saw Dr.", "I saw Dr."),
        (" Smith", " Smith"),
        ("3.", "3."),
    ] {
        buffer.extend(text.chars().collect::<Vec<_>>()).ok();
        assert_eq!(buffer.poll(Time::ZERO), None);
        buffer.flush();
        while let Some(Event::Chunk(chunk)) = buffer.poll(Time::ZERO) {
            chunks.push((chunk.text(), chunk.closes_segment, chunk.is_final));
        }
        assert_eq!(chunks.pop(), Some((expected.to_owned(), true, false)));
        assert!(chunks.is_empty());
    }
}

/// A text whose parts come at some millisecond, and the pieces with the millisecond at which they
/// leave. The driver polls when something comes, and at each deadline.
fn check_times(wait: u64, parts: &[(u64, &str)], expected: &[(u64, &str)]) {
    let mut buffer = StreamBuffer::new(&Config::new(ChunkPolicy::Boundary {
        first_min: 4,
        min: 40,
        max: 60,
        max_wait: Some(Duration::from_millis(wait)),
    }));
    let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
    let mut left = Vec::new();
    let mut poll = |buffer: &mut StreamBuffer<char>, now: Time| {
        while let Some(Event::Chunk(chunk)) = buffer.poll(now) {
            left.push((now.nanos() / 1_000_000, chunk.text()));
        }
    };
    let mut parts = parts.iter().peekable();
    loop {
        let next = parts.peek().map(|(millis, _)| at(*millis));
        match (next, buffer.next_deadline()) {
            (None, None) => break,
            (Some(next), deadline) if deadline.is_none_or(|deadline| next < deadline) => {
                let text = parts.next().map_or("", |(_, text)| text);
                buffer.extend(text.chars().collect::<Vec<_>>()).ok();
                poll(&mut buffer, next);
            }
            (_, deadline) => {
                let deadline = deadline.unwrap_or_default();
                poll(&mut buffer, deadline);
                assert_ne!(buffer.next_deadline(), Some(deadline), "no way forward");
            }
        }
    }
    let expected: Vec<_> = expected
        .iter()
        .map(|&(millis, text)| (millis, text.to_owned()))
        .collect();
    assert_eq!(left, expected);
}

#[test]
fn text_that_waits_too_long_leaves_at_a_space() {
    // Nothing more came: all of it, if a mark ends it.
    check_times(100, &[(0, "Hello there.")], &[(100, "Hello there.")]);
    // The last word may not be complete; it has its own wait.
    check_times(
        100,
        &[(0, "Hello there")],
        &[(100, "Hello "), (200, "there")],
    );
    // Nor may a number or an address that is still growing.
    check_times(
        100,
        &[(0, "It is 3."), (90, "1"), (105, "4 now. "), (110, "So.")],
        &[(100, "It is "), (105, "3.14 now. "), (210, "So.")],
    );
    // A title stays with its name.
    check_times(
        100,
        &[(0, "I met Dr. Smi"), (120, "th. ")],
        &[(100, "I met "), (120, "Dr. Smith. ")],
    );
    // A sentence that is complete does not wait.
    check_times(
        100,
        &[(5, "Hello. "), (6, "You. ")],
        &[(5, "Hello. "), (6, "You. ")],
    );
    // White space alone waits for a word.
    check_times(100, &[(0, "  "), (300, "a")], &[(400, "  a")]);
}

#[test]
fn a_word_that_grows_is_left_alone() {
    check_times(
        100,
        &[(0, "ab"), (60, "cd"), (120, "ef"), (180, "gh ")],
        &[(180, "abcdefgh ")],
    );
}

const WORDS: &[&str] = &[
    "a",
    "word",
    "I",
    "The",
    "Dr.",
    "U.S.",
    "e.g.",
    "No.",
    "etc.",
    "3.14",
    "1,000",
    "10:30",
    "J.",
    "end.",
    "stop!",
    "why?",
    "well...",
    "…",
    "—",
    "--",
    "-",
    ",",
    ";",
    "\"",
    "”",
    ")",
    "(",
    "“",
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "。",
    "好",
    "，",
    "https://a.b/c?d=e",
    "x@y.z",
    "1.",
    "Thereafter",
    "e\u{301}",
    "🎉",
    "        ",
    ".",
    "))))))))",
    "                          ",
];

proptest! {
    #[test]
    fn any_arrival_gives_the_same_pieces(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..60),
        lengths in prop::collection::vec(1_usize..12, 1..8),
        first_min in 1_usize..20,
        more in 0_usize..20,
        beyond in 0_usize..40,
    ) {
        let text = words.concat();
        let (min, max) = (first_min + more, first_min + more + beyond);
        let mut config = policy(first_min, min, max);
        config.capacity = config.policy.needs();
        let whole = pieces(&config.clone().capacity(10_000), &text, &[10_000]);
        prop_assert_eq!(whole.concat(), text.clone());
        prop_assert!(whole.iter().all(|piece| (1..=max).contains(&piece.chars().count())));
        prop_assert_eq!(&pieces(&config, &text, &lengths), &whole);
        prop_assert_eq!(&pieces(&config, &text, &[1]), &whole);
    }
}
