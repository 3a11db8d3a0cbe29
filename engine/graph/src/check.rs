//! What makes a graph sound. A finding names the walk, the node and the port, and the nearest
//! name that would have been right.
//!
//! All findings of a declaration are collected before it is refused, so that an author sees them
//! at once.

use std::fmt;

use crate::port::Disagreement;
use crate::stream::Unsound;

/// One thing that is wrong with a declaration. The author's doing; the message says what to
/// change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The walk, where it is about one.
    pub walk: Option<String>,
    /// The node, loop, partition or connection, where it is about one.
    pub node: Option<String>,
    /// The port, where it is about one.
    pub port: Option<String>,
    /// What is wrong.
    pub problem: Problem,
    /// The name that was probably meant.
    pub nearest: Option<String>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A node of this name is not declared.
    #[error("no node has the name `{0}`")]
    NoSuchNode(String),
    /// The node declares no input of this name.
    #[error("the node has no input `{0}`")]
    NoSuchInput(String),
    /// The node declares no output of this name.
    #[error("the node has no output `{0}`")]
    NoSuchOutput(String),
    /// A walk of this name is not declared.
    #[error("no walk has the name `{0}`")]
    NoSuchWalk(String),
    /// A partition of this name is not declared.
    #[error("no partition has the name `{0}`")]
    NoSuchPartition(String),
    /// Nothing directly in the loop's body gives this.
    #[error("nothing directly in the loop's body gives `{0}`")]
    NoSuchResult(String),
    /// Two things share a name.
    #[error("two {what} have the name `{name}`")]
    SameName {
        /// What they are.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The graph has no walk at all.
    #[error("the graph has no walk")]
    NoWalk,
    /// The walk belongs to no partition, so nothing ever starts it.
    #[error("no partition runs this walk")]
    NoPartition,
    /// The walk belongs to two partitions.
    #[error("both `{0}` and `{1}` run this walk; a walk belongs to one partition")]
    TwoPartitions(String, String),
    /// The first walk of a partition is not one of its walks.
    #[error("the partition starts with `{0}`, which is not one of its walks")]
    ForeignInitial(String),
    /// The node runs twice in one walk.
    #[error("the walk runs this node twice; use a loop, or two nodes")]
    CalledTwice,
    /// An edge ends at a node that this walk does not run.
    #[error("an edge from `{0}` ends here, but this walk does not run the node")]
    NotInWalk(String),
    /// An edge ends at an input that the node does not take in this walk.
    #[error("an edge from `{0}` ends here, but the node does not take this input")]
    NotTaken(String),
    /// The two ends of an edge describe different things.
    #[error("`{from}` {disagreement}")]
    Types {
        /// The output at the other end.
        from: String,
        /// Where they differ.
        disagreement: Disagreement,
    },
    /// Two entities of one loop body give the same name.
    #[error("`{first}` and `{second}` of one loop body both give this name; rename one")]
    SameOutput {
        /// The entity that comes first.
        first: String,
        /// The other.
        second: String,
    },
    /// Two edges feed one input within the same iteration.
    #[error("both `{first}` and `{second}` feed this input")]
    FedTwice {
        /// The edge that comes first.
        first: String,
        /// The other.
        second: String,
    },
    /// An edge leaves a loop's body other than as the loop's output.
    #[error("the edge to `{to}` leaves loop `{from}`; declare it as an output of the loop")]
    LeavesLoop {
        /// The loop.
        from: String,
        /// Where the edge ends.
        to: String,
    },
    /// An output of a loop ends inside its own body.
    #[error("the output `{0}` of the loop ends inside the loop's own body")]
    IntoOwnBody(String),
    /// Nodes wait for each other, with no loop around them.
    #[error("a cycle outside a loop: {0}")]
    Cycle(String),
    /// A loop's output is both plain and accumulated.
    #[error("the loop gives `{0}` both as an output and accumulated; choose one")]
    BothResults(String),
    /// A loop that never runs.
    #[error("a loop needs at least one iteration")]
    NoIteration,
    /// A section without a node.
    #[error("a section without a node")]
    Empty,
    /// Sections nested too deeply.
    #[error("sections are nested more than {0} deep")]
    TooDeep(usize),
    /// A chunk policy with parameters out of bounds.
    #[error(transparent)]
    Policy(#[from] Unsound),
    /// A boundary policy on something else than text.
    #[error("a boundary policy cuts text, and this input takes {0}")]
    BoundaryOnKind(crate::payload::Kind),
    /// An edge that never holds enough for a chunk.
    #[error("holds {capacity} items, but its policy may need {needs} before a chunk leaves")]
    Capacity {
        /// The edge's capacity in items.
        capacity: usize,
        /// The least capacity.
        needs: usize,
    },
    /// A streaming edge without a connection.
    #[error("streams to `{to}`, but no connection leads there from partition `{partition}`")]
    NoConnection {
        /// The node and input that the edge names.
        to: String,
        /// The partition of the walk.
        partition: String,
    },
    /// A connection from a partition to itself.
    #[error("a connection joins two partitions; inside one, a plain edge does")]
    SamePartition,
    /// A connection that no edge feeds.
    #[error("no edge of partition `{0}` feeds this connection")]
    NeverFed(String),
    /// A connection whose chunks no walk takes.
    #[error("no walk of partition `{0}` takes this input")]
    NeverTaken(String),
    /// A plain edge ends at an input that takes a stream.
    #[error("`{0}` feeds this input, which takes a stream")]
    StreamAndEdge(String),
    /// An output goes to the requester without saying as what.
    #[error("goes to the requester without a modality, and its kind implies none")]
    NoModality,
}

impl Finding {
    pub(crate) fn new(problem: Problem) -> Self {
        Self {
            walk: None,
            node: None,
            port: None,
            problem,
            nearest: None,
        }
    }

    pub(crate) fn in_walk(mut self, walk: &str) -> Self {
        self.walk = Some(walk.to_owned());
        self
    }

    pub(crate) fn at(mut self, node: &str) -> Self {
        self.node = Some(node.to_owned());
        self
    }

    pub(crate) fn port(mut self, port: &str) -> Self {
        self.port = Some(port.to_owned());
        self
    }

    /// With the candidate that is nearest to `name`.
    pub(crate) fn near<'a>(mut self, name: &str, right: impl IntoIterator<Item = &'a str>) -> Self {
        self.nearest = nearest(name, right).map(str::to_owned);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(walk) = &self.walk {
            write!(f, "walk `{walk}`: ")?;
        }
        match (&self.node, &self.port) {
            (Some(node), Some(port)) => write!(f, "`{node}.{port}`: ")?,
            (Some(name), None) | (None, Some(name)) => write!(f, "`{name}`: ")?,
            (None, None) => {}
        }
        write!(f, "{}", self.problem)?;
        match &self.nearest {
            Some(nearest) => write!(f, " (did you mean `{nearest}`?)"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with a declaration, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// The findings.
    pub fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.0.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }

    /// Reports every name that stands twice in `names`.
    pub(crate) fn unique<'a>(
        &mut self,
        what: &'static str,
        names: impl IntoIterator<Item = &'a str>,
        place: impl Fn(Finding) -> Finding,
    ) {
        let mut seen = std::collections::HashSet::new();
        for name in names {
            if !seen.insert(name) {
                let name = name.to_owned();
                self.add(place(Finding::new(Problem::SameName { what, name })));
            }
        }
    }
}

impl<'a> IntoIterator for &'a Findings {
    type Item = &'a Finding;
    type IntoIter = std::slice::Iter<'a, Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.iter().enumerate() {
            let line = if index == 0 { "" } else { "\n" };
            write!(f, "{line}{finding}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Findings {}

/// The candidate nearest to `name`, if one is near enough to have been meant.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// How many characters to insert, delete, replace or swap with a neighbour between two names,
/// case aside (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            let swapped = i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y;
            if swapped {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_is_one_edit() {
        assert_eq!(distance("latnets", "latents"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("Text", "text"), 0);
    }

    #[test]
    fn only_near_names_are_offered() {
        let names = ["text_inputs", "latents", "time_index"];
        assert_eq!(nearest("text_input", names), Some("text_inputs"));
        assert_eq!(nearest("pixels", names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn a_finding_names_its_place() {
        let finding = Finding::new(Problem::NoSuchInput("txt".into()))
            .in_walk("prefill")
            .at("LLM")
            .port("txt")
            .near("txt", ["text"]);
        let text = "walk `prefill`: `LLM.txt`: the node has no input `txt` (did you mean `text`?)";
        assert_eq!(finding.to_string(), text);
    }
}
