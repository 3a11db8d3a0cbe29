//! From a walk's declaration to its tables, with every finding on the way.
//!
//! The passes: flatten the sections into calls and scopes; open the ports of each call and the
//! results of each loop; connect the edges. What cannot be resolved is reported and left out, so
//! that one mistake does not hide the next.

mod edges;
mod order;
mod ports;
mod results;
mod sections;

use std::collections::HashMap;

use crate::check::{Finding, Findings, Problem};
use crate::id::{PartitionId, WalkId};
use crate::node::NodeSpec;
use crate::partition::{Connection, Partition};
use crate::section::{Call, LoopSpec, Section};
use crate::walk::{Plan, Source, Walk};

/// Sections may be nested this deep; [`Levels`] holds more levels than that.
const MAX_DEPTH: usize = 32;

/// What a walk's names resolve to.
pub(crate) struct Context<'a> {
    pub(crate) nodes: &'a [NodeSpec],
    pub(crate) node_ids: HashMap<&'a str, usize>,
    pub(crate) partitions: &'a [Partition],
    pub(crate) connections: &'a [Connection],
}

impl Context<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }
}

/// Compiles one walk.
pub(crate) fn walk(
    context: &Context<'_>,
    id: WalkId,
    name: &str,
    partition: PartitionId,
    section: &Section,
    first_loop: usize,
    findings: &mut Findings,
) -> Walk {
    let mut compiler = Compiler {
        context,
        walk: name,
        partition,
        findings,
        plan: Plan {
            call_of: vec![None; context.nodes.len()],
            first_loop,
            ..Plan::default()
        },
        calls: Vec::new(),
        loops: Vec::new(),
        paths: Vec::new(),
        links: Vec::new(),
    };
    compiler.open_scope("", 1, false, 0);
    compiler.flatten(section, 0, &mut Vec::new());
    compiler.open_ports();
    compiler.open_results();
    compiler.connect();
    compiler.order_links();
    compiler.settle();
    Walk {
        id,
        name: name.to_owned(),
        partition,
        section: section.clone(),
        plan: compiler.plan,
    }
}

/// A step down the sections: whether the parts follow each other, and which part.
type Path = Vec<(bool, usize)>;

/// What feeds an edge.
#[derive(Clone, Copy)]
enum Feeder {
    Call(usize),
    Result(usize),
}

struct Compiler<'a, 'f> {
    context: &'a Context<'a>,
    walk: &'a str,
    partition: PartitionId,
    findings: &'f mut Findings,
    plan: Plan,
    /// The declaration of each call.
    calls: Vec<&'a Call>,
    /// The declaration of each loop: of scope 1 and so on.
    loops: Vec<&'a LoopSpec>,
    /// Where each call stands in the sections.
    paths: Vec<Path>,
    links: Vec<Link>,
}

/// An edge between two entities of one scope.
struct Link {
    /// How findings write its feeder.
    from: String,
    slot: usize,
    scope: usize,
    /// Its two ends, by [`Compiler::entity`].
    ends: (usize, usize),
    /// The one stands before the other in a sequence.
    in_order: bool,
    /// What it carries is for the next iteration.
    ahead: bool,
}

impl<'a> Compiler<'a, '_> {
    fn report(&mut self, finding: Finding) {
        self.findings.add(finding.in_walk(self.walk));
    }

    fn spec(&self, call: usize) -> &'a NodeSpec {
        &self.context.nodes[self.plan.calls[call].node.index()]
    }

    /// Settles where each slot's payloads come from and how long they are kept.
    fn settle(&mut self) {
        if self.plan.calls.is_empty() && self.findings.is_empty() {
            self.report(Finding::new(Problem::Empty));
        }
        for (slot, plan) in self.plan.slots.iter_mut().enumerate() {
            let links = || self.links.iter().filter(|link| link.slot == slot);
            if matches!(plan.source, Source::Outside) {
                plan.source = match (links().next(), links().any(|link| !link.ahead)) {
                    (None, _) => Source::Outside,
                    (Some(_), false) => Source::Seed,
                    (Some(_), true) => Source::Inside,
                };
            }
            for level in 0..plan.level {
                if (level + 1..=plan.level).any(|inner| !plan.fed.contains(inner)) {
                    plan.kept.insert(level);
                }
            }
        }
    }
}
