//! The node of a language model: prompts and answers of many requests, through pages.

use std::ops::Range;

use tensor::Tensor;

use super::{Append, PageId, Pool, Sequence};
use crate::{
    Cause, Finish, Member, Payload, RequestInfo, Sampler, Sampling, State, Submodule, Tokens,
};

/// The arithmetic of a model whose tokens each look at those before them.
pub trait Causal: Send {
    /// Tokens that there are.
    fn vocabulary(&self) -> usize;

    /// What a request asks for, out of what the model admitted.
    ///
    /// # Errors
    /// Where it was admitted by another model.
    fn generation(&self, request: &RequestInfo) -> Result<Generation, Cause>;

    /// Copies pages, computes all rows, writes their keys and values where the pages say, and
    /// gives the logits of the last row of each member that asks for them, in order:
    /// `[asked, vocabulary]`.
    ///
    /// # Errors
    /// Whatever fails all of the step.
    fn forward(&mut self, step: &Step<'_>, logits: &mut [f32]) -> Result<(), Cause>;
}

/// What a request asks for.
#[derive(Clone, Debug, Default)]
pub struct Generation {
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Tokens that end the answer, those of [`Sampling::stop_ids`] included.
    pub ends: Vec<u32>,
    /// The most tokens of the answer, at least 1.
    pub max_tokens: u32,
}

/// The rows of one step.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The token of each row.
    pub tokens: &'a [u32],
    /// Whose rows they are, in order.
    pub members: &'a [Rows<'a>],
    /// Pages to copy before anything is written, from and to.
    pub copies: &'a [(PageId, PageId)],
}

/// One request's rows of a step: tokens that follow each other.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// Which of the step's rows.
    pub range: Range<usize>,
    /// Tokens of the request that were computed before: the position of its first row.
    pub past: usize,
    /// The request's pages, with room for its rows.
    pub pages: &'a [PageId],
    /// Whether the logits of its last row are asked for.
    pub logits: bool,
}

/// A [`Causal`] model as the submodule of a node; see the [module](super).
pub struct Engine<M> {
    model: M,
    pool: Pool,
    /// Memory that is used again from step to step.
    logits: Vec<f32>,
    tokens: Vec<u32>,
    copies: Vec<(PageId, PageId)>,
}

/// What is remembered of one request.
struct Session {
    sequence: Sequence,
    /// All tokens: read, and chosen. Those behind the sequence's are not computed yet.
    tokens: Vec<u32>,
    generation: Generation,
    sampler: Sampler,
    /// Tokens of the answer so far.
    chosen: u32,
    /// The answer has ended.
    over: bool,
    /// A step has taken the inputs and was not enough.
    taken: bool,
    /// It has had room for its first token, and its prompt is counted.
    has_begun: bool,
}

/// What one member does in a step.
#[derive(Clone, Copy)]
struct Share {
    rows: usize,
    /// All that it has to compute is computed with this step.
    complete: bool,
}

impl<M: Causal> Engine<M> {
    /// The loop in which answers are made, one token an iteration.
    pub const LOOP: &str = "decode_loop";

    /// A node of this model, with pages of this pool.
    #[must_use]
    pub fn new(model: M, pool: Pool) -> Self {
        Self {
            model,
            pool,
            logits: Vec::new(),
            tokens: Vec::new(),
            copies: Vec::new(),
        }
    }

    /// Takes what came in, where that has not been done in an earlier step.
    fn take(&self, member: &mut Member<'_>) -> Result<(), Cause> {
        let session = member.state::<Session>()?;
        if session.taken || session.over {
            return Ok(());
        }
        session.taken = true;
        if member.is_in_loop(Self::LOOP) {
            return Ok(());
        }
        let read = token_ids(member.input("tokens"), self.model.vocabulary())?;
        let session = member.state::<Session>()?;
        session.tokens.extend(read);
        if session.tokens.is_empty() {
            return Err(Cause::Failed("there is no token to begin with".into()));
        }
        session.sampler.read(&session.tokens);
        Ok(())
    }

    /// What a member has to compute in this step and later; none where its answer is over, or
    /// there is no room for it yet. Whoever begins takes over what others have computed.
    fn waiting(&self, member: &mut Member<'_>) -> Option<usize> {
        let session = member.state::<Session>().ok()?;
        if session.over {
            return None;
        }
        if session.sequence.is_empty() {
            if !self.may_begin(session) {
                return None;
            }
            session.sequence.adopt(&session.tokens);
        }
        let waiting = session.tokens.len() - session.sequence.len();
        if !session.has_begun {
            session.has_begun = true;
            let spent = Tokens {
                prompt: session.tokens.len() as u64,
                cached: session.sequence.len() as u64,
                completion: 0,
            };
            member.spent(spent);
        }
        Some(waiting)
    }

    /// Divides the token budget: each answer has its token, then prompts share the rest in the
    /// order in which they stand.
    fn shares(&self, batch: &mut [Member<'_>]) -> Vec<Option<Share>> {
        let mut left = self.pool.config().token_budget.max(1);
        let waiting: Vec<Option<usize>> = batch
            .iter_mut()
            .map(|member| self.waiting(member))
            .collect();
        let mut shares = vec![None; batch.len()];
        let answers = waiting.iter().map(|waiting| *waiting == Some(1));
        let order: Vec<usize> = answers
            .enumerate()
            .filter_map(|(index, is_answer)| is_answer.then_some(index))
            .chain((0..batch.len()).filter(|&index| waiting[index].is_some_and(|rows| rows > 1)))
            .collect();
        for index in order {
            let all = waiting[index].unwrap_or(0);
            let rows = all.min(left);
            left -= rows;
            shares[index] = Some(Share {
                rows,
                complete: rows == all,
            });
        }
        shares
    }

    /// Whether a request that holds no page may take some: there is room for all that it has to
    /// read and a page more, or nobody else holds any.
    fn may_begin(&self, session: &Session) -> bool {
        let size = self.pool.config().page_tokens;
        !session.sequence.is_empty()
            || session.tokens.len().div_ceil(size) < self.pool.available()
            || self.pool.stats().in_use == 0
    }

    /// Makes room for each member's rows. Who has no room gives back what it has, and waits while
    /// others hold pages.
    fn make_room(&mut self, batch: &mut [Member<'_>], shares: &mut [Option<Share>]) {
        self.copies.clear();
        for (member, share) in batch.iter_mut().zip(shares) {
            let Some(Share { rows: 1.., .. }) = share else {
                continue;
            };
            let Ok(session) = member.state::<Session>() else {
                continue;
            };
            let rows = share.map_or(0, |share| share.rows);
            let past = session.sequence.len();
            let new = session.tokens.get(past..past + rows).unwrap_or_default();
            match session.sequence.append(new) {
                Ok(Append { copies }) => self.copies.extend(copies),
                Err(error) => {
                    *share = None;
                    let own = session.sequence.pages().len();
                    session.sequence.rollback(0);
                    if self.pool.stats().in_use == 0 {
                        let problem = format!("{error}, and this request alone has had {own}");
                        member.fail(Cause::Failed(problem));
                    } else {
                        member.wait();
                    }
                }
            }
        }
    }

    /// Computes the rows of all members. Returns whose logits were asked for, in order.
    fn compute(
        &mut self,
        batch: &mut [Member<'_>],
        shares: &[Option<Share>],
    ) -> Result<Vec<usize>, Cause> {
        self.tokens.clear();
        let mut rows = Vec::with_capacity(batch.len());
        let mut asked = Vec::new();
        for (index, (member, share)) in batch.iter_mut().zip(shares).enumerate() {
            let Some(Share {
                rows: count @ 1..,
                complete,
            }) = *share
            else {
                continue;
            };
            let session = member.state::<Session>()?;
            let end = session.sequence.len();
            let new = session.tokens.get(end - count..end).unwrap_or_default();
            let start = self.tokens.len();
            self.tokens.extend_from_slice(new);
            rows.push(Rows {
                range: start..start + count,
                past: end - count,
                pages: session.sequence.pages(),
                logits: complete,
            });
            asked.extend(complete.then_some(index));
        }
        if rows.is_empty() {
            return Ok(asked);
        }
        self.logits
            .resize(asked.len() * self.model.vocabulary(), 0.0);
        let step = Step {
            tokens: &self.tokens,
            members: &rows,
            copies: &self.copies,
        };
        self.model.forward(&step, &mut self.logits)?;
        Ok(asked)
    }

    /// Chooses the token that follows, and says what comes of it.
    fn choose(member: &mut Member<'_>, logits: &mut [f32]) -> Result<(), Cause> {
        let session = member.state::<Session>()?;
        session.sequence.commit();
        session.taken = false;
        let token = session
            .sampler
            .choose(logits)
            .ok_or_else(|| Cause::Failed("the model gave no logits that are numbers".into()))?;
        session.tokens.push(token);
        session.chosen += 1;
        let ends = session.generation.ends.contains(&token);
        let is_full = session.chosen >= session.generation.max_tokens;
        session.over = ends || is_full;
        let over = session.over;
        let payload = Tensor::i64([1], vec![i64::from(token)]);
        let payload = Payload::Tensor(payload.map_err(|error| Cause::failed(&error))?);
        member.put("tokens", payload.clone());
        member.put("token", if over { payload.last() } else { payload });
        member.spent(Tokens {
            completion: 1,
            ..Tokens::default()
        });
        if over {
            member.finish(if ends { Finish::Stop } else { Finish::Length });
            Self::end(member);
        }
        Ok(())
    }

    /// Ends the loop, where the walk has it.
    fn end(member: &mut Member<'_>) {
        if member.is_in_loop(Self::LOOP) {
            member.stop(Self::LOOP);
        }
    }
}

impl<M: Causal> Submodule for Engine<M> {
    fn max_batch(&self) -> usize {
        self.pool.config().max_batch.max(1)
    }

    fn mixes_walks(&self) -> bool {
        true
    }

    fn pages(&self) -> Option<Pool> {
        Some(self.pool.clone())
    }

    fn open(&mut self, request: &RequestInfo) -> Result<State, Cause> {
        let generation = self.model.generation(request)?;
        let sampler = Sampler::new(&generation.sampling, request.seed);
        Ok(Box::new(Session {
            sequence: self.pool.open(),
            tokens: Vec::new(),
            sampler: sampler.map_err(|error| Cause::failed(&error))?,
            generation,
            chosen: 0,
            over: false,
            taken: false,
            has_begun: false,
        }))
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        for member in batch.iter_mut() {
            if let Err(cause) = self.take(member) {
                member.fail(cause);
            }
        }
        let mut shares = self.shares(batch);
        for (member, share) in batch.iter_mut().zip(&mut shares) {
            if member.has_failed() {
                *share = None;
            } else if share.is_none() {
                match member.state::<Session>() {
                    // Its answer ended with the walk before.
                    Ok(session) if session.over => Self::end(member),
                    _ => member.wait(),
                }
            }
        }
        self.make_room(batch, &mut shares);
        let asked = match self.compute(batch, &shares) {
            Ok(asked) => asked,
            Err(cause) => {
                for (member, _) in batch
                    .iter_mut()
                    .zip(&shares)
                    .filter(|(_, share)| share.is_some())
                {
                    member.fail(cause.clone());
                }
                return;
            }
        };
        for (member, share) in batch.iter_mut().zip(&shares) {
            if let Some(Share {
                complete: false, ..
            }) = share
            {
                member.again();
            }
        }
        let mut logits = std::mem::take(&mut self.logits);
        for (index, logits) in asked
            .into_iter()
            .zip(logits.chunks_exact_mut(self.model.vocabulary().max(1)))
        {
            if let Some(member) = batch.get_mut(index)
                && let Err(cause) = Self::choose(member, logits)
            {
                member.fail(cause);
            }
        }
        self.logits = logits;
    }
}

/// The tokens of payloads, one after the other.
fn token_ids(payloads: &[Payload], vocabulary: usize) -> Result<Vec<u32>, Cause> {
    let mut ids = Vec::new();
    for payload in payloads {
        let tensor = payload
            .as_tensor()
            .ok_or_else(|| Cause::Failed("tokens are no tensor".into()))?;
        let numbers = tensor.as_i64().map_err(|error| Cause::failed(&error))?;
        for &number in numbers {
            let id = u32::try_from(number).ok();
            let id = id.filter(|&id| (id as usize) < vocabulary);
            let unknown = || {
                Cause::Failed(format!(
                    "there is no token {number}, accepted: 0 to {}",
                    vocabulary.saturating_sub(1)
                ))
            };
            ids.push(id.ok_or_else(unknown)?);
        }
    }
    Ok(ids)
}
