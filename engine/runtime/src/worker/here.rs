//! A partition of one request that lives on a worker: its streams, and the walk that it is in.

use std::collections::VecDeque;

use graph::{
    Connection, ConnectionId, Graph, InputId, NodeId, Partition, PartitionId, WalkRun,
    stream::Chunk,
};

use super::streams::{Incoming, Origin, Outgoing, StreamEnd};
use crate::{Payload, WorkerId, member::Turn, placement::Placed};

/// A partition that lives here.
pub(super) struct Here {
    /// The runs of its walks, each made once and used again.
    pub(super) runs: Vec<WalkRun<Payload>>,
    pub(super) active: Option<Active>,
    pub(super) incoming: Vec<Incoming>,
    pub(super) outgoing: Vec<Outgoing>,
    /// Chunks that were taken for a step that has not begun.
    pub(super) chunks: Vec<(NodeId, InputId, Chunk<Payload>)>,
    /// Nodes that are not finished with what they took: see [`Member::again`](crate::Member::again).
    pub(super) parked: Vec<(NodeId, Turn)>,
    /// Nodes that are queued for a step, or in one.
    pub(super) queued: Vec<NodeId>,
}

/// The walk that a partition is in.
#[derive(Clone, Copy)]
pub(super) struct Active {
    /// Its run, by index.
    pub(super) run: usize,
    /// Whether the next pass begins by itself, as long as a stream is not over.
    pub(super) repeats: bool,
    /// Passes that have ended.
    pub(super) passes: u64,
}

impl Here {
    /// With empty streams, in no walk.
    pub(super) fn new(
        partition: &Partition,
        graph: &Graph,
        placed: &Placed,
        worker: WorkerId,
    ) -> Self {
        let connections = |ids: &[ConnectionId]| -> Vec<&Connection> {
            ids.iter().filter_map(|&id| graph.connection(id)).collect()
        };
        let lane_of = |id: ConnectionId| {
            graph
                .client_streams()
                .position(|stream| stream.id() == id)
                .unwrap_or(0)
        };
        let incoming = connections(partition.incoming())
            .into_iter()
            .map(|connection| {
                let home = placed.worker(connection.from());
                let from = match connection.from() {
                    PartitionId::REQUESTER => Origin::Lane(lane_of(connection.id())),
                    producer if home == worker => Origin::Here(producer),
                    _ => Origin::There {
                        worker: home,
                        granted: connection.stream().capacity,
                    },
                };
                Incoming::new(connection, from)
            });
        let outgoing = connections(partition.outgoing())
            .into_iter()
            .map(|connection| {
                let home = placed.worker(connection.to());
                Outgoing {
                    connection: connection.id(),
                    to: connection.to(),
                    remote: (home != worker).then_some((home, connection.stream().capacity)),
                    backlog: VecDeque::new(),
                    end: StreamEnd::Open,
                }
            });
        Self {
            runs: Vec::with_capacity(partition.walks().len()),
            active: None,
            incoming: incoming.collect(),
            outgoing: outgoing.collect(),
            chunks: Vec::new(),
            parked: Vec::new(),
            queued: Vec::new(),
        }
    }

    pub(super) fn incoming(&mut self, connection: ConnectionId) -> Option<&mut Incoming> {
        self.incoming
            .iter_mut()
            .find(|incoming| incoming.connection == connection)
    }

    pub(super) fn outgoing(&mut self, connection: ConnectionId) -> Option<&mut Outgoing> {
        self.outgoing
            .iter_mut()
            .find(|outgoing| outgoing.connection == connection)
    }
}
