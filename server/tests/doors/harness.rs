//! A server in this process, and a client that sees bytes.

use std::time::Duration;

use serde_json::{Value, json};
use server::{Config, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What any one thing may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server with the toy models on a port of its own: `toy` speaks, `toy-chat` converses,
/// `toy-failing` does so for two words, `toy-scribe` and `toy-vad` hear.
pub(crate) async fn serve(change: impl FnOnce(&mut Config)) -> Server {
    serve_costing(Duration::ZERO, change).await
}

/// As [`serve`], with steps that take their time.
pub(crate) async fn serve_costing(cost: Duration, change: impl FnOnce(&mut Config)) -> Server {
    let mut config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        models: vec!["toy".into()],
        ..Config::default()
    };
    change(&mut config);
    let mut engine = server::engine_config(&config).unwrap();
    let toy = engine::toy::Config {
        step_cost: cost,
        ..engine::toy::Config::default()
    };
    let chat = |id: &str, fail_at| engine::toy::chat::Config {
        id: id.to_owned(),
        step_cost: cost,
        context: 100_000,
        fail_at,
        ..engine::toy::chat::Config::default()
    };
    engine.models = vec![
        engine::ModelConfig::Toy(toy),
        engine::ModelConfig::ToyChat(chat("toy-chat", None)),
        engine::ModelConfig::ToyChat(chat("toy-failing", Some(2))),
        engine::ModelConfig::ToyScribe,
        engine::ModelConfig::ToyEar,
    ];
    let mut server = Server::start_with(config, engine).await.unwrap();
    server.ready().await.unwrap();
    server
}

/// A request that is answered with audio.
pub(crate) fn good() -> Value {
    json!({"model": "toy", "input": "Hello there.", "voice": "alloy", "response_format": "pcm", "seed": 7})
}

/// `good` with other or further fields; null takes one out.
pub(crate) fn changed(change: &Value) -> Value {
    let mut body = good();
    for (name, value) in change.as_object().unwrap() {
        if value.is_null() {
            body.as_object_mut().unwrap().remove(name);
        } else {
            body[name] = value.clone();
        }
    }
    body
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the body ended as its head said, and not with the connection.
    pub(crate) whole: bool,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// Sends bytes on a connection of its own and reads the answer to its end.
pub(crate) async fn exchange(server: &Server, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request).await.unwrap();
    tokio::time::timeout(PATIENCE, read_answer(&mut stream))
        .await
        .expect("an answer in time")
}

/// Reads an answer; a connection that ends early ends it.
pub(crate) async fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut block = vec![0; 64 * 1024];
    loop {
        if let Some(answer) = parse(&bytes, false) {
            return answer;
        }
        match stream.read(&mut block).await {
            Ok(0) | Err(_) => return parse(&bytes, true).expect("at least a head"),
            Ok(count) => bytes.extend_from_slice(&block[..count]),
        }
    }
}

fn parse(bytes: &[u8], ended: bool) -> Option<Answer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut answer = Answer {
        status,
        head,
        body: Vec::new(),
        whole: true,
    };
    let rest = &bytes[end + 4..];
    if answer.header("transfer-encoding") == Some("chunked") {
        let (body, whole) = unchunk(rest);
        answer.body = body;
        answer.whole = whole;
        return (whole || ended).then_some(answer);
    }
    let length: usize = answer
        .header("content-length")
        .map_or(0, |value| value.parse().unwrap());
    answer.body = rest[..rest.len().min(length)].to_vec();
    answer.whole = rest.len() >= length;
    (answer.whole || ended).then_some(answer)
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|window| window == b"\r\n") else {
            return (body, false);
        };
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        rest = &rest[end + 2..];
        if size == 0 {
            return (body, true);
        }
        if rest.len() < size + 2 {
            body.extend_from_slice(&rest[..rest.len().min(size)]);
            return (body, false);
        }
        body.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
}

/// A whole request with a JSON body.
pub(crate) fn post(body: &[u8]) -> Vec<u8> {
    post_with("content-type: application/json\r\n", body)
}

/// As [`post`], with other header lines.
pub(crate) fn post_with(headers: &str, body: &[u8]) -> Vec<u8> {
    post_to("/v1/audio/speech", headers, body)
}

/// As [`post_with`], to another door.
pub(crate) fn post_to(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut request =
        format!("POST {path} HTTP/1.1\r\nhost: test\r\n{headers}content-length: {length}\r\n\r\n")
            .into_bytes();
    request.extend_from_slice(body);
    request
}

pub(crate) async fn speak(server: &Server, body: &Value) -> Answer {
    exchange(server, &post(body.to_string().as_bytes())).await
}

pub(crate) async fn get(server: &Server, path: &str) -> Answer {
    get_with(server, path, "").await
}

pub(crate) async fn get_with(server: &Server, path: &str, headers: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\n{headers}\r\n");
    exchange(server, request.as_bytes()).await
}

/// The value of a metric, by its name and labels; 0 when it is not there.
pub(crate) async fn metric(server: &Server, name: &str) -> f64 {
    let text = String::from_utf8(get(server, "/metrics").await.body).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

/// Waits until everything that was begun is over.
pub(crate) async fn at_rest(server: &Server) {
    let gauges = [
        "promenade_streams_active{door=\"http\"}",
        "promenade_streams_active{door=\"sse\"}",
        "promenade_streams_active{door=\"ws\"}",
        "promenade_chat_answers_active{model=\"toy-chat\"}",
        "promenade_chat_answers_active{model=\"toy-failing\"}",
        "promenade_sockets_active",
        "promenade_calls_active",
        "promenade_requests_open",
        "promenade_engine_worker_requests{worker=\"0\"}",
        "promenade_engine_buffered_items{worker=\"0\"}",
        "promenade_engine_states{worker=\"0\"}",
    ];
    let mut held = Vec::new();
    let settled = async {
        loop {
            held.clear();
            for gauge in gauges {
                let value = metric(server, gauge).await;
                if value != 0.0 {
                    held.push((gauge, value));
                }
            }
            if held.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, settled).await.is_ok();
    assert!(in_time, "not at rest: {held:?}");
}
