//! The memory of all pages.

use std::ops::Range;

use crate::cpu::prefetch;
use crate::half::to_f16;
use crate::matrix::tile::{Lanes, accumulate};
use crate::matrix::{F16, Floats, PANEL};
use crate::slab::{Plain, Slab};

/// What a [`Store`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Layers of the model; each has its own keys and values in every page.
    pub layers: usize,
    /// Pages.
    pub pages: usize,
    /// Tokens of a page.
    pub page_tokens: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Numbers of a head.
    pub head_dim: usize,
}

/// Keys and values of `layers x pages x page_tokens x kv_heads x head_dim`, zero at first.
///
/// ```text
/// keys    [layer][page][head][panel of 16 tokens][dim][token]   scores of neighbours are a vector
/// values  [layer][page][head][panel of 16 numbers][token][dim]  neighbours of an output are one
/// ```
#[derive(Debug)]
pub struct Store {
    shape: Shape,
    panels: Panels,
}

/// Keys, then values.
#[derive(Debug)]
enum Panels {
    F32([Slab<Floats>; 2]),
    F16([Slab<F16>; 2]),
}

/// Part of the panels of a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'a> {
    F32(&'a [Floats]),
    F16(&'a [F16]),
}

impl Store {
    /// Memory for all pages in `f32`; none if a size is zero or the system refuses so much. The
    /// memory is taken when it is first written.
    #[must_use]
    pub fn new(shape: Shape) -> Option<Self> {
        let [keys, values] = shape.panels()?;
        let panels = Panels::F32([Slab::new(keys)?, Slab::new(values)?]);
        Some(Self { shape, panels })
    }

    /// As [`Store::new`] in half the memory: keys and values are rounded to binary16, whose 11 bits
    /// are a relative 2^-12, and whose range ends at 65,504. Long contexts are read in half the
    /// time.
    #[must_use]
    pub fn in_halves(shape: Shape) -> Option<Self> {
        let [keys, values] = shape.panels()?;
        let panels = Panels::F16([Slab::new(keys)?, Slab::new(values)?]);
        Some(Self { shape, panels })
    }

    /// What it was made for.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Bytes of a page in all layers.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        let bytes = match &self.panels {
            Panels::F32([keys, values]) => size_of_val(&**keys) + size_of_val(&**values),
            Panels::F16([keys, values]) => size_of_val(&**keys) + size_of_val(&**values),
        };
        bytes / self.shape.pages
    }

    /// Writes a token's keys and values, each `[kv_heads, head_dim]`, to a slot of a page.
    ///
    /// # Panics
    /// When there is no such layer, page or slot, or `k` or `v` has another size.
    pub fn write(&mut self, layer: usize, page: u32, slot: usize, k: &[f32], v: &[f32]) {
        let Shape {
            kv_heads,
            head_dim,
            page_tokens,
            ..
        } = self.shape;
        assert_eq!(
            [k.len(), v.len()],
            [kv_heads * head_dim; 2],
            "keys and values of a token"
        );
        assert!(slot < page_tokens, "slot {slot} of {page_tokens}");
        let heads = k.chunks_exact(head_dim).zip(v.chunks_exact(head_dim));
        for (head, (k, v)) in heads.enumerate() {
            let keys = self.keys_at(layer, page, head) + slot / PANEL * head_dim;
            let values = self.values_at(layer, page, head) + slot;
            match &mut self.panels {
                Panels::F32(panels) => {
                    write(panels, [keys, values], slot % PANEL, page_tokens, [k, v]);
                }
                Panels::F16(panels) => {
                    write(panels, [keys, values], slot % PANEL, page_tokens, [k, v]);
                }
            }
        }
    }

    /// Copies a page in all layers: what is shared is about to be written.
    ///
    /// # Panics
    /// When there is no such page.
    pub fn copy_page(&mut self, from: u32, to: u32) {
        let heads = self.shape.kv_heads;
        let (keys, values) = (heads * self.keys_size(), heads * self.values_size());
        for layer in 0..self.shape.layers {
            let from = [self.keys_at(layer, from, 0), self.values_at(layer, from, 0)];
            let to = [self.keys_at(layer, to, 0), self.values_at(layer, to, 0)];
            for (index, size) in [keys, values].into_iter().enumerate() {
                let (from, to) = (from[index]..from[index] + size, to[index]);
                match &mut self.panels {
                    Panels::F32(panels) => panels[index].copy_within(from, to),
                    Panels::F16(panels) => panels[index].copy_within(from, to),
                }
            }
        }
    }

    /// Keys `[head_dim]` of 16 tokens of a head in a page: those from slot `16 * panel` on.
    pub(super) fn keys(&self, layer: usize, page: u32, head: usize, panel: usize) -> Part<'_> {
        let dim = self.shape.head_dim;
        let start = self.keys_at(layer, page, head) + panel * dim;
        self.part(0, start..start + dim)
    }

    /// Values of some slots of a head in a page, 16 numbers of each: those from `16 * panel` on.
    pub(super) fn values(
        &self,
        layer: usize,
        page: u32,
        head: usize,
        panel: usize,
        slots: Range<usize>,
    ) -> Part<'_> {
        let start = self.values_at(layer, page, head) + panel * self.shape.page_tokens;
        self.part(1, start + slots.start..start + slots.end)
    }

    fn part(&self, of: usize, range: Range<usize>) -> Part<'_> {
        match &self.panels {
            Panels::F32(panels) => Part::F32(&panels[of][range]),
            Panels::F16(panels) => Part::F16(&panels[of][range]),
        }
    }

    pub(super) fn prefetch_keys(&self, layer: usize, page: u32, head: usize) {
        let start = self.keys_at(layer, page, head);
        self.part(0, start..start + self.keys_size()).prefetch();
    }

    pub(super) fn prefetch_values(&self, layer: usize, page: u32, head: usize) {
        let start = self.values_at(layer, page, head);
        self.part(1, start..start + self.values_size()).prefetch();
    }

    /// Where the keys of a head in a page begin.
    fn keys_at(&self, layer: usize, page: u32, head: usize) -> usize {
        (self.page(layer, page) * self.shape.kv_heads + head) * self.keys_size()
    }

    fn values_at(&self, layer: usize, page: u32, head: usize) -> usize {
        (self.page(layer, page) * self.shape.kv_heads + head) * self.values_size()
    }

    fn keys_size(&self) -> usize {
        self.shape.page_tokens.div_ceil(PANEL) * self.shape.head_dim
    }

    fn values_size(&self) -> usize {
        self.shape.head_dim.div_ceil(PANEL) * self.shape.page_tokens
    }

    fn page(&self, layer: usize, page: u32) -> usize {
        let page = usize::try_from(page).unwrap_or(usize::MAX);
        assert!(
            layer < self.shape.layers,
            "layer {layer} of {}",
            self.shape.layers
        );
        assert!(
            page < self.shape.pages,
            "page {page} of {}",
            self.shape.pages
        );
        layer * self.shape.pages + page
    }
}

impl Shape {
    /// Panels of keys and of values.
    fn panels(self) -> Option<[usize; 2]> {
        let size = |columns: usize, rows: usize| {
            [self.layers, self.pages, self.kv_heads, columns]
                .into_iter()
                .try_fold(rows.div_ceil(PANEL), usize::checked_mul)
                .filter(|&size| size > 0 && size <= isize::MAX.unsigned_abs() / size_of::<Floats>())
        };
        Some([
            size(self.head_dim, self.page_tokens)?,
            size(self.page_tokens, self.head_dim)?,
        ])
    }
}

impl Part<'_> {
    fn prefetch(self) {
        match self {
            Self::F32(panels) => panels.iter().for_each(|panel| prefetch(panel)),
            // Two to a line.
            Self::F16(panels) => panels.iter().step_by(2).for_each(|panel| prefetch(panel)),
        }
    }

    /// As [`accumulate`].
    pub(super) fn accumulate(self, x: &[f32], stride: usize, sums: &mut [Lanes]) {
        match self {
            Self::F32(panel) => accumulate(panel, x, stride, sums),
            Self::F16(panel) => accumulate(panel, x, stride, sums),
        }
    }
}

/// A panel that can be written lane by lane.
trait Place {
    fn set(&mut self, lane: usize, value: f32);
}

impl Place for Floats {
    fn set(&mut self, lane: usize, value: f32) {
        self.0[lane] = value;
    }
}

impl Place for F16 {
    fn set(&mut self, lane: usize, value: f32) {
        self.0[lane] = to_f16(value);
    }
}

/// Writes a head of a token: its key to a lane, its value to the first lanes of every `tokens`th.
fn write<T: Plain + Place>(
    [keys, values]: &mut [Slab<T>; 2],
    [key, value]: [usize; 2],
    lane: usize,
    tokens: usize,
    [k, v]: [&[f32]; 2],
) {
    for (place, &k) in keys[key..].iter_mut().zip(k) {
        place.set(lane, k);
    }
    let places = values[value..].iter_mut().step_by(tokens);
    for (place, v) in places.zip(v.chunks(PANEL)) {
        for (lane, &v) in v.iter().enumerate() {
            place.set(lane, v);
        }
    }
}
