//! Voices that can be loaded: the installed ones, and those a user put into the cache.
//!
//! A voice is two files: `<name>.onnx` and `<name>.onnx.json`. Users put theirs into
//! `<cache>/voices/`, or name the first by its path in the configuration.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CATALOG, Cache, Error, Result, State};

/// Where users put their own voices.
const FOLDER: &str = "voices";
const WEIGHTS: &str = ".onnx";
const CONFIG: &str = ".onnx.json";
/// Voices of one folder that are looked at; nobody keeps as many.
const MAX_VOICES: usize = 1000;

/// A voice's two files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The files' common name, as `en_US-joe-medium`.
    pub name: String,
    /// Its weights.
    pub weights: PathBuf,
    /// What its numbers mean: rate, phonemes, scales.
    pub config: PathBuf,
    /// The catalog's id, for an installed one.
    pub id: Option<&'static str>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Voices {
    /// Usable voices, the installed ones first, then by name.
    pub usable: Vec<Voice>,
    /// What looks like a voice and is not one, each with the reason.
    pub unusable: Vec<Error>,
}

impl Voice {
    /// The voice whose weights lie at `path`.
    ///
    /// # Errors
    /// [`Error::Voice`] when the name does not end in `.onnx`, or either file is missing.
    pub fn at(path: &Path) -> Result<Self> {
        let wrong = |problem: String| Error::Voice {
            path: path.to_path_buf(),
            problem,
        };
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = file_name
            .strip_suffix(WEIGHTS)
            .filter(|name| !name.is_empty())
            .ok_or_else(|| wrong(format!("a voice's file ends in {WEIGHTS}")))?;
        let config = path.with_file_name(format!("{name}{CONFIG}"));
        for file in [path, &config] {
            if !file.is_file() {
                return Err(wrong(format!("{} is not there", file.display())));
            }
        }
        Ok(Self {
            name: name.into(),
            weights: path.into(),
            config,
            id: None,
        })
    }
}

impl Cache {
    /// Every voice of this cache: complete entries of the catalog that hold one, and what lies
    /// in `voices/`.
    #[must_use]
    pub fn discover(&self) -> Voices {
        let mut voices = Voices::default();
        for entry in CATALOG {
            let weights = entry.files.iter().find(|file| file.name.ends_with(WEIGHTS));
            let Some(weights) = weights else { continue };
            if !matches!(self.state(entry), State::Installed { .. }) {
                continue;
            }
            match Voice::at(&self.folder(entry.id).join(weights.name)) {
                Ok(voice) => voices.usable.push(Voice {
                    id: Some(entry.id),
                    ..voice
                }),
                Err(error) => voices.unusable.push(error),
            }
        }
        for path in self.users_files() {
            match Voice::at(&path) {
                Ok(voice) => voices.usable.push(voice),
                Err(error) => voices.unusable.push(error),
            }
        }
        voices
    }

    /// What ends in `.onnx` in the users' folder, by name.
    fn users_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root().join(FOLDER));
        let mut paths: Vec<_> = entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.to_string_lossy().ends_with(WEIGHTS))
            .take(MAX_VOICES)
            .collect();
        paths.sort();
        paths
    }
}
