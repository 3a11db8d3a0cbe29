//! The list of models: a variant of [`ModelConfig`] for each kind, and one place that loads it.
//!
//! A new kind of model is a folder beside `toy`, a variant here, and an arm in
//! [`ModelConfig::load`].

use std::sync::Arc;

use runtime::Model;

use crate::{Result, toy};

/// Which model to load, and how it is set up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ModelConfig {
    /// A model without weights that sounds a tone for each letter.
    Toy(toy::Config),
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self::Toy(toy::Config::default())
    }
}

impl ModelConfig {
    /// The id by which requests ask for the model.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Toy(config) => &config.id,
        }
    }

    /// Loads the model; its steps may use up to `threads` threads.
    ///
    /// # Errors
    /// Where its files or its declaration are not sound.
    pub fn load(&self, threads: usize) -> Result<Arc<dyn Model>> {
        let _ = threads;
        match self {
            Self::Toy(config) => Ok(Arc::new(toy::Toy::new(config.clone())?)),
        }
    }
}
