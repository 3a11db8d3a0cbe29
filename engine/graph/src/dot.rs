//! A graph in the DOT language: partitions as clusters, loops as clusters in them, streaming
//! edges dashed and named with their policy.

use std::fmt::Write;

use crate::drawing::{Drawing, Part};
use crate::graph::Graph;

/// The graph in the DOT language of Graphviz.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    let drawing = Drawing::of(graph);
    let mut text = format!(
        "digraph {} {{\n    rankdir=LR;\n    node [shape=box];\n",
        quote(graph.name())
    );
    for part in &drawing.parts {
        write_part(&mut text, part, 1);
    }
    for line in &drawing.lines {
        let style = if line.streamed { ", style=dashed" } else { "" };
        let _ = writeln!(
            text,
            "    {} -> {} [label={}{style}];",
            line.from,
            line.to,
            quote(&line.label)
        );
    }
    text.push_str("}\n");
    text
}

fn write_part(text: &mut String, part: &Part, depth: usize) {
    let indent = "    ".repeat(depth);
    match part {
        Part::Node { id, label } => {
            let _ = writeln!(text, "{indent}{id} [label={}];", quote(label));
        }
        Part::Requester { id, label } => {
            let _ = writeln!(text, "{indent}{id} [label={}, shape=oval];", quote(label));
        }
        Part::Group { id, label, parts } => {
            let _ = writeln!(
                text,
                "{indent}subgraph cluster_{id} {{\n{indent}    label={};",
                quote(label)
            );
            parts
                .iter()
                .for_each(|part| write_part(text, part, depth + 1));
            let _ = writeln!(text, "{indent}}}");
        }
    }
}

fn quote(label: &str) -> String {
    let escaped = label
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
