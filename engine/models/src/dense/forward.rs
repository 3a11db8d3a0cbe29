//! One pass of tokens through a dense model: rows of several requests at once.
//!
//! ```text
//! tokens ─▶ embedding ─▶ x ┬─▶ norm ─▶ q k v ─▶ (head norms) ─▶ rope ─▶ pages ─▶ attention ─▶ output ─▶ + ─┐
//!                          └───────────────────────────────────────────────────────────────────────▶ ┘   │
//!            logits ◀─ head ◀─ norm ◀─ … ◀─ + ◀─ down ◀─ silu(gate) · up ◀─ norm ◀──────────────────────── x
//! ```
//!
//! A row is one token of one request. All of a step's rows go through each matrix together, then
//! each attends to its own request's pages, up to its own position: a prompt may come in chunks,
//! and beside others' tokens, and no row sees another request's.
//!
//! Hot path: memory is kept from step to step; a step allocates a list of rows.

use std::sync::Arc;

use kernels::ops::{self, rope::Angles};
use kernels::paged::{self, Queries, Row, Store};
use kernels::{Pool, matmul};
use runtime::kv::Step;

use super::network::{Layer, Network};

/// A model with the keys and values of what it has read.
pub(super) struct Forward {
    network: Arc<Network>,
    pool: Arc<Pool>,
    store: Store,
    page_tokens: usize,
    memory: Memory,
}

/// What one step works on, kept for the next; all `[rows, …]`.
#[derive(Default)]
struct Memory {
    /// Hidden states, `width` wide.
    states: Vec<f32>,
    /// The same, normed; and what is added to them.
    normed: Vec<f32>,
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    attended: Vec<f32>,
    gate: Vec<f32>,
    up: Vec<f32>,
    positions: Vec<usize>,
    /// By which heads are turned, once for all layers.
    angles: Angles,
    /// The page and the slot of each row.
    places: Vec<(u32, usize)>,
}

/// A point of the pass that tests look at, `[rows, …]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    Embedded,
    Keys(usize),
    Values(usize),
    Block(usize),
    /// Of the rows whose logits are asked for.
    FinalNorm,
}

impl Forward {
    /// A model with room for so many pages of so many tokens each; none where that is nothing, or
    /// more than can be counted.
    pub(super) fn new(
        network: Arc<Network>,
        pool: Arc<Pool>,
        pages: usize,
        page_tokens: usize,
    ) -> Option<Self> {
        let shape = &network.architecture;
        let store = Store::new(paged::Shape {
            layers: shape.layers,
            pages,
            page_tokens,
            kv_heads: shape.kv_heads,
            head_dim: shape.head_dim,
        })?;
        Some(Self {
            network,
            pool,
            store,
            page_tokens,
            memory: Memory::default(),
        })
    }

    /// Runs the rows of a step and writes the logits of those asked for, `[asked, vocabulary]`.
    /// `watch` is shown what is computed on the way.
    pub(super) fn run(
        &mut self,
        step: &Step<'_>,
        logits: &mut [f32],
        watch: &mut impl FnMut(Point, &[f32]),
    ) {
        for &(from, to) in step.copies {
            self.store.copy_page(from, to);
        }
        let memory = &mut self.memory;
        memory.lay_out(step, self.page_tokens);
        let positions = memory.positions.iter().copied();
        memory.angles.set(positions, &self.network.frequencies);
        self.embed(step.tokens);
        watch(Point::Embedded, &self.memory.states);
        let rows = rows(step);
        let network = Arc::clone(&self.network);
        for (index, layer) in network.layers.iter().enumerate() {
            self.attend(index, layer, &rows, watch);
            self.feed_forward(layer);
            watch(Point::Block(index), &self.memory.states);
        }
        self.head(step, logits, watch);
    }

    fn embed(&mut self, tokens: &[u32]) {
        let width = self.network.architecture.width;
        let states = room(&mut self.memory.states, tokens.len() * width);
        for (&token, state) in tokens.iter().zip(states.chunks_exact_mut(width)) {
            self.network.embedding.row(token as usize, state);
        }
    }

    fn attend(
        &mut self,
        index: usize,
        layer: &Layer,
        rows: &[Row<'_>],
        watch: &mut impl FnMut(Point, &[f32]),
    ) {
        let Self {
            network,
            pool,
            store,
            memory,
            ..
        } = self;
        let (shape, eps) = (&network.architecture, network.architecture.norm_eps);
        let count = rows.len();
        let normed = room(&mut memory.normed, count * shape.width);
        ops::rms_norm(pool, &memory.states, &layer.attention_norm, eps, normed);
        let queries = room(&mut memory.queries, count * shape.query_width());
        let keys = room(&mut memory.keys, count * shape.kv_width());
        let values = room(&mut memory.values, count * shape.kv_width());
        let projections = [&layer.query, &layer.key, &layer.value];
        matmul(pool, normed, &projections, &mut [queries, keys, values]);
        if let Some([query_norm, key_norm]) = &layer.head_norms {
            ops::rms_norm_in_place(pool, queries, query_norm, eps);
            ops::rms_norm_in_place(pool, keys, key_norm, eps);
        }
        ops::rope(pool, queries, shape.heads, &memory.angles);
        ops::rope(pool, keys, shape.kv_heads, &memory.angles);
        watch(Point::Keys(index), keys);
        watch(Point::Values(index), values);
        let kv = keys
            .chunks_exact(shape.kv_width())
            .zip(values.chunks_exact(shape.kv_width()));
        for (&(page, slot), (key, value)) in memory.places.iter().zip(kv) {
            store.write(index, page, slot, key, value);
        }
        let attended = room(&mut memory.attended, queries.len());
        let queries = Queries {
            q: queries,
            heads: shape.heads,
            scale: network.scale,
            rows,
        };
        paged::attend(pool, store, index, &queries, attended);
        matmul(pool, attended, &[&layer.output], &mut [normed]);
        ops::add(pool, &mut memory.states, normed);
    }

    fn feed_forward(&mut self, layer: &Layer) {
        let Self {
            network,
            pool,
            memory,
            ..
        } = self;
        let shape = &network.architecture;
        let count = memory.positions.len();
        let normed = room(&mut memory.normed, count * shape.width);
        ops::rms_norm(
            pool,
            &memory.states,
            &layer.mlp_norm,
            shape.norm_eps,
            normed,
        );
        let gate = room(&mut memory.gate, count * shape.hidden);
        let up = room(&mut memory.up, count * shape.hidden);
        matmul(pool, normed, &[&layer.gate, &layer.up], &mut [gate, up]);
        ops::silu_mul(pool, gate, up);
        matmul(pool, gate, &[&layer.down], &mut [normed]);
        ops::add(pool, &mut memory.states, normed);
    }

    fn head(&mut self, step: &Step<'_>, logits: &mut [f32], watch: &mut impl FnMut(Point, &[f32])) {
        let Self {
            network,
            pool,
            memory,
            ..
        } = self;
        let shape = &network.architecture;
        let gathered = &mut memory.gate;
        gathered.clear();
        let asked = step.members.iter().filter(|member| member.logits);
        for last in asked.filter_map(|member| member.range.clone().last()) {
            let state = last * shape.width..(last + 1) * shape.width;
            gathered.extend_from_slice(&memory.states[state]);
        }
        if gathered.is_empty() {
            return;
        }
        let normed = room(&mut memory.normed, gathered.len());
        ops::rms_norm(pool, gathered, &network.final_norm, shape.norm_eps, normed);
        watch(Point::FinalNorm, normed);
        matmul(pool, normed, &[network.head()], &mut [logits]);
    }
}

/// A buffer's first `length` numbers; what they were does not matter.
fn room(buffer: &mut Vec<f32>, length: usize) -> &mut [f32] {
    buffer.resize(length, 0.0);
    buffer
}

impl Memory {
    /// Where each row of the step stands.
    fn lay_out(&mut self, step: &Step<'_>, page_tokens: usize) {
        self.positions.clear();
        self.places.clear();
        for member in step.members {
            for position in member.past..member.past + member.range.len() {
                let page = member.pages[position / page_tokens];
                self.places.push((page, position % page_tokens));
                self.positions.push(position);
            }
        }
    }
}

/// The rows as attention takes them.
fn rows<'a>(step: &Step<'a>) -> Vec<Row<'a>> {
    let mut rows = Vec::with_capacity(step.tokens.len());
    for member in step.members {
        let positions = member.past..member.past + member.range.len();
        rows.extend(positions.map(|position| Row {
            pages: member.pages,
            position,
            window: None,
        }));
    }
    rows
}
