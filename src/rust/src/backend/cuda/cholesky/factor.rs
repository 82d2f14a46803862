//! Cholesky factorization, plain and with diagonal pivoting.

use super::tiles;
use super::tiles::LARGEST;
use crate::backend::cuda::cholesky::via_f64;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::gemm::gemm_syrk::multiply;
use crate::backend::cuda::gemm::update::{Bound, Update, UpdatedPart};
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::precision::via_f64::pays;
use crate::backend::cuda::triangular::trsm::solve_lower;
use crate::base::error::{Error, Result};
use crate::base::matrix::Uplo;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::flops::cholesky_flops;
use crate::device::lapack::PivotedCholesky;

const FACTOR: Kernel = Kernel::new(Family::Cholesky, "cholesky_factor_block");
const CHOOSE: Kernel = Kernel::new(Family::Cholesky, "pivot_choose_first");
const EXCHANGE: Kernel = Kernel::new(Family::Cholesky, "pivot_exchange_symmetric");
const ROW: Kernel = Kernel::new(Family::Cholesky, "pivot_row_warps");

/// Order of a diagonal block, factored by one thread block.
const BLOCK: usize = 64;
/// Below this order blocks follow one another; above it the matrix is halved, so that products have
/// long sums.
const HALVE: usize = 512;

/// Factors one triangle in place. An upper triangle is the lower one of the transposed view.
pub(crate) fn factor<T: Scalar>(ctx: &'static Context, uplo: Uplo, a: View<T>) -> Result<()> {
    let lower = if uplo == Uplo::Lower { a } else { a.t() };
    factor_in_parts(ctx, LARGEST, lower)
}

/// Factors the lower triangle, by one launch if the order is at most `largest` and the GPU supports
/// it.
fn factor_in_parts<T: Scalar>(ctx: &'static Context, largest: usize, a: View<T>) -> Result<()> {
    let order = match start(ctx, a, largest)? {
        Some(order) => order,
        None => {
            let order = Buffer::zeroed::<i32>(ctx, 1)?;
            if largest >= BLOCK && has_tiles::<T>(ctx) {
                factor_lower(ctx, largest, a, 0, &order)?;
            } else {
                factor_columns(ctx, a, (0, a.rows), &order)?;
            }
            order
        }
    };
    let mut found = [0i32];
    order.to_slice(&mut found)?;
    failure(found)
}

/// A factorization that may still run. When it is done, the buffer has the order of the failing
/// minor. None if it was done at once.
pub struct Started(Option<Buffer>);

/// Factors the upper triangle in place, without waiting for the result if that is one launch.
pub(crate) fn start_upper<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Started> {
    match start(ctx, a.t(), LARGEST)? {
        None => factor(ctx, Uplo::Upper, a).map(|()| Started(None)),
        started => Ok(Started(started)),
    }
}

impl Started {
    /// The result, after the GPU has finished.
    pub(crate) fn outcome(&self, ctx: &Context) -> Result<()> {
        let mut found = [0i32];
        if let Started(Some(order)) = self {
            order.to_slice_in(ctx.side, &mut found)?;
        }
        failure(found)
    }
}

fn failure([order]: [i32; 1]) -> Result<()> {
    if order > 0 {
        return Err(Error::NotPositiveDefinite {
            order: order.unsigned_abs() as usize,
        });
    }
    Ok(())
}

/// Like [`tiles::start`], in either precision.
fn start<T: Scalar>(ctx: &'static Context, a: View<T>, largest: usize) -> Result<Option<Buffer>> {
    match tiles::start(ctx, a, largest)? {
        None => via_f64::start_cholesky(ctx, a, largest),
        started => Ok(started),
    }
}

/// Whether blocks of this type can be factored by one launch.
fn has_tiles<T: Scalar>(ctx: &Context) -> bool {
    tiles::are_supported::<T>(ctx) || (pays::<T>(ctx) && tiles::are_supported::<f64>(ctx))
}

/// Factors a diagonal block of an order of at most [`BLOCK`], which begins at row `first`.
fn factor_block<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    first: usize,
    info: &Buffer,
) -> Result<()> {
    let args = args![a.rows as i32, a.ptr, a.rs, a.cs, first, info.ptr];
    ctx.launch::<T>(FACTOR, 1, 1, 256, &args)
}

/// Factors `width` columns from `first` on, to which earlier ones were applied. The left half of
/// them is subtracted from the right one, with all rows below: few products with many rows.
fn factor_columns<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    (first, width): (usize, usize),
    info: &Buffer,
) -> Result<()> {
    let part = |row: usize, col: usize, cols: usize| a.sub(row, col, a.rows - row, cols);
    if width <= BLOCK {
        let block = a.sub(first, first, width, width);
        factor_block(ctx, block, first, info)?;
        let below = part(first + width, first, width);
        solve_lower(ctx, (false, Bound::Norms), block, below.t(), info.ptr)?;
        return ctx.fence();
    }
    let half = width.div_ceil(2).next_multiple_of(BLOCK);
    let (middle, rest) = (first + half, width - half);
    factor_columns(ctx, a, (first, half), info)?;
    let update = Update {
        triangle: UpdatedPart::Lower,
        stop: info.ptr,
        ..Update::subtract().by_norms()
    };
    let rows = part(middle, first, half);
    let top = rows.sub(0, 0, rest, half);
    multiply(ctx, update, rows, top.t(), part(middle, middle, rest))?;
    factor_columns(ctx, a, (middle, rest), info)
}

/// `first` is the row of the whole matrix at which this part starts; `info` is set to the order of
/// its failing minor.
fn factor_lower<T: Scalar>(
    ctx: &'static Context,
    largest: usize,
    a: View<T>,
    first: usize,
    info: &Buffer,
) -> Result<()> {
    let n = a.rows;
    if let Some(order) = start(ctx, a, largest)? {
        tiles::report(ctx, &order, first, info)?;
        return ctx.fence();
    }
    let step = if n > HALVE {
        n.div_ceil(2).next_multiple_of(BLOCK)
    } else {
        BLOCK
    };
    for j in (0..n).step_by(step) {
        let w = step.min(n - j);
        let block = a.sub(j, j, w, w);
        if w > BLOCK {
            factor_lower(ctx, largest, block, first + j, info)?;
        } else {
            factor_block(ctx, block, first + j, info)?;
        }
        let rest = n - j - w;
        let below = a.sub(j + w, j, rest, w);
        solve_lower(ctx, (false, Bound::Norms), block, below.t(), info.ptr)?;
        let update = Update {
            triangle: UpdatedPart::Lower,
            stop: info.ptr,
            ..Update::subtract().by_norms()
        };
        multiply(
            ctx,
            update,
            below,
            below.t(),
            a.sub(j + w, j + w, rest, rest),
        )?;
        ctx.fence()?;
    }
    Ok(())
}

/// The kernels' record of the pivoted factorization: stop, rank, pivot, a gap, and the tolerance in
/// two words.
const STATE_WORDS: usize = 6;

/// Factors the upper triangle with pivoting, in panels whose rows are subtracted from the rest
/// together.
pub(crate) fn factor_pivoted<T: Scalar>(
    ctx: &'static Context,
    tol: f64,
    a: View<T>,
) -> Result<PivotedCholesky> {
    let n = a.rows;
    let mut order: Vec<i32> = (0..n as i32).collect();
    let device_order = Buffer::from_slice(ctx, &order)?;
    let state = Buffer::zeroed::<i32>(ctx, STATE_WORDS)?;
    let taken = Buffer::zeroed::<T>(ctx, n)?;
    let relative = n as f64 * T::EPS / 2.0;
    let all = progress::part(cholesky_flops(n));
    for panel in (0..n).step_by(BLOCK) {
        all.left(cholesky_flops(n - panel));
        let end = (panel + BLOCK).min(n);
        for j in panel..end {
            ctx.launch::<T>(
                CHOOSE,
                1,
                1,
                1024,
                &args![
                    n,
                    j,
                    tol,
                    relative,
                    a.ptr,
                    a.ld(),
                    taken.ptr,
                    device_order.ptr,
                    state.ptr
                ],
            )?;
            ctx.launch::<T>(
                EXCHANGE,
                n.div_ceil(256),
                1,
                256,
                &args![n, j, a.ptr, a.ld(), state.ptr],
            )?;
            ctx.launch::<T>(
                ROW,
                (n - j - 1).div_ceil(8),
                1,
                256,
                &args![n, panel, j, a.ptr, a.ld(), taken.ptr, state.ptr],
            )?;
        }
        let rest = n - end;
        let rows = a.sub(panel, end, end - panel, rest);
        let update = Update {
            triangle: UpdatedPart::Upper,
            stop: state.ptr,
            ..Update::subtract()
        };
        multiply(ctx, update, rows.t(), rows, a.sub(end, end, rest, rest))?;
        taken.clear(n * size_of::<T>())?;
        ctx.fence()?;
    }
    device_order.to_slice(&mut order)?;
    let mut words = [0i32; STATE_WORDS];
    state.to_slice(&mut words)?;
    let rank = match words {
        [0, ..] => n,
        [_, rank, ..] => usize::try_from(rank).unwrap_or(0),
    };
    Ok(PivotedCholesky {
        jpvt: order.into_iter().map(|i| i as usize).collect(),
        rank,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::matrix::views::Matrix;
    use crate::base::interrupt;
    use crate::base::matrix::Part;

    /// Separate launches for diagonal blocks give the same factor as one launch, and the failing
    /// minor is that of the whole matrix.
    #[test]
    fn parts_make_the_whole() {
        parts_make_the_whole_of::<f64>();
        parts_make_the_whole_of::<f32>();
    }

    fn parts_make_the_whole_of<T: Scalar>() {
        let Some(ctx) = Context::for_test() else {
            return;
        };
        let n = 1000;
        let entry = |i: usize, j: usize| T::from_f64(1.0 / (1.0 + i.abs_diff(j) as f64));
        let factor = |largest: usize, bad: &[usize], upper: bool| {
            let a = faer::Mat::from_fn(n, n, |i, j| match bad.contains(&i) && i == j {
                true => T::from_f64(-1.0),
                false => entry(i, j),
            });
            let on_gpu = Matrix::from_host(ctx, a.as_ref(), Part::All)?;
            let view = on_gpu.view();
            factor_in_parts(ctx, largest, if upper { view.t() } else { view })?;
            let mut r = faer::Mat::<T>::zeros(n, n);
            on_gpu.read(ctx, r.as_mut())?;
            Ok::<_, Error>(r)
        };
        for upper in [false, true] {
            let whole = factor(n, &[], upper).unwrap();
            // A largest order of 0 means that no block is one launch.
            for largest in [0, 64, 130, 300, 640] {
                let r = factor(largest, &[], upper).unwrap();
                for j in 0..n {
                    for i in 0..n {
                        let (got, want): (f64, f64) = (r[(i, j)].into(), whole[(i, j)].into());
                        assert!(
                            (got - want).abs() < 500.0 * T::EPS,
                            "{largest} ({i}, {j}): {got} {want}"
                        );
                    }
                }
                for bad in [[0, 999], [400, 700], [520, 530], [999, 999]] {
                    let order = bad[0] + 1;
                    let got = factor(largest, &bad, upper).err();
                    assert_eq!(got, Some(Error::NotPositiveDefinite { order }), "{largest}");
                }
            }
        }
    }

    /// One launch runs to its end; between parts the factorization can be interrupted.
    #[test]
    fn an_interrupt_stops_between_parts() {
        let Some(ctx) = Context::for_test() else {
            return;
        };
        let n = 1000;
        let a = faer::Mat::from_fn(n, n, |i, j| if i == j { n as f64 } else { 1.0 });
        let on_gpu = Matrix::from_host(ctx, a.as_ref(), Part::All).unwrap();
        interrupt::install(|| true);
        let stopped = factor_in_parts(ctx, 300, on_gpu.view());
        interrupt::install(|| false);
        assert_eq!(stopped, Err(Error::Interrupted));

        let again = Matrix::from_host(ctx, a.as_ref(), Part::All).unwrap();
        factor_in_parts(ctx, 300, again.view()).unwrap();
    }
}
