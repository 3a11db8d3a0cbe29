//! The report for people at a terminal.

use std::fmt::Write;

use super::Report;
use crate::measure::level::Figures;
use crate::measure::{Distribution, Summary};

/// Set-up, doubts, figures of each load, and the formulas.
#[must_use]
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    verdict(&mut text, report);
    setup(&mut text, report);
    for level in &report.levels {
        summary(&mut text, level);
    }
    capacity(&mut text, report);
    text.push_str("\nformulas\n");
    for formula in &report.formulas {
        line(
            &mut text,
            &format!("  {:<17} {}", formula.figure, formula.formula),
        );
    }
    text
}

fn line(text: &mut String, words: &str) {
    text.push_str(words.trim_end());
    text.push('\n');
}

fn verdict(text: &mut String, report: &Report) {
    if !report.counts {
        line(text, "THIS RUN DOES NOT COUNT");
        for doubt in &report.doubts {
            line(text, &format!("  - {doubt}"));
        }
        text.push('\n');
    }
    for note in &report.notes {
        line(text, &format!("note: {note}"));
    }
}

fn setup(text: &mut String, report: &Report) {
    let setup = &report.setup;
    let voice = &setup.voice;
    for (name, value) in [
        ("server", format!("{} {}", setup.url, setup.door)),
        (
            "asked for",
            format!("{}, model {}, voice {voice}", setup.format, setup.model),
        ),
        ("texts", format!("{}, seed {}", setup.texts, setup.seed)),
        (
            "time",
            format!(
                "{} s warm-up, {} s measured",
                setup.warmup_s, setup.duration_s
            ),
        ),
        ("generator", format!("{} ({})", setup.machine, setup.tool)),
    ] {
        line(text, &format!("{name:<10} {value}"));
    }
}

fn summary(text: &mut String, level: &Summary) {
    let requests = level.requests;
    line(text, &format!("\n== {}", level.load));
    line(
        text,
        &format!(
            "requests   {} measured: {} complete, {} cancelled, {} refused, {} failed",
            requests.started,
            requests.complete,
            requests.cancelled,
            requests.refused,
            requests.failed
        ),
    );
    for (kind, count) in &level.errors {
        line(text, &format!("  failed   {count} x {kind}"));
    }
    for words in &level.error_samples {
        line(text, &format!("           such as: {words}"));
    }
    for (status, count) in &level.refusals {
        line(text, &format!("  refused  {count} x {status}"));
    }
    line(
        text,
        &format!(
            "throughput {:.2} s of audio per second, {:.2} streams per second",
            level.throughput_audio_s_per_s, level.throughput_streams_per_s
        ),
    );
    figures(text, "complete streams", &level.complete);
    if level.cancelled.streams > 0 {
        figures(
            text,
            "cancelled streams, up to the cancel",
            &level.cancelled,
        );
    }
    line(text, "  the generator itself");
    spread(text, "connect, ms", level.connect_ms, 2);
    spread(text, "begun late, ms", level.lateness.starts_ms, 2);
    spread(text, "timer late, ms", level.lateness.timer_ms, 2);
}

fn figures(text: &mut String, title: &str, figures: &Figures) {
    line(
        text,
        &format!(
            "  {title:<35} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "n", "mean", "p50", "p95", "p99", "max"
        ),
    );
    spread(text, "text, characters", figures.text_chars, 0);
    spread(text, "audio, s", figures.audio_s, 2);
    spread(text, "TTFB, ms", figures.ttfb_ms, 1);
    spread(text, "TTFC, ms", figures.ttfc_ms, 1);
    spread(text, "TTFA, ms", figures.ttfa_ms, 1);
    spread(text, "RTF (stream)", figures.rtf_stream, 3);
    spread(text, "RTF (end to end)", figures.rtf_end_to_end, 3);
    spread(text, "RTF (model)", figures.rtf_model, 3);
    spread(text, "gap, ms", figures.gap_ms, 1);
    for stalls in &figures.playout {
        let Some(free) = stalls.stall_free else {
            continue;
        };
        line(
            text,
            &format!(
                "    prebuffer {:>3} ms: {:>5.1} % stall-free, {:.1} ms stalled per minute, worst \
                 deficit {:.1} ms, {} stalls",
                stalls.prebuffer_ms,
                free * 100.0,
                stalls.stall_ms_per_minute.unwrap_or_default(),
                stalls.worst_deficit_ms,
                stalls.stalls
            ),
        );
    }
}

fn spread(text: &mut String, name: &str, spread: Option<Distribution>, digits: usize) {
    let Some(d) = spread else {
        return;
    };
    let mut row = format!("    {name:<33} {:>6} {:>9.digits$}", d.n, d.mean);
    for (value, percentile) in [(d.p50, true), (d.p95, true), (d.p99, true), (d.max, false)] {
        let mark = if percentile && d.few { "*" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(row, " {value:>8.digits$}{mark}");
    }
    line(text, &row);
}

fn capacity(text: &mut String, report: &Report) {
    let Some(capacity) = &report.capacity else {
        return;
    };
    let (users, held) = (capacity.users, capacity.held_s);
    line(
        text,
        &format!("\nlargest number of users that held for {held} s: {users}"),
    );
    match capacity.broke {
        Some(broke) => line(
            text,
            &format!("  {broke} did not: {}", capacity.because.join("; ")),
        ),
        None => line(text, "  the search was bounded there by --max-users"),
    }
}
