//! Sound files are read, and no other bytes do harm.

use proptest::prelude::*;

use super::*;

/// Writes a GGUF file piece by piece.
#[derive(Default)]
pub(in crate::dense) struct Writer {
    settings: Vec<u8>,
    setting_count: u64,
    tensors: Vec<u8>,
    tensor_count: u64,
    data: Vec<u8>,
}

pub(in crate::dense) fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

impl Writer {
    pub(in crate::dense) fn setting(mut self, name: &str, kind: u32, value: &[u8]) -> Self {
        text(&mut self.settings, name);
        self.settings.extend(kind.to_le_bytes());
        self.settings.extend(value);
        self.setting_count += 1;
        self
    }

    /// `shape` is innermost first, as it is in the file.
    pub(in crate::dense) fn tensor(
        mut self,
        name: &str,
        shape: &[u64],
        kind: u32,
        data: &[u8],
    ) -> Self {
        text(&mut self.tensors, name);
        self.tensors
            .extend(u32::try_from(shape.len()).unwrap().to_le_bytes());
        for length in shape {
            self.tensors.extend(length.to_le_bytes());
        }
        self.tensors.extend(kind.to_le_bytes());
        self.tensors.extend((self.data.len() as u64).to_le_bytes());
        self.data.extend(data);
        self.data
            .resize(self.data.len().next_multiple_of(ALIGNMENT), 0);
        self.tensor_count += 1;
        self
    }

    pub(in crate::dense) fn finish(self, version: u32) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend(self.tensor_count.to_le_bytes());
        bytes.extend(self.setting_count.to_le_bytes());
        bytes.extend(self.settings);
        bytes.extend(self.tensors);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        bytes.extend(self.data);
        bytes
    }
}

fn sample() -> Writer {
    let mut words = 8_u32.to_le_bytes().to_vec();
    words.extend(2_u64.to_le_bytes());
    text(&mut words, "a");
    text(&mut words, "é");
    let mut numbers = 5_u32.to_le_bytes().to_vec();
    numbers.extend(1_u64.to_le_bytes());
    numbers.extend((-3_i32).to_le_bytes());
    let mut name = Vec::new();
    text(&mut name, "llama");
    Writer::default()
        .setting("general.architecture", 8, &name)
        .setting("words", 9, &words)
        .setting("numbers", 9, &numbers)
        .setting("size", 4, &7_u32.to_le_bytes())
        .setting("eps", 6, &0.5_f32.to_le_bytes())
        .setting("flag", 7, &[1])
        .tensor("norm", &[2], 0, &[0, 0, 128, 63, 0, 0, 0, 64])
        .tensor("matrix", &[32, 2], 3, &[7; 40])
        .tensor("odd", &[256], 12, &[0; 144])
}

fn parse(bytes: Vec<u8>) -> Result<Gguf> {
    Gguf::parse(Path::new("m.gguf"), &bytes.into())
}

#[test]
fn settings_and_tensors_are_read() {
    for version in [2, 3] {
        let file = parse(sample().finish(version)).unwrap();
        let settings = &file.settings;
        assert_eq!(
            settings.text("general.architecture").unwrap(),
            Some("llama")
        );
        assert_eq!(settings.texts("words").unwrap().unwrap(), ["a", "é"]);
        assert_eq!(settings.integers("numbers").unwrap(), Some(&[-3][..]));
        assert_eq!(settings.size("size").unwrap(), Some(7));
        assert_eq!(settings.float("eps").unwrap(), Some(0.5));
        assert_eq!(settings.size("flag").unwrap(), Some(1));
        assert_eq!(settings.size("none").unwrap(), None);
        let (storage, bytes) = file.tensors.get("norm", &[2]).unwrap();
        assert_eq!(
            (storage, bytes.as_ref()),
            (Storage::F32, &[0, 0, 128, 63, 0, 0, 0, 64][..])
        );
        let (storage, bytes) = file.tensors.get("matrix", &[2, 32]).unwrap();
        assert_eq!((storage, bytes.as_ref()), (Storage::Q4_1, &[7; 40][..]));
    }
}

#[test]
fn what_cannot_be_used_is_named() {
    let file = parse(sample().finish(3)).unwrap();
    let check =
        |error: Error, message: &str| assert_eq!(error.to_string(), format!("m.gguf: {message}"));
    check(
        file.tensors.get("odd", &[256]).unwrap_err(),
        "tensor `odd` is q4_k, accepted: f32, f16, bf16, q8_0, q4_0, q4_1",
    );
    check(
        file.tensors.get("matrx", &[2, 32]).unwrap_err(),
        "tensor `matrx` is missing, the nearest is `matrix`",
    );
    check(
        file.tensors
            .only(&["norm".into(), "matrix".into()], |_| false)
            .unwrap_err(),
        "tensor `odd` is unexpected; known: norm, matrix",
    );
    check(
        file.settings.size("eps").unwrap_err(),
        "setting `eps` is 0.5, accepted: a whole number from 0",
    );
    check(
        file.settings
            .required("sise", file.settings.size("sise"))
            .unwrap_err(),
        "setting `sise` is missing",
    );
}

#[test]
fn what_is_malformed_is_told_with_its_place() {
    let check = |bytes: Vec<u8>, message: &str| {
        let error = parse(bytes).err().unwrap().to_string();
        assert!(error.starts_with("m.gguf is malformed: "), "{error}");
        assert!(error.contains(message), "{error}");
    };
    check(b"GGML".to_vec(), "no GGUF magic number");
    check(
        sample().finish(1),
        "version 0x1, 2 and 3 in little-endian order are read",
    );
    check(sample().finish(3_u32.swap_bytes()), "version 0x3000000");
    let mut huge = b"GGUF\x03\0\0\0".to_vec();
    huge.extend(u64::MAX.to_le_bytes());
    check(huge, "the number of tensors is 18446744073709551615");
    check(
        sample().setting("size", 4, &[0; 4]).finish(3),
        "the setting `size` stands twice",
    );
    check(
        sample().setting("x", 13, &[0; 4]).finish(3),
        "unknown type 13",
    );
    check(
        sample()
            .setting("general.alignment", 4, &3_u32.to_le_bytes())
            .finish(3),
        "general.alignment is 3",
    );
    check(
        sample().tensor("norm", &[0], 0, &[]).finish(3),
        "two tensors `norm`",
    );
    check(
        sample().tensor("q", &[31, 32], 3, &[0; 640]).finish(3),
        "`q` of shape [32, 31] cannot be q4_1",
    );
    check(
        sample().tensor("q", &[u64::MAX / 2, 4], 0, &[]).finish(3),
        "cannot be f32",
    );
    check(
        sample().tensor("q", &[1 << 20], 0, &[]).finish(3),
        "`q` has 4194304 bytes",
    );
    check(
        sample().tensor("q", &[1; 5], 0, &[]).finish(3),
        "`q` has 5 axes",
    );
}

#[test]
fn every_cut_of_a_file_is_an_error() {
    let whole = sample().finish(3);
    // The last tensor is of a type that is not read, so its 160 bytes are not missed, nor are the
    // 24 that fill up those of the one before.
    let needed = whole.len() - 160 - 24;
    for cut in 0..needed {
        assert!(parse(whole[..cut].to_vec()).is_err(), "cut at {cut}");
    }
}

proptest! {
    /// Bytes of a sound file, some of them changed: an error or a file, never a panic.
    #[test]
    fn changed_bytes_do_no_harm(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = sample().finish(3);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(file) = parse(bytes) {
            for name in file.tensors.names().map(str::to_owned).collect::<Vec<_>>() {
                file.tensors.get(&name, &[2]).ok();
            }
        }
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend(&bytes);
        parse(file).ok();
        parse(bytes).ok();
    }
}
