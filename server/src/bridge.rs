//! Between what the session knows and what the engine knows; the only place that names both.

use engine::{Finish, Job, Kind as EngineKind, Options, Output, RequestError, Time, Usage};
use session::catalog::{Catalog, Model, Task};
use session::speech::{Event, Word};
use session::{Fault, Kind, Settings, realtime};

/// What the engine serves, as clients may name it.
pub(crate) fn catalog(models: &[engine::ModelInfo]) -> Catalog {
    let model = |info: &engine::ModelInfo| Model {
        id: info.id.clone(),
        voices: info.voices.iter().map(|voice| voice.id.clone()).collect(),
        default_voice: info.default_voice.clone(),
        task: task(info),
    };
    Catalog {
        models: models.iter().map(model).collect(),
    }
}

/// What a model does.
pub(crate) fn task(info: &engine::ModelInfo) -> Task {
    match (info.converses, info.hears) {
        (true, _) => Task::Chat,
        (false, None) => Task::Speech,
        (false, Some(_)) if info.outputs.contains(&engine::graph::Modality::Text) => {
            Task::Transcription
        }
        (false, Some(_)) => Task::Detection,
    }
}

/// Why a reply ended.
pub(crate) fn finish(finish: Finish) -> realtime::Finish {
    match finish {
        Finish::Length => realtime::Finish::Length,
        _ => realtime::Finish::Stop,
    }
}

/// What a reply used, in tokens.
pub(crate) fn usage(usage: &Usage) -> realtime::Usage {
    realtime::Usage {
        input_tokens: usage.tokens.prompt,
        cached_tokens: usage.tokens.cached,
        output_tokens: usage.tokens.completion,
    }
}

/// A message of a conversation.
pub(crate) fn message(message: &realtime::Message) -> engine::Message {
    let calls = message.tool_calls.iter().map(|call| engine::ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    });
    engine::Message {
        tool_calls: calls.collect(),
        tool_call_id: message.tool_call_id.clone(),
        ..engine::Message::text(message.role.name(), &message.text)
    }
}

/// A function that a model may call.
pub(crate) fn tool(tool: &realtime::Tool) -> engine::Tool {
    engine::Tool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.to_string(),
    }
}

/// A place of a word, in a reply's text and in its audio.
pub(crate) fn place(word: &engine::WordMark) -> realtime::Word {
    realtime::Word {
        source: word.source.clone(),
        samples: word.samples.clone(),
    }
}

/// Samples per second of what a model gives out; 0 where it gives out none.
pub(crate) fn sample_rate(engine: &engine::Engine, model: &str) -> u32 {
    let info = engine.models().iter().find(|info| info.id == model);
    info.and_then(|info| info.sample_rate).unwrap_or_default()
}

/// A rate as the session knows it.
pub(crate) fn rate_of(hz: u32) -> Result<codecs::SampleRate, Fault> {
    codecs::SampleRate::new(hz).map_err(|error| internal(&error))
}

/// What to ask of the engine for an utterance.
pub(crate) fn job(settings: &Settings) -> Job {
    Job {
        model: settings.model.clone(),
        options: Options {
            voice: settings.voice.clone(),
            speed: settings.speed,
            seed: settings.seed,
            ..Options::default()
        },
    }
}

/// What an engine's error is to a client.
pub(crate) fn fault(error: &engine::Error) -> Fault {
    let (param, code) = match error {
        engine::Error::Request(RequestError::InvalidOption { name, .. }) => {
            (name.clone(), "invalid_value")
        }
        engine::Error::Request(RequestError::TooLong { .. }) => {
            ("messages".to_owned(), "context_length_exceeded")
        }
        _ => return fault_of_kind(error),
    };
    Fault::field(param, code, format!("Invalid request: {error}."))
}

fn fault_of_kind(error: &engine::Error) -> Fault {
    let (kind, code) = match error.kind() {
        EngineKind::Invalid => (Kind::Invalid, "invalid_option"),
        EngineKind::NotFound => (Kind::NotFound, "not_found"),
        EngineKind::Overloaded => (Kind::Unavailable, "overloaded"),
        EngineKind::Cancelled => (Kind::Cancelled, "cancelled"),
        EngineKind::Unavailable => (Kind::Unavailable, "unavailable"),
        _ => (Kind::Internal, "model_failed"),
    };
    let retry = error.retry_after().map(|wait| wait.as_secs().max(1));
    Fault::new(kind, code, format!("The request failed: {error}.")).retry_after(retry)
}

/// Wall time from the first model step to the last, over the audio's time.
pub(crate) fn rtf(usage: &Usage, rate: u32) -> Option<f64> {
    let audio = seconds_of(usage.output_samples, rate)?;
    Some(between(usage.first_step_at?, usage.last_step_at?) / audio)
}

/// Seconds from `a` to `b`; 0 if `b` is earlier.
pub(crate) fn between(a: Time, b: Time) -> f64 {
    b.since(a).as_secs_f64()
}

/// How long this many samples sound, in seconds; none for no samples.
pub(crate) fn seconds_of(samples: u64, rate: u32) -> Option<f64> {
    let rate = codecs::SampleRate::new(rate).ok()?;
    (samples > 0).then(|| codecs::Samples(samples).at(rate).as_secs_f64())
}

/// What an output of the engine is to a speech session; none for text, which no voice gives.
pub(crate) fn event(output: &Output, rate: u32) -> Result<Option<Event<'_>>, Fault> {
    Ok(Some(match output {
        Output::Audio { samples, rate, .. } => Event::Audio {
            samples,
            rate: rate_of(*rate)?,
        },
        Output::Words { words, .. } => Event::Words {
            words: words.iter().map(word).collect(),
            rate: rate_of(rate)?,
        },
        Output::Done {
            finish: Finish::Length,
            ..
        } => Event::Failed(cut_off()),
        Output::Done { usage, .. } => Event::Done {
            rtf: rtf(usage, rate),
        },
        Output::Failed(error) => Event::Failed(fault(error)),
        _ => return Ok(None),
    }))
}

/// The fault of an utterance that was longer than the engine lets one be: what was heard is not
/// all, so it must not look like all.
pub(crate) fn cut_off() -> Fault {
    Fault::new(
        Kind::Internal,
        "length_limit",
        "The audio is longer than one request may give; it was cut off.",
    )
}

/// A fault of our own.
pub(crate) fn internal(error: &dyn std::fmt::Display) -> Fault {
    Fault::new(
        Kind::Internal,
        "internal_error",
        format!("The server failed: {error}."),
    )
}

fn word(mark: &engine::WordMark) -> Word {
    Word {
        text: mark.text.to_string(),
        source: mark.source.clone(),
        samples: mark.samples.clone(),
    }
}
