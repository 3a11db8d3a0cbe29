//! The memory of all pages.

use crate::cpu::prefetch;
use crate::matrix::{Floats, PANEL};
use crate::slab::Slab;

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

/// Keys and values of `layers x pages x page_tokens x kv_heads x head_dim`, in `f32`, zero at first.
///
/// ```text
/// keys    [layer][page][head][panel of 16 tokens][dim][token]   scores of neighbours are a vector
/// values  [layer][page][head][panel of 16 numbers][token][dim]  neighbours of an output are one
/// ```
#[derive(Debug)]
pub struct Store {
    shape: Shape,
    keys: Slab,
    values: Slab,
}

impl Store {
    /// Memory for all pages; none if a size is zero or the system refuses so much. The memory
    /// is taken when it is first written.
    #[must_use]
    pub fn new(shape: Shape) -> Option<Self> {
        let size = |columns: usize, rows: usize| {
            [shape.layers, shape.pages, shape.kv_heads, columns]
                .into_iter()
                .try_fold(rows.div_ceil(PANEL), usize::checked_mul)
                .filter(|&size| size > 0 && size <= isize::MAX.unsigned_abs() / size_of::<Floats>())
        };
        let keys = size(shape.head_dim, shape.page_tokens)?;
        let values = size(shape.page_tokens, shape.head_dim)?;
        Some(Self {
            shape,
            keys: Slab::new(keys)?,
            values: Slab::new(values)?,
        })
    }

    /// What it was made for.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Bytes of a page in all layers.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        size_of::<Floats>() * (self.keys.len() + self.values.len()) / self.shape.pages
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
            for (place, &k) in self.keys[keys..].iter_mut().zip(k) {
                place.0[slot % PANEL] = k;
            }
            let values = self.values_at(layer, page, head) + slot;
            let places = self.values[values..].iter_mut().step_by(page_tokens);
            for (place, v) in places.zip(v.chunks(PANEL)) {
                place.0[..v.len()].copy_from_slice(v);
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
            let start = self.keys_at(layer, from, 0);
            let end = self.keys_at(layer, to, 0);
            self.keys.copy_within(start..start + keys, end);
            let start = self.values_at(layer, from, 0);
            let end = self.values_at(layer, to, 0);
            self.values.copy_within(start..start + values, end);
        }
    }

    /// Keys `[head_dim]` of each 16 tokens of a head in a page.
    pub(super) fn keys(
        &self,
        layer: usize,
        page: u32,
        head: usize,
    ) -> std::slice::ChunksExact<'_, Floats> {
        let start = self.keys_at(layer, page, head);
        self.keys[start..start + self.keys_size()].chunks_exact(self.shape.head_dim)
    }

    /// Values `[page_tokens]` of 16 numbers of a head in a page: those from `16 * panel` on.
    pub(super) fn values(&self, layer: usize, page: u32, head: usize, panel: usize) -> &[Floats] {
        let tokens = self.shape.page_tokens;
        let start = self.values_at(layer, page, head) + panel * tokens;
        &self.values[start..start + tokens]
    }

    pub(super) fn prefetch_keys(&self, layer: usize, page: u32, head: usize) {
        let start = self.keys_at(layer, page, head);
        let keys = &self.keys[start..start + self.keys_size()];
        keys.iter().for_each(|keys| prefetch(keys));
    }

    pub(super) fn prefetch_values(&self, layer: usize, page: u32, head: usize) {
        let start = self.values_at(layer, page, head);
        let values = &self.values[start..start + self.values_size()];
        values.iter().for_each(|values| prefetch(values));
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
