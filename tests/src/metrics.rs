//! Reads the Prometheus text of `/metrics`.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Result, bail};
use tokio::time::{sleep, timeout};

use crate::Client;

const ASK_EVERY: Duration = Duration::from_millis(10);

/// Samples by their full name, labels included: `name{label="value"}`.
pub struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    /// Asks a server.
    ///
    /// # Errors
    /// If it does not answer 200.
    pub async fn of(client: &Client) -> Result<Self> {
        let answer = client.get("/metrics").await?;
        if answer.status != 200 {
            bail!("/metrics answered {}", answer.status);
        }
        Ok(Self::parse(&String::from_utf8_lossy(&answer.body)))
    }

    /// Parses the text format; comments and timestamps are skipped.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        Self(
            samples
                .filter_map(|line| line.rsplit_once(' '))
                .filter_map(|(n, v)| Some((n.into(), v.parse().ok()?)))
                .collect(),
        )
    }

    /// The sum of all samples whose name, without labels, is this one; none if there is no such sample.
    #[must_use]
    pub fn sum(&self, name: &str) -> Option<f64> {
        let of_name = |(full, _): &(&String, &f64)| full.split('{').next() == Some(name);
        self.0
            .iter()
            .filter(of_name)
            .map(|(_, value)| *value)
            .reduce(|a, b| a + b)
    }

    /// Asks until every named gauge is 0.
    ///
    /// # Errors
    /// If one is missing, or not 0 within the time.
    pub async fn at_rest(client: &Client, gauges: &[&str], within: Duration) -> Result<()> {
        let mut last = String::new();
        let settled = timeout(within, async {
            loop {
                let metrics = Self::of(client).await?;
                let values: Vec<_> = gauges
                    .iter()
                    .map(|gauge| (*gauge, metrics.sum(gauge)))
                    .collect();
                if values.iter().all(|(_, value)| *value == Some(0.0)) {
                    return anyhow::Ok(());
                }
                last = format!("{values:?}");
                sleep(ASK_EVERY).await;
            }
        });
        match settled.await {
            Ok(result) => result,
            Err(_) => bail!("not at rest within {within:?}: {last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_summed_by_name() {
        let metrics = Metrics::parse("# HELP a b\na{x=\"1\"} 2\na{x=\"2\"} 3.5\nab 7\n");
        assert_eq!(metrics.sum("a"), Some(5.5));
        assert_eq!(metrics.sum("ab"), Some(7.0));
        assert_eq!(metrics.sum("b"), None);
    }
}
