//! Which nodes may run, given what has arrived. A hot path: once a run exists, a hop allocates
//! nothing and compares no names.
//!
//! A [`WalkRun`] is one request's way through one walk. It is told what arrives and what a node
//! gave, and says which nodes are ready and what leaves the walk. The rules:
//!
//! - A node is ready when all its inputs are present. What it does not produce travels as a bare
//!   signal.
//! - A loop's iteration ends when every entity directly in its body has completed once: a
//!   barrier by name. An edge that closes a cycle feeds the next iteration, every other one the
//!   running one; which it is was decided at load, so no order of completions changes who sees
//!   what.
//! - A loop is done at its bound, or at the end of an iteration in which it was stopped. Its
//!   outputs leave then.
//! - A payload from further out than a loop is presented again in each iteration, unless the body
//!   feeds the input itself.
//! - An input that takes a stream takes a chunk once all plain inputs are there: once for each
//!   run of the node, wherever the node stands.
//! - The walk is done when every entity directly in it has completed.

mod rounds;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::{ConnectionId, InputId, LoopId, NodeId, OutputId};
use crate::payload::Payloads;
use crate::walk::{Leaving, Source, Walk};

/// Something that leaves a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure<P> {
    /// The node that gave it.
    pub node: NodeId,
    /// The output that it came out of.
    pub output: OutputId,
    /// Where it goes, and whether it is kept or counted.
    pub leaving: Leaving,
    /// At least one payload: a bare signal does not leave a walk.
    pub payloads: Payloads<P>,
}

/// When a delivered payload will be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// In this round of the walk.
    Now,
    /// In the next one.
    Next,
}

/// A node that lacks nothing but a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanting {
    /// The node.
    pub node: NodeId,
    /// The input that takes the chunk.
    pub input: InputId,
    /// The streaming edge that it comes from.
    pub connection: ConnectionId,
}

/// How a node stands in the running iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Ready,
    Running,
    Completed,
}

#[derive(Clone, Debug)]
struct CallState {
    phase: Phase,
    missing_plain: usize,
    missing_chunks: usize,
}

#[derive(Clone, Debug)]
struct ScopeState {
    iteration: u32,
    /// Entities that have not completed in this iteration.
    open: usize,
    stopped: bool,
}

/// What one slot holds for one level.
#[derive(Clone, Debug)]
struct Cell<P> {
    /// What is presented again further in.
    kept: Option<Payloads<P>>,
    /// What waits for the next round of this level.
    next: Option<Payloads<P>>,
}

/// One request's way through one walk.
#[derive(Clone, Debug)]
pub struct WalkRun<P> {
    walk: Arc<Walk>,
    /// By slot: what the next run of the node takes.
    current: Vec<Option<Payloads<P>>>,
    /// By slot: whether this round of the walk has had its payload from outside.
    delivered: Vec<bool>,
    cells: Vec<Cell<P>>,
    calls: Vec<CallState>,
    scopes: Vec<ScopeState>,
    /// By result: what the loop gives when it is done.
    results: Vec<Payloads<P>>,
    /// Ready nodes that were not announced yet.
    ready: VecDeque<usize>,
    departures: VecDeque<Departure<P>>,
    /// Outputs of the completing node, by their position among those of its call.
    produced: Vec<Payloads<P>>,
    done: bool,
}

impl<P: Clone> WalkRun<P> {
    /// A run at its start. Nodes without inputs are ready at once.
    #[must_use]
    pub fn new(walk: Arc<Walk>) -> Self {
        let plan = &walk.plan;
        let widest = plan
            .calls
            .iter()
            .map(|call| call.outputs.len())
            .max()
            .unwrap_or(0);
        let leaving = walk.leaving().count();
        let cell = || Cell {
            kept: None,
            next: None,
        };
        let scope = || ScopeState {
            iteration: 0,
            open: 0,
            stopped: false,
        };
        let call = || CallState {
            phase: Phase::Waiting,
            missing_plain: 0,
            missing_chunks: 0,
        };
        let mut run = Self {
            current: plan.slots.iter().map(|_| None).collect(),
            delivered: vec![false; plan.slots.len()],
            cells: (0..plan.cell_count).map(|_| cell()).collect(),
            calls: plan.calls.iter().map(|_| call()).collect(),
            scopes: plan.scopes.iter().map(|_| scope()).collect(),
            results: plan.results.iter().map(|_| Payloads::Signal).collect(),
            ready: VecDeque::with_capacity(plan.calls.len()),
            departures: VecDeque::with_capacity(leaving),
            produced: (0..widest).map(|_| Payloads::Signal).collect(),
            done: false,
            walk,
        };
        run.reset();
        run
    }

    /// The walk.
    #[must_use]
    pub const fn walk(&self) -> &Arc<Walk> {
        &self.walk
    }

    /// Whether every entity directly in the walk has completed.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// The next node that has become ready; each is given once.
    pub fn next_ready(&mut self) -> Option<NodeId> {
        loop {
            let call = self.ready.pop_front()?;
            if self.calls[call].phase == Phase::Ready {
                return Some(self.walk.plan.calls[call].node);
            }
        }
    }

    /// All nodes that are ready and have not been taken.
    pub fn ready_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let calls = self.calls.iter().zip(&self.walk.plan.calls);
        calls
            .filter(|(state, _)| state.phase == Phase::Ready)
            .map(|(_, call)| call.node)
    }

    /// Whether a node is ready.
    #[must_use]
    pub fn is_ready(&self, node: NodeId) -> bool {
        let call = self.walk.plan.call(node);
        call.is_some_and(|call| self.calls[call].phase == Phase::Ready)
    }

    /// The inputs that would take a chunk now.
    pub fn wanting(&self) -> impl Iterator<Item = Wanting> + '_ {
        let plan = &self.walk.plan;
        (0..plan.calls.len())
            .filter(|&call| self.takes_chunks(call))
            .flat_map(|call| plan.calls[call].slots.clone())
            .filter(|&slot| self.current[slot].is_none())
            .filter_map(|slot| match plan.slots[slot].source {
                Source::Stream(connection) => Some(Wanting {
                    node: plan.calls[plan.slots[slot].call].node,
                    input: plan.slots[slot].input,
                    connection,
                }),
                _ => None,
            })
    }

    fn takes_chunks(&self, call: usize) -> bool {
        let state = &self.calls[call];
        state.phase == Phase::Waiting && state.missing_plain == 0 && state.missing_chunks > 0
    }

    /// The loops around a node with their running iterations, counted from 0, outermost first.
    pub fn iterations(&self, node: NodeId) -> impl Iterator<Item = (LoopId, u32)> + '_ {
        let plan = &self.walk.plan;
        self.walk.loops_around(node).filter_map(move |id| {
            let scope = plan.scope_of(id)?;
            Some((id, self.scopes[scope].iteration))
        })
    }

    /// Delivers payloads from outside to a plain input.
    ///
    /// # Errors
    ///
    /// [`Error::NotInWalk`], [`Error::NotTaken`], [`Error::WrongWay`], [`Error::FedInside`];
    /// [`Error::InputFull`] when this round and the next have their payload.
    pub fn deliver(
        &mut self,
        node: NodeId,
        input: InputId,
        payloads: impl Into<Payloads<P>>,
    ) -> Result<Delivered> {
        let slot = self.slot(node, input)?;
        match self.walk.plan.slots[slot].source {
            Source::Stream(_) => return Err(self.wrong_way(slot, true)),
            Source::Inside => {
                let (node, input) = self.names(slot);
                return Err(Error::FedInside { node, input });
            }
            Source::Outside | Source::Seed => {}
        }
        if !self.delivered[slot] {
            self.delivered[slot] = true;
            self.present(slot, 0, payloads.into());
            return Ok(Delivered::Now);
        }
        let cell = self.walk.plan.slots[slot].cells;
        self.wait(slot, cell, payloads.into())?;
        Ok(Delivered::Next)
    }

    /// Delivers a chunk to an input that takes a stream.
    ///
    /// # Errors
    ///
    /// [`Error::NotInWalk`], [`Error::NotTaken`], [`Error::WrongWay`]; [`Error::ChunkNotWanted`]
    /// when the node lacks plain inputs, has its chunk, or has run in this iteration.
    pub fn deliver_chunk(
        &mut self,
        node: NodeId,
        input: InputId,
        payloads: impl Into<Payloads<P>>,
    ) -> Result<()> {
        let slot = self.slot(node, input)?;
        let call = self.walk.plan.slots[slot].call;
        if !matches!(self.walk.plan.slots[slot].source, Source::Stream(_)) {
            return Err(self.wrong_way(slot, false));
        }
        if !self.takes_chunks(call) || self.current[slot].is_some() {
            let (node, input) = self.names(slot);
            return Err(Error::ChunkNotWanted { node, input });
        }
        self.current[slot] = Some(payloads.into());
        self.calls[call].missing_chunks -= 1;
        self.check_ready(call);
        Ok(())
    }

    /// What waits on the inputs of a node for its next run.
    pub fn waiting_at(&self, node: NodeId) -> impl Iterator<Item = &Payloads<P>> {
        let call = self.walk.plan.call(node);
        let slots = call.map_or(0..0, |call| self.walk.plan.calls[call].slots.clone());
        self.current.get(slots).into_iter().flatten().flatten()
    }

    /// Takes the inputs of a ready node, which is running from now on. They are appended to
    /// `inputs` in the order in which the walk names them.
    ///
    /// # Errors
    ///
    /// [`Error::NotInWalk`], [`Error::NotReady`].
    pub fn take_inputs(
        &mut self,
        node: NodeId,
        inputs: &mut Vec<(InputId, Payloads<P>)>,
    ) -> Result<()> {
        let call = self.call(node)?;
        if self.calls[call].phase != Phase::Ready {
            let node = self.walk.plan.calls[call].name.clone();
            return Err(Error::NotReady { node });
        }
        self.calls[call].phase = Phase::Running;
        for slot in self.walk.plan.calls[call].slots.clone() {
            let payloads = self.current[slot].take().unwrap_or_default();
            inputs.push((self.walk.plan.slots[slot].input, payloads));
        }
        Ok(())
    }

    /// A running node has completed with these outputs, and stops these loops after the running
    /// iteration. Outputs that are not given travel as bare signals; those that the walk does not
    /// use are dropped.
    ///
    /// # Errors
    ///
    /// [`Error::NotInWalk`], [`Error::NotRunning`], [`Error::StopFromOutside`],
    /// [`Error::NotStoppable`].
    pub fn complete(
        &mut self,
        node: NodeId,
        outputs: impl IntoIterator<Item = (OutputId, Payloads<P>)>,
        stops: &[LoopId],
    ) -> Result<()> {
        let walk = Arc::clone(&self.walk);
        let call = self.call(node)?;
        let plan = &walk.plan.calls[call];
        if self.calls[call].phase != Phase::Running {
            let node = plan.name.clone();
            return Err(Error::NotRunning { node });
        }
        self.check_stops(call, stops)?;
        for scope in stops.iter().filter_map(|&id| walk.plan.scope_of(id)) {
            self.scopes[scope].stopped = true;
        }
        let used = walk
            .plan
            .outputs
            .get(plan.outputs.clone())
            .unwrap_or_default();
        for (output, payloads) in outputs {
            if let Some(position) = used.iter().position(|plan| plan.output == output) {
                self.produced[position].append(payloads);
            }
        }
        for (position, output) in used.iter().enumerate() {
            let payloads = std::mem::take(&mut self.produced[position]);
            self.send(
                node,
                output.output,
                &output.targets,
                output.result,
                payloads,
            )?;
        }
        self.calls[call].phase = Phase::Completed;
        self.close_entity(plan.scope)
    }

    /// What leaves the walk, in the order of completion.
    pub fn next_departure(&mut self) -> Option<Departure<P>> {
        self.departures.pop_front()
    }

    /// Starts the walk again for the same request: what was delivered ahead is presented.
    pub fn restart(&mut self) {
        self.start_round(0);
    }

    /// Forgets everything: ready for another request.
    pub fn reset(&mut self) {
        for cell in &mut self.cells {
            cell.next = None;
        }
        self.departures.clear();
        self.ready.clear();
        for payloads in &mut self.produced {
            *payloads = Payloads::Signal;
        }
        self.start_round(0);
    }

    fn call(&self, node: NodeId) -> Result<usize> {
        self.walk.plan.call(node).ok_or_else(|| Error::NotInWalk {
            walk: self.walk.name.clone(),
            node: format!("{node:?}"),
        })
    }

    fn slot(&self, node: NodeId, input: InputId) -> Result<usize> {
        let call = &self.walk.plan.calls[self.call(node)?];
        let slot = call.slot_of.get(input.index()).copied().flatten();
        slot.ok_or_else(|| Error::NotTaken {
            walk: self.walk.name.clone(),
            node: call.name.clone(),
        })
    }

    fn names(&self, slot: usize) -> (String, String) {
        let slot = &self.walk.plan.slots[slot];
        let node = &self.walk.plan.calls[slot.call].name;
        (node.clone(), slot.name.clone())
    }

    fn wrong_way(&self, slot: usize, streamed: bool) -> Error {
        let (node, input) = self.names(slot);
        Error::WrongWay {
            node,
            input,
            streamed,
        }
    }

    fn check_stops(&self, call: usize, stops: &[LoopId]) -> Result<()> {
        let plan = &self.walk.plan;
        for &id in stops {
            let scope = plan.scope_of(id);
            let surrounds = |&scope: &usize| plan.is_within(plan.calls[call].scope, scope);
            let Some(scope) = scope.filter(surrounds) else {
                let node = plan.calls[call].name.clone();
                return Err(Error::StopFromOutside { node });
            };
            if !plan.scopes[scope].stoppable {
                let name = plan.scopes[scope].name.clone();
                return Err(Error::NotStoppable { name });
            }
        }
        Ok(())
    }
}
