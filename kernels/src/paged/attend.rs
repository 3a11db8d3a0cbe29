//! What queries make of keys and values.
//!
//! ```text
//! out = sum over t of softmax_t(scale q . k[t]) v[t]
//! ```
//!
//! A task has one head of keys and values, all heads of queries that share it, and one row or some
//! neighbours in a sequence: what it reads serves all of them. Scores of all positions come first,
//! then the probabilities, then the sum of values; keys and values lie as the panels of a matrix
//! do, so that both are the loop of a product.
//!
//! A row that shares a task with later ones of its sequence multiplies what it does not see by
//! zero: an infinity that its own sequence wrote in this very step would show. It never touches
//! another sequence's pages.

use std::cell::RefCell;
use std::ops::Range;

use super::store::Store;
use crate::cells::Cells;
use crate::cpu::vectorised;
use crate::matrix::PANEL;
use crate::matrix::tile::Lanes;
use crate::ops::softmax::exp_all;
use crate::pool::Pool;

/// Rows of a sequence that share a task.
const ROWS: usize = 8;

/// Where a row of queries stands, and what it sees.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The pages of its sequence: position `t` is in slot `t % page_tokens` of page
    /// `pages[t / page_tokens]`.
    pub pages: &'a [u32],
    /// It attends to positions `0..=position`.
    pub position: usize,
    /// And only to the last so many of them, at least 1. Pages before those may hold anything.
    pub window: Option<usize>,
}

/// Rows of queries.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    /// `[rows, heads, head_dim]`; a head of keys and values serves `heads / kv_heads` neighbours.
    pub q: &'a [f32],
    /// Heads of queries, a multiple of those of keys and values.
    pub heads: usize,
    /// What scores are multiplied with, mostly `1 / sqrt(head_dim)`.
    pub scale: f32,
    /// One for each row of `q`, of any sequences.
    pub rows: &'a [Row<'a>],
}

thread_local! {
    /// Kept from one task to the next.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// What a task needs for its `n` queries: rows by heads.
#[derive(Default)]
struct Scratch {
    /// `[n, head_dim]`.
    q: Vec<f32>,
    /// `[n, positions]`.
    scores: Vec<f32>,
    /// `[n]`, what the weights add up to.
    totals: Vec<f32>,
    /// `[n]`.
    sums: Vec<Lanes>,
}

/// Writes what each row of queries gets from `layer` of the store, `[rows, heads, head_dim]`.
///
/// # Panics
/// When the sizes do not go together, or a row sees a position for which it has no page.
pub fn attend(pool: &Pool, store: &Store, layer: usize, queries: &Queries<'_>, out: &mut [f32]) {
    let shape = store.shape();
    let group = queries.heads / shape.kv_heads;
    assert_eq!(queries.heads, group * shape.kv_heads, "heads share evenly");
    let size = queries.rows.len() * queries.heads * shape.head_dim;
    assert_eq!(
        [queries.q.len(), out.len()],
        [size; 2],
        "a query for each row"
    );
    if size == 0 {
        return;
    }
    let out = Cells::new(out);
    let neighbours = neighbours(queries.rows);
    pool.run(neighbours.len() * shape.kv_heads, |task| {
        let task = Task {
            store,
            layer,
            head: task % shape.kv_heads,
            group,
            queries,
            rows: neighbours[task / shape.kv_heads].clone(),
        };
        let mut scratch = SCRATCH.take();
        task.run(&mut scratch, &out);
        SCRATCH.set(scratch);
    });
}

/// Rows in groups that follow each other in one sequence.
fn neighbours(rows: &[Row<'_>]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        if let (Some(group), Some(before)) = (groups.last_mut(), index.checked_sub(1)) {
            let before = &rows[before];
            let next = row.position == before.position + 1 && row.window == before.window;
            if next && group.len() < ROWS && row.pages == before.pages {
                group.end += 1;
                continue;
            }
        }
        groups.push(index..index + 1);
    }
    groups
}

impl Row<'_> {
    fn seen(&self) -> Range<usize> {
        let end = self.position + 1;
        let window = self.window.map_or(end, |window| window.clamp(1, end));
        end - window..end
    }
}

struct Task<'a> {
    store: &'a Store,
    layer: usize,
    head: usize,
    /// Heads of queries.
    group: usize,
    queries: &'a Queries<'a>,
    /// Neighbours: they have the same pages.
    rows: Range<usize>,
}

impl Task<'_> {
    fn run(&self, scratch: &mut Scratch, out: &Cells<'_, f32>) {
        let rows = &self.queries.rows[self.rows.clone()];
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return;
        };
        let tokens = self.store.shape().page_tokens;
        let seen = first.seen().start..last.seen().end;
        let pages = seen.start / tokens..seen.end.div_ceil(tokens);
        let base = pages.start * tokens;
        let pages = &first.pages[pages];
        let n = rows.len() * self.group;
        scratch.sums.resize(n, [0.0; PANEL]);
        scratch.scores.resize(n * pages.len() * tokens, 0.0);
        self.gather(scratch);
        self.score(pages, scratch);
        self.weigh(rows, base, scratch);
        self.mix(pages, seen.start - base..seen.end - base, scratch, out);
    }

    /// Where in queries and outputs the heads of each row begin.
    fn starts(&self) -> impl Iterator<Item = usize> {
        let dim = self.store.shape().head_dim;
        let (heads, first) = (self.queries.heads, self.head * self.group);
        self.rows
            .clone()
            .map(move |row| (row * heads + first) * dim)
    }

    fn gather(&self, scratch: &mut Scratch) {
        let size = self.group * self.store.shape().head_dim;
        scratch.q.clear();
        for start in self.starts() {
            scratch
                .q
                .extend_from_slice(&self.queries.q[start..start + size]);
        }
    }

    /// Scores of all slots of the pages.
    fn score(&self, pages: &[u32], scratch: &mut Scratch) {
        let shape = self.store.shape();
        let width = pages.len() * shape.page_tokens;
        for (index, &page) in pages.iter().enumerate() {
            // Pages lie anywhere: the next one's keys, and the values that are needed after.
            self.store.prefetch_values(self.layer, page, self.head);
            if let Some(&next) = pages.get(index + 1) {
                self.store.prefetch_keys(self.layer, next, self.head);
            }
            for panel in 0..shape.page_tokens.div_ceil(PANEL) {
                let keys = self.store.keys(self.layer, page, self.head, panel);
                scratch.sums.fill([0.0; PANEL]);
                keys.accumulate(&scratch.q, shape.head_dim, &mut scratch.sums);
                let count = PANEL.min(shape.page_tokens - panel * PANEL);
                let first = index * shape.page_tokens + panel * PANEL;
                let rows = scratch.scores.chunks_exact_mut(width);
                for (scores, sums) in rows.zip(&scratch.sums) {
                    for (score, sum) in scores[first..first + count].iter_mut().zip(sums) {
                        *score = sum * self.queries.scale;
                    }
                }
            }
        }
    }

    /// Makes weights of the scores that a row sees, and zeros of the others.
    fn weigh(&self, rows: &[Row<'_>], base: usize, scratch: &mut Scratch) {
        let width = scratch.scores.len() / (rows.len() * self.group);
        scratch.totals.clear();
        for (index, scores) in scratch.scores.chunks_exact_mut(width).enumerate() {
            let seen = rows[index / self.group].seen();
            let (before, rest) = scores.split_at_mut(seen.start - base);
            let (scores, after) = rest.split_at_mut(seen.len());
            before.fill(0.0);
            after.fill(0.0);
            scratch.totals.push(weights(scores));
        }
    }

    /// Sums values by the weights of their slots.
    fn mix(&self, pages: &[u32], slots: Range<usize>, scratch: &mut Scratch, out: &Cells<'_, f32>) {
        let shape = self.store.shape();
        let (dim, tokens) = (shape.head_dim, shape.page_tokens);
        let width = pages.len() * tokens;
        for panel in 0..dim.div_ceil(PANEL) {
            scratch.sums.fill([0.0; PANEL]);
            for (index, &page) in pages.iter().enumerate() {
                let first = index * tokens;
                let seen = slots.start.max(first)..slots.end.min(first + tokens);
                let slots = seen.start - first..seen.end - first;
                let values = self.store.values(self.layer, page, self.head, panel, slots);
                let weights = &scratch.scores[seen.start..];
                values.accumulate(weights, width, &mut scratch.sums);
            }
            let first = panel * PANEL;
            let count = PANEL.min(dim - first);
            let mut sums = scratch.sums.iter().zip(&scratch.totals);
            for start in self.starts() {
                for (head, (sums, total)) in sums.by_ref().take(self.group).enumerate() {
                    // SAFETY: a task alone has these heads of these rows.
                    #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
                    let out = unsafe { out.part(start + head * dim + first, count) };
                    for (out, sum) in out.iter_mut().zip(sums) {
                        *out = sum / total;
                    }
                }
            }
        }
    }
}

vectorised! {
    /// Scores become weights, whose sum is returned.
    fn weights(scores: &mut [f32]) -> f32 {
        let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        exp_all(scores, largest)
    }
}
