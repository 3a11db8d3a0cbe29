//! Which (node, walk) group runs next, and with which members. A hot path.
//!
//! Round robin by least recent: among groups with ready members, the one whose last step lies
//! farthest back; among those that never ran, the one whose first member became ready first.
//! Within a group the members take their turns in the order in which they became ready, so a
//! member that has just run stands behind all others. What follows:
//!
//! - No group starves: with `n` groups ready, each runs at least once in `n` steps. A stream of
//!   new requests (their first nodes are one group) can hold up running streams by one step at
//!   most between two of theirs, and the other way round.
//! - No member starves: with `m` members ready in its group and a batch of `b`, it runs within
//!   `m / b` steps of the group, rounded up.
//! - One batch never mixes walks or nodes, and is not chosen by its size.

use std::collections::VecDeque;

use graph::stream::Time;

/// A member that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready<M> {
    pub(crate) member: M,
    pub(crate) since: Time,
    /// Counts all that became ready, to tell who was first.
    order: u64,
}

/// The ready members of every group.
pub(crate) struct Scheduler<M> {
    groups: Vec<Group<M>>,
    steps: u64,
    order: u64,
    ready: usize,
}

struct Group<M> {
    members: VecDeque<Ready<M>>,
    /// The number of the group's last step, counted over all groups from 1; 0 where it never ran.
    last_step: u64,
}

impl<M: Copy> Scheduler<M> {
    /// With this many groups, all empty.
    pub(crate) fn new(group_count: usize) -> Self {
        let group = || Group {
            members: VecDeque::new(),
            last_step: 0,
        };
        Self {
            groups: (0..group_count).map(|_| group()).collect(),
            steps: 0,
            order: 0,
            ready: 0,
        }
    }

    /// A member becomes ready in a group.
    pub(crate) fn add(&mut self, group: usize, member: M, since: Time) {
        let Some(group) = self.groups.get_mut(group) else {
            return;
        };
        self.order += 1;
        self.ready += 1;
        group.members.push_back(Ready {
            member,
            since,
            order: self.order,
        });
    }

    /// The group whose turn it is.
    pub(crate) fn next_group(&self) -> Option<usize> {
        let turn = |group: &Group<M>| {
            group
                .members
                .front()
                .map(|front| (group.last_step, front.order))
        };
        let ready = self
            .groups
            .iter()
            .enumerate()
            .filter_map(|(index, group)| turn(group).map(|turn| (turn, index)));
        ready.min().map(|(_, index)| index)
    }

    /// Takes the member of a group whose turn it is.
    pub(crate) fn take(&mut self, group: usize) -> Option<Ready<M>> {
        let taken = self.groups.get_mut(group)?.members.pop_front();
        self.ready -= usize::from(taken.is_some());
        taken
    }

    /// The group has its step now.
    pub(crate) fn stepped(&mut self, group: usize) {
        self.steps += 1;
        if let Some(group) = self.groups.get_mut(group) {
            group.last_step = self.steps;
        }
    }

    /// Forgets the members that `keep` refuses, in every group.
    pub(crate) fn retain(&mut self, keep: impl Fn(&M) -> bool) {
        for group in &mut self.groups {
            group.members.retain(|ready| keep(&ready.member));
        }
        self.ready = self.groups.iter().map(|group| group.members.len()).sum();
    }

    /// Members that are ready, over all groups.
    pub(crate) fn len(&self) -> usize {
        self.ready
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Value;

    use super::*;

    /// Steps of recorded cases: what becomes ready, then which batch runs.
    #[test]
    fn recorded_cases_are_scheduled_alike() {
        let cases: Value =
            serde_json::from_str(include_str!("../../tests/cases/scheduler.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let name = case["id"].as_str().unwrap();
            let walks = &case["walk_of_request"];
            let mut groups: Vec<(String, String)> = Vec::new();
            let (mut scheduler, mut queued) = (Scheduler::new(8), BTreeSet::new());
            for (index, step) in case["steps"].as_array().unwrap().iter().enumerate() {
                for (request, nodes) in step["becomes_ready"].as_object().unwrap() {
                    for node in nodes.as_array().unwrap() {
                        let key = (text(node), text(&walks[request]));
                        let group = groups
                            .iter()
                            .position(|known| *known == key)
                            .unwrap_or(groups.len());
                        if group == groups.len() {
                            groups.push(key);
                        }
                        let member: u8 = request.trim_start_matches('r').parse().unwrap();
                        // A member that is queued does not become ready once more.
                        if queued.insert((group, member)) {
                            scheduler.add(group, member, Time::ZERO);
                        }
                    }
                }
                let batch = run(&mut scheduler, &groups);
                queued.retain(|&(group, _)| {
                    Some(&groups[group]) != batch.as_ref().map(|(key, _)| key)
                });
                assert_eq!(batch, expected(&step["batch"]), "{name}, step {index}");
            }
        }
    }

    type Batch = Option<((String, String), Vec<u8>)>;

    fn run(scheduler: &mut Scheduler<u8>, groups: &[(String, String)]) -> Batch {
        let group = scheduler.next_group()?;
        let members = std::iter::from_fn(|| scheduler.take(group))
            .map(|ready| ready.member)
            .collect();
        scheduler.stepped(group);
        Some((groups[group].clone(), members))
    }

    fn expected(batch: &Value) -> Batch {
        let requests = batch.get("requests")?.as_array()?;
        let members = requests
            .iter()
            .map(|request| text(request).trim_start_matches('r').parse().unwrap());
        Some((
            (text(&batch["node"]), text(&batch["walk"])),
            members.collect(),
        ))
    }

    fn text(value: &Value) -> String {
        value.as_str().unwrap().to_owned()
    }

    #[test]
    fn a_flood_in_one_group_holds_up_another_by_one_step() {
        let mut scheduler = Scheduler::new(2);
        let mut waits = BTreeMap::new();
        for step in 0..100_u32 {
            for _ in 0..10 {
                scheduler.add(0, 0, Time::ZERO);
            }
            if step % 4 == 0 {
                scheduler.add(1, 1, Time::ZERO);
                waits.insert(step, None);
            }
            let group = scheduler.next_group().unwrap();
            if scheduler.take(group).unwrap().member == 1 {
                waits
                    .values_mut()
                    .filter(|wait| wait.is_none())
                    .for_each(|wait| *wait = Some(step));
            }
            scheduler.stepped(group);
        }
        assert!(
            waits.iter().all(|(asked, ran)| ran.unwrap() - asked <= 1),
            "{waits:?}"
        );
    }

    #[test]
    fn members_that_go_are_not_counted() {
        let mut scheduler = Scheduler::new(2);
        for member in 0..6 {
            scheduler.add(member % 2, member, Time::ZERO);
        }
        scheduler.retain(|member| member % 3 != 0);
        assert_eq!(scheduler.len(), 4);
        assert_eq!(scheduler.take(0).map(|ready| ready.member), Some(2));
        assert_eq!(scheduler.len(), 3);
    }
}
