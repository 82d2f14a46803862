//! One vector: products with a matrix, and triangular systems.

use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::{Diag, Part, Side, Trans, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::blas::Blas as _;
use cudafactor::device::memory::Memory;

use super::blas::Blas;
use super::cases::{agreed, contenders, precision, Bench};
use super::data::{definite, difference, random};
use super::library::blas_name;
use super::report::Row;
use super::timing::{in_turn, once};
use super::Outcome;

/// Calls between two looks at the clock: starting one takes the host as long as the GPU needs for a
/// small one.
const CALLS: usize = 10;

fn square(n: usize) -> f64 {
    (n as f64).powi(2)
}

/// `op(A) x`.
pub fn product<T: Scalar>(bench: &Bench<'_>, trans: Trans, n: usize) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let blas = Blas::<T>::new(peers, n)?;
    let (a, x) = (random::<T>(dev, (n, n), 1)?, random::<T>(dev, (n, 1), 2)?);
    let (mut y, peer_y) = (dev.zeros(n, 1)?, dev.zeros(n, 1)?);
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    let multiply = |y: &mut Matrix<'_, T>| -> Outcome<()> {
        Ok(dev.gemm(one, trans, &a, Trans::No, &x, zero, y)?)
    };
    multiply(&mut y)?;
    blas.gemv(trans, &a, &x, &peer_y)?;
    let difference = agreed::<T>(n, 8.0, difference(dev, Part::All, &y, &peer_y)?)?;
    let mut ours = || once(dev, CALLS, || multiply(&mut y));
    let mut theirs = || once(dev, CALLS, || blas.gemv(trans, &a, &x, &peer_y));
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut theirs], bench.repeats)?)?;
    let op = if trans.is_yes() { "A'x" } else { "Ax" };
    Ok(Row {
        ours: format!("{op}{}", precision::<T>()),
        peer: blas_name::<T>("gemv"),
        m: n,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: 2.0 * square(n),
        peer_flops: 2.0 * square(n),
        share: None,
        also: None,
        difference,
    })
}

/// A triangular system with `lines` right-hand sides, the peer's routine for one called as often,
/// and its routine for many.
pub fn triangular<T: Scalar>(
    bench: &Bench<'_>,
    trans: Trans,
    n: usize,
    lines: usize,
) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let blas = Blas::<T>::new(peers, n)?;
    let (a, b) = (definite::<T>(dev, n, 1)?, random::<T>(dev, (n, lines), 2)?);
    let zeros = || dev.zeros(n, lines);
    let (mut x, mut peer_x, mut many_x) = (zeros()?, zeros()?, zeros()?);
    let solve = |x: &mut Matrix<'_, T>| -> Outcome<()> {
        let (left, upper) = (Side::Left, Uplo::Upper);
        Ok(dev.trsm(left, upper, trans, Diag::NonUnit, n, &a, x)?)
    };
    dev.copy(&b, &mut x)?;
    solve(&mut x)?;
    dev.copy(&b, &mut peer_x)?;
    blas.trsv(trans, &a, &peer_x, lines)?;
    let difference = agreed::<T>(n, 8.0, difference(dev, Part::All, &x, &peer_x)?)?;
    let mut ours = || {
        dev.copy(&b, &mut x)?;
        once(dev, CALLS, || solve(&mut x))
    };
    let mut theirs = || {
        dev.copy(&b, &mut peer_x)?;
        once(dev, CALLS, || blas.trsv(trans, &a, &peer_x, lines))
    };
    let mut many = || {
        dev.copy(&b, &mut many_x)?;
        once(dev, CALLS, || {
            blas.trsm_columns(Uplo::Upper, trans, &a, &many_x, lines)
        })
    };
    let (ours, peer, also) = contenders(in_turn(
        &mut [&mut ours, &mut theirs, &mut many],
        bench.repeats,
    )?)?;
    let which = if trans.is_yes() { ", transposed" } else { "" };
    let flops = square(n) * lines as f64;
    Ok(Row {
        ours: format!(
            "triangular solve of {lines}, upper{which}{}",
            precision::<T>()
        ),
        peer: blas_name::<T>("trsv"),
        m: n,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: flops,
        peer_flops: flops,
        share: None,
        also: also.map(|t| (blas_name::<T>("trsm"), Some(t))),
        difference,
    })
}
