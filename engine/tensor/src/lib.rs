//! Memory with a shape: contiguous, row-major, shared and never written twice.
//!
//! A [`Tensor`] is what flows on the edges of a walk. Cloning one and taking rows of one copy no
//! data: both point at the same allocation, which is freed with the last of them. What always
//! holds: the number of elements is the product of the shape, and the elements lie in row-major
//! order without gaps.
//!
//! ```
//! use tensor::Tensor;
//!
//! // Three latent frames of two channels, cut into the first and the other two.
//! let frames = Tensor::f32([3, 2], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
//! let (first, rest) = (frames.rows(0..1)?, frames.rows(1..3)?);
//! assert_eq!(rest.as_f32()?, [2.0, 3.0, 4.0, 5.0]);
//! assert_eq!(Tensor::concat(&[first, rest])?, frames);
//! # Ok::<(), tensor::Error>(())
//! ```

mod dtype;
mod error;
mod shape;
mod tensor;

pub use dtype::DType;
pub use error::{Error, Result};
pub use shape::{MAX_RANK, Shape};
pub use tensor::Tensor;
