//! `promenade speak`: text in, audio out, without a server.

use std::fs::File;
use std::io::{IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use codecs::SampleRate;
use codecs::audio::{Encoder, Format, wav};
use engine::{Engine, Feed, Handle, Job, Options, Output, Time, Usage};
use server::Config;

use super::play::Player;
use super::{Failure, say};

/// No voice thinks longer than this about a sentence.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longest text, in bytes; a book belongs to a server's client.
const TEXT_BYTES: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The text; `-` reads it from standard input as it comes.
    #[arg(required_unless_present = "file")]
    text: Option<String>,
    /// Read the text from a file.
    #[arg(short, long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    /// A file whose ending says the format (.wav .mp3 .opus .flac .pcm), or `play`.
    #[arg(short, long, default_value = "out.wav")]
    output: String,
    /// `default`, `toy`, or the path of a voice's .onnx file.
    #[arg(short, long, default_value = "default")]
    model: String,
    /// One of the model's voices.
    #[arg(short, long)]
    voice: Option<String>,
    /// 0.25 to 4; 1 is the voice's own pace.
    #[arg(short, long, default_value_t = 1.0)]
    speed: f32,
    /// The same seed gives the same audio.
    #[arg(long)]
    seed: Option<u64>,
}

/// Where the audio goes.
enum Sink {
    File {
        file: File,
        format: Format,
        path: PathBuf,
    },
    Player(Player),
}

/// What was measured.
#[derive(Default)]
struct Figures {
    asked_at: Option<Time>,
    first_at: Option<Time>,
    rate: u32,
    usage: Usage,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let text = text_of(args)?;
    if !text.is_speakable() {
        return Err(Failure::usage(
            "there is nothing to say: the text has no letter or digit",
        ));
    }
    let config = Config {
        models: vec![args.model.clone()],
        ..Config::default()
    };
    let engine = Engine::start(server::engine_config(&config)?)?;
    // Not before: without weights no file is left behind.
    let mut sink = Sink::open(&args.output)?;
    let figures = speak(&engine, args, text, &mut sink);
    engine.shutdown();
    let figures = figures?;
    sink.close()?;
    report(&figures, &args.output);
    Ok(ExitCode::SUCCESS)
}

/// Where the text comes from.
enum Text {
    Whole(String),
    Incoming,
}

impl Text {
    /// Text that has not come yet may still say something.
    fn is_speakable(&self) -> bool {
        match self {
            Self::Whole(text) => session::text::is_speakable(text),
            Self::Incoming => true,
        }
    }
}

fn text_of(args: &Args) -> Result<Text, Failure> {
    let whole = |text: &str| Text::Whole(session::text::clean(text).into_owned());
    match (&args.file, args.text.as_deref()) {
        (Some(path), _) => read_file(path).map(|text| whole(&text)),
        (None, Some("-")) => Ok(Text::Incoming),
        (None, text) => Ok(whole(text.unwrap_or_default())),
    }
}

fn read_file(path: &Path) -> Result<String, Failure> {
    let unreadable = |error| Failure::failed(format!("cannot read {}: {error}", path.display()));
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    let read = file
        .take(TEXT_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if read as u64 > TEXT_BYTES {
        let message = format!("{} is longer than {TEXT_BYTES} bytes", path.display());
        return Err(Failure::failed(message));
    }
    Ok(text)
}

fn speak(engine: &Engine, args: &Args, text: Text, sink: &mut Sink) -> Result<Figures, Failure> {
    let model = engine
        .models()
        .first()
        .map(|info| info.id.clone())
        .unwrap_or_default();
    let options = Options {
        voice: args.voice.clone(),
        speed: args.speed,
        seed: args.seed,
        ..Options::default()
    };
    let asked_at = Some(engine.now());
    let Handle {
        feed, mut outputs, ..
    } = engine.submit(Job { model, options })?;
    let feeding = std::thread::spawn(move || feed_all(&feed, text));
    let mut figures = Figures {
        asked_at,
        ..Figures::default()
    };
    let mut encoder = None;
    let mut bytes = Vec::new();
    let live = std::io::stderr().is_terminal();
    loop {
        match outputs.recv_blocking(PATIENCE) {
            Some(Output::Audio {
                samples,
                start,
                rate,
                at,
            }) => {
                figures.first_at.get_or_insert(at);
                figures.rate = rate;
                let mut current = match encoder.take() {
                    Some(encoder) => encoder,
                    None => new_encoder(sink.format(), rate)?,
                };
                current
                    .push(&samples, &mut bytes)
                    .map_err(Failure::failed)?;
                encoder = Some(current);
                sink.write(&mut bytes)?;
                if live {
                    progress(start + samples.len() as u64, rate);
                }
            }
            Some(Output::Done { usage, .. }) => {
                figures.usage = usage;
                break;
            }
            Some(Output::Failed(error)) => return Err(error.into()),
            Some(_) => {}
            None => {
                return Err(Failure::failed(format!(
                    "no audio came within {PATIENCE:?}"
                )));
            }
        }
    }
    if live {
        progress_end();
    }
    if let Some(encoder) = encoder {
        encoder.finish(&mut bytes).map_err(Failure::failed)?;
        sink.write(&mut bytes)?;
    }
    // It has nothing left to wait for: the request is over.
    if let Ok(Err(failure)) = feeding.join() {
        return Err(failure);
    }
    if figures.usage.output_samples == 0 {
        return Err(Failure::failed("there was nothing to say in the text"));
    }
    Ok(figures)
}

fn new_encoder(format: Format, rate: u32) -> Result<Encoder, Failure> {
    let source = SampleRate::new(rate).map_err(Failure::failed)?;
    Encoder::new(format, source).map_err(Failure::failed)
}

/// Feeds the text to its end; standard input line by line, as it comes.
fn feed_all(feed: &Feed, text: Text) -> Result<(), Failure> {
    match text {
        Text::Whole(text) => feed_text(feed, &text),
        Text::Incoming => {
            let mut line = String::new();
            loop {
                line.clear();
                let read = std::io::BufRead::read_line(&mut std::io::stdin().lock(), &mut line);
                match read {
                    Ok(0) => break,
                    Ok(_) => feed_text(feed, &session::text::clean(&line)),
                    Err(error) => {
                        feed.cancel();
                        return Err(Failure::failed(format!("cannot read the text: {error}")));
                    }
                }
            }
        }
    }
    feed.end();
    Ok(())
}

/// A request that is over takes no more text, and its outputs tell why.
fn feed_text(feed: &Feed, text: &str) {
    let _ = block_on(feed.send_text(text));
}

fn block_on<F: Future>(future: F) -> Option<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    Some(runtime.block_on(future))
}

impl Sink {
    fn open(name: &str) -> Result<Self, Failure> {
        if name == "play" {
            return Player::start().map(Self::Player);
        }
        let path = PathBuf::from(name);
        let ending = path
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or_default();
        let format = match ending {
            "ogg" => "opus",
            "raw" => "pcm",
            other => other,
        };
        let format = Format::from_name(format)
            .map_err(|error| Failure::usage(format!("-o {name}: by its ending, {error}")))?;
        let file = File::create(&path)
            .map_err(|error| Failure::failed(format!("cannot write {name}: {error}")))?;
        Ok(Self::File { file, format, path })
    }

    fn format(&self) -> Format {
        match self {
            Self::File { format, .. } => *format,
            Self::Player(_) => Format::Pcm,
        }
    }

    fn write(&mut self, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        let written = match self {
            Self::File { file, path, .. } => file.write_all(bytes).map_err(|error| {
                Failure::failed(format!("cannot write {}: {error}", path.display()))
            }),
            Self::Player(player) => player.write(bytes),
        };
        bytes.clear();
        written
    }

    fn close(self) -> Result<(), Failure> {
        match self {
            Self::File {
                file,
                format: Format::Wav,
                path,
            } => fix_header(file).map_err(|error| {
                Failure::failed(format!("cannot write {}: {error}", path.display()))
            }),
            Self::File { .. } => Ok(()),
            Self::Player(player) => player.finish(),
        }
    }
}

/// A stream's header says that its length is not known; a file can say it.
fn fix_header(mut file: File) -> std::io::Result<()> {
    let data = file
        .stream_position()?
        .saturating_sub(wav::HEADER_BYTES as u64);
    let header = wav::file_header(Format::Wav.sample_rate(), codecs::Samples(data / 2))
        .map_err(std::io::Error::other)?;
    file.rewind()?;
    file.write_all(&header)
}

fn report(figures: &Figures, output: &str) {
    let seconds = |from: Option<Time>, to: Option<Time>| Some(to?.since(from?).as_secs_f64());
    let audio = audio_seconds(figures.usage.output_samples, figures.rate);
    if output != "play" {
        say(&format!("wrote {output}: {audio:.2} s of audio"));
    }
    if let Some(ttfc) = seconds(figures.asked_at, figures.first_at) {
        say(&format!(
            "TTFC {:.0} ms = first audio handed over - text handed in",
            ttfc * 1e3
        ));
    }
    let usage = &figures.usage;
    if let Some(busy) = seconds(usage.first_step_at, usage.last_step_at).filter(|_| audio > 0.0) {
        say(&format!(
            "RTF {:.3} = {busy:.3} s from first model step to last / {audio:.2} s of audio",
            busy / audio
        ));
    }
}

fn audio_seconds(samples: u64, rate: u32) -> f64 {
    SampleRate::new(rate).map_or(0.0, |rate| codecs::Samples(samples).at(rate).as_secs_f64())
}

#[expect(clippy::print_stderr, reason = "the command line prints")]
fn progress(samples: u64, rate: u32) {
    eprint!("\r{:.1} s of audio", audio_seconds(samples, rate));
}

#[expect(clippy::print_stderr, reason = "the command line prints")]
fn progress_end() {
    eprint!("\r\u{1b}[K");
}
