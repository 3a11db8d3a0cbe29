//! The crate's peer connection with our settings, and its events as ours.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rtc::ice::mdns::MulticastDnsMode;
use rtc::peer_connection::configuration::media_engine::{MIME_TYPE_OPUS, MediaEngine};
use rtc::peer_connection::configuration::setting_engine::SctpMaxMessageSize;
use rtc::rtp_transceiver::rtp_sender::{RTCRtpCodec, RTCRtpCodecParameters, RtpCodecKind};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use webrtc::data_channel::{DataChannel, DataChannelEvent};
use webrtc::error::Result;
use webrtc::media_stream::track_remote::TrackRemote;
use webrtc::peer_connection::{
    PeerConnection, PeerConnectionBuilder, PeerConnectionEventHandler, RTCConfigurationBuilder,
    RTCIceConnectionState, RTCIceGatheringState, RTCPeerConnectionState, Registry,
    SettingEngineBuilder, configure_rtcp_reports,
};
use webrtc::runtime::TokioRuntime;

use super::microphone::Microphone;
use super::peer::PeerEvent;
use super::ports::Port;

/// The data channel for events, as the public Realtime API names it.
pub(super) const EVENTS_CHANNEL: &str = "oai-events";

/// ICE's default of 200 ms makes each connection wait for the next tick before DTLS begins.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// At that interval, two seconds of checks for each pair.
const CHECKS: u16 = 100;
/// Without a sign of life for so long a peer is disconnected, and for `FAILED` more it is gone:
/// 20 s together.
const DISCONNECTED: Duration = Duration::from_secs(5);
const FAILED: Duration = Duration::from_secs(15);
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// How often to look whether the last texts have arrived.
const FLUSH_LOOK: Duration = Duration::from_millis(10);
/// How long a goodbye may take, and the last texts before it.
pub(super) const GOODBYE: Duration = Duration::from_secs(1);
/// The longest text that a peer may send; browsers send no longer ones either.
const MESSAGE_BYTES: u32 = 256 * 1024;
/// Texts on their way to the peer, beyond which a sender waits.
const SEND_BUFFER_BYTES: usize = 1 << 20;
/// Opus, where the offer does not say otherwise.
const PAYLOAD_TYPE: u8 = 111;

/// How far a connection is. It moves as the network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Link {
    /// Addresses have been found between which packets pass.
    pub(super) reachable: bool,
    /// And the keys are agreed upon: audio and texts pass.
    pub(super) connected: bool,
    /// It was connected and is lost, or never will be.
    pub(super) failed: bool,
    /// The other side, or we, said goodbye.
    pub(super) closed: bool,
}

/// What the crate calls.
pub(super) struct Handler {
    pub(super) link: watch::Sender<Link>,
    pub(super) gathered: Notify,
    pub(super) events: mpsc::Sender<PeerEvent>,
    /// Texts to be sent; taken by the first data channel that is ours.
    pub(super) texts: Mutex<Option<mpsc::Receiver<String>>>,
    pub(super) microphone: Microphone,
    /// All texts have been sent, and no more will come.
    pub(super) written: Arc<Notify>,
    /// What reads and writes for this connection.
    pub(super) tasks: Mutex<JoinSet<()>>,
}

#[async_trait::async_trait]
impl PeerConnectionEventHandler for Handler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        if state == RTCIceGatheringState::Complete {
            self.gathered.notify_one();
        }
    }

    async fn on_ice_connection_state_change(&self, state: RTCIceConnectionState) {
        if matches!(
            state,
            RTCIceConnectionState::Connected | RTCIceConnectionState::Completed
        ) {
            self.link.send_modify(|link| link.reachable = true);
        }
    }

    async fn on_connection_state_change(&self, state: RTCPeerConnectionState) {
        tracing::debug!(%state, "peer connection");
        self.link.send_modify(|link| match state {
            RTCPeerConnectionState::Connected => link.connected = true,
            RTCPeerConnectionState::Failed => link.failed = true,
            RTCPeerConnectionState::Closed => link.closed = true,
            _ => {}
        });
    }

    async fn on_data_channel(&self, channel: Arc<dyn DataChannel>) {
        let label = channel.label().await.unwrap_or_default();
        if label != EVENTS_CHANNEL {
            tracing::debug!(label, "a data channel of another name is not listened to");
            return;
        }
        let Some(texts) = self.texts.lock().take() else {
            tracing::debug!("a second data channel for events is not listened to");
            return;
        };
        let (events, link) = (self.events.clone(), self.link.clone());
        let mut tasks = self.tasks.lock();
        tasks.spawn({
            let channel = Arc::clone(&channel);
            async move {
                read(channel, events).await;
                // A browser says nothing else when its page goes away.
                link.send_modify(|link| link.closed = true);
            }
        });
        tasks.spawn(write(channel, texts, Arc::clone(&self.written)));
    }

    async fn on_track(&self, track: Arc<dyn TrackRemote>) {
        let listening = self.microphone.clone().listen(track);
        self.tasks.lock().spawn(listening);
    }
}

/// Hands over what the peer writes. While nobody takes it, the channel's own window fills, and
/// the peer waits.
async fn read(channel: Arc<dyn DataChannel>, events: mpsc::Sender<PeerEvent>) {
    while let Some(event) = channel.poll().await {
        match event {
            DataChannelEvent::OnMessage(message) => {
                let event = match String::from_utf8(message.data.to_vec()) {
                    Ok(text) => PeerEvent::Text(text),
                    Err(_) => PeerEvent::Binary(message.data.len()),
                };
                if events.send(event).await.is_err() {
                    return;
                }
            }
            DataChannelEvent::OnClose => return,
            _ => {}
        }
    }
}

async fn write(
    channel: Arc<dyn DataChannel>,
    mut texts: mpsc::Receiver<String>,
    written: Arc<Notify>,
) {
    while let Some(text) = texts.recv().await {
        if let Err(error) = channel.send_text(&text).await {
            tracing::warn!(%error, bytes = text.len(), "an event was not sent to a caller");
            break;
        }
    }
    // The crate tells when there is room again, but not when all has arrived.
    while channel
        .outstanding_bytes()
        .await
        .is_ok_and(|bytes| bytes > 0)
    {
        tokio::time::sleep(FLUSH_LOOK).await;
    }
    written.notify_one();
}

pub(super) fn opus_codec() -> RTCRtpCodec {
    RTCRtpCodec {
        mime_type: MIME_TYPE_OPUS.to_owned(),
        clock_rate: 48_000,
        channels: 2,
        sdp_fmtp_line: "minptime=10;useinbandfec=1".to_owned(),
        rtcp_feedback: Vec::new(),
    }
}

/// A connection and what it occupies. Dropping it ends it, in a task of its own: the crate's
/// task would go on as long as the other side does, and longer.
pub(super) struct Line {
    connection: Arc<dyn PeerConnection>,
    /// None once it is being closed.
    held: Option<Held>,
}

/// What a connection has until its socket is closed.
struct Held {
    handler: Arc<Handler>,
    _port: Port,
}

impl Line {
    /// A connection that listens on `port` of these addresses.
    ///
    /// # Errors
    /// No socket could be bound.
    pub(super) async fn open(
        handler: Arc<Handler>,
        addresses: &[IpAddr],
        port: Port,
    ) -> Result<Self> {
        let connection = build(Arc::clone(&handler), addresses, port.number()).await?;
        let held = Held {
            handler,
            _port: port,
        };
        Ok(Self {
            connection,
            held: Some(held),
        })
    }

    pub(super) fn connection(&self) -> &dyn PeerConnection {
        &*self.connection
    }

    /// Says goodbye, and returns when the socket is closed.
    pub(super) async fn close(mut self) {
        if let Some(held) = self.held.take() {
            end(Arc::clone(&self.connection), held).await;
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Without a runtime, the connection's task has ended already.
        if let Some(held) = self.held.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(end(Arc::clone(&self.connection), held));
        }
    }
}

async fn end(connection: Arc<dyn PeerConnection>, held: Held) {
    match tokio::time::timeout(GOODBYE, connection.close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a call did not end in order"),
        Err(_) => tracing::debug!("a call's goodbye took too long"),
    }
    // They hold the connection, which holds the handler, which holds them.
    held.handler.tasks.lock().abort_all();
}

async fn build(
    handler: Arc<Handler>,
    addresses: &[IpAddr],
    port: u16,
) -> Result<Arc<dyn PeerConnection>> {
    let mut media = MediaEngine::default();
    let opus = RTCRtpCodecParameters {
        rtp_codec: opus_codec(),
        payload_type: PAYLOAD_TYPE,
    };
    media.register_codec(opus, RtpCodecKind::Audio)?;
    let settings = SettingEngineBuilder::new()
        .with_include_loopback_candidate(true)
        .with_multicast_dns_mode(MulticastDnsMode::Disabled)
        .with_ice_connection_attempts(Some(CHECK_INTERVAL), Some(CHECKS))
        .with_ice_timeouts(Some(DISCONNECTED), Some(FAILED), Some(KEEP_ALIVE))
        .with_sctp_max_message_size(SctpMaxMessageSize::Bounded(MESSAGE_BYTES))
        .build();
    let bound = addresses.iter().map(|ip| SocketAddr::new(*ip, port));
    let building = PeerConnectionBuilder::new()
        .with_configuration(RTCConfigurationBuilder::new().build())
        .with_media_engine(media)
        .with_setting_engine(settings)
        .with_interceptor_registry(configure_rtcp_reports(Registry::new()))
        .with_handler(handler)
        .with_runtime(Arc::new(TokioRuntime))
        .with_udp_addrs(bound.collect::<Vec<_>>())
        .with_data_channel_send_buffer_limit(SEND_BUFFER_BYTES)
        .build();
    let connection = Box::pin(building).await?;
    Ok(Arc::new(connection))
}
