//! A unit of compute: its name, its ports, and the kind of engine it asks for.

use std::fmt;

use crate::id::{InputId, OutputId};
use crate::port::{Port, PortType};

/// What executes a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EngineKind {
    /// Nothing is kept between two runs: encoders, decoders, vocoders.
    Stateless,
    /// Convolutional or recurrent state is kept for each request.
    Streaming,
    /// A paged cache of keys and values is kept for each request.
    Kv,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stateless => "stateless",
            Self::Streaming => "streaming",
            Self::Kv => "kv",
        })
    }
}

/// The declaration of a node, the same for every walk that runs it.
///
/// A walk may use a part of the ports: one node serves `prefill` with `text` and `denoise` with
/// `latents`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// The name, unique in the graph.
    pub name: String,
    /// What executes it.
    pub engine: EngineKind,
    /// Everything it can take.
    pub inputs: Vec<Port>,
    /// Everything it can give.
    pub outputs: Vec<Port>,
}

impl NodeSpec {
    /// A node without ports.
    #[must_use]
    pub fn new(name: impl Into<String>, engine: EngineKind) -> Self {
        Self {
            name: name.into(),
            engine,
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// With one more input.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>, ty: PortType) -> Self {
        self.inputs.push(Port {
            name: name.into(),
            ty,
        });
        self
    }

    /// With one more output.
    #[must_use]
    pub fn output(mut self, name: impl Into<String>, ty: PortType) -> Self {
        self.outputs.push(Port {
            name: name.into(),
            ty,
        });
        self
    }

    /// The input of a name.
    #[must_use]
    pub fn input_named(&self, name: &str) -> Option<InputId> {
        position(&self.inputs, name).map(InputId::new)
    }

    /// The output of a name.
    #[must_use]
    pub fn output_named(&self, name: &str) -> Option<OutputId> {
        position(&self.outputs, name).map(OutputId::new)
    }

    /// The name of an input, or `"?"` for an id of another node.
    #[must_use]
    pub fn input_name(&self, input: InputId) -> &str {
        self.inputs
            .get(input.index())
            .map_or("?", |port| &port.name)
    }

    /// The name of an output, or `"?"` for an id of another node.
    #[must_use]
    pub fn output_name(&self, output: OutputId) -> &str {
        self.outputs
            .get(output.index())
            .map_or("?", |port| &port.name)
    }
}

fn position(ports: &[Port], name: &str) -> Option<usize> {
    ports.iter().position(|port| port.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_found_by_name_on_their_side() {
        let node = NodeSpec::new("vocoder", EngineKind::Streaming)
            .input("latents", PortType::any())
            .output("samples", PortType::any());
        assert_eq!(node.input_named("latents"), Some(InputId::new(0)));
        assert_eq!(node.input_named("samples"), None);
        assert_eq!(node.output_named("samples"), Some(OutputId::new(0)));
        assert_eq!(node.output_name(OutputId::new(9)), "?");
    }
}
