//! The installed recogniser hears the installed voice: `promenade models install default
//! whisper-tiny-en` first; without their weights these stories fail.

use std::sync::{Arc, OnceLock};

use engine::{
    Config, Engine, Finish, Job, Kind, ModelConfig, Options, Output, Sound, Value, silero, vits,
    whisper,
};

use crate::support::{PATIENCE, at_rest};

const RATE: u32 = 16_000;
const SENTENCE: &str = "The weather is nice today, and the children are playing in the garden.";
const QUESTION: &str = "How many days are there in a week?";

/// Loading takes a second or two: once for all stories.
fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let models = [vits::DEFAULT_ID, whisper::DEFAULT_ID];
        let config = Config {
            models: models.map(|id| ModelConfig::named(id).unwrap()).into(),
            threads: 2,
            ..Config::default()
        };
        Engine::start(config).unwrap()
    })
}

/// What the voice says, at the recogniser's rate.
fn spoken(text: &str) -> Vec<f32> {
    let options = Options {
        seed: Some(3),
        ..Options::default()
    };
    let model = vits::DEFAULT_ID.into();
    let request = engine().submit(Job { model, options }).unwrap();
    request.feed.text(text).unwrap();
    request.feed.end();
    let (mut said, mut rate, mut outputs) = (Vec::new(), 0, request.outputs);
    loop {
        match outputs.recv_blocking(PATIENCE) {
            Some(Output::Audio {
                samples, rate: hz, ..
            }) => {
                said.extend_from_slice(&samples);
                rate = hz;
            }
            Some(Output::Done { .. }) => break,
            Some(Output::Failed(error)) => panic!("{error}"),
            Some(_) => {}
            None => panic!("no output within the time"),
        }
    }
    resampled(&said, rate)
}

/// Linear interpolation: good enough to be understood.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "indices of a few seconds of audio"
)]
fn resampled(said: &[f32], rate: u32) -> Vec<f32> {
    let step = f64::from(rate) / f64::from(RATE);
    let count = (said.len() as f64 / step) as usize;
    let between = |index: usize| {
        let place = index as f64 * step;
        let (before, share) = (place as usize, place.fract() as f32);
        let at = |index: usize| said.get(index).copied().unwrap_or(0.0);
        at(before) * (1.0 - share) + at(before + 1) * share
    };
    (0..count).map(between).collect()
}

/// A text without marks and capitals: which of them a recogniser writes is a matter of taste.
fn plain(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric() || *c == ' ');
    letters.collect::<String>().trim().to_lowercase()
}

fn job(samples: &[f32]) -> Job {
    Job {
        model: whisper::DEFAULT_ID.into(),
        options: Options {
            audio: Some(Sound {
                samples: samples.into(),
                rate: RATE,
            }),
            ..Options::default()
        },
    }
}

fn heard(job: Job) -> (String, usize, Finish) {
    let mut request = engine().submit(job).unwrap();
    let (mut text, mut pieces) = (String::new(), 0);
    loop {
        match request.outputs.recv_blocking(PATIENCE) {
            Some(Output::Text { text: piece, .. }) => {
                text.push_str(&piece);
                pieces += 1;
            }
            Some(Output::Done { finish, .. }) => return (text, pieces, finish),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_was_said_is_heard_word_by_word() {
    let (text, pieces, finish) = heard(job(&spoken(SENTENCE)));
    assert_eq!((plain(&text), finish), (plain(SENTENCE), Finish::Stop));
    assert!(pieces > 10, "{pieces} pieces");
}

#[test]
fn alone_and_beside_others_the_same_is_heard() {
    let (one, other) = (spoken(SENTENCE), spoken(QUESTION));
    let texts: Vec<String> = std::thread::scope(|scope| {
        let jobs = [&one, &other, &one, &other];
        let threads = jobs.map(|samples| scope.spawn(|| heard(job(samples)).0));
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(plain(&texts[0]), plain(SENTENCE));
    assert_eq!((&texts[0], &texts[1]), (&texts[2], &texts[3]));
    assert_eq!(plain(&texts[1]), plain(QUESTION));
    at_rest(engine());
}

#[test]
fn segments_have_their_times_over_more_than_one_window() {
    let (one, other) = (spoken(SENTENCE), spoken(QUESTION));
    let pause = vec![0.0; RATE as usize];
    let mut all = Vec::new();
    let mut times = 0;
    while all.len() < 40 * RATE as usize {
        all.extend([&one, &pause, &other, &pause].into_iter().flatten());
        times += 1;
    }
    let mut job = job(&all);
    job.options
        .extra
        .insert("timestamps".into(), Value::Bool(true));
    let mut request = engine().submit(job).unwrap();
    let mut segments = Vec::new();
    loop {
        match request.outputs.recv_blocking(PATIENCE) {
            Some(Output::Words { words, .. }) => segments.extend(words.iter().cloned()),
            Some(Output::Text { .. }) => {}
            Some(Output::Done { .. }) => break,
            other => panic!("{other:?}"),
        }
    }
    let text: String = segments.iter().map(|segment| &*segment.text).collect();
    assert_eq!(
        text.matches("the children are playing").count(),
        times,
        "{text}"
    );
    let mut before = 0;
    for segment in &segments {
        assert!(segment.samples.start >= before && segment.samples.end > segment.samples.start);
        assert!(segment.samples.end <= all.len() as u64 + u64::from(RATE));
        before = segment.samples.start;
    }
}

#[test]
fn what_cannot_be_heard_is_refused_by_name() {
    let refused = |job: Job| engine().submit(job).err().unwrap();
    let silent = Job {
        options: Options::default(),
        ..job(&[])
    };
    let error = refused(silent);
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("`audio` is nothing"), "{error}");
    let mut other = job(&[0.0; 800]);
    other
        .options
        .extra
        .insert("language".into(), Value::Text("de".into()));
    assert!(
        refused(other)
            .to_string()
            .contains("`language` is `de`, accepted: en")
    );
    let mut other = job(&[0.0; 800]);
    other.options.audio = Some(Sound {
        samples: Arc::from([0.0; 800]),
        rate: 8_000,
    });
    assert!(
        refused(other)
            .to_string()
            .contains("a recording of 16000 Hz")
    );
    let voice = Job {
        model: vits::DEFAULT_ID.into(),
        ..job(&[0.0; 800])
    };
    assert!(refused(voice).to_string().contains("does not hear"));
}

#[test]
fn silence_has_no_words() {
    let (text, _, finish) = heard(job(&[0.0; 32_000]));
    assert_eq!((text.as_str(), finish), ("", Finish::Stop));
}

/// What the installed ear says of each frame of a sound that arrives in pieces of this length.
fn listened(engine: &Engine, sound: &[f32], piece: usize) -> Vec<f32> {
    let job = Job {
        model: silero::DEFAULT_ID.into(),
        ..Job::default()
    };
    let request = engine.submit(job).unwrap();
    let (mut said, mut outputs) = (Vec::new(), request.outputs);
    for mut rest in sound.chunks(piece) {
        while !rest.is_empty() {
            let taken = request.feed.audio(rest).unwrap().0;
            rest = &rest[taken..];
            if taken == 0 {
                match outputs.recv_blocking(PATIENCE) {
                    Some(Output::Scalar { value, .. }) => said.push(value),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    request.feed.end();
    loop {
        match outputs.recv_blocking(PATIENCE) {
            Some(Output::Scalar { value, .. }) => said.push(value),
            Some(Output::Done { .. }) => return said,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn speech_is_told_from_silence_however_it_arrives() {
    let mut sound = vec![0.0; 16_000];
    sound.extend(spoken(SENTENCE));
    sound.extend(vec![0.0; 16_000]);
    let config = Config {
        models: vec![ModelConfig::named(silero::DEFAULT_ID).unwrap()],
        threads: 1,
        ..Config::default()
    };
    let ear = Engine::start(config).unwrap();
    let whole = listened(&ear, &sound, sound.len());
    assert_eq!(whole.len(), sound.len() / silero::FRAME_SAMPLES);
    for piece in [160, 512, 1_000] {
        assert_eq!(listened(&ear, &sound, piece), whole, "pieces of {piece}");
    }
    let (before, rest) = whole.split_at(30);
    let (words, after) = rest.split_at(rest.len() - 24);
    let loudest = |part: &[f32]| part.iter().copied().fold(0.0, f32::max);
    assert!(loudest(before) < 0.3, "before: {}", loudest(before));
    assert!(loudest(after) < 0.3, "after: {}", loudest(after));
    let speech = words.iter().filter(|p| **p > 0.5).count();
    assert!(speech * 10 > words.len() * 7, "{speech} of {}", words.len());
    at_rest(&ear);
}
