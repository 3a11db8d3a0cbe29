//! One request's turn in a step: what its node may read, keep and put.

use std::{any::Any, sync::Arc};

use graph::{InputId, LoopId, NodeSpec, OutputId, Payloads, Walk, stream::Chunk};

use crate::{Cause, Finish, Payload, RequestInfo, State, Tokens};

/// One request's turn in a batch.
pub struct Member<'a> {
    pub(crate) node: &'a NodeSpec,
    pub(crate) walk: &'a Walk,
    pub(crate) request: &'a Arc<RequestInfo>,
    pub(crate) turn: &'a mut Turn,
}

/// What a member reads and writes; its memory is used again from step to step.
#[derive(Default)]
pub(crate) struct Turn {
    /// By input of the node.
    pub(crate) inputs: Vec<Payloads<Payload>>,
    /// By input of the node; none where the input is no stream.
    pub(crate) chunks: Vec<Option<Chunk<Payload>>>,
    /// Made by the node at its first step of the request.
    pub(crate) state: Option<State>,
    /// By output of the node.
    pub(crate) outputs: Vec<Payloads<Payload>>,
    pub(crate) stops: Vec<LoopId>,
    pub(crate) failure: Option<Cause>,
    pub(crate) tokens: Tokens,
    pub(crate) finish: Option<Finish>,
    /// The node is not finished: see [`Member::again`].
    pub(crate) again: bool,
    /// It waits for what others hold: see [`Member::wait`].
    pub(crate) waits: bool,
    /// It waited in the step before.
    pub(crate) waited: bool,
}

impl Turn {
    /// Empty, for a node with so many inputs and outputs.
    pub(crate) fn clear(&mut self, inputs: usize, outputs: usize) {
        self.inputs.clear();
        self.inputs.resize(inputs, Payloads::Signal);
        self.chunks.clear();
        self.chunks.resize(inputs, None);
        self.state = None;
        self.outputs.clear();
        self.outputs.resize(outputs, Payloads::Signal);
        self.stops.clear();
        self.failure = None;
        self.tokens = Tokens::default();
        self.finish = None;
        (self.again, self.waits, self.waited) = (false, false, false);
    }

    /// Drops what was put and stopped, as if the step had not been made.
    pub(crate) fn forget_outputs(&mut self) {
        self.outputs
            .iter_mut()
            .for_each(|output| *output = Payloads::Signal);
        self.stops.clear();
        self.tokens = Tokens::default();
        (self.finish, self.again, self.waits) = (None, false, false);
    }

    /// The first output that carries a number that is not finite.
    pub(crate) fn output_not_finite(&self) -> Option<OutputId> {
        let finite =
            |payloads: &Payloads<Payload>| payloads.as_slice().iter().all(Payload::is_finite);
        self.outputs
            .iter()
            .position(|payloads| !finite(payloads))
            .map(OutputId::new)
    }
}

impl Member<'_> {
    /// The request: its id, seed, options and what the model drew from them.
    #[must_use]
    pub fn request(&self) -> &RequestInfo {
        self.request
    }

    /// What arrived on an input: a payload, several, or none for a mere signal. On a streaming
    /// input, the items of the chunk. Empty for an input that this walk does not take.
    #[must_use]
    pub fn input(&self, port: &str) -> &[Payload] {
        let Some(input) = self.node.input_named(port).map(InputId::index) else {
            return &[];
        };
        match self.turn.chunks.get(input) {
            Some(Some(chunk)) => &chunk.items,
            _ => self.turn.inputs.get(input).map_or(&[], Payloads::as_slice),
        }
    }

    /// The chunk on a streaming input, which says where its items stand on the edge and which of
    /// them are fresh; none where the input is no stream.
    #[must_use]
    pub fn chunk(&self, port: &str) -> Option<&Chunk<Payload>> {
        let input = self.node.input_named(port)?;
        self.turn.chunks.get(input.index())?.as_ref()
    }

    /// What the node remembers of the request, as [`Submodule::open`](crate::Submodule::open)
    /// made it.
    ///
    /// # Errors
    /// [`Cause::Failed`] where it is of another type.
    pub fn state<T: Any>(&mut self) -> Result<&mut T, Cause> {
        let state = self.turn.state.as_mut();
        state
            .and_then(|state| state.downcast_mut())
            .ok_or_else(|| Cause::Failed(format!("the state is no {}", std::any::type_name::<T>())))
    }

    /// Puts one item on an output, behind what was put there in this step. A name that the node
    /// does not have fails the member.
    pub fn put(&mut self, port: &str, item: impl Into<Payload>) {
        match self
            .node
            .output_named(port)
            .map(OutputId::index)
            .and_then(|index| self.turn.outputs.get_mut(index))
        {
            Some(output) => output.append(Payloads::One(item.into())),
            None => self.fail(Cause::NoSuchPort {
                port: port.to_owned(),
            }),
        }
    }

    /// Lets the current iteration of the loop of this name be its last one. A name that the walk
    /// does not have fails the member.
    pub fn stop(&mut self, name: &str) {
        match self.walk.loop_named(name) {
            Some(id) => self.turn.stops.push(id),
            None => self.fail(Cause::Failed(format!(
                "walk `{}` has no loop `{name}`",
                self.walk.name()
            ))),
        }
    }

    /// Whether the walk has a loop of this name.
    #[must_use]
    pub fn is_in_loop(&self, name: &str) -> bool {
        self.walk.loop_named(name).is_some()
    }

    /// Adds tokens to what the request has used. A language model's node says so in the step that
    /// reads or writes them, each token once; it counts unless the step fails.
    pub fn spent(&mut self, tokens: Tokens) {
        self.turn.tokens.add(tokens);
    }

    /// Says why the request's answer ends here: [`Finish::Length`] where it was cut off at its
    /// limit of tokens. The walk is ended as always, by [`stop`](Self::stop); without a word, it
    /// is [`Finish::Stop`]. The last word counts, so that a node that looks at the text may
    /// overrule one that counts tokens.
    pub fn finish(&mut self, finish: Finish) {
        self.turn.finish = Some(finish);
    }

    /// The node is not finished with what it took: it keeps its inputs and gets another step, and
    /// until then nothing that it feeds starts. What it has put stays and is added to. Long work
    /// is cut so that others get their turns.
    pub fn again(&mut self) {
        self.turn.again = true;
    }

    /// As [`again`](Self::again), but not before another request has ended or has come to wait
    /// itself: for what others hold, such as pages. Such a step does not count as one.
    pub fn wait(&mut self) {
        (self.turn.again, self.turn.waits) = (true, true);
    }

    /// The walk that the member is in: those of one step differ where
    /// [`Submodule::mixes_walks`](crate::Submodule::mixes_walks) allows it.
    #[must_use]
    pub fn walk(&self) -> &str {
        self.walk.name()
    }

    /// Whether this member has been failed in this step.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.turn.failure.is_some()
    }

    /// Ends this request with an error; the other members go on. The first cause counts.
    pub fn fail(&mut self, cause: Cause) {
        self.turn.failure.get_or_insert(cause);
    }
}
