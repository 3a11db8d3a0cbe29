//! Who holds which page.
//!
//! A pool counts pages; the memory behind them belongs to the model. Each page is in one of three
//! states: free, held by so many sequences, or *kept*: held by nobody, but still full of tokens
//! that a later request may begin with. Kept pages are given away, least recently used first, when
//! nothing is free, so keeping them costs nothing.
//!
//! A full page is found again by its tokens and by the page before it, from the first on. Both are
//! compared, not only their hashes: a page is never taken for another.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::Mutex;

use super::{Config, Sequence};

/// A page by its number, from 0.
pub type PageId = u32;

/// The pages of one model. Clones are the same pool.
#[derive(Clone, Debug)]
pub struct Pool {
    config: Config,
    pages: Arc<Mutex<Pages>>,
}

/// What a pool holds and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Pages that there are.
    pub total: usize,
    /// Pages that sequences hold.
    pub in_use: usize,
    /// Pages that nobody holds, kept for whoever begins with the same tokens.
    pub kept: usize,
    /// Full pages that were looked for when a sequence began.
    pub lookups: u64,
    /// Those that were found.
    pub hits: u64,
}

impl Stats {
    /// Those of two pools together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            in_use: self.in_use + other.in_use,
            kept: self.kept + other.kept,
            lookups: self.lookups + other.lookups,
            hits: self.hits + other.hits,
        }
    }
}

/// There is no page left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all {total} pages of the model's memory are in use")]
pub struct OutOfPages {
    /// Pages that there are.
    pub total: usize,
}

/// The serial number of no page: what stands before a sequence's first one.
pub(super) const ROOT: u64 = 0;

/// What a full page is found by: the serial number of the page before it, and its tokens.
type Key = (u64, Box<[u32]>);

#[derive(Debug, Default)]
pub(super) struct Pages {
    list: Vec<Page>,
    free: Vec<PageId>,
    index: HashMap<Key, PageId>,
    /// Kept pages by when they were last held.
    kept: BTreeMap<u64, PageId>,
    /// Counts what needs a number that is never used twice.
    serial: u64,
    lookups: u64,
    hits: u64,
}

#[derive(Debug, Default)]
struct Page {
    holders: u32,
    /// Set where it is full and can be found: its own serial number, and its key.
    known: Option<(u64, Key)>,
    /// Its key in `kept`, where it is there.
    kept_at: Option<u64>,
}

impl Pool {
    /// A pool of free pages, of one token at least each.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let config = Config {
            page_tokens: config.page_tokens.max(1),
            ..config
        };
        let count = PageId::try_from(config.pages).unwrap_or(PageId::MAX);
        let pages = Pages {
            list: (0..count).map(|_| Page::default()).collect(),
            // The lowest number is given first.
            free: (0..count).rev().collect(),
            serial: ROOT,
            ..Pages::default()
        };
        Self {
            config,
            pages: Arc::new(Mutex::new(pages)),
        }
    }

    /// What it was made with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The tokens that one sequence can have at most, when it is alone.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.config.pages.saturating_mul(self.config.page_tokens)
    }

    /// Pages that a new sequence could have now.
    #[must_use]
    pub fn available(&self) -> usize {
        let pages = self.pages.lock();
        pages.free.len() + pages.kept.len()
    }

    /// An empty sequence.
    #[must_use]
    pub fn open(&self) -> Sequence {
        Sequence::new(self.clone())
    }

    /// What it holds and has done.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let pages = self.pages.lock();
        let (total, kept) = (pages.list.len(), pages.kept.len());
        Stats {
            total,
            in_use: total - kept - pages.free.len(),
            kept,
            lookups: pages.lookups,
            hits: pages.hits,
        }
    }

    /// A page that nobody holds, held once from now on.
    pub(super) fn take(&self) -> Result<PageId, OutOfPages> {
        self.pages.lock().take()
    }

    /// One holder more.
    pub(super) fn hold(&self, page: PageId) {
        self.pages.lock().hold(page);
    }

    /// One holder less.
    pub(super) fn release(&self, pages: impl IntoIterator<Item = PageId>) {
        let mut all = self.pages.lock();
        for page in pages {
            all.release(page);
        }
    }

    /// Whether a page may be written by its holder: it is the only one. From then on it cannot be
    /// found by what it held.
    pub(super) fn make_own(&self, page: PageId) -> bool {
        let mut pages = self.pages.lock();
        let is_own = pages.get(page).is_some_and(|page| page.holders == 1);
        if is_own {
            pages.forget(page);
        }
        is_own
    }

    /// The page that follows `before` with these tokens, held once more, and its serial number.
    pub(super) fn find(&self, before: u64, tokens: &[u32]) -> Option<(PageId, u64)> {
        let mut pages = self.pages.lock();
        pages.lookups += 1;
        let page = *pages.index.get(&(before, tokens.into()))?;
        let serial = pages.get(page)?.known.as_ref()?.0;
        pages.hits += 1;
        pages.hold(page);
        Some((page, serial))
    }

    /// A page is full and its contents are there: it can be found from now on. Where another page
    /// has the same contents, that one stays the one that is found. Returns its serial number.
    pub(super) fn know(&self, page: PageId, before: u64, tokens: &[u32]) -> u64 {
        self.pages.lock().know(page, before, tokens)
    }
}

impl Pages {
    fn get(&self, page: PageId) -> Option<&Page> {
        self.list.get(page as usize)
    }

    fn take(&mut self) -> Result<PageId, OutOfPages> {
        let total = self.list.len();
        let page = match self.free.pop() {
            Some(page) => page,
            None => {
                let (_, page) = self.kept.pop_first().ok_or(OutOfPages { total })?;
                self.forget(page);
                page
            }
        };
        if let Some(entry) = self.list.get_mut(page as usize) {
            (entry.holders, entry.kept_at) = (1, None);
        }
        Ok(page)
    }

    fn hold(&mut self, page: PageId) {
        if let Some(entry) = self.list.get_mut(page as usize) {
            entry.holders += 1;
            if let Some(at) = entry.kept_at.take() {
                self.kept.remove(&at);
            }
        }
    }

    fn release(&mut self, page: PageId) {
        let Some(entry) = self.list.get_mut(page as usize) else {
            return;
        };
        debug_assert!(entry.holders > 0, "page {page} was given back twice");
        entry.holders = entry.holders.saturating_sub(1);
        if entry.holders > 0 {
            return;
        }
        if entry.known.is_some() {
            self.serial += 1;
            entry.kept_at = Some(self.serial);
            self.kept.insert(self.serial, page);
        } else {
            self.free.push(page);
        }
    }

    /// The page cannot be found any more.
    fn forget(&mut self, page: PageId) {
        let known = self
            .list
            .get_mut(page as usize)
            .and_then(|page| page.known.take());
        if let Some((_, key)) = known {
            self.index.remove(&key);
        }
    }

    fn know(&mut self, page: PageId, before: u64, tokens: &[u32]) -> u64 {
        let key: Key = (before, tokens.into());
        if let Some(&other) = self.index.get(&key)
            && let Some((serial, _)) = self.get(other).and_then(|page| page.known.as_ref())
        {
            return *serial;
        }
        self.serial += 1;
        let serial = self.serial;
        if let Some(entry) = self.list.get_mut(page as usize) {
            entry.known = Some((serial, key.clone()));
            self.index.insert(key, page);
        }
        serial
    }
}
