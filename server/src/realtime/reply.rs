//! One reply as the engine makes it: a language model writes, and a voice speaks what is written
//! so far.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use engine::{Engine, Feed, FeedError, Finish, Handle, Job, Options, Output, Outputs, WordMark};
use futures_core::Stream;
use session::realtime::{self, Request, ToolChoice, Usage};
use session::{Fault, Kind};

use super::roles::Roles;
use crate::admission::Admitted;
use crate::bridge;

/// What a reply has to tell.
pub(super) enum News {
    /// The next text.
    Text(Arc<str>),
    /// The next samples.
    Audio { samples: Arc<[f32]>, rate: u32 },
    /// When some words are heard.
    Words { words: Arc<[WordMark]>, rate: u32 },
    /// All has been given.
    Done {
        finish: realtime::Finish,
        usage: Usage,
    },
    /// There will be no more.
    Failed(Fault),
}

/// Text that waits for room.
type Feeding = Pin<Box<dyn Future<Output = Result<(), FeedError>> + Send>>;

/// See the [module](self). Dropping it cancels what the engine does for it.
pub(super) struct Reply {
    /// None once all is written.
    writer: Option<Outputs>,
    speaker: Option<Speaker>,
    end: Option<(realtime::Finish, Usage)>,
    is_over: bool,
    _admitted: Admitted,
}

/// A voice that is fed while it speaks.
struct Speaker {
    feed: Feed,
    feeding: Option<Feeding>,
    outputs: Outputs,
    rate: u32,
}

impl Reply {
    pub(super) fn begin(
        engine: &Engine,
        roles: &Roles,
        request: &Request,
        admitted: Admitted,
    ) -> Result<Self, Fault> {
        let submit = |job: Job| engine.submit(job).map_err(|error| bridge::fault(&error));
        let speaker = match &roles.voice {
            Some(voice) if request.audio => {
                let handle = submit(voice_job(voice, request))?;
                Some(Speaker::new(handle, engine, voice))
            }
            _ => None,
        };
        let writer = submit(chat_job(&roles.chat, request)?)?;
        Ok(Self {
            writer: Some(writer.outputs),
            speaker,
            end: None,
            is_over: false,
            _admitted: admitted,
        })
    }

    /// The next news; nothing is asked of the models unless it is `wanted`.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, wanted: bool) -> Poll<News> {
        if self.is_over || !wanted {
            return Poll::Pending;
        }
        let news = self.poll_open(context);
        if let Poll::Ready(News::Done { .. } | News::Failed(_)) = news {
            self.is_over = true;
            self.writer = None;
            self.speaker = None;
        }
        news
    }

    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<News> {
        if let Some(speaker) = &mut self.speaker {
            // What is there to be heard goes before what is there to be read.
            if let Poll::Ready(news) = speaker.poll(context) {
                return Poll::Ready(match news {
                    Some(news) => news,
                    None => self.done(),
                });
            }
            if speaker.feeding.is_some() {
                return Poll::Pending;
            }
        }
        let Some(writer) = &mut self.writer else {
            return Poll::Pending;
        };
        loop {
            let output = match Pin::new(&mut *writer).poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(News::Failed(cut_short())),
                Poll::Ready(Some(output)) => output,
            };
            match output {
                Output::Text { text, .. } => {
                    if let Some(speaker) = &mut self.speaker {
                        speaker.say(&text);
                        // The voice has to hear of it, and be heard, without other news.
                        context.waker().wake_by_ref();
                    }
                    return Poll::Ready(News::Text(text));
                }
                Output::Done { finish, usage, .. } => {
                    self.end = Some((bridge::finish(finish), bridge::usage(&usage)));
                    self.writer = None;
                    let Some(speaker) = &mut self.speaker else {
                        return Poll::Ready(self.done());
                    };
                    speaker.feed.end();
                    return match speaker.poll(context) {
                        Poll::Ready(Some(news)) => Poll::Ready(news),
                        Poll::Ready(None) => Poll::Ready(self.done()),
                        Poll::Pending => Poll::Pending,
                    };
                }
                Output::Failed(error) => return Poll::Ready(News::Failed(bridge::fault(&error))),
                _ => {}
            }
        }
    }

    fn done(&self) -> News {
        match self.end {
            Some((finish, usage)) => News::Done { finish, usage },
            // The voice ended before it was told all.
            None => News::Failed(cut_short()),
        }
    }
}

impl Speaker {
    fn new(handle: Handle, engine: &Engine, voice: &str) -> Self {
        Self {
            feed: handle.feed,
            feeding: None,
            outputs: handle.outputs,
            rate: bridge::sample_rate(engine, voice),
        }
    }

    fn say(&mut self, text: &str) {
        let (feed, text) = (self.feed.clone(), text.to_owned());
        self.feeding = Some(Box::pin(async move { feed.send_text(&text).await }));
    }

    /// The next news; none once all is spoken.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<News>> {
        if let Some(feeding) = &mut self.feeding
            && let Poll::Ready(fed) = feeding.as_mut().poll(context)
        {
            self.feeding = None;
            if let Err(error @ FeedError::TooLong { .. }) = fed {
                let message = format!("The reply cannot be spoken to its end: {error}.");
                let fault = Fault::new(Kind::TooLarge, "reply_too_long", message);
                return Poll::Ready(Some(News::Failed(fault)));
            }
        }
        loop {
            let output = match Pin::new(&mut self.outputs).poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(Some(News::Failed(cut_short()))),
                Poll::Ready(Some(output)) => output,
            };
            return Poll::Ready(match output {
                Output::Audio { samples, rate, .. } => {
                    self.rate = rate;
                    Some(News::Audio { samples, rate })
                }
                Output::Words { words, .. } => Some(News::Words {
                    words,
                    rate: self.rate,
                }),
                Output::Done {
                    finish: Finish::Length,
                    ..
                } => Some(News::Failed(bridge::cut_off())),
                Output::Done { .. } => None,
                Output::Failed(error) => Some(News::Failed(bridge::fault(&error))),
                _ => continue,
            });
        }
    }
}

fn voice_job(voice: &str, request: &Request) -> Job {
    Job {
        model: voice.to_owned(),
        options: Options {
            voice: request.voice.clone(),
            speed: request.speed,
            ..Options::default()
        },
    }
}

fn chat_job(chat: &str, request: &Request) -> Result<Job, Fault> {
    let mut options = Options {
        messages: request.messages.iter().map(bridge::message).collect(),
        ..Options::default()
    };
    options.sampling.max_tokens = request.max_tokens;
    match &request.tool_choice {
        ToolChoice::None => {}
        ToolChoice::Auto => options.tools = request.tools.iter().map(bridge::tool).collect(),
        ToolChoice::Required | ToolChoice::Function(_) => {
            return Err(Fault::field(
                "tool_choice",
                "unsupported_value",
                "No model here can be made to call a function; 'auto' and 'none' are accepted.",
            ));
        }
    }
    Ok(Job {
        model: chat.to_owned(),
        options,
    })
}

fn cut_short() -> Fault {
    Fault::new(
        Kind::Internal,
        "cut_short",
        "The model stopped without an end.",
    )
}
