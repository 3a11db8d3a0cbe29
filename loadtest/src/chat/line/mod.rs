//! What carries one user's conversation: audio and events in both directions.

mod call;
mod socket;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use self::call::Call;
use self::socket::Socket;
use super::microphone::FRAME;
use crate::cli::ChatArgs;
use crate::target::Target;

/// Which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Door {
    /// `GET /v1/realtime`: audio inside of events.
    #[default]
    Ws,
    /// `POST /v1/realtime/calls`: audio by RTP.
    Webrtc,
}

/// See the [module](self).
pub(super) enum Line {
    Socket(Box<Socket>),
    Call(Box<Call>),
}

/// What has come.
#[derive(Debug)]
pub(super) enum News {
    Event(Value),
    /// Samples at [`RATE`](super::RATE).
    Audio(Vec<i16>),
}

impl Line {
    /// A line whose session begins as `session` says.
    pub(super) async fn open(args: &ChatArgs, target: &Target, session: Value) -> Result<Self> {
        Ok(match args.door {
            Door::Ws => Self::Socket(Box::new(Socket::open(args, target, session).await?)),
            Door::Webrtc => Self::Call(Box::new(Call::open(args, target, session).await?)),
        })
    }

    /// Sends 20 ms of the microphone.
    pub(super) async fn speak(&mut self, frame: &[i16; FRAME]) -> Result<()> {
        match self {
            Self::Socket(socket) => socket.speak(frame).await,
            Self::Call(call) => call.speak(frame).await,
        }
    }

    /// What comes next. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The line is closed, makes no sense, or tells of an error.
    pub(super) async fn next(&mut self) -> Result<News> {
        let news = match self {
            Self::Socket(socket) => socket.next().await?,
            Self::Call(call) => call.next().await?,
        };
        if let News::Event(event) = &news
            && event["type"] == "error"
        {
            bail!("the server says: {}", event["error"]);
        }
        Ok(news)
    }

    /// Takes its leave.
    pub(super) async fn close(self) {
        match self {
            Self::Socket(socket) => socket.close().await,
            Self::Call(call) => call.close().await,
        }
    }
}
