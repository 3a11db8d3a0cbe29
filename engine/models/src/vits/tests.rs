//! The voice with its real weights: streamed is whole, cut is uncut, words fall where they sound.

use std::{collections::HashMap, path::PathBuf, sync::OnceLock, time::Duration};

use rten_tensor::{NdTensor, prelude::*};
use runtime::{Driver, Event, Options, Payload, WordMark};

use super::{
    Error,
    anatomy::Anatomy,
    model::{Config, Files, Vits},
    noise::{Noise, Purpose},
    part::{Part, Threads},
    stage::Frames,
    voice::{Vocoding, Voice},
};
use crate::{
    onnx::{self, Cut, Onnx},
    text,
};

/// The installed default voice. A test that needs it fails where it is not installed.
fn installed() -> Files {
    match Files::of(&Config::default()) {
        Ok(files) => files,
        Err(error) => panic!("these tests speak with the real voice: {error}"),
    }
}

fn voice() -> &'static Voice {
    static VOICE: OnceLock<Voice> = OnceLock::new();
    VOICE.get_or_init(|| Voice::load(&installed().weights, 2).expect("the voice loads"))
}

fn ids(text: &str) -> Vec<i64> {
    static FRONT: OnceLock<(text::Frontend, text::PhonemeMap)> = OnceLock::new();
    let (frontend, map) = FRONT.get_or_init(|| {
        let config = installed();
        let map = text::PhonemeMap::load(&super::voice::description_of(&config.weights));
        (
            text::Frontend::load(&config.text).expect("the lexicon"),
            map.expect("the map"),
        )
    });
    frontend.utterance(text, map).ids
}

const SENTENCES: [&str; 3] = [
    "Yes.",
    "The ferry leaves at noon, whatever the weather.",
    "Every chunk of this sentence has to fit the next one without a seam that anybody could hear.",
];

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "lengths");
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

#[test]
fn streamed_is_whole_for_any_split() {
    let voice = voice();
    for (number, sentence) in (0..).zip(SENTENCES) {
        let drawn = voice
            .draw(&ids(sentence), voice.manner(), 5, number)
            .expect("frames");
        let count = drawn.frames.size(2);
        assert_eq!(count, drawn.durations.iter().sum::<usize>());
        let whole = voice.vocode(
            &mut Vocoding::default(),
            Some(drawn.frames.clone()),
            true,
            0,
        );
        let whole = whole.expect("samples");
        assert_eq!(whole.len(), count * voice.hop());
        let mut cuts = Noise::of(number, 0, Purpose::Durations);
        let pieces: &[usize] = if count < 100 {
            &[1, 9, 40]
        } else {
            &[25, 80, 200]
        };
        for &largest in pieces {
            let mut state = Vocoding::default();
            let (mut streamed, mut at) = (Vec::new(), 0);
            while at < count {
                let size = 1 + usize::from(cuts.take(1)[0].to_bits().to_le_bytes()[0]) % largest;
                let to = (at + size).min(count);
                let piece: Frames = drawn.frames.slice((.., .., at..to)).to_tensor();
                let samples = voice.vocode(&mut state, Some(piece), to == count, 0);
                streamed.extend(samples.expect("samples"));
                at = to;
            }
            let difference = largest_difference(&streamed, &whole);
            assert!(
                difference <= 1e-6,
                "{sentence:?} in pieces of {largest}: {difference}"
            );
        }
    }
}

#[test]
fn the_parts_together_are_the_whole_graph() {
    let voice = voice();
    let (ids, seed) = (ids(SENTENCES[1]), 11);
    let drawn = voice.draw(&ids, voice.manner(), seed, 0).expect("frames");
    let frames = drawn.frames.size(2);
    let parts = voice.vocode(&mut Vocoding::default(), Some(drawn.frames), true, 0);

    let onnx = Onnx::read(&installed().weights).expect("the graph");
    let anatomy = Anatomy::of(&onnx).expect("its parts");
    let duration_noise = anatomy.duration_noise.expect("noise of the durations");
    let names = [
        &anatomy.ids,
        &anatomy.lengths,
        &anatomy.scales,
        &duration_noise,
        &anatomy.frame_noise,
    ];
    let cuts: Vec<Cut> = names
        .iter()
        .map(|&name| Cut {
            name: name.clone(),
            float: false,
        })
        .collect();
    let output = onnx.outputs().next().expect("an output").to_owned();
    let graph = onnx
        .extract("whole", &cuts, &[output], &HashMap::new())
        .expect("a graph");
    let whole = Part::load("whole", graph, &Threads::new(2)).expect("a model");
    let value = |name: &String| whole.value(name).expect("a value");
    let count = i32::try_from(ids.len()).expect("few");
    let numbers: Vec<i32> = ids
        .iter()
        .map(|&id| i32::try_from(id).expect("small"))
        .collect();
    let own = voice.manner();
    let noise = |purpose, count| Noise::of(seed, 0, purpose).take(count);
    let duration_noise_values = noise(Purpose::Durations, 2 * ids.len());
    let frame_noise_values = noise(Purpose::Frames, voice.channels() * frames);
    let outputs = whole.run(vec![
        (
            value(&anatomy.ids),
            NdTensor::from_data([1, ids.len()], numbers).into(),
        ),
        (
            value(&anatomy.lengths),
            NdTensor::from_data([1], vec![count]).into(),
        ),
        (
            value(&anatomy.scales),
            NdTensor::from_data([3], vec![own.noise_scale, own.length_scale, own.noise_w]).into(),
        ),
        (
            value(&duration_noise),
            NdTensor::from_data([1, 2, ids.len()], duration_noise_values).into(),
        ),
        (
            value(&anatomy.frame_noise),
            NdTensor::from_data([1, voice.channels(), frames], frame_noise_values).into(),
        ),
    ]);
    let whole: rten_tensor::Tensor<f32> = outputs
        .expect("samples")
        .remove(0)
        .try_into()
        .expect("floats");
    // Sums of up to a thousand products in another order, through twenty layers.
    let difference = largest_difference(&parts.expect("samples"), &whole.into_data());
    assert!(difference <= 1e-4, "{difference}");
}

#[test]
fn speed_changes_the_duration_and_not_the_pitch() {
    let voice = voice();
    let ids = ids(SENTENCES[2]);
    let speak = |speed: f32| {
        let manner = super::voice::Manner {
            speed,
            ..voice.manner()
        };
        let drawn = voice.draw(&ids, manner, 3, 0).expect("frames");
        voice
            .vocode(&mut Vocoding::default(), Some(drawn.frames), true, 0)
            .expect("samples")
    };
    let normal = speak(1.0);
    for speed in [0.25, 0.5, 2.0] {
        let other = speak(speed);
        let ratio = normal.len() as f32 / other.len() as f32;
        assert!(
            (ratio / speed - 1.0).abs() < 0.01,
            "speed {speed}: {ratio} times as fast"
        );
        // Played faster, the pitch would change by the speed. Its melody is the voice's own at any
        // pace, and moves the median by a sixth.
        let (a, b) = (median_pitch(&normal), median_pitch(&other));
        assert!(
            (a / b - 1.0).abs() < 0.25,
            "speed {speed}: {b} Hz in place of {a} Hz"
        );
    }
}

/// The median of the strongest period between 60 and 300 Hz, over loud parts, in Hz.
fn median_pitch(samples: &[f32]) -> f32 {
    const RATE: usize = 22_050;
    let mut pitches = Vec::new();
    for window in samples.chunks_exact(2_048) {
        let power: f32 = window.iter().map(|x| x * x).sum();
        if power < 2.0 {
            continue;
        }
        let score = |lag: usize| {
            let products = window.iter().zip(&window[lag..]).map(|(a, b)| a * b);
            products.sum::<f32>() / (window.len() - lag) as f32
        };
        let lags = RATE / 300..RATE / 60;
        let best = lags
            .max_by(|&a, &b| score(a).total_cmp(&score(b)))
            .expect("lags");
        pitches.push(RATE as f32 / best as f32);
    }
    pitches.sort_by(f32::total_cmp);
    pitches[pitches.len() / 2]
}

/// All that a request gives.
#[derive(Debug, Default, PartialEq)]
struct Spoken {
    samples: Vec<f32>,
    words: Vec<WordMark>,
    chunks: usize,
}

fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let model = Vits::load(&Config::default(), 2).expect("the voice loads");
        Driver::start(vec![std::sync::Arc::new(model)], runtime::Config::default())
            .expect("a driver")
    })
}

fn speak(texts: &[&str], seed: u64) -> Spoken {
    let options = Options {
        seed: Some(seed),
        ..Options::default()
    };
    let (feed, mut outputs) = driver().submit(0, options).expect("let in");
    for text in texts {
        let mut rest = text.chars().map(Payload::Char).peekable();
        while rest.peek().is_some() {
            if feed.put(0, &mut rest).expect("taken").0 == 0 {
                std::thread::yield_now();
            }
        }
    }
    feed.end();
    let mut spoken = Spoken::default();
    loop {
        match outputs
            .next_within(Duration::from_secs(600))
            .expect("an event in time")
        {
            Event::Emitted(emitted) => match &emitted.payload {
                Payload::Words(words) => spoken.words.extend(words.iter().cloned()),
                audio => {
                    let audio = audio.as_tensor().expect("audio").as_f32().expect("floats");
                    spoken.samples.extend(audio);
                    spoken.chunks += 1;
                }
            },
            Event::End(end) => {
                assert_eq!(end.error, None);
                return spoken;
            }
        }
    }
}

#[test]
fn a_request_speaks_in_chunks_and_says_when_each_word_sounds() {
    let text = format!("{} {} It costs 3.5 dollars.", SENTENCES[1], SENTENCES[2]);
    let spoken = speak(&[&text], 1);
    assert!(spoken.chunks > 3, "{} chunks", spoken.chunks);
    let seconds = spoken.samples.len() as f32 / 22_050.0;
    assert!((6.0..20.0).contains(&seconds), "{seconds} s");
    let written: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches([',', '.']))
        .collect();
    let marked: Vec<String> = spoken
        .words
        .iter()
        .map(|word| word.text.trim_matches([',', '.']).to_owned())
        .collect();
    assert_eq!(marked, written);
    let characters: Vec<char> = text.chars().collect();
    let place = |character: u64| usize::try_from(character).expect("a place in the text");
    let mut before = (0, 0);
    for word in &spoken.words {
        assert!(
            word.samples.start >= before.0 && word.source.start >= before.1,
            "{word:?}"
        );
        assert!(word.samples.start < word.samples.end, "{word:?}");
        assert!(word.samples.end <= spoken.samples.len() as u64, "{word:?}");
        let source = &characters[place(word.source.start)..place(word.source.end)];
        assert_eq!(source.iter().collect::<String>().trim(), &*word.text);
        before = (word.samples.end, word.source.end);
    }
}

#[test]
fn a_seed_gives_the_same_audio_alone_and_beside_others() {
    let text = format!("{} {}", SENTENCES[0], SENTENCES[1]);
    let alone = speak(&[&text], 9);
    let beside: Vec<Spoken> = std::thread::scope(|scope| {
        let seeds = [9, 10, 9].map(|seed| {
            scope.spawn({
                let text = &text;
                move || speak(&[text], seed)
            })
        });
        seeds
            .into_iter()
            .map(|request| request.join().expect("spoke"))
            .collect()
    });
    let [same, other, again] = beside.as_slice() else {
        panic!("three requests")
    };
    assert_eq!(same.samples, alone.samples);
    assert_eq!(again.samples, alone.samples);
    assert_eq!(same.words, alone.words);
    assert_ne!(other.samples, alone.samples);
}

#[test]
fn a_text_with_nothing_to_say_gives_no_audio() {
    for text in ["", "  \n", "👍🏽", "…"] {
        assert_eq!(speak(&[text], 1), Spoken::default(), "{text:?}");
    }
}

#[test]
fn what_is_no_voice_is_refused_by_name() {
    let missing = Voice::load(&PathBuf::from("/nowhere/voice.onnx"), 1)
        .err()
        .expect("refused");
    assert!(
        matches!(&missing, Error::Read { path, .. } if path.ends_with("voice.onnx.json")),
        "{missing}"
    );
    let folder = std::env::temp_dir().join(format!("promenade-vits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let weights = folder.join("voice.onnx");
    std::fs::write(
        super::voice::description_of(&weights),
        r#"{"audio":{"sample_rate":16000}}"#,
    )
    .expect("written");
    std::fs::write(&weights, b"not a model").expect("written");
    let damaged = Voice::load(&weights, 1).err().expect("refused");
    std::fs::remove_dir_all(&folder).expect("removed");
    assert!(
        matches!(&damaged, Error::Onnx(onnx::Error::NotOnnx { .. })),
        "{damaged}"
    );
}

#[test]
fn an_utterance_is_bounded() {
    let voice = voice();
    let error = voice
        .draw(&[1; 2_000], voice.manner(), 1, 0)
        .err()
        .expect("refused");
    assert_eq!(
        error.to_string(),
        "an utterance of 2000 phonemes is too long, at most 1024"
    );
}
