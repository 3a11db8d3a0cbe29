//! `promenade models`: which weights there are, and installing them.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use engine::weights::{self, CATALOG, Cache, Entry, Installer, Outcome, Progress, State};
use indicatif::{ProgressBar, ProgressStyle};

use super::{Failure, print, say};

/// What the default entries are called together.
const DEFAULT: &str = "default";
/// Without a terminal, a line for each part of this size.
const LINE_PERCENT: u64 = 10;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What can be installed, and what is there.
    List,
    /// Fetch weights with the package client, check them, and put them into the cache folder.
    Install {
        /// Ids of `models list`, or `default`.
        #[arg(default_value = DEFAULT)]
        ids: Vec<String>,
    },
    /// Everything that is known of one.
    Show {
        /// An id of `models list`.
        id: String,
    },
}

pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let cache = Cache::from_environment(|name| std::env::var_os(name)).map_err(Failure::usage)?;
    match args.command {
        Command::List => list(&cache),
        Command::Install { ids } => install(cache, &ids)?,
        Command::Show { id } => show(&cache, &id)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(cache: &Cache) {
    print(&format!("{:<20} {:>9}  {:<14} what", "id", "size", "state"));
    for entry in CATALOG {
        let mark = if entry.default { "*" } else { "" };
        let id = format!("{}{mark}", entry.id);
        let size = megabytes(entry.bytes());
        print(&format!(
            "{id:<20} {size:>9}  {:<14} {}",
            state(cache, entry),
            entry.what
        ));
    }
    print(&format!(
        "\n* installed by `promenade models install`. Cache: {}",
        cache.root().display()
    ));
    let voices = cache.discover();
    for voice in voices.usable.iter().filter(|voice| voice.id.is_none()) {
        print(&format!(
            "your voice: {} ({})",
            voice.name,
            voice.weights.display()
        ));
    }
    for problem in &voices.unusable {
        say(&format!("not usable: {problem}"));
    }
}

fn show(cache: &Cache, id: &str) -> Result<(), Failure> {
    let entry = weights::entry(id).map_err(Failure::usage)?;
    print(&format!("id       {}", entry.id));
    print(&format!("what     {}", entry.what));
    print(&format!("licence  {}", entry.licence));
    print(&format!("note     {}", entry.note));
    print(&format!(
        "package  {} {} ({})",
        entry.package, entry.version, entry.wheel
    ));
    print(&format!("sha256   {}", entry.sha256));
    print(&format!("download {}", megabytes(entry.wheel_bytes)));
    print(&format!("folder   {}", cache.folder(entry.id).display()));
    for file in entry.files {
        print(&format!(
            "file     {} ({})",
            file.name,
            megabytes(file.bytes)
        ));
    }
    let state = match cache.verify(entry) {
        State::Damaged { problem } => {
            format!("damaged: {problem}; run: promenade models install {id}")
        }
        _ => state(cache, entry).to_owned(),
    };
    print(&format!("state    {state}"));
    Ok(())
}

fn install(cache: Cache, ids: &[String]) -> Result<(), Failure> {
    let entries = chosen(ids)?;
    let root = cache.root().to_path_buf();
    let missing = |entry: &&&Entry| !matches!(cache.state(entry), State::Installed { .. });
    let bytes: u64 = entries
        .iter()
        .filter(missing)
        .map(|entry| entry.wheel_bytes)
        .sum();
    say(&announcement(entries.len(), bytes, &root));
    let mut display = Display::new();
    Installer::new(cache)
        .install(&entries, &mut |progress| display.show(progress))
        .map_err(Failure::failed)?;
    Ok(())
}

fn announcement(count: usize, bytes: u64, root: &Path) -> String {
    match bytes {
        0 => format!("{count} entries are already there, in {}", root.display()),
        _ => format!("{} to download, into {}", megabytes(bytes), root.display()),
    }
}

fn chosen(ids: &[String]) -> Result<Vec<&'static Entry>, Failure> {
    let mut entries: Vec<&'static Entry> = Vec::new();
    for id in ids {
        let named: Vec<&'static Entry> = match id.as_str() {
            DEFAULT => CATALOG.iter().filter(|entry| entry.default).collect(),
            id => vec![weights::entry(id).map_err(Failure::usage)?],
        };
        for entry in named {
            if !entries.iter().any(|known| known.id == entry.id) {
                entries.push(entry);
            }
        }
    }
    Ok(entries)
}

/// A bar on a terminal, lines elsewhere.
struct Display {
    bar: Option<ProgressBar>,
    is_terminal: bool,
    /// The part of the current entry that was reported last, in percent.
    reported: Option<u64>,
}

impl Display {
    fn new() -> Self {
        Self {
            bar: None,
            is_terminal: std::io::stderr().is_terminal(),
            reported: None,
        }
    }

    fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Waiting => say("another installation is running; waiting for it"),
            Progress::Fetching { id, bytes, total } if self.is_terminal => {
                self.bar(id, total).set_position(bytes);
            }
            Progress::Fetching { id, bytes, total } => self.line(id, bytes, total),
            Progress::Unpacking { id } => {
                self.clear();
                say(&format!("{id}: checking and unpacking"));
            }
            Progress::Done { id, outcome } => {
                self.clear();
                let state = match outcome {
                    Outcome::Present => "already there",
                    Outcome::Installed => "installed",
                };
                say(&format!("{id}: {state}"));
            }
            _ => {}
        }
    }

    fn bar(&mut self, id: &str, total: u64) -> &ProgressBar {
        self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(total);
            let shape = "{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}";
            if let Ok(style) = ProgressStyle::with_template(shape) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_message(id.to_owned());
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        })
    }

    fn line(&mut self, id: &str, bytes: u64, total: u64) {
        let part = bytes.saturating_mul(100) / total.max(1) / LINE_PERCENT * LINE_PERCENT;
        if self.reported != Some(part) {
            self.reported = Some(part);
            say(&format!("{id}: {part} % of {}", megabytes(total)));
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.reported = None;
    }
}

fn state(cache: &Cache, entry: &Entry) -> &'static str {
    match cache.state(entry) {
        State::Installed { .. } => "installed",
        State::Missing => "not installed",
        State::Damaged { .. } => "damaged",
    }
}

fn megabytes(bytes: u64) -> String {
    let tenths = (bytes + 50_000) / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
