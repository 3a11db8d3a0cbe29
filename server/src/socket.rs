//! What every WebSocket door needs: the upgrade, the way out, and how to close.

use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt, StreamExt};
use session::{Fault, Kind};
use tokio::time::Instant;

/// Sub-protocols that browsers offer to carry a key; the first one is answered.
const PROTOCOLS: [&str; 1] = ["realtime"];

/// How long the client may take to answer our closing.
const CLOSING: Duration = Duration::from_secs(1);

/// The upgrade that a request asks for.
///
/// # Errors
/// Where it asks for none, or not rightly.
pub(crate) fn upgrade(
    asked: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<WebSocketUpgrade, Fault> {
    let upgrade = asked.map_err(|error| {
        Fault::new(
            Kind::Invalid,
            "upgrade_required",
            format!("This is a WebSocket door; the upgrade is not right: {error}."),
        )
    })?;
    Ok(upgrade.protocols(PROTOCOLS))
}

/// The way out, and whether something is on it.
pub(crate) struct Out {
    sink: SplitSink<WebSocket, Message>,
    flushing: bool,
}

/// How far the way out has come.
#[derive(Clone, Copy)]
pub(crate) enum Progress {
    /// It takes a message.
    Ready,
    /// All messages are on their way.
    Flushed,
}

impl Out {
    pub(crate) fn new(sink: SplitSink<WebSocket, Message>) -> Self {
        Self {
            sink,
            flushing: false,
        }
    }

    /// Whether something has not been flushed yet.
    pub(crate) fn is_flushing(&self) -> bool {
        self.flushing
    }

    /// Flushes what was sent; then, if a message waits, becomes ready for it.
    pub(crate) async fn progress(&mut self, waits: bool) -> Result<Progress, axum::Error> {
        if !self.flushing && !waits {
            return pending().await;
        }
        let progress = poll_fn(|context| {
            let mut sink = Pin::new(&mut self.sink);
            if self.flushing {
                let flushed = sink.as_mut().poll_flush(context);
                return flushed.map_ok(|()| Progress::Flushed);
            }
            let ready = sink.as_mut().poll_ready(context);
            ready.map_ok(|()| Progress::Ready)
        })
        .await?;
        if matches!(progress, Progress::Flushed) {
            self.flushing = false;
        }
        Ok(progress)
    }

    /// Sends a message, once [`Progress::Ready`] has been said.
    pub(crate) fn send(&mut self, message: Message) -> Result<(), axum::Error> {
        Pin::new(&mut self.sink).start_send(message)?;
        self.flushing = true;
        Ok(())
    }

    /// Sends a last message, to a client that may be gone.
    pub(crate) async fn send_last(&mut self, message: Message) {
        let _ = tokio::time::timeout(CLOSING, self.sink.send(message)).await;
    }
}

/// Reads to the client's own close, so that its last frames do not reset the connection before it
/// has read ours.
pub(crate) async fn read_out(stream: &mut SplitStream<WebSocket>) {
    let goodbye = async { while let Some(Ok(_)) = stream.next().await {} };
    let _ = tokio::time::timeout(CLOSING, goodbye).await;
}

/// Returns at the deadline; never where there is none.
pub(crate) async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => pending().await,
    }
}

/// Whether the connection itself is lost, and not what came over it wrong.
pub(crate) fn is_lost(error: &axum::Error) -> bool {
    let text = error.to_string().to_lowercase();
    text.contains("io error") || text.contains("connection")
}

/// What to close with when the client's bytes make no sense, or are too many.
pub(crate) fn reason(error: &axum::Error) -> Message {
    let text = error.to_string().to_lowercase();
    if text.contains("too long") || text.contains("too big") {
        return close(1009, "message too big");
    }
    if text.contains("utf-8") {
        return close(1007, "text is not UTF-8");
    }
    close(1002, "protocol error")
}

pub(crate) fn close(code: u16, reason: &'static str) -> Message {
    Message::Close(Some(CloseFrame {
        code,
        reason: reason.into(),
    }))
}
