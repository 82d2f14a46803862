//! Triangular systems in single precision, solved in double precision.

use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::gemm::update::UpdatedPart;
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::precision::via_f64::{pays, F64Copy, LEAF};
use crate::backend::cuda::triangular::kind::TriangleKind;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

/// Solves `M X = B` in double precision: the triangle's kind, M, B, and `stop` of
/// [`Update`](crate::backend::cuda::gemm::update::Update).
type Divide = fn(&'static Context, TriangleKind, View<f64>, View<f64>, u64) -> Result<()>;

/// `B <- M^-1 B` in single precision, by `divide` on copies in double precision.
///
/// False, with nothing done, if copies do not pay or the GPU has no memory for them.
pub(crate) fn solve<T: Scalar>(
    ctx: &'static Context,
    kind: TriangleKind,
    m: View<T>,
    b: View<T>,
    stop: u64,
    divide: Divide,
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
        F64Copy::room(ctx, m)?,
        F64Copy::room(ctx, b.sub(0, 0, n, columns))?,
    ) else {
        return Ok(false);
    };
    let part = if kind.upper {
        UpdatedPart::Upper
    } else {
        UpdatedPart::Lower
    };
    let m = triangle.widen(m, part, stop)?;
    for first in (0..b.cols).step_by(columns) {
        let b = b.sub(0, first, n, columns.min(b.cols - first));
        let wide = panel.widen(b, UpdatedPart::Full, stop)?;
        divide(ctx, kind, m, wide, stop)?;
        panel.narrow(b, UpdatedPart::Full, stop)?;
    }
    Ok(true)
}

/// Largest order of a triangle that right-hand sides are divided by, and numbers of a copy of
/// right-hand sides: at most 128 MiB and 256 MiB.
pub(super) const TRIANGLE: usize = 4096;

pub(super) const PANEL: usize = 32 << 20;

#[cfg(test)]
#[path = "via_f64_tests.rs"]
mod tests;
