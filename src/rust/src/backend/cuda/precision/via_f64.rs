//! Single precision by way of double (`kernels/precision/precision.cu`): operands are copied to
//! double precision, the kernels for the tensor cores do the work there, and what they made is
//! rounded once.
//!
//! - The entries of a Cholesky factor of finite numbers are at most the roots of the diagonal, so
//!   that none becomes infinite by rounding; small ones become subnormal numbers or zero. The root
//!   of a pivot would vanish only if 45 digits of it cancelled.
//! - A matrix counts as positive definite where it is in double arithmetic.
//! - An unknown of a triangular system that is too large for single precision becomes infinite, in
//!   rounding; those that depend on it do not, where they are found in the same copy.
//! - Where there is no memory for the copies nothing is done, and the caller takes smaller parts or
//!   another way.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::gemm::update::UpdatedPart;
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

const WIDEN: Kernel = Kernel::untyped(Family::Precision, "matrix_widen_part");
const NARROW: Kernel = Kernel::untyped(Family::Precision, "matrix_narrow_part");

/// Rows and columns that a block copies.
const ROWS: usize = 256;
const COLUMNS: usize = 8;

/// Order up to which the kernels for any GPU need no more than one launch.
pub(crate) const LEAF: usize = 64;

pub(crate) fn pays<T: Scalar>(ctx: &Context) -> bool {
    size_of::<T>() == size_of::<f32>() && ctx.properties.double_keeps_up()
}

/// Memory for a copy of a matrix in double precision.
pub(crate) struct F64Copy {
    ctx: &'static Context,
    buffer: Buffer,
}

impl F64Copy {
    pub(crate) fn room<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Option<Self>> {
        let count = if a.rs == 1 {
            a.cols * Self::ld(a.rows)
        } else {
            a.rows * Self::ld(a.cols)
        };
        let buffer = where_there_is_room(Buffer::of::<f64>(ctx, count))?;
        Ok(buffer.map(|buffer| F64Copy { ctx, buffer }))
    }

    /// The leading dimension, which aligns the kernels' loads of 16 bytes and lines of 128 bytes.
    fn ld(length: usize) -> usize {
        length.next_multiple_of(16)
    }

    /// The copy of a matrix that fits, in the same layout.
    fn of<T: Scalar>(&self, a: View<T>) -> View<f64> {
        if a.rs == 1 {
            View::new(self.buffer.ptr, a.rows, a.cols, Self::ld(a.rows))
        } else {
            View::new(self.buffer.ptr, a.cols, a.rows, Self::ld(a.cols)).t()
        }
    }

    pub(crate) fn widen<T: Scalar>(
        &self,
        a: View<T>,
        part: UpdatedPart,
        stop: u64,
    ) -> Result<View<f64>> {
        let wide = self.of(a);
        convert(self.ctx, WIDEN, a, wide, part, stop)?;
        Ok(wide)
    }

    pub(crate) fn narrow<T: Scalar>(&self, a: View<T>, part: UpdatedPart, stop: u64) -> Result<()> {
        convert(self.ctx, NARROW, self.of(a), a, part, stop)
    }
}

/// `to <- from` for matrices of one shape, both with contiguous columns or both with contiguous
/// rows.
fn convert<From: Scalar, To: Scalar>(
    ctx: &'static Context,
    kernel: Kernel,
    from: View<From>,
    to: View<To>,
    part: UpdatedPart,
    stop: u64,
) -> Result<()> {
    if from.rs != 1 || to.rs != 1 {
        return convert(ctx, kernel, from.t(), to.t(), part.t(), stop);
    }
    ctx.launch::<f32>(
        kernel,
        from.rows.div_ceil(ROWS) * from.cols.div_ceil(COLUMNS),
        1,
        ROWS as u32,
        &args![
            from.rows,
            from.cols,
            part as i32,
            from.ptr,
            from.ld(),
            to.ptr,
            to.ld(),
            stop
        ],
    )
}

#[cfg(test)]
#[path = "via_f64_tests.rs"]
mod tests;
