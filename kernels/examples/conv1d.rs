//! Times the convolution in the shapes of a vocoder's levels: floating-point operations a second
//! on one core, in CPU time of the thread, so that a busy machine does not matter much.
#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a program that measures and prints"
)]

use kernels::{Conv1d, Rows, RowsMut, ops::conv1d::SLACK};

const RUNS: u32 = 100;

fn main() {
    for (channels, kernel, dilation, count) in [
        (32, 3, 1, 12_288),
        (32, 7, 3, 12_288),
        (32, 7, 12, 12_288),
        (64, 7, 12, 3_072),
        (128, 7, 12, 384),
    ] {
        let weights = vec![0.01; channels * channels * kernel];
        let Some(conv) = Conv1d::new(&weights, None, [channels, channels, kernel], dilation) else {
            continue;
        };
        let row = count + conv.span() + SLACK;
        let (x, mut y) = (vec![0.5; channels * row], vec![0.0; channels * row]);
        // The counter moves in milliseconds, so many runs are timed together.
        let start = cpu_seconds();
        for _ in 0..RUNS {
            let out = RowsMut {
                data: &mut y,
                row,
                offset: 0,
                stride: 1,
            };
            conv.run(Rows { data: &x, row }, count, 0, out, None);
        }
        let each = (cpu_seconds() - start) / f64::from(RUNS);
        let work = 2.0 * (channels * channels * kernel * count) as f64;
        println!(
            "{channels} channels, kernel {kernel}, dilation {dilation}: {:.1} GFLOP/s, {:.2} ms",
            work / each / 1e9,
            each * 1e3
        );
    }
}

/// CPU seconds of this thread, as Linux counts them.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = text
        .split(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0.0);
    nanoseconds / 1e9
}
