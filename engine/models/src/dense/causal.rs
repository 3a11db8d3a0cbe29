//! A dense model's arithmetic, as the KV engine asks for it.

use runtime::kv::{Causal, Generation, Step};
use runtime::{Cause, RequestInfo};

use super::admit::Asked;
use super::forward::Forward;

/// A model with memory for the pages of its pool.
pub(super) struct Dense {
    forward: Forward,
    vocabulary: usize,
}

impl Dense {
    pub(super) fn new(forward: Forward, vocabulary: usize) -> Self {
        Self {
            forward,
            vocabulary,
        }
    }
}

impl Causal for Dense {
    fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    fn generation(&self, request: &RequestInfo) -> Result<Generation, Cause> {
        let asked = request.admitted::<Asked>()?;
        Ok(Generation {
            sampling: asked.sampling.clone(),
            ends: asked.ends.clone(),
            max_tokens: asked.max_tokens,
        })
    }

    fn forward(&mut self, step: &Step<'_>, logits: &mut [f32]) -> Result<(), Cause> {
        self.forward.run(step, logits, &mut |_, _| {});
        Ok(())
    }
}
