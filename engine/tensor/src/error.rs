//! What a tensor refuses. Every variant is the doing of the code that built or read the tensor:
//! none depends on the machine or on luck, so a retry never helps.

use crate::{DType, MAX_RANK, Shape};

/// The result of a tensor operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a tensor could not be made or read as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data does not fill the shape: give as many elements as the product of the shape.
    #[error("shape {shape} holds {expected} elements, got {got}")]
    ElementCount {
        /// The shape that was asked for.
        shape: Shape,
        /// Its number of elements.
        expected: usize,
        /// Elements given.
        got: usize,
    },
    /// The shape has too many dimensions, or more elements than can be counted.
    #[error(
        "a shape has at most {MAX_RANK} dimensions and a countable number of elements, got {rank} dimensions"
    )]
    ShapeTooLarge {
        /// Dimensions given.
        rank: usize,
    },
    /// The elements are of another type: convert them, or read them as what they are.
    #[error("elements are {got}, not {expected}")]
    WrongType {
        /// The type that was asked for.
        expected: DType,
        /// The type that the tensor has.
        got: DType,
    },
    /// The rows lie outside of the tensor, end before they start, or the tensor has no axis.
    #[error("rows {start}..{end} are not within shape {shape}")]
    RowsOutOfRange {
        /// First row asked for.
        start: usize,
        /// Row after the last one asked for.
        end: usize,
        /// Shape of the tensor.
        shape: Shape,
    },
    /// Tensors are joined along the first axis; all others must agree, as must the types.
    #[error("cannot join {first_type} {first} with {other_type} {other} along the first axis")]
    Unjoinable {
        /// Shape of the first tensor.
        first: Shape,
        /// Type of the first tensor.
        first_type: DType,
        /// Shape of the first one that does not fit.
        other: Shape,
        /// Type of the first one that does not fit.
        other_type: DType,
    },
    /// Nothing was given to join: without a tensor there is neither a type nor a shape.
    #[error("no tensor to join")]
    NothingToJoin,
}
