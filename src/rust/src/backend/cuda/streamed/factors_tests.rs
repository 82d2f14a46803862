//! Blocks much smaller than worthwhile, compared with one step after the other.

use crate::algo::dense::host_to_host;
use crate::device::blas::Blas;
use crate::device::lapack::Lapack;
use crate::device::memory::Memory;
use faer::{Mat, MatRef};

use crate::backend::cpu::CpuDevice;
use crate::backend::cuda::streamed::factors::*;
use crate::backend::cuda::{cholesky, CudaDevice};
use crate::cost::plan::size::{column_blocks as blocks, Streamed};
use crate::device::dense::Device;

/// Tries again while another test holds the staging memory.
fn at_last<R>(mut try_it: impl FnMut() -> Result<Option<R>>) -> Result<R> {
    for _ in 0..10_000 {
        if let Some(done) = try_it()? {
            return Ok(done);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("there is no staging memory");
}

fn entry(i: usize, j: usize) -> f64 {
    ((i * 7919 + j * 104_729 + i * j) % 1009) as f64 / 500.0 - 1.0
}

fn matrix<T: Scalar>(m: usize, n: usize) -> Mat<T> {
    Mat::from_fn(m, n, |i, j| T::from_f64(entry(i, j)))
}

/// Diagonally dominant, and NaN below the diagonal.
fn positive<T: Scalar>(n: usize) -> Mat<T> {
    Mat::from_fn(n, n, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => T::from_f64(entry(i, j)),
        std::cmp::Ordering::Equal => T::from_f64(n as f64),
        std::cmp::Ordering::Greater => T::from_f64(f64::NAN),
    })
}

fn assert_close<T: Scalar>(got: MatRef<'_, T>, want: MatRef<'_, T>, most: f64, what: &str) {
    for j in 0..want.ncols() {
        for i in 0..want.nrows() {
            let (g, w): (f64, f64) = (got[(i, j)].into(), want[(i, j)].into());
            assert!((g - w).abs() <= most * T::EPS, "{what} ({i}, {j}): {g} {w}");
        }
    }
}

const ORDERS: [usize; 3] = [257, 600, 1100];

#[test]
fn cholesky_in_blocks_is_that_of_the_whole() {
    cholesky_in::<f64>();
    cholesky_in::<f32>();
}

fn cholesky_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let gpu = CudaDevice { ctx };
    for n in ORDERS {
        let x = positive::<T>(n);
        let mut whole = Mat::<T>::zeros(n, n);
        host_to_host::potrf_loaded(&gpu, x.as_ref(), whole.as_mut()).unwrap();
        for count in [2, 3, 4] {
            let blocks = blocks(n, count);
            let mut out = Mat::full(n, n, T::from_f64(7.0));
            at_last(|| cholesky(ctx, x.as_ref(), out.as_mut(), &blocks)).unwrap();
            assert_close(out.as_ref(), whole.as_ref(), 1e3, "chol");
            for bad in [0, n / 2, n - 1] {
                let mut x = x.clone();
                x[(bad, bad)] = T::from_f64(-1.0);
                let order = bad + 1;
                let failed = at_last(|| cholesky(ctx, x.as_ref(), out.as_mut(), &blocks));
                assert_eq!(failed, Err(Error::NotPositiveDefinite { order }));
            }
        }
    }
}

/// The factor of a matrix of order n from host to host, and of one that stays on the device.
fn both_ways<T: Scalar, D: Device<T>>(dev: &D, x: MatRef<'_, T>) -> [Mat<T>; 2] {
    let n = x.nrows();
    let [mut here, mut there] = [7.0, 8.0].map(|v| Mat::full(n, n, T::from_f64(v)));
    host_to_host::potrf(dev, x, here.as_mut()).unwrap();
    let resident = dev.load(x).unwrap();
    let mut factor = dev.duplicate(&resident, Part::Upper).unwrap();
    dev.potrf(Uplo::Upper, &mut factor).unwrap();
    dev.read(&factor, there.as_mut()).unwrap();
    [here, there]
}

#[test]
fn a_cholesky_factor_is_the_same_from_host_to_host() {
    same_from_host_to_host::<f64>(&[3000]);
    // Orders of one launch, and of more.
    same_from_host_to_host::<f32>(&[4200, 5300]);
}

fn same_from_host_to_host<T: Scalar>(orders: &[usize]) {
    for n in [1, 130, 300] {
        let [here, there] = both_ways(&CpuDevice::new(1), positive::<T>(n).as_ref());
        assert!(here == there, "{n}");
    }
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let gpu = CudaDevice { ctx };
    for &n in orders {
        let blocks = Streamed::Cholesky
            .blocks((n, n), size_of::<T>())
            .expect("enough for blocks");
        let x = positive::<T>(n);
        let [here, there] = both_ways(&gpu, x.as_ref());
        if !cholesky::via_f64::is_whole_cholesky::<T>(ctx, n) {
            assert_close(here.as_ref(), there.as_ref(), 1e3, "chol");
            continue;
        }
        assert!(here == there, "{n}");
        // A matrix for which blocks give other bits.
        let mut out = Mat::full(n, n, T::from_f64(7.0));
        at_last(|| cholesky(ctx, x.as_ref(), out.as_mut(), &blocks)).unwrap();
        assert!(out != there, "{n}");
        assert_close(out.as_ref(), there.as_ref(), 1e3, "chol");
    }
}

#[test]
fn lu_in_blocks_is_that_of_the_whole() {
    lu_in::<f64>();
    lu_in::<f32>();
}

fn lu_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let gpu = CudaDevice { ctx };
    for (m, n) in [(257, 257), (600, 600), (1100, 700), (700, 900)] {
        let blocks = blocks(n, 2);
        for zero in [None, Some(3), Some(n - 1)] {
            let mut x = matrix::<T>(m, n);
            if let Some(j) = zero {
                (0..m).for_each(|i| x[(i, j)] = T::from_f64(0.0));
            }
            let (there, here) = (
                Matrix::<T>::new(ctx, m, n).unwrap(),
                &mut Matrix::<T>::new(ctx, m, n).unwrap(),
            );
            let (info, norm) = at_last(|| lu(ctx, x.as_ref(), there.view(), &blocks)).unwrap();
            let (want, want_norm) = host_to_host::getrf_loaded(&gpu, x.as_ref(), here).unwrap();
            assert_eq!(
                (info.zero, norm),
                (want.zero, want_norm),
                "{m} {n} {zero:?}"
            );
            assert_eq!(info.zero, zero.filter(|j| *j < m));
            // PA - LU, whichever pivots rounding chose.
            let mut f = Mat::<T>::zeros(m, n);
            there.read(ctx, f.as_mut()).unwrap();
            let k = m.min(n);
            let wide = |v: T| -> f64 { v.into() };
            let l = Mat::from_fn(m, k, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Greater => wide(f[(i, j)]),
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Less => 0.0,
            });
            assert!((0..k).all(|j| (0..m).all(|i| l[(i, j)].abs() <= 1.0)));
            let u = Mat::from_fn(k, n, |i, j| if i <= j { wide(f[(i, j)]) } else { 0.0 });
            let mut pa = Mat::from_fn(m, n, |i, j| wide(x[(i, j)]));
            for (i, &p) in info.ipiv.iter().enumerate() {
                for j in 0..n {
                    let (a, b) = (pa[(i, j)], pa[(p, j)]);
                    (pa[(i, j)], pa[(p, j)]) = (b, a);
                }
            }
            assert_close::<f64>(
                (&l * &u).as_ref(),
                pa.as_ref(),
                1e5 * T::EPS / f64::EPS,
                "lu",
            );
        }
    }
    let mut x = matrix::<T>(300, 300);
    x[(7, 290)] = T::from_f64(f64::NAN);
    let there = Matrix::<T>::new(ctx, 300, 300).unwrap();
    let (_, norm) = at_last(|| lu(ctx, x.as_ref(), there.view(), &blocks(300, 2))).unwrap();
    assert!(norm.is_nan());
}

#[test]
fn solutions_in_blocks_are_those_of_the_whole() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let gpu = CudaDevice { ctx };
    let n = 300;
    let x = Mat::from_fn(n, n, |i, j| {
        entry(i, j) + if i == j { n as f64 } else { 0.0 }
    });
    let mut f = Matrix::<f64>::new(ctx, n, n).unwrap();
    let (info, _) = host_to_host::getrf_loaded(&gpu, x.as_ref(), &mut f).unwrap();
    for columns in [1, 129, 700] {
        let b = matrix::<f64>(n, columns);
        for given in [Some(b.as_ref()), None] {
            let columns = given.map_or(n, |b| b.ncols());
            let mut want = Mat::zeros(n, columns);
            host_to_host::getrs_loaded(&gpu, &f, &info.ipiv, given, want.as_mut()).unwrap();
            let mut got = Mat::zeros(n, columns);
            let blocks = blocks(columns, 3);
            at_last(|| solve_factored(ctx, f.view(), &info.ipiv, given, got.as_mut(), &blocks))
                .unwrap();
            assert_close(got.as_ref(), want.as_ref(), 100.0, "solve");
        }
    }
}

#[test]
fn qr_in_blocks_is_that_of_the_whole() {
    qr_in::<f64>();
    qr_in::<f32>();
}

fn qr_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let gpu = CudaDevice { ctx };
    for (m, n) in [(257, 257), (600, 600), (1300, 500)] {
        // Without what is added to the diagonal, columns of the first one depend on others.
        let x = Mat::from_fn(m, n, |i, j| {
            T::from_f64(entry(i, j) + if i == j { 8.0 } else { 0.0 })
        });
        let mut want = Mat::<T>::zeros(m, n);
        let mut a = gpu.load_into(x.as_ref(), Part::All, want.as_mut()).unwrap();
        let norms = gpu.column_norms(&a).unwrap();
        let tau = gpu.geqrf(&mut a).unwrap();
        gpu.scale_trapezoids(&tau, &[], &mut a).unwrap();
        gpu.store(a).unwrap();
        let mut seen = Vec::new();
        let mut finish = |first: usize, diagonal: &[T], of: &[f64], tau: &[T]| {
            assert_eq!(of, &norms[first..first + of.len()]);
            assert_eq!(diagonal.len(), tau.len());
            seen.push((first, tau.len()));
            Some(tau.to_vec())
        };
        let mut out = Mat::full(m, n, T::from_f64(7.0));
        let blocks = blocks(n, 2);
        let got = at_last(|| qr(ctx, x.as_ref(), out.as_mut(), &blocks, &mut finish)).unwrap();
        assert_eq!(seen, blocks);
        assert_close(out.as_ref(), want.as_ref(), 2e4, "qr");
        for (g, w) in got.iter().zip(&tau) {
            let (g, w): (f64, f64) = ((*g).into(), (*w).into());
            assert!((g - w).abs() < 1e4 * T::EPS, "{g} {w}");
        }
        for end in [0, blocks[1].0] {
            let mut refuse =
                |first: usize, _: &[T], _: &[f64], tau: &[T]| (first != end).then(|| tau.to_vec());
            let gone = qr(ctx, x.as_ref(), out.as_mut(), &blocks, &mut refuse);
            assert_eq!(gone, Ok(None), "{m} {n} {end}");
        }
    }
}

#[test]
fn crossproducts_in_blocks_are_exactly_symmetric() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for (m, n) in [(5, 300), (700, 600), (1000, 129)] {
        // Whole numbers, so that every sum is exact.
        let x = Mat::from_fn(m, n, |i, j| ((i * 31 + j * 17) % 19) as f64 - 9.0);
        let mut out = Mat::full(n, n, f64::NAN);
        for count in [2, 4] {
            at_last(|| crossprod(ctx, x.as_ref(), out.as_mut(), &blocks(n, count))).unwrap();
            assert!(out == x.transpose() * &x, "{m} {n} {count}");
        }
    }
}
