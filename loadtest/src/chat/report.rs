//! What the conversations amount to: a waterfall from the last sample said to the first heard.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::line::Door;
use super::turn::Turn;
use crate::cli::ChatArgs;
use crate::measure::Distribution;
use crate::report::Verdict;

/// The figures of a run, in milliseconds unless a name says otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Nothing failed.
    pub counts: bool,
    /// What failed, in words.
    pub failures: Vec<String>,
    /// What was to be held and was not.
    pub missed: Vec<String>,
    /// What carried the conversations.
    pub door: Door,
    /// Users at once.
    pub users: usize,
    /// Turns that were answered.
    pub turns: usize,
    /// Stages from the last sample said, in the order in which they come.
    pub since_speech_end: Vec<Stage>,
    /// The same by the server's own `promenade.turn.timing`: since the end of speech as it heard
    /// it, and with what it had made before it was free to send it.
    pub server_stages: Vec<Stage>,
    /// From the first sample said to the notice that somebody speaks.
    pub noticed: Option<Distribution>,
    /// Of interrupted answers: from the notice to the last audio that still came; 0 for none.
    pub silence_after_notice: Option<Distribution>,
    /// Of interrupted answers: from the first sample said to the end of the answer.
    pub interruption: Option<Distribution>,
    /// Answers during which a player with 100 ms of prebuffer would not have stood still, per cent.
    pub stall_free_percent: Option<f64>,
    /// Words understood wrongly / words said, per cent.
    pub word_errors_percent: Option<f64>,
    /// Turns in which the server answered more than once.
    pub answered_again: usize,
    /// What was said, heard and answered.
    pub talks: Vec<Talk>,
}

/// One stage of the waterfall.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// Milliseconds since the last sample said.
    pub ms: Option<Distribution>,
}

/// One turn in words.
#[derive(Clone, Debug, Serialize)]
pub struct Talk {
    /// What was said.
    pub said: String,
    /// What was understood.
    pub heard: Option<String>,
    /// What was answered.
    pub answer: String,
    /// How the answer ended.
    pub status: String,
    /// Milliseconds from the last sample said to the first audible one heard.
    pub first_audio_ms: Option<f64>,
    /// Milliseconds for which a player would have stood still.
    pub stalled_ms: f64,
    /// What the server says of where the time went.
    pub timing: Option<Value>,
}

/// The server's stages: its names, and ours.
const SERVER_STAGES: [(&str, &str); 5] = [
    ("transcript", "words understood"),
    ("first_text", "first words written"),
    ("first_audio", "first audio made"),
    ("committed", "turn over"),
    ("sent", "first audio sent"),
];

fn server_stage(turns: &[Turn], key: &str, name: &'static str) -> Stage {
    let told = turns.iter().filter_map(|turn| turn.timing.as_ref());
    Stage {
        name,
        ms: Distribution::of(told.filter_map(|timing| timing["stages"][key].as_f64())),
    }
}

impl Report {
    pub(super) fn of(args: &ChatArgs, turns: &[Turn], failures: Vec<String>) -> Self {
        let since = |at: fn(&Turn) -> Option<std::time::Duration>| {
            let answered = turns.iter().filter(|turn| turn.first_audio.is_some());
            Distribution::of(answered.filter_map(|turn| turn.since_end(at(turn))))
        };
        let stage = |name, at| Stage {
            name,
            ms: since(at),
        };
        let first_audio = since(|turn| turn.first_audio);
        let wordy: Vec<_> = turns.iter().filter_map(Turn::word_errors).collect();
        let (wrong, said) = wordy
            .iter()
            .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let spoken = turns.iter().filter(|turn| turn.first_chunk.is_some());
        let (all, smooth) = spoken.fold((0_usize, 0_usize), |(all, smooth), turn| {
            (all + 1, smooth + usize::from(turn.stalled.is_zero()))
        });
        let cut = || turns.windows(2).filter(|pair| pair[0].interrupted);
        let between = |from: Option<std::time::Duration>, to: Option<std::time::Duration>| {
            Some((to?.as_secs_f64() - from?.as_secs_f64()) * 1e3)
        };
        let mut missed = Vec::new();
        let mut hold = |name: &str, got: Option<f64>, most: Option<f64>| {
            if let Some(most) = most
                && got.is_none_or(|got| got > most)
            {
                missed.push(format!(
                    "{name}: {got:?} ms, not over {most} was to be held"
                ));
            }
        };
        hold("first audio p50", first_audio.map(|d| d.p50), args.p50);
        hold("first audio p95", first_audio.map(|d| d.p95), args.p95);
        Self {
            counts: failures.is_empty() && !turns.is_empty(),
            failures,
            missed,
            door: args.door,
            users: args.users,
            turns: turns.len(),
            since_speech_end: vec![
                stage("end of speech noticed", |turn| turn.stopped),
                stage("words understood", |turn| turn.transcribed),
                stage("answer begun", |turn| turn.created),
                stage("first words", |turn| turn.first_text),
                stage("first chunk", |turn| turn.first_chunk),
                stage("first audio", |turn| turn.first_audio),
                stage("answer complete", |turn| turn.done),
            ],
            server_stages: SERVER_STAGES
                .map(|(key, name)| server_stage(turns, key, name))
                .into(),
            noticed: Distribution::of(turns.iter().filter_map(|t| between(t.began, t.noticed))),
            silence_after_notice: Distribution::of(cut().filter_map(|pair| {
                between(pair[1].noticed, pair[0].last_chunk).map(|ms| ms.max(0.0))
            })),
            interruption: Distribution::of(
                cut().filter_map(|pair| between(pair[1].began, pair[0].over)),
            ),
            // By RTP a pause and a gap look alike.
            stall_free_percent: (all > 0 && args.door == Door::Ws)
                .then(|| 100.0 * smooth as f64 / all as f64),
            word_errors_percent: (said > 0).then(|| 100.0 * wrong as f64 / said as f64),
            answered_again: turns.iter().filter(|turn| turn.extra_turns > 0).count(),
            talks: turns.iter().map(talk).collect(),
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        match (self.counts, self.missed.is_empty()) {
            (false, _) => Verdict::DoesNotCount,
            (true, false) => Verdict::Missed,
            (true, true) => Verdict::Counts,
        }
    }
}

fn talk(turn: &Turn) -> Talk {
    Talk {
        said: turn.said.clone(),
        heard: turn.heard.clone(),
        answer: turn.answer.clone(),
        status: turn.status.clone(),
        first_audio_ms: turn.since_end(turn.first_audio),
        stalled_ms: turn.stalled.as_secs_f64() * 1e3,
        timing: turn.timing.clone(),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.counts {
            writeln!(f, "THIS RUN DOES NOT COUNT")?;
        }
        for failure in &self.failures {
            writeln!(f, "  - {failure}")?;
        }
        for missed in &self.missed {
            writeln!(f, "missed: {missed}")?;
        }
        let door = match self.door {
            Door::Ws => "over WebSockets",
            Door::Webrtc => "by WebRTC",
        };
        writeln!(
            f,
            "{} users at once {door}, {} turns",
            self.users, self.turns
        )?;
        writeln!(f, "\nsince the last sample said, ms   p50     p95     max")?;
        for stage in &self.since_speech_end {
            write!(f, "  {:<26}", stage.name)?;
            figures(f, stage.ms)?;
        }
        if self.server_stages.iter().any(|stage| stage.ms.is_some()) {
            writeln!(f, "\nby the server itself, ms         p50     p95     max")?;
            for stage in &self.server_stages {
                write!(f, "  {:<26}", stage.name)?;
                figures(f, stage.ms)?;
            }
        }
        writeln!(f, "\nothers, ms                       p50     p95     max")?;
        let others = [
            ("speech noticed", self.noticed),
            ("audio after an interruption", self.silence_after_notice),
            ("interruption to end", self.interruption),
        ];
        for (name, value) in others {
            if value.is_some() {
                write!(f, "  {name:<26}")?;
                figures(f, value)?;
            }
        }
        let percent = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.1} %"));
        writeln!(
            f,
            "\nstall-free at 100 ms   {}",
            percent(self.stall_free_percent)
        )?;
        writeln!(
            f,
            "words misunderstood    {}",
            percent(self.word_errors_percent)
        )?;
        writeln!(f, "answered again         {}", self.answered_again)?;
        for talk in &self.talks {
            let heard = talk.heard.as_deref().unwrap_or("-");
            let ms = talk
                .first_audio_ms
                .map_or("-".into(), |ms| format!("{ms:.0} ms"));
            writeln!(f, "\n  said   {}\n  heard  {heard}", talk.said)?;
            writeln!(f, "  answer {} ({}, {ms})", talk.answer, talk.status)?;
        }
        Ok(())
    }
}

fn figures(f: &mut fmt::Formatter<'_>, value: Option<Distribution>) -> fmt::Result {
    match value {
        Some(d) => writeln!(f, "{:>8.0}{:>8.0}{:>8.0}", d.p50, d.p95, d.max),
        None => writeln!(f, "       -       -       -"),
    }
}
