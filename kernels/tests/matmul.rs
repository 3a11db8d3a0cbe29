//! Products with every format: as the formula says, and the same bits in any company.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use kernels::matrix::{self, encode};
use kernels::{Format, Matrix, Pool, matmul};

const FORMATS: [Format; 6] = [
    Format::F32,
    Format::F16,
    Format::Bf16,
    Format::Q8_0,
    Format::Q4_0,
    Format::Q4_1,
];

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    // Now and then a large one, as activations have.
    let mut number = || match random.u8(..) {
        0 => 30.0 * (random.f32() - 0.5),
        _ => 2.0 * random.f32() - 1.0,
    };
    (0..count).map(|_| number()).collect()
}

fn matrix(format: Format, rows: usize, cols: usize, seed: u64) -> Matrix {
    let bytes = encode(format, &numbers(rows * cols, seed));
    Matrix::new(format, rows, cols, &bytes).unwrap()
}

fn quantised(format: Format) -> bool {
    format.block().0 > 1
}

/// Columns for a format: whole blocks, or any number.
fn cols(format: Format, cols: usize) -> usize {
    if quantised(format) {
        cols.next_multiple_of(32)
    } else {
        cols
    }
}

fn product(pool: &Pool, x: &[f32], w: &Matrix) -> Vec<f32> {
    let mut y = vec![f32::NAN; x.len() / w.cols() * w.rows()];
    matmul(pool, x, &[w], &mut [&mut y]);
    y
}

#[test]
fn products_are_as_the_formula_says() {
    let pool = Pool::new(3);
    let shapes = [
        (1, 1, 1),
        (1, 16, 64),
        (2, 17, 33),
        (3, 5, 96),
        (4, 48, 31),
        (5, 100, 128),
        (6, 31, 576),
        (7, 33, 320),
        (16, 50, 65),
        (70, 40, 96),
        (131, 19, 64),
    ];
    for format in FORMATS {
        for (m, rows, wide) in shapes {
            let cols = cols(format, wide);
            let w = matrix(format, rows, cols, 1);
            let x = numbers(m * cols, 2);
            let y = product(&pool, &x, &w);
            let mut weights = vec![0.0; cols];
            for row in 0..rows {
                w.row(row, &mut weights);
                for (m, x) in x.chunks(cols).enumerate() {
                    let terms = x
                        .iter()
                        .zip(&weights)
                        .map(|(x, w)| f64::from(*x) * f64::from(*w));
                    let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| {
                        (sum + term, size + term.abs())
                    });
                    // A chain of roundings that mostly cancel, each of half a last place.
                    let mut bound = 6e-8 * size * (3.0 + (cols as f64).sqrt()) + 1e-9;
                    if quantised(format) {
                        // An activation moves by half a step of its block, in any direction.
                        let largest = x.iter().fold(0.0_f32, |a, x| a.max(x.abs()));
                        let weights: f32 = weights.iter().map(|w| w.abs()).sum();
                        bound += f64::from(largest * weights) / 65_534.0;
                    }
                    let got = f64::from(y[m * rows + row]);
                    assert!(
                        (got - sum).abs() <= bound,
                        "{format:?} {m} of {rows}x{cols}, {row}: {got}, expected {sum} +- {bound}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_row_has_the_same_bits_in_any_company() {
    for format in FORMATS {
        let cols = cols(format, 160);
        let (a, b) = (matrix(format, 40, cols, 1), matrix(format, 67, cols, 2));
        let x = numbers(150 * cols, 3);
        let one = Pool::new(1);
        let rows =
            |w: &Matrix| -> Vec<f32> { x.chunks(cols).flat_map(|x| product(&one, x, w)).collect() };
        let alone = [rows(&a), rows(&b)];
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads);
            for m in [1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 17, 64, 65, 150] {
                let (mut first, mut second) = (vec![0.0; m * 40], vec![0.0; m * 67]);
                matmul(
                    &pool,
                    &x[..m * cols],
                    &[&a, &b],
                    &mut [&mut first, &mut second],
                );
                assert_eq!(first, alone[0][..m * 40], "{format:?}, {m} rows");
                assert_eq!(second, alone[1][..m * 67], "{format:?}, {m} rows");
            }
        }
    }
}

#[test]
fn formats_may_be_mixed() {
    let pool = Pool::new(2);
    let x = numbers(3 * 64, 1);
    let matrices: Vec<Matrix> = FORMATS.iter().map(|&f| matrix(f, 20, 64, 2)).collect();
    let mut outputs = vec![vec![0.0; 60]; matrices.len()];
    let refs: Vec<&Matrix> = matrices.iter().collect();
    let mut views: Vec<&mut [f32]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    matmul(&pool, &x, &refs, &mut views);
    for (w, y) in matrices.iter().zip(&outputs) {
        assert_eq!(&product(&pool, &x, w), y, "{:?}", w.format());
    }
}

#[test]
fn stored_numbers_come_back() {
    for (format, step) in [
        (Format::F32, 0.0),
        (Format::F16, 1.0 / 2_048.0),
        (Format::Bf16, 1.0 / 256.0),
        (Format::Q8_0, 1.0 / 254.0),
        (Format::Q4_0, 1.0 / 8.0),
        (Format::Q4_1, 1.0 / 15.0),
    ] {
        let values = numbers(19 * 96, 4);
        let w = Matrix::new(format, 19, 96, &encode(format, &values)).unwrap();
        let mut row = vec![0.0; 96];
        for (index, values) in values.chunks(96).enumerate() {
            w.row(index, &mut row);
            for (got, value) in row.chunks(32).zip(values.chunks(32)) {
                let largest = value.iter().fold(0.0_f32, |a, v| a.max(v.abs()));
                for (got, value) in got.iter().zip(value) {
                    let bound = 1.01 * step * largest;
                    assert!(
                        (got - value).abs() <= bound,
                        "{format:?}: {got}, stored {value}"
                    );
                }
            }
        }
    }
}

#[test]
fn blocks_of_a_checkpoint_are_read_as_ggml_lays_them_out() {
    // A scale of 0.5 and quants 0, 1, 2 ...
    let mut q8 = vec![0, 0x38];
    q8.extend((0..32_u8).map(|q| q.wrapping_sub(16)));
    let mut row = [0.0; 32];
    Matrix::new(Format::Q8_0, 1, 32, &q8)
        .unwrap()
        .row(0, &mut row);
    assert_eq!(row[..3], [-8.0, -7.5, -7.0]);
    // Byte i: column i below, column 16 + i above.
    let mut q4 = vec![0, 0x38];
    q4.extend((0..16_u8).map(|q| q | (15 - q) << 4));
    Matrix::new(Format::Q4_0, 1, 32, &q4)
        .unwrap()
        .row(0, &mut row);
    assert_eq!(
        [row[0], row[1], row[15], row[16], row[31]],
        [-4.0, -3.5, 3.5, 3.5, -4.0]
    );
    q4.splice(2..2, [0, 0x3c]);
    Matrix::new(Format::Q4_1, 1, 32, &q4)
        .unwrap()
        .row(0, &mut row);
    assert_eq!(
        [row[0], row[1], row[15], row[16], row[31]],
        [1.0, 1.5, 8.5, 8.5, 1.0]
    );
}

#[test]
fn a_row_that_is_not_a_number_spoils_itself_alone() {
    let pool = Pool::new(2);
    for format in FORMATS {
        let w = matrix(format, 40, 64, 1);
        let mut x = numbers(5 * 64, 2);
        let clean = product(&pool, &x, &w);
        x[2 * 64 + 7] = f32::NAN;
        let y = product(&pool, &x, &w);
        assert!(y[80..120].iter().all(|y| y.is_nan()), "{format:?}");
        assert_eq!(
            [&y[..80], &y[120..]],
            [&clean[..80], &clean[120..]],
            "{format:?}"
        );
    }
}

#[test]
fn sizes_that_do_not_fit_are_named() {
    let error = |format, rows, cols, bytes: usize| {
        Matrix::new(format, rows, cols, &vec![0; bytes]).unwrap_err()
    };
    assert_eq!(
        error(Format::F32, 0, 4, 0),
        matrix::Error::Size { rows: 0, cols: 4 }
    );
    let huge = usize::MAX / 2;
    assert_eq!(
        error(Format::F16, huge, 4, 0),
        matrix::Error::Size {
            rows: huge,
            cols: 4
        }
    );
    assert_eq!(
        error(Format::Q4_0, 2, 40, 0).to_string(),
        "40 columns in Q4_0: must be a multiple of 32"
    );
    assert_eq!(
        error(Format::Q8_0, 2, 64, 100).to_string(),
        "100 bytes for 2 x 64 in Q8_0: expected 136"
    );
}
