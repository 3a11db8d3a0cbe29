//! The search for the largest number of users that a server holds.
//!
//! Doubles until a level does not hold, then halves the interval. It trusts that what holds for
//! N users holds for fewer; each level that was tried stands in the report, so a server for which
//! that is not so shows it. Pure: it is told what held.

use serde::Serialize;

/// How far the search has come.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    most: u32,
    held: u32,
    broke: Option<u32>,
}

/// What the search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// The largest number of users that held; 0 when not even one did.
    pub users: u32,
    /// The smallest number that did not hold; `None` when the bound of the search held.
    pub broke: Option<u32>,
    /// Why that one did not hold.
    pub because: Vec<String>,
    /// How long each level was held, in seconds.
    pub held_s: f64,
}

impl Search {
    /// A search from 1 to `most` users.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self {
            most: most.max(1),
            held: 0,
            broke: None,
        }
    }

    /// The number of users to try next; `None` when the answer is known.
    #[must_use]
    pub fn next_users(&self) -> Option<u32> {
        match self.broke {
            None if self.held == self.most => None,
            None => Some((self.held * 2).clamp(1, self.most)),
            Some(broke) if broke - self.held <= 1 => None,
            Some(broke) => Some(self.held + (broke - self.held) / 2),
        }
    }

    /// `users` held.
    pub fn held(&mut self, users: u32) {
        self.held = self.held.max(users);
    }

    /// `users` did not hold.
    pub fn broke(&mut self, users: u32) {
        self.broke = Some(self.broke.map_or(users, |broke| broke.min(users)));
    }

    /// The largest number that held so far, and the smallest that did not.
    #[must_use]
    pub fn found(&self) -> (u32, Option<u32>) {
        (self.held, self.broke)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(most: u32, capacity: u32) -> (Search, Vec<u32>) {
        let mut search = Search::new(most);
        let mut tried = Vec::new();
        while let Some(users) = search.next_users() {
            tried.push(users);
            if users <= capacity {
                search.held(users);
            } else {
                search.broke(users);
            }
        }
        (search, tried)
    }

    #[test]
    fn finds_every_capacity_in_few_steps() {
        for most in 1..70 {
            for capacity in 0..70 {
                let (search, tried) = search(most, capacity);
                let (held, broke) = search.found();
                assert_eq!(held, capacity.min(most));
                assert_eq!(broke, (capacity < most).then_some(capacity + 1));
                assert!(tried.len() <= 13, "{tried:?}");
            }
        }
        assert_eq!(search(64, 5).1, [1, 2, 4, 8, 6, 5]);
    }
}
