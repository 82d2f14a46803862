//! geqrf, geqp3, qrdc2, ormqr and orgqr.

use crate::common::{changed, for_each_device, matrices, residual, same, shapes, written, Host};
use cudafactor::base::matrix::{Part, Trans};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;
use cudafactor::device::lapack::PivotedQr;

for_each_device!(
    plain_factors,
    lapack_signs_and_tau,
    reflectors_multiply_both_ways,
    first_columns_of_q,
    lapack_pivots,
    limited_pivots_factor,
    limited_pivots_move_dependent_columns,
    limited_pivots_reflect_what_linpack_does,
    everything_moved,
    nan_propagates,
    same_answer_twice,
);

fn t<T: Scalar>(v: &[T]) -> Vec<f64> {
    v.iter().map(|x| (*x).into()).collect()
}

/// The orthogonal factor with all its columns.
fn q_of<T: Scalar, D: Device<T>>(device: &D, factor: &Host<T>, tau: &[T]) -> Host<T> {
    let m = factor.rows;
    written(device, m, m, 1, |q| {
        device.set_identity(q)?;
        device.ormqr(Trans::No, &device.load(factor.view())?, tau, q)
    })
    .unwrap()
}

fn permuted<T: Scalar>(a: &Host<T>, jpvt: &[usize]) -> Host<T> {
    Host::from_fn(a.rows, a.cols, |i, j| a.at(i, jpvt[j]))
}

/// That `factor` is a QR factorization of `a`.
fn check<T: Scalar, D: Device<T>>(
    device: &D,
    what: &str,
    a: &Host<T>,
    factor: &Host<T>,
    tau: &[T],
) {
    assert_eq!(tau.len(), a.rows.min(a.cols), "{what}");
    let q = q_of(device, factor, tau);
    let lost = residual::orthogonality(&q);
    assert!(lost < residual::ORTHOGONAL, "{what}: orthogonality {lost}");
    let error = residual::qr(a, &q, factor);
    assert!(error < residual::BACKWARD, "{what}: {error}");
}

fn plain_factors<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        for (kind, a) in matrices::rectangular::<T>(m, n) {
            let a = a.with_gap(3);
            let (factor, tau) = changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
            check(device, &format!("{kind} {m} {n}"), &a, &factor, &tau);
        }
    }
}

fn lapack_signs_and_tau<T: Scalar, D: Device<T>>(device: &D) {
    // beta has the sign opposite to alpha; a column already reduced keeps its sign and has tau = 0.
    let a = Host::<T>::from_fn(3, 3, |i, j| {
        [[3.0, 1.0, 2.0], [4.0, 0.0, 1.0], [0.0, 0.0, -7.0]][i][j]
    });
    let (r, tau) = changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
    let close = |x: f64, y: f64| approx::abs_diff_eq!(x, y, epsilon = 20.0 * T::EPS);
    assert!(close(r.at(0, 0), -5.0) && close(tau[0].into(), 1.6) && close(r.at(1, 0), 0.5));
    // Row 3 is zero in the first two columns: nothing to do for the second.
    assert!(
        close(tau[1].into(), 0.0) && close(r.at(1, 1).abs(), 0.8),
        "{:?}",
        t(&tau)
    );
    assert_eq!((tau[2].into(), r.at(2, 2)), (0.0, -7.0));
    for n in [1, 2, 40, 130] {
        let a = Host::<T>::from_fn(n, n, |i, j| if i == j { -2.0 } else { 0.0 });
        let (r, tau) = changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
        assert!(same(&r, &a) && tau.iter().all(|&v| v.into() == 0.0), "{n}");
    }
    for n in [40, 130] {
        let a = matrices::random::<T>(n, n, 41);
        let (_, tau) = changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
        assert!(
            t(&tau)[..n - 1].iter().all(|v| (1.0..=2.0).contains(v)),
            "{n}"
        );
        assert_eq!(tau[n - 1].into(), 0.0);
    }
}

fn reflectors_multiply_both_ways<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [(1, 1), (5, 3), (64, 64), (65, 130), (300, 40), (300, 257)] {
        let a = matrices::random::<T>(m, n, 42);
        let (factor, tau) = changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
        let operand = device.load(factor.view()).unwrap();
        let apply = |trans, c: &Host<T>, tau: &[T]| {
            changed(device, c, Part::All, |x| {
                device.ormqr(trans, &operand, tau, x)
            })
            .unwrap()
            .0
        };
        // Q'A = R.
        let r = apply(Trans::Yes, &a.with_gap(2), &tau);
        let scale = residual::norm1(a.wide().as_ref());
        for j in 0..n {
            for i in 0..m {
                let want = if i <= j { factor.at(i, j) } else { 0.0 };
                let off = (r.at(i, j) - want).abs() / (scale * m as f64 * T::EPS);
                assert!(off < residual::BACKWARD, "{m} {n} ({i}, {j}): {off}");
            }
        }
        // There and back, with fewer reflectors than there are, too.
        for k in [0, 1, tau.len() / 2, tau.len()] {
            let c = matrices::random::<T>(m, 9, 43);
            let back = apply(Trans::No, &apply(Trans::Yes, &c, &tau[..k]), &tau[..k]);
            let off = (&back.wide() - &c.wide()).norm_max() / (m as f64 * T::EPS);
            assert!(off < residual::BACKWARD, "{m} {n} {k}: {off}");
        }
    }
}

fn first_columns_of_q<T: Scalar, D: Device<T>>(device: &D) {
    let shapes = [
        (1, 1),
        (5, 3),
        (33, 32),
        (64, 64),
        (129, 128),
        (300, 130),
        (300, 257),
        (40, 90),
        (1000, 20),
    ];
    for (m, n) in shapes {
        let a = matrices::random::<T>(m, n, 47);
        let (factor, tau) = changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
        let whole = q_of(device, &factor, &tau);
        for k in [0, 1, tau.len() / 2, tau.len()] {
            for cols in [k, (k + 3).min(m), m] {
                let q = written(device, m, cols, 2, |q| {
                    device.orgqr(&device.load(factor.view())?, &tau[..k], q)
                })
                .unwrap();
                if k == tau.len() {
                    for j in 0..cols {
                        for i in 0..m {
                            let off = (q.at(i, j) - whole.at(i, j)).abs() / T::EPS;
                            assert!(
                                off < residual::ORTHOGONAL,
                                "{m} {n} {cols} ({i}, {j}): {off}"
                            );
                        }
                    }
                }
                let lost = residual::orthogonality(&q);
                assert!(lost < residual::ORTHOGONAL, "{m} {n} {k} {cols}: {lost}");
            }
        }
    }
}

fn lapack_pivots<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        if m * n > 300 * 300 {
            continue;
        }
        for (kind, a) in matrices::rectangular::<T>(m, n) {
            let what = format!("{kind} {m} {n}");
            let (factor, p) = changed(device, &a, Part::All, |x| device.geqp3(x)).unwrap();
            check_pivots(&p, m.min(n), n, &what);
            check(device, &what, &permuted(&a, &p.jpvt), &factor, &p.tau);
            for i in 1..m.min(n) {
                let (before, now) = (factor.at(i - 1, i - 1).abs(), factor.at(i, i).abs());
                let slack = 1.0 + 1e3 * T::EPS.sqrt();
                let noise = factor.at(0, 0).abs() * T::EPS * 10.0;
                assert!(
                    now <= before * slack + noise,
                    "{what}: diagonal grows at {i}"
                );
            }
        }
    }
    // The first of equal norms.
    let a = Host::<T>::from_fn(20, 20, |i, j| f64::from(u8::from(i == j)));
    let (_, p) = changed(device, &a, Part::All, |x| device.geqp3(x)).unwrap();
    assert_eq!(p.jpvt, (0..20).collect::<Vec<_>>());
}

fn check_pivots<T>(p: &PivotedQr<T>, rank: usize, n: usize, what: &str) {
    let mut seen = p.jpvt.clone();
    seen.sort_unstable();
    assert_eq!(seen, (0..n).collect::<Vec<_>>(), "{what}");
    assert_eq!(p.rank, rank, "{what}");
}

fn limited_pivots_factor<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        if m * n > 300 * 300 {
            continue;
        }
        for (kind, a) in matrices::rectangular::<T>(m, n) {
            let what = format!("{kind} {m} {n}");
            let (factor, p) = changed(device, &a, Part::All, |x| device.qrdc2(1e-5, x)).unwrap();
            check_pivots(&p, p.rank, n, &what);
            assert!(p.rank <= m.min(n), "{what}");
            check(device, &what, &permuted(&a, &p.jpvt), &factor, &p.tau);
            if ["random", "tiny", "huge"].contains(&kind.as_str()) {
                assert_eq!(p.rank, m.min(n), "{what}");
                assert_eq!(p.jpvt, (0..n).collect::<Vec<_>>(), "{what}");
            }
        }
    }
}

fn limited_pivots_move_dependent_columns<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [(10, 6), (50, 50), (100, 70), (70, 100), (200, 160)] {
        let base = matrices::random::<f64>(m, n, 44);
        // Every fourth column repeats the two before it, and column 1 is zero.
        let dependent = |j: usize| j == 1 || j % 4 == 3;
        let a = Host::<T>::from_fn(m, n, |i, j| match j {
            1 => 0.0,
            _ if j % 4 == 3 => base.at(i, j - 1) - 2.0 * base.at(i, if j == 3 { 0 } else { j - 2 }),
            _ => base.at(i, j),
        });
        let (_, p) = changed(device, &a, Part::All, |x| device.qrdc2(1e-4, x)).unwrap();
        let free: Vec<usize> = (0..n).filter(|&j| !dependent(j)).collect();
        let rank = free.len().min(m);
        assert_eq!(p.rank, rank, "{m} {n}");
        assert_eq!(p.jpvt[..rank], free[..rank], "{m} {n}");
        if free.len() <= m {
            let moved: Vec<usize> = (0..n).filter(|&j| dependent(j)).collect();
            assert_eq!(p.jpvt[rank..], moved, "{m} {n}");
        }
    }
}

fn limited_pivots_reflect_what_linpack_does<T: Scalar, D: Device<T>>(device: &D) {
    // Unlike LAPACK, a column already reduced is reflected: R's qr(diag(n)) has -1 everywhere but
    // in the last row.
    for n in [1, 2, 40, 130] {
        let a = Host::<T>::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
        let (factor, p) = changed(device, &a, Part::All, |x| device.qrdc2(1e-7, x)).unwrap();
        for i in 0..n {
            let last = i + 1 == n;
            assert_eq!(factor.at(i, i), if last { 1.0 } else { -1.0 }, "{n}");
            assert_eq!(p.tau[i].into(), if last { 0.0 } else { 2.0 }, "{n}");
        }
        assert_eq!(p.rank, n);
    }
}

fn everything_moved<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [(3, 3), (40, 10), (10, 40), (100, 100)] {
        let a = Host::<T>::from_fn(m, n, |_, _| 0.0);
        let (factor, p) = changed(device, &a, Part::All, |x| device.qrdc2(1e-7, x)).unwrap();
        assert!(same(&factor, &a), "{m} {n}");
        assert_eq!((p.rank, p.jpvt), (0, (0..n).collect()), "{m} {n}");
        // One column many times: the first stays, the others keep their order.
        let a = Host::<T>::from_fn(m, n, |i, _| (i + 1) as f64);
        let (_, p) = changed(device, &a, Part::All, |x| device.qrdc2(1e-4, x)).unwrap();
        assert_eq!((p.rank, p.jpvt), (1, (0..n).collect()), "{m} {n}");
    }
}

fn nan_propagates<T: Scalar, D: Device<T>>(device: &D) {
    for n in [2, 40, 130] {
        let mut a = matrices::random::<T>(n, n, 45);
        a.set(n / 2, 0, f64::NAN);
        let (factor, _) = changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
        assert!(
            factor.at(0, 0).is_nan() && factor.at(n - 1, n - 1).is_nan(),
            "{n}"
        );
        let (factor, _) = changed(device, &a, Part::All, |x| device.geqp3(x)).unwrap();
        assert!(!factor.all(f64::is_finite), "{n}");
    }
}

fn same_answer_twice<T: Scalar, D: Device<T>>(device: &D) {
    let a = matrices::random::<T>(500, 300, 46);
    let factor = || changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
    let (first, second) = (factor(), factor());
    assert!(same(&first.0, &second.0));
    assert_eq!(t(&first.1), t(&second.1));
}
