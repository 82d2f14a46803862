//! potrf and pstrf.

use crate::common::calls::factor;
use crate::common::{changed, few, for_each_device, matrices, residual, same, Host, SIZES};
use cudafactor::base::error::Error;
use cudafactor::base::matrix::{Part, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(
    upper_factors,
    lower_factor_is_the_transpose,
    other_triangle_is_left_alone,
    failure_has_the_order,
    infinite_pivots_go_on,
    ends_of_the_range,
    same_answer_twice,
    one_order_after_another,
    large_failures_have_the_order,
    pivoted_factors,
    pivoted_rank,
    pivoted_stops_at_nan,
);

fn upper_factors<T: Scalar, D: Device<T>>(device: &D) {
    for n in SIZES.into_iter().chain([1000]) {
        for (kind, a) in matrices::positive::<T>(n) {
            for gap in [0, 5] {
                let a = a.with_gap(gap);
                let r =
                    factor(device, Uplo::Upper, &a).unwrap_or_else(|e| panic!("{kind} {n}: {e}"));
                let error = residual::cholesky(&a, &r);
                assert!(error < residual::BACKWARD, "{kind} {n}: {error}");
            }
        }
    }
}

fn lower_factor_is_the_transpose<T: Scalar, D: Device<T>>(device: &D) {
    for n in SIZES {
        for (kind, a) in matrices::positive::<T>(n) {
            let l = factor(device, Uplo::Lower, &a).unwrap_or_else(|e| panic!("{kind} {n}: {e}"));
            let transposed = Host::from_fn(n, n, |i, j| l.at(j, i));
            let error = residual::cholesky(&a, &transposed);
            assert!(error < residual::BACKWARD, "{kind} {n}: {error}");
        }
    }
}

fn other_triangle_is_left_alone<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 2, 33, 65, 129, 257] {
        for uplo in [Uplo::Upper, Uplo::Lower] {
            let mut a = matrices::positive::<T>(n).remove(0).1;
            let clean = factor(device, uplo, &a).unwrap();
            let other = |i: usize, j: usize| match uplo {
                Uplo::Upper => i > j,
                Uplo::Lower => i < j,
            };
            for j in 0..n {
                for i in 0..n {
                    if other(i, j) {
                        a.set(i, j, f64::NAN);
                    }
                }
            }
            let r = factor(device, uplo, &a).unwrap();
            for j in 0..n {
                for i in 0..n {
                    if other(i, j) {
                        assert!(r.at(i, j).is_nan(), "{uplo:?} {n}: ({i}, {j}) was written");
                    } else {
                        assert_eq!(r.at(i, j), clean.at(i, j), "{uplo:?} {n}: ({i}, {j})");
                    }
                }
            }
        }
    }
}

fn failure_has_the_order<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 2, 33, 64, 65, 129, 300] {
        for k in [0, 1, n / 2, n - 1].into_iter().filter(|&k| k < n) {
            for bad in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
                let mut a = matrices::positive::<T>(n).remove(0).1;
                // A later fault must not hide the first.
                for j in k..n {
                    a.set(j, j, bad);
                }
                for uplo in [Uplo::Upper, Uplo::Lower] {
                    let got = factor(device, uplo, &a).err();
                    assert_eq!(
                        got,
                        Some(Error::NotPositiveDefinite { order: k + 1 }),
                        "{n} {k} {bad}"
                    );
                }
            }
        }
    }
    // A NaN off the diagonal reaches the later pivot.
    let mut a = Host::<T>::from_fn(200, 200, |i, j| f64::from(u8::from(i == j)));
    a.set(149, 159, f64::NAN);
    let got = factor(device, Uplo::Upper, &a).err();
    assert_eq!(got, Some(Error::NotPositiveDefinite { order: 160 }));
}

fn infinite_pivots_go_on<T: Scalar, D: Device<T>>(device: &D) {
    for n in [3, 64, 70, 150] {
        for k in [0, 1, n - 1] {
            let mut a = Host::<T>::from_fn(n, n, |i, j| if i == j { 4.0 } else { 0.0 });
            a.set(k, k, f64::INFINITY);
            let r = factor(device, Uplo::Upper, &a).unwrap();
            for i in 0..n {
                assert_eq!(r.at(i, i), if i == k { f64::INFINITY } else { 2.0 });
            }
        }
    }
    let a = Host::<T>::from_fn(2, 2, |i, j| [[f64::INFINITY, 1.0], [1.0, 4.0]][i][j]);
    let r = factor(device, Uplo::Upper, &a).unwrap();
    assert_eq!(
        (r.at(0, 0), r.at(0, 1), r.at(1, 1)),
        (f64::INFINITY, 0.0, 2.0)
    );
}

/// `LL'` for a bidiagonal L of ones, times an even power of two: exact down to the smallest number
/// and up to the largest.
fn ends_of_the_range<T: Scalar, D: Device<T>>(device: &D) {
    let (smallest, largest) = if T::EPS > 1e-10 {
        (-148, 126)
    } else {
        (-1074, 1022)
    };
    let power = |x: f64, by: i32| x * 2f64.powi(by / 2) * 2f64.powi(by - by / 2);
    for n in [1, 2, 63, 65, 130] {
        for by in [smallest, largest] {
            let a = Host::<T>::from_fn(n, n, |i, j| match i.abs_diff(j) {
                0 => power(if i == 0 { 1.0 } else { 2.0 }, by),
                1 => power(1.0, by),
                _ => 0.0,
            });
            for uplo in [Uplo::Upper, Uplo::Lower] {
                let r = factor(device, uplo, &a).unwrap_or_else(|e| panic!("{n} 2^{by}: {e}"));
                for j in 0..n {
                    for i in j.saturating_sub(2)..=j {
                        let got = if uplo == Uplo::Upper {
                            r.at(i, j)
                        } else {
                            r.at(j, i)
                        };
                        let want = if j - i < 2 { power(1.0, by / 2) } else { 0.0 };
                        assert_eq!(got, want, "{uplo:?} {n} 2^{by} ({i}, {j})");
                    }
                }
            }
        }
    }
}

fn same_answer_twice<T: Scalar, D: Device<T>>(device: &D) {
    let a = matrices::positive::<T>(500).remove(0).1;
    let first = factor(device, Uplo::Upper, &a).unwrap();
    let second = factor(device, Uplo::Upper, &a).unwrap();
    assert!(same(&first, &second));
}

/// Orders of one and many tiles of 64, odd and even, small ones after large ones.
fn orders() -> &'static [usize] {
    if few() {
        return &[129, 65, 200];
    }
    &[
        1000, 65, 193, 2048, 1, 129, 191, 640, 192, 2177, 64, 320, 127, 63, 128, 777,
    ]
}

/// A well-conditioned matrix with a full spectrum: random numbers, and a diagonal that outweighs
/// their norm.
fn random_positive<T: Scalar>(n: usize) -> Host<T> {
    let x = matrices::random::<f64>(n, n, n as u64);
    let diagonal = 3.0 * (n as f64).sqrt();
    Host::from_fn(n, n, |i, j| {
        x.at(i.min(j), i.max(j)) + if i == j { diagonal } else { 0.0 }
    })
}

/// `||A v - R'(R v)|| / (||A|| ||v|| n eps)` for the vector v of ones of changing sign, in the norm
/// of largest elements.
fn probed<T: Scalar>(a: &Host<T>, r: impl Fn(usize, usize) -> f64) -> f64 {
    let n = a.rows;
    let v = |i: usize| if i % 3 == 1 { -1.0 } else { 1.0 };
    let rv: Vec<f64> = (0..n)
        .map(|i| (i..n).map(|j| r(i, j) * v(j)).sum())
        .collect();
    let errors = (0..n).map(|j| {
        let product: f64 = (0..=j).map(|i| r(i, j) * rv[i]).sum();
        let want: f64 = (0..n).map(|i| a.at(i, j) * v(i)).sum();
        (product - want).abs()
    });
    let largest = errors.fold(0.0, |m: f64, e| if e > m || e.is_nan() { e } else { m });
    let norm: f64 = (0..n).map(|i| a.at(i, n - 1).abs()).sum();
    largest / (norm * n as f64 * T::EPS)
}

/// One process, many orders: nothing is left behind by one factorization for the next, and each
/// repeats bit by bit.
fn one_order_after_another<T: Scalar, D: Device<T>>(device: &D) {
    for &n in orders() {
        let a = random_positive::<T>(n);
        for uplo in [Uplo::Upper, Uplo::Lower] {
            let r = factor(device, uplo, &a).unwrap_or_else(|e| panic!("{uplo:?} {n}: {e}"));
            let error = match uplo {
                Uplo::Upper => probed(&a, |i, j| r.at(i, j)),
                Uplo::Lower => probed(&a, |i, j| r.at(j, i)),
            };
            assert!(error < residual::BACKWARD, "{uplo:?} {n}: {error}");
            for _ in 0..2 {
                let again = factor(device, uplo, &a).unwrap();
                assert!(same(&r, &again), "{uplo:?} {n}: not the same again");
            }
        }
    }
}

fn large_failures_have_the_order<T: Scalar, D: Device<T>>(device: &D) {
    let n = if few() { 200 } else { 2177 };
    let clean = random_positive::<T>(n);
    for k in [0, 63, 64, 127, 130, 1000, 1535, 2100, n - 1] {
        if k >= n {
            continue;
        }
        for bad in [-1.0, f64::NAN] {
            let mut a = clean.clone();
            a.set(k, k, bad);
            for uplo in [Uplo::Upper, Uplo::Lower] {
                let got = factor(device, uplo, &a).err();
                let want = Error::NotPositiveDefinite { order: k + 1 };
                assert_eq!(got, Some(want), "{uplo:?} {k} {bad}");
            }
        }
    }
}

fn pivoted_factors<T: Scalar, D: Device<T>>(device: &D) {
    for n in SIZES.into_iter().chain([300]) {
        for (kind, a) in matrices::positive::<T>(n) {
            let (r, p) = changed(device, &a, Part::Upper, |m| device.pstrf(-1.0, m)).unwrap();
            let mut seen = p.jpvt.clone();
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>(), "{kind} {n}");
            for i in 1..p.rank {
                let (before, now) = (r.at(i - 1, i - 1), r.at(i, i));
                assert!(
                    now <= before * (1.0 + 100.0 * T::EPS),
                    "{kind} {n}: pivots grow at {i}"
                );
            }
            if p.rank == n {
                let permuted = Host::<T>::from_fn(n, n, |i, j| a.at(p.jpvt[i], p.jpvt[j]));
                let error = residual::cholesky(&permuted, &r);
                assert!(error < residual::BACKWARD, "{kind} {n}: {error}");
            } else {
                assert_eq!(kind, "graded", "{n}: rank {}", p.rank);
            }
        }
    }
    // Equal diagonal entries: the first wins, so nothing moves.
    let a = Host::<T>::from_fn(70, 70, |i, j| f64::from(u8::from(i == j)));
    let (_, p) = changed(device, &a, Part::Upper, |m| device.pstrf(-1.0, m)).unwrap();
    assert_eq!(p.jpvt, (0..70).collect::<Vec<_>>());
}

fn pivoted_rank<T: Scalar, D: Device<T>>(device: &D) {
    for (n, rank) in [(1, 0), (5, 3), (64, 10), (100, 70), (200, 65), (130, 0)] {
        // Integers, so that the Gram matrix is exact and its rank is known.
        let b = matrices::integers::<f64>(rank, n, 9);
        let a = Host::<T>::from_fn(n, n, |i, j| {
            (0..rank).map(|k| b.at(k, i) * b.at(k, j)).sum()
        });
        let (r, p) = changed(device, &a, Part::Upper, |m| device.pstrf(1e-3, m)).unwrap();
        assert_eq!(p.rank, rank, "{n}");
        let kept = Host::<T>::from_fn(n, n, |i, j| if i < rank { r.at(i, j) } else { 0.0 });
        let permuted = Host::<T>::from_fn(n, n, |i, j| a.at(p.jpvt[i], p.jpvt[j]));
        let error = residual::cholesky(&permuted, &kept);
        assert!(error < residual::BACKWARD, "{n}: {error}");
    }
    // Nothing to begin with: LAPACK does not touch the matrix.
    for n in [2, 100] {
        let a = Host::<T>::from_fn(n, n, |i, j| if i == j { i as f64 - n as f64 } else { 0.0 });
        let (r, p) = changed(device, &a, Part::Upper, |m| device.pstrf(-1.0, m)).unwrap();
        assert!(p.rank == 0 && same(&r, &a), "{n}");
    }
    // A tolerance stops early: pivots 9, 4, 1.
    let a = Host::<T>::from_fn(3, 3, |i, j| if i == j { [4.0, 1.0, 9.0][i] } else { 0.0 });
    let (r, p) = changed(device, &a, Part::Upper, |m| device.pstrf(2.0, m)).unwrap();
    assert_eq!((p.rank, p.jpvt), (2, vec![2, 0, 1]));
    assert_eq!((r.at(0, 0), r.at(1, 1)), (3.0, 2.0));
}

fn pivoted_stops_at_nan<T: Scalar, D: Device<T>>(device: &D) {
    let a = Host::<T>::from_fn(3, 3, |_, _| f64::NAN);
    let (_, p) = changed(device, &a, Part::Upper, |m| device.pstrf(-1.0, m)).unwrap();
    assert_eq!(p.rank, 0);
    let a = Host::<T>::from_fn(
        3,
        3,
        |i, j| {
            if i != j {
                0.0
            } else {
                [1.0, f64::NAN, 4.0][i]
            }
        },
    );
    let (_, p) = changed(device, &a, Part::Upper, |m| device.pstrf(-1.0, m)).unwrap();
    assert_eq!(p.rank, 2);
    assert_eq!(p.jpvt[..2], [2, 0]);
}
