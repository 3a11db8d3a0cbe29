//! What runs in what order: nodes, walks, partitions and streaming edges. Pure.

pub mod stream;

mod edge;
mod id;
mod node;
mod partition;
mod payload;
mod port;
mod section;

pub use self::edge::{Destination, Edge};
pub use self::id::{ConnectionId, InputId, LoopId, NodeId, OutputId, PartitionId, WalkId};
pub use self::node::{EngineKind, NodeSpec};
pub use self::partition::{Connection, ConnectionSpec, Partition, PartitionSpec};
pub use self::payload::{Element, IntoIter, Kind, Payloads, Ratio, Shape};
pub use self::port::{Disagreement, Modality, Port, PortType};
pub use self::section::{Call, LoopSpec, Section};
