//! Symmetric eigenvalues beside cuSOLVER's `Xsyevd`, and singular values beside `Xgesvdp`.

use cudafactor::algo::dense::svd::tall::tall;
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::{Block, Part, Trans};
use cudafactor::device::blas::Blas;
use cudafactor::device::elementwise::{Elementwise, Operand};
use cudafactor::device::functions::Zip;
use cudafactor::device::lapack::Lapack;
use cudafactor::device::memory::Memory;
use cudafactor::device::spectral::SymmetricEigen;

use faer::MatRef;

use super::cases::{agreed, contenders, cube, Bench};
use super::data::{random, symmetric};
use super::report::Row;
use super::solver_x::{Decomposition, Verb};
use super::timing::{in_turn, once, Times};
use super::Outcome;

/// The largest difference of values that both sides have in one order, relative to the largest.
fn apart(ours: &[f64], peer: &[f64]) -> f64 {
    let size = peer.iter().fold(0.0_f64, |size, x| size.max(x.abs()));
    let each = ours.iter().zip(peer).map(|(x, y)| (x - y).abs());
    each.fold(0.0, f64::max) / size
}

/// The stages of ours in milliseconds.
fn stages(dev: &CudaDevice, a: &Matrix<'_, f64>) -> Outcome<String> {
    let n = dev.shape(a).0;
    let (mut w, mut z) = (vec![0.0; n], dev.zeros(n, n)?);
    let times = dev.syev_stages(a, &mut w, &mut z)?;
    let text = times.iter().map(|(name, ms)| format!("{name} {ms:.2}"));
    Ok(text.collect::<Vec<_>>().join(", "))
}

/// Eigenvalues of a random symmetric matrix, with vectors or without.
pub fn eigen(bench: &Bench<'_>, n: usize, vectors: bool) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let a = symmetric::<f64>(dev, n)?;
    let mut peer_a = dev.zeros(n, n)?;
    let verb = if vectors { Verb::Vectors } else { Verb::Values };
    let theirs = Decomposition::new(peers, dev, verb, &a)?;
    let mut w = vec![0.0; n];
    let mut z = dev.zeros(if vectors { n } else { 0 }, if vectors { n } else { 0 })?;
    dev.syev(&a, &mut w, vectors.then_some(&mut z))?;
    dev.copy(&a, &mut peer_a)?;
    theirs.run(&peer_a)?;
    let difference = agreed::<f64>(n, 8.0, apart(&w, &theirs.values(dev)?))?;
    let also = if vectors {
        Some((stages(dev, &a)?, None))
    } else {
        None
    };
    let mut ours = || {
        once(dev, 1, || {
            Ok(dev.syev(&a, &mut w, vectors.then_some(&mut z))?)
        })
    };
    let mut peer = || {
        dev.copy(&a, &mut peer_a)?;
        once(dev, 1, || theirs.run(&peer_a))
    };
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut peer], bench.repeats)?)?;
    let (what, operations) = match vectors {
        true => ("eigen, vectors", 14.0),
        false => ("eigen, values", 4.0),
    };
    let flops = operations / 3.0 * cube(n);
    Ok(row(
        (what, verb),
        n,
        flops,
        (ours, peer),
        (difference, also),
    ))
}

/// The row of `what` on both sides: operations counted, times, the difference and a remark.
fn row(
    (what, verb): (&str, Verb),
    n: usize,
    flops: f64,
    (ours, peer): (Times, Times),
    (difference, also): (f64, Option<(String, Option<Times>)>),
) -> Row {
    Row {
        ours: what.to_string(),
        peer: verb.name().to_string(),
        m: n,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: flops,
        peer_flops: flops,
        share: None,
        also,
        difference,
    }
}

/// Singular values and vectors of a random square matrix.
pub fn singular(bench: &Bench<'_>, n: usize) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let a = random::<f64>(dev, (n, n), 5)?;
    let mut peer_a = dev.zeros(n, n)?;
    let theirs = Decomposition::new(peers, dev, Verb::Singular, &a)?;
    let (mut u, mut v) = (dev.zeros(n, n)?, dev.zeros(n, n)?);
    let d = tall(
        dev,
        None::<&CpuDevice>,
        dev.duplicate(&a, Part::All)?,
        Some(&mut u),
        Some(&mut v),
    )?;
    dev.copy(&a, &mut peer_a)?;
    theirs.run(&peer_a)?;
    let difference = agreed::<f64>(n, 8.0, apart(&d, &theirs.values(dev)?))?;
    let mut ours = || {
        once(dev, 1, || {
            let again = dev.duplicate(&a, Part::All)?;
            tall(dev, None::<&CpuDevice>, again, Some(&mut u), Some(&mut v))?;
            Ok(())
        })
    };
    let mut peer = || {
        dev.copy(&a, &mut peer_a)?;
        once(dev, 1, || theirs.run(&peer_a))
    };
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut peer], bench.repeats)?)?;
    let what = ("svd, vectors", Verb::Singular);
    let flops = 28.0 / 3.0 * cube(n);
    Ok(row(what, n, flops, (ours, peer), (difference, None)))
}

/// `||A V s - U D s|| / ||A V s||` for a vector s of ones.
fn residual(
    dev: &CudaDevice,
    a: &Matrix<'_, f64>,
    d: &[f64],
    (u, v): (&Matrix<'_, f64>, &Matrix<'_, f64>),
) -> Outcome<f64> {
    let (m, n) = dev.shape(a);
    let column = |x: &[f64]| -> Outcome<Matrix<'static, f64>> {
        let x = MatRef::from_column_major_slice(x, n, 1);
        Ok(dev.load_temporary(x, Part::All)?)
    };
    let times = |x: &Matrix<'_, f64>, y: &Matrix<'_, f64>| -> Outcome<Matrix<'static, f64>> {
        let mut out = dev.blank(dev.shape(x).0, 1)?;
        dev.gemm(1.0, Trans::No, x, Trans::No, y, 0.0, &mut out)?;
        Ok(out)
    };
    let there = times(a, &times(v, &column(&vec![1.0; n])?)?)?;
    let back = times(u, &column(d)?)?;
    let mut apart = dev.blank(m, 1)?;
    let (of, from) = (Operand::Matrix(&there), Operand::Matrix(&back));
    dev.zip(Zip::Subtract, of, from, &mut apart)?;
    let norm = |x: &Matrix<'_, f64>| -> Outcome<f64> { Ok(dev.column_norms(x)?[0]) };
    Ok(norm(&apart)? / norm(&there)?)
}

/// Singular values and vectors of a random tall matrix beside our QR factorization of it, and for
/// many columns also our own decomposition of R and the product that gives the left vectors.
pub fn tall_singular(bench: &Bench<'_>, n: usize) -> Outcome<Row> {
    let Bench { dev, .. } = *bench;
    let m = if n <= 64 { 1_000_000 } else { 100_000 };
    let a = random::<f64>(dev, (m, n), 5)?;
    let host = CpuDevice::new(1);
    let (mut u, mut v) = (dev.zeros(m, n)?, dev.zeros(n, n)?);
    let mut square = dev.zeros(n, n)?;
    let (mut left, mut product) = (dev.zeros(n, n)?, dev.zeros(m, n)?);
    dev.copy_block(&a, Block::leading(n, n), &mut square, (0, 0))?;
    let x = dev.duplicate(&a, Part::All)?;
    let d = tall(dev, Some(&host), x, Some(&mut u), Some(&mut v))?;
    let difference = agreed::<f64>(n, 8.0, residual(dev, &a, &d, (&u, &v))?)?;
    let mut ours = || {
        let mut again = Some(dev.duplicate(&a, Part::All)?);
        dev.synchronize()?;
        once(dev, 1, || {
            let x = again.take().ok_or("one run each")?;
            tall(dev, Some(&host), x, Some(&mut u), Some(&mut v))?;
            Ok(())
        })
    };
    let mut parts = || {
        let mut factors = dev.duplicate(&a, Part::All)?;
        let mut again = Some(dev.duplicate(&square, Part::All)?);
        once(dev, 1, || {
            dev.geqrf(&mut factors)?;
            if n > 64 {
                let x = again.take().ok_or("one run each")?;
                tall(dev, Some(&host), x, Some(&mut left), None)?;
                dev.gemm(1.0, Trans::No, &a, Trans::No, &left, 0.0, &mut product)?;
            }
            Ok(())
        })
    };
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut parts], bench.repeats)?)?;
    let flops = 6.0 * m as f64 * (n * n) as f64;
    let peer_name = if n > 64 {
        "our QR, SVD of R, product"
    } else {
        "our QR"
    };
    Ok(Row {
        ours: "tall svd, vectors".to_string(),
        peer: peer_name.to_string(),
        m,
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
