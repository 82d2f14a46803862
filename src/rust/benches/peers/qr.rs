//! QR, and Q from its reflectors.

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::Part;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::lapack::Lapack;
use cudafactor::device::memory::Memory;

use super::cases::{agreed, contenders, cube, precision, tflops, Bench};
use super::data::{difference, random};
use super::products::product_rate;
use super::report::Row;
use super::solver::{Factorization, Orthogonal, Routine};
use super::timing::{in_turn, once, Times};
use super::Outcome;

fn factor<T: Scalar>(dev: &CudaDevice, x: &mut Matrix<'_, T>) -> Outcome<()> {
    dev.geqrf(x)?;
    Ok(())
}

/// QR of a square matrix.
pub fn qr<T: Scalar>(bench: &Bench<'_>, n: usize) -> Outcome<Row> {
    let measured = measure::<T>(bench, (n, n))?;
    let mut row = row::<T>("QR", (n, n), measured);
    let rate = tflops(row.ours_flops, row.ours_times.median);
    row.share = Some(rate / product_rate::<T>(bench, n)?);
    Ok(row)
}

/// QR of a matrix that has many more rows than columns.
pub fn tall_qr<T: Scalar>(bench: &Bench<'_>, shape: (usize, usize)) -> Outcome<Row> {
    Ok(row::<T>("tall QR", shape, measure::<T>(bench, shape)?))
}

/// Ours, the peer's, and how far R is from the peer's: LAPACK's signs on both sides.
fn measure<T: Scalar>(bench: &Bench<'_>, (m, n): (usize, usize)) -> Outcome<(Times, Times, f64)> {
    let Bench { dev, peers, .. } = *bench;
    let a = random::<T>(dev, (m, n), 5)?;
    let (mut x, mut peer_x) = (dev.zeros(m, n)?, dev.zeros(m, n)?);
    let theirs = Factorization::<T>::new(peers, dev, Routine::Geqrf, &a)?;
    dev.copy(&a, &mut x)?;
    dev.geqrf(&mut x)?;
    dev.copy(&a, &mut peer_x)?;
    theirs.run(&peer_x)?;
    theirs.succeeded(dev)?;
    let difference = agreed::<T>(m, 8.0, difference(dev, Part::Upper, &x, &peer_x)?)?;
    let mut ours = || {
        dev.copy(&a, &mut x)?;
        once(dev, 1, || factor(dev, &mut x))
    };
    let mut peer = || {
        dev.copy(&a, &mut peer_x)?;
        once(dev, 1, || theirs.run(&peer_x))
    };
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut peer], bench.repeats)?)?;
    Ok((ours, peer, difference))
}

fn row<T: Scalar>(
    what: &str,
    (m, n): (usize, usize),
    (ours, peer, difference): (Times, Times, f64),
) -> Row {
    let (rows, cols) = (m as f64, n as f64);
    let flops = 2.0 * cols * cols * (rows - cols / 3.0);
    Row {
        ours: format!("{what}{}", precision::<T>()),
        peer: Routine::Geqrf.name::<T>(),
        m,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: flops,
        peer_flops: flops,
        share: None,
        also: None,
        difference,
    }
}

/// Q formed from the reflectors of a square matrix, the same on both sides.
pub fn orthogonal(bench: &Bench<'_>, n: usize) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let mut factor = random::<f64>(dev, (n, n), 5)?;
    let tau = dev.geqrf(&mut factor)?;
    let (mut q, mut peer_q) = (dev.zeros(n, n)?, dev.zeros(n, n)?);
    let theirs = Orthogonal::new(peers, dev, &factor, &tau)?;
    dev.orgqr(&factor, &tau, &mut q)?;
    dev.copy(&factor, &mut peer_q)?;
    theirs.run(&peer_q)?;
    theirs.succeeded(dev)?;
    let difference = agreed::<f64>(n, 8.0, difference(dev, Part::All, &q, &peer_q)?)?;
    let mut ours = || once(dev, 1, || Ok(dev.orgqr(&factor, &tau, &mut q)?));
    let mut peer = || {
        dev.copy(&factor, &mut peer_q)?;
        once(dev, 1, || theirs.run(&peer_q))
    };
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut peer], bench.repeats)?)?;
    let name = theirs.name.clone();
    drop((factor, q, peer_q, theirs));
    let flops = 4.0 * cube(n) / 3.0;
    Ok(Row {
        ours: "Q of QR".to_string(),
        peer: name,
        m: n,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: flops,
        peer_flops: flops,
        share: Some(tflops(flops, ours.median) / product_rate::<f64>(bench, n)?),
        also: None,
        difference,
    })
}
