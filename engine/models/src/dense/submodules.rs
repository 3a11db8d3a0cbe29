//! Tokens to text: the node behind the language model's own.

use std::sync::Arc;

use runtime::{Cause, Finish, Member, Payload, RequestInfo, State, Submodule};

use super::DECODE_LOOP;
use super::admit::Asked;
use super::checkpoint::Texts;
use super::detokenize::Answer;

/// Requests whose tokens become text in one step: each costs a microsecond.
const MAX_BATCH: usize = 256;

/// Tokens to text, for each request where it stands.
pub(super) struct Detokenize {
    texts: Arc<Texts>,
}

impl Detokenize {
    pub(super) fn new(texts: Arc<Texts>) -> Self {
        Self { texts }
    }

    /// Gives out the text that became certain. Ends the loop where a stop text is complete. The
    /// first token stands before the loop: a stop that is complete with it ends the loop in its
    /// first iteration.
    fn write(&self, member: &mut Member<'_>) -> Result<(), Cause> {
        let admitted = Arc::clone(&member.request().admitted);
        let asked = admitted
            .downcast_ref::<Asked>()
            .ok_or_else(|| Cause::Failed("what was admitted is of another type".into()))?;
        // A payload is cheap to clone, and the state is borrowed from the member, too.
        let tokens = member.input("token").to_vec();
        let answer = member.state::<Answer>()?;
        let mut text = String::new();
        for token in &tokens {
            let id = id_of(token)?;
            if !asked.ends.contains(&id) {
                text.push_str(&answer.push(self.texts.tokenizer.bytes_of(id)));
            }
            if matches!(token, Payload::Last(_)) {
                text.push_str(&answer.finish());
            }
        }
        let stopped = answer.stopped();
        if !text.is_empty() {
            member.put("text", text.as_str());
        }
        if stopped {
            member.finish(Finish::Stop);
            if member.is_in_loop(DECODE_LOOP) {
                member.stop(DECODE_LOOP);
            }
        }
        Ok(())
    }
}

impl Submodule for Detokenize {
    fn max_batch(&self) -> usize {
        MAX_BATCH
    }

    fn open(&mut self, request: &RequestInfo) -> Result<State, Cause> {
        let asked = request.admitted::<Asked>()?;
        Ok(Box::new(Answer::new(asked.stops.clone())))
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        for member in batch {
            if let Err(cause) = self.write(member) {
                member.fail(cause);
            }
        }
    }
}

/// A token's number.
fn id_of(token: &Payload) -> Result<u32, Cause> {
    let wrong = || Cause::Failed("a token is no number".to_owned());
    let tensor = token.as_tensor().ok_or_else(wrong)?;
    match tensor.as_i64().map_err(|error| Cause::failed(&error))? {
        &[id] => u32::try_from(id).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}
