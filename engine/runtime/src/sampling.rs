//! How a request wants its tokens chosen.

/// How a request wants its tokens chosen. What is not given is the model's own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Divides the logits, from 0 to 2; 0 takes the likeliest token always.
    pub temperature: Option<f32>,
    /// Only the `k` likeliest tokens; 0 keeps all.
    pub top_k: Option<u32>,
    /// Only the likeliest tokens that together are this probable, above 0 to 1.
    pub top_p: Option<f32>,
    /// Only tokens at least this share as probable as the likeliest, from 0 to 1.
    pub min_p: Option<f32>,
    /// Divides the logit of every token that was there before (prompt and answer), where it is
    /// positive, and multiplies it where it is negative; 1 changes nothing.
    pub repetition_penalty: Option<f32>,
    /// Taken off the logit of every token that the answer has, from -2 to 2.
    pub presence_penalty: Option<f32>,
    /// Taken off the logit of a token for each time that the answer has it, from -2 to 2.
    pub frequency_penalty: Option<f32>,
    /// Added to the logits of these tokens, from -100 to 100.
    pub logit_bias: Vec<(u32, f32)>,
    /// Texts that end the answer; they are not part of it.
    pub stop: Vec<String>,
    /// Tokens that end the answer, beside those of the model.
    pub stop_ids: Vec<u32>,
    /// The most tokens that the answer may have.
    pub max_tokens: Option<u32>,
}
