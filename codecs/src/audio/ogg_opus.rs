//! Opus in Ogg, as a stream (RFC 7845).
//!
//! 48 kHz mono in, 20 ms packets out, at 48 kbit/s on average. A page ends with each push, so
//! what is encoded is on its way at once, and after one second at the latest, as the RFC asks;
//! its 28 bytes are the price. Which packets there are depends on the samples alone.
//!
//! The decoded length is exact. The encoder looks ahead, so decoding starts with that much
//! silence, which the header's pre-skip cuts off; the last page's granule position cuts off
//! what fills up the last packet:
//!
//! ```text
//! granule of packet k = 960·k        of the last = pre-skip + samples
//! ```
//!
//! Every stream has the same serial number, so that the same audio gives the same bytes. Streams
//! that are to be chained in one file need new ones.

use ogg::{PacketWriteEndInfo, PacketWriter};
use opus::{Application, Bitrate, Channels};

use crate::{Error, Result};

/// The rate that Opus in Ogg counts in, and that this takes.
const HZ: u32 = 48_000;
/// Samples in a packet: 20 ms, where Opus is at its best for the delay.
const FRAME: usize = 960;
const FRAME_SAMPLES: u64 = 960;
/// Fullband mono speech is transparent here.
const BITS_PER_SECOND: i32 = 48_000;
/// Of 10: above it, twice the work changes speech by less than can be heard.
const COMPLEXITY: i32 = 5;
/// The longest packet that Opus makes (RFC 6716, section 3.4).
const MAX_PACKET: usize = 1275;
/// Packets on a page: one second.
const MAX_PAGE_PACKETS: u32 = 50;
const SERIAL: u32 = u32::from_be_bytes(*b"opus");
const VENDOR: &[u8] = b"promenade";

/// One Ogg stream being written.
pub(super) struct OggOpus {
    encoder: opus::Encoder,
    writer: PacketWriter<'static, Vec<u8>>,
    pre_skip: u16,
    header_sent: bool,
    /// Samples of the next packet, fewer than [`FRAME`].
    frame: Vec<f32>,
    /// The latest packet; only its successor, or the lack of one, decides how its page ends.
    last: Option<Vec<u8>>,
    packets: u64,
    page_packets: u32,
    received: u64,
}

impl std::fmt::Debug for OggOpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OggOpus")
            .field("packets", &self.packets)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

impl OggOpus {
    pub(super) fn new() -> Result<Self> {
        let mut encoder = opus::Encoder::new(HZ, Channels::Mono, Application::Audio)
            .map_err(Error::codec("opus"))?;
        encoder
            .set_bitrate(Bitrate::Bits(BITS_PER_SECOND))
            .map_err(Error::codec("opus"))?;
        encoder
            .set_complexity(COMPLEXITY)
            .map_err(Error::codec("opus"))?;
        let lookahead = encoder.get_lookahead().map_err(Error::codec("opus"))?;
        Ok(Self {
            encoder,
            writer: PacketWriter::new(Vec::new()),
            pre_skip: u16::try_from(lookahead).map_err(Error::codec("opus"))?,
            header_sent: false,
            frame: Vec::with_capacity(FRAME),
            last: None,
            packets: 0,
            page_packets: 0,
            received: 0,
        })
    }

    /// Appends the two header pages, once.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if !self.header_sent {
            self.header_sent = true;
            self.write(self.head(), PacketWriteEndInfo::EndPage, 0)?;
            self.write(tags(), PacketWriteEndInfo::EndPage, 0)?;
            self.drain(out);
        }
        Ok(())
    }

    /// Takes samples; what they complete waits for [`OggOpus::end_page`].
    pub(super) fn push(&mut self, mut samples: &[f32], out: &mut Vec<u8>) -> Result<()> {
        self.received += u64::try_from(samples.len()).unwrap_or(u64::MAX);
        while !samples.is_empty() {
            let (now, later) = samples.split_at(samples.len().min(FRAME - self.frame.len()));
            self.frame.extend_from_slice(now);
            samples = later;
            if self.frame.len() == FRAME {
                self.encode_frame()?;
                self.drain(out);
            }
        }
        Ok(())
    }

    /// Appends the page with everything encoded so far.
    pub(super) fn end_page(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.write_last(PacketWriteEndInfo::EndPage, self.packets * FRAME_SAMPLES)?;
        self.drain(out);
        Ok(())
    }

    /// Fills the last packets up and appends the page that ends the stream.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let end = u64::from(self.pre_skip) + self.received;
        while self.packets * FRAME_SAMPLES < end {
            self.frame.resize(FRAME, 0.0);
            self.encode_frame()?;
        }
        self.write_last(PacketWriteEndInfo::EndStream, end)?;
        self.drain(out);
        Ok(())
    }

    fn encode_frame(&mut self) -> Result<()> {
        let before_full = self.page_packets + 1 < MAX_PAGE_PACKETS;
        let end = if before_full {
            PacketWriteEndInfo::NormalPacket
        } else {
            PacketWriteEndInfo::EndPage
        };
        self.write_last(end, self.packets * FRAME_SAMPLES)?;
        let packet = self.encoder.encode_vec_float(&self.frame, MAX_PACKET);
        self.last = Some(packet.map_err(Error::codec("opus"))?);
        self.packets += 1;
        self.frame.clear();
        Ok(())
    }

    fn write_last(&mut self, end: PacketWriteEndInfo, granule: u64) -> Result<()> {
        let Some(packet) = self.last.take() else {
            return Ok(());
        };
        self.page_packets = match end {
            PacketWriteEndInfo::NormalPacket => self.page_packets + 1,
            PacketWriteEndInfo::EndPage | PacketWriteEndInfo::EndStream => 0,
        };
        self.write(packet, end, granule)
    }

    fn write(&mut self, packet: Vec<u8>, end: PacketWriteEndInfo, granule: u64) -> Result<()> {
        let written = self.writer.write_packet(packet, SERIAL, end, granule);
        written.map_err(Error::codec("ogg"))
    }

    fn drain(&mut self, out: &mut Vec<u8>) {
        out.append(self.writer.inner_mut());
    }

    /// `OpusHead` (RFC 7845, section 5.1): one channel, mapping family 0, no gain.
    fn head(&self) -> Vec<u8> {
        let mut head = b"OpusHead\x01\x01".to_vec();
        head.extend_from_slice(&self.pre_skip.to_le_bytes());
        head.extend_from_slice(&HZ.to_le_bytes());
        head.extend_from_slice(&[0, 0, 0]);
        head
    }
}

/// `OpusTags` (RFC 7845, section 5.2): the vendor and no comments.
fn tags() -> Vec<u8> {
    let mut tags = b"OpusTags".to_vec();
    tags.extend_from_slice(&u32::try_from(VENDOR.len()).unwrap_or(0).to_le_bytes());
    tags.extend_from_slice(VENDOR);
    tags.extend_from_slice(&0_u32.to_le_bytes());
    tags
}
