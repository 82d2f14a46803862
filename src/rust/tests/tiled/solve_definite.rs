//! Systems with a positive definite matrix of which a device has room for a few tiles.

use crate::common::{matrices, residual, Host};
use cudafactor::algo::dense::lu::Rhs;
use cudafactor::algo::tiled::cholesky_host::DevicePool;
use cudafactor::algo::tiled::solve_definite::{by_tiles, solve};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;

fn limited(memory: f64) -> DevicePool<'static> {
    DevicePool {
        devices: Box::new(|| vec![0]),
        together: false,
        memory,
    }
}

fn positive<T: Scalar>(n: usize) -> Host<T> {
    Host::from_fn(n, n, |i, j| {
        let near = 1.0 / (1.0 + i.abs_diff(j) as f64);
        near + if i == j { 2.0 } else { 0.0 }
    })
}

fn checked<T: Scalar>(a: &Host<T>, x: &Host<T>, b: &Host<T>) {
    let error = residual::solve(
        a.wide().as_ref(),
        x.wide().as_ref(),
        b.wide().as_ref(),
        T::EPS,
    );
    assert!(error < residual::BACKWARD, "{error}");
}

fn systems<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    for n in [1, 127, 128, 129, 500] {
        let a = positive::<T>(n);
        for q in [1, 3, 200] {
            let b = matrices::random::<T>(n, q, 7);
            let mut x = Host::<T>::from_fn(n, q, |_, _| f64::NAN);
            // Tiles of 128, room for ten of them.
            let means = limited(10.0 * (128 * 128 * size_of::<T>()) as f64);
            by_tiles(
                dev,
                &means,
                a.view(),
                &Rhs::Given(b.view()),
                1e-16,
                x.view_mut(),
            )
            .unwrap();
            checked(&a, &x, &b);
            solve(
                dev,
                &means,
                a.view(),
                Rhs::Given(b.view()),
                1e-16,
                x.view_mut(),
            )
            .unwrap();
            checked(&a, &x, &b);
        }
        let mut inverse = Host::<T>::from_fn(n, n, |_, _| f64::NAN);
        solve(
            dev,
            &limited(3e6),
            a.view(),
            Rhs::Identity,
            1e-16,
            inverse.view_mut(),
        )
        .unwrap();
        checked(
            &a,
            &inverse,
            &Host::from_fn(n, n, |i, j| f64::from(u8::from(i == j))),
        );
    }
}

fn others<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let n = 300;
    let means = limited(10.0 * (128 * 128 * size_of::<T>()) as f64);
    let b = matrices::random::<T>(n, 2, 8);
    let mut x = Host::<T>::from_fn(n, 2, |_, _| f64::NAN);
    // Neither a symmetric matrix that is not definite nor another one is refused while there is
    // room for it whole.
    for (i, j) in [(5, 5), (200, 3)] {
        let mut a = positive::<T>(n);
        a.set(i, j, -7.0);
        solve(
            dev,
            &means,
            a.view(),
            Rhs::Given(b.view()),
            1e-16,
            x.view_mut(),
        )
        .unwrap();
        checked(&a, &x, &b);
    }
    // One that is nearly singular is told.
    let a = Host::<T>::from_fn(n, n, |i, j| match (i, j) {
        (i, j) if i != j => 0.0,
        (0, _) => 1e-30,
        _ => 1.0,
    });
    let failed = by_tiles(
        dev,
        &means,
        a.view(),
        &Rhs::Given(b.view()),
        1e-16,
        x.view_mut(),
    );
    assert!(
        matches!(failed, Err(Error::IllConditioned { rcond }) if rcond < 1e-25),
        "{failed:?}"
    );
}

#[test]
fn cpu_apart() {
    let dev = CpuDevice::with_separate_memory(1);
    systems::<f64, _>(&dev);
    systems::<f32, _>(&dev);
    others::<f64, _>(&dev);
    others::<f32, _>(&dev);
}

#[cfg(feature = "cuda")]
#[test]
fn gpu() {
    if let Some(gpu) = crate::common::gpu() {
        systems::<f64, _>(&gpu);
        systems::<f32, _>(&gpu);
        others::<f64, _>(&gpu);
        others::<f32, _>(&gpu);
    }
}
