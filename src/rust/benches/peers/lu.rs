//! LU of a general matrix, and Cholesky compared with it.

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::{Part, Trans, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::blas::Blas as _;
use cudafactor::device::lapack::Lapack;
use cudafactor::device::memory::Memory;

use super::cases::{agreed, contenders, cube, precision, tflops, Bench};
use super::data::{definite, diagonal, difference, random, signs};
use super::products::product_rate;
use super::report::Row;
use super::solver::{Factorization, Routine};
use super::timing::{in_turn, once};
use super::Outcome;

/// What is allowed in units of `eps sqrt(n)`, up to order 16384. Rounding in a random matrix moves
/// L and U by about `0.004 n` of these (found at orders to 2048), and the residual, formed in
/// double precision, has as many in that precision by itself.
const APART: f64 = 500.0;
const RESIDUAL: f64 = 200.0;

fn factor<T: Scalar>(dev: &CudaDevice, x: &mut Matrix<'_, T>) -> Outcome<()> {
    dev.getrf(x)?;
    Ok(())
}

/// LU with partial pivoting.
pub fn lu<T: Scalar>(bench: &Bench<'_>, n: usize) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let a = random::<T>(dev, (n, n), 5)?;
    let (mut x, mut peer_x) = (dev.zeros(n, n)?, dev.zeros(n, n)?);
    let theirs = Factorization::<T>::new(peers, dev, Routine::Getrf, &a)?;
    dev.copy(&a, &mut x)?;
    let pivots = dev.getrf(&mut x)?.ipiv;
    dev.copy(&a, &mut peer_x)?;
    theirs.run(&peer_x)?;
    theirs.succeeded(dev)?;
    let (difference, remark) = compare(dev, &a, (&x, &pivots), (&peer_x, &theirs.pivots(dev)?))?;
    let mut ours = || {
        dev.copy(&a, &mut x)?;
        once(dev, 1, || factor(dev, &mut x))
    };
    let mut peer = || {
        dev.copy(&a, &mut peer_x)?;
        once(dev, 1, || theirs.run(&peer_x))
    };
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut peer], bench.repeats)?)?;
    drop((a, x, peer_x, theirs));
    let flops = 2.0 * cube(n) / 3.0;
    Ok(Row {
        ours: format!("LU{}", precision::<T>()),
        peer: Routine::Getrf.name::<T>(),
        m: n,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: flops,
        peer_flops: flops,
        share: Some(tflops(flops, ours.median) / product_rate::<T>(bench, n)?),
        also: Some((remark, None)),
        difference,
    })
}

/// How far two factorizations are apart, and a remark. Rounding may decide between two candidates
/// for a pivot; then L and U are those of another order of rows, and what is judged is our
/// residual.
fn compare<T: Scalar>(
    dev: &CudaDevice,
    a: &Matrix<'_, T>,
    (x, pivots): (&Matrix<'_, T>, &[usize]),
    (peer_x, peer_pivots): (&Matrix<'_, T>, &[usize]),
) -> Outcome<(f64, String)> {
    let n = pivots.len();
    let pairs = pivots.iter().zip(peer_pivots);
    let differ = pairs.filter(|(ours, peer)| ours != peer).count();
    if differ == 0 {
        let apart = difference(dev, Part::All, x, peer_x)?;
        return Ok((agreed::<T>(n, APART, apart)?, "equal pivots".to_string()));
    }
    let ours = residual(dev, a, x, pivots)?;
    let peer = residual(dev, a, peer_x, peer_pivots)?;
    let remark = format!("{differ} pivots differ: residuals {ours:.1e} and {peer:.1e}");
    Ok((agreed::<T>(n, RESIDUAL, ours)?, remark))
}

/// `||(PA - LU) s|| / ||A s||` for a vector of signs, in double precision on the host. Waits.
fn residual<T: Scalar>(
    dev: &CudaDevice,
    a: &Matrix<'_, T>,
    factor: &Matrix<'_, T>,
    pivots: &[usize],
) -> Outcome<f64> {
    let n = pivots.len();
    let mut host = faer::Mat::<T>::zeros(n, n);
    let s = signs(n);
    dev.read(a, host.as_mut())?;
    let mut want = vec![0.0; n];
    for (j, s) in s.iter().enumerate() {
        for (sum, x) in want.iter_mut().zip(host.col(j).iter()) {
            *sum += Into::<f64>::into(*x) * s;
        }
    }
    for (i, &p) in pivots.iter().enumerate() {
        want.swap(i, p);
    }
    dev.read(factor, host.as_mut())?;
    let mut us = vec![0.0; n];
    for (j, s) in s.iter().enumerate() {
        for (sum, u) in us[..=j].iter_mut().zip(host.col(j).iter()) {
            *sum += Into::<f64>::into(*u) * s;
        }
    }
    let mut got = us.clone();
    for (j, y) in us.iter().enumerate() {
        for (sum, l) in got.iter_mut().zip(host.col(j).iter()).skip(j + 1) {
            *sum += Into::<f64>::into(*l) * y;
        }
    }
    let apart: f64 = want.iter().zip(&got).map(|(x, y)| (x - y).powi(2)).sum();
    let size: f64 = want.iter().map(|x| x * x).sum();
    Ok((apart / size).sqrt())
}

/// Our Cholesky and our LU of the same positive definite matrix. Its pivots are the diagonal
/// entries, so that U is the Cholesky factor with each row times its diagonal entry.
pub fn cholesky_beside_lu(bench: &Bench<'_>, n: usize) -> Outcome<Row> {
    let dev = bench.dev;
    let a = definite::<f64>(dev, n, 1)?;
    let (mut r, mut lu) = (dev.zeros(n, n)?, dev.zeros(n, n)?);
    dev.copy(&a, &mut r)?;
    dev.potrf(Uplo::Upper, &mut r)?;
    dev.copy(&a, &mut lu)?;
    dev.getrf(&mut lu)?;
    let apart = {
        let scale = diagonal(dev, &dev.diagonal(&r)?)?;
        let mut scaled = dev.zeros(n, n)?;
        dev.gemm(1.0, Trans::No, &scale, Trans::No, &r, 0.0, &mut scaled)?;
        difference(dev, Part::Upper, &scaled, &lu)?
    };
    let difference = agreed::<f64>(n, 8.0, apart)?;
    let mut cholesky = || {
        dev.copy(&a, &mut r)?;
        once(dev, 1, || Ok(dev.potrf(Uplo::Upper, &mut r)?))
    };
    let mut general = || {
        dev.copy(&a, &mut lu)?;
        once(dev, 1, || factor(dev, &mut lu))
    };
    let runs = in_turn(&mut [&mut cholesky, &mut general], bench.repeats)?;
    let (cholesky, general, _) = contenders(runs)?;
    let share = cholesky.median / general.median;
    Ok(Row {
        ours: "Cholesky beside LU".to_string(),
        peer: "our LU of the same matrix".to_string(),
        m: n,
        n,
        ours_times: cholesky,
        peer_times: general,
        ours_flops: cube(n) / 3.0,
        peer_flops: 2.0 * cube(n) / 3.0,
        share: None,
        also: Some((format!("time of Cholesky / of LU {share:.2}"), None)),
        difference,
    })
}
