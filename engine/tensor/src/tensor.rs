//! The tensor itself: a shared allocation, where it starts in it, and a shape.

use std::{fmt, ops::Range, sync::Arc};

use crate::{DType, Error, Result, Shape};

/// Elements of one type with a [`Shape`], row-major and without gaps. Cheap to clone.
#[derive(Clone)]
pub struct Tensor {
    data: Data,
    start: usize,
    shape: Shape,
}

#[derive(Clone)]
enum Data {
    F32(Arc<Vec<f32>>),
    I64(Arc<Vec<i64>>),
    I32(Arc<Vec<i32>>),
    U8(Arc<Vec<u8>>),
}

/// Writes the constructor and the reader of one element type.
macro_rules! element {
    ($variant:ident, $new:ident, $read:ident, $type:ty) => {
        #[doc = concat!("A tensor of `", stringify!($type), "` from its elements in row-major order; the vector is not copied.")]
        ///
        /// # Errors
        /// [`Error::ElementCount`] where the elements do not fill the shape,
        /// [`Error::ShapeTooLarge`] for a shape that cannot be.
        pub fn $new(shape: impl AsRef<[usize]>, elements: Vec<$type>) -> Result<Self> {
            let shape = filled_shape(shape.as_ref(), elements.len())?;
            Ok(Self { data: Data::$variant(Arc::new(elements)), start: 0, shape })
        }

        #[doc = concat!("The elements as `", stringify!($type), "`, in row-major order.")]
        ///
        /// # Errors
        /// [`Error::WrongType`] where they are of another type.
        pub fn $read(&self) -> Result<&[$type]> {
            match &self.data {
                Data::$variant(elements) => Ok(&elements[self.start..self.start + self.shape.elements()]),
                _ => Err(Error::WrongType { expected: DType::$variant, got: self.dtype() }),
            }
        }
    };
}

impl Tensor {
    element!(F32, f32, as_f32, f32);
    element!(I64, i64, as_i64, i64);
    element!(I32, i32, as_i32, i32);
    element!(U8, u8, as_u8, u8);

    /// Length along each axis.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self.data {
            Data::F32(_) => DType::F32,
            Data::I64(_) => DType::I64,
            Data::I32(_) => DType::I32,
            Data::U8(_) => DType::U8,
        }
    }

    /// Some rows of the first axis, without copying: `[rows.len(), ...]`. They keep the whole
    /// allocation alive.
    ///
    /// # Errors
    /// [`Error::RowsOutOfRange`] for rows that are not there.
    pub fn rows(&self, rows: Range<usize>) -> Result<Self> {
        let row_count = self.shape.first().copied();
        if row_count.is_none_or(|count| rows.end > count) || rows.start > rows.end {
            return Err(Error::RowsOutOfRange {
                start: rows.start,
                end: rows.end,
                shape: self.shape,
            });
        }
        Ok(Self {
            data: self.data.clone(),
            start: self.start + rows.start * self.shape.row_elements(),
            shape: self.shape.with_rows(rows.len())?,
        })
    }

    /// The same elements under another shape, without copying.
    ///
    /// # Errors
    /// [`Error::ElementCount`] where the shape holds another number of elements.
    pub fn reshape(&self, shape: impl AsRef<[usize]>) -> Result<Self> {
        let shape = filled_shape(shape.as_ref(), self.shape.elements())?;
        Ok(Self {
            shape,
            ..self.clone()
        })
    }

    /// Tensors one after the other along the first axis, in one new allocation; a single one is
    /// returned as it is.
    ///
    /// # Errors
    /// [`Error::NothingToJoin`] without tensors, [`Error::Unjoinable`] where types or the lengths
    /// of the other axes differ.
    pub fn concat(tensors: &[Self]) -> Result<Self> {
        let first = tensors.first().ok_or(Error::NothingToJoin)?;
        if let Some(other) = tensors.iter().find(|other| !first.joins(other)) {
            return Err(Error::Unjoinable {
                first: first.shape,
                first_type: first.dtype(),
                other: other.shape,
                other_type: other.dtype(),
            });
        }
        if tensors.len() == 1 {
            return Ok(first.clone());
        }
        let shape = first
            .shape
            .with_rows(tensors.iter().map(|tensor| tensor.shape[0]).sum())?;
        match first.dtype() {
            DType::F32 => Self::f32(shape, joined(tensors, Self::as_f32)?),
            DType::I64 => Self::i64(shape, joined(tensors, Self::as_i64)?),
            DType::I32 => Self::i32(shape, joined(tensors, Self::as_i32)?),
            DType::U8 => Self::u8(shape, joined(tensors, Self::as_u8)?),
        }
    }

    /// Whether every element is a finite number; integers always are.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.as_f32().map_or(true, |elements| {
            elements.iter().all(|element| element.is_finite())
        })
    }

    fn joins(&self, other: &Self) -> bool {
        !self.shape.is_empty()
            && self.dtype() == other.dtype()
            && self.shape.len() == other.shape.len()
            && self.shape[1..] == other.shape[1..]
    }
}

fn filled_shape(lengths: &[usize], got: usize) -> Result<Shape> {
    let shape = Shape::new(lengths)?;
    let expected = shape.elements();
    if got == expected {
        Ok(shape)
    } else {
        Err(Error::ElementCount {
            shape,
            expected,
            got,
        })
    }
}

fn joined<T: Copy>(tensors: &[Tensor], read: impl Fn(&Tensor) -> Result<&[T]>) -> Result<Vec<T>> {
    let mut elements =
        Vec::with_capacity(tensors.iter().map(|tensor| tensor.shape.elements()).sum());
    for tensor in tensors {
        elements.extend_from_slice(read(tensor)?);
    }
    Ok(elements)
}

impl AsRef<[usize]> for Shape {
    fn as_ref(&self) -> &[usize] {
        self
    }
}

/// Equal in type, shape and every element; two NaNs differ, as they do as numbers.
impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape
            && match self.dtype() {
                DType::F32 => self.as_f32() == other.as_f32(),
                DType::I64 => self.as_i64() == other.as_i64(),
                DType::I32 => self.as_i32() == other.as_i32(),
                DType::U8 => self.as_u8() == other.as_u8(),
            }
            && self.dtype() == other.dtype()
    }
}

/// Type and shape only: contents belong in no log.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {})", self.dtype(), self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(count: usize) -> Tensor {
        let elements = (0_u16..).take(count * 3).map(f32::from).collect();
        Tensor::f32([count, 3], elements).unwrap()
    }

    #[test]
    fn rows_share_and_nest() {
        let all = frames(6);
        let middle = all.rows(2..5).unwrap();
        assert_eq!(middle.shape()[..], [3, 3]);
        assert_eq!(
            middle.rows(1..2).unwrap().as_f32().unwrap(),
            [9.0, 10.0, 11.0]
        );
        let (Data::F32(a), Data::F32(b)) = (&all.data, &middle.data) else {
            panic!("both are f32")
        };
        assert!(Arc::ptr_eq(a, b));
    }

    #[test]
    fn rows_outside_are_refused() {
        #[expect(clippy::reversed_empty_ranges, reason = "the case under test")]
        for rows in [0..7, 5..4, usize::MAX..usize::MAX] {
            assert!(matches!(
                frames(6).rows(rows),
                Err(Error::RowsOutOfRange { .. })
            ));
        }
        let scalar = Tensor::f32([], vec![1.0]).unwrap();
        assert!(matches!(
            scalar.rows(0..1),
            Err(Error::RowsOutOfRange { .. })
        ));
        assert_eq!(frames(6).rows(6..6).unwrap().as_f32().unwrap(), []);
    }

    #[test]
    fn any_cut_joins_to_the_whole() {
        let all = frames(5);
        for cut in 0..=5 {
            let parts = [all.rows(0..cut).unwrap(), all.rows(cut..5).unwrap()];
            assert_eq!(Tensor::concat(&parts).unwrap(), all);
        }
    }

    #[test]
    fn unlike_tensors_do_not_join() {
        let bytes = Tensor::u8([2, 3], vec![0; 6]).unwrap();
        let wide = Tensor::f32([1, 4], vec![0.0; 4]).unwrap();
        let scalar = Tensor::f32([], vec![0.0]).unwrap();
        for other in [bytes, wide, scalar] {
            assert!(matches!(
                Tensor::concat(&[frames(1), other]),
                Err(Error::Unjoinable { .. })
            ));
        }
        assert_eq!(Tensor::concat(&[]).unwrap_err(), Error::NothingToJoin);
    }

    #[test]
    fn a_shape_must_be_filled_and_a_type_named_rightly() {
        let short = Tensor::i64([2, 2], vec![1]).unwrap_err();
        assert_eq!(short.to_string(), "shape [2, 2] holds 4 elements, got 1");
        let wrong = Tensor::i32([1], vec![1])
            .unwrap()
            .as_f32()
            .unwrap_err()
            .to_string();
        assert_eq!(wrong, "elements are i32, not f32");
        assert!(matches!(
            frames(2).reshape([5]),
            Err(Error::ElementCount {
                expected: 5,
                got: 6,
                ..
            })
        ));
        assert_eq!(frames(2).reshape([6]).unwrap().shape()[..], [6]);
    }

    #[test]
    fn a_single_nan_is_found() {
        assert!(frames(2).is_finite());
        assert!(!Tensor::f32([2], vec![0.0, f32::NAN]).unwrap().is_finite());
        assert!(Tensor::i64([1], vec![i64::MAX]).unwrap().is_finite());
    }
}
