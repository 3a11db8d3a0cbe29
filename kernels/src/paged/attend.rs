//! What queries make of keys and values.
//!
//! ```text
//! out = sum over t of softmax_t(scale q . k[t]) v[t]
//! ```
//!
//! A task has one row and one head of keys and values, with all heads of queries that share it.
//! Scores of all positions come first, then the probabilities, then the sum of values: the scores
//! of a row are few next to what was read to make them.

use std::cell::RefCell;
use std::ops::Range;

use super::store::{LANES, Store};
use crate::cells::Cells;
use crate::cpu::{multiply_add, vectorised};
use crate::ops::softmax::exp_all;
use crate::pool::Pool;

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
    /// Scores, kept from one task to the next.
    static SCORES: RefCell<Vec<f32>> = RefCell::default();
}

/// Writes what each row of queries gets from `layer` of the store, `[rows, heads, head_dim]`.
///
/// # Panics
/// When the sizes do not go together, or a row sees a position for which it has no page.
pub fn attend(pool: &Pool, store: &Store, layer: usize, queries: &Queries<'_>, out: &mut [f32]) {
    let shape = store.shape();
    let dim = shape.head_dim;
    let group = queries.heads / shape.kv_heads;
    assert_eq!(queries.heads, group * shape.kv_heads, "heads share evenly");
    let size = queries.rows.len() * queries.heads * dim;
    assert_eq!(
        [queries.q.len(), out.len()],
        [size; 2],
        "a query for each row"
    );
    if size == 0 {
        return;
    }
    let out = Cells::new(out);
    pool.run(queries.rows.len() * shape.kv_heads, |task| {
        let (row, head) = (task / shape.kv_heads, task % shape.kv_heads);
        let size = group * dim;
        let q = &queries.q[task * size..(task + 1) * size];
        // SAFETY: a task alone has these heads of this row.
        #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
        let out = unsafe { out.part(task * size, size) };
        let one = One {
            store,
            layer,
            head,
            scale: queries.scale,
            row: &queries.rows[row],
        };
        let mut scores = SCORES.take();
        heads(&one, q, &mut scores, out);
        SCORES.set(scores);
    });
}

/// A row and a head of keys and values.
struct One<'a> {
    store: &'a Store,
    layer: usize,
    head: usize,
    scale: f32,
    row: &'a Row<'a>,
}

impl One<'_> {
    fn positions(&self) -> Range<usize> {
        let end = self.row.position + 1;
        let window = self.row.window.map_or(end, |window| window.clamp(1, end));
        end - window..end
    }

    /// The slots of a page that are seen, page by page.
    fn pages(&self) -> impl Iterator<Item = (u32, Range<usize>)> {
        let tokens = self.store.shape().page_tokens;
        let seen = self.positions();
        (seen.start / tokens..seen.end.div_ceil(tokens)).map(move |page| {
            let first = page * tokens;
            let slots = seen.start.max(first) - first..seen.end.min(first + tokens) - first;
            (self.row.pages[page], slots)
        })
    }
}

vectorised! {
    /// All heads of queries that share a head of keys.
    fn heads(one: &One<'_>, q: &[f32], scores: &mut Vec<f32>, out: &mut [f32]) {
        let dim = one.store.shape().head_dim;
        let count = one.positions().len();
        scores.resize(count, 0.0);
        for (q, out) in q.chunks_exact(dim).zip(out.chunks_exact_mut(dim)) {
            let mut at = 0;
            for (page, slots) in one.pages() {
                let keys = one.store.keys(one.layer, page, one.head);
                let to = &mut scores[at..at + slots.len()];
                at += slots.len();
                score(q, keys, one.store.stride(), slots, one.scale, to);
            }
            let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let total = exp_all(scores, largest);
            out.fill(0.0);
            let mut at = 0;
            for (page, slots) in one.pages() {
                let values = one.store.values(one.layer, page, one.head);
                let values = values[slots.start * dim..slots.end * dim].chunks_exact(dim);
                for (weight, value) in scores[at..].iter().zip(values) {
                    for (out, v) in out.iter_mut().zip(value) {
                        *out = multiply_add(*weight, *v, *out);
                    }
                }
                at += slots.len();
            }
            let factor = 1.0 / total;
            for out in out {
                *out *= factor;
            }
        }
    }
}

/// Scores of the slots of a page.
#[inline(always)]
fn score(q: &[f32], keys: &[f32], stride: usize, slots: Range<usize>, scale: f32, to: &mut [f32]) {
    for lane in (slots.start / LANES * LANES..slots.end).step_by(LANES) {
        let mut sums = [0.0; LANES];
        for (q, keys) in q.iter().zip(keys[lane..].chunks(stride)) {
            let Some(keys) = keys.first_chunk::<LANES>() else {
                break;
            };
            for (sum, key) in sums.iter_mut().zip(keys) {
                *sum = multiply_add(*q, *key, *sum);
            }
        }
        for (slot, sum) in (lane..).zip(sums) {
            if slots.contains(&slot) {
                to[slot - slots.start] = sum * scale;
            }
        }
    }
}
