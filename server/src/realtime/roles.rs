//! Which model does what in a conversation.

use engine::ModelInfo;
use session::catalog::Task;
use session::{Fault, Kind};

use super::{COMPOSITE, STOCK, unknown_model};
use crate::bridge;

/// The models of one conversation, by their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Roles {
    /// What the client is told that it talks with.
    pub(crate) name: String,
    /// Who answers.
    pub(crate) chat: String,
    /// Who speaks; nobody where answers are text only.
    pub(crate) voice: Option<String>,
    /// Who writes down what is said.
    pub(crate) recogniser: Option<String>,
    /// Who tells speech from silence.
    pub(crate) listener: Option<String>,
    /// Who tells whether a turn is complete.
    pub(crate) judge: Option<String>,
}

impl Roles {
    /// The models for a conversation with `model`: the first of each kind that is served, and who
    /// answers is the one that was named, if it was one of those.
    ///
    /// # Errors
    /// Where nobody here converses, or the named model does not.
    pub(crate) fn of(models: &[ModelInfo], model: Option<&str>) -> Result<Self, Fault> {
        let of_task = |task: Task| models.iter().filter(move |info| bridge::task(info) == task);
        let first = |task: Task| of_task(task).next().map(|info| info.id.clone());
        let chats: Vec<&str> = of_task(Task::Chat).map(|info| info.id.as_str()).collect();
        let Some(&default) = chats.first() else {
            return Err(nobody());
        };
        let named = model.unwrap_or(COMPOSITE);
        let chat = match chats.iter().find(|&&id| id == named) {
            Some(&id) => id,
            None if named == COMPOSITE || named.starts_with(STOCK) => default,
            None => {
                let known: Vec<&str> = [COMPOSITE].into_iter().chain(chats).collect();
                return Err(unknown_model(named, &known));
            }
        };
        // Who hears a stream tells speech from silence, who hears a recording judges it.
        let detection = |streams: bool| {
            let mut found = of_task(Task::Detection);
            let found = found.find(|info| info.hears_streams == streams);
            found.map(|info| info.id.clone())
        };
        Ok(Self {
            name: named.to_owned(),
            chat: chat.to_owned(),
            voice: first(Task::Speech),
            recogniser: first(Task::Transcription),
            listener: detection(true),
            judge: detection(false),
        })
    }
}

fn nobody() -> Fault {
    Fault::new(
        Kind::NotFound,
        "no_conversation",
        "No model here converses; serve one, such as 'voice-chat' or 'toy-voice-chat'.",
    )
}
