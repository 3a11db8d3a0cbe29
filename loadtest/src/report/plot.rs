//! Plots as inline SVG: axes, lines, steps, bars. Colours come from the page's style by class, so
//! that a plot is right in the dark as well.

use std::fmt::Write;

const WIDTH: f64 = 680.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 42.0;

/// Series have this many classes, `s0` to `s5`; more series share them.
pub(super) const SERIES: usize = 6;

/// What the axes show.
#[derive(Clone, Debug)]
pub(super) struct Axes {
    /// What the plot shows, for those who cannot see it.
    pub title: String,
    /// Largest value from left to right; the smallest is 0.
    pub x_max: f64,
    /// Largest value from bottom to top; the smallest is 0.
    pub y_max: f64,
    /// Quantity and unit.
    pub x_label: &'static str,
    /// Quantity and unit.
    pub y_label: &'static str,
}

/// A plot in the making.
#[derive(Debug)]
pub(super) struct Plot {
    svg: String,
    x_max: f64,
    y_max: f64,
}

impl Plot {
    pub(super) fn new(axes: &Axes) -> Self {
        let x_max = if axes.x_max > 0.0 { axes.x_max } else { 1.0 };
        let y_max = if axes.y_max > 0.0 { axes.y_max } else { 1.0 };
        let mut plot = Self {
            svg: format!(
                "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
                escape(&axes.title)
            ),
            x_max,
            y_max,
        };
        plot.grid(axes);
        plot
    }

    /// Writing to a string cannot fail.
    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.svg.write_fmt(element);
        self.svg.push('\n');
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (value / self.x_max).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (value / self.y_max).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }

    fn grid(&mut self, axes: &Axes) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for tick in ticks(self.x_max) {
            let x = self.x(tick);
            self.put(format_args!(
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
                bottom + 16.0
            ));
        }
        for tick in ticks(self.y_max) {
            let y = self.y(tick);
            self.put(format_args!(
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
                LEFT - 6.0,
                y + 4.0
            ));
        }
        self.put(format_args!(
            "<text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <text transform=\"translate(13 {TOP}) rotate(-90)\" text-anchor=\"end\">{}</text>",
            HEIGHT - 8.0,
            escape(axes.x_label),
            escape(axes.y_label)
        ));
    }

    /// A line through points.
    pub(super) fn line(&mut self, points: &[(f64, f64)], class: &str) {
        let mut path = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let verb = if index == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{verb}{:.1} {:.1}", self.x(*x), self.y(*y));
        }
        self.put(format_args!("<path class=\"line {class}\" d=\"{path}\"/>"));
    }

    /// A line that jumps to each point's height where the point lies.
    pub(super) fn steps(&mut self, points: &[(f64, f64)], class: &str) {
        let mut corners = Vec::with_capacity(points.len() * 2);
        for (x, y) in points {
            if let Some((_, before)) = corners.last().copied() {
                corners.push((*x, before));
            }
            corners.push((*x, *y));
        }
        self.line(&corners, class);
    }

    /// A filled box between two corners.
    pub(super) fn area(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let (left, bottom) = (self.x(from.0), self.y(from.1));
        let (width, height) = (self.x(to.0) - left, bottom - self.y(to.1));
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"/>",
            bottom - height
        ));
    }

    /// An upright dashed line with a word beside it.
    pub(super) fn mark(&mut self, x: f64, words: &str) {
        let (x, bottom) = (self.x(x), HEIGHT - BOTTOM);
        self.put(format_args!(
            "<path class=\"mark\" d=\"M{x:.1} {TOP}V{bottom}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 4.0,
            TOP + 11.0,
            escape(words)
        ));
    }

    pub(super) fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

/// Round values from 0 up to `max`, four to ten of them.
fn ticks(max: f64) -> Vec<f64> {
    let rough = max / 5.0;
    let ten = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .iter()
        .map(|s| s * ten)
        .find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let mut ticks = Vec::new();
    for index in 0..=10 {
        let tick = f64::from(index) * step;
        if tick > max * 1.000_001 {
            break;
        }
        // Multiples of 0.1 carry a tail of digits that nobody wants to read.
        ticks.push((tick * 1e6).round() / 1e6);
    }
    ticks
}

/// Text that is safe inside an element or an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(1.0), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(0.37), [0.0, 0.1, 0.2, 0.3]);
        for max in [0.003, 0.7, 9.9, 12.0, 123.0, 98_765.0] {
            let found = ticks(max);
            assert!((3..=11).contains(&found.len()), "{max}: {found:?}");
        }
    }

    #[test]
    fn a_step_goes_across_and_then_up() {
        let axes = Axes {
            title: "a <b>".into(),
            x_max: 10.0,
            y_max: 1.0,
            x_label: "x",
            y_label: "y",
        };
        let mut plot = Plot::new(&axes);
        plot.steps(&[(0.0, 0.0), (10.0, 1.0)], "s0");
        let svg = plot.finish();
        assert!(
            svg.contains("d=\"M56.0 238.0L666.0 238.0L666.0 12.0\""),
            "{svg}"
        );
        assert!(svg.contains("aria-label=\"a &lt;b&gt;\""));
    }
}
