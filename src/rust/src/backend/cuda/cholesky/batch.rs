//! Cholesky factorization of many matrices.

use super::factor;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::{keep_triangle, View};
use crate::base::error::{Error, Result};
use crate::base::matrix::Uplo;
use crate::base::progress;
use crate::base::scalar::Scalar;

/// Kernels with some lanes of a warp per matrix, and the number of lanes, which is the largest
/// order.
const LANES: [(Kernel, usize); 3] = [
    (lanes("batch_factor_lanes8"), 8),
    (lanes("batch_factor_lanes16"), 16),
    (lanes("batch_factor_lanes32"), 32),
];
/// One warp per matrix, for orders 33 to 64.
const WARP: Kernel = Kernel::new(Family::CholeskyBatch, "batch_factor_warp");
const WARP_ORDER: usize = 64;
/// One block per matrix.
const BLOCK: Kernel = Kernel::new(Family::CholeskyBatch, "batch_factor_block");
/// Above this order one block takes too long.
const BLOCK_ORDER: usize = 2048;

/// Operations of one launch, as a fraction of those of the longest product: some hundredths of a
/// second. A launch never has fewer matrices than fill a GPU.
const LAUNCH: f64 = 0.02;
const LEAST_BLOCKS: usize = 256;

/// Matrices of at most this many bytes in all are uploaded at once, without a query of the free
/// memory.
const FEW_BYTES: usize = 64 << 20;
/// The most bytes of matrices to upload at once.
const MOST_BYTES: u64 = 2 << 30;

const fn lanes(name: &'static str) -> Kernel {
    Kernel::new(Family::CholeskyBatch, name)
}

/// The number of these bytes to upload at once.
pub(crate) fn room(ctx: &'static Context, all: usize) -> Result<usize> {
    if all <= FEW_BYTES {
        return Ok(all);
    }
    let (free, _) = ctx.memory()?;
    Ok(all.min((free / 4).min(MOST_BYTES) as usize))
}

/// Factors the upper triangles of square matrices side by side, and zeroes what is below.
pub(crate) fn factor<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<()> {
    let n = a.rows;
    let count = a.cols.checked_div(n).unwrap_or(0);
    if count == 0 {
        return Ok(());
    }
    if count < fewest(n) {
        return one_by_one(ctx, count, a);
    }
    let failed = Buffer::zeroed::<u64>(ctx, 1)?;
    let flops = (n as f64).powi(3) / 3.0;
    let most = LAUNCH * ctx.properties.launch_operations::<T>();
    let step = ((most / flops) as usize).max(LEAST_BLOCKS);
    let all = progress::part(count as f64 * flops);
    for first in (0..count).step_by(step) {
        all.left((count - first) as f64 * flops);
        start(ctx, first, count.min(first + step), a, &failed)?;
        ctx.fence()?;
    }
    let mut first_failed = [0u64];
    failed.to_slice(&mut first_failed)?;
    match first_failed {
        [0] => Ok(()),
        // The complement of index and order.
        [found] => Err(Error::NotPositiveDefiniteIn {
            index: (!found >> 32) as usize + 1,
            order: (!found & 0xffff_ffff) as usize,
        }),
    }
}

/// With fewer matrices than this of order `n`, each is factored by the whole GPU. One block needs a
/// time of the order of n^3, the whole GPU for a matrix of this size, which does not fill it, of
/// the order of n.
fn fewest(n: usize) -> usize {
    if n > BLOCK_ORDER {
        usize::MAX
    } else {
        (n / 320).pow(2)
    }
}

fn one_by_one<T: Scalar>(ctx: &'static Context, count: usize, a: View<T>) -> Result<()> {
    let n = a.rows;
    for i in 0..count {
        let one = a.sub(0, i * n, n, n);
        factor::factor(ctx, Uplo::Upper, one).map_err(|e| e.in_batch(i))?;
        keep_triangle(ctx, one, false)?;
    }
    Ok(())
}

/// Starts the work on matrices `first` to `last - 1`.
fn start<T: Scalar>(
    ctx: &'static Context,
    first: usize,
    last: usize,
    a: View<T>,
    failed: &Buffer,
) -> Result<()> {
    let n = a.rows;
    let (count, order) = (last - first, n as i32);
    if let Some((kernel, lanes)) = LANES.iter().find(|(_, lanes)| n <= *lanes) {
        let args = args![first, last, order, a.ptr, failed.ptr];
        return ctx.launch::<T>(*kernel, count.div_ceil(128 / lanes), 1, 128, &args);
    }
    let (kernel, threads) = if n <= WARP_ORDER {
        (WARP, 32)
    } else {
        (BLOCK, 128)
    };
    ctx.launch::<T>(
        kernel,
        count,
        1,
        threads,
        &args![first, order, a.ptr, failed.ptr],
    )
}
