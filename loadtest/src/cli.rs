//! The command line, and the same words in a scenario's file.

use clap::{Args, Parser, Subcommand};
use serde::Deserialize;

use crate::arrivals::{Arrivals, Pace};
use crate::door::{Format, Kind};

/// Many listeners at once, and what they felt.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load a speech server and measure what its listeners feel
    Tts(Box<TtsArgs>),
    /// Measure what the server itself adds to a first chunk while many streams are open
    Overhead(Box<OverheadArgs>),
    /// Talk with a server by voice and measure how long it takes to answer
    Chat(Box<ChatArgs>),
}

/// The load test. Every option may also stand in a scenario's file, in the same words.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct TtsArgs {
    /// Options out of a TOML file, or one of the presets: smoke, realtime, public, burst.
    /// What stands on the command line wins
    #[arg(long)]
    #[serde(skip)]
    pub scenario: Option<String>,
    /// The server, such as <http://127.0.0.1:8080> (plain HTTP; no TLS)
    #[arg(long)]
    pub url: Option<String>,
    /// POST /v1/audio/speech, or WS /v1/audio/speech/stream [default: http]
    #[arg(long)]
    pub door: Option<Kind>,
    /// Container of the audio [default: wav by http, pcm by ws]
    #[arg(long)]
    pub format: Option<Format>,
    /// Samples per second of pcm where the server does not say [default: 24000]
    #[arg(long, value_name = "HZ")]
    pub pcm_rate: Option<u32>,
    /// The model's id [default: tts-1]
    #[arg(long)]
    pub model: Option<String>,
    /// The voice [default: alloy, which servers map to their own]
    #[arg(long)]
    pub voice: Option<String>,
    /// Bearer token; no report shows it
    #[arg(long)]
    #[serde(skip)]
    pub key: Option<String>,
    /// A file of texts, one a line, instead of generated sentences
    #[arg(long, value_name = "FILE")]
    pub texts: Option<String>,
    /// Generated sentences of one text [default: 1]
    #[arg(long, value_name = "N")]
    pub sentences: Option<u32>,
    /// Closed loop: this many users at once, one level after the other [default: 1]
    #[arg(long, value_name = "N,N", value_delimiter = ',', conflicts_with_all = ["rate", "find_capacity"])]
    pub concurrency: Option<Vec<u32>>,
    /// What a user does with a stream [default: none; listen with --find-capacity]
    #[arg(long)]
    pub pace: Option<Pace>,
    /// Users of a closed loop begin spread over this many seconds [default: 0]
    #[arg(long, value_name = "S")]
    pub ramp: Option<f64>,
    /// Open loop: requests per second, on average; waits for no reply
    #[arg(long, value_name = "R", conflicts_with = "find_capacity")]
    pub rate: Option<f64>,
    /// The law of an open loop's arrivals [default: poisson]
    #[arg(long)]
    pub arrivals: Option<Arrivals>,
    /// Requests of one burst [default: 8]
    #[arg(long, value_name = "N")]
    pub burst: Option<u32>,
    /// The most requests of an open loop that may be open at once [default: 1024]
    #[arg(long, value_name = "N")]
    pub max_open: Option<usize>,
    /// Raise the number of users until a level does not hold, and name the largest that held
    #[arg(long)]
    pub find_capacity: bool,
    /// The largest number of users that --find-capacity tries [default: 64]
    #[arg(long, value_name = "N")]
    pub max_users: Option<u32>,
    /// With --find-capacity: TTFA at p95 must not be over this many milliseconds
    #[arg(long, value_name = "MS")]
    pub target_ttfa: Option<f64>,
    /// Measured seconds of each level [default: 30]
    #[arg(long, value_name = "S")]
    pub duration: Option<f64>,
    /// Seconds before them that are not measured [default: 3]
    #[arg(long, value_name = "S")]
    pub warmup: Option<f64>,
    /// Decides texts, arrivals and cancels [default: 1]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Share of requests whose user hangs up, 0 to 1 [default: 0]
    #[arg(long, value_name = "P")]
    pub cancel_share: Option<f64>,
    /// Those hang up at an even chance within this many seconds [default: 1]
    #[arg(long, value_name = "S")]
    pub cancel_within: Option<f64>,
    /// Seconds allowed to one request [default: 30]
    #[arg(long, value_name = "S")]
    pub timeout: Option<f64>,
    /// A generator later than this at p99 makes the run not count, in milliseconds [default: 20]
    #[arg(long, value_name = "MS")]
    pub max_late: Option<f64>,
    /// Write all figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Write a page with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<String>,
}

impl TtsArgs {
    /// These options, with `other`'s where these have none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let load_given = self.concurrency.is_some() || self.rate.is_some() || self.find_capacity;
        // One kind of load replaces another; they do not add up.
        let other = if load_given {
            Self {
                concurrency: None,
                rate: None,
                find_capacity: false,
                ..other
            }
        } else {
            other
        };
        Self {
            scenario: self.scenario,
            url: self.url.or(other.url),
            door: self.door.or(other.door),
            format: self.format.or(other.format),
            pcm_rate: self.pcm_rate.or(other.pcm_rate),
            model: self.model.or(other.model),
            voice: self.voice.or(other.voice),
            key: self.key.or(other.key),
            texts: self.texts.or(other.texts),
            sentences: self.sentences.or(other.sentences),
            concurrency: self.concurrency.or(other.concurrency),
            pace: self.pace.or(other.pace),
            ramp: self.ramp.or(other.ramp),
            rate: self.rate.or(other.rate),
            arrivals: self.arrivals.or(other.arrivals),
            burst: self.burst.or(other.burst),
            max_open: self.max_open.or(other.max_open),
            find_capacity: self.find_capacity || other.find_capacity,
            max_users: self.max_users.or(other.max_users),
            target_ttfa: self.target_ttfa.or(other.target_ttfa),
            duration: self.duration.or(other.duration),
            warmup: self.warmup.or(other.warmup),
            seed: self.seed.or(other.seed),
            cancel_share: self.cancel_share.or(other.cancel_share),
            cancel_within: self.cancel_within.or(other.cancel_within),
            timeout: self.timeout.or(other.timeout),
            max_late: self.max_late.or(other.max_late),
            json: self.json.or(other.json),
            html: self.html.or(other.html),
        }
    }
}

/// The measurement of the server's own share.
#[derive(Clone, Debug, Args)]
pub struct OverheadArgs {
    /// The server, such as <http://127.0.0.1:8080> (plain HTTP; no TLS)
    #[arg(long)]
    pub url: String,
    /// The model to ask; one that costs nothing shows the server alone
    #[arg(long, default_value = "toy")]
    pub model: String,
    /// The voice; servers map `alloy` to their own
    #[arg(long, default_value = "alloy")]
    pub voice: String,
    /// Bearer token
    #[arg(long)]
    pub key: Option<String>,
    /// Streams that stay open all the while
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub open: usize,
    /// How they are held open
    #[arg(long, value_enum, default_value_t = Hold::Ws)]
    pub hold: Hold,
    /// Requests that are measured
    #[arg(long, default_value_t = 500, value_name = "N")]
    pub requests: usize,
    /// Measured requests per second, with exponential gaps
    #[arg(long, default_value_t = 50.0, value_name = "R")]
    pub rate: f64,
    /// The door of the measured requests
    #[arg(long, value_enum, default_value_t = Kind::Http)]
    pub door: Kind,
    /// Samples per second of pcm where the server does not say
    #[arg(long, default_value_t = 24_000, value_name = "HZ")]
    pub pcm_rate: u32,
    /// Decides texts and arrivals
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Seconds allowed to one request
    #[arg(long, default_value_t = 30.0, value_name = "S")]
    pub timeout: f64,
    /// The server's histogram of the time from the model's handing over to the first chunk's leaving
    #[arg(
        long,
        default_value = "promenade_first_chunk_handover_seconds",
        value_name = "NAME"
    )]
    pub histogram: String,
    /// The histogram's median must not be over this many milliseconds
    #[arg(long, default_value_t = 2.0, value_name = "MS")]
    pub p50: f64,
    /// The histogram's 99th percentile must not be over this many milliseconds
    #[arg(long, default_value_t = 5.0, value_name = "MS")]
    pub p99: f64,
    /// A generator later than this at p99 makes the run not count, in milliseconds
    #[arg(long, default_value_t = 20.0, value_name = "MS")]
    pub max_late: f64,
    /// Write all figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
}

/// Conversations by voice over `GET /v1/realtime`.
#[derive(Clone, Debug, Args)]
pub struct ChatArgs {
    /// The server, such as <http://127.0.0.1:8080> (plain HTTP; no TLS)
    #[arg(long)]
    pub url: String,
    /// The model to talk with
    #[arg(long, default_value = "gpt-realtime")]
    pub model: String,
    /// The model that speaks the user's part beforehand
    #[arg(long, default_value = "tts-1")]
    pub speech_model: String,
    /// WAV files to say instead, 16 bit, 24 kHz, mono
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub audio: Vec<String>,
    /// Bearer token
    #[arg(long)]
    pub key: Option<String>,
    /// `GET /v1/realtime`, or `POST /v1/realtime/calls`
    #[arg(long, value_enum, default_value_t)]
    pub door: crate::chat::Door,
    /// Users who talk at once
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub users: usize,
    /// Turns of each of them
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub turns: usize,
    /// The most tokens of one answer
    #[arg(long, default_value_t = 48, value_name = "N")]
    pub max_tokens: u32,
    /// What the assistant is told; the server's own words where none are given
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// How ends of turns are found: `server_vad` or `semantic_vad`
    #[arg(long, value_name = "TYPE")]
    pub turn_detection: Option<String>,
    /// Hear every answer out before speaking again
    #[arg(long)]
    pub listen: bool,
    /// Speak into the answer so many seconds after its first audio
    #[arg(long, value_name = "S")]
    pub interrupt_after: Option<f64>,
    /// Seconds allowed from the end of an utterance to the end of its answer
    #[arg(long, default_value_t = 30.0, value_name = "S")]
    pub timeout: f64,
    /// The median time to first audio must not be over this many milliseconds
    #[arg(long, value_name = "MS")]
    pub p50: Option<f64>,
    /// The time to first audio at p95 must not be over this many milliseconds
    #[arg(long, value_name = "MS")]
    pub p95: Option<f64>,
    /// Write all figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
}

/// How a stream is held open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Hold {
    /// A WebSocket with the first words of a sentence that is never ended: the model waits.
    Ws,
    /// An HTTP request for a long text whose answer is not read: the server waits.
    Http,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_kind_of_load_on_the_command_line_replaces_the_scenarios() {
        let scenario = || TtsArgs {
            rate: Some(5.0),
            seed: Some(4),
            ..TtsArgs::default()
        };
        let given = TtsArgs {
            concurrency: Some(vec![3]),
            ..TtsArgs::default()
        };
        let both = given.or(scenario());
        assert_eq!(
            (both.rate, both.concurrency, both.seed),
            (None, Some(vec![3]), Some(4))
        );
        let none = TtsArgs::default().or(scenario());
        assert_eq!(none.rate, Some(5.0));
    }
}
