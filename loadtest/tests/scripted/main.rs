//! The load test against servers whose behaviour is known: does it report what they did?

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helpers fail as loudly as the test"
)]

mod server;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Parser;
use loadtest::cli::{Cli, Command};
use loadtest::measure::Playout;
use loadtest::report::Verdict;
use loadtest::{overhead, tts};
use serde_json::Value;
use server::{End, RATE, Script, Server};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Chunks of 100 ms, the first after 60 ms, the others `every` ms apart.
fn speak(every: u64, chunks: u32, end: End) -> Script {
    Script::Speak {
        first: ms(60),
        audio: ms(100),
        every: ms(every),
        chunks,
        end,
    }
}

/// A run that could be made.
struct Run {
    verdict: Verdict,
    json: Value,
    html: String,
    table: String,
}

impl Run {
    fn level(&self) -> &Value {
        &self.json["levels"][0]
    }

    fn requests(&self, end: &str) -> u64 {
        self.level()["requests"][end].as_u64().unwrap()
    }

    fn complete(&self, figure: &str, value: &str) -> f64 {
        let found = &self.level()["complete"][figure][value];
        found
            .as_f64()
            .unwrap_or_else(|| panic!("{figure} {value}: {found}"))
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn command(words: &str) -> Command {
    Cli::try_parse_from(words.split_whitespace())
        .unwrap()
        .command
}

/// Runs `loadtest tts` with `options`. The generator may be as late as this machine makes it,
/// unless the options say otherwise: these tests are not about the machine.
async fn load(name: &str, url: &str, options: &str) -> anyhow::Result<Run> {
    let folder = folder(name);
    let (json, html) = (folder.join("run.json"), folder.join("run.html"));
    let late = if options.contains("--max-late") {
        ""
    } else {
        "--max-late 5000"
    };
    let words = format!(
        "loadtest tts --url {url} --warmup 0 {late} --json {} --html {} {options}",
        json.display(),
        html.display()
    );
    let Command::Tts(args) = command(&words) else {
        panic!("not tts");
    };
    let (mut out, mut log) = (Vec::new(), Vec::new());
    let verdict = tts::run(*args, &mut out, &mut log).await?;
    Ok(Run {
        verdict,
        json: serde_json::from_str(&std::fs::read_to_string(json)?)?,
        html: std::fs::read_to_string(html)?,
        table: String::from_utf8(out)?,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fast_server_is_reported_as_it_was() {
    let server = Server::start(|_, _| speak(30, 10, End::Well)).await;
    let run = load("fast", &server.url(), "--duration 0.2").await.unwrap();
    assert_eq!(run.verdict, Verdict::Counts, "{}", run.table);
    assert_eq!(run.requests("complete"), 1);
    let ttfc = run.complete("ttfc_ms", "p50");
    assert!(
        (60.0..110.0).contains(&ttfc),
        "first chunk after 60 ms, not {ttfc}"
    );
    // The head comes at once: it is a first byte, and no audio.
    assert!(run.complete("ttfb_ms", "p50") < ttfc - 30.0);
    assert!((run.complete("audio_s", "p50") - 1.0).abs() < 1e-9);
    let rtf = run.complete("rtf_stream", "p50");
    assert!((0.22..0.36).contains(&rtf), "270 ms of 1 s, not {rtf}");
    assert!(run.complete("rtf_end_to_end", "p50") > rtf);
    assert!(
        (run.complete("rtf_model", "p50") - 0.25).abs() < 1e-9,
        "from the trailer"
    );
    assert_eq!(run.level()["complete"]["playout"][1]["stall_free"], 1.0);
    assert!(run.table.contains("RTF (end to end)") && run.table.contains("request due"));
    assert!(
        run.json["notes"][0]
            .as_str()
            .unwrap()
            .contains("fewer than 100")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_shows_the_stalls_that_its_sending_times_demand() {
    let server = Server::start(|_, _| speak(120, 8, End::Well)).await;
    let run = load("slow", &server.url(), "--duration 0.2").await.unwrap();
    let sent = server.seen.sent.lock()[0].clone();
    for (index, (prebuffer, nominal)) in [(0, 140.0), (50, 90.0), (100, 40.0)].iter().enumerate() {
        let expected = Playout::of(&sent, RATE, ms(*prebuffer))
            .stalled()
            .as_secs_f64()
            * 1e3;
        let found = &run.level()["complete"]["playout"][index];
        let deficit = found["worst_deficit_ms"].as_f64().unwrap();
        assert!(
            (deficit - expected).abs() < 25.0,
            "at {prebuffer}: {deficit}, sent {expected}"
        );
        assert!(
            (expected - nominal).abs() < 60.0,
            "the script says {nominal}, sent {expected}"
        );
        assert_eq!(found["stall_free"], 0.0);
        let per_minute = found["stall_ms_per_minute"].as_f64().unwrap();
        assert!((per_minute - deficit * 60.0 / 0.8).abs() < 1e-6);
    }
    assert!(
        run.html.contains("<rect class=\"stall\""),
        "the picture shows the stall"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_needs_nothing_from_outside() {
    let server = Server::start(|_, _| speak(10, 3, End::Well)).await;
    let run = load("page", &server.url(), "--duration 0.2 --concurrency 1,2")
        .await
        .unwrap();
    for foreign in ["src=", "href=", "url(", "@import", "<script"] {
        assert!(!run.html.contains(foreign), "{foreign}");
    }
    assert_eq!(
        run.html.matches("<svg").count(),
        run.html.matches("</svg>").count()
    );
    // First chunks, RTF, and two timelines for each of the two levels.
    assert_eq!(run.html.matches("<svg").count(), 6);
    assert!(run.html.contains("prefers-color-scheme: dark"));
    assert!(!run.html.contains("NaN") && !run.html.contains("inf"));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_stand_apart_from_errors() {
    let plan = |index: usize, _: &server::Seen| match index % 2 {
        0 => speak(10, 3, End::Well),
        _ => Script::Status(if index % 4 == 1 { 503 } else { 429 }),
    };
    let server = Server::start(plan).await;
    let options = "--rate 40 --arrivals uniform --duration 0.49";
    let run = load("refusals", &server.url(), options).await.unwrap();
    assert_eq!(run.verdict, Verdict::Counts, "{}", run.table);
    let (refused, complete) = (run.requests("refused"), run.requests("complete"));
    assert_eq!((run.requests("failed"), refused + complete), (0, 19));
    assert!(refused.abs_diff(complete) <= 1);
    let kinds = run.level()["refusals"].as_object().unwrap();
    assert_eq!(kinds.keys().collect::<Vec<_>>(), ["429", "503"]);
    assert!(run.json["notes"].to_string().contains("were refused"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_cut_in_the_middle_is_an_error_and_no_success() {
    let server = Server::start(|_, _| speak(10, 4, End::Cut)).await;
    let run = load("cut", &server.url(), "--duration 0.3").await.unwrap();
    assert_eq!(run.verdict, Verdict::DoesNotCount);
    assert_eq!(run.requests("complete"), 0);
    assert_eq!(
        run.level()["errors"]["cut_off"].as_u64().unwrap(),
        run.requests("failed")
    );
    assert!(run.requests("failed") >= 1);
    assert!(
        run.level()["complete"]["ttfc_ms"].is_null(),
        "no figure out of broken streams"
    );
    assert!(
        run.table.starts_with("THIS RUN DOES NOT COUNT"),
        "{}",
        run.table
    );
    assert!(run.html.contains("This run does not count"));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_status_is_an_error_in_the_servers_words() {
    let server = Server::start(|_, _| Script::Status(400)).await;
    let run = load("status", &server.url(), "--duration 0.2")
        .await
        .unwrap();
    assert_eq!(run.verdict, Verdict::DoesNotCount);
    let words = run.level()["error_samples"][0].as_str().unwrap();
    assert!(
        words.contains("400") && words.contains("no such voice"),
        "{words}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_takes_too_long_is_an_error() {
    let server = Server::start(|_, _| speak(10_000, 3, End::Well)).await;
    let run = load("timeout", &server.url(), "--duration 0.1 --timeout 0.3")
        .await
        .unwrap();
    assert_eq!(run.level()["errors"]["timeout"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_loop_waits_for_no_reply() {
    // Nothing is answered before a second has gone; 20 requests a second come all the same.
    let late = Script::Speak {
        first: ms(1000),
        audio: ms(100),
        every: ms(10),
        chunks: 2,
        end: End::Well,
    };
    let server = Server::start(move |_, _| late).await;
    let run = load(
        "open",
        &server.url(),
        "--rate 20 --arrivals uniform --duration 0.58",
    )
    .await
    .unwrap();
    assert_eq!(run.requests("complete"), 11);
    assert_eq!(server.seen.most_open.load(Ordering::SeqCst), 11);
    let bounded = "--rate 20 --arrivals uniform --duration 0.58 --max-open 4";
    let run = load("bounded", &server.url(), bounded).await.unwrap();
    assert_eq!((run.requests("complete"), run.requests("unsent")), (4, 7));
    assert_eq!(run.verdict, Verdict::DoesNotCount);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_loop_keeps_to_its_users_and_listeners_take_their_time() {
    let server = Server::start(|_, _| speak(10, 5, End::Well)).await;
    let run = load("closed", &server.url(), "--concurrency 3 --duration 1")
        .await
        .unwrap();
    assert_eq!(server.seen.most_open.load(Ordering::SeqCst), 3);
    let hurried = run.requests("complete");
    assert!(hurried > 9, "some 100 ms each, not {hurried} in all");
    let texts = server.seen.texts.lock().clone();
    assert_eq!(
        texts.iter().collect::<HashSet<_>>().len(),
        texts.len(),
        "no text came twice"
    );
    // To hear one takes 60 + 100 + 500 ms: two turns each begin within a second.
    let run = load(
        "listen",
        &server.url(),
        "--concurrency 3 --pace listen --duration 1",
    )
    .await
    .unwrap();
    assert_eq!(run.requests("complete"), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_who_hang_up_are_cancelled_and_their_connection_goes() {
    let server = Server::start(|_, _| speak(50, 100, End::Well)).await;
    let options = "--duration 0.3 --concurrency 4 --cancel-share 1 --cancel-within 0.2";
    let run = load("cancel", &server.url(), options).await.unwrap();
    let cancelled = run.requests("cancelled");
    assert!(cancelled >= 4, "{}", run.table);
    assert_eq!((run.requests("complete"), run.requests("failed")), (0, 0));
    tokio::time::timeout(ms(5000), server.idle())
        .await
        .expect("the server saw them go");
    let asked = server.seen.requests.load(Ordering::SeqCst);
    assert_eq!(server.seen.vanished.load(Ordering::SeqCst), asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_generator_spoils_the_run() {
    let server = Server::start(|_, _| speak(10, 2, End::Well)).await;
    let run = load("late", &server.url(), "--duration 0.3 --max-late 0.000001")
        .await
        .unwrap();
    assert_eq!(run.verdict, Verdict::DoesNotCount);
    assert!(
        run.json["doubts"]
            .to_string()
            .contains("the generator was late")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_kept_fails_before_it_begins() {
    let server = Server::start(|_, _| speak(10, 2, End::Well)).await;
    let words = format!(
        "loadtest tts --url {} --json /no/such/folder/a.json",
        server.url()
    );
    let Command::Tts(args) = command(&words) else {
        panic!("not tts");
    };
    let error = tts::run(*args, &mut Vec::new(), &mut Vec::new())
        .await
        .unwrap_err();
    assert!(
        format!("{error:#}").contains("cannot write `/no/such/folder/a.json`"),
        "{error:#}"
    );
    assert_eq!(server.seen.requests.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_said_at_once() {
    let error = load("absent", "http://127.0.0.1:9", "--duration 0.1")
        .await
        .err()
        .unwrap();
    assert!(
        format!("{error:#}").contains("is the server running"),
        "{error:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_number_of_listeners_is_found() {
    // Two can be served in time; with more, each chunk of 100 ms takes 200.
    let server = Server::start(|_, seen: &server::Seen| {
        let crowded = seen.open.load(Ordering::SeqCst) > 2;
        speak(if crowded { 200 } else { 40 }, 6, End::Well)
    })
    .await;
    let options = "--find-capacity --pace none --max-users 8 --duration 0.5";
    let run = load("capacity", &server.url(), options).await.unwrap();
    assert_eq!(run.json["capacity"]["users"], 2, "{}", run.table);
    assert_eq!(run.json["capacity"]["broke"], 3);
    assert!(
        run.json["capacity"]["because"]
            .to_string()
            .contains("prebuffer 100 ms")
    );
    assert_eq!(run.json["levels"].as_array().unwrap().len(), 4);
    assert_eq!(run.verdict, Verdict::Counts);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_gives_the_same_figures() {
    let server = Server::start(|_, _| speak(30, 10, End::Well)).await;
    let run = load("socket", &server.url(), "--door ws --duration 0.2")
        .await
        .unwrap();
    assert_eq!(
        (run.verdict, run.requests("complete")),
        (Verdict::Counts, 1),
        "{}",
        run.table
    );
    assert!(
        (run.complete("audio_s", "p50") - 1.0).abs() < 1e-9,
        "at the rate that was told"
    );
    assert!(
        (run.complete("rtf_model", "p50") - 0.25).abs() < 1e-9,
        "as session.done says"
    );
    let ttfc = run.complete("ttfc_ms", "p50");
    assert!((60.0..110.0).contains(&ttfc), "{ttfc}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_refuses_and_fails_by_its_own_words() {
    let plan = |index: usize, _: &server::Seen| match index {
        0 => Script::Status(503),
        _ => speak(10, 2, End::Cut),
    };
    let server = Server::start(plan).await;
    let options = "--door ws --duration 0.45 --rate 4 --arrivals uniform";
    let run = load("socket-ends", &server.url(), options).await.unwrap();
    assert_eq!(
        (run.requests("refused"), run.requests("failed")),
        (1, 0),
        "{}",
        run.table
    );
    let run = load("socket-cut", &server.url(), options).await.unwrap();
    assert_eq!(run.level()["errors"]["cut_off"], 1, "{}", run.table);
}

#[tokio::test(flavor = "multi_thread")]
async fn overhead_is_read_from_the_servers_own_histogram() {
    let json = folder("overhead").join("run.json");
    for (hold, extra, expected) in [
        ("ws", "", Verdict::Counts),
        ("http", "--p50 1 --p99 5", Verdict::Missed),
    ] {
        // Streams that are held by HTTP are the first twenty, and speak on and on.
        let held = if hold == "http" { 20 } else { 0 };
        let plan = move |index: usize, _: &server::Seen| {
            speak(1, if index < held { 100_000 } else { 2 }, End::Well)
        };
        let server = Server::start(plan).await;
        let words = format!(
            "loadtest overhead --url {} --open 20 --hold {hold} --requests 120 --rate 200 \
             --pcm-rate {RATE} --histogram wait_seconds --max-late 5000 --json {} {extra}",
            server.url(),
            json.display()
        );
        let Command::Overhead(args) = command(&words) else {
            panic!("not overhead");
        };
        let mut out = Vec::new();
        let verdict = overhead::run(*args, &mut out, &mut Vec::new())
            .await
            .unwrap();
        let table = String::from_utf8(out).unwrap();
        assert_eq!(verdict, expected, "{table}");
        let found: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        let started = &found["client"]["requests"]["started"];
        assert_eq!(&found["first_chunks"], started, "{table}");
        assert_eq!(found["handover_p50_s"]["at_most"], 0.002);
        assert_eq!(found["handover_p50_s"]["above"], 0.001);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn overhead_says_when_the_server_has_no_such_histogram() {
    let server = Server::start(|_, _| speak(1, 2, End::Well)).await;
    for (name, words) in [
        ("other_seconds", "has no histogram"),
        ("old_seconds", "is a summary"),
    ] {
        let line = format!(
            "loadtest overhead --url {} --open 1 --requests 5 --rate 100 --histogram {name}",
            server.url()
        );
        let Command::Overhead(args) = command(&line) else {
            panic!("not overhead");
        };
        let error = overhead::run(*args, &mut Vec::new(), &mut Vec::new())
            .await
            .unwrap_err();
        assert!(format!("{error:#}").contains(words), "{error:#}");
    }
}

/// What a script that calls the program sees.
#[tokio::test(flavor = "multi_thread")]
async fn the_exit_tells_what_became_of_the_run() {
    let good = Server::start(|_, _| speak(10, 2, End::Well)).await;
    let bad = Server::start(|_, _| speak(10, 2, End::Cut)).await;
    let (good, bad) = (good.url(), bad.url());
    let brief = "--warmup 0 --duration 0.2 --max-late 5000";
    for (words, code, told) in [
        (format!("tts --url {good} {brief}"), 0, ""),
        (format!("tts --url {good} {brief} --rate 0"), 1, "--rate 0"),
        (
            format!("tts --url https://127.0.0.1 {brief}"),
            1,
            "needs TLS",
        ),
        (format!("tts --url {good} --no-such"), 2, "--no-such"),
        (format!("tts --url {bad} {brief}"), 3, ""),
    ] {
        let mut program = tokio::process::Command::new(env!("CARGO_BIN_EXE_loadtest"));
        let output = program.args(words.split(' ')).output().await.unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}: {error}");
        assert!(error.contains(told), "{words}: {error}");
    }
}
