//! Updates of a factor from host to host in blocks of columns: while one is changed, the next are
//! uploaded and the ones before it downloaded.

use faer::{MatMut, MatRef};

use crate::backend::cuda::cholesky::update::{change as change_columns, reflections};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::elementwise::fold::largest;
use crate::backend::cuda::elementwise::norms;
use crate::backend::cuda::matrix::views::{keep_triangle, Matrix, View};
use crate::backend::cuda::transfer::column_blocks::{parts, pass, BlockPipeline};
use crate::backend::cuda::transfer::matrix::{sink, source};
use crate::base::error::{Error, Result};
use crate::base::matrix::{Change, Part};
use crate::base::scalar::Scalar;
use crate::cost::plan::size::ColumnBlocks;

/// Updates or downdates the factor `r` by V, which is on the device, into `out`, with zeros below
/// the diagonal. Blocks of an update are downloaded as soon as they are changed. A downdate first
/// uploads all blocks and passes them to `look`. None if the operands do not suit this path.
pub(crate) fn change<T: Scalar>(
    ctx: &'static Context,
    change: Change,
    r: MatRef<'_, T>,
    v: View<T>,
    mut out: MatMut<'_, T>,
    blocks: &ColumnBlocks,
    look: &mut dyn FnMut(&Matrix<'static, T>) -> Result<()>,
) -> Result<Option<()>> {
    let n = r.nrows();
    let matrix = Matrix::<T>::zeros(ctx, n, n)?;
    let a = matrix.view();
    let (Some(from), Some(to)) = (source(r, a.ptr), sink(&mut out, a.ptr)) else {
        return Ok(None);
    };
    let mut all = reflections(ctx, change, n, v.cols)?;
    let come = |way: &BlockPipeline<'_>, i: usize| {
        let (first, width) = blocks[i];
        way.arrive(i)?;
        let own = a.sub(first, first, n - first, width);
        keep_triangle(ctx, own, false)?;
        check(ctx, first, a.sub(0, first, first + width, width))
    };
    let mut go = |way: &BlockPipeline<'_>, i: usize| {
        let (first, width) = blocks[i];
        let panel = a.sub(0, first, first + width, width);
        let rows = v.sub(first, 0, width, v.cols);
        change_columns(ctx, &mut all, first, panel, rows)?;
        way.leave(i)
    };
    let work = |way: &BlockPipeline<'_>| match change {
        Change::Up => (0..blocks.len()).try_for_each(|i| {
            come(way, i)?;
            go(way, i)
        }),
        Change::Down => {
            (0..blocks.len()).try_for_each(|i| come(way, i))?;
            look(&matrix)?;
            (0..blocks.len()).try_for_each(|i| go(way, i))
        }
    };
    // SAFETY: `r` and `out` are borrowed, and the device's matrix lives until the end of this
    // function.
    unsafe {
        pass(
            ctx,
            Part::Upper,
            &parts(from, blocks),
            &parts(to, blocks),
            work,
        )
    }
}

/// An error unless these columns of a factor, from row 0 to the diagonal that begins at row
/// `first`, are finite with no zero on the diagonal.
fn check<T: Scalar>(ctx: &'static Context, first: usize, columns: View<T>) -> Result<()> {
    if !largest(ctx, columns)?.is_finite() {
        return Err(Error::NonFiniteIn { argument: "r" });
    }
    let own = columns.sub(first, 0, columns.cols, columns.cols);
    let zero = T::from_f64(0.0);
    match norms::diagonal(ctx, own)?.iter().position(|x| *x == zero) {
        Some(i) => Err(Error::Singular {
            index: first + i + 1,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
