//! Every format, decoded by somebody else's decoder: rate, length, sound, splits, edges.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly"
)]

mod decode;
mod signal;

use codecs::SampleRate;
use codecs::audio::{Encoder, Format, Resampler};
use proptest::prelude::*;

use decode::{Decoded, MP3_DELAY, decode};
use signal::{snr, speech_like};

const SOURCE: SampleRate = SampleRate::HZ_22050;

fn encode(format: Format, source: SampleRate, samples: &[f32], splits: &[usize]) -> Vec<u8> {
    let mut encoder = Encoder::new(format, source).unwrap();
    let mut bytes = Vec::new();
    let mut rest = samples;
    for &split in splits {
        let (now, later) = rest.split_at(split.min(rest.len()));
        encoder.push(now, &mut bytes).unwrap();
        rest = later;
    }
    encoder.push(rest, &mut bytes).unwrap();
    encoder.finish(&mut bytes).unwrap();
    bytes
}

/// What a perfect decoder would give: the source at the format's rate.
fn expected(format: Format, source: SampleRate, samples: &[f32]) -> Vec<f32> {
    let mut resampler = Resampler::new(source, format.sample_rate());
    let mut out = Vec::new();
    resampler.push(samples, &mut out);
    resampler.finish(&mut out);
    out
}

/// How many samples of `length` come out: all but MP3 are exact.
fn decoded_length(format: Format, length: usize) -> usize {
    match format {
        Format::Mp3 => (length + MP3_DELAY).next_multiple_of(576) - MP3_DELAY,
        _ => length,
    }
}

/// Decibels that a codec must leave between speech and its error.
fn least_snr(format: Format) -> f64 {
    match format {
        Format::Pcm | Format::Wav | Format::Flac => 75.0,
        Format::Opus => 14.0,
        _ => 20.0,
    }
}

#[test]
fn what_is_decoded_is_what_was_said() {
    for &format in Format::ALL {
        for source in [
            SOURCE,
            SampleRate::HZ_24000,
            SampleRate::HZ_48000,
            SampleRate::HZ_16000,
        ] {
            let samples = speech_like(source, 2 * source.hz() as usize + 7);
            let Decoded { rate, samples: got } =
                decode(format, &encode(format, source, &samples, &[]));
            assert_eq!(rate, format.sample_rate().hz(), "{format}");
            let expected = expected(format, source, &samples);
            assert_eq!(
                got.len(),
                decoded_length(format, expected.len()),
                "{format} from {source}"
            );
            let snr = snr(&expected, &got);
            println!("{format} from {source}: {snr:.1} dB");
            assert!(
                snr > least_snr(format),
                "{format} from {source}: {snr:.1} dB"
            );
        }
    }
}

#[test]
fn lengths_are_exact_down_to_nothing() {
    for &format in Format::ALL {
        for length in [0, 1, 2, 15, 31, 32, 63, 440, 441, 442, 882, 22_050] {
            let samples = speech_like(SOURCE, length);
            let bytes = encode(format, SOURCE, &samples, &[]);
            if format == Format::Flac && length == 0 {
                // A header alone is a sound FLAC file, which symphonia does not open.
                assert_eq!(bytes.len(), 42);
                continue;
            }
            let got = decode(format, &bytes);
            let length = (length * format.sample_rate().hz() as usize).div_ceil(22_050);
            assert_eq!(
                got.samples.len(),
                decoded_length(format, length),
                "{format}"
            );
        }
    }
}

#[test]
fn the_first_fifty_milliseconds_are_playable_at_once() {
    let samples = speech_like(SOURCE, 1_103);
    for &format in Format::ALL {
        let mut encoder = Encoder::new(format, SOURCE).unwrap();
        let mut bytes = Vec::new();
        encoder.push(&samples, &mut bytes).unwrap();
        let got = decode::decode_prefix(format, &bytes);
        let rate = f64::from(format.sample_rate().hz());
        #[expect(clippy::cast_precision_loss, reason = "a handful of samples")]
        let millis = got.samples.len() as f64 / rate * 1e3;
        println!("{format}: {} bytes, {millis:.1} ms", bytes.len());
        assert!(millis >= 20.0, "{format}: {millis} ms");
    }
}

#[test]
fn an_empty_push_gives_the_header_and_no_more() {
    for (format, length) in [(Format::Pcm, 0), (Format::Wav, 44), (Format::Flac, 42)] {
        let mut encoder = Encoder::new(format, SOURCE).unwrap();
        let mut bytes = Vec::new();
        encoder.push(&[], &mut bytes).unwrap();
        encoder.push(&[], &mut bytes).unwrap();
        assert_eq!(bytes.len(), length, "{format}");
    }
}

#[test]
fn loud_and_broken_samples_do_no_lasting_harm() {
    for &format in Format::ALL {
        let mut samples = speech_like(SOURCE, 22_050);
        samples[3_000] = f32::NAN;
        samples[3_001] = f32::INFINITY;
        samples[3_002] = 1e30;
        samples[3_003] = -1e30;
        let got = decode(format, &encode(format, SOURCE, &samples, &[]));
        let expected = expected(format, SOURCE, &samples);
        let late = expected.len() / 2;
        let snr = snr(&expected[late..], &got.samples[late..]);
        assert!(snr > least_snr(format) - 3.0, "{format}: {snr:.1} dB");
    }
}

#[test]
fn opus_pages_are_on_their_way_after_each_push() {
    let mut encoder = Encoder::new(Format::Opus, SampleRate::HZ_48000).unwrap();
    let mut bytes = Vec::new();
    encoder.push(&vec![0.1; 48_000 * 3], &mut bytes).unwrap();
    let pages = decode::ogg_pages(&bytes);
    // Two headers, then a second of packets on each page.
    assert_eq!(
        pages.iter().map(|page| page.granule).collect::<Vec<_>>(),
        [0, 0, 48_000, 96_000, 144_000]
    );
    bytes.clear();
    encoder.push(&[0.1; 960], &mut bytes).unwrap();
    assert_eq!(decode::ogg_pages(&bytes).len(), 1);
    bytes.clear();
    encoder.push(&[0.1; 100], &mut bytes).unwrap();
    assert!(bytes.is_empty());
    encoder.finish(&mut bytes).unwrap();
    let last = decode::ogg_pages(&bytes);
    assert_eq!(
        (last.len(), last[0].granule, last[0].ends),
        (1, 145_060 + 312, true)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_split_sounds_like_the_whole(
        length in 0_usize..9_000,
        splits in prop::collection::vec(0_usize..900, 0..24),
    ) {
        let samples = speech_like(SOURCE, length);
        for &format in Format::ALL {
            let whole = encode(format, SOURCE, &samples, &[]);
            let parts = encode(format, SOURCE, &samples, &splits);
            if format == Format::Opus {
                // Its pages follow the pushes; its packets do not.
                prop_assert!(decode(format, &whole).samples == decode(format, &parts).samples);
            } else {
                prop_assert!(whole == parts, "{format}");
            }
        }
    }
}
