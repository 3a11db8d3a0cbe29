//! One request's tokens, and the pages that their keys and values lie in.

use super::{
    PageId, Pool,
    pool::{OutOfPages, ROOT},
};

/// The tokens of one request and their pages, in order. Dropping it gives the pages back.
///
/// ```
/// use runtime::kv::{Config, Pool};
///
/// let pool = Pool::new(Config { pages: 4, page_tokens: 2, ..Config::default() });
/// let mut first = pool.open();
/// first.append(&[1, 2, 3])?;
/// // The model has computed them: full pages can be found again.
/// first.commit();
/// let mut second = pool.open();
/// assert_eq!(second.adopt(&[1, 2, 9]), 2, "two tokens need not be computed");
/// second.append(&[9])?;
/// assert_eq!(first.pages()[0], second.pages()[0]);
/// # Ok::<(), runtime::kv::OutOfPages>(())
/// ```
#[derive(Debug)]
pub struct Sequence {
    pool: Pool,
    pages: Vec<PageId>,
    tokens: Vec<u32>,
    /// The serial numbers of full pages that were computed, in order.
    chain: Vec<u64>,
    /// Pages from the start that were given back.
    gone: usize,
    /// The window that they were given back behind; 0 where none was.
    window: usize,
}

/// What is to be done before new tokens are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Append {
    /// Pages to be copied, from and to: they were shared, and are written now.
    pub copies: Vec<(PageId, PageId)>,
}

/// Stands for a page that was given back, behind a sliding window.
pub const GONE: PageId = PageId::MAX;

impl Sequence {
    pub(super) fn new(pool: Pool) -> Self {
        Self {
            pool,
            pages: Vec::new(),
            tokens: Vec::new(),
            chain: Vec::new(),
            gone: 0,
            window: 0,
        }
    }

    /// Number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether it has no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The page of each `page_tokens` tokens, in order; [`GONE`] for those behind a window.
    #[must_use]
    pub fn pages(&self) -> &[PageId] {
        &self.pages
    }

    /// Takes over what an earlier request has computed for the same first tokens, where this
    /// sequence is empty: whole pages, and at least one token of `tokens` is left to be computed.
    /// Returns how many tokens that are.
    pub fn adopt(&mut self, tokens: &[u32]) -> usize {
        let config = self.pool.config();
        let size = config.page_tokens;
        if !self.is_empty() || !config.reuse {
            return 0;
        }
        let most = tokens.len().saturating_sub(1);
        let mut before = ROOT;
        for block in tokens.get(..most).unwrap_or_default().chunks_exact(size) {
            let Some((page, serial)) = self.pool.find(before, block) else {
                break;
            };
            before = serial;
            self.pages.push(page);
            self.chain.push(serial);
            self.tokens.extend_from_slice(block);
        }
        self.len()
    }

    /// Makes room for more tokens.
    ///
    /// # Errors
    /// [`OutOfPages`]; the sequence is as it was then.
    pub fn append(&mut self, tokens: &[u32]) -> Result<Append, OutOfPages> {
        let size = self.pool.config().page_tokens;
        let mut append = Append::default();
        if tokens.is_empty() {
            return Ok(append);
        }
        let needed = (self.len() + tokens.len()).div_ceil(size) - self.pages.len();
        let mut taken = Vec::with_capacity(needed + 1);
        let mut take = || {
            let page = self.pool.take();
            taken.extend(page.ok());
            page
        };
        // The last page has room, and may be somebody else's, too.
        let last = self.pages.last().copied();
        let shared = last.filter(|&page| {
            !self.len().is_multiple_of(size) && page != GONE && !self.pool.make_own(page)
        });
        let wanted = needed + usize::from(shared.is_some());
        for _ in 0..wanted {
            if let Err(error) = take() {
                self.pool.release(taken);
                return Err(error);
            }
        }
        let mut taken = taken.into_iter();
        if let (Some(shared), Some(own)) = (shared, shared.and_then(|_| taken.next())) {
            append.copies.push((shared, own));
            self.pool.release([shared]);
            self.pages.pop();
            self.pages.push(own);
        }
        self.pages.extend(taken);
        self.tokens.extend_from_slice(tokens);
        Ok(append)
    }

    /// All tokens have been computed: pages that are full can be found by other requests.
    pub fn commit(&mut self) {
        let config = self.pool.config();
        if !config.reuse {
            return;
        }
        let full = self.tokens.chunks_exact(config.page_tokens);
        for (block, &page) in full.zip(&self.pages).skip(self.chain.len()) {
            let before = self.chain.last().copied().unwrap_or(ROOT);
            if page == GONE {
                return;
            }
            let serial = self.pool.know(page, before, block);
            self.chain.push(serial);
        }
    }

    /// Goes back to the first `position` tokens; the pages of the others are given back. Where
    /// pages that the next token looks at were given back behind a window, it goes back to the
    /// beginning, as they must be computed again. Returns how many tokens it has then.
    pub fn rollback(&mut self, position: usize) -> usize {
        let size = self.pool.config().page_tokens;
        if position >= self.len() {
            return self.len();
        }
        let seen = (position + 1).saturating_sub(self.window) / size;
        let position = if seen < self.gone { 0 } else { position };
        self.tokens.truncate(position);
        self.chain.truncate(position / size);
        let keep = position.div_ceil(size);
        self.gone = self.gone.min(keep);
        let gone = self.pages.drain(keep..).filter(|&page| page != GONE);
        self.pool.release(gone);
        position
    }

    /// Gives back the pages whose tokens all lie `window` or more before the next one.
    pub fn slide(&mut self, window: usize) {
        let size = self.pool.config().page_tokens;
        let behind = (self.len() + 1).saturating_sub(window) / size;
        self.window = window;
        for page in self.pages.iter_mut().take(behind).skip(self.gone) {
            self.pool.release([std::mem::replace(page, GONE)]);
        }
        self.gone = self.gone.max(behind.min(self.pages.len()));
    }

    /// A second sequence with the same tokens, which shares all pages until one of them writes.
    #[must_use]
    pub fn fork(&self) -> Self {
        for &page in self.pages.iter().filter(|&&page| page != GONE) {
            self.pool.hold(page);
        }
        Self {
            pool: self.pool.clone(),
            pages: self.pages.clone(),
            tokens: self.tokens.clone(),
            chain: self.chain.clone(),
            gone: self.gone,
            window: self.window,
        }
    }

    /// The tokens.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }
}

impl Drop for Sequence {
    fn drop(&mut self) {
        let pages = self.pages.drain(..).filter(|&page| page != GONE);
        self.pool.release(pages);
    }
}
