//! Transposes, diagonals, and parts of matrices by lists of rows and columns.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::elementwise::operand::operand;
use crate::backend::cuda::matrix::views::{blocks_for, Matrix};
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Index, Operand};

const TRANSPOSE: Kernel = Kernel::new(Family::Movement, "matrix_transpose_tiled");
const SET_DIAGONAL: Kernel = Kernel::new(Family::Movement, "diagonal_set_plain");
const GATHER: Kernel = Kernel::new(Family::Movement, "part_gather_indexed");
const SCATTER: Kernel = Kernel::new(Family::Movement, "part_scatter_indexed");

pub(crate) fn transpose<T: Scalar>(
    ctx: &'static Context,
    a: &Matrix<'_, T>,
    out: &Matrix<'_, T>,
) -> Result<()> {
    let (a, out) = (a.view(), out.view());
    require(
        (a.cols, a.rows) == (out.rows, out.cols),
        "a transpose has another shape",
    )?;
    let tiles = a.rows.div_ceil(32) * a.cols.div_ceil(32);
    let blocks = tiles.min(i32::MAX as usize);
    ctx.launch::<T>(
        TRANSPOSE,
        blocks,
        1,
        256,
        &args![a.rows, a.cols, a.ptr, out.ptr],
    )
}

pub(crate) fn set_diagonal<T: Scalar>(
    ctx: &'static Context,
    values: &[T],
    a: &Matrix<'_, T>,
) -> Result<()> {
    let a = a.view();
    let k = a.rows.min(a.cols);
    require(
        values.len() == k || values.len() == 1,
        "replacement diagonal has wrong length",
    )?;
    if k == 0 {
        return Ok(());
    }
    let there = Buffer::from_slice(ctx, values)?;
    ctx.launch::<T>(
        SET_DIAGONAL,
        k.div_ceil(256),
        1,
        256,
        &args![k, there.ptr, values.len(), a.ptr, a.ld()],
    )
}

/// A list of indices on the device and its address; or no list, and the first index.
struct Places {
    list: Option<Buffer>,
    first: usize,
}

impl Places {
    fn new(ctx: &'static Context, index: Index<'_>) -> Result<Places> {
        Ok(match index {
            Index::From(first) => Places { list: None, first },
            Index::List(all) => Places {
                list: Some(Buffer::from_slice(ctx, all)?),
                first: 0,
            },
        })
    }

    fn address(&self) -> u64 {
        self.list.as_ref().map_or(0, |b| b.ptr)
    }
}

pub(crate) fn gather<T: Scalar>(
    ctx: &'static Context,
    (rows, cols): (Index<'_>, Index<'_>),
    missing: T,
    a: &Matrix<'_, T>,
    out: &Matrix<'_, T>,
) -> Result<()> {
    let (a, out) = (a.view(), out.view());
    rows.check(out.rows, a.rows)?;
    cols.check(out.cols, a.cols)?;
    if out.is_empty() {
        return Ok(());
    }
    let (rows, cols) = (Places::new(ctx, rows)?, Places::new(ctx, cols)?);
    ctx.launch::<T>(
        GATHER,
        blocks_for(out.rows * out.cols),
        1,
        256,
        &args![
            out.rows,
            out.cols,
            rows.address(),
            rows.first,
            cols.address(),
            cols.first,
            scalar(missing),
            a.ptr,
            a.ld(),
            out.ptr
        ],
    )
}

pub(crate) fn scatter<T: Scalar>(
    ctx: &'static Context,
    (rows, cols): (Index<'_>, Index<'_>),
    (m, n): (usize, usize),
    b: Operand<'_, Matrix<'_, T>>,
    out: &Matrix<'_, T>,
) -> Result<()> {
    let out = out.view();
    rows.check(m, out.rows)?;
    cols.check(n, out.cols)?;
    let (b, of, number) = operand(b, (m, n))?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let (rows, cols) = (Places::new(ctx, rows)?, Places::new(ctx, cols)?);
    ctx.launch::<T>(
        SCATTER,
        blocks_for(m * n),
        1,
        256,
        &args![
            m,
            n,
            rows.address(),
            rows.first,
            cols.address(),
            cols.first,
            b,
            of,
            scalar(T::from_f64(number)),
            out.ptr,
            out.ld()
        ],
    )
}
