//! Products.

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base::matrix::{Part, Trans};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::blas::Blas as _;
use cudafactor::device::memory::Memory;

use super::blas::Blas;
use super::cases::{agreed, contenders, cube, precision, tflops, Bench};
use super::data::{difference, random};
use super::library::blas_name;
use super::report::Row;
use super::timing::{in_turn, once, Run};
use super::Outcome;

/// Products that need fewer operations than this are called several times between two looks at the
/// clock, up to `MOST_CALLS` times: starting them takes the host as long as the GPU needs for them.
const SHORT_FLOPS: f64 = 6e10;
const MOST_CALLS: usize = 50;

fn calls(flops: f64) -> usize {
    ((SHORT_FLOPS / flops).ceil() as usize).clamp(1, MOST_CALLS)
}

fn multiply<T: Scalar>(
    dev: &CudaDevice,
    (ta, tb): (Trans, Trans),
    a: &Matrix<'_, T>,
    b: &Matrix<'_, T>,
    c: &mut Matrix<'_, T>,
) -> Outcome<()> {
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    Ok(dev.gemm(one, ta, a, tb, b, zero, c)?)
}

/// The product, op(A) op(B).
pub fn product<T: Scalar>(bench: &Bench<'_>, ta: Trans, tb: Trans, n: usize) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let blas = Blas::<T>::new(peers, n)?;
    let (a, b) = (random::<T>(dev, (n, n), 1)?, random::<T>(dev, (n, n), 2)?);
    let (mut c, peer_c) = (dev.zeros(n, n)?, dev.zeros(n, n)?);
    multiply(dev, (ta, tb), &a, &b, &mut c)?;
    blas.gemm(ta, &a, tb, &b, &peer_c)?;
    let difference = agreed::<T>(n, 8.0, difference(dev, Part::All, &c, &peer_c)?)?;
    let flops = 2.0 * cube(n);
    let calls = calls(flops);
    let mut ours = || once(dev, calls, || multiply(dev, (ta, tb), &a, &b, &mut c));
    let mut theirs = || once(dev, calls, || blas.gemm(ta, &a, tb, &b, &peer_c));
    let (ours, peer, _) = contenders(in_turn(&mut [&mut ours, &mut theirs], bench.repeats)?)?;
    if (ta, tb) == (Trans::No, Trans::No) {
        let rate = tflops(flops, ours.median);
        bench.products.borrow_mut().insert((T::SUFFIX, n), rate);
    }
    let op = |t: Trans| if t.is_yes() { 'T' } else { 'N' };
    Ok(Row {
        ours: format!("product {}{}{}", op(ta), op(tb), precision::<T>()),
        peer: blas_name::<T>("gemm"),
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

/// The rate of our product, measured now when it was not before.
pub fn product_rate<T: Scalar>(bench: &Bench<'_>, n: usize) -> Outcome<f64> {
    if let Some(rate) = bench.products.borrow().get(&(T::SUFFIX, n)) {
        return Ok(*rate);
    }
    let dev = bench.dev;
    let (a, b) = (random::<T>(dev, (n, n), 1)?, random::<T>(dev, (n, n), 2)?);
    let mut c = dev.zeros(n, n)?;
    let (flops, no) = (2.0 * cube(n), (Trans::No, Trans::No));
    let mut ours = || once(dev, calls(flops), || multiply(dev, no, &a, &b, &mut c));
    let times = in_turn(&mut [&mut ours], bench.repeats)?;
    let rate = times.first().map_or(f64::NAN, |t| tflops(flops, t.median));
    bench.products.borrow_mut().insert((T::SUFFIX, n), rate);
    Ok(rate)
}

/// A'A, both triangles, and the peer's product of the same operands; the peer's own syrk makes one
/// triangle.
pub fn crossprod<T: Scalar>(bench: &Bench<'_>, n: usize) -> Outcome<Row> {
    let Bench { dev, peers, .. } = *bench;
    let blas = Blas::<T>::new(peers, n)?;
    let a = random::<T>(dev, (n, n), 1)?;
    let (mut c, peer_c) = (dev.zeros(n, n)?, dev.zeros(n, n)?);
    dev.syrk(Trans::Yes, &a, &mut c)?;
    blas.gemm(Trans::Yes, &a, Trans::No, &a, &peer_c)?;
    let difference = agreed::<T>(n, 8.0, difference(dev, Part::All, &c, &peer_c)?)?;
    let calls = calls(2.0 * cube(n));
    let mut ours = || once(dev, calls, || Ok(dev.syrk(Trans::Yes, &a, &mut c)?));
    let mut theirs = || {
        once(dev, calls, || {
            blas.gemm(Trans::Yes, &a, Trans::No, &a, &peer_c)
        })
    };
    let mut syrk = || once(dev, calls, || blas.syrk(&a, &peer_c));
    let runs: &mut [&mut Run<'_>] = &mut [&mut ours, &mut theirs, &mut syrk];
    let (ours, peer, also) = contenders(in_turn(runs, bench.repeats)?)?;
    Ok(Row {
        ours: format!("crossprod{}", precision::<T>()),
        peer: format!("{} A'A", blas_name::<T>("gemm")),
        m: n,
        n,
        ours_times: ours,
        peer_times: peer,
        ours_flops: cube(n),
        peer_flops: 2.0 * cube(n),
        share: None,
        also: also.map(|t| (blas_name::<T>("syrk"), Some(t))),
        difference,
    })
}
