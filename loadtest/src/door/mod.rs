//! The doors of a speech server, as a client sees them.
//!
//! A door opens one fresh connection a request, asks, and hands everything that arrives to a
//! [`Recorder`] the moment it arrives. Dropping the future hangs up: the connection's task goes
//! with it. Neither door speaks TLS; see [`crate::target`].

pub mod http;
pub mod ws;

use std::time::Duration;

use ::http::HeaderMap;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::net::TcpStream;

use crate::clock::Clock;
use crate::target::Target;
use crate::trace::{Failure, Framing, Recorder};

/// Which door.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `POST /v1/audio/speech`.
    Http,
    /// `WS /v1/audio/speech/stream`.
    Ws,
}

/// How the audio is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A WAV stream; its head tells the rate.
    Wav,
    /// Bare 16-bit little-endian samples of one channel.
    Pcm,
}

impl Format {
    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wav => "wav",
            Self::Pcm => "pcm",
        }
    }
}

/// What is asked for, besides the text.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The model's id.
    pub model: String,
    /// The voice.
    pub voice: String,
    /// The format of the audio.
    pub format: Format,
    /// Samples per second of bare PCM where the server does not say.
    pub pcm_rate: u32,
    /// Sent as a bearer token; no report shows it.
    pub key: Option<String>,
}

impl Ask {
    /// How the bytes are framed.
    #[must_use]
    pub fn framing(&self) -> Framing {
        match self.format {
            Format::Wav => Framing::Wav,
            Format::Pcm => Framing::Pcm {
                rate: self.pcm_rate,
            },
        }
    }

    /// The fields that both doors send under the same names.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("model".into(), self.model.clone().into());
        fields.insert("response_format".into(), self.format.name().into());
        fields.insert("voice".into(), self.voice.clone().into());
        fields
    }
}

/// Why a request ended other than well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The server declined before any work.
    Refused(u16),
    /// It failed.
    Failed(Failure),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// A door with everything that it needs to ask.
#[derive(Clone, Debug)]
pub struct Door {
    /// Which one.
    pub kind: Kind,
    /// Where.
    pub target: Target,
    /// For what.
    pub ask: Ask,
}

impl Door {
    /// Has `text` spoken into `seen`. Comes back when the stream is over.
    ///
    /// # Errors
    /// When the server refused, or the stream did not come whole.
    pub async fn speak(&self, clock: &Clock, text: &str, seen: &mut Recorder) -> Result<(), End> {
        match self.kind {
            Kind::Http => http::speak(self, clock, text, seen).await,
            Kind::Ws => ws::speak(self, clock, text, seen).await,
        }
    }
}

/// A connection that sends at once what it is given.
pub(crate) async fn connect(target: &Target) -> Result<TcpStream, Failure> {
    let failed = |error: std::io::Error| Failure::Connect(error.to_string());
    let stream = TcpStream::connect(target.address).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

/// Statuses by which a server declines for lack of room.
fn is_refusal(status: u16) -> bool {
    matches!(status, 429 | 503)
}

/// The time from the model's first step to its last in a `Server-Timing` header or trailer: its
/// entry `model`, in milliseconds.
fn model_time(headers: &HeaderMap) -> Option<Duration> {
    let values = headers.get_all("server-timing").iter();
    let mut entries = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    entries.find_map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        (parts.next()? == "model").then_some(())?;
        let ms = parts.find_map(|part| part.strip_prefix("dur="))?;
        millis(ms.trim_matches('"').parse().ok()?)
    })
}

fn millis(ms: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(ms / 1e3).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_time_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append("server-timing", "queue;dur=3".parse().unwrap());
        headers.append(
            "server-timing",
            "cdn, model;desc=\"x\";dur=41.5".parse().unwrap(),
        );
        assert_eq!(model_time(&headers), Some(Duration::from_micros(41_500)));
        for odd in ["model", "model;dur=x", "model;dur=-1", "models;dur=4", ""] {
            let headers = HeaderMap::from_iter(
                [("server-timing".parse().ok(), odd.parse().unwrap())]
                    .into_iter()
                    .filter_map(|(name, value)| Some((name?, value))),
            );
            assert_eq!(model_time(&headers), None, "{odd}");
        }
    }
}
