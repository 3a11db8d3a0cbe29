//! Has the engine do what a session wants, and brings back what comes of it.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use engine::{Engine, Feed, Job, Options, Output, Outputs, Sound, Value};
use futures_core::Stream;
use session::realtime::{
    Command, Event, ReplyEvent, ReplyId, Request, Session, TranscriptionId, TurnId,
};
use session::{Fault, Kind};

use super::reply::{self, Reply};
use super::roles::Roles;
use crate::app::App;
use crate::auth::Caller;
use crate::bridge;

/// Samples per second of what listens.
const RATE: u32 = 16_000;

/// Samples that may wait for who listens: 4 s. It takes a hundredth of that time; if more wait,
/// something is wrong with it.
const BACKLOG: usize = 4 * RATE as usize;

/// Who works for one session.
pub(crate) struct Brain {
    app: Arc<App>,
    engine: Engine,
    caller: Caller,
    roles: Roles,
    listener: Option<Listener>,
    judgements: BTreeMap<TurnId, Outputs>,
    transcriptions: BTreeMap<TranscriptionId, Outputs>,
    replies: BTreeMap<ReplyId, Reply>,
    /// What could not be begun.
    refused: VecDeque<News>,
}

/// Tells speech from silence as long as the session lasts.
struct Listener {
    feed: Feed,
    outputs: Outputs,
    waiting: VecDeque<f32>,
}

/// What came of something.
pub(crate) enum News {
    Voice(f32),
    VoiceFailed(Fault),
    Turn(TurnId, f32),
    Transcript(TranscriptionId, Arc<str>),
    TranscriptDone(TranscriptionId),
    TranscriptFailed(TranscriptionId, Fault),
    Reply(ReplyId, reply::News),
}

impl Brain {
    pub(crate) fn new(app: Arc<App>, engine: Engine, caller: Caller, roles: Roles) -> Self {
        Self {
            app,
            engine,
            caller,
            roles,
            listener: None,
            judgements: BTreeMap::new(),
            transcriptions: BTreeMap::new(),
            replies: BTreeMap::new(),
            refused: VecDeque::new(),
        }
    }

    /// Begins, or ends, what a command says.
    pub(crate) fn execute(&mut self, command: Command) {
        match command {
            Command::Listen(samples) => self.listen(&samples),
            Command::JudgeTurn { id, audio } => self.judge(id, audio),
            Command::Transcribe {
                id,
                audio,
                language,
                ..
            } => match self.transcribe(audio, language) {
                Ok(outputs) => {
                    self.transcriptions.insert(id, outputs);
                }
                Err(fault) => self.refused.push_back(News::TranscriptFailed(id, fault)),
            },
            Command::CancelTranscription { id } => {
                self.transcriptions.remove(&id);
            }
            Command::Reply { id, request } => match self.reply(&request) {
                Ok(reply) => {
                    self.replies.insert(id, reply);
                }
                Err(fault) => {
                    let news = News::Reply(id, reply::News::Failed(fault));
                    self.refused.push_back(news);
                }
            },
            Command::CancelReply { id } => {
                self.replies.remove(&id);
            }
            // A reply is made as fast as it can be, wanted or not.
            _ => {}
        }
    }

    /// Ends everything.
    pub(crate) fn clear(&mut self) {
        self.listener = None;
        self.judgements.clear();
        self.transcriptions.clear();
        self.replies.clear();
        self.refused.clear();
    }

    fn listen(&mut self, samples: &[f32]) {
        if self.listener.is_none() {
            match self.open_listener() {
                Ok(listener) => self.listener = Some(listener),
                Err(fault) => return self.refused.push_back(News::VoiceFailed(fault)),
            }
        }
        let Some(listener) = &mut self.listener else {
            return;
        };
        listener.waiting.extend(samples);
        if let Err(fault) = listener.give() {
            self.listener = None;
            self.refused.push_back(News::VoiceFailed(fault));
        }
    }

    fn open_listener(&self) -> Result<Listener, Fault> {
        let model = role(self.roles.listener.as_ref(), "tells speech from silence")?;
        let job = Job {
            model,
            ..Job::default()
        };
        let handle = self
            .engine
            .submit(job)
            .map_err(|error| bridge::fault(&error))?;
        Ok(Listener {
            feed: handle.feed,
            outputs: handle.outputs,
            waiting: VecDeque::new(),
        })
    }

    fn judge(&mut self, id: TurnId, audio: Arc<[f32]>) {
        // Without an opinion the turn is as likely over as not: a second of silence, or so, decides.
        let Some(model) = self.roles.judge.clone() else {
            return self.refused.push_back(News::Turn(id, 0.5));
        };
        let job = recording(model, audio);
        match self.engine.submit(job) {
            Ok(handle) => {
                self.judgements.insert(id, handle.outputs);
            }
            Err(error) => tracing::debug!(%error, "a turn was not judged"),
        }
    }

    fn transcribe(&self, audio: Arc<[f32]>, language: Option<String>) -> Result<Outputs, Fault> {
        let model = role(self.roles.recogniser.as_ref(), "writes down what is said")?;
        let mut job = recording(model, audio);
        if let Some(language) = language {
            job.options
                .extra
                .insert("language".into(), Value::Text(language));
        }
        let handle = self.engine.submit(job);
        handle
            .map(|handle| handle.outputs)
            .map_err(|error| bridge::fault(&error))
    }

    fn reply(&self, request: &Request) -> Result<Reply, Fault> {
        let admitted = self.app.admission.stream(self.caller.key)?;
        Reply::begin(&self.engine, &self.roles, request, admitted)
    }

    /// What comes next. Of a reply only if the session wants to hear of it.
    pub(crate) async fn next(&mut self, session: &Session) -> News {
        poll_fn(|context| self.poll(context, session)).await
    }

    fn poll(&mut self, context: &mut Context<'_>, session: &Session) -> Poll<News> {
        if let Some(news) = self.refused.pop_front() {
            return Poll::Ready(news);
        }
        if let Some(news) = self.poll_listener(context) {
            return Poll::Ready(news);
        }
        if let Some(news) = self.poll_judgements(context) {
            return Poll::Ready(news);
        }
        if let Some(news) = self.poll_transcriptions(context) {
            return Poll::Ready(news);
        }
        for (&id, reply) in &mut self.replies {
            if let Poll::Ready(news) = reply.poll(context, session.wants(id)) {
                if matches!(news, reply::News::Done { .. } | reply::News::Failed(_)) {
                    self.replies.remove(&id);
                }
                return Poll::Ready(News::Reply(id, news));
            }
        }
        Poll::Pending
    }

    fn poll_listener(&mut self, context: &mut Context<'_>) -> Option<News> {
        let listener = self.listener.as_mut()?;
        let fault = match next_output(&mut listener.outputs, context)? {
            Output::Scalar { value, .. } => match listener.give() {
                Ok(()) => return Some(News::Voice(value)),
                Err(fault) => fault,
            },
            Output::Failed(error) => bridge::fault(&error),
            _ => ended(),
        };
        self.listener = None;
        Some(News::VoiceFailed(fault))
    }

    fn poll_judgements(&mut self, context: &mut Context<'_>) -> Option<News> {
        let mut found = None;
        self.judgements.retain(|&id, outputs| {
            if found.is_some() {
                return true;
            }
            match next_output(outputs, context) {
                None => true,
                Some(Output::Scalar { value, .. }) => {
                    found = Some(News::Turn(id, value));
                    false
                }
                Some(Output::Failed(error)) => {
                    tracing::debug!(%error, "a turn was not judged");
                    false
                }
                Some(_) => false,
            }
        });
        found
    }

    fn poll_transcriptions(&mut self, context: &mut Context<'_>) -> Option<News> {
        for (&id, outputs) in &mut self.transcriptions {
            loop {
                let news = match next_output(outputs, context) {
                    None => break,
                    Some(Output::Text { text, .. }) => {
                        return Some(News::Transcript(id, text));
                    }
                    Some(Output::Done { .. }) => News::TranscriptDone(id),
                    Some(Output::Failed(error)) => {
                        News::TranscriptFailed(id, bridge::fault(&error))
                    }
                    Some(_) => continue,
                };
                self.transcriptions.remove(&id);
                return Some(news);
            }
        }
        None
    }

    /// Tells the session.
    pub(crate) fn tell(&self, news: &News, session: &mut Session, now: std::time::Duration) {
        let event = match news {
            News::Voice(probability) => Event::Voice {
                probability: *probability,
            },
            News::VoiceFailed(fault) => Event::VoiceFailed(fault.clone()),
            News::Turn(id, complete) => Event::Turn {
                id: *id,
                complete: *complete,
            },
            News::Transcript(id, text) => Event::Transcript {
                id: *id,
                text,
                last: false,
            },
            News::TranscriptDone(id) => Event::Transcript {
                id: *id,
                text: "",
                last: true,
            },
            News::TranscriptFailed(id, fault) => Event::TranscriptFailed {
                id: *id,
                fault: fault.clone(),
            },
            News::Reply(id, news) => Event::Reply {
                id: *id,
                event: reply_event(news),
            },
        };
        session.handle(event, now);
    }
}

fn reply_event(news: &reply::News) -> ReplyEvent<'_> {
    let event = match news {
        reply::News::Text(text) => Ok(ReplyEvent::Text(text)),
        reply::News::Audio { samples, rate } => {
            bridge::rate_of(*rate).map(|rate| ReplyEvent::Audio { samples, rate })
        }
        reply::News::Words { words, rate } => {
            bridge::rate_of(*rate).map(|rate| ReplyEvent::Words {
                words: words.iter().map(bridge::place).collect(),
                rate,
            })
        }
        reply::News::Done { finish, usage } => Ok(ReplyEvent::Done {
            finish: *finish,
            usage: *usage,
        }),
        reply::News::Failed(fault) => Err(fault.clone()),
    };
    event.unwrap_or_else(ReplyEvent::Failed)
}

impl Listener {
    /// Hands on what waits, as far as there is room.
    fn give(&mut self) -> Result<(), Fault> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let taken = self.feed.audio(self.waiting.make_contiguous());
        let taken = taken.map_err(|error| {
            let message = format!("Nothing listens any more: {error}.");
            Fault::new(Kind::Internal, "listening_ended", message)
        })?;
        self.waiting.drain(..taken.0);
        if self.waiting.len() > BACKLOG {
            let message = "The server cannot keep up with what it hears.";
            return Err(Fault::new(Kind::Unavailable, "overloaded", message));
        }
        Ok(())
    }
}

/// The next output; none if there is none yet.
fn next_output(outputs: &mut Outputs, context: &mut Context<'_>) -> Option<Output> {
    match Pin::new(outputs).poll_next(context) {
        Poll::Pending => None,
        Poll::Ready(Some(output)) => Some(output),
        Poll::Ready(None) => Some(Output::Failed(engine::RequestError::Cancelled.into())),
    }
}

fn recording(model: String, samples: Arc<[f32]>) -> Job {
    Job {
        model,
        options: Options {
            audio: Some(Sound {
                samples,
                rate: RATE,
            }),
            ..Options::default()
        },
    }
}

fn role(model: Option<&String>, what: &str) -> Result<String, Fault> {
    model.cloned().ok_or_else(|| {
        let message = format!("No model here {what}; serve one, such as those of 'voice-chat'.");
        Fault::new(Kind::NotFound, "no_such_model", message)
    })
}

fn ended() -> Fault {
    Fault::new(
        Kind::Internal,
        "listening_ended",
        "Nothing listens any more.",
    )
}
