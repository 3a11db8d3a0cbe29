//! MP3 as a stream: MPEG-2 layer III, 24 kHz mono, constant rate (ISO/IEC 13818-3).
//!
//! Written for speech and an early start rather than for the last bit: every frame of 24 ms
//! stands alone. It borrows no bits from its neighbours, so it leaves as soon as its samples
//! are there and a listener may join at any frame. A rate that is generous for speech pays for
//! that, and for the long window that is used throughout.
//!
//! The code books, the analysis window and the layout of the side information are those of
//! `oxideav-mp3` (MIT), whose own encoder keeps all frames until the stream ends.
//!
//! A decoder's output lags by [`DELAY`] samples, 44 ms, and ends with what fills up the last
//! frame. MP3 itself has no word for either, so the decoded length is
//! `576·ceil((samples + 1057) / 576)`.

mod filterbank;
mod quantize;

use oxideav_mp3::{
    BlockType, ChannelMode, GranuleChannel, MainDataWriter, Mp3FrameHeader, SideInfo, emit_huffman,
    make_silent_header, silent_side_info, write_header, write_side_info,
};

use self::filterbank::{DELAY, Filterbank, LINES};
use self::quantize::{GROUPS, Quantized, quantize};
use crate::{Error, Result, SampleRate};

/// What mono speech at 24 kHz is often given; see the [module](self) for what it buys.
const KBPS: u32 = 64;
const RATE: SampleRate = SampleRate::HZ_24000;
/// Bytes of a frame; at this rate there is never a padding byte: 72 · 64000 / 24000.
const FRAME_BYTES: usize = 192;
const HEADER_BYTES: usize = 4;
const SIDE_INFO_BYTES: usize = 9;
const MAIN_BITS: usize = (FRAME_BYTES - HEADER_BYTES - SIDE_INFO_BYTES) * 8;

/// One MP3 stream being written.
pub(super) struct Mp3 {
    header: Mp3FrameHeader,
    filterbank: Filterbank,
    /// Samples of the next granule, fewer than [`LINES`].
    granule: Vec<f32>,
    received: u64,
    frames: u64,
}

impl std::fmt::Debug for Mp3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mp3")
            .field("received", &self.received)
            .field("frames", &self.frames)
            .finish_non_exhaustive()
    }
}

impl Mp3 {
    pub(super) fn new() -> Result<Self> {
        let header = make_silent_header(KBPS, RATE.hz(), ChannelMode::SingleChannel);
        Ok(Self {
            header: header.map_err(|error| Error::codec("mp3")(format!("{error:?}")))?,
            filterbank: Filterbank::new(),
            granule: Vec::with_capacity(LINES),
            received: 0,
            frames: 0,
        })
    }

    /// Takes samples and appends the frames they complete.
    pub(super) fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<()> {
        self.received += u64::try_from(samples.len()).unwrap_or(u64::MAX);
        for &sample in samples {
            self.granule.push(sample.clamp(-1.0, 1.0));
            if self.granule.len() == LINES {
                self.encode_frame(out)?;
            }
        }
        Ok(())
    }

    /// Appends frames of silence until a decoder has given out the last sample.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let frames = (self.received + DELAY).div_ceil(LINES as u64);
        while self.frames < frames {
            self.granule.resize(LINES, 0.0);
            self.encode_frame(out)?;
        }
        Ok(())
    }

    fn encode_frame(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let lines = self.filterbank.analyse(&self.granule);
        let quantized = quantize(&lines, MAIN_BITS);
        let (main, bits) = main_data(&quantized)?;
        let end = out.len() + FRAME_BYTES;
        out.extend_from_slice(&write_header(&self.header));
        out.extend_from_slice(&write_side_info(&self.side_info(&quantized, bits)));
        out.extend_from_slice(&main);
        out.resize(end, 0);
        self.granule.clear();
        self.frames += 1;
        Ok(())
    }

    fn side_info(&self, quantized: &Quantized, bits: u16) -> SideInfo {
        let coding = &quantized.coding;
        let [a, b, c, d] = quantized
            .field_bits
            .map(|bits| u16::try_from(bits).unwrap_or(0));
        let mut info = silent_side_info(&self.header);
        info.granules[0][0] = GranuleChannel {
            part2_3_length: bits,
            big_values: u16::try_from(coding.pairs).unwrap_or(0),
            global_gain: quantized.gain,
            // ISO/IEC 13818-3, 2.4.3.2: the first of three ways to read the nine bits.
            scalefac_compress: ((a * 5 + b) << 4) + c * 4 + d,
            window_switching_flag: false,
            block_type: BlockType::Long,
            mixed_block_flag: false,
            table_select: coding.tables,
            subblock_gain: [0; 3],
            region0_count: coding.region_counts.0,
            region1_count: coding.region_counts.1,
            preflag: false,
            scalefac_scale: false,
            count1table_select: coding.quad_table_b,
        };
        info
    }
}

/// Scale factors, then code words; the bytes and how many of their bits count.
fn main_data(quantized: &Quantized) -> Result<(Vec<u8>, u16)> {
    let mut writer = MainDataWriter::new();
    for (group, bits) in GROUPS.into_iter().zip(quantized.field_bits) {
        for &factor in &quantized.factors[group] {
            writer.write(u32::from(factor), bits);
        }
    }
    let coding = &quantized.coding;
    emit_huffman(
        &mut writer,
        &quantized.lines,
        coding.pairs,
        coding.ends,
        coding.tables,
        coding.quads,
        coding.quad_table_b,
    )
    .map_err(Error::codec("mp3"))?;
    let bits = u16::try_from(writer.bit_pos()).map_err(Error::codec("mp3"))?;
    Ok((writer.finish(), bits))
}
