//! The same call gives the same bits, and a cross product is exactly symmetric.

use super::common::calls::{cross, factor, multiply, solve, variants, BOTH};
use super::common::{few, for_each_device, matrices, Host};
use super::positive::with_spectrum;
use super::triangles::gapped;
use cudafactor::base::matrix::{Diag, Side, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(
    factors_repeat,
    eliminations_repeat,
    products_repeat,
    cross_products_repeat_and_are_symmetric,
    solutions_repeat,
);

fn sizes() -> &'static [usize] {
    if few() {
        &[65]
    } else {
        &[65, 257, 700]
    }
}

/// Not by `==`, which takes zeros of either sign for the same.
fn assert_bits<T: Scalar>(first: &Host<T>, second: &Host<T>, what: &str) {
    for j in 0..first.cols {
        for i in 0..first.rows {
            let (x, y) = (first.at(i, j), second.at(i, j));
            assert!(
                x.to_bits() == y.to_bits(),
                "{what} ({i}, {j}): {x:e}, then {y:e}"
            );
        }
    }
}

fn factors_repeat<T: Scalar, D: Device<T>>(device: &D) {
    for &n in sizes() {
        let a = with_spectrum(n, "geometric", 1e4);
        let a = Host::<T>::from_fn(n, n, |i, j| a[(i, j)]);
        for uplo in [Uplo::Upper, Uplo::Lower] {
            let run = || factor(device, uplo, &a).unwrap();
            assert_bits(&run(), &run(), &format!("{uplo:?} {n}"));
        }
    }
}

fn eliminations_repeat<T: Scalar, D: Device<T>>(device: &D) {
    for &n in sizes() {
        for (rows, cols) in [(n, n), (6 * n, 40), (n / 2, n)] {
            let a = matrices::random::<T>(rows, cols, 6);
            let (first, second) = (super::lu::factor(device, &a), super::lu::factor(device, &a));
            assert_bits(&first.0, &second.0, &format!("{rows} {cols}"));
            assert_eq!(first.1, second.1, "{rows} {cols}");
        }
    }
}

fn products_repeat<T: Scalar, D: Device<T>>(device: &D) {
    for &n in sizes() {
        // Also with a sum so long that it may be shared out.
        for (m, k, cols) in [(n, n, n), (n / 2 + 1, n, n + 3), (9, 40 * n, 11)] {
            for (ta, tb) in BOTH.into_iter().flat_map(|x| BOTH.map(|y| (x, y))) {
                let ((ar, ac), (br, bc)) = (ta.shape((m, k)), tb.shape((k, cols)));
                let (a, b) = (
                    matrices::random::<T>(ar, ac, 1),
                    matrices::random::<T>(br, bc, 2),
                );
                let run = || multiply(device, (ta, &a), (tb, &b));
                assert_bits(&run(), &run(), &format!("{m} {k} {cols} {ta:?} {tb:?}"));
            }
        }
    }
}

fn cross_products_repeat_and_are_symmetric<T: Scalar, D: Device<T>>(device: &D) {
    for &n in sizes() {
        for (rows, cols) in [(n, n), (n, 33), (33, n), (20 * n, 10)] {
            for trans in BOTH {
                if trans.shape((rows, cols)).0 > 1000 {
                    continue;
                }
                let x = matrices::random::<T>(rows, cols, 3);
                let what = format!("{rows} {cols} {trans:?}");
                let c = cross(device, trans, &x);
                assert_bits(&c, &cross(device, trans, &x), &what);
                assert_bits(&c, &super::exact::transposed(&c), &what);
            }
        }
    }
}

fn solutions_repeat<T: Scalar, D: Device<T>>(device: &D) {
    for &n in sizes() {
        let l = gapped(n, n, 1e-2, &[n / 2]);
        for (index, v) in variants().into_iter().enumerate() {
            // At the largest size, one of four.
            if v.diag == Diag::Unit || n > 500 && index % 8 != 2 {
                continue;
            }
            let a = Host::<T>::from_fn(n, n, |i, j| match v.uplo {
                Uplo::Lower => l[(i, j)],
                Uplo::Upper => l[(j, i)],
            });
            for others in [1, 70, 300] {
                let b = match v.side {
                    Side::Left => matrices::random::<T>(n, others, 4),
                    Side::Right => matrices::random::<T>(others, n, 4),
                };
                let run = || solve(device, v, n, &a, &b);
                assert_bits(&run(), &run(), &format!("{n} {others} {v:?}"));
            }
        }
    }
}
