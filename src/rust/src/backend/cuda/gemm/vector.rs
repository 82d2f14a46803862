//! Products of a matrix and a vector (`kernels/gemm/product_vector.cu`).

use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::gemm::update::{Update, UpdatedPart};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;

const ROWS: Kernel = Kernel::new(Family::ProductVector, "vector_multiply_rows");
const COLUMNS: Kernel = Kernel::new(Family::ProductVector, "vector_multiply_columns");
const JOIN: Kernel = Kernel::new(Family::ProductVector, "vector_join_slices");

/// Threads of a block, and its warps.
const THREADS: usize = 256;
const WARPS: usize = 8;
const LANES: usize = 32;
/// Blocks that fill a multiprocessor.
const RESIDENT: usize = 8;
/// What a thread should add up at least.
const SHORTEST: usize = 16;
/// Bytes of a pack.
const PACK: usize = 16;

/// How A is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VectorLayout {
    Rows,
    /// With so many rows to a pack, if packs are aligned.
    Columns(Option<usize>),
}

/// How A is cut.
#[derive(Debug, Clone, Copy)]
struct VectorSplit {
    kernel: Kernel,
    /// Whether a block has one row, of contiguous rows; whether a thread loads a pack, of
    /// contiguous columns.
    wide: bool,
    blocks: usize,
    slices: usize,
    /// Columns of a slice.
    depth: usize,
}

impl VectorSplit {
    fn new(multiprocessors: usize, layout: VectorLayout, m: usize, n: usize) -> Self {
        let wanted = RESIDENT * multiprocessors;
        // Rows of a block, and the columns that it has at a time.
        let (kernel, wide, rows, columns) = match layout {
            VectorLayout::Rows if m < WARPS * wanted => (ROWS, true, 1, THREADS),
            VectorLayout::Rows => (ROWS, false, WARPS, LANES),
            VectorLayout::Columns(Some(pack)) => (COLUMNS, true, LANES * pack, WARPS),
            VectorLayout::Columns(None) => (COLUMNS, false, LANES, WARPS),
        };
        let blocks = m.div_ceil(rows);
        let slices = wanted
            .div_ceil(blocks)
            .clamp(1, n.div_ceil(SHORTEST * columns));
        let depth = n.div_ceil(slices);
        VectorSplit {
            kernel,
            wide,
            blocks,
            slices: n.div_ceil(depth),
            depth,
        }
    }
}

/// `C <- alpha A B + beta C` where C has one column or one row. False, with nothing done, if it is
/// no such product or memory is too small.
pub(crate) fn multiply<T: Scalar>(
    ctx: &'static Context,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<bool> {
    if c.cols > 1 && c.rows == 1 {
        return multiply(ctx, update, b.t(), a.t(), c.t());
    }
    let by_rows = a.cs == 1;
    let ld = if by_rows { a.rs } else { a.cs };
    let usable = c.cols == 1 && update.triangle == UpdatedPart::Full && (by_rows || a.rs == 1);
    if !usable || ld < 0 || a.cols < 2 {
        return Ok(false);
    }
    let (m, n) = (a.rows, a.cols);
    let layout = if by_rows {
        VectorLayout::Rows
    } else {
        let aligned = [a.ptr as usize, ld as usize * size_of::<T>()]
            .iter()
            .all(|at| at % PACK == 0);
        let pack = PACK / size_of::<T>();
        VectorLayout::Columns((aligned && m % pack == 0).then_some(pack))
    };
    let cut = VectorSplit::new(ctx.properties.multiprocessors, layout, m, n);
    let words = if cut.slices > 1 { m * cut.slices } else { 0 };
    let Some(parts) = where_there_is_room(Buffer::of::<f64>(ctx, words))? else {
        return Ok(false);
    };
    let (alpha, beta, stop) = (scalar(update.alpha), scalar(update.beta), update.stop);
    ctx.launch::<T>(
        cut.kernel,
        cut.blocks,
        cut.slices,
        THREADS as u32,
        &args![
            i32::from(cut.wide),
            m,
            n,
            alpha,
            a.ptr,
            ld,
            b.ptr,
            b.rs,
            beta,
            c.ptr,
            c.rs,
            parts.ptr,
            cut.depth,
            stop
        ],
    )?;
    if cut.slices > 1 {
        let blocks = m.div_ceil(WARPS);
        ctx.launch::<T>(
            JOIN,
            blocks,
            1,
            THREADS as u32,
            &args![m, cut.slices, parts.ptr, alpha, beta, c.ptr, c.rs, stop],
        )?;
    }
    progress::advance(2.0 * m as f64 * n as f64);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::{VectorLayout, VectorSplit};

    #[test]
    fn slices_hold_all_columns() {
        for layout in [
            VectorLayout::Rows,
            VectorLayout::Columns(None),
            VectorLayout::Columns(Some(4)),
        ] {
            for m in [1, 7, 31, 32, 33, 255, 1000, 20_000, 1_000_000] {
                for n in [2, 3, 63, 512, 513, 8191, 1_000_000] {
                    let cut = VectorSplit::new(132, layout, m, n);
                    assert!(cut.slices * cut.depth >= n, "{cut:?}");
                    assert!((cut.slices - 1) * cut.depth < n, "{cut:?}");
                    assert!(cut.slices <= 65_535 && cut.blocks > 0, "{cut:?}");
                }
            }
        }
    }
}
