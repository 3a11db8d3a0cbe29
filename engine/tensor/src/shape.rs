//! How long a tensor is along each axis. Kept inline, so that a shape costs no allocation.

use std::{fmt, ops::Deref};

use crate::{Error, Result};

/// Dimensions that a shape may have: batch, heads, depth, time, height and width.
pub const MAX_RANK: usize = 6;

/// Lengths along each axis, slowest first. Reads as a slice: `shape[0]` is the number of rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    dims: [usize; MAX_RANK],
    rank: usize,
}

impl Shape {
    /// A shape with these lengths.
    ///
    /// # Errors
    /// [`Error::ShapeTooLarge`] over [`MAX_RANK`] dimensions, or where the product overflows.
    pub fn new(lengths: &[usize]) -> Result<Self> {
        let too_large = Error::ShapeTooLarge {
            rank: lengths.len(),
        };
        let mut dims = [0; MAX_RANK];
        let Some(used) = dims.get_mut(..lengths.len()) else {
            return Err(too_large);
        };
        used.copy_from_slice(lengths);
        let product = lengths
            .iter()
            .try_fold(1_usize, |product, &length| product.checked_mul(length));
        product
            .map(|_| Self {
                dims,
                rank: lengths.len(),
            })
            .ok_or(too_large)
    }

    /// Number of elements: the product of the lengths, 1 without axes.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.iter().product()
    }

    /// Number of elements in one row, where a row is one index of the first axis.
    #[must_use]
    pub fn row_elements(&self) -> usize {
        self.iter().skip(1).product()
    }

    /// The same shape with another number of rows; itself where there is no axis.
    ///
    /// # Errors
    /// [`Error::ShapeTooLarge`] where the product overflows.
    pub fn with_rows(&self, rows: usize) -> Result<Self> {
        let mut lengths = self.dims;
        if self.rank > 0 {
            lengths[0] = rows;
        }
        Self::new(&lengths[..self.rank])
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.dims[..self.rank]
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_the_product() {
        let cases: [(&[usize], usize, usize); 4] = [
            (&[], 1, 1),
            (&[7], 7, 1),
            (&[3, 4, 5], 60, 20),
            (&[0, 4], 0, 4),
        ];
        for (lengths, elements, row) in cases {
            let shape = Shape::new(lengths).unwrap();
            assert_eq!(
                (shape.elements(), shape.row_elements()),
                (elements, row),
                "{lengths:?}"
            );
            assert_eq!(&*shape, lengths);
        }
    }

    #[test]
    fn too_many_axes_or_elements_are_refused() {
        assert_eq!(Shape::new(&[1; 7]), Err(Error::ShapeTooLarge { rank: 7 }));
        assert_eq!(
            Shape::new(&[usize::MAX, 2]),
            Err(Error::ShapeTooLarge { rank: 2 })
        );
    }
}
