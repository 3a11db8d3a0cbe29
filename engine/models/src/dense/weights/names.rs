//! What the tensors of a dense model are called, in each of the two layouts.

use crate::dense::config::Architecture;

/// Whose names a file uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As Hugging Face's transformers writes safetensors.
    HuggingFace,
    /// As llama.cpp's converter writes GGUF.
    Gguf,
}

/// A tensor by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// `[vocabulary, width]`.
    Embedding,
    /// `[vocabulary, width]`; not there where the embedding serves.
    Head,
    /// `[width]`.
    FinalNorm,
    /// Of the layer of this index.
    Layer(usize, Part),
}

/// A tensor of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// `[width]`, before attention.
    AttentionNorm,
    /// `[heads * head_dim, width]`.
    Query,
    /// `[kv_heads * head_dim, width]`.
    Key,
    /// `[kv_heads * head_dim, width]`.
    Value,
    /// `[width, heads * head_dim]`.
    Output,
    /// `[head_dim]`, over each query head.
    QueryNorm,
    /// `[head_dim]`, over each key head.
    KeyNorm,
    /// `[width]`, before the feed-forward part.
    MlpNorm,
    /// `[hidden, width]`.
    Gate,
    /// `[hidden, width]`.
    Up,
    /// `[width, hidden]`.
    Down,
}

impl Part {
    /// All parts of a layer, the two of head norms last.
    const ALL: [Self; 11] = [
        Self::AttentionNorm,
        Self::Query,
        Self::Key,
        Self::Value,
        Self::Output,
        Self::MlpNorm,
        Self::Gate,
        Self::Up,
        Self::Down,
        Self::QueryNorm,
        Self::KeyNorm,
    ];

    const fn hugging_face(self) -> &'static str {
        match self {
            Self::AttentionNorm => "input_layernorm",
            Self::Query => "self_attn.q_proj",
            Self::Key => "self_attn.k_proj",
            Self::Value => "self_attn.v_proj",
            Self::Output => "self_attn.o_proj",
            Self::QueryNorm => "self_attn.q_norm",
            Self::KeyNorm => "self_attn.k_norm",
            Self::MlpNorm => "post_attention_layernorm",
            Self::Gate => "mlp.gate_proj",
            Self::Up => "mlp.up_proj",
            Self::Down => "mlp.down_proj",
        }
    }

    const fn gguf(self) -> &'static str {
        match self {
            Self::AttentionNorm => "attn_norm",
            Self::Query => "attn_q",
            Self::Key => "attn_k",
            Self::Value => "attn_v",
            Self::Output => "attn_output",
            Self::QueryNorm => "attn_q_norm",
            Self::KeyNorm => "attn_k_norm",
            Self::MlpNorm => "ffn_norm",
            Self::Gate => "ffn_gate",
            Self::Up => "ffn_up",
            Self::Down => "ffn_down",
        }
    }
}

impl Layout {
    /// The name of a tensor.
    pub(crate) fn name(self, role: Role) -> String {
        match (self, role) {
            (Self::HuggingFace, Role::Embedding) => "model.embed_tokens.weight".into(),
            (Self::HuggingFace, Role::Head) => "lm_head.weight".into(),
            (Self::HuggingFace, Role::FinalNorm) => "model.norm.weight".into(),
            (Self::HuggingFace, Role::Layer(index, part)) => {
                format!("model.layers.{index}.{}.weight", part.hugging_face())
            }
            (Self::Gguf, Role::Embedding) => "token_embd.weight".into(),
            (Self::Gguf, Role::Head) => "output.weight".into(),
            (Self::Gguf, Role::FinalNorm) => "output_norm.weight".into(),
            (Self::Gguf, Role::Layer(index, part)) => {
                format!("blk.{index}.{}.weight", part.gguf())
            }
        }
    }

    /// The names of all tensors of an architecture.
    pub(crate) fn names(self, architecture: &Architecture) -> Vec<String> {
        let parts = if architecture.head_norms() {
            &Part::ALL[..]
        } else {
            &Part::ALL[..9]
        };
        let layers = (0..architecture.layers)
            .flat_map(|layer| parts.iter().map(move |&part| Role::Layer(layer, part)));
        let outer = [Role::Embedding, Role::FinalNorm, Role::Head];
        let roles = outer.into_iter().chain(layers);
        roles.map(|role| self.name(role)).collect()
    }

    /// Whether a tensor holds what is computed here: rotations from older exports.
    pub(crate) fn is_aside(self, name: &str) -> bool {
        match self {
            Self::HuggingFace => name.ends_with(".rotary_emb.inv_freq"),
            Self::Gguf => name == ROPE_FACTORS,
        }
    }
}

/// What each rotation's frequency is divided by, `[head_dim / 2]`, where a GGUF file scales them.
pub(crate) const ROPE_FACTORS: &str = "rope_freqs.weight";
