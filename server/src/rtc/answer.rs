//! Answers offers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use codecs::packet::Settings;
use parking_lot::Mutex;
use rtc::peer_connection::sdp::RTCSessionDescription;
use session::{Fault, Kind};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

use super::connection::{Handler, Line, Link};
use super::loudspeaker::Loudspeaker;
use super::microphone::microphone;
use super::peer::{Peer, State, Texts};
use super::ports::{Port, Ports};
use super::sdp::{self, Offer};
use crate::admission::Gate;
use crate::config;

/// Our own addresses are known as soon as the sockets are bound, which takes milliseconds; on a
/// machine that needs longer, a call would not be held.
const GATHERING: Duration = Duration::from_secs(2);
/// Another program may take a port between our look and the bind.
const ATTEMPTS: usize = 4;
/// Texts that wait for the data channel, in each direction.
const TEXTS: usize = 64;

/// Takes calls, within the limits of the configuration.
#[derive(Debug, Clone)]
pub struct Calls {
    addresses: Vec<IpAddr>,
    public: Vec<IpAddr>,
    connect: Duration,
    ports: Ports,
    gate: Gate,
}

impl Calls {
    /// As configured; `listen` is where the server's HTTP is.
    #[must_use]
    pub fn new(config: &config::Rtc, listen: IpAddr) -> Self {
        let [first, last] = config.ports;
        Self {
            addresses: addresses(&config.addresses, listen),
            public: config.public_address.into_iter().collect(),
            connect: config::seconds(config.connect_seconds),
            ports: Ports::new(first, last),
            gate: Gate::new(config.max_peers),
        }
    }

    /// How many callers there are.
    #[must_use]
    pub fn active(&self) -> usize {
        self.gate.taken()
    }

    /// Answers an offer: the caller, and the SDP to send back.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for what cannot be answered, [`Kind::Unavailable`] when there is no
    /// place or no port.
    pub async fn answer(&self, offer: &str) -> Result<(Peer, String), Fault> {
        let asked = Offer::read(offer)?;
        let place = self.gate.enter().ok_or_else(|| self.full())?;
        let description = RTCSessionDescription::offer(offer.to_owned())
            .map_err(|error| sdp::invalid(&sentence(&error)))?;
        let mut call = self.open().await?;
        // The crate's futures are large: on the heap, not in ours.
        let answer = Box::pin(call.negotiate(description, asked)).await?;
        let answer = sdp::with_direction(&answer, asked);
        let answer = sdp::with_public_addresses(&answer, &self.public);
        let peer = Peer {
            line: call.line,
            link: call.link,
            events: call.events,
            texts: Texts(call.texts),
            written: Arc::clone(&call.handler.written),
            reads: asked.writes,
            frames: call.frames,
            loudspeaker: call.loudspeaker,
            state: State::Connecting,
            connect_by: Instant::now() + self.connect,
            _place: place,
        };
        Ok((peer, answer))
    }

    /// A connection on a port of its own.
    async fn open(&self) -> Result<Call, Fault> {
        let mut refused = no_port();
        for _ in 0..ATTEMPTS {
            let Some(port) = self.ports.take(&self.addresses) else {
                break;
            };
            match Box::pin(Call::new(&self.addresses, port)).await {
                Ok(call) => return Ok(call),
                Err(error) => refused = internal(&error),
            }
        }
        Err(refused)
    }

    fn full(&self) -> Fault {
        Fault::new(
            Kind::Unavailable,
            "overloaded",
            format!(
                "The server is full: {} calls are open, which is its limit. Try again.",
                self.gate.limit()
            ),
        )
    }
}

/// A call that is being answered.
struct Call {
    line: Line,
    handler: Arc<Handler>,
    link: watch::Receiver<Link>,
    events: mpsc::Receiver<super::PeerEvent>,
    texts: mpsc::Sender<String>,
    frames: super::microphone::Frames,
    loudspeaker: Option<Loudspeaker>,
}

impl Call {
    /// # Errors
    /// The sockets could not be bound.
    async fn new(addresses: &[IpAddr], port: Port) -> webrtc::error::Result<Self> {
        let (link, linked) = watch::channel(Link::default());
        let (events, received) = mpsc::channel(TEXTS);
        let (texts, to_send) = mpsc::channel(TEXTS);
        let (microphone, frames) = microphone();
        let handler = Arc::new(Handler {
            link,
            gathered: Notify::new(),
            events,
            texts: Mutex::new(Some(to_send)),
            written: Arc::default(),
            microphone,
            tasks: Mutex::default(),
        });
        Ok(Self {
            line: Line::open(Arc::clone(&handler), addresses, port).await?,
            handler,
            link: linked,
            events: received,
            texts,
            frames,
            loudspeaker: None,
        })
    }

    /// Takes the offer in and gives the answer.
    async fn negotiate(
        &mut self,
        offer: RTCSessionDescription,
        asked: Offer,
    ) -> Result<String, Fault> {
        let connection = self.line.connection();
        connection
            .set_remote_description(offer)
            .await
            .map_err(|error| sdp::invalid(&sentence(&error)))?;
        if asked.hears {
            let mut loudspeaker =
                Loudspeaker::new(Settings::default()).map_err(|error| internal(&error))?;
            let added = connection.add_track(loudspeaker.track()).await;
            loudspeaker.bind(added.map_err(|error| internal(&error))?);
            self.loudspeaker = Some(loudspeaker);
        }
        let answer = connection.create_answer(None).await;
        let answer = answer.map_err(|error| sdp::invalid(&sentence(&error)))?;
        connection
            .set_local_description(answer)
            .await
            .map_err(|error| internal(&error))?;
        tokio::time::timeout(GATHERING, self.handler.gathered.notified())
            .await
            .map_err(|_| internal(&"its addresses were not known in time"))?;
        let local = connection.local_description().await;
        Ok(local.map(|local| local.sdp).unwrap_or_default())
    }
}

/// Where to bind: as configured, or where HTTP listens. Everywhere means this machine too, which
/// a wildcard's candidates leave out.
fn addresses(configured: &[IpAddr], listen: IpAddr) -> Vec<IpAddr> {
    let mut addresses = match configured {
        [] => vec![listen],
        some => some.to_vec(),
    };
    let everywhere = addresses.iter().any(IpAddr::is_unspecified);
    if addresses.contains(&IpAddr::V6(Ipv6Addr::UNSPECIFIED)) {
        addresses.push(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    }
    if everywhere {
        addresses.push(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    let mut seen = Vec::new();
    addresses.retain(|address| {
        let new = !seen.contains(address);
        seen.push(*address);
        new
    });
    addresses
}

fn sentence(error: &dyn std::fmt::Display) -> String {
    format!("The reason: {error}.")
}

fn no_port() -> Fault {
    Fault::new(
        Kind::Unavailable,
        "overloaded",
        "There is no free UDP port in rtc.ports for one more call. Try again.",
    )
}

fn internal(error: &dyn std::fmt::Display) -> Fault {
    Fault::new(
        Kind::Internal,
        "rtc_failed",
        format!("The call could not be set up: {error}."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_where_http_listens_if_nothing_else_is_said() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        for (configured, listen, expected) in [
            (vec![], "127.0.0.1", vec!["127.0.0.1"]),
            (vec![], "0.0.0.0", vec!["0.0.0.0", "127.0.0.1"]),
            (vec![], "::", vec!["::", "0.0.0.0", "127.0.0.1"]),
            (vec!["10.0.0.5"], "0.0.0.0", vec!["10.0.0.5"]),
        ] {
            let configured: Vec<_> = configured.into_iter().map(ip).collect();
            let expected: Vec<_> = expected.into_iter().map(ip).collect();
            assert_eq!(addresses(&configured, ip(listen)), expected);
        }
    }
}
