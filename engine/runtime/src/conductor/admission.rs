//! Whom to let in: a listener comes in only where, by what work has cost so far, everyone who is
//! in keeps the deadlines, the newcomer included.
//!
//! Two sums over the live requests that are open, for each worker:
//!
//! ```text
//! load  = sum of (work for a second of audio) over those who are being served   <= rule.load
//! wait  = sum of (work up to the first audio) over those who wait for theirs    <= rule.first_output
//! ```
//!
//! Who has run dry for a while and asks for nothing (a socket that waits for its text) takes no
//! part. What a model's work costs is measured as its requests are served; before the first of
//! them has ended nothing is known, and nobody is refused.

use std::{sync::Arc, time::Duration};

use graph::stream::Time;
use parking_lot::Mutex;

use super::request::Request;
use crate::{Admission, Error, Result, Timing, cost::CostModel};

/// Lets requests in.
pub(super) struct Gate {
    rule: Option<Admission>,
    costs: Arc<Mutex<CostModel>>,
    /// How long requests are open, as a running mean in nanoseconds.
    stay: u64,
}

/// For how long a listener who ran dry still counts.
const LINGERS: Duration = Duration::from_secs(1);

impl Gate {
    pub(super) fn new(rule: Option<Admission>, costs: Arc<Mutex<CostModel>>) -> Self {
        Self {
            rule,
            costs,
            stay: 0,
        }
    }

    /// Whether one more request of a model may come in.
    pub(super) fn check<'a>(
        &self,
        now: Time,
        model: usize,
        timing: Timing,
        workers: usize,
        open: impl Iterator<Item = &'a Request>,
    ) -> Result<()> {
        let (Some(rule), Timing::Live) = (self.rule, timing) else {
            return Ok(());
        };
        let costs = self.costs.lock();
        let mut load = vec![0.0; workers];
        let mut wait = costs.first_audio(model);
        let mut listeners = 0;
        let add = |load: &mut Vec<f64>, model: usize| {
            for (worker, load) in load.iter_mut().enumerate() {
                *load += costs.work(model, worker).unwrap_or(0.0);
            }
        };
        let live = open
            .filter(|request| request.is_running() && request.info.options.timing == Timing::Live);
        for request in live {
            match request.shared.outlet.dry_at(now) {
                Some(dry) if now.since(dry) > LINGERS => continue,
                Some(_) => {}
                None => wait += costs.first_audio(request.model),
            }
            listeners += 1;
            add(&mut load, request.model);
        }
        add(&mut load, model);
        let fits = load.iter().all(|&load| load <= rule.load) && wait <= rule.first_output;
        // Whoever finds nobody is served, however slow the model.
        if fits || listeners == 0 {
            return Ok(());
        }
        let places = u64::try_from(listeners).unwrap_or(u64::MAX);
        Err(Error::Saturated {
            listeners,
            retry: Duration::from_nanos(self.stay / places.max(1)),
        })
    }

    /// A request that was let in at `since` is over.
    pub(super) fn ended(&mut self, now: Time, since: Time) {
        let stay = u64::try_from(now.since(since).as_nanos()).unwrap_or(u64::MAX);
        self.stay = if self.stay == 0 {
            stay
        } else {
            self.stay - self.stay / 8 + stay / 8
        };
    }

    /// What one worker has worked for a request that is over there.
    pub(super) fn worked(&self, request: &Request, worker: usize, busy: Duration) {
        let audio = request.shared.outlet.audio();
        let mut costs = self.costs.lock();
        costs.record_work(request.model, worker, busy, audio);
    }
}
