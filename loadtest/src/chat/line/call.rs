//! A conversation by WebRTC, as a browser has it: Opus by RTP, events over a data channel.
//!
//! What is lost on the way stays lost: nothing is concealed, so that no figure is better than what
//! came.

use std::sync::Arc;
use std::time::Duration;

use ::http::{Request, header};
use anyhow::{Context, Result, anyhow, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use opus::{Application, Channels};
use rtc::ice::mdns::MulticastDnsMode;
use rtc::media_stream::MediaStreamTrack;
use rtc::peer_connection::configuration::media_engine::{MIME_TYPE_OPUS, MediaEngine};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::rtp_transceiver::rtp_sender::{
    RTCRtpCodec, RTCRtpCodingParameters, RTCRtpEncodingParameters, RtpCodecKind,
};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, watch};
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

use super::News;
use crate::chat::RATE;
use crate::chat::microphone::FRAME;
use crate::cli::ChatArgs;
use crate::door::{connect, http};
use crate::target::Target;

/// Where calls are taken.
const PATH: &str = "/v1/realtime/calls";
/// The data channel for events.
const EVENTS: &str = "oai-events";
/// How long a call may take to be connected.
const CONNECT: Duration = Duration::from_secs(15);
/// Ticks of the RTP clock in a frame.
const TICKS: u32 = 960;
/// The longest packet of Opus, in samples at [`RATE`]: 120 ms.
const LONGEST: usize = RATE as usize * 120 / 1000;
/// Bytes of a packet, and of an answer.
const PACKET: usize = 1275;
const ANSWER: usize = 1 << 20;
/// What waits to be looked at; more than comes in a minute.
const WAITING: usize = 8192;

/// See the [module](self).
pub(crate) struct Call {
    connection: Arc<dyn PeerConnection>,
    microphone: Arc<TrackLocalStaticRTP>,
    encoder: opus::Encoder,
    header: rtc::rtp::Header,
    news: mpsc::Receiver<News>,
    state: watch::Receiver<RTCPeerConnectionState>,
}

struct Handler {
    gathered: Notify,
    state: watch::Sender<RTCPeerConnectionState>,
    news: mpsc::Sender<News>,
}

#[async_trait::async_trait]
impl PeerConnectionEventHandler for Handler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        if state == RTCIceGatheringState::Complete {
            self.gathered.notify_one();
        }
    }

    async fn on_connection_state_change(&self, state: RTCPeerConnectionState) {
        self.state.send_replace(state);
    }

    async fn on_track(&self, track: Arc<dyn TrackRemote>) {
        tokio::spawn(hear(track, self.news.clone()));
    }
}

/// Decodes what comes, in the order in which it comes.
async fn hear(track: Arc<dyn TrackRemote>, news: mpsc::Sender<News>) {
    let Ok(mut decoder) = opus::Decoder::new(RATE, Channels::Mono) else {
        return;
    };
    while let Some(event) = track.poll().await {
        let TrackRemoteEvent::OnRtpPacket(packet) = event else {
            continue;
        };
        let mut samples = vec![0; LONGEST];
        if let Ok(length) = decoder.decode(&packet.payload, &mut samples, false) {
            samples.truncate(length);
            if news.send(News::Audio(samples)).await.is_err() {
                return;
            }
        }
    }
}

async fn read(channel: Arc<dyn DataChannel>, news: mpsc::Sender<News>) {
    while let Some(event) = channel.poll().await {
        if let DataChannelEvent::OnMessage(message) = event
            && let Ok(event) = serde_json::from_slice(&message.data)
            && news.send(News::Event(event)).await.is_err()
        {
            return;
        }
    }
}

impl Call {
    pub(super) async fn open(args: &ChatArgs, target: &Target, session: Value) -> Result<Self> {
        let (state, mut changes) = watch::channel(RTCPeerConnectionState::New);
        let (sender, news) = mpsc::channel(WAITING);
        let handler = Arc::new(Handler {
            gathered: Notify::new(),
            state,
            news: sender.clone(),
        });
        let connection = Box::pin(connection(Arc::clone(&handler))).await?;
        let ssrc = fastrand::u32(1..);
        let microphone = Arc::new(TrackLocalStaticRTP::new(track(ssrc)));
        let local = Arc::clone(&microphone) as Arc<dyn TrackLocal>;
        connection.add_track(local).await?;
        let events = connection.create_data_channel(EVENTS, None).await?;
        tokio::spawn(read(events, sender));
        let offer = connection.create_offer(None).await?;
        connection.set_local_description(offer).await?;
        let gathered = handler.gathered.notified();
        let gathered = tokio::time::timeout(CONNECT, gathered).await;
        gathered.context("this machine's addresses were not known in time")?;
        let offer = connection
            .local_description()
            .await
            .context("no offer was made")?;
        let answer = ask(args, target, &offer.sdp, &session).await?;
        let answer = RTCSessionDescription::answer(answer)?;
        connection.set_remote_description(answer).await?;
        let connected = changes.wait_for(|state| *state == RTCPeerConnectionState::Connected);
        let connected = tokio::time::timeout(CONNECT, connected).await;
        connected.context("the call was not connected in time")??;
        Ok(Self {
            connection,
            microphone,
            encoder: opus::Encoder::new(RATE, Channels::Mono, Application::Voip)?,
            header: rtc::rtp::Header {
                version: 2,
                payload_type: 111,
                ssrc,
                ..Default::default()
            },
            news,
            state: changes,
        })
    }

    pub(super) async fn speak(&mut self, frame: &[i16; FRAME]) -> Result<()> {
        let mut packet = [0; PACKET];
        let length = self.encoder.encode(frame, &mut packet)?;
        let payload = Bytes::copy_from_slice(&packet[..length]);
        let header = self.header.clone();
        self.header.sequence_number = header.sequence_number.wrapping_add(1);
        self.header.timestamp = header.timestamp.wrapping_add(TICKS);
        let packet = rtc::rtp::Packet { header, payload };
        self.microphone
            .write_rtp(packet)
            .await
            .context("cannot send")
    }

    pub(super) async fn next(&mut self) -> Result<News> {
        tokio::select! {
            biased;
            news = self.news.recv() => news.context("the call is over"),
            ended = self.state.wait_for(|state| {
                matches!(state, RTCPeerConnectionState::Failed | RTCPeerConnectionState::Closed)
            }) => bail!("the call has ended: {:?}", ended.map(|state| *state)),
        }
    }

    pub(super) async fn close(self) {
        let _ = self.connection.close().await;
    }
}

async fn connection(handler: Arc<Handler>) -> Result<Arc<dyn PeerConnection>> {
    let mut media = MediaEngine::default();
    media.register_default_codecs()?;
    let settings = SettingEngineBuilder::new()
        .with_include_loopback_candidate(true)
        .with_multicast_dns_mode(MulticastDnsMode::Disabled)
        .with_ice_connection_attempts(Some(Duration::from_millis(20)), Some(100))
        .build();
    let building = PeerConnectionBuilder::new()
        .with_configuration(RTCConfigurationBuilder::new().build())
        .with_media_engine(media)
        .with_setting_engine(settings)
        .with_interceptor_registry(configure_rtcp_reports(Registry::new()))
        .with_handler(handler)
        .with_runtime(Arc::new(TokioRuntime))
        .with_udp_addrs(vec!["0.0.0.0:0", "127.0.0.1:0"])
        .build();
    Ok(Arc::new(Box::pin(building).await?))
}

fn track(ssrc: u32) -> MediaStreamTrack {
    let name = || "microphone".to_owned();
    let encoding = RTCRtpEncodingParameters {
        rtp_coding_parameters: RTCRtpCodingParameters {
            ssrc: Some(ssrc),
            ..Default::default()
        },
        codec: RTCRtpCodec {
            mime_type: MIME_TYPE_OPUS.to_owned(),
            clock_rate: 48_000,
            channels: 2,
            sdp_fmtp_line: "minptime=10;useinbandfec=1".to_owned(),
            rtcp_feedback: Vec::new(),
        },
        ..Default::default()
    };
    MediaStreamTrack::new(name(), name(), name(), RtpCodecKind::Audio, vec![encoding])
}

/// The answer to an offer.
async fn ask(args: &ChatArgs, target: &Target, offer: &str, session: &Value) -> Result<String> {
    let part = |name: &str, value: &str| {
        format!("--part\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let form = part("sdp", offer) + &part("session", &session.to_string()) + "--part--\r\n";
    let path = format!("{}?model={}", target.path(PATH), args.model);
    let mut request = Request::post(path)
        .header(header::HOST, &target.authority)
        .header(header::CONTENT_TYPE, "multipart/form-data; boundary=part");
    if let Some(key) = &args.key {
        request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
    }
    let request = request.body(Full::new(Bytes::from(form)))?;
    let (response, _connection) = http::send(connect(target).await?, request).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), ANSWER).collect().await;
    let body = body.map_err(|error| anyhow!(error))?.to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    ensure!(status == 201, "the server answered {status}: {body}");
    Ok(body)
}
