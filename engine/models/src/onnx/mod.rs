//! An ONNX graph that can be looked into and cut, and whose weights can be read.
//!
//! What has arithmetic of its own takes the weights alone: [`Onnx::weight`].
//!
//! A voice comes as one graph from phonemes to samples. Serving it needs parts of that graph with
//! other inputs and outputs: noise that is ours, durations that are seen, a decoder that runs in
//! chunks. [`Onnx`] indexes the graph by value names and [`Onnx::extract`] writes a part of it as
//! a model of its own, in memory and without touching the file. Cutting the file's graph, rather
//! than naming inner values to the runtime that executes it, leaves that runtime free to fuse
//! whatever lies inside a part.

mod error;
mod weight;

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    path::Path,
};

use rten_onnx::onnx::{
    AttributeProto, DataType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TypeProto, TypeProtoTensor, ValueInfoProto,
};

pub use error::{Error, Result};

/// A graph with its values indexed by name.
pub(crate) struct Onnx {
    graph: GraphProto,
    ir_version: Option<i64>,
    opsets: Vec<OperatorSetIdProto>,
    producers: HashMap<String, usize>,
    consumers: HashMap<String, Vec<usize>>,
    weights: HashMap<String, usize>,
}

/// An input of a part that is cut out.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// The value's name.
    pub(crate) name: String,
    /// Its type, where it is known to be a float tensor: some fusions need to know.
    pub(crate) float: bool,
}

impl Cut {
    /// A value that is a float tensor.
    pub(crate) fn float(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            float: true,
        }
    }
}

impl Onnx {
    /// Reads a model file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        let model = ModelProto::parse_file(file).map_err(|error| Error::NotOnnx {
            path: path.to_owned(),
            problem: error.to_string(),
        })?;
        Self::from_model(model).ok_or_else(|| Error::NotOnnx {
            path: path.to_owned(),
            problem: "it holds no graph".to_owned(),
        })
    }

    fn from_model(model: ModelProto) -> Option<Self> {
        let graph = model.graph.filter(|graph| !graph.node.is_empty())?;
        let mut producers = HashMap::new();
        let mut consumers: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, node) in graph.node.iter().enumerate() {
            for output in node.output.iter().filter(|name| !name.is_empty()) {
                producers.insert(output.clone(), index);
            }
            for input in inputs_of(node) {
                consumers.entry(input).or_default().push(index);
            }
        }
        let weights = graph.initializer.iter().enumerate();
        let weights = weights.filter_map(|(index, tensor)| Some((tensor.name.clone()?, index)));
        let weights = weights.collect();
        Some(Self {
            graph,
            ir_version: model.ir_version,
            opsets: model.opset_import,
            producers,
            consumers,
            weights,
        })
    }

    /// All nodes, producers before consumers.
    pub(crate) fn nodes(&self) -> &[NodeProto] {
        &self.graph.node
    }

    /// The names of the graph's own inputs, without those that are weights.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &str> {
        let names = self
            .graph
            .input
            .iter()
            .filter_map(|input| input.name.as_deref());
        names.filter(|name| !self.weights.contains_key(*name))
    }

    /// The names of the graph's outputs.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &str> {
        self.graph
            .output
            .iter()
            .filter_map(|output| output.name.as_deref())
    }

    /// The node that makes a value; none for weights and the graph's inputs.
    pub(crate) fn producer(&self, value: &str) -> Option<usize> {
        self.producers.get(value).copied()
    }

    /// The nodes that take a value, in the graph's order.
    pub(crate) fn consumers(&self, value: &str) -> &[usize] {
        self.consumers.get(value).map_or(&[], Vec::as_slice)
    }

    /// The shape of a weight.
    pub(crate) fn weight_shape(&self, value: &str) -> Option<&[i64]> {
        self.constant(value).map(|tensor| tensor.dims.as_slice())
    }

    /// The integers of a small constant, whether it is a weight or a `Constant` node.
    pub(crate) fn integers(&self, value: &str) -> Option<Vec<i64>> {
        let tensor = self.constant(value)?;
        if tensor.data_type != Some(DataType::INT64) {
            return None;
        }
        match &tensor.raw_data {
            Some(raw) => {
                let raw = raw.borrow();
                let eight = raw
                    .chunks_exact(8)
                    .map(|b| b.try_into().map(i64::from_le_bytes).ok());
                eight.collect()
            }
            None => Some(tensor.int64_data.clone()),
        }
    }

    /// The floats of a constant, whether it is a weight or a `Constant` node.
    pub(crate) fn floats(&self, value: &str) -> Option<Vec<f32>> {
        let tensor = self.constant(value)?;
        if tensor.data_type != Some(DataType::FLOAT) {
            return None;
        }
        match &tensor.raw_data {
            Some(raw) => {
                let raw = raw.borrow();
                let four = raw
                    .chunks_exact(4)
                    .map(|b| b.try_into().map(f32::from_le_bytes).ok());
                four.collect()
            }
            None => Some(tensor.float_data.clone()),
        }
    }

    /// Whether a value is a weight or a `Constant` node.
    pub(crate) fn is_constant(&self, value: &str) -> bool {
        self.constant(value).is_some()
    }

    fn constant(&self, value: &str) -> Option<&TensorProto> {
        if let Some(&index) = self.weights.get(value) {
            return self.graph.initializer.get(index);
        }
        let node = self.graph.node.get(self.producer(value)?)?;
        let made_here = node.op_type.as_deref() == Some("Constant");
        made_here
            .then(|| attribute(node, "value")?.t.as_ref())
            .flatten()
    }

    /// All nodes that any of `values` depends on, found backwards without going past `stops`.
    pub(crate) fn ancestors(&self, values: &[&str], stops: &HashSet<String>) -> HashSet<usize> {
        let mut found = HashSet::new();
        let mut waiting: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        while let Some(value) = waiting.pop() {
            if stops.contains(&value) {
                continue;
            }
            if let Some(index) = self.producer(&value)
                && found.insert(index)
            {
                waiting.extend(inputs_of(&self.graph.node[index]));
            }
        }
        found
    }

    /// All nodes that depend on `value`.
    pub(crate) fn descendants(&self, value: &str) -> HashSet<usize> {
        let mut found = HashSet::new();
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            for &index in self.consumers(value) {
                if found.insert(index) {
                    waiting.extend(self.graph.node[index].output.iter().map(String::as_str));
                }
            }
        }
        found
    }

    /// Writes the part between `inputs` and `outputs` as a model of its own.
    ///
    /// `same` maps a value to another one that stands for it wherever it is used.
    pub(crate) fn extract(
        &self,
        part: &str,
        inputs: &[Cut],
        outputs: &[String],
        same: &HashMap<String, String>,
    ) -> Result<Vec<u8>> {
        let stops: HashSet<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        let resolve = |name: &str| resolve(same, name);
        let mut nodes = HashSet::new();
        let mut weights = HashSet::new();
        let mut waiting: Vec<String> = outputs.iter().map(|output| resolve(output)).collect();
        while let Some(value) = waiting.pop() {
            if stops.contains(value.as_str()) || value.is_empty() {
                continue;
            }
            if let Some(index) = self.producer(&value) {
                if nodes.insert(index) {
                    let needed = inputs_of(&self.graph.node[index]);
                    waiting.extend(needed.into_iter().map(|name| resolve(&name)));
                }
            } else if let Some(&index) = self.weights.get(&value) {
                weights.insert(index);
            } else {
                return Err(Error::Cut {
                    part: part.to_owned(),
                    problem: format!("it needs the value `{value}`, which lies outside"),
                });
            }
        }
        let mut graph = GraphProto {
            input: inputs.iter().map(described).collect(),
            output: outputs
                .iter()
                .map(|name| described_output(&resolve(name)))
                .collect(),
            ..GraphProto::default()
        };
        for index in in_order(nodes) {
            let mut node = self.graph.node[index].clone();
            for name in &mut node.input {
                *name = resolve(name);
            }
            graph.node.push(node);
        }
        for index in in_order(weights) {
            graph
                .initializer
                .push(self.graph.initializer[index].clone());
        }
        let model = ModelProto {
            ir_version: self.ir_version,
            graph: Some(graph),
            opset_import: self.opsets.clone(),
            ..ModelProto::default()
        };
        model.write_buf().map_err(|error| Error::Cut {
            part: part.to_owned(),
            problem: error.to_string(),
        })
    }
}

/// What a value is called after all replacements.
pub(crate) fn resolve(same: &HashMap<String, String>, name: &str) -> String {
    let mut name = name;
    // A chain is at most as long as the table, so a circle ends too.
    for _ in 0..=same.len() {
        match same.get(name) {
            Some(other) => name = other,
            None => break,
        }
    }
    name.to_owned()
}

/// An attribute of a node.
pub(crate) fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute
        .iter()
        .find(|attribute| attribute.name.as_deref() == Some(name))
}

/// The operator of a node.
pub(crate) fn operator(node: &NodeProto) -> &str {
    node.op_type.as_deref().unwrap_or_default()
}

/// What a node takes, with what the graphs inside it (of `If` and `Loop`) take from outside.
fn inputs_of(node: &NodeProto) -> Vec<String> {
    let mut inputs: Vec<String> = node
        .input
        .iter()
        .filter(|name| !name.is_empty())
        .cloned()
        .collect();
    for inner in node
        .attribute
        .iter()
        .filter_map(|attribute| attribute.g.as_ref())
    {
        let outputs = inner
            .node
            .iter()
            .flat_map(|node| node.output.iter().cloned());
        let weights = inner
            .initializer
            .iter()
            .filter_map(|tensor| tensor.name.clone());
        let given = inner.input.iter().filter_map(|input| input.name.clone());
        let own: HashSet<String> = outputs.chain(weights).chain(given).collect();
        inputs.extend(
            inner
                .node
                .iter()
                .flat_map(inputs_of)
                .filter(|name| !own.contains(name)),
        );
    }
    inputs
}

fn in_order(indices: HashSet<usize>) -> Vec<usize> {
    let mut indices: Vec<usize> = indices.into_iter().collect();
    indices.sort_unstable();
    indices
}

fn described(input: &Cut) -> ValueInfoProto {
    let tensor = TypeProtoTensor {
        elem_type: Some(DataType::FLOAT),
        shape: None,
    };
    let float = TypeProto {
        tensor_type: Some(tensor),
        ..TypeProto::default()
    };
    ValueInfoProto {
        name: Some(input.name.clone()),
        r#type: input.float.then_some(float),
    }
}

fn described_output(name: &str) -> ValueInfoProto {
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: None,
    }
}
