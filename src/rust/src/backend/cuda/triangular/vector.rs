//! Triangular systems with one or two right-hand sides (`kernels/triangular/triangular_vector.cu`).

use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::triangular::kind::TriangleKind;
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;

/// Kernels by the number of right-hand sides.
const SOLVE: [Kernel; 2] = [
    Kernel::new(Family::TriangularVector, "triangle_solve_single"),
    Kernel::new(Family::TriangularVector, "triangle_solve_pair"),
];

/// Rows of a block, and its threads.
const TILE: usize = 64;
const THREADS: u32 = 256;

/// Up to this number of right-hand sides this is faster than tiles.
const FEW: usize = 2;

/// The bytes of an unknown that is not computed yet.
const UNKNOWN: u8 = 0xff;

/// `B <- M^-1 B`. False, with nothing done, if other ways are faster or memory is too small.
pub(crate) fn solve<T: Scalar>(
    ctx: &'static Context,
    kind: TriangleKind,
    m: View<T>,
    b: View<T>,
    stop: u64,
) -> Result<bool> {
    let n = m.rows;
    if n <= TILE || b.is_empty() || b.cols > FEW {
        return Ok(false);
    }
    let (l, b) = if kind.upper {
        (m.reversed(), b.rows_reversed())
    } else {
        (m, b)
    };
    let at_once = b.cols.min(SOLVE.len());
    let words = n * at_once + 1;
    let Some(work) = where_there_is_room(Buffer::of::<u64>(ctx, words))? else {
        return Ok(false);
    };
    for first in (0..b.cols).step_by(at_once) {
        let part = b.sub(0, first, n, at_once.min(b.cols - first));
        work.fill(UNKNOWN, words * size_of::<u64>())?;
        ctx.launch::<T>(
            SOLVE[part.cols - 1],
            n.div_ceil(TILE),
            1,
            THREADS,
            &args![
                n,
                l.ptr,
                l.rs,
                l.cs,
                i32::from(l.cs.abs() < l.rs.abs()),
                i32::from(kind.unit),
                part.ptr,
                part.rs,
                part.cs,
                work.ptr,
                stop
            ],
        )?;
        progress::advance((n * n * part.cols) as f64);
    }
    Ok(true)
}
