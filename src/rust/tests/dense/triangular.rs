//! trsm.

use crate::common::calls::{solve, variants, Variant};
use crate::common::{few, for_each_device, matrices, residual, same, Host, SIZES};
use cudafactor::base::matrix::{Diag, Side, Trans, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;
use faer::Mat;

for_each_device!(
    every_variant_solves,
    many_right_hand_sides,
    edges_of_tiles,
    only_the_leading_part_changes,
    other_triangle_is_not_read,
    nan_and_infinity_propagate,
    what_is_no_number_goes_where_substitution_takes_it,
    ends_of_the_range,
    few_right_hand_sides,
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

/// Orders and numbers of right-hand sides around those of tiles, whole and not, with strides of
/// either parity.
fn edges_of_tiles<T: Scalar, D: Device<T>>(device: &D) {
    let orders: &[usize] = if few() {
        &[65, 130]
    } else {
        &[16, 63, 64, 65, 79, 128, 129, 200, 1000]
    };
    for &n in orders {
        for (index, v) in variants().into_iter().enumerate() {
            for (place, others) in [1, 2, 31, 32, 63, 64, 65, 127, 128, 129, 255, 300]
                .into_iter()
                .enumerate()
            {
                // All pairs at the orders of a tile and a little more; elsewhere each in some
                // variants.
                let step = if n > 500 { 23 } else { 5 };
                if !(64..=65).contains(&n) && (3 * index + place) % step != n % step {
                    continue;
                }
                let a = triangle::<T>(n, v);
                let b = match v.side {
                    Side::Left => matrices::random::<T>(n, others, 16),
                    Side::Right => matrices::random::<T>(others, n, 16),
                };
                let e = error(v, &a, &solve(device, v, n, &a, &b), &b);
                assert!(e < residual::BACKWARD, "{v:?} {n} {others}: {e}");
            }
        }
    }
}

fn only_the_leading_part_changes<T: Scalar, D: Device<T>>(device: &D) {
    for (v, (n, k)) in variants()
        .into_iter()
        .flat_map(|v| [(70, 41), (150, 129), (151, 66)].map(|s| (v, s)))
    {
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
        assert!(e < residual::BACKWARD, "{v:?} {k}: {e}");
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

/// Entries of a triangle of ones and of right-hand sides of small integers are replaced by
/// infinities, NaN and zeros, so that all sums are exact or not finite, in whatever order.
fn what_is_no_number_goes_where_substitution_takes_it<T: Scalar, D: Device<T>>(device: &D) {
    let odd = [f64::INFINITY, f64::NAN, f64::NEG_INFINITY];
    for n in [2, 40, 130, 203] {
        let others = 131;
        // Seen from the left, as a lower triangle: (row, column, value).
        let triangles: [&[(usize, usize, f64)]; 5] = [
            &[],
            &[(n / 2, n / 2, f64::INFINITY), (n / 3, n / 3, f64::INFINITY)],
            &[(n - 1, n / 4, f64::INFINITY), (n / 2, n / 3, f64::INFINITY)],
            &[(n / 2, n / 2, 0.0)],
            &[(n / 2, n / 2, f64::NAN), (n - 1, 0, f64::NAN)],
        ];
        for (index, changes) in triangles.into_iter().enumerate() {
            let l = Mat::from_fn(n, n, |i, j| {
                let change = changes.iter().find(|c| (c.0, c.1) == (i, j));
                change.map_or(f64::from(u8::from(i >= j)), |c| c.2)
            });
            let b = Mat::from_fn(n, others, |i, j| match j % 10 {
                5 if i == (7 * j) % n => odd[j % 3],
                _ => ((3 * i + 5 * j + i * j) % 7) as f64 - 3.0,
            });
            let mut want = b.clone();
            for j in 0..others {
                for i in 0..n {
                    let before: f64 = (0..i).map(|k| l[(i, k)] * want[(k, j)]).sum();
                    want[(i, j)] = (want[(i, j)] - before) / l[(i, i)];
                }
            }
            for v in variants() {
                let lower =
                    (v.uplo == Uplo::Lower) != (v.trans.is_yes() != (v.side == Side::Right));
                if v.diag == Diag::Unit || n > 130 && index % 2 != usize::from(lower) {
                    continue;
                }
                let at = |i: usize| if lower { i } else { n - 1 - i };
                let m = |i: usize, j: usize| l[(at(i), at(j))];
                let turned = (v.uplo == Uplo::Lower) != lower;
                let a = Host::from_fn(n, n, |i, j| if turned { m(j, i) } else { m(i, j) });
                let right = v.side == Side::Right;
                let (rows, cols) = if right { (others, n) } else { (n, others) };
                let place = |i: usize, j: usize| if right { (at(j), i) } else { (at(i), j) };
                let b = Host::from_fn(rows, cols, |i, j| b[place(i, j)]);
                let x = solve(device, v, n, &a, &b);
                for j in 0..cols {
                    for i in 0..rows {
                        let (got, want) = (x.at(i, j), want[place(i, j)]);
                        let fits = got == want || got.is_nan() && want.is_nan();
                        assert!(
                            fits,
                            "{v:?} {n}, triangle {index}, ({i}, {j}): {got}, not {want}"
                        );
                    }
                }
            }
        }
    }
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

/// Right-hand sides that have ways of their own, of orders that many blocks share.
fn few_right_hand_sides<T: Scalar, D: Device<T>>(device: &D) {
    let orders: &[usize] = if few() { &[193] } else { &[193, 1500] };
    for &n in orders {
        for v in variants().into_iter().step_by(3) {
            let a = triangle::<T>(n, v).with_gap(1);
            for others in [1, 2, 3, 5] {
                let shape = match v.side {
                    Side::Left => (n, others),
                    Side::Right => (others, n),
                };
                let b = matrices::random::<T>(shape.0, shape.1, 17);
                let x = solve(device, v, n, &a, &b);
                let e = error(v, &a, &x, &b);
                assert!(e < residual::BACKWARD, "{v:?} {n} {others}: {e}");
                assert!(same(&x, &solve(device, v, n, &a, &b)), "{v:?} {n} {others}");
            }
        }
    }
}
