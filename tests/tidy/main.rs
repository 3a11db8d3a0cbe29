//! The rules of the tree that a program can check: who may import whom, that files say what they
//! are for, that nothing of one machine is written down, and that the documents name what exists.
//! A failure prints every place at once, so that one run is enough to mend them.

#![expect(
    clippy::expect_used,
    reason = "a test says what it expected by failing"
)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Which of our crates each crate may depend on. Development dependencies are held to it too.
const MAY_IMPORT: &[(&str, &str, &[&str])] = &[
    ("engine/graph", "graph", &[]),
    ("engine/tensor", "tensor", &["kernels"]),
    ("kernels", "kernels", &[]),
    ("codecs", "codecs", &[]),
    ("engine/runtime", "runtime", &["graph", "tensor"]),
    (
        "engine/models",
        "models",
        &["runtime", "graph", "tensor", "kernels"],
    ),
    (
        "engine",
        "engine",
        &["models", "runtime", "graph", "tensor"],
    ),
    ("server/session", "session", &["codecs"]),
    ("server", "server", &["session", "codecs", "engine"]),
    ("loadtest", "loadtest", &[]),
    (
        "tests",
        "e2e",
        &["server", "session", "codecs", "engine", "loadtest"],
    ),
];

/// Only these may know an async runtime or the network.
const NETWORK_CRATES: &[&str] = &["server", "loadtest", "tests"];
const NETWORK_DEPENDENCIES: &[&str] = &[
    "axum",
    "http",
    "http-body-util",
    "hyper",
    "hyper-util",
    "tokio",
    "tokio-tungstenite",
    "tower",
    "tower-http",
    "webrtc",
    "rtc",
];

const LONGEST_FILE: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ has a parent")
        .to_path_buf()
}

/// The tracked and untracked files that git does not ignore, relative to the root.
fn files(ending: &str) -> Vec<PathBuf> {
    fn walk(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<_> = fs::read_dir(dir)
            .expect("a folder of the tree")
            .flatten()
            .collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (
                entry.path(),
                entry.file_name().to_string_lossy().into_owned(),
            );
            if name.starts_with('.') || matches!(&*name, "target" | "node_modules" | "dist") {
                continue;
            }
            if path.is_dir() {
                walk(&path, ending, found);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), ending, &mut found);
    found
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    fs::read_to_string(&path)
        .expect("a member's manifest")
        .parse()
        .expect("a manifest in TOML")
}

/// Names of a manifest's dependencies, of every kind.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|kind| manifest.get(*kind)?.as_table())
        .flat_map(|table| table.keys().cloned())
        .collect()
}

fn none(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} place(s):\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn crates_import_only_what_the_table_allows() {
    let ours: BTreeMap<_, _> = MAY_IMPORT
        .iter()
        .map(|(_, name, allowed)| (*name, *allowed))
        .collect();
    let mut wrong = Vec::new();
    for (folder, name, allowed) in MAY_IMPORT {
        if !root().join(folder).join("Cargo.toml").exists() {
            continue;
        }
        for dependency in dependencies(&manifest(folder)) {
            if ours.contains_key(&*dependency) && !allowed.contains(&&*dependency) {
                wrong.push(format!(
                    "{name} may not import {dependency} (allowed: {allowed:?})"
                ));
            }
        }
    }
    none(&wrong);
}

#[test]
fn every_member_stands_in_the_import_table() {
    let members = manifest("")["workspace"]["members"]
        .as_array()
        .expect("a list of members")
        .clone();
    let known: Vec<_> = MAY_IMPORT.iter().map(|(folder, ..)| *folder).collect();
    let wrong: Vec<_> = members
        .iter()
        .filter_map(toml::Value::as_str)
        .filter(|member| !known.contains(member))
        .map(|member| format!("{member} is not in the table of tests/tidy"))
        .collect();
    none(&wrong);
}

#[test]
fn only_the_outer_crates_know_a_network() {
    let mut wrong = Vec::new();
    for (folder, name, _) in MAY_IMPORT {
        let inside = !NETWORK_CRATES.contains(folder);
        if inside && root().join(folder).join("Cargo.toml").exists() {
            for dependency in dependencies(&manifest(folder)) {
                if NETWORK_DEPENDENCIES.contains(&&*dependency) {
                    wrong.push(format!("{name} may not depend on {dependency}"));
                }
            }
        }
    }
    none(&wrong);
}

#[test]
fn members_share_the_lints() {
    let wrong: Vec<_> = MAY_IMPORT
        .iter()
        .filter(|(folder, ..)| root().join(folder).join("Cargo.toml").exists())
        .filter(|(folder, ..)| {
            manifest(folder)
                .get("lints")
                .and_then(|l| l.get("workspace"))
                .and_then(toml::Value::as_bool)
                != Some(true)
        })
        .map(|(folder, ..)| format!("{folder}/Cargo.toml does not say `[lints] workspace = true`"))
        .collect();
    none(&wrong);
}

#[test]
fn files_say_what_they_are_for() {
    let wrong: Vec<_> = files(".rs")
        .iter()
        .filter(|path| {
            !fs::read_to_string(path)
                .expect("a source file")
                .starts_with("//!")
        })
        .map(|path| format!("{} does not open with a //! header", shown(path)))
        .collect();
    none(&wrong);
}

#[test]
fn no_file_is_too_long_to_read() {
    let wrong: Vec<_> = files(".rs")
        .iter()
        .map(|path| {
            (
                path,
                fs::read_to_string(path)
                    .expect("a source file")
                    .lines()
                    .count(),
            )
        })
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(path, lines)| {
            format!(
                "{} has {lines} lines; split it below {LONGEST_FILE}",
                shown(path)
            )
        })
        .collect();
    none(&wrong);
}

#[test]
fn the_tree_names_no_machine() {
    // Put together here, so that this file does not contain what it looks for.
    let home = ["/ro", "ot/"].concat();
    let registries = [
        ["pypi", ".org"].concat(),
        ["crates", ".io/api"].concat(),
        ["npmjs", ".org"].concat(),
    ];
    let mut wrong = Vec::new();
    for ending in [
        ".rs", ".md", ".toml", ".ts", ".mjs", ".py", ".sh", ".json", ".html",
    ] {
        for path in files(ending) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            for (number, line) in text.lines().enumerate() {
                if line.contains(&home) || registries.iter().any(|host| line.contains(host)) {
                    wrong.push(format!(
                        "{}:{}: a path or host of one machine",
                        shown(&path),
                        number + 1
                    ));
                }
            }
        }
    }
    none(&wrong);
}

/// A word in back quotes that looks like a path of ours.
fn named_paths(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|word| {
        let top = word.split('/').next().unwrap_or_default();
        word.contains('/')
            && !word.contains([' ', '*', '{', '<', '$', ':'])
            && matches!(
                top,
                "engine" | "server" | "codecs" | "kernels" | "web" | "tests" | "loadtest" | ".ci"
            )
    })
}

#[test]
fn documents_name_only_what_exists() {
    let mut wrong = Vec::new();
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(document)).expect("a document of the root");
        for path in named_paths(&text) {
            // web/dist is built, not kept.
            if !root().join(path).exists() && !path.starts_with("web/dist") {
                wrong.push(format!("{document} names {path}, which is not there"));
            }
        }
    }
    none(&wrong);
}

#[test]
fn named_paths_finds_paths_and_nothing_else() {
    let text = "see `engine/graph` and `cargo test`, not `server/{a,b}` nor engine/x; `tests/tidy/main.rs`.";
    assert_eq!(
        named_paths(text).collect::<Vec<_>>(),
        ["engine/graph", "tests/tidy/main.rs"]
    );
}
