//! Playing through whichever program is there.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use super::Failure;

/// Programs that play raw 24 kHz 16-bit little-endian mono samples from standard input, the
/// first choice first.
const PLAYERS: [(&str, &[&str]); 4] = [
    (
        "aplay",
        &[
            "-q", "-t", "raw", "-f", "S16_LE", "-r", "24000", "-c", "1", "-",
        ],
    ),
    (
        "paplay",
        &["--raw", "--format=s16le", "--rate=24000", "--channels=1"],
    ),
    (
        "ffplay",
        &[
            "-loglevel",
            "error",
            "-nodisp",
            "-autoexit",
            "-f",
            "s16le",
            "-ar",
            "24000",
            "-i",
            "-",
        ],
    ),
    (
        "play",
        &[
            "-q", "-t", "raw", "-e", "signed", "-b", "16", "-r", "24000", "-c", "1", "-",
        ],
    ),
];

/// A program that is playing.
pub(super) struct Player {
    name: &'static str,
    child: Child,
}

impl Player {
    /// Starts the first player that is installed.
    pub(super) fn start() -> Result<Self, Failure> {
        for (name, arguments) in PLAYERS {
            let spawned = Command::new(name)
                .args(arguments)
                .stdin(Stdio::piped())
                .spawn();
            match spawned {
                Ok(child) => return Ok(Self { name, child }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(Failure::failed(format!("{name} does not start: {error}")));
                }
            }
        }
        let names: Vec<&str> = PLAYERS.iter().map(|(name, _)| *name).collect();
        Err(Failure::failed(format!(
            "nothing to play with: none of {} is installed. Write a file with -o out.wav",
            names.join(", ")
        )))
    }

    /// Hands it audio; waits while it has enough.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self
            .child
            .stdin
            .as_mut()
            .map_or(Ok(()), |pipe| pipe.write_all(bytes));
        written.map_err(|error| Failure::failed(format!("{} stopped playing: {error}", self.name)))
    }

    /// Waits until everything has been heard.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(Failure::failed)?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "{} failed to play: {status}",
            self.name
        )))
    }
}
