//! Functions of one and of two matrices, entry by entry.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::elementwise::operand::operand;
use crate::backend::cuda::elementwise::{columns, fold, movement};
use crate::backend::cuda::matrix::views::{blocks_for, Matrix};
use crate::backend::cuda::CudaDevice;
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Elementwise, Index, Operand, Scaling};
use crate::device::functions::{Fold, Lines, Map, Zip};

const MAP: Kernel = Kernel::new(Family::Elementwise, "entries_map_plain");
const ZIP: Kernel = Kernel::new(Family::Elementwise, "entries_zip_plain");

pub(crate) fn map<T: Scalar>(
    ctx: &'static Context,
    f: Map,
    a: &Matrix<'_, T>,
    out: &Matrix<'_, T>,
) -> Result<bool> {
    require(a.shape() == out.shape(), "non-conformable arrays")?;
    let (a, out) = (a.view(), out.view());
    let count = a.rows * a.cols;
    let made = match f.may_make_nan() && count > 0 {
        true => Some(Buffer::zeroed::<i32>(ctx, 1)?),
        false => None,
    };
    let flag = made.as_ref().map_or(0, |b| b.ptr);
    let blocks = blocks_for(count);
    ctx.launch::<T>(
        MAP,
        blocks,
        1,
        256,
        &args![f.number(), count, a.ptr, out.ptr, flag],
    )?;
    let mut answer = [0i32];
    if let Some(made) = made {
        made.to_slice(&mut answer)?;
    }
    Ok(answer[0] != 0)
}

pub(crate) fn zip<T: Scalar>(
    ctx: &'static Context,
    f: Zip,
    a: Operand<'_, Matrix<'_, T>>,
    b: Operand<'_, Matrix<'_, T>>,
    out: &Matrix<'_, T>,
) -> Result<()> {
    let shape = out.shape();
    let ((a, of_a, x), (b, of_b, y)) = (operand(a, shape)?, operand(b, shape)?);
    let count = shape.0 * shape.1;
    let out = out.view().ptr;
    ctx.launch::<T>(
        ZIP,
        blocks_for(count),
        1,
        256,
        &args![f.number(), count, a, of_a, x, b, of_b, y, out],
    )
}

impl<T: Scalar> Elementwise<T> for CudaDevice {
    fn blank(&self, rows: usize, cols: usize) -> Result<Matrix<'static, T>> {
        Matrix::new(self.ctx, rows, cols)
    }

    fn map(&self, f: Map, a: &Matrix<'_, T>, out: &mut Matrix<'_, T>) -> Result<bool> {
        map(self.ctx, f, a, out)
    }

    fn zip(
        &self,
        f: Zip,
        a: Operand<'_, Matrix<'_, T>>,
        b: Operand<'_, Matrix<'_, T>>,
        out: &mut Matrix<'_, T>,
    ) -> Result<()> {
        zip(self.ctx, f, a, b, out)
    }

    fn fold(&self, f: Fold, lines: Lines, skip: bool, a: &Matrix<'_, T>) -> Result<Vec<f64>> {
        fold::fold(self.ctx, f, lines, skip, a)
    }

    fn scale_columns(
        &self,
        x: &Matrix<'_, T>,
        by: &[f64],
        how: Scaling,
        y: &mut Matrix<'_, T>,
    ) -> Result<()> {
        columns::scale(self.ctx, x, by, how, y)
    }

    fn column_dots(&self, x: &Matrix<'_, T>, y: &Matrix<'_, T>) -> Result<Vec<f64>> {
        columns::dots(self.ctx, x, y)
    }

    fn transpose(&self, a: &Matrix<'_, T>, out: &mut Matrix<'_, T>) -> Result<()> {
        movement::transpose(self.ctx, a, out)
    }

    fn set_diagonal(&self, values: &[T], a: &mut Matrix<'_, T>) -> Result<()> {
        movement::set_diagonal(self.ctx, values, a)
    }

    fn gather(
        &self,
        rows: Index<'_>,
        cols: Index<'_>,
        missing: T,
        a: &Matrix<'_, T>,
        out: &mut Matrix<'_, T>,
    ) -> Result<()> {
        movement::gather(self.ctx, (rows, cols), missing, a, out)
    }

    fn scatter(
        &self,
        rows: Index<'_>,
        cols: Index<'_>,
        shape: (usize, usize),
        b: Operand<'_, Matrix<'_, T>>,
        out: &mut Matrix<'_, T>,
    ) -> Result<()> {
        movement::scatter(self.ctx, (rows, cols), shape, b, out)
    }
}
