//! Where nobody waits, the device decides, and cancels launches of one kind or the other.

use super::tests::{context, dot, load, multiply, scattered};
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::gemm::gemm_syrk::in_doubles;
use crate::backend::cuda::gemm::update::{Bound, Update, UpdatedPart};
use faer::Mat;

/// How C is computed: from integers where the device allows it, or in doubles.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Integers,
    Doubles,
}

/// `C - A B`, or one triangle of it, in place of C or of its transpose.
fn subtracted(
    ctx: &'static Context,
    by: By,
    update: Update<f64>,
    transposed: bool,
    (a, b, c0): (&Mat<f64>, &Mat<f64>, &Mat<f64>),
) -> Mat<f64> {
    let (da, db, dc) = (load(ctx, a), load(ctx, b), load(ctx, c0));
    let view = match transposed {
        true => dc.view().t(),
        false => dc.view(),
    };
    match by {
        By::Integers => {
            assert!(multiply(ctx, update, da.view(), db.view(), view).unwrap());
        }
        By::Doubles => in_doubles(ctx, update, da.view(), db.view(), view).unwrap(),
    }
    let mut c = Mat::zeros(c0.nrows(), c0.ncols());
    dc.read(ctx, c.as_mut()).unwrap();
    c
}

fn bits(c: &Mat<f64>) -> Vec<u64> {
    let column = |j: usize| (0..c.nrows()).map(move |i| c[(i, j)].to_bits());
    (0..c.ncols()).flat_map(column).collect()
}

/// What the device refuses is computed in doubles, once.
#[test]
fn the_device_decides() {
    let Some(ctx) = context() else { return };
    let (m, n, k) = (300, 270, 200);
    let plain = Mat::from_fn(m, k, |i, j| scattered(i, j, 1));
    let b = Mat::from_fn(k, n, |i, j| scattered(i, j, 2));
    let c0 = Mat::from_fn(m, n, |i, j| scattered(i, j, 3));
    let of = |bound: Bound, a: &Mat<f64>, stop: u64, by: By| {
        let update = Update {
            stop,
            bound,
            ..Update::subtract()
        };
        subtracted(ctx, by, update, false, (a, &b, &c0))
    };
    let norms = |a: &Mat<f64>, stop: u64| of(Bound::Norms, a, stop, By::Integers);
    let doubles = |a: &Mat<f64>| of(Bound::Norms, a, 0, By::Doubles);
    for wrong in [f64::NAN, f64::INFINITY, 2f64.powi(1000)] {
        let mut a = plain.clone();
        a[(2, 7)] = wrong;
        assert!(bits(&norms(&a, 0)) == bits(&doubles(&a)), "{wrong}");
    }
    let got = norms(&plain, 0);
    assert!(bits(&got) != bits(&doubles(&plain)));
    // With a bound for entries, a zero needs doubles.
    let dense = |a| of(Bound::DenseEntries, a, 0, By::Integers);
    assert_eq!(bits(&dense(&plain)), bits(&got));
    let mut holed = plain.clone();
    holed[(299, 199)] = 0.0;
    assert_eq!(bits(&dense(&holed)), bits(&doubles(&holed)));
    assert!(bits(&norms(&holed, 0)) != bits(&dense(&holed)));
    for j in 0..n {
        for i in 0..m {
            let terms = (0..k).map(|l| (plain[(i, l)], b[(l, j)]));
            let ((sum, rest), _) = dot(terms);
            let error = ((got[(i, j)] - c0[(i, j)]) + sum + rest).abs();
            assert!(error < 1e-13, "({i}, {j}): {error}");
        }
    }
    let cancelled = Buffer::from_slice(ctx, &[1i32]).unwrap();
    assert_eq!(norms(&plain, cancelled.ptr), c0);
    assert_eq!(norms(&Mat::zeros(m, k), 0), c0);
}

/// Triangles and transposes, and sums so long that doubles cut them into slices: launches that are
/// cancelled change nothing.
#[test]
fn cancelled_launches_change_nothing() {
    let Some(ctx) = context() else { return };
    for (n, k) in [(100, 2000), (300, 40), (257, 600)] {
        let plain = Mat::from_fn(n, k, |i, j| scattered(i, j, 1));
        let b = Mat::from_fn(k, n, |i, j| scattered(i, j, 2));
        let c0 = Mat::from_fn(n, n, |i, j| scattered(i, j, 3));
        let mut wrong = plain.clone();
        wrong[(n - 1, k - 1)] = f64::INFINITY;
        for triangle in [UpdatedPart::Full, UpdatedPart::Lower, UpdatedPart::Upper] {
            for transposed in [false, true] {
                let update = Update {
                    triangle,
                    bound: Bound::Norms,
                    ..Update::subtract()
                };
                let by =
                    |by: By, a: &Mat<f64>| subtracted(ctx, by, update, transposed, (a, &b, &c0));
                let name = format!("{n} {k} {triangle:?} {transposed}");
                let refused = bits(&by(By::Integers, &wrong));
                assert!(
                    refused == bits(&by(By::Doubles, &wrong)),
                    "{name}: integers"
                );
                let (got, want) = (by(By::Integers, &plain), by(By::Doubles, &plain));
                for j in 0..n {
                    for i in 0..n {
                        let error = (got[(i, j)] - want[(i, j)]).abs();
                        assert!(error < 1e-12, "{name}: ({i}, {j}): {error}");
                    }
                }
            }
        }
    }
}

/// A triangle with the rows below it, or the columns to its right: the entries of doubles, and no
/// others.
#[test]
fn trapezoids_have_their_entries() {
    let Some(ctx) = context() else { return };
    for (m, n, k) in [
        (700, 300, 128),
        (301, 300, 64),
        (900, 65, 600),
        (300, 620, 96),
    ] {
        let a = Mat::from_fn(m, k, |i, j| scattered(i, j, 1));
        let b = Mat::from_fn(k, n, |i, j| scattered(i, j, 2));
        let triangle = if m > n {
            UpdatedPart::Lower
        } else {
            UpdatedPart::Upper
        };
        for transposed in [false, true] {
            let (rows, cols) = if transposed { (n, m) } else { (m, n) };
            let c0 = Mat::from_fn(rows, cols, |i, j| scattered(i, j, 3));
            for bound in [Bound::Norms, Bound::Entries] {
                let update = Update {
                    triangle,
                    bound,
                    ..Update::subtract()
                };
                let by = |by: By| subtracted(ctx, by, update, transposed, (&a, &b, &c0));
                let (got, want) = (by(By::Integers), by(By::Doubles));
                for j in 0..cols {
                    for i in 0..rows {
                        let (row, col) = if transposed { (j, i) } else { (i, j) };
                        let inside = (row >= col) == (m > n) || row == col;
                        let sum: f64 = (0..k).map(|l| a[(row, l)] * b[(l, col)]).sum();
                        let exact = c0[(i, j)] - if inside { sum } else { 0.0 };
                        for c in [&got, &want] {
                            let error = (c[(i, j)] - exact).abs();
                            assert!(error < 1e-12, "{m} {n} {bound:?} ({i}, {j}): {error}");
                            assert!(inside || c[(i, j)] == c0[(i, j)]);
                        }
                    }
                }
            }
        }
    }
}
