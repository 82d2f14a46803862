//! Products of integers from integers: every layout, part and size, exactly.

use super::tests::{context, load, multiply, product};
use super::workspace::cut_into;
use crate::backend::cuda::gemm::update::{Bound, Update, UpdatedPart};
use crate::backend::cuda::matrix::views::View;

fn is_inside(triangle: UpdatedPart, row: usize, col: usize) -> bool {
    match triangle {
        UpdatedPart::Full => true,
        UpdatedPart::Lower => row >= col,
        UpdatedPart::Upper => row <= col,
    }
}

/// Integers, every layout, part, size and factor. Results are exact, and what is not wanted stays.
#[test]
fn products_of_integers_are_exact() {
    let Some(ctx) = context() else { return };
    let entry = |i: usize, j: usize| ((i * 37 + j * 101 + i * j) % 61) as f64 - 30.0;
    let sizes = [
        (1, 1, 1),
        (127, 255, 129),
        (128, 256, 128),
        (129, 257, 127),
        (300, 40, 700),
        (3, 600, 1),
    ];
    for (m, n, k) in sizes {
        let a = faer::Mat::from_fn(m, k, entry);
        let b = faer::Mat::from_fn(k, n, |i, j| entry(i + 3, j));
        let before = faer::Mat::from_fn(m, n, |i, j| entry(i + 5, j + 1));
        let sum = &a * &b;
        let (at, bt) = (a.transpose().to_owned(), b.transpose().to_owned());
        let (da, db, dat, dbt) = (load(ctx, &a), load(ctx, &b), load(ctx, &at), load(ctx, &bt));
        for (va, vb) in [
            (da.view(), db.view()),
            (dat.view().t(), db.view()),
            (da.view(), dbt.view().t()),
            (dat.view().t(), dbt.view().t()),
        ] {
            for triangle in [UpdatedPart::Full, UpdatedPart::Lower, UpdatedPart::Upper] {
                for (alpha, beta) in [(1.0, 0.0), (-1.0, 1.0), (0.5, -2.0)] {
                    let dc = load(ctx, &before);
                    let update = Update {
                        alpha,
                        beta,
                        triangle,
                        ..Update::assign()
                    };
                    assert!(multiply(ctx, update, va, vb, dc.view()).unwrap());
                    let mut c = faer::Mat::zeros(m, n);
                    dc.read(ctx, c.as_mut()).unwrap();
                    for j in 0..n {
                        for i in 0..m {
                            let inside = is_inside(triangle, i, j);
                            let old = before[(i, j)];
                            let new = alpha * sum[(i, j)] + beta * old;
                            let want = if inside { new } else { old };
                            assert_eq!(c[(i, j)], want, "{m} {n} {k} {triangle:?} {i} {j}");
                        }
                    }
                }
            }
        }
    }
}

/// The upper triangle of a matrix stored by rows, as in a factor computed through its transpose.
#[test]
fn transposes_of_c_and_squares_are_exact() {
    let Some(ctx) = context() else { return };
    let (n, k) = (515, 130);
    let a = faer::Mat::from_fn(n, k, |i, j| ((i * 7 + j * 13) % 29) as f64 - 14.0);
    let da = load(ctx, &a);
    let square = &a * a.transpose();
    for transposed in [false, true] {
        for triangle in [UpdatedPart::Full, UpdatedPart::Lower, UpdatedPart::Upper] {
            let dc = load(ctx, &faer::Mat::from_fn(n, n, |i, j| (i + 2 * j) as f64));
            let view: View<f64> = dc.view();
            let view = if transposed { view.t() } else { view };
            let update = Update {
                triangle,
                ..Update::subtract()
            };
            assert!(multiply(ctx, update, da.view(), da.view().t(), view).unwrap());
            let mut c = faer::Mat::zeros(n, n);
            dc.read(ctx, c.as_mut()).unwrap();
            for j in 0..n {
                for i in 0..n {
                    let (row, col) = if transposed { (j, i) } else { (i, j) };
                    let inside = is_inside(triangle, row, col);
                    let old = (i + 2 * j) as f64;
                    let want = if inside { old - square[(i, j)] } else { old };
                    assert_eq!(c[(i, j)], want, "{transposed} {triangle:?} {i} {j}");
                }
            }
        }
    }
}

/// Deep sums and large numbers of bytes: residues of several parts of the depth are added.
#[test]
fn deep_products_are_exact() {
    let Some(ctx) = context() else { return };
    let k = 150_000;
    let a = faer::Mat::from_fn(5, k, |i, j| (127 - (i + j) % 2) as f64);
    let b = faer::Mat::from_fn(k, 3, |i, j| (127 - (i + j) % 2) as f64);
    let c = product(ctx, &a, &b, Bound::Entries).unwrap();
    assert_eq!(c, &a * &b);
}

/// Blocks of C and parts of the depth, as for large matrices.
#[test]
fn blocks_make_the_whole() {
    let Some(ctx) = context() else { return };
    let (m, n, k) = (700, 900, 500);
    let a = faer::Mat::from_fn(m, k, |i, j| ((i * 7 + j * 13) % 29) as f64 - 14.0);
    let b = faer::Mat::from_fn(k, n, |i, j| ((i * 5 + j * 3) % 31) as f64 - 15.0);
    let whole = &a * &b;
    let blocks = cut_into(256, 128, || product(ctx, &a, &b, Bound::Entries)).unwrap();
    assert_eq!(blocks, whole);
    let da = load(ctx, &a);
    let square = &a * a.transpose();
    for triangle in [UpdatedPart::Full, UpdatedPart::Lower, UpdatedPart::Upper] {
        let dc = load(ctx, &faer::Mat::zeros(m, m));
        let update = Update {
            triangle,
            ..Update::assign()
        };
        let done = cut_into(256, 256, || {
            multiply(ctx, update, da.view(), da.view().t(), dc.view())
        });
        assert!(done.unwrap());
        let mut c = faer::Mat::zeros(m, m);
        dc.read(ctx, c.as_mut()).unwrap();
        for j in 0..m {
            for i in 0..m {
                let inside = is_inside(triangle, i, j);
                let want = if inside { square[(i, j)] } else { 0.0 };
                assert_eq!(c[(i, j)], want, "{triangle:?} {i} {j}");
            }
        }
    }
}
