//! The description that lies beside the weights: `<name>.onnx.json`.
//!
//! It holds the numbers of the phonemes, too; those are the front end's and are read there.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;

use super::error::{Error, Result};

/// The largest description that is read; those of the family are some kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// What a voice's description says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    /// Samples per second.
    pub(super) sample_rate: u32,
    /// The language as espeak-ng names it, such as `en-us`.
    pub(super) language: String,
    /// How strong the noise of the frames is.
    pub(super) noise_scale: f32,
    /// How long the voice speaks: 1 is as it was trained, 2 twice as long.
    pub(super) length_scale: f32,
    /// How strong the noise of the durations is.
    pub(super) noise_w: f32,
    /// The speakers by name; empty where there is but one.
    pub(super) speakers: BTreeMap<String, i32>,
}

#[derive(Deserialize)]
struct Wire {
    audio: WireAudio,
    #[serde(default)]
    espeak: WireEspeak,
    #[serde(default)]
    inference: WireInference,
    #[serde(default)]
    phoneme_type: Option<String>,
    #[serde(default)]
    num_speakers: Option<i32>,
    #[serde(default)]
    speaker_id_map: BTreeMap<String, i32>,
}

#[derive(Deserialize)]
struct WireAudio {
    sample_rate: u32,
}

#[derive(Default, Deserialize)]
struct WireEspeak {
    #[serde(default)]
    voice: String,
}

#[derive(Deserialize)]
#[serde(default)]
struct WireInference {
    noise_scale: f32,
    length_scale: f32,
    noise_w: f32,
}

impl Default for WireInference {
    /// What the family uses where a description is silent.
    fn default() -> Self {
        Self {
            noise_scale: 0.667,
            length_scale: 1.0,
            noise_w: 0.8,
        }
    }
}

impl Config {
    /// Reads and checks a description.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let read = |source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let bytes = fs::metadata(path).map_err(read)?.len();
        let fail = |problem| Error::Config {
            path: path.to_owned(),
            problem,
        };
        if bytes > MAX_BYTES {
            return Err(fail(format!("{bytes} bytes, at most {MAX_BYTES}")));
        }
        let text = fs::read_to_string(path).map_err(read)?;
        Self::parse(&text).map_err(fail)
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let wire: Wire = serde_json::from_str(text).map_err(|error| error.to_string())?;
        check("audio.sample_rate", &wire.audio.sample_rate, 8_000..=96_000)?;
        check(
            "inference.noise_scale",
            &wire.inference.noise_scale,
            0.0..=4.0,
        )?;
        check(
            "inference.length_scale",
            &wire.inference.length_scale,
            0.1..=10.0,
        )?;
        check("inference.noise_w", &wire.inference.noise_w, 0.0..=4.0)?;
        if let Some(kind) = wire.phoneme_type.filter(|kind| kind != "espeak") {
            return Err(format!("phoneme_type is `{kind}`, accepted: `espeak`"));
        }
        Ok(Self {
            sample_rate: wire.audio.sample_rate,
            language: wire.espeak.voice,
            noise_scale: wire.inference.noise_scale,
            length_scale: wire.inference.length_scale,
            noise_w: wire.inference.noise_w,
            speakers: speakers(wire.num_speakers.unwrap_or(1), wire.speaker_id_map)?,
        })
    }
}

fn speakers(
    count: i32,
    named: BTreeMap<String, i32>,
) -> std::result::Result<BTreeMap<String, i32>, String> {
    if count <= 1 {
        return Ok(BTreeMap::new());
    }
    if let Some((name, id)) = named.iter().find(|&(_, id)| !(0..count).contains(id)) {
        return Err(format!(
            "speaker_id_map gives `{name}` the number {id}, there are {count}"
        ));
    }
    if named.is_empty() {
        return Ok((0..count).map(|id| (id.to_string(), id)).collect());
    }
    Ok(named)
}

fn check<T: PartialOrd + std::fmt::Display>(
    name: &str,
    value: &T,
    accepted: std::ops::RangeInclusive<T>,
) -> std::result::Result<(), String> {
    if accepted.contains(value) {
        return Ok(());
    }
    Err(format!(
        "{name} is {value}, accepted: {} to {}",
        accepted.start(),
        accepted.end()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{"audio":{"sample_rate":16000},"espeak":{"voice":"en-us"},
        "inference":{"noise_scale":0.5,"length_scale":1.1,"noise_w":0.7}"#;

    #[test]
    fn a_description_is_read() {
        let config = Config::parse(&format!("{SMALL}}}")).unwrap();
        assert_eq!(
            (config.sample_rate, config.language.as_str()),
            (16_000, "en-us")
        );
        assert_eq!(
            (config.noise_scale, config.length_scale, config.noise_w),
            (0.5, 1.1, 0.7)
        );
        assert!(config.speakers.is_empty());
    }

    #[test]
    fn speakers_have_names_or_numbers() {
        let names = |tail: &str| {
            Config::parse(&format!("{SMALL},{tail}}}")).map(|c| c.speakers.into_keys().collect())
        };
        let list = |names: &[&str]| Ok(names.iter().map(|&name| name.to_owned()).collect());
        let cases: [(&str, std::result::Result<Vec<String>, String>); 4] = [
            (r#""num_speakers":1"#, list(&[])),
            (r#""num_speakers":2"#, list(&["0", "1"])),
            (
                r#""num_speakers":2,"speaker_id_map":{"ann":1,"bo":0}"#,
                list(&["ann", "bo"]),
            ),
            (
                r#""num_speakers":2,"speaker_id_map":{"ann":2}"#,
                Err("speaker_id_map gives `ann` the number 2, there are 2".to_owned()),
            ),
        ];
        for (tail, expected) in cases {
            assert_eq!(names(tail), expected, "{tail}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("{", "EOF"),
            (r#"{"inference":{}}"#, "audio"),
            (
                r#"{"audio":{"sample_rate":1}}"#,
                "audio.sample_rate is 1, accepted: 8000 to 96000",
            ),
            (
                r#"{"audio":{"sample_rate":16000},"phoneme_type":"text"}"#,
                "accepted: `espeak`",
            ),
        ];
        for (text, expected) in cases {
            let error = Config::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
