//! trsm.

mod common;

use common::calls::{solve, variants, Variant};
use common::{for_each_device, matrices, residual, same, Host, SIZES};
use cudafactor::device::Device;
use cudafactor::matrix::{Diag, Side, Trans, Uplo};
use cudafactor::scalar::Scalar;
use faer::Mat;

for_each_device!(
    every_variant_solves,
    many_right_hand_sides,
    only_the_leading_part_changes,
    other_triangle_is_not_read,
    nan_and_infinity_propagate,
    ends_of_the_range,
);

/// A triangle whose inverse does not grow with `n`, and NaN where nothing may be read.
fn triangle<T: Scalar>(n: usize, v: Variant) -> Host<T> {
    let r = matrices::random::<f64>(n, n, 11);
    Host::from_fn(n, n, |i, j| {
        let inside = match v.uplo {
            Uplo::Upper => i < j,
            Uplo::Lower => i > j,
        };
        if i == j && v.diag == Diag::NonUnit {
            2.0 + r.at(i, j)
        } else if inside {
            r.at(i, j) / (n as f64).sqrt()
        } else {
            f64::NAN
        }
    })
}

/// `op(A)` written out.
fn full<T: Scalar>(a: &Host<T>, v: Variant, k: usize) -> Mat<f64> {
    let entry = |i: usize, j: usize| {
        let inside = match v.uplo {
            Uplo::Upper => i < j,
            Uplo::Lower => i > j,
        };
        match (i == j, v.diag) {
            (true, Diag::Unit) => 1.0,
            (true, Diag::NonUnit) => a.at(i, j),
            _ if inside => a.at(i, j),
            _ => 0.0,
        }
    };
    Mat::from_fn(k, k, |i, j| {
        if v.trans.is_yes() {
            entry(j, i)
        } else {
            entry(i, j)
        }
    })
}

/// Backward error, always seen from the left.
fn error<T: Scalar>(v: Variant, a: &Host<T>, x: &Host<T>, b: &Host<T>) -> f64 {
    let a = full(a, v, a.rows);
    let (x, b) = (x.wide(), b.wide());
    match v.side {
        Side::Left => residual::solve(a.as_ref(), x.as_ref(), b.as_ref(), T::EPS),
        Side::Right => residual::solve(a.transpose(), x.transpose(), b.transpose(), T::EPS),
    }
}

fn every_variant_solves<T: Scalar, D: Device<T>>(device: &D) {
    for v in variants() {
        for n in SIZES {
            for others in [0, 1, 7, 70] {
                let a = triangle::<T>(n, v).with_gap(3);
                let b = match v.side {
                    Side::Left => matrices::random::<T>(n, others, 12),
                    Side::Right => matrices::random::<T>(others, n, 12),
                }
                .with_gap(2);
                let x = solve(device, v, n, &a, &b);
                let e = error(v, &a, &x, &b);
                assert!(e < residual::BACKWARD, "{v:?} {n} {others}: {e}");
            }
        }
    }
}

fn many_right_hand_sides<T: Scalar, D: Device<T>>(device: &D) {
    for v in variants().into_iter().step_by(3) {
        let a = triangle::<T>(500, v);
        let b = match v.side {
            Side::Left => matrices::random::<T>(500, 1100, 12),
            Side::Right => matrices::random::<T>(1100, 500, 12),
        };
        let x = solve(device, v, 500, &a, &b);
        let e = error(v, &a, &x, &b);
        assert!(e < residual::BACKWARD, "{v:?}: {e}");
        assert!(
            same(&x, &solve(device, v, 500, &a, &b)),
            "{v:?}: differs from itself"
        );
    }
}

fn only_the_leading_part_changes<T: Scalar, D: Device<T>>(device: &D) {
    for v in variants() {
        let (n, k) = (70, 41);
        let a = triangle::<T>(n, v);
        let b = matrices::random::<T>(n, n, 13);
        let x = solve(device, v, k, &a, &b);
        let used = |i: usize, j: usize| match v.side {
            Side::Left => i < k,
            Side::Right => j < k,
        };
        for j in 0..n {
            for i in 0..n {
                assert!(used(i, j) || x.at(i, j) == b.at(i, j), "{v:?} ({i}, {j})");
            }
        }
        let (rows, cols) = match v.side {
            Side::Left => (k, n),
            Side::Right => (n, k),
        };
        let cut = |m: &Host<T>| Host::<T>::from_fn(rows, cols, |i, j| m.at(i, j));
        let leading = Host::<T>::from_fn(k, k, |i, j| a.at(i, j));
        let e = error(v, &leading, &cut(&x), &cut(&b));
        assert!(e < residual::BACKWARD, "{v:?}: {e}");
    }
}

fn other_triangle_is_not_read<T: Scalar, D: Device<T>>(device: &D) {
    // `triangle` fills it with NaN: any read would reach the answer.
    for v in variants() {
        for n in [2, 33, 130] {
            let b = matrices::random::<T>(n, n, 14);
            assert!(
                solve(device, v, n, &triangle(n, v), &b).all(f64::is_finite),
                "{v:?} {n}"
            );
        }
    }
}

fn nan_and_infinity_propagate<T: Scalar, D: Device<T>>(device: &D) {
    let v = Variant {
        side: Side::Left,
        uplo: Uplo::Lower,
        trans: Trans::No,
        diag: Diag::NonUnit,
    };
    for n in [2, 40, 130] {
        let a = Host::<T>::from_fn(n, n, |i, j| if i >= j { 1.0 } else { 0.0 });
        let mut b = Host::<T>::from_fn(n, 3, |_, _| 1.0);
        b.set(n / 2, 1, f64::NAN);
        let x = solve(device, v, n, &a, &b);
        for i in 0..n {
            assert_eq!(x.at(i, 1).is_nan(), i >= n / 2, "{n} {i}");
            assert!(x.at(i, 0).is_finite() && x.at(i, 2).is_finite(), "{n} {i}");
        }
    }
    // An infinite pivot makes a zero, not a NaN.
    let a = Host::<T>::from_fn(2, 2, |i, j| if i == j { f64::INFINITY } else { 1.0 });
    let b = Host::<T>::from_fn(2, 1, |_, _| 5.0);
    assert!(solve(device, v, 2, &a, &b).all(|x| x == 0.0));
}

fn ends_of_the_range<T: Scalar, D: Device<T>>(device: &D) {
    for v in variants() {
        if v.diag == Diag::Unit {
            continue;
        }
        for s in matrices::extreme_scales::<T>() {
            let a = matrices::scaled(&triangle::<T>(100, v), s);
            let b = matrices::scaled(&matrices::random::<T>(100, 100, 15), s);
            let x = solve(device, v, 100, &a, &b);
            let (a, b) = (
                matrices::scaled::<T>(&a, 1.0 / s),
                matrices::scaled::<T>(&b, 1.0 / s),
            );
            let e = error(v, &a, &x, &b);
            assert!(e < residual::BACKWARD, "{v:?} {s}: {e}");
        }
    }
}
