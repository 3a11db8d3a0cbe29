//! The shape of a dense model, read from `config.json` or from a GGUF file's settings.
//!
//! What always holds of an [`Architecture`]: every size is at least 1 and below a million or so,
//! query heads are a multiple of key heads, and a head has an even number of dimensions.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::weights::gguf::Settings;
use super::{Error, Result};

/// Which family's blocks a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Grouped queries, rotations, a gated feed-forward part: Llama 2 and 3, `SmolLM2`.
    Llama,
    /// As Llama, with a norm over each query and key head.
    Qwen3,
}

/// The numbers that say which tensors a model has and what is done with them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Architecture {
    pub(super) family: Family,
    /// Tokens that there are.
    pub(super) vocabulary: usize,
    /// Numbers of a hidden state.
    pub(super) width: usize,
    pub(super) layers: usize,
    /// Query heads.
    pub(super) heads: usize,
    /// Key and value heads.
    pub(super) kv_heads: usize,
    pub(super) head_dim: usize,
    /// Numbers between the two halves of a feed-forward part.
    pub(super) hidden: usize,
    /// The most positions that the model was made for.
    pub(super) context: usize,
    pub(super) norm_eps: f32,
    pub(super) rope: Rope,
    /// Whether the embedding is the head, too.
    pub(super) tied: bool,
    /// Tokens that end an answer.
    pub(super) ends: Vec<u32>,
}

/// How positions turn queries and keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rope {
    /// Base of the frequencies.
    pub(super) theta: f64,
    pub(super) scaling: Scaling,
}

/// How frequencies are changed for longer contexts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scaling {
    None,
    /// All divided by a factor.
    Linear {
        factor: f64,
    },
    /// Long waves divided by a factor, short ones kept, those between interpolated.
    Llama3 {
        factor: f64,
        low: f64,
        high: f64,
        original: f64,
    },
}

/// The largest of any one size: the largest known model is a tenth of it.
const MAX_SIZE: usize = 1 << 22;

impl Architecture {
    /// Whether queries and keys are normed head by head.
    pub(super) fn head_norms(&self) -> bool {
        self.family == Family::Qwen3
    }

    /// Numbers of all query heads of a position.
    pub(super) fn query_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Numbers of all key heads of a position.
    pub(super) fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// Reads the text of a `config.json`, in the form of a release or of transformers 5.
    pub(super) fn from_json(path: &Path, text: &[u8]) -> Result<Self> {
        let file: File = serde_json::from_slice(text)
            .map_err(|error| Error::malformed(path, error.to_string()))?;
        let family = match file.model_type.as_str() {
            "llama" => Family::Llama,
            "qwen3" => Family::Qwen3,
            other => return Err(unsupported(path, "model_type", other, FAMILIES)),
        };
        file.refuse_what_is_not_built(path)?;
        let rope = file.rope(path)?;
        let architecture = Self {
            family,
            vocabulary: file.vocab_size,
            width: file.hidden_size,
            layers: file.num_hidden_layers,
            heads: file.num_attention_heads,
            kv_heads: file.num_key_value_heads.unwrap_or(file.num_attention_heads),
            head_dim: match file.head_dim {
                Some(head_dim) => head_dim,
                None => file.hidden_size / file.num_attention_heads.max(1),
            },
            hidden: file.intermediate_size,
            context: file.max_position_embeddings,
            norm_eps: file.rms_norm_eps,
            rope,
            tied: file.tie_word_embeddings,
            ends: file.eos_token_id.map(Ids::into_vec).unwrap_or_default(),
        };
        architecture.checked(path)
    }

    /// Reads a GGUF file's settings. Whether the head is tied, and how frequencies are scaled,
    /// stands in its tensors.
    pub(super) fn from_gguf(settings: &Settings, vocabulary: usize, tied: bool) -> Result<Self> {
        let path = settings.path();
        let name = settings.required(
            "general.architecture",
            settings.text("general.architecture"),
        )?;
        let family = match name {
            "llama" => Family::Llama,
            "qwen3" => Family::Qwen3,
            other => return Err(unsupported(path, "general.architecture", other, FAMILIES)),
        };
        let key = |rest: &str| format!("{name}.{rest}");
        let size = |rest: &str| {
            let key = key(rest);
            settings.required(&key, settings.size(&key))
        };
        let heads = size("attention.head_count")?;
        let width = size("embedding_length")?;
        let kv_heads = settings.size(&key("attention.head_count_kv"))?;
        let head_dim = settings.size(&key("attention.key_length"))?;
        let norm = key("attention.layer_norm_rms_epsilon");
        let factor = settings.float(&key("rope.scaling.factor"))?;
        let scaling = match settings.text(&key("rope.scaling.type"))? {
            None | Some("none") => Scaling::None,
            Some("linear") => Scaling::Linear {
                factor: factor.unwrap_or(1.0),
            },
            Some(other) => {
                let what = key("rope.scaling.type");
                return Err(unsupported(path, &what, other, "none, linear"));
            }
        };
        let architecture = Self {
            family,
            vocabulary,
            width,
            layers: size("block_count")?,
            heads,
            kv_heads: kv_heads.unwrap_or(heads),
            head_dim: head_dim.unwrap_or(width / heads.max(1)),
            hidden: size("feed_forward_length")?,
            context: size("context_length")?,
            #[expect(clippy::cast_possible_truncation, reason = "it was written as an f32")]
            norm_eps: settings.required(&norm, settings.float(&norm))? as f32,
            rope: Rope {
                theta: settings.float(&key("rope.freq_base"))?.unwrap_or(10_000.0),
                scaling,
            },
            tied,
            ends: settings
                .id("tokenizer.ggml.eos_token_id")?
                .into_iter()
                .collect(),
        };
        let turned = settings.size(&key("rope.dimension_count"))?;
        if turned.is_some_and(|turned| turned != architecture.head_dim) {
            let what = key("rope.dimension_count");
            let got = turned.unwrap_or_default().to_string();
            let accepted = format!("{}, all of a head", architecture.head_dim);
            return Err(unsupported(path, &what, &got, &accepted));
        }
        architecture.checked(path)
    }

    fn checked(self, path: &Path) -> Result<Self> {
        let sizes = [
            ("vocabulary size", self.vocabulary),
            ("hidden size", self.width),
            ("number of layers", self.layers),
            ("number of heads", self.heads),
            ("number of key heads", self.kv_heads),
            ("head size", self.head_dim),
            ("feed-forward size", self.hidden),
            ("context length", self.context),
        ];
        for (what, size) in sizes {
            if !(1..=MAX_SIZE).contains(&size) {
                let accepted = format!("1 to {MAX_SIZE}");
                return Err(unsupported(path, what, &size.to_string(), &accepted));
            }
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            let accepted = format!("a multiple of the {} key heads", self.kv_heads);
            return Err(unsupported(
                path,
                "number of heads",
                &self.heads.to_string(),
                &accepted,
            ));
        }
        if !self.head_dim.is_multiple_of(2) {
            return Err(unsupported(
                path,
                "head size",
                &self.head_dim.to_string(),
                "an even number",
            ));
        }
        if !(self.norm_eps > 0.0 && self.norm_eps < 1.0) {
            return Err(unsupported(
                path,
                "norm epsilon",
                &self.norm_eps.to_string(),
                "above 0, below 1",
            ));
        }
        if !(self.rope.theta >= 1.0 && self.rope.theta.is_finite()) {
            return Err(unsupported(
                path,
                "rope theta",
                &self.rope.theta.to_string(),
                "1 or more",
            ));
        }
        Ok(self)
    }
}

const FAMILIES: &str = "llama, qwen3";

fn unsupported(path: &Path, what: &str, got: &str, accepted: &str) -> Error {
    Error::Unsupported {
        path: path.to_path_buf(),
        what: what.to_owned(),
        got: got.to_owned(),
        accepted: accepted.to_owned(),
    }
}

/// A `config.json`, as far as it matters here.
#[derive(Deserialize)]
struct File {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    intermediate_size: usize,
    max_position_embeddings: usize,
    rms_norm_eps: f32,
    #[serde(default)]
    tie_word_embeddings: bool,
    eos_token_id: Option<Ids>,
    rope_theta: Option<f64>,
    rope_scaling: Option<Map<String, Value>>,
    rope_parameters: Option<Map<String, Value>>,
    hidden_act: Option<String>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    use_sliding_window: bool,
    partial_rotary_factor: Option<f64>,
}

/// One token or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Ids {
    One(u32),
    Several(Vec<u32>),
}

impl Ids {
    pub(super) fn into_vec(self) -> Vec<u32> {
        match self {
            Self::One(id) => vec![id],
            Self::Several(ids) => ids,
        }
    }
}

impl File {
    /// Settings that would change the arithmetic in a way that is not built here.
    fn refuse_what_is_not_built(&self, path: &Path) -> Result<()> {
        let flags = [
            ("attention_bias", self.attention_bias),
            ("mlp_bias", self.mlp_bias),
            ("use_sliding_window", self.use_sliding_window),
        ];
        if let Some((name, _)) = flags.iter().find(|(_, set)| *set) {
            return Err(unsupported(path, name, "true", "false"));
        }
        if let Some(act) = self.hidden_act.as_deref()
            && act != "silu"
        {
            return Err(unsupported(path, "hidden_act", act, "silu"));
        }
        match self.partial_rotary_factor {
            Some(factor) if (factor - 1.0).abs() > f64::EPSILON => {
                let got = factor.to_string();
                Err(unsupported(path, "partial_rotary_factor", &got, "1"))
            }
            _ => Ok(()),
        }
    }

    /// `rope_parameters` has the base and the scaling in one; older files have them apart.
    fn rope(&self, path: &Path) -> Result<Rope> {
        let scaling = self.rope_parameters.as_ref().or(self.rope_scaling.as_ref());
        let number = |name: &str| {
            let value = scaling.and_then(|scaling| scaling.get(name));
            value.and_then(Value::as_f64)
        };
        let needed = |name: &str| {
            number(name).ok_or_else(|| Error::MissingSetting {
                path: path.to_path_buf(),
                name: format!("rope scaling's {name}"),
            })
        };
        let kind = scaling.and_then(|scaling| scaling.get("rope_type").or(scaling.get("type")));
        let scaling = match kind.map(|kind| kind.as_str().unwrap_or("not a text")) {
            None | Some("default") => Scaling::None,
            Some("linear") => Scaling::Linear {
                factor: needed("factor")?,
            },
            Some("llama3") => Scaling::Llama3 {
                factor: needed("factor")?,
                low: needed("low_freq_factor")?,
                high: needed("high_freq_factor")?,
                original: needed("original_max_position_embeddings")?,
            },
            Some(other) => {
                let accepted = "default, linear, llama3";
                return Err(unsupported(path, "rope_type", other, accepted));
            }
        };
        Ok(Rope {
            theta: number("rope_theta").or(self.rope_theta).unwrap_or(10_000.0),
            scaling,
        })
    }
}

impl Rope {
    /// The angle that each pair of a head turns by from one position to the next,
    /// `[head_dim / 2]`, in f32 as the reference computes them: `theta^(-2i / head_dim)`, scaled.
    pub(super) fn frequencies(&self, head_dim: usize) -> Vec<f32> {
        (0..head_dim / 2)
            .map(|pair| self.frequency(pair, head_dim))
            .collect()
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a head's size is exact, and the reference's angles are f32"
    )]
    fn frequency(&self, pair: usize, head_dim: usize) -> f32 {
        let exponent = (2 * pair) as f64 / head_dim as f64;
        let frequency = self.theta.powf(exponent).recip();
        let scaled = match self.scaling {
            Scaling::None => frequency,
            Scaling::Linear { factor } => frequency / factor,
            Scaling::Llama3 {
                factor,
                low,
                high,
                original,
            } => {
                let turns = original * frequency / std::f64::consts::TAU;
                // How much is kept: all of what turns `high` times in the original context.
                let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                frequency * (kept + (1.0 - kept) / factor)
            }
        };
        scaled as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASE: &str = r#"{"model_type":"llama","vocab_size":160,"hidden_size":64,
        "num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
        "intermediate_size":160,"max_position_embeddings":1024,"rms_norm_eps":1e-5,
        "eos_token_id":[2,3],"rope_theta":500000.0,"torch_dtype":"bfloat16","rope_scaling":
        {"rope_type":"llama3","factor":32.0,"low_freq_factor":1.0,"high_freq_factor":4.0,
        "original_max_position_embeddings":64}}"#;
    const NEW: &str = r#"{"model_type":"llama","vocab_size":160,"hidden_size":64,
        "num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
        "intermediate_size":160,"max_position_embeddings":1024,"rms_norm_eps":1e-5,
        "eos_token_id":[2,3],"dtype":"bfloat16","rope_parameters":
        {"rope_theta":500000.0,"rope_type":"llama3","factor":32.0,"low_freq_factor":1.0,
        "high_freq_factor":4.0,"original_max_position_embeddings":64}}"#;

    fn read(text: &str) -> Result<Architecture> {
        Architecture::from_json(Path::new("config.json"), text.as_bytes())
    }

    #[test]
    fn both_forms_say_the_same() {
        let release = read(RELEASE).unwrap();
        assert_eq!(release, read(NEW).unwrap());
        assert_eq!((release.head_dim, &release.ends[..]), (16, &[2, 3][..]));
        assert!(matches!(release.rope.scaling, Scaling::Llama3 { .. }));
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        let check = |from: &str, to: &str, message: &str| {
            let error = read(&RELEASE.replace(from, to)).unwrap_err().to_string();
            assert_eq!(error, format!("config.json: {message}"));
        };
        check(
            r#""llama","#,
            r#""phi","#,
            "model_type is phi, accepted: llama, qwen3",
        );
        check(
            r#""llama3","#,
            r#""yarn","#,
            "rope_type is yarn, accepted: default, linear, llama3",
        );
        check(
            r#""eos_token_id""#,
            r#""attention_bias":true,"eos_token_id""#,
            "attention_bias is true, accepted: false",
        );
        check(
            r#""num_key_value_heads":2"#,
            r#""num_key_value_heads":3"#,
            "number of heads is 4, accepted: a multiple of the 3 key heads",
        );
        check(
            r#""hidden_size":64"#,
            r#""hidden_size":0"#,
            "hidden size is 0, accepted: 1 to 4194304",
        );
        check(
            r#""low_freq_factor":1.0,"#,
            "",
            "setting `rope scaling's low_freq_factor` is missing",
        );
    }
}
