//! What the peer hears: frames to RTP packets, 20 ms each.
//!
//! Timestamps go on by the time that passes, whether or not a packet is sent for it: silence is
//! not sent, except that the encoder is asked every 400 ms for the packet that keeps a listener's
//! background noise going.

use std::sync::Arc;

use codecs::packet::{Encoder, FRAME, FRAME_TICKS, Settings};
use rtc::rtp_transceiver::rtp_sender::RtpCodecKind;
use rtc::{
    media_stream::MediaStreamTrack,
    rtp_transceiver::rtp_sender::{RTCRtpCodingParameters, RTCRtpEncodingParameters},
};
use webrtc::media_stream::track_local::TrackLocal;
use webrtc::media_stream::track_local::static_rtp::TrackLocalStaticRTP;
use webrtc::rtp_transceiver::RtpSender;

use super::connection::opus_codec;

/// Of so many silent frames one is encoded.
const REFRESH: u32 = 20;

/// One track that we send.
pub(super) struct Loudspeaker {
    track: Arc<TrackLocalStaticRTP>,
    sender: Option<Arc<dyn RtpSender>>,
    encoder: Encoder,
    ssrc: u32,
    payload_type: Option<u8>,
    sequence: u16,
    timestamp: u32,
    /// Silent frames since the encoder last had something to send; `None` while it has.
    silent: Option<u32>,
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Loudspeaker {
    pub(super) fn new(settings: Settings) -> codecs::Result<Self> {
        let ssrc = fastrand::u32(1..);
        let encoding = RTCRtpEncodingParameters {
            rtp_coding_parameters: RTCRtpCodingParameters {
                ssrc: Some(ssrc),
                ..Default::default()
            },
            codec: opus_codec(),
            ..Default::default()
        };
        let name = || "promenade".to_owned();
        let track =
            MediaStreamTrack::new(name(), name(), name(), RtpCodecKind::Audio, vec![encoding]);
        Ok(Self {
            track: Arc::new(TrackLocalStaticRTP::new(track)),
            sender: None,
            encoder: Encoder::new(settings)?,
            ssrc,
            payload_type: None,
            sequence: fastrand::u16(..),
            timestamp: fastrand::u32(..),
            silent: Some(0),
            packets: 0,
            bytes: 0,
        })
    }

    pub(super) fn track(&self) -> Arc<dyn TrackLocal> {
        Arc::clone(&self.track) as Arc<dyn TrackLocal>
    }

    pub(super) fn bind(&mut self, sender: Arc<dyn RtpSender>) {
        self.sender = Some(sender);
    }

    /// So many frames were due and are over.
    pub(super) fn skip(&mut self, frames: u32) {
        self.timestamp = self
            .timestamp
            .wrapping_add(FRAME_TICKS.wrapping_mul(frames));
    }

    /// Sends the next 20 ms; none is silence. What cannot be sent is lost, as on any network.
    pub(super) async fn play(&mut self, frame: Option<&[f32; FRAME]>) {
        let timestamp = self.timestamp;
        self.skip(1);
        let Some(payload) = self.encode(frame) else {
            return;
        };
        let Some(payload_type) = self.payload_type().await else {
            return;
        };
        let begins = self.silent.take().is_some();
        let header = rtc::rtp::Header {
            version: 2,
            marker: begins,
            payload_type,
            sequence_number: self.sequence,
            timestamp,
            ssrc: self.ssrc,
            ..Default::default()
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.packets += 1;
        self.bytes += u64::try_from(payload.len()).unwrap_or(0);
        let packet = rtc::rtp::Packet { header, payload };
        if let Err(error) = self.track.write_rtp(packet).await {
            tracing::debug!(%error, "a packet of audio was not sent");
        }
    }

    fn encode(&mut self, frame: Option<&[f32; FRAME]>) -> Option<bytes::Bytes> {
        if frame.is_none()
            && let Some(silent) = &mut self.silent
        {
            *silent += 1;
            if *silent % REFRESH != 0 {
                return None;
            }
        }
        let encoded = self.encoder.encode(frame.unwrap_or(&[0.0; FRAME]));
        let payload = encoded.unwrap_or_else(|error| {
            tracing::warn!(%error, "a frame was not encoded");
            None
        });
        if payload.is_none() {
            self.silent.get_or_insert(0);
        }
        payload
    }

    /// As negotiated; known once the descriptions are exchanged.
    async fn payload_type(&mut self) -> Option<u8> {
        if self.payload_type.is_none() {
            let parameters = self.sender.as_ref()?.get_parameters().await.ok()?;
            let codec = parameters.rtp_parameters.codecs.first()?;
            self.payload_type = Some(codec.payload_type);
        }
        self.payload_type
    }
}
