//! What flows on an edge: its kind, its element type, its shape and its rate.
//!
//! The graph never looks inside a payload. It carries [`Payloads`], a short list of handles of a
//! type that the runtime chooses, and checks at load that the two ends of an edge describe the
//! same thing.

use std::fmt;
use std::num::NonZeroU32;

/// What a payload means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Kind {
    /// Anything: agrees with every kind.
    #[default]
    Any,
    /// Characters.
    Text,
    /// Token ids of a language model.
    Tokens,
    /// Features of a medium: mel frames, patch embeddings, hidden states.
    Features,
    /// Latent frames between two parts of a generator.
    Latents,
    /// Codes of a neural codec.
    Codes,
    /// Audio samples.
    Samples,
    /// Picture or video frames.
    Pixels,
    /// Robot actions.
    Actions,
    /// One number.
    Scalar,
    /// A tensor without a more exact meaning.
    Tensor,
}

impl Kind {
    /// The name as drawings and findings show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Text => "text",
            Self::Tokens => "tokens",
            Self::Features => "features",
            Self::Latents => "latents",
            Self::Codes => "codes",
            Self::Samples => "samples",
            Self::Pixels => "pixels",
            Self::Actions => "actions",
            Self::Scalar => "scalar",
            Self::Tensor => "tensor",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of one element of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Element {
    /// 32-bit float.
    F32,
    /// 16-bit float.
    F16,
    /// 16-bit brain float.
    Bf16,
    /// Signed 64-bit integer.
    I64,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned byte.
    U8,
    /// Boolean.
    Bool,
    /// A Unicode scalar value.
    Char,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::U8 => "u8",
            Self::Bool => "bool",
            Self::Char => "char",
        })
    }
}

/// A shape with open dimensions: `[192, ?]` is 192 rows of any length.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Shape(Vec<Option<usize>>);

impl Shape {
    /// A shape from its dimensions; `None` is open.
    #[must_use]
    pub fn new(dims: impl IntoIterator<Item = Option<usize>>) -> Self {
        Self(dims.into_iter().collect())
    }

    /// The dimensions, outermost first.
    #[must_use]
    pub fn dims(&self) -> &[Option<usize>] {
        &self.0
    }

    /// Whether one value can have both shapes: same rank, and equal where both say a number.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(a, b)| match (a, b) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, dim) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            match dim {
                Some(dim) => write!(f, "{dim}")?,
                None => f.write_str("?")?,
            }
        }
        f.write_str("]")
    }
}

/// A positive fraction in lowest terms: items per second, or the growth of a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: NonZeroU32,
    denominator: NonZeroU32,
}

impl Ratio {
    /// `numerator / denominator`; `None` when either is zero.
    #[must_use]
    pub fn new(numerator: u32, denominator: u32) -> Option<Self> {
        let divisor = gcd(numerator, denominator);
        if divisor == 0 {
            return None;
        }
        Some(Self {
            numerator: NonZeroU32::new(numerator / divisor)?,
            denominator: NonZeroU32::new(denominator / divisor)?,
        })
    }

    /// The upper number, in lowest terms.
    #[must_use]
    pub const fn numerator(self) -> u32 {
        self.numerator.get()
    }

    /// The lower number, in lowest terms.
    #[must_use]
    pub const fn denominator(self) -> u32 {
        self.denominator.get()
    }

    /// `count` times this ratio, rounded up and saturating.
    #[must_use]
    pub fn scale_up(self, count: usize) -> usize {
        let scaled = (count as u128 * u128::from(self.numerator.get()))
            .div_ceil(u128::from(self.denominator.get()));
        usize::try_from(scaled).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator.get() {
            1 => write!(f, "{}", self.numerator),
            _ => write!(f, "{}/{}", self.numerator, self.denominator),
        }
    }
}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The payloads that travel together on one edge: none (a signal), one, or several in order.
///
/// One payload, the usual case, needs no memory of its own.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Payloads<P> {
    /// Nothing but the fact that the edge was taken.
    #[default]
    Signal,
    /// One payload.
    One(P),
    /// Several payloads in order, for example those of every iteration of a loop.
    Many(Vec<P>),
}

impl<P> Payloads<P> {
    /// How many payloads there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether this is a bare signal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// The payloads in order.
    #[must_use]
    pub fn as_slice(&self) -> &[P] {
        match self {
            Self::Signal => &[],
            Self::One(payload) => std::slice::from_ref(payload),
            Self::Many(payloads) => payloads,
        }
    }

    /// Adds what `more` holds behind what is here.
    pub fn append(&mut self, more: Self) {
        *self = match (std::mem::take(self), more) {
            (Self::Signal, more) => more,
            (here, Self::Signal) => here,
            (Self::One(first), Self::One(second)) => Self::Many(vec![first, second]),
            (Self::Many(mut here), Self::One(payload)) => {
                here.push(payload);
                Self::Many(here)
            }
            (here, more) => Self::Many(here.into_iter().chain(more).collect()),
        };
    }
}

impl<P> From<P> for Payloads<P> {
    fn from(payload: P) -> Self {
        Self::One(payload)
    }
}

impl<P> FromIterator<P> for Payloads<P> {
    fn from_iter<I: IntoIterator<Item = P>>(payloads: I) -> Self {
        let mut payloads = payloads.into_iter();
        match (payloads.next(), payloads.next()) {
            (None, _) => Self::Signal,
            (Some(only), None) => Self::One(only),
            (Some(first), Some(second)) => {
                Self::Many([first, second].into_iter().chain(payloads).collect())
            }
        }
    }
}

impl<P> IntoIterator for Payloads<P> {
    type Item = P;
    type IntoIter = IntoIter<P>;

    fn into_iter(self) -> IntoIter<P> {
        match self {
            Self::Signal => IntoIter::Short(None),
            Self::One(payload) => IntoIter::Short(Some(payload)),
            Self::Many(payloads) => IntoIter::Long(payloads.into_iter()),
        }
    }
}

/// The payloads of one edge, one after the other.
#[derive(Debug)]
pub enum IntoIter<P> {
    /// None or one.
    Short(Option<P>),
    /// Several.
    Long(std::vec::IntoIter<P>),
}

impl<P> Iterator for IntoIter<P> {
    type Item = P;

    fn next(&mut self) -> Option<P> {
        match self {
            Self::Short(payload) => payload.take(),
            Self::Long(payloads) => payloads.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_dimensions_agree_with_any_length() {
        let open = Shape::new([Some(192), None]);
        assert!(open.agrees(&Shape::new([Some(192), Some(7)])));
        assert!(!open.agrees(&Shape::new([Some(80), Some(7)])));
        assert!(!open.agrees(&Shape::new([Some(192)])));
        assert_eq!(open.to_string(), "[192, ?]");
    }

    #[test]
    fn ratios_are_in_lowest_terms_and_round_up() {
        assert_eq!(Ratio::new(44_100, 512), Ratio::new(11_025, 128));
        assert_eq!(Ratio::new(0, 3), None);
        assert_eq!(Ratio::new(3, 0), None);
        assert_eq!(Ratio::new(3, 2).map(|ratio| ratio.scale_up(5)), Some(8));
        assert_eq!(
            Ratio::new(25, 2).map(|ratio| ratio.to_string()),
            Some("25/2".into())
        );
    }

    #[test]
    fn payloads_keep_their_order_when_appended() {
        let mut all = Payloads::Signal;
        for part in [
            Payloads::One(1),
            Payloads::Signal,
            Payloads::One(2),
            [3, 4].into_iter().collect(),
        ] {
            all.append(part);
        }
        assert_eq!(all.as_slice(), [1, 2, 3, 4]);
        assert_eq!(all.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}
