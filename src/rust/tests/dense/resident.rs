//! Drivers whose operands and results stay on the device.

use crate::common::{for_each_device, matrices, residual, same, Host};
use cudafactor::algo::dense::{
    cholesky, host_to_host, lu, matmult, qr, qr_apply, solve, triangular,
};
use cudafactor::base::error::Error;
use cudafactor::base::matrix::{Part, Trans, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::device::dense::Device;

for_each_device!(
    products,
    factors_of_positive_matrices,
    systems,
    triangles,
    least_squares,
    turned_rows,
    coefficients_beyond_the_rank,
);

fn there<T: Scalar, D: Device<T>>(device: &D, a: &Host<T>) -> D::Mat<'static> {
    device.load_temporary(a.view(), Part::All).unwrap()
}

fn home<T: Scalar, D: Device<T>>(device: &D, a: &D::Mat<'_>) -> Host<T> {
    let (rows, cols) = device.shape(a);
    let mut out = Host::from_fn(rows, cols, |_, _| f64::NAN);
    device.read(a, out.view_mut()).unwrap();
    out
}

/// Diagonally dominant: every method solves it well.
fn dominant<T: Scalar>(n: usize) -> Host<T> {
    let a = matrices::random::<T>(n, n, 81);
    Host::from_fn(n, n, |i, j| {
        a.at(i, j) + if i == j { 2.0 * n as f64 } else { 0.0 }
    })
}

fn products<T: Scalar, D: AsyncCopy<T>>(device: &D) {
    for (m, k, n) in [(0, 3, 2), (3, 0, 2), (1, 1, 1), (33, 7, 65), (130, 129, 31)] {
        let (x, y) = (
            matrices::random::<T>(m, k, 82),
            matrices::random::<T>(k, n, 83),
        );
        let (a, b) = (there(device, &x), there(device, &y));
        let c = matmult::product_resident(device, (Trans::No, &a), (Trans::No, &b)).unwrap();
        let mut expected = Host::from_fn(m, n, |_, _| f64::NAN);
        let (tx, ty) = ((Trans::No, x.view()), (Trans::No, y.view()));
        matmult::product(device, tx, ty, f64::INFINITY, expected.view_mut()).unwrap();
        assert!(same(&home(device, &c), &expected), "{m} {k} {n}");
        for trans in [Trans::No, Trans::Yes] {
            let c = matmult::self_product_resident(device, trans, &a).unwrap();
            let order = if trans.is_yes() { k } else { m };
            let mut expected = Host::from_fn(order, order, |_, _| f64::NAN);
            matmult::self_product(device, trans, x.view(), f64::INFINITY, expected.view_mut())
                .unwrap();
            assert!(same(&home(device, &c), &expected), "{m} {k} {trans:?}");
        }
        assert!(same(&home(device, &a), &x), "the operand");
    }
}

fn factors_of_positive_matrices<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 2, 31, 128, 129, 257] {
        for (kind, x) in matrices::positive::<T>(n) {
            let a = there(device, &x);
            let mut expected = Host::from_fn(n, n, |_, _| f64::NAN);
            let host = host_to_host::potrf(device, x.view(), expected.view_mut());
            let resident = cholesky::factor_resident(device, &a);
            match (host, resident) {
                (Ok(()), Ok(r)) => {
                    assert!(same(&home(device, &r), &expected), "{kind} {n}");
                    let mut inverse = Host::from_fn(n, n, |_, _| f64::NAN);
                    cholesky::inverse(device, expected.view(), inverse.view_mut()).unwrap();
                    let c = cholesky::inverse_resident(device, &r, n).unwrap();
                    assert!(same(&home(device, &c), &inverse), "{kind} {n}: inverse");
                }
                (host, resident) => assert_eq!(host.err(), resident.err(), "{kind} {n}"),
            }
            assert!(same(&home(device, &a), &x), "{kind} {n}: the operand");
        }
    }
    let x = Host::<T>::from_fn(3, 3, |i, j| if i == j && i < 2 { 1.0 } else { 0.0 });
    let a = there(device, &x);
    let inverse = |n| cholesky::inverse_resident(device, &a, n).map(drop);
    assert_eq!(inverse(2), Ok(()));
    assert_eq!(inverse(3), Err(Error::Singular { index: 3 }));
}

fn systems<T: Scalar, D: Device<T>>(device: &D) {
    for n in [1, 2, 33, 128, 257] {
        let (x, y) = (dominant::<T>(n), matrices::random::<T>(n, 3, 84));
        let identity = Host::<T>::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
        let (a, b) = (there(device, &x), there(device, &y));
        let good = |z: &D::Mat<'_>, b: &Host<T>| {
            let z = home(device, z).wide();
            let error = residual::solve(x.wide().as_ref(), z.as_ref(), b.wide().as_ref(), T::EPS);
            assert!(error < residual::BACKWARD, "{n}: {error}");
        };
        let z = solve::solve_resident(device, &a, Some(&b), T::EPS).unwrap();
        good(&z, &y);
        let z = solve::solve_resident(device, &a, None, T::EPS).unwrap();
        good(&z, &identity);
        let (f, info) = lu::factor_resident(device, &a).unwrap();
        assert!(residual::lu(&x, &home(device, &f), &info.ipiv) < residual::BACKWARD);
        good(
            &lu::solve_resident(device, &f, &info.ipiv, Some(&b)).unwrap(),
            &y,
        );
        good(
            &lu::solve_resident(device, &f, &info.ipiv, None).unwrap(),
            &identity,
        );
        assert!(
            same(&home(device, &a), &x) && same(&home(device, &b), &y),
            "operands"
        );
    }
    let ones = there(device, &Host::<T>::from_fn(3, 3, |_, _| 1.0));
    let refused = solve::solve_resident(device, &ones, None, T::EPS).map(drop);
    assert!(
        matches!(refused, Err(Error::Singular { .. })),
        "{refused:?}"
    );
}

fn triangles<T: Scalar, D: Device<T>>(device: &D) {
    let n = 130;
    let (x, y) = (dominant::<T>(n), matrices::random::<T>(n, 5, 85));
    let (r, b) = (there(device, &x), there(device, &y));
    for (k, uplo, trans) in [
        (0, Uplo::Upper, Trans::No),
        (1, Uplo::Upper, Trans::Yes),
        (64, Uplo::Lower, Trans::No),
        (n, Uplo::Upper, Trans::No),
        (n, Uplo::Lower, Trans::Yes),
    ] {
        let z = triangular::solve_resident(device, uplo, trans, k, &r, &b).unwrap();
        let z = home(device, &z);
        assert_eq!((z.rows, z.cols), (k, 5));
        let triangle = Host::<T>::from_fn(k, k, |i, j| {
            let (i, j) = if trans.is_yes() { (j, i) } else { (i, j) };
            let inside = if uplo == Uplo::Upper { i <= j } else { i >= j };
            if inside {
                x.at(i, j)
            } else {
                0.0
            }
        });
        let top = Host::<T>::from_fn(k, 5, |i, j| y.at(i, j));
        let (a, b) = (triangle.wide(), top.wide());
        let error = residual::solve(a.as_ref(), z.wide().as_ref(), b.as_ref(), T::EPS);
        assert!(
            error < residual::BACKWARD,
            "{k} {uplo:?} {trans:?}: {error}"
        );
    }
    let zero = there(
        device,
        &Host::<T>::from_fn(2, 2, |i, j| f64::from(u8::from(i + j == 0))),
    );
    let refused = triangular::solve_resident(device, Uplo::Upper, Trans::No, 2, &zero, &zero);
    assert_eq!(refused.map(drop), Err(Error::Singular { index: 2 }));
}

fn least_squares<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in [(1, 1), (5, 3), (33, 33), (129, 65), (300, 128), (20, 50)] {
        let x = matrices::random::<T>(m, n, 86);
        let a = there(device, &x);
        let (f, info) = qr::factor_resident(device, &a, 1e-7).unwrap();
        let k = m.min(n);
        assert_eq!((info.rank, info.tau.len()), (k, k), "{m} {n}");
        let q = qr_apply::form_resident(device, (&f, &info.tau), k).unwrap();
        let r = qr_apply::triangle_resident(device, &f, k, &[]).unwrap();
        let (qh, rh) = (home(device, &q), home(device, &r));
        assert!(residual::orthogonality(&qh) < residual::BACKWARD, "{m} {n}");
        assert!(residual::qr(&x, &qh, &rh) < residual::BACKWARD, "{m} {n}");
        // Q'Q C is C in its first rows.
        let c = matrices::random::<T>(m, 2, 87);
        let y = qr_apply::apply_resident(device, Trans::No, (&f, &info.tau), &there(device, &c));
        let back = qr_apply::apply_resident(device, Trans::Yes, (&f, &info.tau), &y.unwrap());
        let back = home(device, &back.unwrap());
        let near = |i, j| (back.at(i, j) - c.at(i, j)).abs() < 100.0 * m as f64 * T::EPS;
        assert!((0..m).all(|i| (0..2).all(|j| near(i, j))), "{m} {n}");
        // The parts of C in the range of the first k columns of Q and in that of the others: they
        // add up to C, and X' removes the latter.
        let project = |first, count| {
            let y = there(device, &c);
            let part = qr_apply::project_resident(device, (&f, &info.tau), (first, count), &y);
            home(device, &part.unwrap())
        };
        let (fitted, rest) = (project(0, k), project(k, m - k));
        let near = |i, j| {
            let sum = fitted.at(i, j) + rest.at(i, j);
            (sum - c.at(i, j)).abs() < 100.0 * m as f64 * T::EPS
        };
        assert!((0..m).all(|i| (0..2).all(|j| near(i, j))), "{m} {n}");
        let gradient = residual::product(x.wide().transpose(), rest.wide().as_ref());
        let scale = residual::norm1(x.wide().transpose()) * residual::norm1(c.wide().as_ref());
        let error = residual::norm1(gradient.as_ref());
        assert!(
            error <= scale * m.max(n) as f64 * T::EPS,
            "{m} {n}: {error}"
        );
        assert!(same(&home(device, &a), &x), "{m} {n}: the operand");
    }
}

fn turned_rows<T: Scalar, D: Device<T>>(device: &D) {
    // Columns that are zero below the diagonal: LINPACK turns their rows' signs, all but the last.
    for (m, n) in [(1, 1), (4, 4), (70, 40), (3, 6)] {
        let x = matrices::random::<T>(m, n, 88);
        let x = Host::<T>::from_fn(m, n, |i, j| if i <= j { x.at(i, j) + 3.0 } else { 0.0 });
        let (f, info) = qr::factor_resident(device, &there(device, &x), 1e-7).unwrap();
        let turned = qr::turned(m, &device.diagonal(&f).unwrap(), &info.tau);
        assert_eq!(turned, (0..n.min(m - 1)).collect::<Vec<_>>(), "{m} {n}");
        let r = qr_apply::triangle_resident(device, &f, m.min(n), &turned).unwrap();
        let expected = Host::from_fn(m.min(n), n, |i, j| {
            let value = if i <= j { x.at(i, j) } else { 0.0 };
            if turned.contains(&i) {
                -value
            } else {
                value
            }
        });
        assert!(same(&home(device, &r), &expected), "{m} {n}");
    }
}

fn coefficients_beyond_the_rank<T: Scalar, D: Device<T>>(device: &D) {
    // The third column repeats the first, and moves to the end.
    let (m, n) = (40, 5);
    let x = matrices::random::<T>(m, n, 89);
    let x = Host::<T>::from_fn(m, n, |i, j| x.at(i, if j == 2 { 0 } else { j }));
    let (f, info) = qr::factor_resident(device, &there(device, &x), 1e-4).unwrap();
    assert_eq!((info.rank, info.jpvt.as_slice()), (4, &[0, 1, 3, 4, 2][..]));
    let beta = [1.0, -2.0, 0.0, 3.0, 0.5];
    let y = Host::<T>::from_fn(m, 2, |i, c| {
        (0..n).map(|j| x.at(i, j) * beta[j]).sum::<f64>() * (c + 1) as f64
    });
    let tau = &info.tau[..info.rank];
    let y = there(device, &y);
    let found =
        qr_apply::coefficients_resident(device, (&f, tau), &info.jpvt, f64::NAN, &y).unwrap();
    let found = home(device, &found);
    for c in 0..2 {
        for (j, beta) in beta.iter().enumerate() {
            let near = (found.at(j, c) - beta * (c + 1) as f64).abs() < 1e4 * T::EPS;
            assert!(
                if j == 2 {
                    found.at(j, c).is_nan()
                } else {
                    near
                },
                "{j}"
            );
        }
    }
}
