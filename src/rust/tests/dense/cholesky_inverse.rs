//! potri.

use crate::common::calls::factor;
use crate::common::{for_each_device, matrices, residual, same, Host, SIZES};
use cudafactor::algo::dense::cholesky;
use cudafactor::base::error::Error;
use cudafactor::base::matrix::Uplo;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;
use faer::Mat;

for_each_device!(
    inverses,
    of_the_leading_triangle,
    what_is_not_finite_goes_where_it_must,
    zeros_on_the_diagonal,
);

fn inverse<T: Scalar, D: Device<T>>(device: &D, r: &Host<T>, n: usize) -> Host<T> {
    let mut c = Host::from_fn(n, n, |_, _| f64::NAN);
    cholesky::inverse(device, r.view(), c.view_mut()).unwrap();
    c
}

/// Sizes on both sides of where strips grow wider.
fn inverses<T: Scalar, D: Device<T>>(device: &D) {
    for n in SIZES.into_iter().chain([767, 769, 1000]).filter(|n| *n > 0) {
        for (kind, a) in matrices::positive::<T>(n).into_iter().take(4) {
            let r = factor(device, Uplo::Upper, &a).unwrap_or_else(|e| panic!("{kind} {n}: {e}"));
            let c = inverse(device, &r, n);
            let identity = Mat::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 });
            let error = residual::solve(
                a.wide().as_ref(),
                c.wide().as_ref(),
                identity.as_ref(),
                T::EPS,
            );
            assert!(error < residual::BACKWARD, "{kind} {n}: {error}");
            let transposed = Host::from_fn(n, n, |i, j| c.at(j, i));
            assert!(same(&c, &transposed), "{kind} {n}: not symmetric");
        }
    }
}

fn of_the_leading_triangle<T: Scalar, D: Device<T>>(device: &D) {
    let a = matrices::positive::<T>(150).remove(0).1;
    let r = factor(device, Uplo::Upper, &a).unwrap();
    let noise = |i: usize, j: usize| {
        if i <= j && j < 100 {
            r.at(i, j)
        } else {
            f64::NAN
        }
    };
    let alone = Host::<T>::from_fn(100, 100, |i, j| if i <= j { r.at(i, j) } else { 0.0 });
    let among = Host::<T>::from_fn(120, 150, noise);
    assert!(same(
        &inverse(device, &among, 100),
        &inverse(device, &alone, 100)
    ));
}

fn what_is_not_finite_goes_where_it_must<T: Scalar, D: Device<T>>(device: &D) {
    for bad in [f64::NAN, f64::INFINITY] {
        let (n, at) = (150, 99);
        let r = |i: usize, j: usize| match (i, j) {
            _ if i > j => 0.0,
            _ if i == 3 && j == at => bad,
            _ if i == j => 2.0,
            _ => 0.01,
        };
        let c = inverse(device, &Host::<T>::from_fn(n, n, r), n);
        assert!(!c.at(3, 3).is_finite() && !c.at(0, 0).is_finite() && !c.at(at, 3).is_finite());
    }
}

fn zeros_on_the_diagonal<T: Scalar, D: Device<T>>(device: &D) {
    for (n, k) in [(1, 0), (2, 1), (90, 70)] {
        let r = Host::<T>::from_fn(n, n, |i, j| if i == j && i != k { 1.0 } else { 0.0 });
        let mut c = Host::<T>::from_fn(n, n, |_, _| 0.0);
        let error = cholesky::inverse(device, r.view(), c.view_mut());
        assert_eq!(error, Err(Error::Singular { index: k + 1 }));
    }
}
