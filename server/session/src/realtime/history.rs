//! The conversation: its items in order, and what a model is told of them.

use super::command::{Message, Role};
use super::item::{Item, message};
use crate::{Fault, Kind, near};

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct History {
    items: Vec<Item>,
    /// Changes with each change, so that what was begun with another history is known.
    version: u64,
}

impl History {
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn chars(&self) -> usize {
        self.items.iter().map(Item::chars).sum()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.id == id)
    }

    /// An item to be changed.
    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Item> {
        self.version += 1;
        self.items.iter_mut().find(|item| item.id == id)
    }

    pub(super) fn last_id(&self) -> Option<&str> {
        self.items.last().map(|item| item.id.as_str())
    }

    /// Puts an item at the end.
    pub(super) fn push(&mut self, item: Item) {
        self.version += 1;
        self.items.push(item);
    }

    /// Where an item goes that is to follow `previous`: at the end, at the front (`root`), or
    /// after the item of that name. Gives back the index, and the item before it.
    pub(super) fn place(&self, previous: Option<&str>) -> Result<(usize, Option<String>), Fault> {
        match previous {
            None => Ok((self.items.len(), self.last_id().map(str::to_owned))),
            Some("root") => Ok((0, None)),
            Some(id) => match self.items.iter().position(|item| item.id == id) {
                Some(at) => Ok((at + 1, Some(id.to_owned()))),
                None => Err(not_found("previous_item_id", id)),
            },
        }
    }

    pub(super) fn insert(&mut self, at: usize, item: Item) {
        self.version += 1;
        self.items.insert(at.min(self.items.len()), item);
    }

    /// Puts an item in the place of the one with its id, unless that was deleted. Gives
    /// it back, and the id of the one before.
    pub(super) fn replace(&mut self, item: Item) -> Option<(Item, Option<String>)> {
        let at = self.items.iter().position(|old| old.id == item.id)?;
        self.version += 1;
        self.items[at] = item.clone();
        let previous = at.checked_sub(1).map(|n| self.items[n].id.clone());
        Some((item, previous))
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Item> {
        let at = self.items.iter().position(|item| item.id == id)?;
        self.version += 1;
        Some(self.items.remove(at))
    }

    /// Whether a transcript is still being written.
    pub(super) fn is_pending(&self) -> bool {
        self.items.iter().any(Item::is_pending)
    }

    /// What a model is told.
    pub(super) fn messages(&self, instructions: &str) -> Vec<Message> {
        messages(instructions, self.items.iter())
    }
}

/// What a model is told of `items`.
pub(super) fn messages<'a>(
    instructions: &str,
    items: impl Iterator<Item = &'a Item>,
) -> Vec<Message> {
    let mut messages = Vec::new();
    if !instructions.trim().is_empty() {
        messages.push(message(Role::System, instructions.to_owned()));
    }
    for item in items {
        item.tell(&mut messages);
    }
    messages
}

/// The fault of an item that is not in the conversation.
pub(super) fn not_found(param: &'static str, id: &str) -> Fault {
    Fault::field(
        param,
        "item_not_found",
        format!("There is no item {} in the conversation.", near::quoted(id)),
    )
    .of_kind(Kind::NotFound)
}
