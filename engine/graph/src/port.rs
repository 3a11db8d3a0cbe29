//! Typed inputs and outputs of a node.
//!
//! A [`PortType`] says as much as its author knows; what is left open agrees with everything.

use std::fmt;

use crate::payload::{Element, Kind, Ratio, Shape};

/// What the requester receives, or sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Modality {
    /// Characters or tokens of text.
    Text,
    /// Sound.
    Audio,
    /// One picture.
    Image,
    /// Moving pictures, or their features.
    Video,
    /// Robot actions.
    Action,
    /// One number.
    Scalar,
    /// A tensor without a more exact meaning.
    Tensor,
}

impl Modality {
    /// The name as declarations and drawings write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Audio => "audio",
            Self::Image => "image",
            Self::Video => "video",
            Self::Action => "action",
            Self::Scalar => "scalar",
            Self::Tensor => "tensor",
        }
    }

    /// The modality of a name, or `None`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Text,
            Self::Audio,
            Self::Image,
            Self::Video,
            Self::Action,
            Self::Scalar,
            Self::Tensor,
        ]
        .into_iter()
        .find(|modality| modality.name() == name)
    }

    /// The modality that a kind implies, where it implies one.
    #[must_use]
    pub const fn of_kind(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Text | Kind::Tokens => Some(Self::Text),
            Kind::Samples => Some(Self::Audio),
            Kind::Pixels => Some(Self::Image),
            Kind::Actions => Some(Self::Action),
            Kind::Scalar => Some(Self::Scalar),
            Kind::Tensor => Some(Self::Tensor),
            Kind::Any | Kind::Features | Kind::Latents | Kind::Codes => None,
        }
    }
}

impl fmt::Display for Modality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a port takes or gives. An open field agrees with everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct PortType {
    /// What it means.
    pub kind: Kind,
    /// The type of an element.
    pub element: Option<Element>,
    /// The shape of one item.
    pub shape: Option<Shape>,
    /// Items per second of media time, where the port has a rate.
    pub rate: Option<Ratio>,
}

impl PortType {
    /// A port that takes or gives anything.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// A port of one kind, everything else open.
    #[must_use]
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// With this element type.
    #[must_use]
    pub fn element(mut self, element: Element) -> Self {
        self.element = Some(element);
        self
    }

    /// With items of this shape; `None` is an open dimension.
    #[must_use]
    pub fn shape(mut self, dims: impl IntoIterator<Item = Option<usize>>) -> Self {
        self.shape = Some(Shape::new(dims));
        self
    }

    /// With this many items per second.
    #[must_use]
    pub fn rate(mut self, rate: Ratio) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Where the two disagree, or `None` when an edge may join them.
    #[must_use]
    pub fn disagreement(&self, other: &Self) -> Option<Disagreement> {
        if self.kind != other.kind && self.kind != Kind::Any && other.kind != Kind::Any {
            return Some(Disagreement::Kind(self.kind, other.kind));
        }
        if let (Some(a), Some(b)) = (self.element, other.element)
            && a != b
        {
            return Some(Disagreement::Element(a, b));
        }
        if let (Some(a), Some(b)) = (&self.shape, &other.shape)
            && !a.agrees(b)
        {
            return Some(Disagreement::Shape(a.clone(), b.clone()));
        }
        if let (Some(a), Some(b)) = (self.rate, other.rate)
            && a != b
        {
            return Some(Disagreement::Rate(a, b));
        }
        None
    }
}

/// The first field in which the two ends of an edge differ: what is given, what is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// Different kinds.
    Kind(Kind, Kind),
    /// Different element types.
    Element(Element, Element),
    /// Shapes that no value has at once.
    Shape(Shape, Shape),
    /// Different numbers of items per second.
    Rate(Ratio, Ratio),
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(given, taken) => write!(f, "gives {given}, but {taken} is taken"),
            Self::Element(given, taken) => write!(f, "gives {given}, but {taken} is taken"),
            Self::Shape(given, taken) => write!(f, "gives shape {given}, but {taken} is taken"),
            Self::Rate(given, taken) => {
                write!(f, "gives {given} items per second, but {taken} are taken")
            }
        }
    }
}

/// A named, typed input or output of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The name, unique among the node's inputs (or outputs).
    pub name: String,
    /// What it takes or gives.
    pub ty: PortType,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_agrees_with_every_kind() {
        for kind in [Kind::Text, Kind::Samples, Kind::Tensor] {
            assert_eq!(PortType::any().disagreement(&PortType::of(kind)), None);
            assert_eq!(PortType::of(kind).disagreement(&PortType::any()), None);
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let mel = PortType::of(Kind::Features)
            .element(Element::F32)
            .shape([Some(80)]);
        let check = |other: PortType, expected: &str| {
            let found = mel.disagreement(&other).map(|found| found.to_string());
            assert_eq!(found.as_deref(), Some(expected));
        };
        check(
            PortType::of(Kind::Text),
            "gives features, but text is taken",
        );
        check(
            mel.clone().element(Element::I64),
            "gives f32, but i64 is taken",
        );
        check(
            mel.clone().shape([Some(128)]),
            "gives shape [80], but [128] is taken",
        );
        assert_eq!(mel.disagreement(&mel.clone().shape([None])), None);
    }

    #[test]
    fn a_modality_is_found_by_its_name() {
        assert_eq!(Modality::from_name("action"), Some(Modality::Action));
        assert_eq!(Modality::from_name("smell"), None);
    }
}
