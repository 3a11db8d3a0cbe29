//! Closing: who is inside finishes, up to a limit.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::{connect_async, tungstenite::Message};

use crate::harness::{PATIENCE, changed, post, read_answer, serve_costing};

#[tokio::test]
async fn what_is_being_spoken_is_finished_and_nobody_else_comes_in() {
    let server = serve_costing(Duration::from_millis(5), |_| {}).await;
    let address = server.address();
    let mut inside = TcpStream::connect(address).await.unwrap();
    let text = "Some words. ".repeat(10);
    let body = changed(&json!({"input": text})).to_string();
    inside.write_all(&post(body.as_bytes())).await.unwrap();
    let mut first = [0; 1];
    inside.peek(&mut first).await.unwrap();
    let (socket, _) = connect_async(format!("ws://{address}/v1/audio/speech/stream"))
        .await
        .unwrap();
    let draining = tokio::spawn(server.drain());
    let answer = tokio::time::timeout(PATIENCE, read_answer(&mut inside))
        .await
        .unwrap();
    assert_eq!((answer.status, answer.whole), (200, true));
    assert_eq!(answer.body.len(), text.len() * 2880);
    let closed = tokio::time::timeout(PATIENCE, socket.into_future())
        .await
        .unwrap()
        .0;
    assert!(
        matches!(closed, Some(Ok(Message::Close(Some(frame)))) if u16::from(frame.code) == 1001)
    );
    tokio::time::timeout(PATIENCE, draining)
        .await
        .unwrap()
        .unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn what_does_not_finish_in_time_fails_and_does_not_look_whole() {
    let costing = Duration::from_millis(50);
    let server = serve_costing(costing, |config| config.limits.drain_seconds = 0.2).await;
    let body = changed(&json!({"input": "Some words. ".repeat(500)}));
    let events = changed(&json!({"input": "Some words. ".repeat(500), "stream_format": "sse"}));
    let mut streams = Vec::new();
    for body in [body, events] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream
            .write_all(&post(body.to_string().as_bytes()))
            .await
            .unwrap();
        let mut first = [0; 1];
        stream.peek(&mut first).await.unwrap();
        streams.push(stream);
    }
    tokio::time::timeout(PATIENCE, server.drain())
        .await
        .unwrap();
    let plain = read_answer(&mut streams[0]).await;
    assert_eq!((plain.status, plain.whole), (200, false));
    let mut events = String::new();
    let _ = streams[1].read_to_string(&mut events).await;
    let last = events.rsplit("data: ").next().unwrap();
    assert!(
        last.contains("speech.audio.error") && last.contains("server_closing"),
        "{last}"
    );
}
