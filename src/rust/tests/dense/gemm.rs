//! gemm and syrk.

use crate::common::calls::{cross, multiply, BOTH};
use crate::common::{changed, for_each_device, matrices, residual, same, written, Host, SIZES};
use cudafactor::base::matrix::{Part, Trans};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(
    exact_on_integers,
    close_on_random_numbers,
    alpha_and_beta,
    beta_zero_does_not_read,
    nan_and_infinity_propagate,
    empty_inner_dimension,
    crossproducts_are_symmetric,
    same_answer_twice,
    matrix_by_vector,
);

/// `a` so that `op(a)` has the shape asked for.
fn shaped<T: Scalar>(
    t: Trans,
    rows: usize,
    cols: usize,
    make: impl Fn(usize, usize) -> Host<T>,
) -> Host<T> {
    let (r, c) = t.shape((rows, cols));
    make(r, c)
}

fn op<T: Scalar>(t: Trans, a: &Host<T>) -> faer::Mat<f64> {
    match t {
        Trans::No => a.wide(),
        Trans::Yes => a.wide().transpose().to_owned(),
    }
}

fn exact_on_integers<T: Scalar, D: Device<T>>(device: &D) {
    let mut cases: Vec<(usize, usize, usize)> = SIZES.iter().map(|&n| (n, n, n)).collect();
    cases.extend([
        (1, 300, 1),
        (300, 1, 300),
        (5, 1000, 3),
        (1000, 3, 5),
        (3, 5, 1000),
        (129, 65, 33),
        (200, 130, 10),
        (11, 135, 200),
        (31, 900, 20),
        (70, 2100, 70),
    ]);
    for (m, k, n) in cases {
        for (ta, tb) in BOTH.into_iter().flat_map(|x| BOTH.map(|y| (x, y))) {
            let a = shaped(ta, m, k, |r, c| matrices::integers::<T>(r, c, 1)).with_gap(3);
            let b = shaped(tb, k, n, |r, c| matrices::integers::<T>(r, c, 2)).with_gap(1);
            let got = multiply(device, (ta, &a), (tb, &b)).wide();
            let want = residual::product(op(ta, &a).as_ref(), op(tb, &b).as_ref());
            assert_eq!(got, want, "{m} {k} {n} {ta:?} {tb:?}");
        }
    }
}

fn close_on_random_numbers<T: Scalar, D: Device<T>>(device: &D) {
    for (m, k, n) in [
        (64, 64, 64),
        (257, 300, 129),
        (1000, 1000, 1000),
        (20, 5000, 30),
    ] {
        for (ta, tb) in [
            (Trans::No, Trans::No),
            (Trans::Yes, Trans::No),
            (Trans::No, Trans::Yes),
        ] {
            let a = shaped(ta, m, k, |r, c| matrices::random::<T>(r, c, 3));
            let b = shaped(tb, k, n, |r, c| matrices::random::<T>(r, c, 4));
            let got = multiply(device, (ta, &a), (tb, &b));
            let (a, b) = (op(ta, &a), op(tb, &b));
            let want = residual::product(a.as_ref(), b.as_ref());
            let abs = |m: &faer::Mat<f64>| {
                faer::Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)].abs())
            };
            let size = residual::product(abs(&a).as_ref(), abs(&b).as_ref());
            for j in 0..n {
                for i in 0..m {
                    let allowed =
                        residual::PRODUCT * T::EPS * (k as f64).sqrt().max(4.0) * size[(i, j)];
                    let error = (got.at(i, j) - want[(i, j)]).abs();
                    assert!(
                        error <= allowed,
                        "{m} {k} {n} ({i}, {j}): {error} > {allowed}"
                    );
                }
            }
        }
    }
}

fn alpha_and_beta<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 33, 130] {
        let (a, b, c) = (
            matrices::integers::<T>(n, n + 1, 5),
            matrices::integers::<T>(n + 1, n, 6),
            matrices::integers::<T>(n, n, 7).with_gap(2),
        );
        for (alpha, beta) in [(1.0, 1.0), (-2.0, 0.5), (0.0, 3.0), (3.0, -1.0), (0.0, 0.0)] {
            let (got, ()) = changed(device, &c, Part::All, |m| {
                let (a, b) = (device.load(a.view())?, device.load(b.view())?);
                device.gemm(
                    T::from_f64(alpha),
                    Trans::No,
                    &a,
                    Trans::No,
                    &b,
                    T::from_f64(beta),
                    m,
                )
            })
            .unwrap();
            let ab = residual::product(a.wide().as_ref(), b.wide().as_ref());
            for j in 0..n {
                for i in 0..n {
                    let want = alpha * ab[(i, j)] + beta * c.at(i, j);
                    assert_eq!(got.at(i, j), want, "{n} {alpha} {beta} ({i}, {j})");
                }
            }
        }
    }
}

fn beta_zero_does_not_read<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 5, 64, 200] {
        let a = matrices::integers::<T>(n, n, 8);
        // `written` fills the result with NaN first.
        assert!(
            multiply(device, (Trans::No, &a), (Trans::No, &a)).all(f64::is_finite),
            "{n}"
        );
    }
}

fn nan_and_infinity_propagate<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 2, 16, 65, 150] {
        for (value, against) in [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (f64::INFINITY, 1.0)] {
            let at = (n / 2, n / 3);
            let a = Host::<T>::from_fn(n, n, |i, j| if (i, j) == at { value } else { 1.0 });
            let b = Host::<T>::from_fn(n, n, |_, _| against);
            let c = multiply(device, (Trans::No, &a), (Trans::No, &b));
            for j in 0..n {
                for i in 0..n {
                    let got = c.at(i, j);
                    let want = if i == at.0 {
                        value * against + (n - 1) as f64 * against
                    } else {
                        n as f64 * against
                    };
                    assert!(
                        got == want || got.is_nan() && want.is_nan(),
                        "{n} ({i}, {j}): {got}, not {want}"
                    );
                }
            }
        }
    }
}

fn empty_inner_dimension<T: Scalar, D: Device<T>>(device: &D) {
    let (a, b) = (
        matrices::random::<T>(4, 0, 1),
        matrices::random::<T>(0, 3, 1),
    );
    let c = multiply(device, (Trans::No, &a), (Trans::No, &b));
    assert!((c.rows, c.cols) == (4, 3) && c.all(|v| v == 0.0));
    let a = matrices::random::<T>(0, 3, 1);
    let c = written(device, 3, 3, 0, |c| {
        device.syrk(Trans::Yes, &device.load(a.view())?, c)
    })
    .unwrap();
    assert!(c.all(|v| v == 0.0));
}

fn crossproducts_are_symmetric<T: Scalar, D: Device<T>>(device: &D) {
    let mut cases: Vec<(usize, usize)> = SIZES.iter().map(|&n| (n, n)).collect();
    cases.extend([(500, 40), (40, 500), (1000, 300), (33, 4000), (12, 2001)]);
    for (m, n) in cases {
        for trans in BOTH {
            let exact = matrices::integers::<T>(m, n, 9).with_gap(1);
            let rough = matrices::random::<T>(m, n, 9);
            let order = if trans.is_yes() { n } else { m };
            let x = op(trans, &exact);
            let want = residual::product(x.as_ref(), x.transpose());
            assert_eq!(
                cross(device, trans, &exact).wide(),
                want,
                "{m} {n} {trans:?}"
            );
            let c = cross(device, trans, &rough);
            for j in 0..order {
                for i in 0..j {
                    assert_eq!(c.at(i, j), c.at(j, i), "{m} {n} {trans:?} ({i}, {j})");
                }
            }
        }
    }
}

fn same_answer_twice<T: Scalar, D: Device<T>>(device: &D) {
    let (a, b) = (
        matrices::random::<T>(300, 700, 1),
        matrices::random::<T>(700, 400, 2),
    );
    let first = multiply(device, (Trans::No, &a), (Trans::No, &b));
    let second = multiply(device, (Trans::No, &a), (Trans::No, &b));
    assert!(same(&first, &second));
}

/// One column or one row: long, short, many slices, leading dimensions of either parity, what is
/// there beforehand read or not.
fn matrix_by_vector<T: Scalar, D: Device<T>>(device: &D) {
    for (m, k) in [
        (1, 2),
        (1, 70_000),
        (3, 20_001),
        (31, 33),
        (33, 4097),
        (64, 9000),
        (257, 1030),
        (1025, 2),
        (3000, 129),
        (40_000, 5),
    ] {
        for (t, other) in [(Trans::No, Trans::Yes), (Trans::Yes, Trans::No)] {
            for gap in [0, 1] {
                let a = shaped(t, m, k, |r, c| matrices::integers::<T>(r, c, 8)).with_gap(gap);
                let x = matrices::integers::<T>(k, 1, 9);
                let want = residual::product(op(t, &a).as_ref(), x.wide().as_ref());
                let got = multiply(device, (t, &a), (Trans::No, &x));
                assert_eq!(got.wide(), want, "{m} {k} {t:?}");
                let row = multiply(device, (Trans::Yes, &x), (other, &a));
                assert_eq!(row.wide(), want.transpose(), "{m} {k} {t:?}, a row");
                assert!(same(&got, &multiply(device, (t, &a), (Trans::No, &x))));
            }
        }
        let (a, x) = (
            matrices::integers::<T>(m, k, 10),
            matrices::integers::<T>(k, 1, 11),
        );
        let y = matrices::integers::<T>(m, 1, 12);
        let whole = residual::product(a.wide().as_ref(), x.wide().as_ref());
        let (got, ()) = changed(device, &y, Part::All, |out| {
            let (a, x) = (device.load(a.view())?, device.load(x.view())?);
            let (alpha, beta) = (T::from_f64(-2.0), T::from_f64(0.5));
            device.gemm(alpha, Trans::No, &a, Trans::No, &x, beta, out)
        })
        .unwrap();
        for i in 0..m {
            assert_eq!(got.at(i, 0), -2.0 * whole[(i, 0)] + 0.5 * y.at(i, 0));
        }
    }
}
