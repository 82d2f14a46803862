//! Where potrf stops: at the leading minor at which the textbook stops.

use super::common::calls::factor;
use super::common::{few, for_each_device, matrices, Host};
use super::positive::with_spectrum;
use super::{exact, textbook};
use cudafactor::base::error::Error;
use cudafactor::base::matrix::Uplo;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(
    indefinite_beyond_doubt,
    singular_without_rounding,
    nan_stops_at_its_column,
    infinities_are_the_textbooks,
);

fn sizes() -> Vec<usize> {
    if few() {
        vec![65]
    } else {
        vec![1, 65, 130, 257, 400]
    }
}

/// Orders of leading minors on both sides of blocks, none larger than `n`.
fn minors(n: usize) -> Vec<usize> {
    let mut all = vec![1, 2, 40, 63, 64, 65, 100, 128, 129, 200, 256, n];
    all.retain(|&k| k <= n);
    all.dedup();
    all
}

/// The factor of one triangle, seen from above, or the order at which there is none.
fn answer<T: Scalar, D: Device<T>>(device: &D, uplo: Uplo, a: &Host<T>) -> Result<Host<T>, usize> {
    let given = match uplo {
        Uplo::Upper => a.clone(),
        Uplo::Lower => exact::transposed(a),
    };
    match factor(device, uplo, &given) {
        Ok(r) if uplo == Uplo::Lower => Ok(exact::transposed(&r)),
        Ok(r) => Ok(r),
        Err(Error::NotPositiveDefinite { order }) => Err(order),
        Err(e) => panic!("{e}"),
    }
}

/// Both triangles of `a` are tried; only the upper one of `a` has to be filled.
fn stops_at<T: Scalar, D: Device<T>>(device: &D, a: &Host<T>, order: usize, what: &str) {
    assert_eq!(textbook::cholesky(a).err(), Some(order), "{what}, textbook");
    for uplo in [Uplo::Upper, Uplo::Lower] {
        let got = answer(device, uplo, a).err();
        assert_eq!(got, Some(order), "{what}, {uplo:?} of {}", a.rows);
    }
}

/// Pivots below zero by a part of the diagonal entry that is far above rounding, the entry itself
/// positive.
fn indefinite_beyond_doubt<T: Scalar, D: Device<T>>(device: &D) {
    let lacks: &[f64] = if T::EPS > 1e-10 {
        &[0.5, 1e-2]
    } else {
        &[0.5, 1e-6]
    };
    for n in sizes() {
        let base = with_spectrum(n, "geometric", 100.0);
        let base = Host::<T>::from_fn(n, n, |i, j| base[(i, j)]);
        let r = textbook::cholesky(&base).unwrap();
        for k in minors(n) {
            for &lack in lacks {
                let at = k - 1;
                let taken: f64 = (0..at).map(|i| r.at(i, at) * r.at(i, at)).sum();
                let mut a = base.clone();
                a.set(at, at, taken - lack * base.at(at, at));
                stops_at(device, &a, k, &format!("lack {lack}"));
                // What comes later must not hide it.
                if k < n {
                    a.set(k, k, f64::NAN);
                    a.set(at, k, f64::INFINITY);
                    stops_at(device, &a, k, &format!("lack {lack}, then NaN"));
                }
            }
        }
    }
}

/// `LL'` for a bidiagonal L of ones with one zero on its diagonal: every number on the way is an
/// integer, with and without inverses.
fn singular_without_rounding<T: Scalar, D: Device<T>>(device: &D) {
    for n in sizes() {
        for k in minors(n) {
            let l = |i: usize, j: usize| match (i == j && j + 1 != k, i == j + 1) {
                (true, _) => 1.0,
                (_, true) => -1.0,
                _ => 0.0,
            };
            let a = Host::<T>::from_fn(n, n, |i, j| {
                let first = i.max(j).saturating_sub(1);
                (first..=i.min(j)).map(|m| l(i, m) * l(j, m)).sum()
            });
            stops_at(device, &a, k, "exact zero");
        }
    }
}

fn dominant<T: Scalar>(n: usize) -> Host<T> {
    matrices::positive::<T>(n).remove(0).1
}

/// Places above the diagonal: within blocks, across their edges, in the corner.
fn places(n: usize) -> Vec<(usize, usize)> {
    let mut all = vec![
        (0, 1),
        (0, n - 1),
        (3, 60),
        (62, 63),
        (63, 64),
        (10, 100),
        (64, 127),
        (64, 128),
        (127, 128),
        (128, 129),
        (70, 255),
        (n / 2, n - 1),
    ];
    all.retain(|&(i, j)| i < j && j < n);
    all
}

fn nan_stops_at_its_column<T: Scalar, D: Device<T>>(device: &D) {
    for n in sizes() {
        for k in minors(n) {
            let mut a = dominant::<T>(n);
            a.set(k - 1, k - 1, f64::NAN);
            stops_at(device, &a, k, "NaN");
        }
        for (i, j) in places(n) {
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut a = dominant::<T>(n);
                a.set(i, j, value);
                stops_at(device, &a, j + 1, &format!("{value} at {i}, {j}"));
                // Not at the first bad entry, but at the first bad pivot.
                a.set(i, n - 1, f64::NAN);
                stops_at(
                    device,
                    &a,
                    j + 1,
                    &format!("{value} at {i}, {j}, and in the end"),
                );
            }
        }
    }
}

/// An infinite pivot makes its row zero, and the rest goes on; with an infinity beside it there is
/// a NaN.
fn infinities_are_the_textbooks<T: Scalar, D: Device<T>>(device: &D) {
    for n in sizes() {
        let orders = minors(n);
        let several = orders.iter().copied().step_by(3).collect();
        let sets = orders.into_iter().map(|k| vec![k]).chain([several]);
        for infinite in sets {
            let mut a = dominant::<T>(n);
            for &k in &infinite {
                a.set(k - 1, k - 1, f64::INFINITY);
            }
            let want = textbook::cholesky(&a).unwrap();
            for uplo in [Uplo::Upper, Uplo::Lower] {
                let got = answer(device, uplo, &a)
                    .unwrap_or_else(|k| panic!("{infinite:?} of {n}, {uplo:?}: stopped at {k}"));
                for j in 0..n {
                    for i in 0..=j {
                        let (x, y) = (got.at(i, j), want.at(i, j));
                        let slack = 4.0 * n as f64 * T::EPS * want.at(j, j).min(f64::MAX);
                        assert!(
                            x == y || (x - y).abs() <= slack && y.is_finite(),
                            "{infinite:?} of {n}, {uplo:?} ({i}, {j}): {x}, not {y}"
                        );
                    }
                }
            }
            let first = infinite[0];
            if first < n {
                a.set(first - 1, first, f64::INFINITY);
                stops_at(device, &a, first + 1, "infinite beside an infinite pivot");
            }
        }
    }
}
