//! FLAC as a stream (RFC 9639): 16-bit mono in blocks of 20 ms.
//!
//! A player needs a whole block, so short ones are the price of an early start: they cost about
//! a tenth of the size against blocks ten times as long. The header states a length of zero,
//! which is FLAC's word for unknown, and no checksum of the whole. All blocks are of one size
//! but the last, which is as short as it has to be.

use flacenc::component::{BitRepr, StreamInfo};
use flacenc::config;
use flacenc::error::{Verified, Verify};
use flacenc::source::{Fill, FrameBuf};

use super::pcm;
use crate::{Error, Result, SampleRate};

/// Blocks a second. 20 ms of speech are stationary, as linear prediction wants.
const BLOCKS_PER_SECOND: u32 = 50;
/// Shorter blocks than this are not worth a predictor.
const MIN_BLOCK: u32 = 64;
const BITS: usize = 16;
/// Frames that the header's number can count (31 bits).
const MAX_FRAMES: usize = 1 << 31;

/// One FLAC stream being written.
pub(super) struct Flac {
    config: Verified<config::Encoder>,
    info: StreamInfo,
    buffer: FrameBuf,
    rate: SampleRate,
    block_size: usize,
    header_sent: bool,
    /// Samples of the next block, fewer than `block_size`.
    block: Vec<i32>,
    frames: usize,
}

impl std::fmt::Debug for Flac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flac")
            .field("rate", &self.rate)
            .field("block_size", &self.block_size)
            .field("frames", &self.frames)
            .finish_non_exhaustive()
    }
}

impl Flac {
    pub(super) fn new(rate: SampleRate) -> Result<Self> {
        let block_size = (rate.hz() / BLOCKS_PER_SECOND).max(MIN_BLOCK) as usize;
        let config = config::Encoder::default();
        Ok(Self {
            config: config
                .into_verified()
                .map_err(|(_, error)| Error::codec("flac")(error))?,
            info: StreamInfo::new(rate.hz() as usize, 1, BITS).map_err(Error::codec("flac"))?,
            buffer: FrameBuf::with_size(1, block_size).map_err(Error::codec("flac"))?,
            rate,
            block_size,
            header_sent: false,
            block: Vec::with_capacity(block_size),
            frames: 0,
        })
    }

    /// Appends the header, once.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.header_sent {
            self.header_sent = true;
            out.extend_from_slice(&header(self.rate, self.block_size));
        }
    }

    /// Takes samples and appends the blocks they complete.
    pub(super) fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<()> {
        for &sample in samples {
            self.block.push(i32::from(pcm::s16_from_f32(sample)));
            if self.block.len() == self.block_size {
                self.encode_block(out)?;
            }
        }
        Ok(())
    }

    /// Appends the last, short block.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.buffer.resize(self.block.len());
        self.encode_block(out)
    }

    fn encode_block(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.frames >= MAX_FRAMES {
            return Err(Error::TooLong {
                format: "flac",
                limit: u64::try_from(MAX_FRAMES * self.block_size).unwrap_or(u64::MAX),
            });
        }
        self.buffer
            .fill_interleaved(&self.block)
            .map_err(Error::codec("flac"))?;
        let frame =
            flacenc::encode_fixed_size_frame(&self.config, &self.buffer, self.frames, &self.info)
                .map_err(Error::codec("flac"))?;
        let mut sink = flacenc::bitsink::ByteSink::new();
        frame.write(&mut sink).map_err(Error::codec("flac"))?;
        out.extend_from_slice(sink.as_slice());
        self.frames += 1;
        self.block.clear();
        Ok(())
    }
}

/// `fLaC` and STREAMINFO (RFC 9639, section 8.2) as the only metadata block.
fn header(rate: SampleRate, block_size: usize) -> [u8; 42] {
    let block = u16::try_from(block_size).unwrap_or(u16::MAX).to_be_bytes();
    // 20 bits of rate, 3 of channels − 1, 5 of bits − 1, 36 of length.
    let format = (u64::from(rate.hz()) << 44) | (15 << 36);
    let mut header = [0; 42];
    header[..4].copy_from_slice(b"fLaC");
    header[4..8].copy_from_slice(&[0x80, 0, 0, 34]);
    header[8..10].copy_from_slice(&block);
    header[10..12].copy_from_slice(&block);
    header[18..26].copy_from_slice(&format.to_be_bytes());
    header
}
