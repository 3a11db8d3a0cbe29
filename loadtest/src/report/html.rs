//! The report as one page: no script, nothing fetched, dark or light as the reader has it.

use std::fmt::Write;

use super::Report;
use super::plot::{Axes, Plot, SERIES, escape};
use crate::measure::level::{Figures, ms};
use crate::measure::stream::{PREBUFFERS, Stream};
use crate::measure::{Distribution, Level, Playout, Summary};
use crate::trace::{Outcome, Trace, media_time};

const STYLE: &str = include_str!("style.css");

/// The whole page. `levels` are those that `report` summarises.
#[must_use]
pub fn html(report: &Report, levels: &[Level]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Load test of {}</title>\n<style>\n{STYLE}</style>\n<main>\n<h1>Load test</h1>\n",
        escape(&report.setup.url)
    );
    page.push_str(&verdict(report));
    page.push_str(&setup(report));
    page.push_str(&capacity(report));
    page.push_str(&table("Complete streams", &report.levels, |level| {
        &level.complete
    }));
    if report
        .levels
        .iter()
        .any(|level| level.cancelled.streams > 0)
    {
        let title = "Cancelled streams, up to the cancel";
        page.push_str(&table(title, &report.levels, |level| &level.cancelled));
    }
    page.push_str(&lateness(&report.levels));
    page.push_str(&first_chunks(levels));
    page.push_str(&rtf(levels));
    page.push_str(&timelines(levels));
    page.push_str(&formulas(report));
    page.push_str("</main>\n</html>\n");
    page
}

fn list(class: &str, title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items
        .iter()
        .map(|i| format!("<li>{}</li>", escape(i)))
        .collect();
    format!("<section class=\"{class}\"><h2>{title}</h2><ul>{items}</ul></section>\n")
}

fn verdict(report: &Report) -> String {
    list("bad", "This run does not count", &report.doubts) + &list("note", "Notes", &report.notes)
}

fn setup(report: &Report) -> String {
    let setup = &report.setup;
    let voice = &setup.voice;
    let rows = [
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
        (
            "cancels",
            format!(
                "{} of requests within {} s",
                setup.cancel_share, setup.cancel_within_s
            ),
        ),
        ("generator", setup.machine.clone()),
        ("program", setup.tool.to_owned()),
        ("begun", date(setup.at_unix_s)),
    ];
    let rows: String = rows
        .iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(value)))
        .collect();
    format!("<dl>{rows}</dl>\n")
}

fn capacity(report: &Report) -> String {
    let Some(found) = &report.capacity else {
        return String::new();
    };
    let why = match found.broke {
        Some(broke) => format!("{broke} did not hold: {}", found.because.join("; ")),
        None => "the search was bounded there".to_owned(),
    };
    format!(
        "<p class=\"answer\"><b>{}</b> users held for {} s; {}</p>\n",
        found.users,
        found.held_s,
        escape(&why)
    )
}

/// A level a column, a figure a row: median, 95th and 99th percentile, largest.
fn table(title: &str, levels: &[Summary], of: fn(&Summary) -> &Figures) -> String {
    type Row = (&'static str, fn(&Figures) -> Option<Distribution>, usize);
    let spreads: [Row; 9] = [
        ("text, characters", |f| f.text_chars, 0),
        ("audio, s", |f| f.audio_s, 2),
        ("TTFB, ms", |f| f.ttfb_ms, 1),
        ("TTFC, ms", |f| f.ttfc_ms, 1),
        ("TTFA, ms", |f| f.ttfa_ms, 1),
        ("RTF (stream)", |f| f.rtf_stream, 3),
        ("RTF (end to end)", |f| f.rtf_end_to_end, 3),
        ("RTF (model)", |f| f.rtf_model, 3),
        ("gap, ms", |f| f.gap_ms, 1),
    ];
    let mut rows = row("requests", levels, |level| {
        let r = level.requests;
        format!(
            "{} complete, {} cancelled, {} refused, {} failed",
            r.complete, r.cancelled, r.refused, r.failed
        )
    });
    rows += &row("throughput, audio s/s", levels, |level| {
        format!("{:.2}", level.throughput_audio_s_per_s)
    });
    for (name, figure, digits) in spreads {
        if levels.iter().any(|level| figure(of(level)).is_some()) {
            rows += &row(name, levels, |level| spread(figure(of(level)), digits));
        }
    }
    for (index, prebuffer) in PREBUFFERS.iter().enumerate() {
        let name = format!("stall-free at {} ms", prebuffer.as_millis());
        rows += &row(&name, levels, |level| stalls(of(level), index));
    }
    let heads: String = levels
        .iter()
        .map(|l| format!("<th>{}</th>", escape(&l.load)))
        .collect();
    format!(
        "<h2>{title}</h2>\n<p>p50 / p95 / p99 / max; * marks percentiles of fewer than 100.</p>\n\
         <div class=\"wide\"><table><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody>\
         </table></div>\n"
    )
}

fn row(name: &str, levels: &[Summary], cell: impl Fn(&Summary) -> String) -> String {
    let cells: String = levels
        .iter()
        .map(|l| format!("<td>{}</td>", escape(&cell(l))))
        .collect();
    format!("<tr><th>{}</th>{cells}</tr>\n", escape(name))
}

fn spread(spread: Option<Distribution>, digits: usize) -> String {
    let Some(d) = spread else {
        return "-".to_owned();
    };
    let mark = if d.few { "*" } else { "" };
    format!(
        "{:.digits$}{mark} / {:.digits$}{mark} / {:.digits$}{mark} / {:.digits$}",
        d.p50, d.p95, d.p99, d.max
    )
}

fn stalls(figures: &Figures, index: usize) -> String {
    let stalls = figures.playout[index];
    match stalls.stall_free {
        Some(free) => format!(
            "{:.1} %, {:.0} ms per minute, worst {:.0} ms",
            free * 100.0,
            stalls.stall_ms_per_minute.unwrap_or_default(),
            stalls.worst_deficit_ms
        ),
        None => "-".to_owned(),
    }
}

fn lateness(levels: &[Summary]) -> String {
    let heads: String = levels
        .iter()
        .map(|l| format!("<th>{}</th>", escape(&l.load)))
        .collect();
    let rows = row("connect, ms", levels, |l| spread(l.connect_ms, 2))
        + &row("begun late, ms", levels, |l| {
            spread(l.lateness.starts_ms, 2)
        })
        + &row("timer late, ms", levels, |l| spread(l.lateness.timer_ms, 2));
    format!(
        "<h2>The generator itself</h2>\n<div class=\"wide\"><table><thead><tr><th></th>{heads}</tr>\
         </thead><tbody>{rows}</tbody></table></div>\n"
    )
}

/// Measured whole streams of a level.
fn complete(level: &Level) -> impl Iterator<Item = &Trace> {
    let measured = level.traces.iter().filter(|trace| trace.measured);
    measured.filter(|trace| trace.outcome == Outcome::Complete)
}

fn legend(levels: &[Level]) -> String {
    let entry = |(index, level): (usize, &Level)| {
        let words = escape(&level.load.to_string());
        format!("<span class=\"key s{}\">{words}</span> ", index % SERIES)
    };
    let entries: String = levels.iter().enumerate().map(entry).collect();
    format!("<p>{entries}</p>\n")
}

/// For each level the sorted values of one figure; levels without any are left out.
fn sorted(levels: &[Level], figure: fn(&Stream) -> f64) -> Vec<(usize, Vec<f64>)> {
    let mut all = Vec::new();
    for (index, level) in levels.iter().enumerate() {
        let streams = complete(level).filter_map(Stream::of);
        let mut values: Vec<f64> = streams.map(|stream| figure(&stream)).collect();
        values.sort_by(f64::total_cmp);
        if !values.is_empty() {
            all.push((index, values));
        }
    }
    all
}

fn largest(series: &[(usize, Vec<f64>)]) -> f64 {
    let last = series.iter().filter_map(|(_, values)| values.last());
    last.copied().fold(0.0, f64::max)
}

/// The share of streams whose first chunk came within a time.
fn first_chunks(levels: &[Level]) -> String {
    let series = sorted(levels, |stream| stream.ttfc * 1e3);
    if series.is_empty() {
        return String::new();
    }
    let mut plot = Plot::new(&Axes {
        title: "Cumulative distribution of the time to the first chunk".into(),
        x_max: largest(&series) * 1.05,
        y_max: 1.0,
        x_label: "TTFC, ms",
        y_label: "share of streams",
    });
    for (index, values) in &series {
        let n = values.len() as f64;
        let mut points = vec![(values[0], 0.0)];
        points.extend(
            values
                .iter()
                .enumerate()
                .map(|(i, v)| (*v, (i + 1) as f64 / n)),
        );
        plot.steps(&points, &format!("s{}", index % SERIES));
    }
    format!(
        "<h2>Time to the first chunk</h2>\n{}<figure>{}</figure>\n",
        legend(levels),
        plot.finish()
    )
}

/// How many bars the RTF distribution has.
const BARS: usize = 30;

/// How end-to-end RTF is spread; right of 1 a listener cannot be kept.
fn rtf(levels: &[Level]) -> String {
    let series = sorted(levels, |stream| stream.rtf_end_to_end);
    if series.is_empty() {
        return String::new();
    }
    let x_max = (largest(&series) * 1.05).max(0.01);
    let width = x_max / BARS as f64;
    let shares: Vec<_> = series
        .iter()
        .map(|(index, v)| (*index, bars(v, width)))
        .collect();
    let tallest = shares
        .iter()
        .flat_map(|(_, bars)| bars)
        .copied()
        .fold(0.0, f64::max);
    let mut plot = Plot::new(&Axes {
        title: "Distribution of end-to-end RTF".into(),
        x_max,
        y_max: tallest * 1.05,
        x_label: "RTF, end to end",
        y_label: "share of streams",
    });
    for (index, bars) in &shares {
        let mut points = vec![(0.0, 0.0)];
        points.extend(
            bars.iter()
                .enumerate()
                .map(|(bar, share)| (bar as f64 * width, *share)),
        );
        points.push((x_max, 0.0));
        plot.steps(&points, &format!("s{}", index % SERIES));
    }
    if x_max >= 1.0 {
        plot.mark(1.0, "real time");
    }
    format!(
        "<h2>Real-time factor</h2>\n{}<figure>{}</figure>\n",
        legend(levels),
        plot.finish()
    )
}

/// The share of values in each of [`BARS`] bars of `width`.
fn bars(values: &[f64], width: f64) -> Vec<f64> {
    let mut shares = vec![0.0; BARS];
    for (bar, share) in shares.iter_mut().enumerate() {
        let (from, to) = (bar as f64 * width, (bar + 1) as f64 * width);
        let inside = values.iter().filter(|value| (from..to).contains(value));
        *share = inside.count() as f64 / values.len() as f64;
    }
    shares
}

/// Two streams of each level: the one in the middle by first chunk, and the one that stalled most.
fn timelines(levels: &[Level]) -> String {
    let mut figures = String::new();
    for level in levels {
        let mut traces: Vec<(&Trace, Stream)> = complete(level)
            .filter_map(|t| Some((t, Stream::of(t)?)))
            .collect();
        traces.sort_by(|a, b| a.1.ttfc.total_cmp(&b.1.ttfc));
        let middle = traces.get(traces.len() / 2);
        let worst = traces
            .iter()
            .max_by_key(|(_, stream)| stream.playouts[0].stalled());
        for (words, chosen) in [("median first chunk", middle), ("worst stalls", worst)] {
            if let Some((trace, stream)) = chosen {
                let title = format!("{}: {words}", level.load);
                figures += &timeline(&title, trace, &stream.playouts[0]);
            }
        }
    }
    if figures.is_empty() {
        return figures;
    }
    format!(
        "<h2>Chunks against playout</h2>\n<p><span class=\"key s0\">audio that has arrived</span> \
         <span class=\"key s1\">audio that was heard, prebuffer 0</span> \
         <span class=\"key stall\">stall</span> Where the lower line meets the upper one, the \
         listener has run dry.</p>\n{figures}"
    )
}

/// What arrived and what was heard, over the time since the request was due.
fn timeline(title: &str, trace: &Trace, playout: &Playout) -> String {
    let since = |at: std::time::Duration| at.saturating_sub(trace.due).as_secs_f64();
    let end = since(playout.end);
    let mut plot = Plot::new(&Axes {
        title: title.to_owned(),
        x_max: end,
        y_max: trace.audio().as_secs_f64(),
        x_label: "time since the request was due, s",
        y_label: "audio, s",
    });
    for stall in &playout.stalls {
        let (from, to) = (since(stall.from), since(stall.from + stall.length));
        plot.area((from, 0.0), (to, trace.audio().as_secs_f64()), "stall");
    }
    let mut arrived = vec![(0.0, 0.0)];
    let mut heard = Vec::new();
    let mut samples = 0;
    for (chunk, begins) in trace.chunks.iter().zip(&playout.heard) {
        let before = media_time(samples, trace.rate).as_secs_f64();
        samples += chunk.samples;
        let after = media_time(samples, trace.rate).as_secs_f64();
        arrived.push((since(chunk.at), after));
        heard.push((since(*begins), before));
        heard.push((
            since(*begins + media_time(chunk.samples, trace.rate)),
            after,
        ));
    }
    arrived.push((end, media_time(samples, trace.rate).as_secs_f64()));
    plot.steps(&arrived, "s0");
    plot.line(&heard, "s1");
    let (stalls, stalled) = (playout.stalls.len(), ms(playout.stalled()));
    format!(
        "<figure><figcaption>{}: {stalls} stalls, {stalled:.0} ms</figcaption>{}</figure>\n",
        escape(title),
        plot.finish()
    )
}

fn formulas(report: &Report) -> String {
    let rows: String = report
        .formulas
        .iter()
        .map(|f| {
            format!(
                "<dt>{}</dt><dd>{}</dd>",
                escape(f.figure),
                escape(f.formula)
            )
        })
        .collect();
    format!("<h2>Formulas</h2>\n<dl>{rows}</dl>\n")
}

/// `2026-08-21 14:05 UTC`, by the rule of the Gregorian calendar with years that begin in March.
fn date(unix_s: u64) -> String {
    let (days, seconds) = (unix_s / 86_400, unix_s % 86_400);
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let march = (5 * in_year + 2) / 153;
    let of_month = in_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{year}-{month:02}-{of_month:02} ");
    let _ = write!(text, "{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_by_hand() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_787_321_100), "2026-08-21 14:05 UTC");
        assert_eq!(date(4_107_542_399), "2100-02-28 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[test]
    fn every_value_falls_into_one_bar() {
        let shares = bars(&[0.0, 0.05, 0.1, 2.9], 0.1);
        assert_eq!((shares[0], shares[1], shares[29]), (0.5, 0.25, 0.0));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
