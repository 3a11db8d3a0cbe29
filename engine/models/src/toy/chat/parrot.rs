//! The node of a conversing toy: it reads, then says a word at a step.

use std::{sync::Arc, time::Duration};

use runtime::{Cause, Finish, Member, Payload, RequestInfo, State, Submodule, Tokens};

use super::{
    LOOP,
    admit::{Asked, token_id},
    stops::Stops,
};
use crate::toy::submodules::{busy, mix};

pub(super) struct Parrot {
    pub(super) cost: Duration,
    pub(super) max_batch: usize,
    pub(super) fail_at: Option<usize>,
}

/// How far an answer is.
#[derive(Default)]
struct Said {
    words: usize,
    stops: Stops,
}

impl Submodule for Parrot {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn open(&mut self, _request: &RequestInfo) -> Result<State, Cause> {
        Ok(Box::new(Said::default()))
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        busy(self.cost);
        for member in batch {
            let done = if member.input("prompt").is_empty() {
                self.say(member)
            } else {
                read(member)
            };
            if let Err(cause) = done {
                member.fail(cause);
            }
        }
    }
}

fn read(member: &mut Member<'_>) -> Result<(), Cause> {
    let prompt = member.request().admitted::<Asked>()?.prompt;
    member.spent(prompt);
    member.put("last", Payload::from(""));
    Ok(())
}

/// What a step has said.
struct Step {
    text: String,
    /// Whether a token was chosen.
    chosen: bool,
    over: Option<Finish>,
}

impl Parrot {
    fn say(&self, member: &mut Member<'_>) -> Result<(), Cause> {
        let index = member.state::<Said>()?.words;
        if self.fail_at == Some(index) {
            return Err(Cause::Failed(format!("asked to fail at word {index}")));
        }
        let request = member.request();
        let (admitted, seed) = (Arc::clone(&request.admitted), request.seed);
        let asked = admitted
            .downcast_ref::<Asked>()
            .ok_or_else(|| Cause::Failed("what was admitted is of another type".into()))?;
        let Step { text, chosen, over } = member.state::<Said>()?.step(asked, seed);
        member.spent(Tokens {
            completion: u64::from(chosen),
            ..Tokens::default()
        });
        if !text.is_empty() {
            member.put("text", Payload::from(text.as_str()));
        }
        member.put("last", Payload::from(""));
        if let Some(finish) = over {
            member.finish(finish);
            member.stop(LOOP);
        }
        Ok(())
    }
}

impl Said {
    fn step(&mut self, asked: &Asked, seed: u64) -> Step {
        let Some(word) = asked.words.get(self.words) else {
            return self.over("", false, Finish::Stop);
        };
        let index = self.words as u64;
        self.words += 1;
        if asked.sampling.stop_ids.contains(&token_id(word)) {
            return self.over("", true, Finish::Stop);
        }
        let is_loud = asked.loud && mix(seed.wrapping_add(index)) & 1 == 1;
        let word = if is_loud {
            word.to_uppercase()
        } else {
            word.clone()
        };
        let (text, stopped) = self.stops.say(&word, &asked.sampling.stop);
        if stopped {
            return self.over(&text, true, Finish::Stop);
        }
        if self.words == asked.words.len() {
            return self.over(&text, true, Finish::Stop);
        }
        if self.words >= asked.max_tokens {
            return self.over(&text, true, Finish::Length);
        }
        Step {
            text,
            chosen: true,
            over: None,
        }
    }

    /// The last step of an answer: what was held back follows.
    fn over(&mut self, text: &str, chosen: bool, finish: Finish) -> Step {
        Step {
            text: text.to_owned() + &self.stops.end(),
            chosen,
            over: Some(finish),
        }
    }
}
