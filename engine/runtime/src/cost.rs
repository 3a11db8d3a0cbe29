//! What steps cost, measured while they are made: by node and walk, number of members, length.
//!
//! An estimate is a running mean and the mean deviation from it, as retransmission timers keep
//! them (RFC 6298): a step is planned at `mean + 2 * deviation`, so that it is rarely late. Sizes
//! fall into buckets: members by powers of two, lengths by half powers. A size that was never
//! seen is told from the nearest one that was: shorter ones cost no less than half, longer ones
//! in proportion, and more members what the most members cost so far.

use std::time::Duration;

use graph::{ConnectionId, Graph, NodeId, WalkId};

/// One node in one walk of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) model: usize,
    pub(crate) walk: WalkId,
    pub(crate) node: NodeId,
}

/// What steps have cost, over all workers of a driver.
#[derive(Debug, Default)]
pub(crate) struct CostModel {
    models: Vec<ModelCosts>,
}

#[derive(Debug)]
struct ModelCosts {
    node_count: usize,
    /// By walk and node.
    places: Vec<PlaceCosts>,
    /// By connection: nanoseconds of audio that an item becomes.
    item_audio: Vec<Running>,
    /// By worker: nanoseconds of work for a nanosecond of audio.
    work: Vec<Running>,
    /// Nanoseconds of work before the first audio, on the worker that emits it.
    first: Running,
}

#[derive(Clone, Debug, Default)]
struct PlaceCosts {
    seen: Vec<Seen>,
    /// Over all sizes.
    any: Running,
}

#[derive(Clone, Debug)]
struct Seen {
    members: usize,
    length: usize,
    cost: Running,
}

/// A running mean and the mean deviation from it.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    mean: f64,
    deviation: f64,
    count: u32,
}

/// How much a new value counts, once there are enough: a change shows after some twenty steps.
const GAIN: f64 = 0.1;

impl Running {
    fn record(&mut self, value: f64) {
        self.count = self.count.saturating_add(1);
        let gain = GAIN.max(1.0 / f64::from(self.count));
        let off = value - self.mean;
        self.mean += gain * off;
        if self.count > 1 {
            self.deviation += gain * (off.abs() - self.deviation);
        }
    }

    fn planned(&self) -> f64 {
        self.mean + 2.0 * self.deviation
    }
}

impl CostModel {
    pub(crate) fn new<'a>(graphs: impl Iterator<Item = &'a Graph>, workers: usize) -> Self {
        let models = graphs.map(|graph| ModelCosts {
            node_count: graph.nodes().len(),
            places: vec![PlaceCosts::default(); graph.walks().len() * graph.nodes().len()],
            item_audio: vec![Running::default(); graph.connections().len()],
            work: vec![Running::default(); workers],
            first: Running::default(),
        });
        Self {
            models: models.collect(),
        }
    }

    /// A step of so many members, of this length together, took so long.
    pub(crate) fn record(&mut self, place: Place, members: usize, length: usize, took: Duration) {
        let Some(costs) = self.place_mut(place) else {
            return;
        };
        let took = nanos(took);
        costs.any.record(took);
        let (members, length) = (members_bucket(members), length_bucket(length));
        match costs
            .seen
            .iter_mut()
            .find(|seen| seen.members == members && seen.length == length)
        {
            Some(seen) => seen.cost.record(took),
            None => {
                let mut cost = Running::default();
                cost.record(took);
                costs.seen.push(Seen {
                    members,
                    length,
                    cost,
                });
            }
        }
    }

    /// What a step of so many members, of this length together, is planned at; zero where the
    /// node never ran.
    pub(crate) fn step(&self, place: Place, members: usize, length: usize) -> Duration {
        let Some(costs) = self.place(place) else {
            return Duration::ZERO;
        };
        let (members, length) = (members_bucket(members), length_bucket(length));
        let nearest = costs.seen.iter().min_by_key(|seen| {
            let (far, off) = (seen.members.abs_diff(members), seen.length.abs_diff(length));
            (far, off)
        });
        let Some(seen) = nearest else {
            return Duration::ZERO;
        };
        let planned = seen.cost.planned();
        duration(match seen.length.cmp(&length) {
            std::cmp::Ordering::Equal => planned,
            std::cmp::Ordering::Less => planned * ratio(length - seen.length),
            std::cmp::Ordering::Greater => planned / ratio(seen.length - length).min(2.0),
        })
    }

    /// What a step of the node is planned at, whatever its size.
    pub(crate) fn any_step(&self, place: Place) -> Duration {
        self.place(place)
            .map_or(Duration::ZERO, |costs| duration(costs.any.planned()))
    }

    /// So many items of a streaming edge became this much audio.
    pub(crate) fn record_audio(
        &mut self,
        model: usize,
        connection: ConnectionId,
        items: usize,
        audio: Duration,
    ) {
        let Some(costs) = self.models.get_mut(model) else {
            return;
        };
        if let (Some(running), Ok(items @ 1..)) = (
            costs.item_audio.get_mut(connection.index()),
            u32::try_from(items),
        ) {
            running.record(nanos(audio) / f64::from(items));
        }
    }

    /// The audio that an item of a streaming edge becomes; zero where none did yet.
    pub(crate) fn item_audio(&self, model: usize, connection: ConnectionId) -> Duration {
        let running = self
            .models
            .get(model)
            .and_then(|costs| costs.item_audio.get(connection.index()));
        running.map_or(Duration::ZERO, |running| duration(running.mean))
    }

    /// A request of the model has had this much work on a worker, for this much audio.
    pub(crate) fn record_work(
        &mut self,
        model: usize,
        worker: usize,
        work: Duration,
        audio: Duration,
    ) {
        let costs = self.models.get_mut(model);
        if let Some(running) = costs.and_then(|costs| costs.work.get_mut(worker))
            && !audio.is_zero()
        {
            running.record(nanos(work) / nanos(audio));
        }
    }

    /// Time of work for a time of audio, as a share of a worker; none where it is not known.
    pub(crate) fn work(&self, model: usize, worker: usize) -> Option<f64> {
        let work = self.models.get(model)?.work.get(worker)?;
        (work.count > 0).then_some(work.mean)
    }

    /// A request of the model has had this much work up to its first audio.
    pub(crate) fn record_first_audio(&mut self, model: usize, work: Duration) {
        if let Some(costs) = self.models.get_mut(model) {
            costs.first.record(nanos(work));
        }
    }

    /// Work up to the first audio; zero where it is not known.
    pub(crate) fn first_audio(&self, model: usize) -> Duration {
        let first = self.models.get(model).map(|costs| costs.first.mean);
        duration(first.unwrap_or(0.0))
    }

    fn place(&self, place: Place) -> Option<&PlaceCosts> {
        let costs = self.models.get(place.model)?;
        costs
            .places
            .get(place.walk.index() * costs.node_count + place.node.index())
    }

    fn place_mut(&mut self, place: Place) -> Option<&mut PlaceCosts> {
        let costs = self.models.get_mut(place.model)?;
        costs
            .places
            .get_mut(place.walk.index() * costs.node_count + place.node.index())
    }
}

/// 1, 2, 3 to 4, 5 to 8 and so on.
fn members_bucket(members: usize) -> usize {
    members.max(1).next_power_of_two().trailing_zeros() as usize
}

/// Two buckets for each power of two.
fn length_bucket(length: usize) -> usize {
    let length = length.max(1);
    let power = length.ilog2();
    // Past one and a half times the power.
    let upper = power > 0 && length & (1 << (power - 1)) != 0;
    2 * power as usize + usize::from(upper)
}

/// How much longer something is, that many half powers of two on.
fn ratio(buckets: usize) -> f64 {
    let buckets = u8::try_from(buckets).unwrap_or(u8::MAX);
    (f64::from(buckets) / 2.0).exp2()
}

fn nanos(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

fn duration(nanos: f64) -> Duration {
    Duration::try_from_secs_f64(nanos / 1e9).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use graph::{Call, EngineKind, Kind, Modality, NodeSpec, PartitionSpec, PortType};

    use super::*;

    fn costs() -> (CostModel, Place) {
        let graph = Graph::builder("one")
            .node(
                NodeSpec::new("node", EngineKind::Stateless)
                    .input("in", PortType::of(Kind::Any))
                    .output("out", PortType::of(Kind::Any)),
            )
            .walk("walk", Call::new("node").emit("out", Modality::Text))
            .partition(PartitionSpec::new("part", ["walk"]))
            .build()
            .unwrap();
        let place = Place {
            model: 0,
            walk: graph.walk_named("walk").unwrap().id(),
            node: graph.node_named("node").unwrap(),
        };
        (CostModel::new([graph].iter(), 1), place)
    }

    const MS: Duration = Duration::from_millis(1);

    fn close(got: Duration, want: Duration) -> bool {
        got.abs_diff(want) < want / 50
    }

    #[test]
    fn steps_are_told_by_size_and_by_the_nearest_size() {
        let (mut costs, place) = costs();
        assert_eq!(costs.step(place, 1, 8), Duration::ZERO);
        for _ in 0..50 {
            costs.record(place, 1, 8, 10 * MS);
            costs.record(place, 4, 32, 16 * MS);
        }
        assert!(close(costs.step(place, 1, 8), 10 * MS));
        assert!(close(costs.step(place, 3, 32), 16 * MS));
        assert!(close(costs.step(place, 1, 16), 20 * MS), "longer");
        assert!(close(costs.step(place, 1, 1), 5 * MS), "shorter");
        assert!(close(costs.step(place, 64, 32), 16 * MS), "more members");
    }

    #[test]
    fn what_varies_is_planned_with_room() {
        let (mut costs, place) = costs();
        for round in 0..200 {
            costs.record(place, 1, 1, if round % 2 == 0 { 8 * MS } else { 12 * MS });
        }
        let planned = costs.step(place, 1, 1);
        assert!(planned > 12 * MS && planned < 16 * MS, "{planned:?}");
    }

    #[test]
    fn lengths_fall_into_half_powers() {
        let buckets: Vec<usize> = [1, 2, 3, 4, 5, 6, 8, 12, 16, 1 << 20]
            .map(length_bucket)
            .into();
        assert_eq!(buckets, [0, 2, 3, 4, 4, 5, 6, 7, 8, 40]);
    }
}
