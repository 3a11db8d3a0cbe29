//! Weights out of a graph, as `f32`.
//!
//! A quantised weight is stored as integers and reaches its consumer through a `DequantizeLinear`
//! node. It is read as that node would give it:
//!
//! ```text
//! w[.., c, ..] = (q[.., c, ..] - zero[c]) * scale[c]        c along the node's `axis`
//! ```

use rten_onnx::onnx::{DataType, NodeProto, TensorProto};

use super::{Error, Onnx, Result, attribute, operator};

impl Onnx {
    /// The weight behind a value: one of the graph's own, of a `Constant` node, or of a
    /// `DequantizeLinear` node, row-major in `shape`.
    ///
    /// # Errors
    /// [`Error::NoWeight`] where the value is none of them, [`Error::Misshapen`] where its shape is
    /// another one.
    pub(crate) fn weight(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let missing = |problem: String| Error::NoWeight {
            name: name.to_owned(),
            problem,
        };
        let quantised = self.producer(name).map(|index| &self.nodes()[index]);
        let quantised = quantised.filter(|node| operator(node) == "DequantizeLinear");
        let stored = quantised.and_then(|node| node.input.first());
        let tensor = self.constant(stored.map_or(name, String::as_str));
        let tensor = tensor.ok_or_else(|| missing("nothing of that name is constant".into()))?;
        let got = dimensions(tensor);
        if got != shape {
            return Err(Error::Misshapen {
                name: name.to_owned(),
                got,
                expected: shape.to_vec(),
            });
        }
        let read = match quantised {
            Some(node) => self.dequantised(node, tensor, shape),
            None => numbers(tensor),
        };
        let values = read.map_err(missing)?;
        if values.len() == shape.iter().product::<usize>() {
            return Ok(values);
        }
        Err(missing(format!("{} numbers in {shape:?}", values.len())))
    }

    /// What a `DequantizeLinear` node makes of a constant.
    fn dequantised(
        &self,
        node: &NodeProto,
        stored: &TensorProto,
        shape: &[usize],
    ) -> std::result::Result<Vec<f32>, String> {
        let parameter = |index: usize| -> std::result::Result<Vec<f32>, String> {
            let Some(name) = node.input.get(index).filter(|name| !name.is_empty()) else {
                return Ok(Vec::new());
            };
            let tensor = self.constant(name);
            numbers(tensor.ok_or_else(|| format!("`{name}` is not constant"))?)
        };
        let (scales, zeros) = (parameter(1)?, parameter(2)?);
        let axis = attribute(node, "axis").and_then(|axis| axis.i).unwrap_or(1);
        let axis = if axis < 0 {
            shape
                .len()
                .checked_sub(usize::try_from(-axis).unwrap_or(usize::MAX))
        } else {
            usize::try_from(axis).ok()
        };
        // One scale goes with every element, whatever the axis.
        let (channels, inner) = match (axis, scales.len()) {
            (_, 1) => (1, 1),
            (Some(axis), count) if shape.get(axis) == Some(&count) => {
                (count, shape.iter().skip(axis + 1).product())
            }
            (_, count) => return Err(format!("{count} scales for the shape {shape:?}")),
        };
        if !zeros.is_empty() && zeros.len() != scales.len() {
            return Err(format!("{} zeros for {channels} scales", zeros.len()));
        }
        let zero = |channel: usize| zeros.get(channel).copied().unwrap_or(0.0);
        let values = numbers(stored)?.into_iter().enumerate();
        let values = values.map(|(index, value)| {
            let channel = index / inner % channels;
            (value - zero(channel)) * scales[channel]
        });
        Ok(values.collect())
    }
}

fn dimensions(tensor: &TensorProto) -> Vec<usize> {
    let one = |&size: &i64| usize::try_from(size).unwrap_or(0);
    tensor.dims.iter().map(one).collect()
}

/// A tensor's numbers. Integers of 32 bits lose what is below the 24th.
fn numbers(tensor: &TensorProto) -> std::result::Result<Vec<f32>, String> {
    #[expect(clippy::cast_precision_loss, reason = "said above")]
    let float = |value: i32| value as f32;
    let raw = tensor.raw_data.as_ref().map(|raw| raw.borrow().to_vec());
    let words = |raw: &[u8]| -> Vec<[u8; 4]> {
        let four = raw.chunks_exact(4);
        four.filter_map(|bytes| bytes.try_into().ok()).collect()
    };
    match (tensor.data_type, raw) {
        (Some(DataType::FLOAT), Some(raw)) => {
            Ok(words(&raw).into_iter().map(f32::from_le_bytes).collect())
        }
        (Some(DataType::FLOAT), None) => Ok(tensor.float_data.clone()),
        (Some(DataType::INT32), Some(raw)) => {
            let values = words(&raw).into_iter().map(i32::from_le_bytes);
            Ok(values.map(float).collect())
        }
        (Some(DataType::INT8), Some(raw)) => Ok(raw
            .iter()
            .map(|byte| f32::from(byte.cast_signed()))
            .collect()),
        (Some(DataType::UINT8), Some(raw)) => Ok(raw.into_iter().map(f32::from).collect()),
        (Some(DataType::INT8 | DataType::UINT8 | DataType::INT32), None) => {
            Ok(tensor.int32_data.iter().copied().map(float).collect())
        }
        (other, _) => Err(format!("its numbers are of type {other:?}")),
    }
}
