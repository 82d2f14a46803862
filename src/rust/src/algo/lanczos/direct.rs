//! A few values of a dense matrix from all of them, on the device that has the matrix.
//!
//! A step of the iteration waits for the host. So on a GPU all values of a matrix of some thousand
//! rows take less time than a few by iteration: see [`is_quicker`]. On any device they take less
//! where values are close to each other, relative to the norm, such as the smallest of a covariance
//! matrix: see [`patience`].

use crate::algo::dense::scaling::columns_to_one;
use crate::algo::dense::svd::{tall::tall, Small};
use crate::algo::lanczos::basis::Basis;
use crate::algo::lanczos::eigen::{checked as checked_pairs, Pairs};
use crate::algo::lanczos::operator::{Dense, Scaled};
use crate::algo::lanczos::svd::{checked as checked_triplets, Triplets};
use crate::algo::lanczos::wanted::{dense_slack, Found, Wanted, Which};
use crate::base::error::Result;
use crate::base::matrix::Block;
use crate::base::processor::Processor;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::cost::work::Work;
use crate::device::dispatch::Dispatch;
use crate::device::elementwise::{Elementwise, Index};
use crate::device::spectral::{SingularValues, SymmetricEigen};

/// Seconds of a step of the iteration, and of a row of a square matrix for all steps. From times on
/// one H200, which `docs/design/experiments/singular-values.md` has.
const STEP: f64 = 3e-4;
const ROW: f64 = 2e-5;

/// Where gaps are large, the iteration takes about half of the steps that random matrices take.
const EASY: f64 = 0.5;

/// How much longer an operation of the iteration takes than one of all values on the CPU: few
/// columns at once are bound by memory.
const SLOWER: f64 = 3.0;

/// Restarts that matrices take at least, the first basis included.
const RESTARTS: f64 = 1.5;

/// Whether all eigenvalues, or with `singular` all singular values, take less time on this
/// processor than those wanted do by iteration.
pub fn is_quicker(
    devices: &impl Dispatch,
    processor: Processor,
    (m, n): (usize, usize),
    singular: bool,
    wanted: &Wanted,
) -> bool {
    let least = m.min(n);
    if wanted.is_most(least) {
        return false;
    }
    if processor == Processor::Cpu {
        return restarts(devices, processor, (m, n), singular, wanted) < RESTARTS;
    }
    let all = all_values((m, n), singular);
    let few = EASY * iteration(least, singular, wanted);
    devices
        .seconds_on_gpu(&all)
        .is_some_and(|seconds| seconds <= few)
}

fn all_values((m, n): (usize, usize), singular: bool) -> Work {
    let least = m.min(n);
    match singular {
        true => Work::svd((m, n), (least, least)),
        false => Work::eigen(n, true),
    }
}

/// A number of restarts that takes about twice as long as all eigenvalues, or with `singular` as
/// all singular values. Most iterations that converge need fewer.
pub fn patience(
    devices: &impl Dispatch,
    processor: Processor,
    shape: (usize, usize),
    singular: bool,
    wanted: &Wanted,
) -> usize {
    (2.0 * restarts(devices, processor, shape, singular, wanted)).max(1.0) as usize
}

/// Restarts in the time of all values.
fn restarts(
    devices: &impl Dispatch,
    processor: Processor,
    (m, n): (usize, usize),
    singular: bool,
    wanted: &Wanted,
) -> f64 {
    let all = all_values((m, n), singular);
    let sides = if singular { 2.0 } else { 1.0 };
    let fresh = (wanted.room() - wanted.kept()) as f64;
    match processor {
        Processor::Cpu => {
            let (rows, basis) = ((m + n) as f64 / 2.0, wanted.room() as f64);
            let restart = sides * fresh * (2.0 * m as f64 * n as f64 + 4.0 * rows * basis);
            all.flops / (SLOWER * restart)
        }
        _ => devices
            .seconds_on_gpu(&all)
            .map_or(f64::INFINITY, |seconds| seconds / (sides * STEP * fresh)),
    }
}

/// Seconds of the iteration for a matrix with this smaller dimension, besides products.
fn iteration(least: usize, singular: bool, wanted: &Wanted) -> f64 {
    let sides = if singular { 2.0 } else { 1.0 };
    sides * STEP * wanted.room() as f64 + ROW * least as f64
}

/// As [`symmetric`](super::eigen::symmetric), from all eigenvalues. Of `a` the lower triangle is
/// decomposed, and both have to be there.
///
/// # Errors
/// Those of [`symmetric`](super::eigen::symmetric).
pub fn eigen<T: Scalar, D: Elementwise<T> + SymmetricEigen<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    which: Which,
    wanted: &Wanted,
) -> Result<Found> {
    let (_, n) = dev.shape(a);
    let dense = Dense::symmetric(dev, a);
    let start = Basis::<T, D>::new(dev, n, 0).fresh(1)?;
    let (scaled, _) = Scaled::new(dev, &dense, &start)?;
    let (copy, exponent) = columns_to_one(dev, a)?;
    let mut values = try_zeroed::<T>(n)?;
    let mut z = dev.blank(n, n)?;
    dev.syev(&copy, &mut values, Some(&mut z))?;
    drop(copy);
    let values: Vec<f64> = values.into_iter().map(T::to_f64).collect();
    let places: Vec<i32> = which.order(&values)[..wanted.count]
        .iter()
        .map(|&place| place as i32)
        .collect();
    let mut vectors = dev.blank(n, wanted.count)?;
    let (rows, columns) = (Index::From(0), Index::List(&places));
    dev.gather(rows, columns, T::from_f64(0.0), &z, &mut vectors)?;
    drop(z);
    let largest = values.iter().fold(0.0, |most: f64, v| v.abs().max(most));
    let pairs = Pairs {
        vectors,
        norm: largest * f64::from(exponent + scaled.exponent()).exp2(),
        slack: dense_slack(n),
        restarts: 0,
    };
    checked_pairs(dev, &scaled, pairs, n, wanted)
}

/// As [`largest`](super::svd::largest), from all singular values. The `host` decomposes small
/// matrices.
///
/// # Errors
/// Those of [`largest`](super::svd::largest).
pub fn singular<T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    host: &H,
    a: &D::Mat<'_>,
    wanted: &Wanted,
) -> Result<Found> {
    let (m, n) = dev.shape(a);
    let dense = Dense::new(dev, a);
    let start = Basis::<T, D>::new(dev, n, 0).fresh(1)?;
    let (scaled, _) = Scaled::new(dev, &dense, &start)?;
    let (mut copy, _) = columns_to_one(dev, a)?;
    let size = m.min(n);
    let (mut u, mut v) = (dev.blank(m, size)?, dev.blank(n, size)?);
    if m < n {
        let mut turned = dev.blank(n, m)?;
        dev.transpose(&copy, &mut turned)?;
        copy = turned;
        tall(dev, Some(host), copy, Some(&mut v), Some(&mut u))?;
    } else {
        tall(dev, Some(host), copy, Some(&mut u), Some(&mut v))?;
    }
    let first = |side: &D::Mat<'static>| -> Result<D::Mat<'static>> {
        let (rows, _) = dev.shape(side);
        let mut columns = dev.blank(rows, wanted.count)?;
        let block = Block::leading(rows, wanted.count);
        dev.copy_block(side, block, &mut columns, (0, 0))?;
        Ok(columns)
    };
    let triplets = Triplets {
        left: first(&u)?,
        right: first(&v)?,
        slack: dense_slack(m.max(n)),
        restarts: 0,
    };
    drop((u, v));
    checked_triplets(dev, &scaled, triplets, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_take_what_was_measured() {
        let wanted = Wanted::new(20, 1e-10, 10);
        for (n, seconds) in [(512, 0.036), (1024, 0.045), (2048, 0.074), (4096, 0.118)] {
            let ratio = iteration(n, false, &wanted) / seconds;
            assert!((0.8..1.3).contains(&ratio), "{n}: {ratio}");
        }
    }
}
