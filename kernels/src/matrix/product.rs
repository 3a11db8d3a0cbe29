//! The product: what is cut into tasks, and where each output goes.

use std::cell::RefCell;
use std::ops::Range;

use super::activations::{self, Activations};
use super::tile::{self, Input, Lanes};
use super::{BLOCK, Matrix, PANEL, Packed};
use crate::cells::Cells;
use crate::pool::Pool;

/// Rows of `x` that a task passes over with one panel: their activations stay in a second-level
/// cache while panels of weights go by.
const ROWS: usize = 64;

/// Bytes of weights for which a task is worth its start of some 0.2 µs.
const TASK: usize = 16 << 10;

/// Tasks for each thread: threads that lose their core to others for a while leave more to the rest.
const SHARE: usize = 4;

thread_local! {
    /// Kept from one product to the next, so that none allocates in a steady state.
    static SCRATCH: RefCell<Activations> = RefCell::default();
}

/// `y[i] = x w[i]^T` for several matrices that share their input: `x` is `[m, cols]`, `w[i]` is
/// `[rows_i, cols]`, `y[i]` becomes `[m, rows_i]`. Any `m`, 0 too.
///
/// What is rounded, and that `m` and the company of other matrices do not matter, is said in
/// [`matrix`](super).
///
/// # Panics
/// When the sizes do not go together: the caller's mistake.
pub fn matmul(pool: &Pool, x: &[f32], w: &[&Matrix], y: &mut [&mut [f32]]) {
    let Some(first) = w.first() else { return };
    let cols = first.cols;
    let m = x.len() / cols;
    assert_eq!(x.len(), m * cols, "x is whole rows of {cols}");
    assert_eq!(w.len(), y.len(), "an output for each matrix");
    for (w, y) in w.iter().zip(y.iter()) {
        assert_eq!(w.cols, cols, "matrices share their input");
        assert_eq!(y.len(), m * w.rows, "an output is {m} rows of {}", w.rows);
    }
    if m == 0 {
        return;
    }
    // Taken, not borrowed: a panic leaves an empty one behind.
    let mut scratch = SCRATCH.take();
    if w.iter().any(|w| w.is_quantised()) {
        quantise(pool, x, cols, &mut scratch);
    }
    let input = Input {
        x,
        quantised: &scratch,
        cols,
    };
    let y: Vec<Cells<'_, f32>> = y.iter_mut().map(|y| Cells::new(y)).collect();
    let plan = Plan::new(pool.threads(), m, w);
    pool.run(plan.tasks(), |task| {
        let (rows, panels) = plan.task(task);
        for_each_panel(w, panels, |index, panel| {
            product(w[index], panel, &input, rows.clone(), &y[index]);
        });
    });
    SCRATCH.set(scratch);
}

/// Rows by panels, cut into tasks.
#[derive(Debug)]
struct Plan {
    m: usize,
    rows: usize,
    panels: usize,
    /// Panels of a task.
    group: usize,
}

impl Plan {
    fn new(threads: usize, m: usize, w: &[&Matrix]) -> Self {
        let panels: usize = w.iter().map(|w| w.panels()).sum();
        let bytes: usize = w.iter().map(|w| w.bytes()).sum();
        let rows = m.min(ROWS);
        let blocks = m.div_ceil(rows);
        let share = (panels * blocks).div_ceil(threads * SHARE);
        let worth = TASK.div_ceil((bytes / panels).max(1) * rows);
        let group = if threads == 1 {
            panels
        } else {
            share.max(worth).min(panels)
        };
        Self {
            m,
            rows,
            panels,
            group,
        }
    }

    fn tasks(&self) -> usize {
        self.m.div_ceil(self.rows) * self.panels.div_ceil(self.group)
    }

    fn task(&self, task: usize) -> (Range<usize>, Range<usize>) {
        let groups = self.panels.div_ceil(self.group);
        let (row, panel) = (task / groups * self.rows, task % groups * self.group);
        (
            row..self.m.min(row + self.rows),
            panel..self.panels.min(panel + self.group),
        )
    }
}

/// Calls `each` with matrix and panel for a range of the panels of all matrices, one after another.
fn for_each_panel(w: &[&Matrix], range: Range<usize>, each: impl Fn(usize, usize)) {
    let mut before = 0;
    for (index, w) in w.iter().enumerate() {
        let panels = w.panels();
        let start = range.start.max(before);
        let end = range.end.min(before + panels);
        (start..end).for_each(|panel| each(index, panel - before));
        before += panels;
    }
}

fn product(w: &Matrix, panel: usize, input: &Input<'_>, rows: Range<usize>, y: &Cells<'_, f32>) {
    let steps = w.cols / w.format.block().0;
    let range = panel * steps..(panel + 1) * steps;
    let first = panel * PANEL;
    let lanes = PANEL.min(w.rows - first);
    let write = |row: usize, from: &Lanes| {
        // SAFETY: a task alone has these rows of this panel.
        #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
        let to = unsafe { y.part(row * w.rows + first, lanes) };
        to.copy_from_slice(&from[..lanes]);
    };
    match &w.packed {
        Packed::F32(p) => tile::panel(&p[range], input, rows, write),
        Packed::F16(p) => tile::panel(&p[range], input, rows, write),
        Packed::Bf16(p) => tile::panel(&p[range], input, rows, write),
        Packed::Q8_0(p) => tile::panel(&p[range], input, rows, write),
        Packed::Q4_0(p) => tile::panel(&p[range], input, rows, write),
        Packed::Q4_1(p) => tile::panel(&p[range], input, rows, write),
    }
}

/// Quantises all rows, many of them on all threads.
fn quantise(pool: &Pool, x: &[f32], cols: usize, out: &mut Activations) {
    const ROWS: usize = 16;
    let blocks = cols / BLOCK;
    out.resize(x.len() / BLOCK);
    let values = Cells::new(&mut out.values);
    let scales = Cells::new(&mut out.scales);
    let sums = Cells::new(&mut out.sums);
    let m = x.len() / cols;
    pool.run(m.div_ceil(ROWS), |task| {
        let (first, rows) = (task * ROWS, ROWS.min(m - task * ROWS));
        // SAFETY: a task alone has these rows.
        #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
        let (values, scales, sums) = unsafe {
            (
                values.part(first * cols, rows * cols),
                scales.part(first * blocks, rows * blocks),
                sums.part(first * blocks, rows * blocks),
            )
        };
        let x = &x[first * cols..(first + rows) * cols];
        activations::quantise(x, values, scales, sums);
    });
}
