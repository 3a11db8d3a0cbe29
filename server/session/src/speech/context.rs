//! One context: a line of text being spoken, utterance by utterance.

use std::collections::VecDeque;

use super::session::Command;
use super::utterance::Utterance;
use crate::Settings;

/// Utterances of one context that the engine knows of: the one being spoken, and the next one,
/// so that there is no pause between them.
const AHEAD: usize = 2;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Context {
    pub(super) settings: Settings,
    /// In the order in which they are spoken; only the last may still take text.
    pub(super) utterances: VecDeque<Utterance>,
    /// The index of the next utterance.
    pub(super) next_index: u32,
    /// No more text; the context goes when it has spoken.
    pub(super) closing: bool,
}

impl Context {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            utterances: VecDeque::new(),
            next_index: 0,
            closing: false,
        }
    }

    /// The utterance that takes text.
    pub(super) fn current(&mut self) -> Option<&mut Utterance> {
        self.utterances.back_mut().filter(|u| !u.is_ended())
    }

    pub(super) fn end_current(&mut self) {
        if let Some(utterance) = self.current() {
            utterance.end();
        }
    }

    pub(super) fn close(&mut self) {
        self.end_current();
        self.closing = true;
    }

    pub(super) fn advance(&mut self, commands: &mut VecDeque<Command>) {
        for utterance in self.utterances.iter_mut().take(AHEAD) {
            utterance.advance(commands);
        }
    }

    /// Forgets all utterances and has the engine forget them.
    pub(super) fn cancel(&mut self, commands: &mut VecDeque<Command>) {
        for utterance in self.utterances.drain(..).filter(Utterance::is_opened) {
            commands.push_back(Command::Cancel {
                utterance: utterance.id,
            });
        }
    }

    /// Something is being spoken to its end, so the client has nothing to do but listen.
    pub(super) fn is_busy(&self) -> bool {
        self.utterances.iter().any(Utterance::is_ended)
    }
}
