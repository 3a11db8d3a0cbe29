//! The list of models: a variant of [`ModelConfig`] for each kind, and one place that loads it.
//!
//! A new kind of model is a folder beside `toy`, a variant here, and an arm in
//! [`ModelConfig::load`].

use std::sync::Arc;

use runtime::Model;

use crate::{Error, Result, toy};

/// The ids of the models that need no further configuration.
pub const IDS: [&str; 1] = ["toy"];

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
    /// The model of this id, set up as it is by default.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the ids that there are.
    pub fn named(id: &str) -> Result<Self> {
        match id {
            "toy" => Ok(Self::Toy(toy::Config::default())),
            _ => Err(Error::Unknown {
                id: id.to_owned(),
                known: IDS.map(str::to_owned).into(),
            }),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_model_has_its_id() {
        for id in IDS {
            assert_eq!(ModelConfig::named(id).unwrap().id(), id);
        }
    }

    #[test]
    fn an_unknown_id_is_refused_with_the_nearest() {
        let error = ModelConfig::named("toys").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("unknown model `toys`, did you mean `toy`? known: "),
            "{error}"
        );
    }
}
