//! Tokens that a language model has read and written for a request.
//!
//! They are counted where they are known, by the model's nodes through
//! [`Member::spent`](crate::Member::spent), and told to the requester with the end. Nobody else
//! counts tokens.

/// Tokens that a language model has read and written for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens of the conversation, as the model's template writes it, those of
    /// [`cached`](Self::cached) included.
    pub prompt: u64,
    /// Those of the prompt that did not have to be computed, as an earlier request had them.
    pub cached: u64,
    /// Tokens that the model has chosen, one that ends the answer included.
    pub completion: u64,
}

impl Tokens {
    /// Both, prompt and answer.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.prompt + self.completion
    }

    /// Adds what was spent elsewhere or later.
    pub fn add(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.completion += other.completion;
    }
}
