//! What is counted of conversations, for each model.

use std::sync::Arc;

use engine::{Finish, Tokens};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{CHUNK_SECONDS, Metrics, add, add_with, count};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModelLabels {
    model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabels {
    model: String,
    end: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    model: String,
    kind: &'static str,
}

#[derive(Debug)]
pub(super) struct ChatMetrics {
    active: Family<ModelLabels, Gauge>,
    answers: Family<EndLabels, Counter>,
    first_token: Family<ModelLabels, Histogram>,
    tokens: Family<TokenLabels, Counter>,
}

impl ChatMetrics {
    pub(super) fn new(r: &mut Registry) -> Self {
        Self {
            active: add(
                r,
                "chat_answers_active",
                "Answers to conversations being made",
            ),
            answers: add(
                r,
                "chat_answers",
                "Answers to conversations by model and how they ended",
            ),
            first_token: add_with(
                r,
                "chat_first_token_seconds",
                "From a conversation to the first text of its answer (TTFT)",
                Family::new_with_constructor(|| Histogram::new(CHUNK_SECONDS)),
            ),
            tokens: add(
                r,
                "chat_tokens",
                "Tokens of complete answers: read (prompt), of these not computed again (cached), written (completion)",
            ),
        }
    }
}

impl Metrics {
    /// Shows this model's numbers from the start, not from its first answer on.
    pub(crate) fn expect_chat(&self, model: &str) {
        let model = || model.to_owned();
        let _ = self
            .chat
            .active
            .get_or_create(&ModelLabels { model: model() });
        for end in ["stop", "length", "cancelled", "failed"] {
            let labels = EndLabels {
                model: model(),
                end,
            };
            let _ = self.chat.answers.get_or_create(&labels);
        }
    }

    /// Counts answers to one conversation from here until the guard is dropped.
    pub(crate) fn chat(self: &Arc<Self>, model: &str, answers: usize) -> Chat {
        let chat = Chat {
            metrics: Arc::clone(self),
            model: model.to_owned(),
            open: answers,
            unfinished: "cancelled",
        };
        let active = self.chat.active.get_or_create(&chat.labels());
        active.inc_by(count(answers));
        drop(active);
        chat
    }
}

/// Answers being made; dropping it counts those that are not complete.
#[derive(Debug)]
pub(crate) struct Chat {
    metrics: Arc<Metrics>,
    model: String,
    open: usize,
    /// How those ended that nobody has said anything about.
    unfinished: &'static str,
}

impl Chat {
    pub(crate) fn first_token(&self, seconds: f64) {
        let family = &self.metrics.chat.first_token;
        family.get_or_create(&self.labels()).observe(seconds);
    }

    /// One answer is complete.
    pub(crate) fn ended(&mut self, finish: Finish, tokens: Tokens) {
        self.close(match finish {
            Finish::Stop => "stop",
            Finish::Length => "length",
        });
        for (kind, more) in [
            ("prompt", tokens.prompt),
            ("cached", tokens.cached),
            ("completion", tokens.completion),
        ] {
            let model = self.model.clone();
            let labels = TokenLabels { model, kind };
            self.metrics.chat.tokens.get_or_create(&labels).inc_by(more);
        }
    }

    /// What is not complete will not be, and not for a client's wish.
    pub(crate) fn failed(&mut self) {
        self.unfinished = "failed";
    }

    fn close(&mut self, end: &'static str) {
        let Some(open) = self.open.checked_sub(1) else {
            return;
        };
        self.open = open;
        let model = self.model.clone();
        let labels = EndLabels { model, end };
        self.metrics.chat.answers.get_or_create(&labels).inc();
        let active = &self.metrics.chat.active;
        active.get_or_create(&self.labels()).dec();
    }

    fn labels(&self) -> ModelLabels {
        let model = self.model.clone();
        ModelLabels { model }
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        while self.open > 0 {
            self.close(self.unfinished);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_counted_once_with_its_end() {
        let metrics = Arc::new(Metrics::new());
        let mut chat = metrics.chat("m", 3);
        chat.first_token(0.02);
        let tokens = Tokens {
            prompt: 5,
            cached: 2,
            completion: 7,
        };
        chat.ended(Finish::Length, tokens);
        let text = metrics.render(None);
        assert!(
            text.contains("promenade_chat_answers_active{model=\"m\"} 2\n"),
            "{text}"
        );
        chat.failed();
        drop(chat);
        let text = metrics.render(None);
        for line in [
            "promenade_chat_answers_active{model=\"m\"} 0\n",
            "promenade_chat_answers_total{model=\"m\",end=\"length\"} 1\n",
            "promenade_chat_answers_total{model=\"m\",end=\"failed\"} 2\n",
            "promenade_chat_tokens_total{model=\"m\",kind=\"prompt\"} 5\n",
            "promenade_chat_tokens_total{model=\"m\",kind=\"completion\"} 7\n",
            "promenade_chat_first_token_seconds_count{model=\"m\"} 1\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
