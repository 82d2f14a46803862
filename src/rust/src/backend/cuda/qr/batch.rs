//! Least squares for many problems: one block solves one problem in its shared memory.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::device::batched::{ProblemShape, Ranks};

const FIT: Kernel = Kernel::new(Family::QrBatch, "batch_fit_block");

/// Operations of one launch, as a fraction of those of the longest product: some hundredths of a
/// second. A launch never has fewer problems than fill a GPU.
const LAUNCH: f64 = 2e-3;
const LEAST_BLOCKS: usize = 4096;

/// [`Problems`](crate::device::batched::Problems) in device memory.
pub(crate) struct Parts<T> {
    pub shape: ProblemShape,
    pub count: usize,
    pub x: View<T>,
    pub y: View<T>,
    pub residuals: View<T>,
    pub coefficients: View<T>,
    pub qraux: View<T>,
}

impl<T: Scalar> Parts<T> {
    /// Whether there are rows, and the shapes of the matrices agree with the number of problems.
    pub(crate) fn fit(&self) -> bool {
        let (ProblemShape { m, n, q }, count) = (self.shape, self.count);
        let shape = |v: &View<T>| (v.rows, v.cols);
        m > 0
            && shape(&self.x) == (m, n * count)
            && shape(&self.y) == (m, q * count)
            && shape(&self.residuals) == (m, q * count)
            && shape(&self.coefficients) == (n, q * count)
            && shape(&self.qraux) == (n, count)
    }
}

/// Bytes of shared memory for a problem, as `kernels/qr/qr_batch.cu` lays it out.
fn shared_bytes<T>(ProblemShape { m, n, q }: ProblemShape) -> usize {
    let numbers = m
        .saturating_mul(n)
        .saturating_add(m.saturating_mul(q))
        .saturating_add(m.min(n));
    let around = n
        .saturating_mul(size_of::<f64>() + size_of::<i32>())
        .saturating_add(size_of::<i32>());
    numbers
        .saturating_mul(size_of::<T>())
        .saturating_add(around)
}

/// Whether a block's shared memory holds such a problem.
pub(crate) fn fits<T>(ctx: &Context, shape: ProblemShape) -> bool {
    shared_bytes::<T>(shape) <= ctx.properties.shared
}

/// Threads of a block: a warp works on a column, and idle warps take space from other blocks.
fn threads(ProblemShape { m, n, q }: ProblemShape) -> u32 {
    match m * (n + q) {
        0..=256 => 32,
        257..=1024 => 64,
        1025..=4096 => 128,
        _ => 256,
    }
}

pub(crate) fn solve<T: Scalar>(ctx: &'static Context, tol: f64, parts: Parts<T>) -> Result<Ranks> {
    let (ProblemShape { m, n, q }, count) = (parts.shape, parts.count);
    let mut ranks = Ranks::zeros(n, count)?;
    if count == 0 {
        return Ok(ranks);
    }
    let jpvt = Buffer::of::<i32>(ctx, n * count)?;
    let rank = Buffer::of::<i32>(ctx, count)?;
    let flops = 4.0 * m as f64 * (n as f64 + 1.0) * (n + q) as f64;
    let most = LAUNCH * ctx.properties.launch_operations::<T>();
    let step = ((most / flops) as usize).max(LEAST_BLOCKS);
    let all = progress::part(count as f64 * flops);
    for first in (0..count).step_by(step) {
        all.left((count - first) as f64 * flops);
        ctx.launch_shared::<T>(
            FIT,
            (step.min(count - first), 1),
            threads(parts.shape),
            shared_bytes::<T>(parts.shape),
            &args![
                first,
                m as i32,
                n as i32,
                q as i32,
                tol,
                parts.x.ptr,
                parts.y.ptr,
                parts.residuals.ptr,
                parts.coefficients.ptr,
                parts.qraux.ptr,
                jpvt.ptr,
                rank.ptr
            ],
        )?;
        ctx.fence()?;
    }
    jpvt.to_slice(&mut ranks.jpvt)?;
    rank.to_slice(&mut ranks.rank)?;
    Ok(ranks)
}
