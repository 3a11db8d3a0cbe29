//! Embeds the web page, if it has been built, as a table of files.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Deeper or longer than any page of ours: a wrong folder.
const MOST_FILES: usize = 500;

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let web = manifest.join("../web");
    let dist = web.join("dist");
    println!("cargo::rerun-if-changed=build.rs");
    let watched = if dist.is_dir() { &dist } else { &web };
    println!("cargo::rerun-if-changed={}", watched.display());

    let mut files = Vec::new();
    if dist.is_dir() {
        gather(&dist, &mut files)?;
    }
    files.sort();
    let mut table = String::from("static ASSETS: &[Asset] = &[\n");
    for file in &files {
        let name = file
            .strip_prefix(&dist)
            .unwrap_or(file)
            .to_string_lossy()
            .replace('\\', "/");
        let path = fs::canonicalize(file)?;
        let mut hasher = DefaultHasher::new();
        fs::read(file)?.hash(&mut hasher);
        let tag = format!("\"{:016x}\"", hasher.finish());
        let _ = writeln!(
            table,
            "Asset {{ path: {name:?}, etag: {tag:?}, bytes: include_bytes!({:?}) }},",
            path.display().to_string()
        );
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("assets.rs"), table)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            gather(&path, files)?;
        } else if files.len() < MOST_FILES {
            files.push(path);
        } else {
            return Err(io::Error::other(
                "web/dist holds too many files to be the page",
            ));
        }
    }
    Ok(())
}
