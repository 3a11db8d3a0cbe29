//! A graph as a Mermaid flowchart: partitions as boxes, loops as boxes in them, streaming edges
//! dotted and named with their policy.

use std::fmt::Write;

use crate::drawing::{Drawing, Line, Part};
use crate::graph::Graph;

/// The graph as a Mermaid flowchart.
#[must_use]
pub fn mermaid(graph: &Graph) -> String {
    let drawing = Drawing::of(graph);
    let mut text = String::from("flowchart LR\n");
    for part in &drawing.parts {
        write_part(&mut text, part, 1);
    }
    for line in &drawing.lines {
        let Line {
            from,
            to,
            label,
            streamed,
        } = line;
        let arrow = if *streamed { "-.->" } else { "-->" };
        let _ = writeln!(text, "    {from} {arrow}|\"{}\"| {to}", escape(label));
    }
    text
}

fn write_part(text: &mut String, part: &Part, depth: usize) {
    let indent = "    ".repeat(depth);
    match part {
        Part::Node { id, label } => {
            let _ = writeln!(text, "{indent}{id}[\"{}\"]", escape(label));
        }
        Part::Requester { id, label } => {
            let _ = writeln!(text, "{indent}{id}([\"{}\"])", escape(label));
        }
        Part::Group { id, label, parts } => {
            let _ = writeln!(text, "{indent}subgraph {id}[\"{}\"]", escape(label));
            parts
                .iter()
                .for_each(|part| write_part(text, part, depth + 1));
            let _ = writeln!(text, "{indent}end");
        }
    }
}

fn escape(label: &str) -> String {
    label
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('\n', "<br/>")
}
