//! Which partition of which model lives on which worker.
//!
//! A partition is placed as a whole: its nodes hand payloads to each other by function calls, and
//! only streaming edges, which carry credit, lead from worker to worker.

use std::collections::BTreeMap;

use graph::PartitionId;

use crate::{Error, Result, error::Suggestion};

/// The most workers of one driver: a set of workers is the bits of a word.
pub const MAX_WORKERS: usize = 64;

/// A worker of one driver, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub(crate) u8);

impl WorkerId {
    /// The worker with this index; the last possible one from [`MAX_WORKERS`] on.
    #[must_use]
    pub fn new(index: usize) -> Self {
        Self(u8::try_from(index.min(MAX_WORKERS - 1)).unwrap_or(0))
    }

    /// Its index.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    pub(crate) fn bit(self) -> u64 {
        1 << self.0
    }

    /// The worker of the lowest bit.
    pub(crate) fn from_bit(bits: u64) -> Self {
        Self::new(bits.trailing_zeros() as usize)
    }
}

/// Where the partitions of one model live, by their names. What is not named lives where its
/// model proposes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Partition name to the index of a worker.
    pub partitions: BTreeMap<String, usize>,
}

impl Placement {
    /// In what a model proposes: the last worker, however many there are. For what has to be
    /// prompt and costs little: models propose from worker 0 on for what takes long.
    pub const LAST: usize = usize::MAX;
}

/// A [`Placement`] that was checked against a graph.
#[derive(Clone, Debug)]
pub(crate) struct Placed(Vec<WorkerId>);

impl Placed {
    /// Places the partitions of these names, in the order of their ids: as the placement says, or
    /// else as the hint does, modulo the number of workers or on the last of them.
    ///
    /// # Errors
    /// [`Error::Setup`] for a partition that is not among them, or a worker that is not there.
    pub(crate) fn new(
        placement: &Placement,
        hint: &Placement,
        names: &[String],
        worker_count: usize,
    ) -> Result<Self> {
        let mut said = placement.partitions.keys().chain(hint.partitions.keys());
        if let Some(name) = said.find(|name| !names.contains(name)) {
            let problem = format!("unknown partition `{name}`{}", Suggestion(name, names));
            return Err(Error::Setup { problem });
        }
        let place = |name: &String| match placement.partitions.get(name) {
            None => {
                let count = worker_count.max(1);
                Ok(WorkerId::new(
                    match hint.partitions.get(name).copied().unwrap_or(0) {
                        Placement::LAST => count - 1,
                        hint => hint % count,
                    },
                ))
            }
            Some(&worker) if worker < worker_count => Ok(WorkerId::new(worker)),
            Some(worker) => Err(Error::Setup {
                problem: format!(
                    "partition `{name}` is placed on worker {worker}, there are {worker_count}"
                ),
            }),
        };
        names.iter().map(place).collect::<Result<_>>().map(Self)
    }

    pub(crate) fn worker(&self, partition: PartitionId) -> WorkerId {
        self.0
            .get(partition.index())
            .copied()
            .unwrap_or(WorkerId(0))
    }

    /// The workers that hold any partition, a bit each.
    pub(crate) fn workers(&self) -> u64 {
        self.0
            .iter()
            .skip(1)
            .fold(0, |bits, worker| bits | worker.bit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(partitions: &[(&str, usize)], worker_count: usize) -> Result<Placed> {
        place_by(partitions, &[("wave", 3)], worker_count)
    }

    fn place_by(
        partitions: &[(&str, usize)],
        hint: &[(&str, usize)],
        worker_count: usize,
    ) -> Result<Placed> {
        let names = ["requester", "text", "wave"].map(str::to_owned);
        let said = |partitions: &[(&str, usize)]| Placement {
            partitions: partitions
                .iter()
                .map(|&(name, worker)| (name.to_owned(), worker))
                .collect(),
        };
        Placed::new(&said(partitions), &said(hint), &names, worker_count)
    }

    #[test]
    fn the_configuration_goes_before_the_hint_and_worker_0_behind() {
        let check = |partitions: &[(&str, usize)], worker_count, expected: [usize; 2], bits| {
            let placed = place(partitions, worker_count).unwrap();
            let workers = [1, 2].map(|index| placed.worker(PartitionId::new(index)).index());
            assert_eq!((workers, placed.workers()), (expected, bits));
        };
        check(&[], 1, [0, 0], 0b1);
        check(&[], 2, [0, 1], 0b11);
        check(&[], 8, [0, 3], 0b1001);
        check(&[("wave", 2), ("text", 2)], 3, [2, 2], 0b100);
    }

    #[test]
    fn the_last_worker_is_the_last_of_however_many() {
        for (worker_count, expected) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)] {
            let placed = place_by(&[], &[("wave", Placement::LAST)], worker_count).unwrap();
            let workers = [1, 2].map(|index| placed.worker(PartitionId::new(index)).index());
            assert_eq!(workers, [0, expected], "of {worker_count}");
        }
    }

    #[test]
    fn names_and_workers_that_are_not_there_are_refused() {
        let check = |partitions: &[(&str, usize)], message: &str| {
            assert_eq!(place(partitions, 2).unwrap_err().to_string(), message);
        };
        check(
            &[("waves", 0)],
            "unknown partition `waves`, did you mean `wave`? known: requester, text, wave",
        );
        check(
            &[("text", 2)],
            "partition `text` is placed on worker 2, there are 2",
        );
    }
}
