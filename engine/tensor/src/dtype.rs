//! What one element of a tensor is.

use std::fmt;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// 32-bit IEEE float.
    F32,
    /// 64-bit signed integer: what ONNX graphs index with.
    I64,
    /// 32-bit signed integer: token and codec ids.
    I32,
    /// A byte: masks, pixels.
    U8,
}

impl DType {
    /// Bytes that one element takes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::U8 => 1,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::U8 => "u8",
        })
    }
}
