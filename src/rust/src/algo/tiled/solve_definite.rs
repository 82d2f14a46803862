//! Systems with a symmetric positive definite matrix in host memory that a device has too little
//! memory for: by its Cholesky factor, tile by tile.

use faer::{MatMut, MatRef};
use rayon::prelude::*;

use super::solve;
use crate::algo::dense;
use crate::algo::dense::condition;
use crate::algo::dense::lu::Rhs;
use crate::algo::dense::symmetry::is_symmetric;
use crate::algo::tiled::cholesky_host::{factor_by_tiles, DevicePool};
use crate::algo::tiled::factor::Factor;
use crate::algo::tiled::host_budget;
use crate::algo::tiled::memory::Budget;
use crate::algo::tiled::solve::System;
use crate::algo::tiled::tile_source::TileSource;
use crate::base::error::{Error, Result};
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::owns_pool;
use crate::cost::plan::size::{self, SolveWays};
use crate::device::async_copy::AsyncCopy;

/// As [`dense::solve::solve`]. A matrix that the device has no room for, and that is symmetric and
/// positive definite, goes there tile by tile.
pub fn solve<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    means: &DevicePool<'_>,
    a: MatRef<'_, T>,
    b: Rhs<'_, T>,
    tol: f64,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let ways = size::solve(
        a.nrows(),
        size_of::<T>(),
        means.limits(dev.has_own_memory()),
    );
    if ways == SolveWays::Whole {
        return dense::solve::solve(dev, a, b, tol, out);
    }
    if ways == SolveWays::TilesThenWhole && is_symmetric(a)? {
        match by_tiles(dev, means, a, &b, tol, out.as_mut()) {
            Err(Error::NotPositiveDefinite { .. }) => {}
            done => return done,
        }
        return dense::solve::solve(dev, a, b, tol, out);
    }
    match dense::solve::solve(dev, a, b.again(), tol, out.as_mut()) {
        Err(e @ Error::DeviceMemory { .. }) if is_symmetric(a)? => {
            match by_tiles(dev, means, a, &b, tol, out) {
                Err(Error::NotPositiveDefinite { .. } | Error::Argument { .. }) => Err(e),
                done => done,
            }
        }
        done => done,
    }
}

/// The largest sum of magnitudes of a column.
fn norm1<T: Scalar>(a: MatRef<'_, T>) -> f64 {
    let sum = |j: usize| -> f64 {
        let column = a.col(j);
        (0..a.nrows()).map(|i| column[i].into().abs()).sum()
    };
    let larger = |x: f64, y: f64| if x.is_nan() || x > y { x } else { y };
    if owns_pool() {
        let sums = (0..a.ncols()).into_par_iter().map(sum);
        return sums.reduce(|| 0.0, larger);
    }
    (0..a.ncols()).map(sum).fold(0.0, larger)
}

/// Columns of an inverse that are made together.
const TOGETHER: usize = 4096;

/// By the factor, which is made in host memory, by all of the devices; the systems are solved by
/// the first. A matrix that is not positive definite is [`Error::NotPositiveDefinite`].
pub fn by_tiles<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    means: &DevicePool<'_>,
    a: MatRef<'_, T>,
    b: &Rhs<'_, T>,
    tol: f64,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let n = a.nrows();
    let mut r = try_zeroed::<T>(n * n)?;
    let factor = MatMut::from_column_major_slice_mut(&mut r, n, n);
    factor_by_tiles(&means.open(dev)?, means.memory, a, factor)?;
    let r = MatRef::from_column_major_slice(&r, n, n);
    let (layout, bytes) = host_budget::tiles::<T, D>(std::slice::from_ref(dev), means.memory, n)?;
    let factor = Factor::of_host(r, layout)?;
    progress::phase("solving");
    progress::watch(factor.counter());
    let budget = Budget {
        host: 16 * factor.tile_bytes()?,
        device: bytes,
    };
    let solve = |b: MatRef<'_, T>, out: MatMut<'_, T>| {
        solve::solve(dev, &factor, System::Both, b, out, budget).map(|_| ())
    };
    if tol > 0.0 {
        let norm = norm1(a);
        let (mut from, mut to) = (try_zeroed::<T>(n)?, try_zeroed::<T>(n)?);
        // The inverse is symmetric.
        let inverse = condition::inverse_norm1(n, |_, x| {
            let numbers = from.iter_mut().zip(x.iter());
            numbers.for_each(|(from, x)| *from = T::from_f64(*x));
            solve(
                MatRef::from_column_major_slice(&from, n, 1),
                MatMut::from_column_major_slice_mut(&mut to, n, 1),
            )?;
            x.iter_mut().zip(&to).for_each(|(x, to)| *x = (*to).into());
            Ok(())
        })?;
        let rcond = 1.0 / (norm * inverse);
        // As of LU: what is not finite cannot be told from what is singular.
        let rcond = if rcond.is_finite() { rcond } else { 0.0 };
        if rcond < tol {
            return Err(Error::IllConditioned { rcond });
        }
    }
    match b {
        Rhs::Given(b) => solve(*b, out),
        Rhs::Identity => {
            let mut unit = try_zeroed::<T>(n * TOGETHER.min(n))?;
            for first in (0..n).step_by(TOGETHER) {
                let cols = TOGETHER.min(n - first);
                unit.fill(T::from_f64(0.0));
                (0..cols).for_each(|c| unit[c * n + first + c] = T::from_f64(1.0));
                let unit = MatRef::from_column_major_slice(&unit[..n * cols], n, cols);
                solve(unit, out.as_mut().subcols_mut(first, cols))?;
            }
            Ok(())
        }
    }
}
