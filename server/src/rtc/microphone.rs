//! What the peer says: RTP packets of its track to frames, across the threads.
//!
//! A task for each track reads packets, orders and decodes them, and writes samples into a ring;
//! the peer's owner takes them out as frames. The ring holds one second: who does not listen
//! for that long loses what comes then, and it is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use codecs::packet::{self, FRAME, Receiver};
use parking_lot::Mutex;
use ringbuf::traits::{Consumer, Observer, Producer, Split};
use ringbuf::{HeapCons, HeapProd, HeapRb};
use tokio::sync::Notify;
use tokio::time::Instant;
use webrtc::media_stream::track_remote::{TrackRemote, TrackRemoteEvent};

/// Samples that wait to be taken: 1 s.
const CAPACITY: usize = 50 * FRAME;

/// Where tracks write to.
#[derive(Clone)]
pub(super) struct Microphone(Arc<Shared>);

struct Shared {
    ring: Mutex<HeapProd<f32>>,
    filled: Notify,
    stats: Mutex<packet::Stats>,
    depth: AtomicU64,
    dropped: AtomicU64,
}

/// Where frames come out.
pub(super) struct Frames {
    ring: HeapCons<f32>,
    shared: Arc<Shared>,
}

/// Both ends.
pub(super) fn microphone() -> (Microphone, Frames) {
    let (producer, consumer) = HeapRb::new(CAPACITY).split();
    let shared = Arc::new(Shared {
        ring: Mutex::new(producer),
        filled: Notify::new(),
        stats: Mutex::new(packet::Stats::default()),
        depth: AtomicU64::new(0),
        dropped: AtomicU64::new(0),
    });
    let frames = Frames {
        ring: consumer,
        shared: Arc::clone(&shared),
    };
    (Microphone(shared), frames)
}

impl Microphone {
    /// Reads a track to its end.
    pub(super) async fn listen(self, track: Arc<dyn TrackRemote>) {
        let mut receiver = match Receiver::new(packet::Config::default()) {
            Ok(receiver) => receiver,
            Err(error) => {
                tracing::error!(%error, "a caller's audio cannot be decoded");
                return;
            }
        };
        let origin = Instant::now();
        let mut samples = Vec::with_capacity(6 * FRAME);
        loop {
            let deadline = receiver.deadline().map(|deadline| origin + deadline);
            tokio::select! {
                event = track.poll() => match event {
                    Some(TrackRemoteEvent::OnRtpPacket(packet)) => {
                        let (header, now) = (&packet.header, origin.elapsed());
                        let (sequence, timestamp) = (header.sequence_number, header.timestamp);
                        receiver.push(sequence, timestamp, packet.payload, now, &mut samples);
                    }
                    Some(TrackRemoteEvent::OnEnded) | None => break,
                    Some(_) => {}
                },
                () = sleep_until(deadline) => {
                    receiver.handle_timeout(origin.elapsed(), &mut samples);
                }
            }
            self.write(&receiver, &mut samples);
        }
    }

    fn write(&self, receiver: &Receiver, samples: &mut Vec<f32>) {
        *self.0.stats.lock() = receiver.stats();
        self.0
            .depth
            .store(receiver.depth().into(), Ordering::Relaxed);
        if samples.is_empty() {
            return;
        }
        let written = self.0.ring.lock().push_slice(samples);
        let dropped = u64::try_from(samples.len() - written).unwrap_or(0);
        self.0.dropped.fetch_add(dropped, Ordering::Relaxed);
        samples.clear();
        self.0.filled.notify_one();
    }
}

impl Frames {
    /// The next frame, if one is whole.
    pub(super) fn pop(&mut self) -> Option<[f32; FRAME]> {
        if self.ring.occupied_len() < FRAME {
            return None;
        }
        let mut frame = [0.0; FRAME];
        self.ring.pop_slice(&mut frame);
        Some(frame)
    }

    /// Returns when there may be one.
    pub(super) fn filled(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move { shared.filled.notified().await }
    }

    pub(super) fn stats(&self) -> packet::Stats {
        *self.shared.stats.lock()
    }

    /// Samples held back behind a hole now.
    pub(super) fn depth(&self) -> u64 {
        self.shared.depth.load(Ordering::Relaxed)
    }

    /// Samples that nobody took in time.
    pub(super) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
