//! Small indices that stand for names once a graph is built.
//!
//! Names are compared once, at load. After that everything is an index into a table of the
//! [`Graph`](crate::Graph) that gave it out: no hashing and no strings on a hop. An id means
//! nothing to another graph.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id at a position of its table. Positions beyond `u32::MAX` saturate and
            /// therefore resolve to nothing.
            #[must_use]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }

            /// The position in its table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

id!(
    /// A node of a graph.
    NodeId
);
id!(
    /// An input port of one node: its position among the node's declared inputs.
    InputId
);
id!(
    /// An output port of one node: its position among the node's declared outputs.
    OutputId
);
id!(
    /// A walk of a graph.
    WalkId
);
id!(
    /// A partition of a graph. [`PartitionId::REQUESTER`] is whoever sent the request.
    PartitionId
);
id!(
    /// A streaming edge between two partitions.
    ConnectionId
);
id!(
    /// A loop of a walk, counted over the whole graph.
    LoopId
);

impl PartitionId {
    /// The requester: the source of client streams and the sink of everything emitted.
    pub const REQUESTER: Self = Self(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_remembers_its_position() {
        assert_eq!(NodeId::new(7).index(), 7);
        assert_eq!(format!("{:?}", WalkId::new(3)), "WalkId(3)");
        assert_eq!(PartitionId::new(0), PartitionId::REQUESTER);
    }
}
