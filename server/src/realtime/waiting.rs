//! Sessions whose connection is lost, until their client comes back.
//!
//! A session that waits is found by its `resume_token`. The connection that asks for it hands
//! over its socket; what drives the session goes on with that one.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use session::Fault;
use tokio::sync::{mpsc, oneshot};

use super::driver::Socket;

/// A client that has come back.
pub(super) struct Return {
    pub(super) socket: Box<Socket>,
    /// The number of the last event that it has received.
    pub(super) last_seq: u64,
    /// Takes the socket back where the session cannot go on. Dropped where it does.
    pub(super) refused: oneshot::Sender<(Fault, Box<Socket>)>,
}

/// See the [module](self).
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting(Arc<Mutex<HashMap<String, mpsc::Sender<Return>>>>);

/// A place among those who wait; given up when it is dropped.
pub(super) struct Place {
    waiting: Waiting,
    token: String,
    returns: mpsc::Receiver<Return>,
}

impl Waiting {
    /// Waits under this token.
    pub(super) fn enter(&self, token: &str) -> Place {
        let (sender, returns) = mpsc::channel(1);
        self.map().insert(token.to_owned(), sender);
        Place {
            waiting: self.clone(),
            token: token.to_owned(),
            returns,
        }
    }

    /// Where to hand over the socket of who came back; none where nobody waits.
    pub(super) fn find(&self, token: &str) -> Option<mpsc::Sender<Return>> {
        self.map().get(token).cloned()
    }

    fn map(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Return>>> {
        self.0.lock()
    }
}

impl Place {
    /// The client has come back.
    pub(super) async fn returned(&mut self) -> Option<Return> {
        self.returns.recv().await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.waiting.map().remove(&self.token);
    }
}

impl std::fmt::Debug for Return {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Return")
            .field("last_seq", &self.last_seq)
            .finish_non_exhaustive()
    }
}
