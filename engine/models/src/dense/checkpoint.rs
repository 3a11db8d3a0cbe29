//! A model's files: a GGUF file, or a folder as Hugging Face lays it out.
//!
//! | | GGUF | folder |
//! | --- | --- | --- |
//! | shape | settings | `config.json`, and the ends of `generation_config.json` |
//! | tensors | the same file | `model.safetensors`, or its shards and their index |
//! | tokenizer | settings | `tokenizer.json` |
//! | chat template | settings | `chat_template.jinja`, or `tokenizer_config.json` |

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::config::{Architecture, Ids};
use super::template::Template;
use super::tokenizer::Tokenizer;
use super::weights::gguf::{Gguf, Settings};
use super::weights::names::{Layout, Role};
use super::weights::{Tensors, safetensors};
use super::{Error, Result};

/// The largest JSON file that is read: a tokenizer of a million tokens with its merges.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// A model's shape and tensors, with what is needed to read the rest.
pub(super) struct Checkpoint {
    pub(super) architecture: Architecture,
    pub(super) layout: Layout,
    pub(super) tensors: Tensors,
    text: TextFiles,
}

/// Where the tokenizer and the template are.
enum TextFiles {
    Gguf(Settings),
    Folder(PathBuf),
}

/// What turns a conversation into tokens, and tokens into text.
pub(super) struct Texts {
    pub(super) tokenizer: Tokenizer,
    pub(super) template: Template,
}

impl Checkpoint {
    /// Reads the GGUF file, or the folder, at `path`. Tensors are mapped, not read.
    pub(super) fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Self::in_folder(path);
        }
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension != Some("gguf") {
            return Err(Error::Unsupported {
                path: path.to_path_buf(),
                what: "the model".to_owned(),
                got: "no folder and no .gguf file".to_owned(),
                accepted: "a .gguf file, or a folder with config.json".to_owned(),
            });
        }
        let Gguf { settings, tensors } = Gguf::open(path)?;
        let layout = Layout::Gguf;
        let tokens = settings.texts("tokenizer.ggml.tokens")?;
        let vocabulary = tokens.map_or(0, <[String]>::len);
        let tied = !tensors.has(&layout.name(Role::Head));
        Ok(Self {
            architecture: Architecture::from_gguf(&settings, vocabulary, tied)?,
            layout,
            tensors,
            text: TextFiles::Gguf(settings),
        })
    }

    fn in_folder(folder: &Path) -> Result<Self> {
        let path = folder.join("config.json");
        let mut architecture = Architecture::from_json(&path, &read(&path)?)?;
        architecture.ends.extend(more_ends(folder)?);
        architecture.ends.sort_unstable();
        architecture.ends.dedup();
        Ok(Self {
            architecture,
            layout: Layout::HuggingFace,
            tensors: safetensors::open(folder)?,
            text: TextFiles::Folder(folder.to_path_buf()),
        })
    }

    /// Reads the tokenizer and the chat template.
    pub(super) fn texts(&self) -> Result<Texts> {
        match &self.text {
            TextFiles::Gguf(settings) => texts_of_gguf(settings),
            TextFiles::Folder(folder) => texts_of_folder(folder),
        }
    }
}

fn texts_of_gguf(settings: &Settings) -> Result<Texts> {
    let tokenizer = Tokenizer::from_gguf(settings)?;
    let token = |name: &str| -> Result<String> {
        let id = settings.id(name)?;
        Ok(id.and_then(|id| tokenizer.token(id)).unwrap_or_default())
    };
    let bos = token("tokenizer.ggml.bos_token_id")?;
    let eos = token("tokenizer.ggml.eos_token_id")?;
    let name = "tokenizer.chat_template";
    let source = settings.required(name, settings.text(name))?;
    let template = Template::new(source, &bos, &eos)
        .map_err(|problem| Error::malformed(settings.path(), format!("{name}: {problem}")))?;
    Ok(Texts {
        tokenizer,
        template,
    })
}

fn texts_of_folder(folder: &Path) -> Result<Texts> {
    let path = folder.join("tokenizer.json");
    let tokenizer = Tokenizer::from_json(&path, &read(&path)?)?;
    let path = folder.join("tokenizer_config.json");
    let config: TokenizerConfig = parsed(&path)?;
    let beside = folder.join("chat_template.jinja");
    let (path, source) = if beside.is_file() {
        let source = String::from_utf8(read(&beside)?)
            .map_err(|error| Error::malformed(&beside, error.to_string()))?;
        (beside, source)
    } else {
        let source = config
            .chat_template
            .as_ref()
            .and_then(NamedTemplates::default);
        let source = source.ok_or_else(|| Error::MissingSetting {
            path: path.clone(),
            name: "chat_template".to_owned(),
        })?;
        (path, source)
    };
    let [bos, eos] = [&config.bos_token, &config.eos_token].map(|token| written(token.as_ref()));
    let template =
        Template::new(&source, &bos, &eos).map_err(|problem| Error::malformed(&path, problem))?;
    Ok(Texts {
        tokenizer,
        template,
    })
}

/// The ends that a model's makers generate with, which may be more than the configuration's.
fn more_ends(folder: &Path) -> Result<Vec<u32>> {
    let path = folder.join("generation_config.json");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let config: GenerationConfig = parsed(&path)?;
    Ok(config.eos_token_id.map(Ids::into_vec).unwrap_or_default())
}

#[derive(Deserialize)]
struct GenerationConfig {
    eos_token_id: Option<Ids>,
}

#[derive(Deserialize)]
struct TokenizerConfig {
    chat_template: Option<NamedTemplates>,
    bos_token: Option<Value>,
    eos_token: Option<Value>,
}

/// One template, or several by name.
#[derive(Deserialize)]
#[serde(untagged)]
enum NamedTemplates {
    One(String),
    Several(Vec<NamedTemplate>),
}

#[derive(Deserialize)]
struct NamedTemplate {
    name: String,
    template: String,
}

impl NamedTemplates {
    fn default(&self) -> Option<String> {
        match self {
            Self::One(source) => Some(source.clone()),
            Self::Several(all) => {
                let default = all.iter().find(|named| named.name == "default");
                default.map(|named| named.template.clone())
            }
        }
    }
}

/// A special token as it is written: a text, or a text with how it is found.
fn written(token: Option<&Value>) -> String {
    let object = token.and_then(Value::as_object);
    let content = object.and_then(|object: &Map<String, Value>| object.get("content"));
    let text = content.or(token).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn parsed<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T> {
    serde_json::from_slice(&read(path)?).map_err(|error| Error::malformed(path, error.to_string()))
}

/// All of a file that is not too large.
fn read(path: &Path) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(Error::io(path))?;
    let size = fs::metadata(path).map_err(Error::io(path))?.len();
    if size > MAX_FILE_BYTES {
        let problem = format!("{size} bytes, at most {MAX_FILE_BYTES} are read");
        return Err(Error::malformed(path, problem));
    }
    let mut bytes = Vec::new();
    let mut limited = file.take(MAX_FILE_BYTES);
    limited.read_to_end(&mut bytes).map_err(Error::io(path))?;
    Ok(bytes)
}
