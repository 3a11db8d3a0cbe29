//! What flows on the edges of a walk, and what leaves it.

use std::{ops::Range, sync::Arc};

use tensor::Tensor;

/// One item on an edge. Cloning one copies no contents.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Payload {
    /// Nothing but the fact that it arrived.
    Signal,
    /// One character of a text that arrives bit by bit.
    Char(char),
    /// A whole text.
    Text(Arc<str>),
    /// Numbers with a shape: a latent frame, samples, an embedding.
    Tensor(Tensor),
    /// Words with their place in the text and in the audio.
    Words(Arc<[WordMark]>),
    /// An item that ends what belongs together: no chunk of a streaming edge crosses it, and the
    /// chunk that it ends is handed over at once. The last latent frame of a sentence is one.
    Last(Arc<Self>),
}

/// A spoken word: where it stands in the text, and when it sounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordMark {
    /// The word as written.
    pub text: Arc<str>,
    /// Its characters, counted from the start of the request's whole input text.
    pub source: Range<u64>,
    /// Its samples, counted from the start of the request's whole audio.
    pub samples: Range<u64>,
}

impl Payload {
    /// This item as one that ends a chunk; see [`Payload::Last`].
    #[must_use]
    pub fn last(self) -> Self {
        match self {
            Self::Last(_) => self,
            item => Self::Last(Arc::new(item)),
        }
    }

    /// The item itself, whether or not it ends a chunk.
    #[must_use]
    pub fn inner(&self) -> &Self {
        match self {
            Self::Last(item) => item,
            item => item,
        }
    }

    /// The item itself, whether or not it ended a chunk.
    #[must_use]
    pub fn into_inner(self) -> Self {
        match self {
            Self::Last(item) => Arc::unwrap_or_clone(item),
            item => item,
        }
    }

    /// The character, where this is one.
    #[must_use]
    pub fn as_char(&self) -> Option<char> {
        match self.inner() {
            Self::Char(character) => Some(*character),
            _ => None,
        }
    }

    /// The text, where this is a whole one.
    #[must_use]
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match self.inner() {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The tensor, where this is one.
    #[must_use]
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self.inner() {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The words, where this is a list of them.
    #[must_use]
    pub fn as_words(&self) -> Option<&Arc<[WordMark]>> {
        match self.inner() {
            Self::Words(words) => Some(words),
            _ => None,
        }
    }

    /// How much it is: the rows of a tensor, the characters of a text, the words of a list; 1 for
    /// anything else. What a step costs is told by it.
    #[must_use]
    pub fn length(&self) -> usize {
        match self.inner() {
            Self::Text(text) => text.len(),
            Self::Tensor(tensor) => tensor.shape().first().copied().unwrap_or(1),
            Self::Words(words) => words.len(),
            _ => 1,
        }
    }

    /// Whether every number in it is finite; what holds no numbers always is.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.as_tensor().is_none_or(Tensor::is_finite)
    }
}

impl graph::stream::Item for Payload {
    fn as_char(&self) -> Option<char> {
        Self::as_char(self)
    }
}

impl From<Tensor> for Payload {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}
