//! Files of every kind, decoded: ours, and small ones of other programs (`files/`, made by ffmpeg
//! out of half a second of a 1 kHz tone in stereo at 44.1 kHz).

use std::f32::consts::TAU;
use std::path::PathBuf;

use codecs::audio::{Encoder, Format, decode};
use codecs::{Error, Kind, SampleRate, Samples};

const LONGEST: Samples = Samples(16_000 * 60);

fn rate() -> SampleRate {
    SampleRate::HZ_16000
}

/// The share of a recording's energy that is a tone of 1 kHz, away from its ends.
fn tonality(samples: &[f32]) -> f32 {
    let middle = &samples[samples.len() / 4..samples.len() * 3 / 4];
    let (mut cosine, mut sine, mut energy) = (0.0, 0.0, 0.0);
    for (index, sample) in middle.iter().enumerate() {
        let angle = TAU * 1000.0 * index as f32 / 16_000.0;
        cosine += sample * angle.cos();
        sine += sample * angle.sin();
        energy += sample * sample;
    }
    2.0 * (cosine * cosine + sine * sine) / (energy * middle.len() as f32)
}

#[test]
fn files_of_other_programs_are_read() {
    for name in ["tone.m4a", "tone.aac", "tone.webm", "tone.ogg", "tone.mka"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/files")
            .join(name);
        let samples = decode(std::fs::read(path).unwrap(), rate(), LONGEST)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        // Codecs without exact lengths add a frame or two.
        assert!(
            (7_900..10_400).contains(&samples.len()),
            "{name}: {}",
            samples.len()
        );
        assert!(tonality(&samples) > 0.98, "{name}: {}", tonality(&samples));
    }
}

#[test]
fn our_own_files_are_read() {
    let tone: Vec<f32> = (0..12_000)
        .map(|n| 0.3 * (TAU * 1000.0 * n as f32 / 24_000.0).sin())
        .collect();
    for format in [Format::Wav, Format::Mp3, Format::Flac, Format::Opus] {
        let mut encoder = Encoder::new(format, SampleRate::HZ_24000).unwrap();
        let mut bytes = Vec::new();
        encoder.push(&tone, &mut bytes).unwrap();
        encoder.finish(&mut bytes).unwrap();
        let samples =
            decode(bytes, rate(), LONGEST).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert!(
            (7_800..9_600).contains(&samples.len()),
            "{format}: {}",
            samples.len()
        );
        assert!(
            tonality(&samples) > 0.98,
            "{format}: {}",
            tonality(&samples)
        );
    }
}

#[test]
fn what_is_no_audio_or_too_much_of_it_is_refused() {
    for bytes in [
        vec![],
        b"hello, this is not audio at all".to_vec(),
        vec![0; 4096],
    ] {
        let error = decode(bytes, rate(), LONGEST).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        assert!(error.to_string().contains("accepted are wav"), "{error}");
    }
    let mut encoder = Encoder::new(Format::Wav, SampleRate::HZ_24000).unwrap();
    let mut bytes = Vec::new();
    encoder.push(&vec![0.1; 72_000], &mut bytes).unwrap();
    encoder.finish(&mut bytes).unwrap();
    let error = decode(bytes.clone(), rate(), Samples(32_000)).unwrap_err();
    assert_eq!(error, Error::Overlong { seconds: 2 });
    // Cut off anywhere, it is what is there, or an error.
    for length in [10, 43, 44, 45, 1_001, 50_000] {
        let _ = decode(bytes[..length].to_vec(), rate(), LONGEST);
    }
}
