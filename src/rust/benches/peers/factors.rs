//! Triangular systems and Cholesky.

use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::{Diag, Part, Side, Trans, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::batched::Batched;
use cudafactor::device::blas::Blas as _;
use cudafactor::device::lapack::Lapack;
use cudafactor::device::memory::Memory;

use super::blas::Blas;
use super::cases::{agreed, contenders, cube, precision, tflops, Bench};
use super::data::{definite, difference, random};
use super::library::blas_name;
use super::products::product_rate;
use super::report::Row;
use super::solver::{Batch, Factorization, Routine};
use super::timing::{in_turn, once, Run};
use super::Outcome;

/// A triangular system with n right-hand sides.
pub fn triangular<T: Scalar>(
    bench: &Bench<'_>,
    uplo: Uplo,
    trans: Trans,
    n: usize,
) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let blas = Blas::<T>::new(peers, n)?;
    let (a, b) = (definite::<T>(dev, n, 1)?, random::<T>(dev, (n, n), 2)?);
    let (mut x, mut peer_x) = (dev.zeros(n, n)?, dev.zeros(n, n)?);
    let solve = |x: &mut Matrix<'_, T>| -> Outcome<()> {
        Ok(dev.trsm(Side::Left, uplo, trans, Diag::NonUnit, n, &a, x)?)
    };
    dev.copy(&b, &mut x)?;
    solve(&mut x)?;
    dev.copy(&b, &mut peer_x)?;
    blas.trsm(uplo, trans, &a, &peer_x)?;
    let difference = agreed::<T>(n, 8.0, difference(dev, Part::All, &x, &peer_x)?)?;
    let mut ours = || {
        dev.copy(&b, &mut x)?;
        once(dev, 1, || solve(&mut x))
    };
    let mut theirs = || {
        dev.copy(&b, &mut peer_x)?;
        once(dev, 1, || blas.trsm(uplo, trans, &a, &peer_x))
    };
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut theirs], bench.repeats)?)?;
    let which = match (uplo, trans) {
        (Uplo::Lower, Trans::No) => "lower",
        (Uplo::Upper, Trans::No) => "upper",
        (Uplo::Lower, Trans::Yes) => "lower, transposed",
        (Uplo::Upper, Trans::Yes) => "upper, transposed",
    };
    Ok(Row {
        ours: format!("triangular solve, {which}{}", precision::<T>()),
        peer: blas_name::<T>("trsm"),
        m: n,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: cube(n),
        peer_flops: cube(n),
        share: None,
        also: None,
        difference,
    })
}

/// Cholesky: ours of the upper triangle, as R has it, the peer's of the lower one, its faster side.
pub fn cholesky<T: Scalar>(bench: &Bench<'_>, n: usize) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let a = definite::<T>(dev, n, 1)?;
    let (mut upper, mut lower, mut peer_a) = (dev.zeros(n, n)?, dev.zeros(n, n)?, dev.zeros(n, n)?);
    let peer = |uplo| Factorization::<T>::new(peers, dev, Routine::Potrf(uplo), &a);
    let (peer_upper, peer_lower) = (peer(Uplo::Upper)?, peer(Uplo::Lower)?);
    let mut worst = 0.0f64;
    for (uplo, part, ours, theirs) in [
        (Uplo::Upper, Part::Upper, &mut upper, &peer_upper),
        (Uplo::Lower, Part::Lower, &mut lower, &peer_lower),
    ] {
        dev.copy(&a, ours)?;
        dev.potrf(uplo, ours)?;
        dev.copy(&a, &mut peer_a)?;
        theirs.run(&peer_a)?;
        theirs.succeeded(dev)?;
        worst = worst.max(agreed::<T>(n, 8.0, difference(dev, part, ours, &peer_a)?)?);
    }
    drop(peer_upper);
    let factor = |uplo: Uplo, x: &mut Matrix<'_, T>| -> Outcome<f64> {
        dev.copy(&a, x)?;
        once(dev, 1, || Ok(dev.potrf(uplo, x)?))
    };
    let mut ours = || factor(Uplo::Upper, &mut upper);
    let mut theirs = || {
        dev.copy(&a, &mut peer_a)?;
        once(dev, 1, || peer_lower.run(&peer_a))
    };
    let mut also = || factor(Uplo::Lower, &mut lower);
    let runs: &mut [&mut Run<'_>] = &mut [&mut ours, &mut theirs, &mut also];
    let (ours, peer, also) = contenders(in_turn(runs, bench.repeats)?)?;
    drop((a, upper, lower, peer_a));
    let flops = cube(n) / 3.0;
    Ok(Row {
        ours: format!("Cholesky, upper{}", precision::<T>()),
        peer: format!("{}, lower", Routine::Potrf(Uplo::Lower).name::<T>()),
        m: n,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: flops,
        peer_flops: flops,
        share: Some(tflops(flops, ours.median) / product_rate::<T>(bench, n)?),
        also: also.map(|t| ("ours, lower".to_string(), Some(t))),
        difference: worst,
    })
}

/// Cholesky of `count` matrices at once: ours of the upper triangles, the peer's of the lower ones.
pub fn cholesky_batched<T: Scalar>(bench: &Bench<'_>, count: usize, n: usize) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let a = definite::<T>(dev, n, count)?;
    let (mut x, mut peer_x) = (dev.zeros(n, n * count)?, dev.zeros(n, n * count)?);
    let batch = Batch::new(peers, dev, n, &peer_x)?;
    dev.copy(&a, &mut x)?;
    dev.potrf_batched(&mut x)?;
    dev.copy(&a, &mut peer_x)?;
    batch.run(Uplo::Upper)?;
    batch.succeeded(dev)?;
    let difference = agreed::<T>(n, 8.0, difference(dev, Part::Upper, &x, &peer_x)?)?;
    let mut ours = || {
        dev.copy(&a, &mut x)?;
        once(dev, 1, || Ok(dev.potrf_batched(&mut x)?))
    };
    let mut theirs = || {
        dev.copy(&a, &mut peer_x)?;
        once(dev, 1, || batch.run(Uplo::Lower))
    };
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut theirs], bench.repeats)?)?;
    let flops = count as f64 * cube(n) / 3.0;
    Ok(Row {
        ours: format!("{count} times Cholesky, upper{}", precision::<T>()),
        peer: format!("{}, lower", batch.name),
        m: n,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: flops,
        peer_flops: flops,
        share: None,
        also: None,
        difference,
    })
}
