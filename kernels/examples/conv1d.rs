//! Times the convolution in the shapes of a vocoder's levels: floating-point operations a second
//! on one core, in CPU time of this process's one thread as far as the machine is idle.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a program that measures and prints"
)]

use kernels::{Conv1d, Rows, RowsMut, ops::conv1d::SLACK};

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
        let mut best = f64::INFINITY;
        for _ in 0..30 {
            let start = std::time::Instant::now();
            let out = RowsMut {
                data: &mut y,
                row,
                offset: 0,
                stride: 1,
            };
            conv.run(Rows { data: &x, row }, count, 0, out, None);
            best = best.min(start.elapsed().as_secs_f64());
        }
        let work = 2.0 * (channels * channels * kernel * count) as f64;
        println!(
            "{channels} channels, kernel {kernel}, dilation {dilation}: {:.1} GFLOP/s, {:.2} ms",
            work / best / 1e9,
            best * 1e3
        );
    }
}
