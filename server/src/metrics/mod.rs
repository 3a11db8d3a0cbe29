//! What an operator watches, as Prometheus (OpenMetrics text) has it.
//!
//! Every metric is declared here, once, with its unit in its name and a bounded set of labels:
//! routes, doors, formats, ends, models and nodes are all known when the server starts. Times
//! are in seconds. The engine's own counts are read when somebody asks.

mod calls;
mod chat;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub(crate) use chat::Chat;

/// Upper bounds for times until a first chunk, in seconds: 1 ms to 30 s.
const CHUNK_SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0,
];
/// Upper bounds for the server's own share of it, in seconds: 50 us to 1 s.
const HANDOVER_SECONDS: [f64; 13] = [
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0,
];
/// Upper bounds for real-time factors.
const RTFS: [f64; 11] = [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 3.0];

/// The way that speech leaves by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// A chunked HTTP body.
    Http,
    /// Server-sent events.
    Sse,
    /// A WebSocket.
    Ws,
}

/// How an utterance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    Cancelled,
    Failed,
}

impl Door {
    fn labels(self) -> DoorLabels {
        DoorLabels { door: self.name() }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Ws => "ws",
        }
    }
}

impl Ending {
    /// The labels of utterances that left by `door` and ended so.
    fn labels(self, door: Door) -> StreamLabels {
        let end = match self {
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        };
        StreamLabels {
            door: door.name(),
            end,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HttpLabels {
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DoorLabels {
    door: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StreamLabels {
    door: &'static str,
    end: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PageLabels {
    model: String,
    node: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeLabels {
    model: String,
    node: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabels {
    end: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WorkerLabels {
    worker: usize,
}

/// All metrics of one server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    http_requests: Family<HttpLabels, Counter>,
    refused: Family<HttpLabels, Counter>,
    streams: Family<StreamLabels, Counter>,
    active: Family<DoorLabels, Gauge>,
    pub(crate) sockets: Gauge,
    pub(crate) calls: calls::CallMetrics,
    pub(crate) connections: Gauge,
    ttfc: Family<DoorLabels, Histogram>,
    handover: Family<DoorLabels, Histogram>,
    rtf: Histogram,
    audio_seconds: Counter<f64, AtomicU64>,
    input_chars: Counter,
    stalled: Counter,
    chat: chat::ChatMetrics,
    engine: EngineMetrics,
}

#[derive(Debug, Default)]
struct EngineMetrics {
    open: Gauge,
    ended: Family<EndLabels, Counter>,
    steps: Family<NodeLabels, Counter>,
    members: Family<NodeLabels, Counter>,
    failures: Family<NodeLabels, Counter>,
    busy: Family<NodeLabels, Counter<f64, AtomicU64>>,
    late: Family<NodeLabels, Counter>,
    pages: Family<PageLabels, Gauge>,
    page_lookups: Family<NodeLabels, Counter>,
    page_hits: Family<NodeLabels, Counter>,
    after_cancel: Counter,
    buffered: Family<WorkerLabels, Gauge>,
    ready: Family<WorkerLabels, Gauge>,
    requests: Family<WorkerLabels, Gauge>,
    states: Family<WorkerLabels, Gauge>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut r = Registry::with_prefix("promenade");
        let metrics = Self {
            registry: Mutex::new(Registry::default()),
            http_requests: add(&mut r, "http_requests", "Answered HTTP requests"),
            refused: add(
                &mut r,
                "http_refusals",
                "HTTP requests answered by 4xx or 5xx",
            ),
            streams: add(&mut r, "streams", "Utterances by how they ended"),
            active: add(&mut r, "streams_active", "Utterances being spoken"),
            sockets: add(&mut r, "sockets_active", "Open speech sockets"),
            calls: calls::CallMetrics::new(&mut r),
            connections: add(&mut r, "connections_active", "Open connections"),
            ttfc: add_with(
                &mut r,
                "first_chunk_seconds",
                "From a request's text to its first audio bytes (TTFC)",
                Family::new_with_constructor(|| Histogram::new(CHUNK_SECONDS)),
            ),
            handover: add_with(
                &mut r,
                "first_chunk_handover_seconds",
                "From the model handing over the first chunk to its bytes going to the socket",
                Family::new_with_constructor(|| Histogram::new(HANDOVER_SECONDS)),
            ),
            rtf: add_with(
                &mut r,
                "real_time_factor",
                "Wall time from first model step to last, over audio time (RTF)",
                Histogram::new(RTFS),
            ),
            audio_seconds: add(&mut r, "audio_seconds", "Seconds of audio handed out"),
            input_chars: add(&mut r, "input_characters", "Characters of text taken in"),
            stalled: add(
                &mut r,
                "streams_stalled",
                "Utterances whose audio fell behind a listener who started 100 ms after the first chunk",
            ),
            chat: chat::ChatMetrics::new(&mut r),
            engine: EngineMetrics::new(&mut r),
        };
        for door in [Door::Http, Door::Sse, Door::Ws] {
            let _ = metrics.active.get_or_create(&door.labels());
            for end in [Ending::Done, Ending::Cancelled, Ending::Failed] {
                let _ = metrics.streams.get_or_create(&end.labels(door));
            }
        }
        *metrics.registry.lock() = r;
        metrics
    }

    pub(crate) fn answered(&self, route: &'static str, status: u16) {
        let labels = HttpLabels { route, status };
        if status >= 400 {
            self.refused.get_or_create(&labels).inc();
        }
        self.http_requests.get_or_create(&labels).inc();
    }

    /// Counts an utterance from here until the guard is dropped.
    pub(crate) fn stream(self: &Arc<Self>, door: Door) -> Stream {
        self.active.get_or_create(&door.labels()).inc();
        Stream {
            metrics: Arc::clone(self),
            door,
            end: Ending::Cancelled,
        }
    }

    /// All metrics as text, with what the engine counts now.
    pub(crate) fn render(&self, engine: Option<&engine::Snapshot>) -> String {
        if let Some(snapshot) = engine {
            self.engine.update(snapshot);
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry.lock());
        text
    }
}

/// An utterance being spoken; dropping it counts its end.
#[derive(Debug)]
pub(crate) struct Stream {
    metrics: Arc<Metrics>,
    door: Door,
    end: Ending,
}

impl Stream {
    pub(crate) fn first_chunk(&self, seconds: f64) {
        let labels = self.door.labels();
        self.metrics.ttfc.get_or_create(&labels).observe(seconds);
    }

    pub(crate) fn handed_over(&self, seconds: f64) {
        let labels = self.door.labels();
        self.metrics
            .handover
            .get_or_create(&labels)
            .observe(seconds);
    }

    pub(crate) fn audio(&self, seconds: f64) {
        self.metrics.audio_seconds.inc_by(seconds);
    }

    pub(crate) fn stalled(&self) {
        self.metrics.stalled.inc();
    }

    pub(crate) fn done(&mut self, input_chars: u64, rtf: Option<f64>) {
        self.end = Ending::Done;
        self.metrics.input_chars.inc_by(input_chars);
        if let Some(rtf) = rtf {
            self.metrics.rtf.observe(rtf);
        }
    }

    pub(crate) fn failed(&mut self) {
        self.end = Ending::Failed;
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let Self { door, end, .. } = *self;
        self.metrics.active.get_or_create(&door.labels()).dec();
        self.metrics.streams.get_or_create(&end.labels(door)).inc();
    }
}

impl EngineMetrics {
    fn new(r: &mut Registry) -> Self {
        Self {
            open: add(r, "requests_open", "Requests that the engine holds"),
            ended: add(r, "requests", "Requests by how they ended in the engine"),
            steps: add(r, "engine_steps", "Steps of a node"),
            members: add(
                r,
                "engine_step_members",
                "Requests in a node's steps, summed",
            ),
            failures: add(
                r,
                "engine_step_failures",
                "Requests that failed in a node's steps",
            ),
            busy: add(r, "engine_busy_seconds", "Time spent in a node's steps"),
            late: add(
                r,
                "engine_late_audio",
                "Pieces of audio that came after their listener ran dry",
            ),
            pages: add(
                r,
                "engine_kv_pages",
                "Pages of keys and values: in use, kept for requests that begin alike, free",
            ),
            page_lookups: add(
                r,
                "engine_kv_lookups",
                "Full pages that new requests have looked for",
            ),
            page_hits: add(r, "engine_kv_hits", "Full pages that they have found"),
            after_cancel: add(
                r,
                "engine_steps_after_cancel",
                "Steps started after a cancel",
            ),
            buffered: add(
                r,
                "engine_buffered_items",
                "Items waiting on streaming edges",
            ),
            ready: add(r, "engine_ready", "Requests that wait for a step"),
            requests: add(
                r,
                "engine_worker_requests",
                "Requests that have anything on a worker",
            ),
            states: add(r, "engine_states", "Per-request states of nodes"),
        }
    }

    fn update_pages(&self, labels: &NodeLabels, pages: engine::PageStats) {
        let free = pages.total - pages.in_use - pages.kept;
        let states = [
            ("in_use", pages.in_use),
            ("kept", pages.kept),
            ("free", free),
        ];
        for (state, value) in states {
            let labels = PageLabels {
                model: labels.model.clone(),
                node: labels.node.clone(),
                state,
            };
            self.pages.get_or_create(&labels).set(count(value));
        }
        set(&self.page_lookups.get_or_create(labels), pages.lookups);
        set(&self.page_hits.get_or_create(labels), pages.hits);
    }

    fn update(&self, snapshot: &engine::Snapshot) {
        let requests = &snapshot.requests;
        self.open.set(count(requests.open));
        for (end, value) in [
            ("done", requests.done),
            ("cancelled", requests.cancelled),
            ("failed", requests.failed),
            ("refused", requests.refused),
        ] {
            set(&self.ended.get_or_create(&EndLabels { end }), value);
        }
        set(&self.after_cancel, snapshot.steps_after_cancel);
        for node in &snapshot.nodes {
            let labels = NodeLabels {
                model: node.model.to_string(),
                node: node.node.to_string(),
            };
            set(&self.steps.get_or_create(&labels), node.steps);
            set(&self.members.get_or_create(&labels), node.members);
            set(&self.failures.get_or_create(&labels), node.failures);
            set(&self.late.get_or_create(&labels), node.stalls);
            if let Some(pages) = node.pages {
                self.update_pages(&labels, pages);
            }
            let busy = self.busy.get_or_create(&labels);
            busy.inner()
                .store(node.busy.as_secs_f64().to_bits(), Ordering::Relaxed);
        }
        for (worker, gauges) in snapshot.workers.iter().enumerate() {
            let labels = WorkerLabels { worker };
            self.buffered
                .get_or_create(&labels)
                .set(count(gauges.buffered));
            self.ready.get_or_create(&labels).set(count(gauges.ready));
            self.requests
                .get_or_create(&labels)
                .set(count(gauges.requests));
            self.states.get_or_create(&labels).set(count(gauges.states));
        }
    }
}

/// Brings a counter to a total that is counted elsewhere.
fn set(counter: &Counter, total: u64) {
    counter.inner().store(total, Ordering::Relaxed);
}

fn count(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn add<M>(registry: &mut Registry, name: &str, help: &str) -> M
where
    M: prometheus_client::registry::Metric + Default + Clone,
{
    add_with(registry, name, help, M::default())
}

fn add_with<M>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M
where
    M: prometheus_client::registry::Metric + Clone,
{
    registry.register(name, help, metric.clone());
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_counted_until_it_is_dropped() {
        let metrics = Arc::new(Metrics::new());
        let active = "promenade_streams_active{door=\"http\"} ";
        let mut stream = metrics.stream(Door::Http);
        stream.first_chunk(0.05);
        stream.handed_over(0.001);
        assert!(metrics.render(None).contains(&format!("{active}1\n")));
        stream.done(10, Some(0.1));
        drop(stream);
        let text = metrics.render(None);
        assert!(text.contains(&format!("{active}0\n")), "{text}");
        assert!(
            text.contains("promenade_streams_total{door=\"http\",end=\"done\"} 1\n"),
            "{text}"
        );
        assert!(
            text.contains("promenade_first_chunk_handover_seconds_count"),
            "{text}"
        );
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_stream_that_nobody_ended_was_cancelled() {
        let metrics = Arc::new(Metrics::new());
        drop(metrics.stream(Door::Ws));
        let text = metrics.render(None);
        assert!(text.contains("promenade_streams_total{door=\"ws\",end=\"cancelled\"} 1\n"));
    }
}
