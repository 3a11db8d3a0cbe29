//! Decoders that are not ours: symphonia, and libopus behind a plain Ogg reader.

use std::io::Cursor;

use codecs::audio::{Format, pcm};
use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;

/// What an MP3 decoder's output lags by: both filter banks (481) and the overlap (576).
pub(crate) const MP3_DELAY: usize = 1057;

/// Mono samples as a player would hear them, without a codec's delay and padding.
pub(crate) struct Decoded {
    pub(crate) rate: u32,
    pub(crate) samples: Vec<f32>,
}

/// Decodes a whole stream.
pub(crate) fn decode(format: Format, bytes: &[u8]) -> Decoded {
    match format {
        Format::Pcm => {
            let mut samples = Vec::new();
            assert!(pcm::f32_from_s16le(bytes, &mut samples).is_none());
            Decoded {
                rate: 24_000,
                samples,
            }
        }
        Format::Opus => decode_opus(bytes, true),
        _ => decode_file(format, bytes),
    }
}

/// Decodes the beginning of a stream, as far as it goes.
pub(crate) fn decode_prefix(format: Format, bytes: &[u8]) -> Decoded {
    match format {
        Format::Opus => decode_opus(bytes, false),
        // Symphonia wants more frames than there are before it believes in them.
        Format::Mp3 => {
            let mut decoded = decode_file(format, &bytes.repeat(4));
            let once = (decoded.samples.len() + MP3_DELAY) / 4;
            decoded.samples.truncate(once);
            decoded
        }
        _ => decode(format, bytes),
    }
}

fn decode_file(format: Format, bytes: &[u8]) -> Decoded {
    let source = MediaSourceStream::new(Box::new(Cursor::new(bytes.to_vec())), Default::default());
    let mut hint = Hint::new();
    hint.with_extension(format.name());
    let mut reader = symphonia::default::get_probe()
        .probe(
            &hint,
            source,
            FormatOptions::default(),
            MetadataOptions::default(),
        )
        .unwrap_or_else(|error| panic!("{format}: {error}"));
    let track = reader.default_track(TrackType::Audio).unwrap();
    let parameters = track.codec_params.as_ref().unwrap().audio().unwrap();
    let rate = parameters.sample_rate.unwrap();
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(parameters, &AudioDecoderOptions::default())
        .unwrap();
    let mut samples = Vec::new();
    while let Some(packet) = next_packet(reader.as_mut()) {
        let decoded = decoder.decode(&packet).unwrap();
        assert_eq!(decoded.spec().channels().count(), 1);
        let mut block: Vec<f32> = Vec::new();
        decoded.copy_to_vec_interleaved(&mut block);
        samples.extend(block);
    }
    if format == Format::Mp3 {
        assert_eq!(samples.len() % 576, 0);
        samples.drain(..MP3_DELAY.min(samples.len()));
    }
    Decoded { rate, samples }
}

/// A WAV stream of unknown length ends where its bytes do, which symphonia calls an error.
fn next_packet(
    reader: &mut dyn symphonia::core::formats::FormatReader,
) -> Option<symphonia::core::packet::Packet> {
    match reader.next_packet() {
        Ok(packet) => packet,
        Err(symphonia::core::errors::Error::IoError(error))
            if error.kind() == std::io::ErrorKind::UnexpectedEof =>
        {
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A page's header (RFC 3533, section 6), with its checksum left to the reader crate.
pub(crate) struct Page {
    pub(crate) granule: u64,
    pub(crate) ends: bool,
}

/// The pages in `bytes`, which must be whole ones.
pub(crate) fn ogg_pages(mut bytes: &[u8]) -> Vec<Page> {
    let mut pages = Vec::new();
    while !bytes.is_empty() {
        assert_eq!(&bytes[..4], b"OggS");
        let segments = usize::from(bytes[26]);
        let body: usize = bytes[27..27 + segments]
            .iter()
            .map(|&n| usize::from(n))
            .sum();
        pages.push(Page {
            granule: u64::from_le_bytes(bytes[6..14].try_into().unwrap()),
            ends: bytes[5] & 4 != 0,
        });
        bytes = &bytes[27 + segments + body..];
    }
    pages
}

/// RFC 7845 by the letter: pre-skip at the front, the last granule position at the end.
fn decode_opus(bytes: &[u8], whole: bool) -> Decoded {
    let mut reader = ogg::PacketReader::new(Cursor::new(bytes));
    let head = reader.read_packet().unwrap().unwrap().data;
    assert_eq!(&head[..8], b"OpusHead");
    let pre_skip = usize::from(u16::from_le_bytes([head[10], head[11]]));
    let tags = reader.read_packet().unwrap().unwrap().data;
    assert_eq!(&tags[..8], b"OpusTags");
    let mut decoder = opus::Decoder::new(48_000, opus::Channels::Mono).unwrap();
    let mut samples = Vec::new();
    let mut end = None;
    while let Ok(Some(packet)) = reader.read_packet() {
        let mut frame = [0.0; 5_760];
        let length = decoder
            .decode_float(&packet.data, &mut frame, false)
            .unwrap();
        samples.extend_from_slice(&frame[..length]);
        let granule = usize::try_from(packet.absgp_page()).unwrap();
        if packet.last_in_stream() {
            assert!(
                granule > samples.len() - length,
                "the last packet is not needed"
            );
            end = Some(granule);
        } else if packet.last_in_page() {
            assert_eq!(granule, samples.len());
        }
    }
    assert_eq!(end.is_some(), whole, "the end of the stream");
    samples.truncate(end.unwrap_or(samples.len()));
    samples.drain(..pre_skip);
    Decoded {
        rate: 48_000,
        samples,
    }
}
