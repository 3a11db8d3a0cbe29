//! What the server itself adds to a first chunk while many streams are open.
//!
//! The client cannot see when a model hands its first chunk over, so the server's own histogram
//! is read before and after, and only what was counted between the two readings is shown. The
//! client's TTFC of the same requests stands beside it: with a model that costs nothing it holds
//! connection, request, engine and way back.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::arrivals::{Arrivals, Load};
use crate::cli::{Hold, OverheadArgs};
use crate::door::{Ask, Door, End, Format, Kind, http, ws};
use crate::load::{self, Stage};
use crate::measure::histogram::{Histogram, Quantile};
use crate::measure::verdict::doubts;
use crate::measure::{Distribution, Summary};
use crate::report::Verdict;
use crate::target::Target;
use crate::texts::Texts;
use crate::trace::Failure;
use crate::tts;

/// Where the server tells its figures.
const METRICS: &str = "/metrics";

/// Held streams are opened this many at a time, lest the server's backlog overflows.
const OPENING: usize = 16;

/// The warm-up has this share of the measured requests.
const WARM_UP: f64 = 0.2;

/// The measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Overhead {
    /// False when there are doubts.
    pub counts: bool,
    /// Why it does not count.
    pub doubts: Vec<String>,
    /// What was not held.
    pub missed: Vec<String>,
    /// Streams that were open all the while.
    pub open: usize,
    /// First chunks that the server counted.
    pub first_chunks: u64,
    /// The server's clock: from the model's handing over to the first chunk's leaving, median, in
    /// seconds.
    pub handover_p50_s: Option<Quantile>,
    /// The same at the 99th percentile.
    pub handover_p99_s: Option<Quantile>,
    /// The client's clock: the measured requests.
    pub client: Summary,
}

/// Runs the measurement: figures to `out` and the file, progress to `log`.
///
/// # Errors
/// When an option is wrong, the server cannot be reached or tells no such histogram, or a held
/// stream cannot be opened.
pub async fn run(
    args: OverheadArgs,
    out: &mut impl Write,
    log: &mut impl Write,
) -> Result<Verdict> {
    check(&args)?;
    let file = args.json.clone().map(tts::create).transpose()?;
    let target = Target::resolve(&args.url).await?;
    let door = door(&args, target);
    let read = || read_histogram(&door, &args.histogram);

    // Told before the streams are opened: what the page says wrongly it will say later, too.
    read().await?;
    writeln!(log, "opening {} streams", args.open)?;
    let mut held = hold(&door, &args).await?;
    // Some exporters show a histogram only once it has counted, so the warm-up comes first.
    // The same source deals out all texts, so that none comes twice.
    let mut stage = stage(&args, &door);
    let window = stage.window;
    stage.window = window.mul_f64(WARM_UP);
    load::run(&stage, load_of(&args)).await;
    stage.window = window;
    let before = read().await?.with_context(|| absent(&args))?;
    writeln!(log, "{} requests at {}/s", args.requests, args.rate)?;
    let level = load::run(&stage, load_of(&args)).await;
    let after = read().await?.with_context(|| absent(&args))?;
    let lost = held.lost();

    let overhead = judge(&args, level.summary(), &after.since(&before)?, lost);
    writeln!(out, "{}", table(&args, &overhead))?;
    if let Some(mut file) = file {
        file.write(&(serde_json::to_string_pretty(&overhead)? + "\n"))?;
    }
    Ok(match (overhead.counts, overhead.missed.is_empty()) {
        (false, _) => Verdict::DoesNotCount,
        (true, false) => Verdict::Missed,
        (true, true) => Verdict::Counts,
    })
}

fn check(args: &OverheadArgs) -> Result<()> {
    ensure!(
        args.open <= 20_000,
        "--open {}: 0 to 20000 are accepted",
        args.open
    );
    ensure!(
        (1..=100_000).contains(&args.requests),
        "--requests {}: 1 to 100000 are accepted",
        args.requests
    );
    ensure!(
        (0.01..=10_000.0).contains(&args.rate),
        "--rate {}: 0.01 to 10000 are accepted",
        args.rate
    );
    ensure!(
        (0.01..=86_400.0).contains(&args.timeout),
        "--timeout {}: 0.01 to 86400 seconds are accepted",
        args.timeout
    );
    Ok(())
}

fn door(args: &OverheadArgs, target: Target) -> Door {
    Door {
        kind: args.door,
        target,
        ask: Ask {
            model: args.model.clone(),
            voice: args.voice.clone(),
            format: Format::Pcm,
            pcm_rate: args.pcm_rate,
            key: args.key.clone(),
        },
    }
}

/// A stage for all of the measured requests.
fn stage(args: &OverheadArgs, door: &Door) -> Stage {
    let seconds = args.requests as f64 / args.rate;
    Stage {
        door: door.clone(),
        texts: Arc::new(Mutex::new(Texts::generated(1, args.seed))),
        warm_up: Duration::ZERO,
        window: Duration::from_secs_f64(seconds),
        ramp: Duration::ZERO,
        timeout: Duration::from_secs_f64(args.timeout),
        cancel_share: 0.0,
        cancel_within: Duration::ZERO,
        most_open: 1024,
        seed: args.seed,
    }
}

fn load_of(args: &OverheadArgs) -> Load {
    Load::Open {
        rate: args.rate,
        arrivals: Arrivals::Poisson,
        burst: 1,
    }
}

fn absent(args: &OverheadArgs) -> String {
    let name = &args.histogram;
    format!("the server's {METRICS} has no histogram `{name}`; --histogram takes another name")
}

/// The server's histogram; `None` when it has none of that name (yet).
async fn read_histogram(door: &Door, name: &str) -> Result<Option<Histogram>> {
    let page = http::get(&door.target, METRICS, door.ask.key.as_deref())
        .await
        .with_context(|| format!("cannot read {METRICS} of the server"))?;
    match Histogram::parse(&page, name) {
        Ok(histogram) => Ok(Some(histogram)),
        Err(crate::measure::histogram::Error::Absent(_)) => Ok(None),
        Err(error) => bail!(error),
    }
}

/// Streams that stay open as long as this lives.
#[derive(Default)]
struct Held {
    sockets: Vec<ws::Socket>,
    bodies: Vec<(Incoming, JoinSet<()>)>,
}

impl Held {
    /// How many the server has ended or failed meanwhile.
    fn lost(&mut self) -> usize {
        let ended = self.sockets.iter_mut().filter_map(ended).count();
        let gone = |(_, task): &mut (Incoming, JoinSet<()>)| task.try_join_next().is_some();
        ended
            + self
                .bodies
                .iter_mut()
                .map(gone)
                .filter(|gone| *gone)
                .count()
    }
}

/// Has the socket been closed, or its stream failed? Other messages are read over.
fn ended(socket: &mut ws::Socket) -> Option<()> {
    loop {
        match socket.next().now_or_never()? {
            None | Some(Err(_)) => return Some(()),
            Some(Ok(message)) if message.is_close() || ws::is_error(&message) => return Some(()),
            Some(Ok(_)) => {}
        }
    }
}

async fn hold(door: &Door, args: &OverheadArgs) -> Result<Held> {
    let mut held = Held::default();
    let mut opening = JoinSet::new();
    let mut left = args.open;
    loop {
        while left > 0 && opening.len() < OPENING {
            left -= 1;
            opening.spawn(open_one(door.clone(), args.hold));
        }
        match opening.join_next().await {
            None => return Ok(held),
            Some(Ok(Ok(One::Socket(socket)))) => held.sockets.push(*socket),
            Some(Ok(Ok(One::Body(body, task)))) => held.bodies.push((*body, task)),
            Some(Ok(Err(end))) => {
                let stands = held.sockets.len() + held.bodies.len();
                bail!(
                    "stream {} of {} could not be opened: {end:?}",
                    stands + 1,
                    args.open
                );
            }
            Some(Err(error)) => bail!(error),
        }
    }
}

enum One {
    Socket(Box<ws::Socket>),
    Body(Box<Incoming>, JoinSet<()>),
}

async fn open_one(door: Door, hold: Hold) -> Result<One, End> {
    let connect = TcpStream::connect(door.target.address).await;
    let stream = connect.map_err(|error| Failure::Connect(error.to_string()))?;
    match hold {
        Hold::Ws => {
            let mut socket = ws::open(stream, &door.target, &door.ask).await?;
            let text = json!({"type": "input.text", "text": "Some words that are still"});
            ws::send_json(&mut socket, &text).await?;
            Ok(One::Socket(Box::new(socket)))
        }
        Hold::Http => {
            let text = Texts::generated(30, 1).measured();
            let request = http::speech_request(&door.target, &door.ask, &text)?;
            let (response, task) = http::send(stream, request).await?;
            match response.status().as_u16() {
                200 => Ok(One::Body(
                    Box::new(first_frame(response.into_body()).await?),
                    task,
                )),
                status => Err(End::Refused(status)),
            }
        }
    }
}

/// Reads one frame, so that the stream has truly begun, and no more.
async fn first_frame(mut body: Incoming) -> Result<Incoming, Failure> {
    let frame = body.frame().await.transpose();
    let frame = frame.map_err(|error| Failure::CutOff(error.to_string()))?;
    let bytes: Option<Bytes> = frame.and_then(|frame| frame.into_data().ok());
    bytes.map(|_| body).ok_or(Failure::NoAudio)
}

fn judge(args: &OverheadArgs, client: Summary, between: &Histogram, lost: usize) -> Overhead {
    let mut doubts = doubts(&client, args.max_late);
    if lost > 0 {
        doubts.push(format!(
            "{lost} of the {} held streams ended meanwhile",
            args.open
        ));
    }
    let (p50, p99) = (between.quantile(50), between.quantile(99));
    if between.count() < 100 {
        doubts.push(format!(
            "the server counted {} first chunks; 100 are needed",
            between.count()
        ));
    }
    let mut missed = Vec::new();
    for (name, found, most) in [("p50", p50, args.p50), ("p99", p99, args.p99)] {
        if let Some(found) = found.filter(|found| found.estimate * 1e3 > most) {
            missed.push(format!("{name} {} is over {most} ms", bounds(Some(found))));
        }
    }
    Overhead {
        counts: doubts.is_empty(),
        doubts,
        missed,
        open: args.open,
        first_chunks: between.count(),
        handover_p50_s: p50,
        handover_p99_s: p99,
        client,
    }
}

/// A percentile in milliseconds, with the bucket in which it lies.
fn bounds(quantile: Option<Quantile>) -> String {
    quantile.map_or_else(
        || "-".to_owned(),
        |q| {
            let (estimate, above, most) = (q.estimate * 1e3, q.above * 1e3, q.at_most * 1e3);
            format!("{estimate:.2} ms (between {above} and {most} ms)")
        },
    )
}

fn table(args: &OverheadArgs, overhead: &Overhead) -> String {
    let mut lines = Vec::new();
    if !overhead.counts {
        lines.push("THIS RUN DOES NOT COUNT".to_owned());
        lines.extend(overhead.doubts.iter().map(|doubt| format!("  - {doubt}")));
    }
    lines.extend(
        overhead
            .missed
            .iter()
            .map(|missed| format!("MISSED: {missed}")),
    );
    let how = match args.hold {
        Hold::Ws => "sockets whose model waits for text",
        Hold::Http => "answers that nobody reads",
    };
    let measured = match args.door {
        Kind::Http => "POST /v1/audio/speech",
        Kind::Ws => "WS /v1/audio/speech/stream",
    };
    lines.push(format!(
        "{} open streams ({how}), model {}",
        overhead.open, args.model
    ));
    lines.push(format!(
        "measured   {} requests by {measured}, {}",
        overhead.client.requests.started, overhead.client.load
    ));
    lines.push("model hands over -> first chunk leaves, by the server's clock".to_owned());
    lines.push(format!("  n   {}", overhead.first_chunks));
    lines.push(format!(
        "  p50 {}, at most {} ms wanted",
        bounds(overhead.handover_p50_s),
        args.p50
    ));
    lines.push(format!(
        "  p99 {}, at most {} ms wanted",
        bounds(overhead.handover_p99_s),
        args.p99
    ));
    lines.push("request due -> first byte of audio (TTFC), by the client's clock".to_owned());
    lines.push(format!("  {}", spread(overhead.client.complete.ttfc_ms)));
    lines.push("the generator: requests begun late, timer late".to_owned());
    lines.push(format!("  {}", spread(overhead.client.lateness.starts_ms)));
    lines.push(format!("  {}", spread(overhead.client.lateness.timer_ms)));
    lines.join("\n")
}

fn spread(spread: Option<Distribution>) -> String {
    spread.map_or_else(
        || "-".to_owned(),
        |d| {
            let mark = if d.few { "*" } else { "" };
            format!(
                "n {}, p50 {:.2}{mark}, p95 {:.2}{mark}, p99 {:.2}{mark}, max {:.2} ms",
                d.n, d.p50, d.p95, d.p99, d.max
            )
        },
    )
}
