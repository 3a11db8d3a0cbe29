//! A session with a client, a microphone and models that do what the test says, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codecs::SampleRate;
use serde_json::{Value, json};
use session::catalog::{Model, Task};
use session::realtime::{
    Body, Command, Config, Event, Finish, PACKET, ReplyEvent, ReplyId, Request, Session,
    TranscriptionId, Transport, TurnId, Usage, Word,
};
use session::{Catalog, Fault};

/// Samples of a millisecond at 24 kHz.
const MS: usize = 24;
/// What the microphone hands over at a time, in milliseconds.
const CHUNK: u64 = 20;

/// What a model will say when its time has come.
#[derive(Debug, Clone)]
pub(crate) enum News {
    Transcript(TranscriptionId, String),
    TranscriptFailed(TranscriptionId, Fault),
    Turn(TurnId, f32),
    Reply(ReplyId, Piece),
}

/// One piece of a reply.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Text(&'static str),
    /// Milliseconds of a tone.
    Audio(u64),
    /// Milliseconds of something like speech.
    Voice(u64),
    /// Words, each with its characters and its milliseconds.
    Words(Vec<(std::ops::Range<u64>, std::ops::Range<u64>)>),
    Call {
        id: &'static str,
        name: &'static str,
        arguments: &'static str,
        last: bool,
    },
    Done,
    Failed(Fault),
}

/// How the models are, until the test says otherwise.
pub(crate) struct Models {
    /// From a question to its answer.
    pub(crate) transcribing: Duration,
    pub(crate) judging: Duration,
    /// What is heard, the next first; the last one stays.
    pub(crate) said: Vec<Result<&'static str, Fault>>,
    /// How loud is speech, on average.
    pub(crate) loud: f32,
    /// Whoever listens has stopped answering.
    pub(crate) deaf: bool,
    /// How complete turns sound.
    pub(crate) complete: f32,
    /// What is answered: when after the request, and what.
    pub(crate) reply: Vec<(u64, Piece)>,
}

/// A pitch that moves, with harmonics, in syllables: -1 to 1.
#[expect(clippy::cast_precision_loss, reason = "samples of a test")]
pub(crate) fn voice(samples: usize, pitch: f32) -> Vec<f32> {
    let mut phase = 0.0;
    let sample = |n: usize| {
        let t = n as f32 / 24_000.0;
        phase += pitch * (1.0 + 0.2 * (5.0 * t + pitch).sin()) / 24_000.0;
        let syllable = 0.6 - 0.4 * (std::f32::consts::TAU * (2.0 + pitch / 90.0) * t).cos();
        let harmonics = (1..12_u8).map(f32::from).map(|k| {
            let loud = (1.0 + (k * 2.0 + 7.0 * t + pitch).sin()) / k;
            loud * (std::f32::consts::TAU * k * phase).sin()
        });
        (syllable * harmonics.sum::<f32>()).clamp(-1.0, 1.0)
    };
    (0..samples).map(sample).collect()
}

/// Two words within one second.
pub(crate) fn short_reply() -> Vec<(u64, Piece)> {
    vec![
        (40, Piece::Text("Alpha ")),
        (50, Piece::Text("bravo.")),
        (90, Piece::Audio(500)),
        (90, Piece::Words(vec![(0..5, 0..480), (6..12, 500..980)])),
        (120, Piece::Audio(500)),
        (130, Piece::Done),
    ]
}

pub(crate) struct Stage {
    pub(crate) session: Session,
    pub(crate) now: Duration,
    pub(crate) models: Models,
    /// What the client has received and not yet looked at.
    pub(crate) received: Vec<Value>,
    pub(crate) closed: Option<u16>,
    /// What the models were asked, audio left out.
    pub(crate) requests: Vec<(ReplyId, Request)>,
    pub(crate) committed: Vec<ReplyId>,
    pub(crate) cancelled: Vec<ReplyId>,
    pub(crate) transcriptions: usize,
    /// Samples that left, silence included: by `poll_packet`, or in events, as if a client played
    /// them as they arrive.
    pub(crate) played: Vec<f32>,
    due: BTreeMap<(Duration, u64), News>,
    counter: u64,
    live: BTreeSet<ReplyId>,
    packets: Option<Duration>,
    invariants: Invariants,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(Arc::new(Catalog {
            models: vec![Model {
                id: "toy".into(),
                voices: vec!["sine".into(), "square".into()],
                default_voice: Some("sine".into()),
                task: Task::Speech,
            }],
        }));
        change(&mut config);
        let packets = (config.transport == Transport::WebRtc).then_some(Duration::ZERO);
        let mut stage = Self {
            session: Session::new(config, Duration::ZERO),
            now: Duration::ZERO,
            models: Models {
                transcribing: Duration::from_millis(60),
                judging: Duration::from_millis(20),
                said: vec![Ok("Hello there.")],
                loud: 0.1,
                deaf: false,
                complete: 1.0,
                reply: short_reply(),
            },
            received: Vec::new(),
            closed: None,
            requests: Vec::new(),
            committed: Vec::new(),
            cancelled: Vec::new(),
            transcriptions: 0,
            played: Vec::new(),
            due: BTreeMap::new(),
            counter: 0,
            live: BTreeSet::new(),
            packets,
            invariants: Invariants::default(),
        };
        stage.pump();
        stage
    }

    /// The client sends an event.
    pub(crate) fn send(&mut self, event: Value) {
        self.session.handle_text(&event.to_string(), self.now);
        self.pump();
    }

    /// `session.update`, which must be accepted.
    pub(crate) fn update(&mut self, mut session: Value) {
        session["type"] = json!("realtime");
        self.received.clear();
        self.send(json!({"type": "session.update", "session": session}));
        assert_eq!(self.types(), ["session.updated"], "{:?}", self.received);
        self.received.clear();
    }

    /// The user talks for so many milliseconds.
    pub(crate) fn talk(&mut self, ms: u64) {
        self.microphone(ms, 0.5);
    }

    /// The microphone hears nothing for so many milliseconds.
    pub(crate) fn hush(&mut self, ms: u64) {
        self.microphone(ms, 0.0);
    }

    fn microphone(&mut self, ms: u64, level: f32) {
        for _ in 0..ms / CHUNK {
            self.pass(CHUNK);
            self.hear(CHUNK, level);
        }
    }

    /// For so many milliseconds the microphone hears what is played, so much later, so much softer
    /// (dB), and besides what the user says.
    pub(crate) fn echo(&mut self, ms: u64, delay: u64, db: f32, user: &[f32]) {
        let chunk = usize::try_from(CHUNK).unwrap() * MS;
        let delay = usize::try_from(delay).unwrap() * MS;
        for n in 0..usize::try_from(ms / CHUNK).unwrap() {
            self.pass(CHUNK);
            let end = usize::try_from(self.now.as_millis()).unwrap() * MS;
            let samples = (0..chunk).map(|index| {
                let at = (end - chunk + index).checked_sub(delay);
                let echo = at.and_then(|at| self.played.get(at)).copied();
                let user = user.get(n * chunk + index).copied();
                echo.unwrap_or(0.0) * 10_f32.powf(db / 20.0) + user.unwrap_or(0.0)
            });
            let samples: Vec<f32> = samples.collect();
            self.hear_samples(&samples);
        }
    }

    /// So much audio arrives at once.
    pub(crate) fn hear(&mut self, ms: u64, level: f32) {
        let samples = usize::try_from(ms).unwrap() * MS;
        self.hear_samples(&vec![level; samples]);
    }

    fn hear_samples(&mut self, samples: &[f32]) {
        if self.packets.is_some() {
            self.session.handle_microphone(samples, self.now);
        } else {
            #[expect(clippy::cast_possible_truncation, reason = "samples of -1 to 1")]
            let pcm = |sample: &f32| ((sample * 32767.0) as i16).to_le_bytes();
            let bytes: Vec<u8> = samples.iter().flat_map(pcm).collect();
            let audio = STANDARD.encode(bytes);
            let event = json!({"type": "input_audio_buffer.append", "audio": audio});
            self.session.handle_text(&event.to_string(), self.now);
        }
        self.pump();
    }

    /// Time passes, with all that happens in it.
    pub(crate) fn pass(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        loop {
            let news = self.due.keys().next().map(|(at, _)| *at);
            let next = [self.session.poll_deadline(), news, self.packets]
                .into_iter()
                .flatten()
                .min()
                .filter(|at| *at <= until);
            let Some(at) = next else { break };
            self.now = self.now.max(at);
            if self.packets.is_some_and(|at| at <= self.now) {
                let packet = self.session.poll_packet(self.now);
                self.played.extend(packet.unwrap_or([0.0; PACKET]));
                self.packets = self.packets.map(|at| at + Duration::from_millis(20));
            } else if news.is_some_and(|at| at <= self.now) {
                let (_, news) = self.due.pop_first().unwrap();
                self.tell(news);
            } else {
                self.session.handle_timeout(self.now);
                let next = self.session.poll_deadline();
                assert!(
                    next.is_none_or(|at| at > self.now),
                    "a deadline that passed stays"
                );
            }
            self.pump();
        }
        self.now = until;
    }

    fn tell(&mut self, news: News) {
        let event = match &news {
            News::Transcript(id, text) => Event::Transcript {
                id: *id,
                text,
                last: true,
            },
            News::TranscriptFailed(id, fault) => Event::TranscriptFailed {
                id: *id,
                fault: fault.clone(),
            },
            News::Turn(id, complete) => Event::Turn {
                id: *id,
                complete: *complete,
            },
            News::Reply(id, piece) => {
                if !self.live.contains(id) {
                    return;
                }
                if !self.session.wants(*id) {
                    // Like an engine: it waits, and so does all that follows.
                    return self.schedule(10, news);
                }
                return self.tell_piece(*id, piece);
            }
        };
        self.session.handle(event, self.now);
    }

    fn tell_piece(&mut self, id: ReplyId, piece: &Piece) {
        let rate = SampleRate::HZ_24000;
        let tone;
        let event = match piece {
            Piece::Text(text) => ReplyEvent::Text(text),
            Piece::Audio(ms) => {
                tone = vec![0.25; usize::try_from(*ms).unwrap() * MS];
                ReplyEvent::Audio {
                    samples: &tone,
                    rate,
                }
            }
            Piece::Voice(ms) => {
                tone = voice(usize::try_from(*ms).unwrap() * MS, 110.0);
                ReplyEvent::Audio {
                    samples: &tone,
                    rate,
                }
            }
            Piece::Words(words) => ReplyEvent::Words {
                words: words
                    .iter()
                    .map(|(source, ms)| Word {
                        source: source.clone(),
                        samples: ms.start * 24..ms.end * 24,
                    })
                    .collect(),
                rate,
            },
            Piece::Call {
                id,
                name,
                arguments,
                last,
            } => ReplyEvent::ToolCall {
                call_id: id,
                name,
                arguments,
                last: *last,
            },
            Piece::Done => ReplyEvent::Done {
                finish: Finish::Stop,
                usage: Usage {
                    input_tokens: 20,
                    cached_tokens: 8,
                    output_tokens: 4,
                },
            },
            Piece::Failed(fault) => ReplyEvent::Failed(fault.clone()),
        };
        if matches!(piece, Piece::Done | Piece::Failed(_)) {
            self.live.remove(&id);
        }
        self.session.handle(Event::Reply { id, event }, self.now);
    }

    pub(crate) fn schedule(&mut self, ms: u64, news: News) {
        self.counter += 1;
        let at = self.now + Duration::from_millis(ms);
        self.due.insert((at, self.counter), news);
    }

    /// Has the session's wishes done, and reads its events.
    pub(crate) fn pump(&mut self) {
        loop {
            if let Some(command) = self.session.poll_command() {
                self.execute(command);
                continue;
            }
            let Some(frame) = self.session.poll_frame(self.now) else {
                break;
            };
            match frame.body {
                Body::Text(text) => {
                    let event: Value = serde_json::from_str(&text).unwrap();
                    self.invariants.check(&event);
                    self.play(&event);
                    self.received.push(event);
                }
                Body::Close { code, .. } => self.closed = Some(code),
            }
        }
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Listen(_) if self.models.deaf => {}
            Command::Listen(frames) => {
                for frame in frames.chunks(512) {
                    let level = frame.iter().map(|s| s.abs()).sum::<f32>() / 512.0;
                    let loud = level > self.models.loud;
                    let probability = if loud { 0.9 } else { 0.02 };
                    self.session.handle(Event::Voice { probability }, self.now);
                }
            }
            Command::JudgeTurn { id, audio } => {
                assert!(audio.len() <= 8 * 16_000);
                let ms = self.models.judging.as_millis();
                let news = News::Turn(id, self.models.complete);
                self.schedule(u64::try_from(ms).unwrap(), news);
            }
            Command::Transcribe { id, audio, .. } => {
                assert!(!audio.is_empty());
                self.transcriptions += 1;
                let said = if self.models.said.len() > 1 {
                    self.models.said.remove(0)
                } else {
                    self.models.said[0].clone()
                };
                let news = match said {
                    Ok(said) => News::Transcript(id, format!(" {said}")),
                    Err(fault) => News::TranscriptFailed(id, fault),
                };
                let ms = self.models.transcribing.as_millis();
                self.schedule(u64::try_from(ms).unwrap(), news);
            }
            Command::CancelTranscription { id } => self.due.retain(
                |_, news| !matches!(news, News::Transcript(of, _) | News::TranscriptFailed(of, _) if *of == id),
            ),
            Command::Reply { id, request } => {
                self.live.insert(id);
                self.requests.push((id, *request));
                for (ms, piece) in self.models.reply.clone() {
                    self.schedule(ms, News::Reply(id, piece));
                }
            }
            Command::CommitReply { id } => self.committed.push(id),
            Command::CancelReply { id } => {
                self.live.remove(&id);
                self.cancelled.push(id);
            }
            other => panic!("not expected: {other:?}"),
        }
    }

    /// A client plays audio as it arrives.
    fn play(&mut self, event: &Value) {
        if event["type"] != "response.output_audio.delta" {
            return;
        }
        let bytes = STANDARD.decode(event["delta"].as_str().unwrap()).unwrap();
        let now = usize::try_from(self.now.as_millis()).unwrap() * MS;
        self.played.resize(self.played.len().max(now), 0.0);
        let samples = bytes.chunks_exact(2);
        let samples = samples.map(|s| f32::from(i16::from_le_bytes([s[0], s[1]])) / 32_768.0);
        self.played.extend(samples);
    }

    /// The types of what was received.
    pub(crate) fn types(&self) -> Vec<&str> {
        let types = self.received.iter().map(|event| event["type"].as_str());
        types.map(Option::unwrap).collect()
    }

    /// The only event of a type among what was received.
    pub(crate) fn one(&self, kind: &str) -> &Value {
        let mut found = self.received.iter().filter(|e| e["type"] == kind);
        let first = found.next();
        let first = first.unwrap_or_else(|| panic!("no {kind} in {:?}", self.types()));
        assert!(found.next().is_none(), "{kind} twice in {:?}", self.types());
        first
    }

    /// What was received, gone from here.
    pub(crate) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.received)
    }

    /// Milliseconds of all audio deltas that were received.
    pub(crate) fn audio_ms(&self) -> usize {
        let bytes: usize = self
            .received
            .iter()
            .filter(|e| e["type"] == "response.output_audio.delta")
            .map(|e| STANDARD.decode(e["delta"].as_str().unwrap()).unwrap().len())
            .sum();
        bytes / 2 / MS
    }

    /// The texts of a request, each with who said it.
    pub(crate) fn told(&self, request: usize) -> Vec<(&'static str, &str)> {
        let messages = self.requests[request].1.messages.iter();
        messages.map(|m| (m.role.name(), m.text.as_str())).collect()
    }

    /// Nothing is left to do and nothing is being done.
    pub(crate) fn assert_quiet(&self) {
        self.invariants.assert_ended();
        assert!(self.live.is_empty(), "replies still run: {:?}", self.live);
    }
}

/// What holds in every story.
#[derive(Default)]
struct Invariants {
    seq: u64,
    ids: BTreeSet<String>,
    open: BTreeSet<String>,
    ended: BTreeSet<String>,
}

impl Invariants {
    fn check(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap();
        let id = event["event_id"].as_str().unwrap().to_owned();
        assert!(self.ids.insert(id), "an event's id repeats: {event}");
        if let Some(seq) = event["server_event_seq"].as_u64() {
            assert_eq!(seq, self.seq + 1, "{event}");
            self.seq = seq;
        }
        match kind {
            "response.created" => {
                let id = event["response"]["id"].as_str().unwrap().to_owned();
                assert!(self.open.insert(id), "{event}");
            }
            "response.done" => {
                let id = event["response"]["id"].as_str().unwrap().to_owned();
                assert!(self.open.remove(&id), "ends without a beginning: {event}");
                self.ended.insert(id);
            }
            _ if kind.starts_with("response.") => {
                let id = event["response_id"].as_str().unwrap();
                assert!(self.open.contains(id), "outside of its response: {event}");
            }
            _ => {}
        }
    }

    fn assert_ended(&self) {
        assert!(self.open.is_empty(), "not ended: {:?}", self.open);
    }
}
