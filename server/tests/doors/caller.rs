//! A caller: a peer connection as a browser would make one, on the `webrtc` crate.

use std::sync::Arc;
use std::time::Duration;

use codecs::packet::{self, Encoder, FRAME, Receiver, Settings};
use parking_lot::Mutex;
use rtc::media_stream::MediaStreamTrack;
use rtc::peer_connection::configuration::media_engine::{MIME_TYPE_OPUS, MediaEngine};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::rtp_transceiver::rtp_sender::{
    RTCRtpCodec, RTCRtpCodingParameters, RTCRtpEncodingParameters, RtpCodecKind,
};
use rtc::rtp_transceiver::{RTCRtpTransceiverDirection, RTCRtpTransceiverInit};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;
use webrtc::data_channel::{DataChannel, DataChannelEvent};
use webrtc::media_stream::track_local::TrackLocal;
use webrtc::media_stream::track_local::static_rtp::TrackLocalStaticRTP;
use webrtc::media_stream::track_remote::{TrackRemote, TrackRemoteEvent};
use webrtc::peer_connection::{
    PeerConnection, PeerConnectionBuilder, PeerConnectionEventHandler, RTCConfigurationBuilder,
    RTCIceGatheringState, RTCPeerConnectionState, Registry, SettingEngineBuilder,
    configure_rtcp_reports,
};
use webrtc::runtime::TokioRuntime;

use crate::harness::PATIENCE;

/// What a caller offers for audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audio {
    Both,
    HearOnly,
    SpeakOnly,
    Inactive,
    None,
}

pub(crate) struct Caller {
    connection: Arc<dyn PeerConnection>,
    events: Arc<dyn DataChannel>,
    microphone: Option<Arc<TrackLocalStaticRTP>>,
    encoder: Encoder,
    sequence: u16,
    handler: Arc<Handler>,
    state: watch::Receiver<bool>,
    texts: mpsc::Receiver<String>,
    phase: f32,
}

struct Handler {
    gathered: Notify,
    connected: watch::Sender<bool>,
    heard: Arc<Mutex<Vec<f32>>>,
}

#[async_trait::async_trait]
impl PeerConnectionEventHandler for Handler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        if state == RTCIceGatheringState::Complete {
            self.gathered.notify_one();
        }
    }

    async fn on_connection_state_change(&self, state: RTCPeerConnectionState) {
        if state == RTCPeerConnectionState::Connected {
            self.connected.send_replace(true);
        }
    }

    async fn on_track(&self, track: Arc<dyn TrackRemote>) {
        tokio::spawn(hear(track, Arc::clone(&self.heard)));
    }
}

async fn hear(track: Arc<dyn TrackRemote>, heard: Arc<Mutex<Vec<f32>>>) {
    let mut receiver = Receiver::new(packet::Config::default()).unwrap();
    let origin = Instant::now();
    while let Some(event) = track.poll().await {
        if let TrackRemoteEvent::OnRtpPacket(packet) = event {
            let header = &packet.header;
            receiver.push(
                header.sequence_number,
                header.timestamp,
                packet.payload,
                origin.elapsed(),
                &mut heard.lock(),
            );
        }
    }
}

fn opus() -> RTCRtpCodec {
    RTCRtpCodec {
        mime_type: MIME_TYPE_OPUS.to_owned(),
        clock_rate: 48_000,
        channels: 2,
        sdp_fmtp_line: "minptime=10;useinbandfec=1".to_owned(),
        rtcp_feedback: Vec::new(),
    }
}

const SSRC: u32 = 4_711;

fn track() -> Arc<TrackLocalStaticRTP> {
    let name = || "caller".to_owned();
    let encoding = RTCRtpEncodingParameters {
        rtp_coding_parameters: RTCRtpCodingParameters {
            ssrc: Some(SSRC),
            ..Default::default()
        },
        codec: opus(),
        ..Default::default()
    };
    let kind = RtpCodecKind::Audio;
    let track = MediaStreamTrack::new(name(), name(), name(), kind, vec![encoding]);
    Arc::new(TrackLocalStaticRTP::new(track))
}

impl Caller {
    /// A caller, and its offer.
    pub(crate) async fn new(audio: Audio) -> (Self, String) {
        let mut media = MediaEngine::default();
        media.register_default_codecs().unwrap();
        let (connected, state) = watch::channel(false);
        let handler = Arc::new(Handler {
            gathered: Notify::new(),
            connected,
            heard: Arc::default(),
        });
        let settings = SettingEngineBuilder::new()
            .with_include_loopback_candidate(true)
            .with_multicast_dns_mode(rtc::ice::mdns::MulticastDnsMode::Disabled)
            .with_ice_connection_attempts(Some(Duration::from_millis(20)), Some(50))
            .build();
        let connection = PeerConnectionBuilder::new()
            .with_configuration(RTCConfigurationBuilder::new().build())
            .with_media_engine(media)
            .with_setting_engine(settings)
            .with_interceptor_registry(configure_rtcp_reports(Registry::new()))
            .with_handler(Arc::clone(&handler) as Arc<dyn PeerConnectionEventHandler>)
            .with_runtime(Arc::new(TokioRuntime))
            .with_udp_addrs(vec!["127.0.0.1:0"])
            .build()
            .await
            .unwrap();
        let connection: Arc<dyn PeerConnection> = Arc::new(connection);
        let microphone = match audio {
            Audio::Both => {
                let track = track();
                let added = connection.add_track(Arc::clone(&track) as Arc<dyn TrackLocal>);
                added.await.unwrap();
                Some(track)
            }
            Audio::SpeakOnly => {
                let track = track();
                let init = direction(RTCRtpTransceiverDirection::Sendonly);
                let local = Arc::clone(&track) as Arc<dyn TrackLocal>;
                let added = connection.add_transceiver_from_track(local, Some(init));
                added.await.unwrap();
                Some(track)
            }
            Audio::HearOnly | Audio::Inactive => {
                let init = direction(RTCRtpTransceiverDirection::Recvonly);
                let kind = RtpCodecKind::Audio;
                let added = connection.add_transceiver_from_kind(kind, Some(init));
                added.await.unwrap();
                None
            }
            Audio::None => None,
        };
        let events = connection.create_data_channel("oai-events", None);
        let events = events.await.unwrap();
        let (text, texts) = mpsc::channel(256);
        tokio::spawn({
            let events = Arc::clone(&events);
            async move {
                while let Some(event) = events.poll().await {
                    if let DataChannelEvent::OnMessage(message) = event {
                        let message = String::from_utf8(message.data.to_vec()).unwrap();
                        let _ = text.send(message).await;
                    }
                }
            }
        });
        let offer = connection.create_offer(None).await.unwrap();
        connection.set_local_description(offer).await.unwrap();
        tokio::time::timeout(PATIENCE, handler.gathered.notified())
            .await
            .unwrap();
        let mut offer = connection.local_description().await.unwrap().sdp;
        if audio == Audio::Inactive {
            // The crate makes no such offers; browsers do, when a call is put on hold.
            offer = offer.replace("a=recvonly", "a=inactive");
        }
        let caller = Self {
            connection,
            events,
            microphone,
            encoder: Encoder::new(Settings {
                dtx: false,
                ..Settings::default()
            })
            .unwrap(),
            sequence: 65_500,
            handler,
            state,
            texts,
            phase: 0.0,
        };
        (caller, offer)
    }

    pub(crate) async fn accept(&mut self, answer: &str) {
        let answer = RTCSessionDescription::answer(answer.to_owned()).unwrap();
        self.connection
            .set_remote_description(answer)
            .await
            .unwrap();
    }

    pub(crate) async fn connected(&mut self) {
        let connected = self.state.wait_for(|connected| *connected);
        tokio::time::timeout(PATIENCE, connected)
            .await
            .expect("connected in time")
            .unwrap();
    }

    /// Says 20 ms of a tone; `lost` has the network lose it.
    pub(crate) async fn say(&mut self, hz: f32, lost: bool) {
        let mut phase = self.phase;
        let frame = [0.0; FRAME].map(|_: f32| {
            phase = (phase + std::f32::consts::TAU * hz / 24_000.0) % std::f32::consts::TAU;
            0.5 * phase.sin()
        });
        self.phase = phase;
        self.send(&frame, lost).await;
    }

    /// Says what was recorded at 24 kHz, in step with the clock.
    pub(crate) async fn play(&mut self, samples: &[f32]) {
        let begin = Instant::now();
        for (n, chunk) in (0_u32..).zip(samples.chunks(FRAME)) {
            tokio::time::sleep_until(begin + Duration::from_millis(20) * n).await;
            let mut frame = [0.0; FRAME];
            frame[..chunk.len()].copy_from_slice(chunk);
            self.send(&frame, false).await;
        }
    }

    async fn send(&mut self, frame: &[f32; FRAME], lost: bool) {
        let payload = self.encoder.encode(frame).unwrap().unwrap();
        let header = rtc::rtp::Header {
            version: 2,
            payload_type: 111,
            sequence_number: self.sequence,
            timestamp: u32::from(self.sequence).wrapping_mul(960),
            ssrc: SSRC,
            ..Default::default()
        };
        self.sequence = self.sequence.wrapping_add(1);
        if !lost {
            let packet = rtc::rtp::Packet { header, payload };
            let track = self.microphone.as_ref().unwrap();
            track.write_rtp(packet).await.unwrap();
        }
    }

    pub(crate) async fn write(&self, text: &str) {
        self.events.send_text(text).await.unwrap();
    }

    pub(crate) async fn read(&mut self) -> String {
        tokio::time::timeout(PATIENCE, self.texts.recv())
            .await
            .expect("a text in time")
            .unwrap()
    }

    /// All that was heard so far, at 24 kHz.
    pub(crate) fn heard(&self) -> Vec<f32> {
        self.handler.heard.lock().clone()
    }

    pub(crate) async fn hang_up(&self) {
        self.connection.close().await.unwrap();
    }
}

fn direction(direction: RTCRtpTransceiverDirection) -> RTCRtpTransceiverInit {
    RTCRtpTransceiverInit {
        direction,
        streams: Vec::new(),
        send_encodings: Vec::new(),
    }
}

/// A tone's frequency, by the zero crossings that rise.
#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
pub(crate) fn frequency(samples: &[f32]) -> f32 {
    let rises = |pair: &[f32]| pair[0] < 0.0 && pair[1] >= 0.0;
    let first = samples.windows(2).position(rises).unwrap_or(0);
    let last = samples.windows(2).rposition(rises).unwrap_or(1);
    let rising = samples.windows(2).filter(|pair| rises(pair)).count();
    (rising.saturating_sub(1)) as f32 * 24_000.0 / (last - first).max(1) as f32
}
