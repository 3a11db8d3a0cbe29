//! Attention over pages: as the formula says, wherever the pages lie.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use kernels::Pool;
use kernels::paged::{Queries, Row, Shape, Store, attend};

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| 4.0 * random.f32() - 2.0).collect()
}

/// A sequence's keys and values `[tokens, kv_heads, head_dim]`, and its pages.
struct Sequence {
    k: Vec<f32>,
    v: Vec<f32>,
    pages: Vec<u32>,
}

/// Writes sequences of some lengths to pages in a shuffled order, in the last layer.
fn fill(shape: Shape, lengths: &[usize], seed: u64) -> (Store, Vec<Sequence>) {
    let mut store = Store::new(shape).unwrap();
    let mut free: Vec<u32> = (0..u32::try_from(shape.pages).unwrap()).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut free);
    let size = shape.kv_heads * shape.head_dim;
    let sequences = lengths.iter().enumerate().map(|(index, &length)| {
        let seed = 100 + 2 * u64::try_from(index).unwrap();
        let (k, v) = (
            numbers(length * size, seed),
            numbers(length * size, seed + 1),
        );
        let pages = free.split_off(free.len() - length.div_ceil(shape.page_tokens));
        for (t, (k, v)) in k.chunks(size).zip(v.chunks(size)).enumerate() {
            let page = pages[t / shape.page_tokens];
            store.write(shape.layers - 1, page, t % shape.page_tokens, k, v);
        }
        Sequence { k, v, pages }
    });
    let sequences = sequences.collect();
    (store, sequences)
}

/// The formula in `f64` for one row.
fn reference(
    sequence: &Sequence,
    shape: Shape,
    heads: usize,
    q: &[f32],
    seen: std::ops::Range<usize>,
) -> Vec<f64> {
    let dim = shape.head_dim;
    let scale = f64::from(1.0 / (dim as f32).sqrt());
    let head = |of: &[f32], t: usize, head: usize| -> Vec<f64> {
        let start = (t * shape.kv_heads + head) * dim;
        of[start..start + dim]
            .iter()
            .map(|&x| f64::from(x))
            .collect()
    };
    let mut out = Vec::new();
    for (index, q) in q.chunks(dim).enumerate() {
        let kv = index / (heads / shape.kv_heads);
        let score = |t| -> f64 {
            let k = head(&sequence.k, t, kv);
            scale * q.iter().zip(k).map(|(&q, k)| f64::from(q) * k).sum::<f64>()
        };
        let weights: Vec<f64> = seen.clone().map(|t| score(t).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = vec![0.0; dim];
        for (t, weight) in seen.clone().zip(weights) {
            for (sum, v) in sum.iter_mut().zip(head(&sequence.v, t, kv)) {
                *sum += weight / total * v;
            }
        }
        out.extend(sum);
    }
    out
}

#[test]
fn rows_of_several_sequences_are_as_the_formula_says() {
    let cases = [
        (1, 1, 1, 3),
        (16, 3, 3, 64),
        (5, 2, 4, 20),
        (8, 1, 8, 33),
        (32, 4, 1, 128),
    ];
    for (page_tokens, kv_heads, group, head_dim) in cases {
        let shape = Shape {
            layers: 2,
            pages: 160,
            page_tokens,
            kv_heads,
            head_dim,
        };
        let (store, sequences) = fill(shape, &[1, 7, 40, 93], 5);
        let heads = kv_heads * group;
        for window in [None, Some(1), Some(10), Some(1_000)] {
            let mut rows = Vec::new();
            let mut of = Vec::new();
            for sequence in &sequences {
                let length = sequence.k.len() / kv_heads / head_dim;
                for position in [0, length / 2, length - 1] {
                    rows.push(Row {
                        pages: &sequence.pages,
                        position,
                        window,
                    });
                    of.push(sequence);
                }
            }
            let q = numbers(rows.len() * heads * head_dim, 9);
            let mut out = vec![f32::NAN; q.len()];
            let queries = Queries {
                q: &q,
                heads,
                scale: 1.0 / (head_dim as f32).sqrt(),
                rows: &rows,
            };
            attend(&Pool::new(3), &store, 1, &queries, &mut out);
            let size = heads * head_dim;
            for (index, row) in rows.iter().enumerate() {
                let end = row.position + 1;
                let seen = end - window.unwrap_or(end).min(end)..end;
                let q = &q[index * size..][..size];
                let expected = reference(of[index], shape, heads, q, seen);
                for (got, expected) in out[index * size..].iter().zip(expected) {
                    assert!(
                        (f64::from(*got) - expected).abs() < 2e-5,
                        "{shape:?}, row {index}: {got}, expected {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_row_has_the_same_bits_on_any_pages_and_in_any_company() {
    let (heads, length) = (6, 77);
    let mut first: Option<Vec<f32>> = None;
    for (page_tokens, seed) in [(16, 1), (16, 2), (3, 3), (128, 4)] {
        let shape = Shape {
            layers: 1,
            pages: 60,
            page_tokens,
            kv_heads: 2,
            head_dim: 24,
        };
        let (store, sequences) = fill(shape, &[length, 30], seed);
        let size = heads * 24;
        let q = numbers(length * size, 9);
        let row = |position| Row {
            pages: &sequences[0].pages,
            position,
            window: Some(50),
        };
        let rows: Vec<Row<'_>> = (0..length).map(row).collect();
        let queries = |rows| Queries {
            q: &q[..size * <[Row<'_>]>::len(rows)],
            heads,
            scale: 0.2,
            rows,
        };
        for threads in [1, 4] {
            let pool = Pool::new(threads);
            let mut out = vec![0.0; q.len()];
            attend(&pool, &store, 0, &queries(&rows), &mut out);
            let first = first.get_or_insert_with(|| out.clone());
            assert_eq!(first, &out, "pages of {page_tokens}");
        }
        // The first query alone, from the end of the sequence and with another one's beside it.
        let other = Row {
            pages: &sequences[1].pages,
            position: 29,
            window: None,
        };
        let (mut alone, mut beside) = (vec![0.0; size], vec![0.0; 2 * size]);
        let pool = Pool::new(2);
        let both = [row(60), other];
        attend(&pool, &store, 0, &queries(&both[..1]), &mut alone);
        attend(&pool, &store, 0, &queries(&both), &mut beside);
        assert_eq!(alone, beside[..size]);
    }
}

#[test]
fn what_a_row_does_not_see_may_be_anything() {
    let shape = Shape {
        layers: 1,
        pages: 4,
        page_tokens: 4,
        kv_heads: 1,
        head_dim: 8,
    };
    let (mut store, sequences) = fill(shape, &[9], 1);
    let pages = &sequences[0].pages;
    let q = numbers(8, 2);
    let pool = Pool::new(1);
    let rows = [Row {
        pages,
        position: 6,
        window: Some(2),
    }];
    let queries = Queries {
        q: &q,
        heads: 1,
        scale: 1.0,
        rows: &rows,
    };
    let mut before = [0.0; 8];
    attend(&pool, &store, 0, &queries, &mut before);
    let bad = [f32::NAN; 8];
    for t in [0, 3, 4, 7, 8] {
        store.write(0, pages[t / 4], t % 4, &bad, &bad);
    }
    let mut after = [0.0; 8];
    attend(&pool, &store, 0, &queries, &mut after);
    assert_eq!(before, after);
}

#[test]
fn a_copied_page_is_another_one_with_the_same_content() {
    let shape = Shape {
        layers: 2,
        pages: 3,
        page_tokens: 4,
        kv_heads: 2,
        head_dim: 5,
    };
    let (mut store, sequences) = fill(shape, &[4], 1);
    let page = sequences[0].pages[0];
    let copy = (page + 1) % 3;
    store.copy_page(page, copy);
    let q = numbers(20, 2);
    let pool = Pool::new(1);
    let look = |store: &Store, page: u32| {
        let rows = [Row {
            pages: &[page],
            position: 3,
            window: None,
        }];
        let queries = Queries {
            q: &q,
            heads: 4,
            scale: 1.0,
            rows: &rows,
        };
        let mut out = vec![0.0; 20];
        attend(&pool, store, 1, &queries, &mut out);
        out
    };
    let before = look(&store, page);
    assert_eq!(look(&store, copy), before);
    store.write(1, copy, 0, &[9.0; 10], &[9.0; 10]);
    assert_ne!(look(&store, copy), before);
    assert_eq!(look(&store, page), before);
}

#[test]
fn halves_are_exact_where_numbers_fit_and_near_elsewhere() {
    let shape = Shape {
        layers: 1,
        pages: 3,
        page_tokens: 20,
        kv_heads: 2,
        head_dim: 24,
    };
    let (heads, tokens) = (4, 50);
    for (fits, bound) in [(true, 0.0), (false, 4e-3)] {
        let mut stores = [Store::new(shape).unwrap(), Store::in_halves(shape).unwrap()];
        assert_eq!(stores[0].page_bytes(), 2 * stores[1].page_bytes());
        let mut kv = numbers(2 * tokens * 48, 1);
        if fits {
            kv.iter_mut()
                .for_each(|x| *x = (*x * 256.0).round() / 256.0);
        }
        for (t, kv) in kv.chunks(96).enumerate() {
            for store in &mut stores {
                store.write(
                    0,
                    u32::try_from(t / 20).unwrap(),
                    t % 20,
                    &kv[..48],
                    &kv[48..],
                );
            }
        }
        let q = numbers(heads * 24, 2);
        let rows = [Row {
            pages: &[0, 1, 2],
            position: tokens - 1,
            window: None,
        }];
        let [whole, half] = stores.map(|store| {
            let queries = Queries {
                q: &q,
                heads,
                scale: 0.2,
                rows: &rows,
            };
            let mut out = vec![0.0; q.len()];
            attend(&Pool::new(2), &store, 0, &queries, &mut out);
            out
        });
        for (whole, half) in whole.iter().zip(&half) {
            assert!((whole - half).abs() <= bound, "{whole}, in halves {half}");
        }
    }
}

#[test]
fn a_store_of_nothing_or_of_too_much_is_refused() {
    let shape = Shape {
        layers: 1,
        pages: 1,
        page_tokens: 1,
        kv_heads: 1,
        head_dim: 1,
    };
    assert!(Store::new(Shape { pages: 0, ..shape }).is_none());
    assert!(
        Store::new(Shape {
            pages: usize::MAX / 8,
            ..shape
        })
        .is_none()
    );
    assert_eq!(Store::new(shape).unwrap().page_bytes(), 4 * (16 + 16));
}
