//! Single precision by way of double (`kernels/precision.cu`): operands are copied to double precision, the kernels for the tensor
//! cores do the work there, and what they made is rounded once.
//!
//! - The entries of a Cholesky factor of finite numbers are at most the roots of the diagonal, so that none becomes infinite by
//!   rounding; small ones become subnormal numbers or zero. The root of a pivot would vanish only if 45 digits of it cancelled.
//! - A matrix counts as positive definite where it is in double arithmetic.
//! - An unknown of a triangular system that is too large for single precision becomes infinite, in rounding; those that depend on it
//!   do not, where they are found in the same copy.
//! - Where there is no memory for the copies nothing is done, and the caller takes smaller parts or another way.

use std::mem::size_of;

use crate::backend::cuda::cholesky;
use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::gemm::gemm_syrk::Triangle;
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::triangular::trsm::{divide, Kind};
use crate::base::error::Result;
use crate::base::scalar::Scalar;

const WIDEN: Kernel = Kernel::untyped(Family::Precision, "matrix_widen_part");
const NARROW: Kernel = Kernel::untyped(Family::Precision, "matrix_narrow_part");

/// Rows and columns that a block copies.
const ROWS: usize = 256;
const COLUMNS: usize = 8;

/// Order up to which the kernels for any GPU need no more than one launch.
const LEAF: usize = 64;
/// Largest order of a triangle that right-hand sides are divided by, and numbers of a copy of right-hand sides: at most 128 MiB and
/// 256 MiB.
const TRIANGLE: usize = 4096;
const PANEL: usize = 32 << 20;

fn pays<T: Scalar>(ctx: &Context) -> bool {
    size_of::<T>() == size_of::<f32>() && ctx.properties.double_keeps_up()
}

/// Whether a Cholesky factor of this order is made in double precision as a whole, and rounded once.
pub(crate) fn is_whole_cholesky<T: Scalar>(ctx: &Context, order: usize) -> bool {
    pays::<T>(ctx) && order <= cholesky::tiles::LARGEST
}

/// Room for a copy of a matrix in double precision.
struct Wide {
    ctx: &'static Context,
    buffer: Buffer,
}

impl Wide {
    fn room<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Option<Self>> {
        let count = if a.rs == 1 {
            a.cols * Self::ld(a.rows)
        } else {
            a.rows * Self::ld(a.cols)
        };
        let buffer = where_there_is_room(Buffer::of::<f64>(ctx, count))?;
        Ok(buffer.map(|buffer| Wide { ctx, buffer }))
    }

    /// The kernels' loads of 16 bytes and lines of 128 bytes want to be aligned.
    fn ld(length: usize) -> usize {
        length.next_multiple_of(16)
    }

    /// The copy of a matrix for which there is room, laid out as that one is.
    fn of<T: Scalar>(&self, a: View<T>) -> View<f64> {
        if a.rs == 1 {
            View::new(self.buffer.ptr, a.rows, a.cols, Self::ld(a.rows))
        } else {
            View::new(self.buffer.ptr, a.cols, a.rows, Self::ld(a.cols)).t()
        }
    }

    fn widen<T: Scalar>(&self, a: View<T>, part: Triangle, stop: u64) -> Result<View<f64>> {
        let wide = self.of(a);
        convert(self.ctx, WIDEN, a, wide, part, stop)?;
        Ok(wide)
    }

    fn narrow<T: Scalar>(&self, a: View<T>, part: Triangle, stop: u64) -> Result<()> {
        convert(self.ctx, NARROW, self.of(a), a, part, stop)
    }
}

/// `to <- from` for matrices of one shape, both with contiguous columns or both with contiguous rows.
fn convert<From: Scalar, To: Scalar>(
    ctx: &'static Context,
    kernel: Kernel,
    from: View<From>,
    to: View<To>,
    part: Triangle,
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

/// As [`cholesky::tiles::start`], for single precision.
pub(crate) fn start_cholesky<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    largest: usize,
) -> Result<Option<Buffer>> {
    let order = a.rows > LEAF && a.rows <= largest;
    if !pays::<T>(ctx) || !order || (a.rs != 1 && a.cs != 1) {
        return Ok(None);
    }
    let Some(copy) = Wide::room(ctx, a)? else {
        return Ok(None);
    };
    let wide = copy.widen(a, Triangle::Lower, 0)?;
    let started = where_there_is_room(cholesky::tiles::start(ctx, wide, largest))?.flatten();
    if started.is_some() {
        copy.narrow(a, Triangle::Lower, 0)?;
    }
    Ok(started)
}

/// `B <- M^-1 B` in single precision. False where that does not pay or there is no room: nothing is done.
pub(crate) fn solve<T: Scalar>(
    ctx: &'static Context,
    kind: Kind,
    m: View<T>,
    b: View<T>,
    stop: u64,
) -> Result<bool> {
    let n = m.rows;
    let contiguous = (m.rs == 1 || m.cs == 1) && (b.rs == 1 || b.cs == 1);
    let order = n > LEAF && n <= TRIANGLE;
    if !pays::<T>(ctx) || !order || !contiguous {
        return Ok(false);
    }
    // As many in each panel.
    let columns = b.cols.div_ceil(b.cols.div_ceil(PANEL / n));
    let (Some(triangle), Some(panel)) = (
        Wide::room(ctx, m)?,
        Wide::room(ctx, b.sub(0, 0, n, columns))?,
    ) else {
        return Ok(false);
    };
    let part = if kind.upper {
        Triangle::Upper
    } else {
        Triangle::Lower
    };
    let m = triangle.widen(m, part, stop)?;
    for first in (0..b.cols).step_by(columns) {
        let b = b.sub(0, first, n, columns.min(b.cols - first));
        let wide = panel.widen(b, Triangle::Full, stop)?;
        divide(ctx, kind, m, wide, stop)?;
        panel.narrow(b, Triangle::Full, stop)?;
    }
    Ok(true)
}

#[cfg(test)]
#[path = "via_f64_tests.rs"]
mod tests;
