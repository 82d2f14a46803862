//! Dense matrices on a device, in both precisions.

use cudafactor::algo::krylov::blocks::{Jacobi, Preconditioner, Unpreconditioned};
use cudafactor::algo::krylov::dense::{Dense, Factor, ThroughHost};
use cudafactor::algo::krylov::device_blocks::OnDevice;
use cudafactor::algo::krylov::host_blocks::Host as OnHost;
use cudafactor::algo::krylov::outcome::{End, Solution, Stopping};
use cudafactor::algo::krylov::pcg::pcg;
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::base::matrix::{Part, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};
use cudafactor::device::elementwise::Elementwise;

use super::problem::{dense, numbers, poisson};
use crate::common::{for_each_device, Host};

for_each_device!(dense_systems, nearby_factors, through_the_host, ends);

/// Looser than what the precision allows.
fn tol<T: Scalar>() -> f64 {
    T::EPS.powf(0.6)
}

fn right_hand_sides<T: Scalar>(n: usize, k: usize) -> Host<T> {
    let all = numbers(n * k, 17);
    Host::from_fn(n, k, |i, j| all[j * n + i])
}

/// A covariance of points on a line, with a nugget.
fn covariance<T: Scalar>(n: usize, range: f64) -> Host<T> {
    Host::from_fn(n, n, |i, j| {
        let nugget = if i == j { 0.01 } else { 0.0 };
        (-(i.abs_diff(j) as f64) / (range * n as f64)).exp() + nugget
    })
}

fn solved<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &Host<T>,
    m: &impl for<'d> Preconditioner<OnDevice<'d, T, D>>,
    b: &Host<T>,
    tol: f64,
) -> Solution<D::Mat<'static>> {
    let blocks = OnDevice::new(dev);
    let b = blocks.bring(b.view()).unwrap();
    let loaded = dev.load(a.view()).unwrap();
    let stop = Stopping { tol, maxit: 2000 };
    pcg(&blocks, &Dense::<T, D>(&loaded), m, &b, None, stop).unwrap()
}

/// Residuals in double precision, against rounding of the product in the device's.
fn check<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &Host<T>,
    b: &Host<T>,
    s: &Solution<D::Mat<'static>>,
    tol: f64,
) {
    let (n, k) = (b.rows, b.cols);
    let x = OnDevice::<T, D>::new(dev).fetch(&s.x).unwrap();
    let x = faer::Mat::from_fn(n, k, |i, j| x[j * n + i].into());
    let (a, b) = (a.wide(), b.wide());
    let off = &b - &a * &x;
    for c in 0..k {
        assert_eq!(s.ends[c], End::Converged, "order {n}, column {c}");
        let (off, norm) = (off.col(c).norm_l2(), b.col(c).norm_l2());
        let rounding = T::EPS * a.norm_l2() * x.col(c).norm_l2();
        assert!(off <= 1.1 * tol * norm + rounding, "order {n}: {off:e}");
    }
}

fn dense_systems<T: Scalar, D: Elementwise<T>>(dev: &D) {
    for n in [0, 1, 2, 33, 130, 257] {
        for k in [0, 1, 2, 5, 33] {
            let a = covariance::<T>(n, 0.02);
            let b = right_hand_sides::<T>(n, k);
            let blocks = OnDevice::<T, D>::new(dev);
            let jacobi = Jacobi::new(&blocks, &vec![1.01; n]).unwrap();
            let none = solved(dev, &a, &Unpreconditioned, &b, tol::<T>());
            check(dev, &a, &b, &none, tol::<T>());
            let by_diagonal = solved(dev, &a, &jacobi, &b, tol::<T>());
            check(dev, &a, &b, &by_diagonal, tol::<T>());
        }
    }
}

/// The factor of a covariance that has changed by a little needs few iterations, and the matrix's
/// own about one.
fn nearby_factors<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let n = 200;
    let (old, new) = (covariance::<T>(n, 0.2), covariance::<T>(n, 0.21));
    let b = right_hand_sides::<T>(n, 3);
    let none = solved(dev, &new, &Unpreconditioned, &b, tol::<T>());
    for uplo in [Uplo::Upper, Uplo::Lower] {
        for (a, most) in [(&new, 3), (&old, 12)] {
            let part = match uplo {
                Uplo::Upper => Part::Upper,
                Uplo::Lower => Part::Lower,
            };
            let mut factor = dev.load_temporary(a.view(), part).unwrap();
            dev.potrf(uplo, &mut factor).unwrap();
            let m = Factor::<T, D> {
                factor: &factor,
                uplo,
            };
            let s = solved(dev, &new, &m, &b, tol::<T>());
            check(dev, &new, &b, &s, tol::<T>());
            for (few, many) in s.iterations.iter().zip(&none.iterations) {
                assert!(*few <= most && few < many, "{few} and {many}");
            }
        }
    }
}

/// Sparse matrices and factors of the host, for blocks of the device.
fn through_the_host<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let a = poisson(&[14, 15]);
    let (host, n) = (OnHost::new(2), a.rows);
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let sparse = Symmetric::new(&a, Stored::All).unwrap();
    let full = dense(&a);
    let full = Host::<T>::from_fn(n, n, |i, j| full[(i, j)]);
    let b = right_hand_sides::<T>(n, 3);
    let m = ThroughHost { host, inner: &ic0 };
    let s = solved(dev, &full, &m, &b, tol::<T>());
    check(dev, &full, &b, &s, tol::<T>());
    let blocks = OnDevice::new(dev);
    let loaded = blocks.bring(b.view()).unwrap();
    let stop = Stopping {
        tol: tol::<T>(),
        maxit: 2000,
    };
    let operator = ThroughHost {
        host,
        inner: &sparse,
    };
    let s = pcg(&blocks, &operator, &m, &loaded, None, stop).unwrap();
    check(dev, &full, &b, &s, tol::<T>());
}

/// Zero, indefinite and unreachable columns.
fn ends<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let a = Host::<T>::from_fn(40, 40, |i, j| match (i == j, i) {
        (true, 39) => -2.0,
        (true, _) => 1.0 + i as f64,
        _ => 0.0,
    });
    let b = Host::<T>::from_fn(40, 4, |i, j| match (j, i) {
        (0, _) => 0.0,
        (1, 39) => 0.0,
        (2, _) => 1.0,
        (3, 39) => 1.0,
        (1, _) => (i % 3) as f64,
        _ => 0.0,
    });
    let s = solved(dev, &a, &Unpreconditioned, &b, tol::<T>());
    assert_eq!(s.converged(), [true, true, false, false]);
    assert_eq!(s.iterations[0], 0);
    assert!(matches!(s.ends[2], End::Indefinite { .. }));
    assert_eq!(s.ends[3], End::Indefinite { cosine: -1.0 });
    // More digits than there are.
    let a = covariance::<T>(60, 0.3);
    let b = right_hand_sides::<T>(60, 2);
    let s = solved(dev, &a, &Unpreconditioned, &b, 1e-19);
    assert!(s.ends.iter().all(|e| *e == End::Stagnated), "{:?}", s.ends);
    assert!(
        s.residuals.iter().all(|r| *r <= 1e3 * T::EPS),
        "{:?}",
        s.residuals
    );
}
