//! One wheel by the package client, watched from outside.
//!
//! `python3 -m pip download` knows the operator's registry, mirror, proxy and certificates, and
//! so needs no setting of ours. It says nothing a program could read while it works, so progress
//! is the size of what it has written: its temporary folder is one of ours.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::{Entry, Error, Result};

/// How often progress is looked at. A bar that moves five times a second moves.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// What is kept of the client's complaints, from their end.
const MAX_COMPLAINT_BYTES: usize = 64 * 1024;
/// What of it an error repeats.
const SHOWN_CHARS: usize = 600;

/// Runs the client so that the wheel of `entry` lies in `folder`, with `temporary`, inside it,
/// for what is not complete. `progress` is told the bytes there are so far.
pub(super) fn fetch(
    client: &[OsString],
    entry: &Entry,
    folder: &Path,
    temporary: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut child = start(client, entry, folder, temporary)?;
    let (done, complaints) = sync_channel(1);
    if let Some(stderr) = child.0.stderr.take() {
        thread::spawn(move || collect(stderr, &done));
    }
    let complaints = loop {
        match complaints.recv_timeout(LOOK_EVERY) {
            Ok(complaints) => break complaints,
            Err(RecvTimeoutError::Disconnected) => break String::new(),
            Err(RecvTimeoutError::Timeout) => progress(size_of(folder)),
        }
    };
    let status = child.0.wait().map_err(Error::io(folder))?;
    if status.success() {
        return Ok(());
    }
    Err(failure(client, entry, folder, &complaints))
}

/// The client, which ends with whoever waits for it.
struct Client(Child);

impl Drop for Client {
    fn drop(&mut self) {
        // Fails only where it has ended by itself.
        if self.0.kill().is_ok() {
            self.0.wait().ok();
        }
    }
}

fn start(client: &[OsString], entry: &Entry, folder: &Path, temporary: &Path) -> Result<Client> {
    let (program, first) = client.split_first().ok_or_else(|| no_python(client))?;
    let child = Command::new(program)
        .args(first)
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
        ])
        .args([
            "--no-input",
            "--no-cache-dir",
            "--disable-pip-version-check",
        ])
        .args(["--progress-bar", "off", "--dest"])
        .arg(folder)
        .arg(requirement(entry))
        .env("TMPDIR", temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    child.map(Client).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => no_python(client),
        _ => Error::io(Path::new(program))(error),
    })
}

fn requirement(entry: &Entry) -> String {
    format!("{}=={}", entry.package, entry.version)
}

/// Reads to the end, keeps the end, and hands it over.
fn collect(mut from: impl Read, done: &SyncSender<String>) {
    let mut kept = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        let excess = kept.len().saturating_sub(MAX_COMPLAINT_BYTES);
        kept.drain(..excess);
    }
    // Nobody listens when the waiting was given up; that is not this thread's trouble.
    done.send(String::from_utf8_lossy(&kept).into_owned()).ok();
}

/// Bytes of all files in a folder; what vanishes while we look counts as nothing.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Words by which pip says that it has no connection.
const OFFLINE: [&str; 8] = [
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "Max retries exceeded",
    "Connection broken",
    "Temporary failure in name resolution",
];

fn failure(client: &[OsString], entry: &Entry, folder: &Path, complaints: &str) -> Error {
    let says = |words: &str| complaints.contains(words);
    let package = requirement(entry);
    if says("No module named pip") {
        return Error::NoPip {
            program: shown(client),
        };
    }
    if says("No space left on device") || says("Disk quota exceeded") {
        return full(entry, folder);
    }
    // Without a connection, pip's last word is that it found nothing, which hides the reason.
    let offline = |line: &&str| OFFLINE.iter().any(|words| line.contains(words));
    if let Some(line) = complaints.lines().rev().find(offline) {
        let message = shorten(line);
        return Error::Offline { package, message };
    }
    let last = complaints
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    let message = shorten(last.unwrap_or("it said nothing"));
    if says("No matching distribution found") {
        return Error::Gone { package, message };
    }
    Error::Client {
        package,
        message: shorten(complaints.trim()),
    }
}

/// The end of `text`, on one line.
fn shorten(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let excess = one_line.chars().count().saturating_sub(SHOWN_CHARS);
    one_line.chars().skip(excess).collect()
}

/// That there is no room for `entry` in the cache, whose download folder is given.
pub(super) fn full(entry: &Entry, folder: &Path) -> Error {
    Error::DiskFull {
        folder: folder.parent().unwrap_or(folder).to_path_buf(),
        // The client writes the wheel twice: once on its way, once where it was told to.
        needed: 2 * entry.wheel_bytes + entry.bytes(),
    }
}

fn no_python(client: &[OsString]) -> Error {
    Error::NoPython {
        program: shown(client),
    }
}

fn shown(client: &[OsString]) -> String {
    let words = client.iter().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}
