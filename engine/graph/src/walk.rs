//! A named path through the graph, checked and ready to run.
//!
//! A walk is compiled once into tables of indices. Terms used in them:
//!
//! - a *call* is one node of the walk, with the inputs that it takes here;
//! - a *slot* is one input of one call;
//! - a *scope* is the walk itself (scope 0) or the body of a loop; its *level* is how many loops
//!   surround what is in it. An *entity* of a scope is a call or a loop directly in it;
//! - a slot can be fed at each level of the scopes around it: at level 0 once a walk, at level n
//!   once for each iteration of the n-th loop around it.

use std::ops::Range;

use crate::id::{ConnectionId, InputId, LoopId, NodeId, OutputId, PartitionId, WalkId};
use crate::port::Modality;
use crate::section::Section;

/// A walk of a built graph.
#[derive(Debug)]
pub struct Walk {
    pub(crate) id: WalkId,
    pub(crate) name: String,
    pub(crate) partition: PartitionId,
    pub(crate) section: Section,
    pub(crate) plan: Plan,
}

/// Where an input gets its first payload from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From outside the walk.
    Outside,
    /// From outside the walk the first time, then from the loop around it.
    Seed,
    /// From a node of the walk.
    Inside,
    /// From a streaming edge, chunk by chunk.
    Stream(ConnectionId),
}

/// Where something leaves a walk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// To the requester.
    Emit(Modality),
    /// Onto a streaming edge.
    Stream(ConnectionId),
    /// Nowhere: it is only kept.
    Nowhere,
}

/// An edge that leaves a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Where it goes.
    pub to: Exit,
    /// Whether it is kept for a later walk.
    pub persist: bool,
    /// Whether it counts toward the token budget.
    pub count: bool,
}

/// One input that a node takes in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The node.
    pub node: NodeId,
    /// Its input.
    pub input: InputId,
    /// Where its first payload comes from.
    pub source: Source,
}

#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) calls: Vec<CallPlan>,
    /// By node id: the call, if the walk runs the node.
    pub(crate) call_of: Vec<Option<usize>>,
    pub(crate) slots: Vec<SlotPlan>,
    /// Cells of all slots together: one for each slot and level.
    pub(crate) cell_count: usize,
    pub(crate) scopes: Vec<ScopePlan>,
    pub(crate) outputs: Vec<OutputPlan>,
    pub(crate) results: Vec<ResultPlan>,
    /// The id of the first loop; the others follow in the order of `scopes[1..]`.
    pub(crate) first_loop: usize,
}

#[derive(Debug)]
pub(crate) struct CallPlan {
    pub(crate) node: NodeId,
    pub(crate) name: String,
    pub(crate) scope: usize,
    pub(crate) slots: Range<usize>,
    /// By input id: the slot, if the call takes the input.
    pub(crate) slot_of: Vec<Option<usize>>,
    pub(crate) outputs: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct SlotPlan {
    pub(crate) call: usize,
    pub(crate) input: InputId,
    pub(crate) name: String,
    pub(crate) source: Source,
    /// The innermost level at which it can be fed.
    pub(crate) level: usize,
    /// The cell of level 0.
    pub(crate) cells: usize,
    /// Levels at which an edge of the walk feeds it.
    pub(crate) fed: Levels,
    /// Levels whose payload is presented again in iterations further in.
    pub(crate) kept: Levels,
}

#[derive(Debug)]
pub(crate) struct ScopePlan {
    pub(crate) id: LoopId,
    pub(crate) name: String,
    pub(crate) max: u32,
    pub(crate) stoppable: bool,
    /// The scope around it; scope 0 is its own.
    pub(crate) parent: usize,
    pub(crate) level: usize,
    /// Calls and loops directly in it.
    pub(crate) entity_count: usize,
    /// Calls in it, those of inner loops included.
    pub(crate) calls: Vec<usize>,
    /// Loops in it, at any depth.
    pub(crate) loops: Vec<usize>,
    pub(crate) results: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct OutputPlan {
    pub(crate) output: OutputId,
    pub(crate) targets: Vec<Target>,
    /// The result of the loop around the call that this output sets.
    pub(crate) result: Option<usize>,
}

/// What leaves a loop when it is done.
#[derive(Debug)]
pub(crate) struct ResultPlan {
    pub(crate) node: NodeId,
    pub(crate) output: OutputId,
    pub(crate) name: String,
    pub(crate) accumulated: bool,
    pub(crate) targets: Vec<Target>,
    /// The result of the loop further out that this one sets.
    pub(crate) result: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A slot, once for each round of a level: for the running round, or ahead for the next.
    Slot {
        slot: usize,
        level: usize,
        ahead: bool,
    },
    Leaves(Leaving),
}

/// A set of levels. The depth of sections is bounded well below its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Levels(u64);

impl Levels {
    pub(crate) fn insert(&mut self, level: usize) {
        self.0 |= 1 << level;
    }

    pub(crate) const fn contains(self, level: usize) -> bool {
        self.0 >> level & 1 == 1
    }
}

impl Walk {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> WalkId {
        self.id
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The partition that runs it.
    #[must_use]
    pub const fn partition(&self) -> PartitionId {
        self.partition
    }

    /// Its declaration.
    #[must_use]
    pub const fn section(&self) -> &Section {
        &self.section
    }

    /// The nodes that it runs, in the order of the declaration.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.plan.calls.iter().map(|call| call.node)
    }

    /// Whether it runs a node.
    #[must_use]
    pub fn runs(&self, node: NodeId) -> bool {
        self.plan.call(node).is_some()
    }

    /// Every input that its nodes take.
    pub fn inputs(&self) -> impl Iterator<Item = Taken> + '_ {
        self.plan.slots.iter().map(|slot| Taken {
            node: self.plan.calls[slot.call].node,
            input: slot.input,
            source: slot.source,
        })
    }

    /// The inputs that must be delivered from outside before the walk can finish: all of source
    /// [`Source::Outside`] or [`Source::Seed`].
    pub fn entries(&self) -> impl Iterator<Item = Taken> + '_ {
        self.inputs()
            .filter(|taken| matches!(taken.source, Source::Outside | Source::Seed))
    }

    /// The connections whose chunks it takes.
    pub fn streams(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        self.inputs().filter_map(|taken| match taken.source {
            Source::Stream(connection) => Some(connection),
            _ => None,
        })
    }

    /// Every edge that leaves it: the node and output that feed it, and where it goes. An output
    /// of a loop is that of the node inside that gives it.
    pub fn leaving(&self) -> impl Iterator<Item = (NodeId, OutputId, Leaving)> + '_ {
        let calls = self.plan.calls.iter().flat_map(|call| {
            let outputs = self
                .plan
                .outputs
                .get(call.outputs.clone())
                .unwrap_or_default();
            outputs
                .iter()
                .map(|output| (call.node, output.output, &output.targets))
        });
        let loops = self.plan.results.iter();
        calls
            .chain(loops.map(|result| (result.node, result.output, &result.targets)))
            .flat_map(|(node, output, targets)| {
                targets.iter().filter_map(move |target| match target {
                    Target::Leaves(leaving) => Some((node, output, *leaving)),
                    Target::Slot { .. } => None,
                })
            })
    }

    /// Every edge inside it, from node to node; a loop's outputs lead from the node that gives
    /// them.
    pub fn hops(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let calls = self.plan.calls.iter().flat_map(|call| {
            let outputs = self.plan.outputs.get(call.outputs.clone());
            let outputs = outputs.unwrap_or_default().iter();
            outputs.map(|output| (call.node, &output.targets))
        });
        let loops = self.plan.results.iter();
        calls
            .chain(loops.map(|result| (result.node, &result.targets)))
            .flat_map(move |(from, targets)| {
                targets.iter().filter_map(move |target| match target {
                    Target::Slot { slot, .. } => {
                        let call = self.plan.slots.get(*slot)?.call;
                        Some((from, self.plan.calls.get(call)?.node))
                    }
                    Target::Leaves(_) => None,
                })
            })
    }

    /// The loops of the walk, outer ones before inner ones.
    pub fn loops(&self) -> impl Iterator<Item = LoopId> + '_ {
        self.plan.scopes.iter().skip(1).map(|scope| scope.id)
    }

    /// The loop of a name.
    #[must_use]
    pub fn loop_named(&self, name: &str) -> Option<LoopId> {
        let mut scopes = self.plan.scopes.iter().skip(1);
        scopes
            .find(|scope| scope.name == name)
            .map(|scope| scope.id)
    }

    /// The name of one of its loops.
    #[must_use]
    pub fn loop_name(&self, id: LoopId) -> Option<&str> {
        let scope = self.plan.scope_of(id)?;
        Some(&self.plan.scopes.get(scope)?.name)
    }

    /// The loops around a node, outermost first.
    pub fn loops_around(&self, node: NodeId) -> impl Iterator<Item = LoopId> + '_ {
        let innermost = self
            .plan
            .call(node)
            .map_or(0, |call| self.plan.calls[call].scope);
        let scopes = &self.plan.scopes;
        (1..scopes.len())
            .filter(move |&scope| scope == innermost || scopes[scope].loops.contains(&innermost))
            .map(|scope| scopes[scope].id)
    }
}

impl Plan {
    pub(crate) fn call(&self, node: NodeId) -> Option<usize> {
        self.call_of.get(node.index()).copied().flatten()
    }

    /// The scope of a loop of this walk.
    pub(crate) fn scope_of(&self, id: LoopId) -> Option<usize> {
        let scope = id.index().checked_sub(self.first_loop)? + 1;
        (scope < self.scopes.len()).then_some(scope)
    }

    /// Whether a scope is another or lies in it.
    pub(crate) fn is_within(&self, scope: usize, outer: usize) -> bool {
        scope == outer || outer == 0 || self.scopes[outer].loops.contains(&scope)
    }
}
