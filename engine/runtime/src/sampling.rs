//! How a request wants its tokens chosen, and how they are.

use std::collections::HashMap;

use crate::{Error, Result, driver::mix};

/// How a request wants its tokens chosen. What is not given is the model's own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Divides the logits, from 0 to 2; 0 takes the likeliest token always.
    pub temperature: Option<f32>,
    /// Only the `k` likeliest tokens; 0 keeps all.
    pub top_k: Option<u32>,
    /// Only the likeliest tokens that together are this probable, above 0 to 1.
    pub top_p: Option<f32>,
    /// Only tokens at least this share as probable as the likeliest, from 0 to 1.
    pub min_p: Option<f32>,
    /// Divides the logit of every token that was there before (prompt and answer), where it is
    /// positive, and multiplies it where it is negative; 1 changes nothing.
    pub repetition_penalty: Option<f32>,
    /// Taken off the logit of every token that the answer has, from -2 to 2.
    pub presence_penalty: Option<f32>,
    /// Taken off the logit of a token for each time that the answer has it, from -2 to 2.
    pub frequency_penalty: Option<f32>,
    /// Added to the logits of these tokens, from -100 to 100.
    pub logit_bias: Vec<(u32, f32)>,
    /// Texts that end the answer; they are not part of it.
    pub stop: Vec<String>,
    /// Tokens that end the answer, beside those of the model.
    pub stop_ids: Vec<u32>,
    /// The most tokens that the answer may have.
    pub max_tokens: Option<u32>,
}

impl Sampling {
    /// Refuses what makes no sense, by the name that the field has on the wire.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] with what is accepted.
    pub fn check(&self) -> Result<()> {
        let between = |name: &str, value: Option<f32>, low: f32, high: f32| match value {
            Some(value) if !(low..=high).contains(&value) => Err(Error::InvalidOption {
                name: name.into(),
                got: value.to_string(),
                accepted: format!("a number from {low} to {high}"),
            }),
            _ => Ok(()),
        };
        between("temperature", self.temperature, 0.0, 2.0)?;
        between("top_p", self.top_p, f32::MIN_POSITIVE, 1.0)?;
        between("min_p", self.min_p, 0.0, 1.0)?;
        between("repetition_penalty", self.repetition_penalty, 0.01, 10.0)?;
        between("presence_penalty", self.presence_penalty, -2.0, 2.0)?;
        between("frequency_penalty", self.frequency_penalty, -2.0, 2.0)?;
        for &(_, bias) in &self.logit_bias {
            between("logit_bias", Some(bias), -100.0, 100.0)?;
        }
        if self.max_tokens == Some(0) {
            return Err(Error::InvalidOption {
                name: "max_tokens".into(),
                got: "0".into(),
                accepted: "at least 1".into(),
            });
        }
        Ok(())
    }
}

/// Chooses the tokens of one request. The choice depends on the logits, on what was read and
/// chosen before, and on the seed; the n-th choice draws the n-th number of the seed, so that it
/// does not matter what other requests do.
///
/// In this order: logit bias; repetition, presence and frequency penalties; then the likeliest
/// token where the temperature is 0 (of equals, the one with the lowest number), or else
/// temperature, top-k, top-p and min-p, and a draw from what is left.
#[derive(Clone, Debug)]
pub struct Sampler {
    temperature: f32,
    top_k: usize,
    top_p: f32,
    min_p: f32,
    repetition: f32,
    presence: f32,
    frequency: f32,
    bias: Vec<(u32, f32)>,
    seed: u64,
    drawn: u64,
    /// Tokens that were there before, each with how often the answer has it.
    before: HashMap<u32, u32>,
    candidates: Vec<(f32, u32)>,
}

/// A token this much less likely than the likeliest, in logits at temperature 1, is never drawn:
/// all tokens of a vocabulary of 200,000 together have less than a millionth of the probability.
const NEGLIGIBLE: f32 = 27.0;

impl Sampler {
    /// A sampler of this request.
    ///
    /// # Errors
    /// Those of [`Sampling::check`].
    pub fn new(sampling: &Sampling, seed: u64) -> Result<Self> {
        sampling.check()?;
        Ok(Self {
            temperature: sampling.temperature.unwrap_or(1.0),
            top_k: sampling.top_k.unwrap_or(0) as usize,
            top_p: sampling.top_p.unwrap_or(1.0),
            min_p: sampling.min_p.unwrap_or(0.0),
            repetition: sampling.repetition_penalty.unwrap_or(1.0),
            presence: sampling.presence_penalty.unwrap_or(0.0),
            frequency: sampling.frequency_penalty.unwrap_or(0.0),
            bias: sampling.logit_bias.clone(),
            seed,
            drawn: 0,
            before: HashMap::new(),
            candidates: Vec::new(),
        })
    }

    /// These tokens were read: they count for the repetition penalty.
    #[expect(clippy::float_cmp, reason = "1 is exactly no penalty")]
    pub fn read(&mut self, tokens: &[u32]) {
        if self.repetition != 1.0 {
            for &token in tokens {
                self.before.entry(token).or_insert(0);
            }
        }
    }

    /// Chooses the next token; the logits are changed on the way. None where no logit is a finite
    /// number.
    pub fn choose(&mut self, logits: &mut [f32]) -> Option<u32> {
        self.adjust(logits);
        let token = if self.temperature <= 0.0 {
            likeliest(logits)?.0
        } else {
            self.draw(logits)?
        };
        *self.before.entry(token).or_insert(0) += 1;
        Some(token)
    }

    fn adjust(&self, logits: &mut [f32]) {
        for &(token, bias) in &self.bias {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit += bias;
            }
        }
        for (&token, &count) in &self.before {
            let Some(logit) = logits.get_mut(token as usize) else {
                continue;
            };
            *logit = if *logit > 0.0 {
                *logit / self.repetition
            } else {
                *logit * self.repetition
            };
            if count > 0 {
                #[expect(clippy::cast_precision_loss, reason = "an answer is shorter than that")]
                let count = count as f32;
                *logit -= self.presence + self.frequency * count;
            }
        }
    }

    fn draw(&mut self, logits: &[f32]) -> Option<u32> {
        let (_, top) = likeliest(logits)?;
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let least = top - NEGLIGIBLE * self.temperature;
        let likely = (0..)
            .zip(logits)
            .filter(|(_, logit)| logit.is_finite() && **logit >= least);
        candidates.extend(
            likely.map(|(token, &logit)| (((logit - top) / self.temperature).exp(), token)),
        );
        candidates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        if self.top_k > 0 {
            candidates.truncate(self.top_k);
        }
        let sum: f64 = candidates
            .iter()
            .map(|(weight, _)| f64::from(*weight))
            .sum();
        let mut mass = 0.0;
        let within = candidates.iter().take_while(|(weight, _)| {
            let inside = mass < sum * f64::from(self.top_p);
            mass += f64::from(*weight);
            // The likeliest has weight 1.
            inside && *weight >= self.min_p
        });
        let count = within.count().max(1);
        candidates.truncate(count);
        let sum: f64 = candidates
            .iter()
            .map(|(weight, _)| f64::from(*weight))
            .sum();
        self.drawn += 1;
        let random = mix(self.seed ^ mix(self.drawn));
        #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
        let mut point = (random >> 11) as f64 / (1_u64 << 53) as f64 * sum;
        let chosen = candidates.iter().find(|(weight, _)| {
            point -= f64::from(*weight);
            point < 0.0
        });
        let chosen = chosen.or(candidates.last()).map(|&(_, token)| token);
        self.candidates = candidates;
        chosen
    }
}

/// The token with the largest logit, and the lowest number of those; what is no number is none.
fn likeliest(logits: &[f32]) -> Option<(u32, f32)> {
    let mut best: Option<(u32, f32)> = None;
    for (token, &logit) in (0..).zip(logits) {
        if logit.is_finite() && best.is_none_or(|(_, top)| logit > top) {
            best = Some((token, logit));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(sampling: &Sampling) -> Sampler {
        Sampler::new(sampling, 7).unwrap()
    }

    /// How often each of four tokens is chosen in 4,000 draws.
    fn shares(sampling: &Sampling, logits: [f32; 4]) -> [f64; 4] {
        let mut counts = [0.0; 4];
        for seed in 0..4_000 {
            let mut sampler = Sampler::new(sampling, seed).unwrap();
            let token = sampler.choose(&mut logits.clone()).unwrap();
            counts[token as usize] += 1.0 / 4_000.0;
        }
        counts
    }

    const LOGITS: [f32; 4] = [1.0, 3.0, 2.0, 3.0];

    #[test]
    fn without_heat_the_likeliest_is_chosen_and_of_equals_the_first() {
        let greedy = Sampling {
            temperature: Some(0.0),
            ..Sampling::default()
        };
        assert_eq!(sampler(&greedy).choose(&mut LOGITS.clone()), Some(1));
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let weights: Vec<f64> = LOGITS.iter().map(|&logit| f64::from(logit).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let drawn = shares(&Sampling::default(), LOGITS);
        for (share, weight) in drawn.iter().zip(weights) {
            assert!((share - weight / sum).abs() < 0.03, "{drawn:?}");
        }
    }

    #[test]
    fn what_is_cut_off_is_never_drawn() {
        let cut = |sampling: &Sampling| shares(sampling, LOGITS).map(|share| share > 0.0);
        let top_k = Sampling {
            top_k: Some(2),
            ..Sampling::default()
        };
        assert_eq!(cut(&top_k), [false, true, false, true]);
        let top_p = Sampling {
            top_p: Some(0.75),
            ..Sampling::default()
        };
        assert_eq!(cut(&top_p), [false, true, false, true]);
        let min_p = Sampling {
            min_p: Some(0.3),
            ..Sampling::default()
        };
        assert_eq!(cut(&min_p), [false, true, true, true]);
    }

    #[test]
    fn penalties_and_bias_move_logits() {
        let penalties = Sampling {
            temperature: Some(0.0),
            repetition_penalty: Some(2.0),
            presence_penalty: Some(1.0),
            frequency_penalty: Some(0.5),
            logit_bias: vec![(0, 4.0)],
            ..Sampling::default()
        };
        let mut sampler = sampler(&penalties);
        sampler.read(&[1]);
        let mut logits = LOGITS;
        assert_eq!(sampler.choose(&mut logits), Some(0));
        assert_eq!(logits, [5.0, 1.5, 2.0, 3.0]);
        let mut logits = LOGITS;
        assert_eq!(sampler.choose(&mut logits), Some(3));
        // Once in the answer: halved, then one and a half less.
        assert_eq!(logits, [1.0, 1.5, 2.0, 3.0]);
    }

    #[test]
    fn a_seed_gives_the_same_tokens() {
        let run = |seed| -> Vec<u32> {
            let mut sampler = Sampler::new(&Sampling::default(), seed).unwrap();
            (0..50)
                .filter_map(|_| sampler.choose(&mut LOGITS.clone()))
                .collect()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let hot = Sampling {
            temperature: Some(f32::NAN),
            ..Sampling::default()
        };
        let message = hot.check().unwrap_err().to_string();
        assert_eq!(
            message,
            "option `temperature` is NaN, accepted: a number from 0 to 2"
        );
        let none = Sampling {
            max_tokens: Some(0),
            ..Sampling::default()
        };
        assert!(none.check().unwrap_err().to_string().contains("max_tokens"));
    }

    #[test]
    fn without_a_number_there_is_no_choice() {
        let mut sampler = sampler(&Sampling::default());
        assert_eq!(sampler.choose(&mut [f32::NAN, f32::NEG_INFINITY]), None);
        assert_eq!(sampler.choose(&mut [f32::NAN, 1.0]), Some(1));
    }
}
