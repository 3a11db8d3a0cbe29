//! Which (node, walk) group runs next, and with which members. A hot path.
//!
//! Three rules, selectable in the configuration; the first is the default.
//!
//! - **Deadline**: each ready member has a latest moment at which its step must begin for its
//!   listener not to run dry (see [`due`](super::due)); the group of the member whose moment comes
//!   first runs, and its members join in that order.
//! - **Fifo**: the group whose member has been ready longest.
//! - **Round robin**, by least recent: the group whose last step lies farthest back; among those
//!   that never ran, the one whose first member became ready first. Members take turns in the
//!   order in which they became ready.
//!
//! What follows for all of them: no batch mixes nodes, nothing that is ready waits for ever. In
//! round robin, with `n` groups ready each runs at least once in `n` steps, and with `m` members in
//! a group and a batch of `b`, each runs within `m / b` of its steps, rounded up. By deadline,
//! [`due`](super::due) says how long anything may wait.

use std::collections::VecDeque;

use graph::stream::Time;

/// The order in which ready work is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Least slack first: in the order in which silence would be heard.
    #[default]
    Deadline,
    /// First come, first served.
    Fifo,
    /// Nodes take turns.
    RoundRobin,
}

/// The latest moment at which a step should begin, in nanoseconds since the start. It may lie
/// before the start.
pub(crate) type Due = i64;

/// A member that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready<M> {
    pub(crate) member: M,
    pub(crate) since: Time,
    /// By deadline: when it should begin.
    pub(crate) due: Due,
    /// Counts all that became ready, to tell who was first.
    order: u64,
}

impl<M> Ready<M> {
    fn turn(&self) -> (Due, u64) {
        (self.due, self.order)
    }
}

/// The ready members of every group.
pub(crate) struct Scheduler<M> {
    policy: Policy,
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
    pub(crate) fn new(policy: Policy, group_count: usize) -> Self {
        let group = || Group {
            members: VecDeque::new(),
            last_step: 0,
        };
        Self {
            policy,
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
            due: 0,
            order: self.order,
        });
    }

    /// The group whose turn it is. By deadline, `due` is asked for every member that is ready,
    /// where there is anything to choose.
    pub(crate) fn next_group(&mut self, due: impl Fn(usize, &Ready<M>) -> Due) -> Option<usize> {
        if self.ready == 0 {
            return None;
        }
        if self.policy == Policy::Deadline && self.ready > 1 {
            self.order_by(due);
        }
        let ready = self.groups.iter().enumerate().filter_map(|(index, group)| {
            let front = group.members.front()?;
            let turn = match self.policy {
                Policy::Deadline => (front.due, front.order),
                Policy::Fifo => (0, front.order),
                Policy::RoundRobin => (
                    Due::try_from(group.last_step).unwrap_or(Due::MAX),
                    front.order,
                ),
            };
            Some((turn, index))
        });
        ready.min().map(|(_, index)| index)
    }

    /// The members of each group stand in the order of their deadlines.
    fn order_by(&mut self, due: impl Fn(usize, &Ready<M>) -> Due) {
        for (index, group) in self.groups.iter_mut().enumerate() {
            for ready in &mut group.members {
                ready.due = due(index, ready);
            }
            let members = group.members.make_contiguous();
            if !members.is_sorted_by_key(Ready::turn) {
                members.sort_unstable_by_key(Ready::turn);
            }
        }
    }

    /// The member of a group whose turn it is.
    pub(crate) fn front(&self, group: usize) -> Option<&Ready<M>> {
        self.groups.get(group)?.members.front()
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
            let (mut scheduler, mut queued) =
                (Scheduler::new(Policy::RoundRobin, 8), BTreeSet::new());
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
        let group = scheduler.next_group(|_, _| 0)?;
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
        let mut scheduler = Scheduler::new(Policy::RoundRobin, 2);
        let mut waits = BTreeMap::new();
        for step in 0..100_u32 {
            for _ in 0..10 {
                scheduler.add(0, 0, Time::ZERO);
            }
            if step % 4 == 0 {
                scheduler.add(1, 1, Time::ZERO);
                waits.insert(step, None);
            }
            let group = scheduler.next_group(|_, _| 0).unwrap();
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
        let mut scheduler = Scheduler::new(Policy::RoundRobin, 2);
        for member in 0..6 {
            scheduler.add(member % 2, member, Time::ZERO);
        }
        scheduler.retain(|member| member % 3 != 0);
        assert_eq!(scheduler.len(), 4);
        assert_eq!(scheduler.take(0).map(|ready| ready.member), Some(2));
        assert_eq!(scheduler.len(), 3);
    }
    #[test]
    fn by_deadline_the_most_urgent_member_chooses_the_group_and_goes_first() {
        let mut scheduler = Scheduler::new(Policy::Deadline, 2);
        for member in [30, 10, 20] {
            scheduler.add(0, member, Time::ZERO);
        }
        scheduler.add(1, 5, Time::ZERO);
        let due = |_: usize, ready: &Ready<i32>| Due::from(ready.member);
        let mut order = Vec::new();
        while let Some(group) = scheduler.next_group(due) {
            order.push((group, scheduler.take(group).unwrap().member));
            scheduler.stepped(group);
        }
        assert_eq!(order, [(1, 5), (0, 10), (0, 20), (0, 30)]);
    }

    #[test]
    fn of_equal_deadlines_and_by_fifo_the_first_to_be_ready_goes_first() {
        for policy in [Policy::Deadline, Policy::Fifo] {
            let mut scheduler = Scheduler::new(policy, 3);
            let added = [(2, 'a'), (0, 'b'), (2, 'c'), (1, 'd')];
            for (group, member) in added {
                scheduler.add(group, member, Time::ZERO);
            }
            let mut order = Vec::new();
            while let Some(group) = scheduler.next_group(|_, _| 7) {
                order.push((group, scheduler.take(group).unwrap().member));
                scheduler.stepped(group);
            }
            assert_eq!(order, added, "{policy:?}");
        }
    }
}
