//! The memory of all pages.

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
/// keys    [layer][page][head][dim][token]   so that scores of neighbouring tokens are one vector
/// values  [layer][page][head][token][dim]   so that an output is one
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    shape: Shape,
    /// Tokens of a page, filled up to whole vectors.
    stride: usize,
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// Tokens that are scored at once.
pub(super) const LANES: usize = 8;

impl Store {
    /// Memory for all pages; none if a size is zero or the whole cannot be counted. The system
    /// gives the memory when it is first written.
    #[must_use]
    pub fn new(shape: Shape) -> Option<Self> {
        let stride = shape.page_tokens.checked_next_multiple_of(LANES)?;
        let size = |tokens: usize| {
            [shape.layers, shape.pages, shape.kv_heads, shape.head_dim]
                .into_iter()
                .try_fold(tokens, usize::checked_mul)
                .filter(|&size| size > 0 && size <= isize::MAX.unsigned_abs() / size_of::<f32>())
        };
        let (keys, values) = (size(stride)?, size(shape.page_tokens)?);
        Some(Self {
            shape,
            stride,
            keys: vec![0.0; keys],
            values: vec![0.0; values],
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
        size_of::<f32>() * (self.keys.len() + self.values.len()) / self.shape.pages
    }

    /// Writes a token's keys and values, each `[kv_heads, head_dim]`, to a slot of a page.
    ///
    /// # Panics
    /// When there is no such layer, page or slot, or `k` or `v` has another size.
    pub fn write(&mut self, layer: usize, page: u32, slot: usize, k: &[f32], v: &[f32]) {
        let shape = self.shape;
        let size = shape.kv_heads * shape.head_dim;
        assert_eq!([k.len(), v.len()], [size; 2], "keys and values of a token");
        assert!(
            slot < shape.page_tokens,
            "slot {slot} of {}",
            shape.page_tokens
        );
        let page = self.page(layer, page);
        let keys = &mut self.keys[page * size * self.stride..][..size * self.stride];
        for (place, &k) in keys.iter_mut().skip(slot).step_by(self.stride).zip(k) {
            *place = k;
        }
        let size = size * shape.page_tokens;
        let values = &mut self.values[page * size..][..size];
        let heads = values.chunks_exact_mut(shape.page_tokens * shape.head_dim);
        for (head, v) in heads.zip(v.chunks_exact(shape.head_dim)) {
            head[slot * shape.head_dim..][..shape.head_dim].copy_from_slice(v);
        }
    }

    /// Copies a page in all layers: what is shared is about to be written.
    ///
    /// # Panics
    /// When there is no such page.
    pub fn copy_page(&mut self, from: u32, to: u32) {
        let size = self.shape.kv_heads * self.shape.head_dim;
        let (keys, values) = (size * self.stride, size * self.shape.page_tokens);
        for layer in 0..self.shape.layers {
            let (from, to) = (self.page(layer, from), self.page(layer, to));
            self.keys
                .copy_within(from * keys..(from + 1) * keys, to * keys);
            self.values
                .copy_within(from * values..(from + 1) * values, to * values);
        }
    }

    /// Keys `[head_dim, stride]` of a head in a page.
    #[inline]
    pub(super) fn keys(&self, layer: usize, page: u32, head: usize) -> &[f32] {
        let size = self.shape.head_dim * self.stride;
        let start = (self.page(layer, page) * self.shape.kv_heads + head) * size;
        &self.keys[start..start + size]
    }

    /// Values `[page_tokens, head_dim]` of a head in a page.
    #[inline]
    pub(super) fn values(&self, layer: usize, page: u32, head: usize) -> &[f32] {
        let size = self.shape.head_dim * self.shape.page_tokens;
        let start = (self.page(layer, page) * self.shape.kv_heads + head) * size;
        &self.values[start..start + size]
    }

    /// From one number of a key to the next.
    pub(super) fn stride(&self) -> usize {
        self.stride
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
