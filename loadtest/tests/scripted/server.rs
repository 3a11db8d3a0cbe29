//! A speech server that does as the test says: each request is answered by a script, and what was
//! really sent when is kept, so that a test on a busy machine compares with what happened.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use loadtest::clock::Clock;
use loadtest::trace::Chunk;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// Samples per second of all audio here.
pub(crate) const RATE: u32 = 8000;

/// How one request is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Script {
    /// Chunks of `audio` each, the first after `first`, the others `every` apart.
    Speak {
        first: Duration,
        audio: Duration,
        every: Duration,
        chunks: u32,
        end: End,
    },
    /// A status with a JSON error.
    Status(u16),
}

/// How a spoken answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As the protocol says, with the model's time.
    Well,
    /// The connection is cut in the middle.
    Cut,
}

/// What a server saw.
#[derive(Default)]
pub(crate) struct Seen {
    /// Requests for speech so far.
    pub(crate) requests: AtomicUsize,
    /// Requests being answered.
    pub(crate) open: AtomicUsize,
    /// The most of them at once.
    pub(crate) most_open: AtomicUsize,
    /// Clients that were gone before the end.
    pub(crate) vanished: AtomicUsize,
    /// What was sent, a list a stream.
    pub(crate) sent: Mutex<Vec<Vec<Chunk>>>,
    /// The texts that were asked for.
    pub(crate) texts: Mutex<Vec<String>>,
}

/// A server on a port of its own; ends with the test's runtime.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
}

type Plan = dyn Fn(usize, &Seen) -> Script + Send + Sync;

impl Server {
    /// Answers request `index` by `plan(index, seen)`.
    pub(crate) async fn start(
        plan: impl Fn(usize, &Seen) -> Script + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let (plan, shared) = (Arc::new(plan) as Arc<Plan>, Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio::spawn(serve(stream, Arc::clone(&plan), Arc::clone(&shared)));
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) async fn idle(&self) {
        while self.seen.open.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn serve(mut stream: TcpStream, plan: Arc<Plan>, seen: Arc<Seen>) {
    let mut head = [0u8; 4096];
    // A WebSocket's request must stay unread for its own handshake.
    let Ok(length) = stream.peek(&mut head).await else {
        return;
    };
    let start = String::from_utf8_lossy(&head[..length]).into_owned();
    if start.starts_with("GET /v1/audio/speech/stream") {
        return serve_socket(stream, plan, seen).await;
    }
    if start.starts_with("GET /metrics") {
        let _ = stream.write_all(metrics(&seen).as_bytes()).await;
        return;
    }
    let Some(body) = read_body(&mut stream).await else {
        return;
    };
    seen.texts
        .lock()
        .push(body["input"].as_str().unwrap_or_default().to_owned());
    let script = begin(&plan, &seen);
    let sent = answer(&mut stream, script, &seen).await;
    seen.open.fetch_sub(1, Ordering::SeqCst);
    if sent.is_none() {
        seen.vanished.fetch_add(1, Ordering::SeqCst);
    }
}

fn begin(plan: &Arc<Plan>, seen: &Seen) -> Script {
    let open = seen.open.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most_open.fetch_max(open, Ordering::SeqCst);
    plan(seen.requests.fetch_add(1, Ordering::SeqCst), seen)
}

/// A histogram in which every first chunk took between one and two milliseconds.
fn metrics(seen: &Seen) -> String {
    let n = seen.requests.load(Ordering::SeqCst);
    let body = format!(
        "wait_seconds_bucket{{le=\"0.001\"}} 0\nwait_seconds_bucket{{le=\"0.002\"}} {n}\n\
         wait_seconds_bucket{{le=\"+Inf\"}} {n}\nold_seconds{{quantile=\"0.5\"}} 1\n"
    );
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

async fn read_body(stream: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    loop {
        let mut more = [0u8; 4096];
        let count = stream.read(&mut more).await.ok()?;
        bytes.extend_from_slice(&more[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1)?.lines().next()?;
            if body.len() >= length.parse().ok()? {
                return serde_json::from_str(body).ok();
            }
        }
        if count == 0 {
            return None;
        }
    }
}

/// `None` when the client was gone.
async fn answer(stream: &mut TcpStream, script: Script, seen: &Seen) -> Option<()> {
    let Script::Speak {
        first,
        audio,
        every,
        chunks,
        end,
    } = script
    else {
        let Script::Status(status) = script else {
            unreachable!()
        };
        let body = r#"{"error":{"message":"no such voice"}}"#;
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Said So\r\ncontent-length: {length}\r\n\r\n");
        return stream.write_all((head + body).as_bytes()).await.ok();
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: audio/wav\r\ntransfer-encoding: chunked\r\n\
                trailer: server-timing\r\n\r\n";
    stream.write_all(head.as_bytes()).await.ok()?;
    write_chunk(stream, &wav_head()).await?;
    let clock = Clock::start();
    let mut sent = Vec::new();
    for index in 0..chunks {
        clock.sleep_until(first + every * index).await;
        let (samples, bytes) = sound(audio);
        sent.push(Chunk {
            at: clock.now(),
            samples,
        });
        write_chunk(stream, &bytes).await?;
    }
    seen.sent.lock().push(sent);
    if end == End::Well {
        let trailer = b"0\r\nserver-timing: model;dur=250\r\n\r\n";
        stream.write_all(trailer).await.ok()?;
    }
    stream.shutdown().await.ok()
}

async fn write_chunk(stream: &mut TcpStream, bytes: &[u8]) -> Option<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk).await.ok()
}

fn wav_head() -> Vec<u8> {
    let mut bytes = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    bytes.extend(RATE.to_le_bytes());
    bytes.extend((RATE * 2).to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data\xff\xff\xff\xff");
    bytes
}

/// Audible samples, and their bytes.
fn sound(audio: Duration) -> (u64, Vec<u8>) {
    let samples = u64::try_from(audio.as_millis()).unwrap() * u64::from(RATE) / 1000;
    (
        samples,
        [0x00, 0x20].repeat(usize::try_from(samples).unwrap()),
    )
}

async fn serve_socket(stream: TcpStream, plan: Arc<Plan>, seen: Arc<Seen>) {
    let Ok(mut socket) = accept_async(stream).await else {
        return;
    };
    let mut configured = false;
    let mut text = String::new();
    while let Some(Ok(message)) = socket.next().await {
        let Ok(words) = message.to_text() else {
            continue;
        };
        let Ok(event) = serde_json::from_str::<Value>(words) else {
            continue;
        };
        match event["type"].as_str() {
            Some("session.config") => configured = event["response_format"] == "pcm",
            Some("input.text") => text += event["text"].as_str().unwrap(),
            Some("input.done") if configured => break,
            _ => {}
        }
    }
    if text.is_empty() {
        return;
    }
    seen.texts.lock().push(text);
    let script = begin(&plan, &seen);
    let _ = answer_socket(&mut socket, script).await;
    seen.open.fetch_sub(1, Ordering::SeqCst);
}

async fn answer_socket(
    socket: &mut tokio_tungstenite::WebSocketStream<TcpStream>,
    script: Script,
) -> Option<()> {
    let say = |event: Value| Message::Text(event.to_string().into());
    let Script::Speak {
        first,
        audio,
        every,
        chunks,
        end,
    } = script
    else {
        let full = json!({"type": "error", "error": {"code": "overloaded", "message": "full"}});
        return socket.send(say(full)).await.ok();
    };
    let start = json!({"type": "audio.start", "format": "pcm", "sample_rate": RATE});
    socket.send(say(start)).await.ok()?;
    let clock = Clock::start();
    for index in 0..chunks {
        clock.sleep_until(first + every * index).await;
        socket
            .send(Message::Binary(sound(audio).1.into()))
            .await
            .ok()?;
    }
    if end == End::Well {
        let done = json!({"type": "audio.done", "error": false});
        socket.send(say(done)).await.ok()?;
        socket
            .send(say(
                json!({"type": "session.done", "rtf": 0.25, "audio_seconds": 1.0}),
            ))
            .await
            .ok()?;
    }
    socket.close(None).await.ok()
}
