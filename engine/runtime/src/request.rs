//! What the runtime and a model's nodes may know of a request.

use std::{any::Any, fmt, sync::Arc};

use crate::{Cause, Options};

/// A request's name for as long as the engine lives; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What a model has drawn from a request's options: checked, in its own type.
pub type Admitted = Arc<dyn Any + Send + Sync>;

/// What the runtime and a node may know of a request.
#[derive(Clone)]
pub struct RequestInfo {
    /// Its name.
    pub id: RequestId,
    /// The model's id.
    pub model: Arc<str>,
    /// What all its randomness is drawn from: the same seed gives the same outputs, alone or in a
    /// batch.
    pub seed: u64,
    /// Its options, as the requester gave them.
    pub options: Options,
    /// What the model drew from them.
    pub admitted: Admitted,
}

impl RequestInfo {
    /// What the model drew from the request's options, in the model's own type.
    ///
    /// # Errors
    /// [`Cause::Failed`] where the type is not the one that [`Model::admit`] returned.
    pub fn admitted<T: Any>(&self) -> Result<&T, Cause> {
        self.admitted
            .downcast_ref()
            .ok_or_else(|| Cause::Failed("what was admitted is of another type".into()))
    }
}

impl fmt::Debug for RequestInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestInfo")
            .field("id", &self.id)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
