//! What an operator watches of calls by WebRTC.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::add;
use crate::rtc::PeerStats;

/// Samples of a second, as peers count them.
const RATE: f64 = 24_000.0;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PacketLabels {
    packets: &'static str,
}

/// Calls that go on, and what those that ended have met on the network.
#[derive(Debug)]
pub(crate) struct CallMetrics {
    active: Gauge,
    packets: Family<PacketLabels, Counter>,
    concealed: Counter<f64, AtomicU64>,
}

impl CallMetrics {
    pub(super) fn new(r: &mut Registry) -> Self {
        let metrics = Self {
            active: add(r, "calls_active", "Open calls by WebRTC"),
            packets: add(
                r,
                "call_packets",
                "Packets of audio in calls that have ended, by what became of them",
            ),
            concealed: add(
                r,
                "call_concealed_seconds",
                "Seconds made up for what was lost or not sent, in calls that have ended",
            ),
        };
        metrics.count(&PeerStats::default());
        metrics
    }

    /// A call begins.
    pub(crate) fn begin(&self) {
        self.active.inc();
    }

    /// A call has ended.
    pub(crate) fn end(&self, stats: &PeerStats) {
        self.active.dec();
        self.count(stats);
    }

    fn count(&self, stats: &PeerStats) {
        let heard = &stats.received;
        for (packets, count) in [
            ("sent", stats.sent_packets),
            ("received", heard.packets),
            ("lost", heard.lost),
            ("recovered", heard.recovered),
            ("late", heard.late),
            ("malformed", heard.malformed),
        ] {
            self.packets
                .get_or_create(&PacketLabels { packets })
                .inc_by(count);
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a count of samples for a metric"
        )]
        let seconds = heard.concealed as f64 / RATE;
        self.concealed.inc_by(seconds);
    }
}
