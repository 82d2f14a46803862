//! QR with column exchanges, LAPACK's and LINPACK's, one reflector at a time.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::elementwise::norms::norms_on_device;
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::triangular::trsm::reorder_columns;
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::cost::flops::qr_flops;
use crate::device::lapack::PivotedQr;

const LARGEST: Kernel = Kernel::new(Family::Pivot, "column_choose_largest");
const LIMITED: Kernel = Kernel::new(Family::Pivot, "column_choose_limited");
const REFLECT: Kernel = Kernel::new(Family::Pivot, "column_reflect_norms");

/// Steps between fences, at most.
const STRIDE: usize = 16;
/// Entries that steps between fences read and write, at most, unless there is one step: some
/// hundredths of a second.
const ENTRIES: usize = 1 << 30;

/// Which column comes next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    /// The one of largest remaining norm.
    Largest,
    /// The next, unless its norm fell below this share of its first norm.
    Limited(f64),
}

pub(crate) fn factor<T: Scalar>(
    ctx: &'static Context,
    rule: Rule,
    a: View<T>,
) -> Result<PivotedQr<T>> {
    let (m, n) = (a.rows, a.cols);
    let k = m.min(n);
    let mut jpvt: Vec<i32> = (0..n as i32).collect();
    if k == 0 {
        return Ok(PivotedQr {
            tau: Vec::new(),
            jpvt: jpvt.into_iter().map(|j| j as usize).collect(),
            rank: 0,
        });
    }
    let order = Buffer::from_slice(ctx, &jpvt)?;
    let [norm, recent, original] = [
        norms_on_device(ctx, a)?,
        norms_on_device(ctx, a)?,
        norms_on_device(ctx, a)?,
    ];
    let moved = Buffer::of::<i32>(ctx, n)?;
    let kept = Buffer::from_slice(ctx, &[n as i32])?;
    let v = Buffer::of::<T>(ctx, m)?;
    let tau = Buffer::zeroed::<T>(ctx, k)?;
    // LAPACK recomputes a norm below the root of the unit roundoff; dqrdc2 when 1e-6 of its square
    // is left, which single precision cannot resolve.
    let threshold = match rule {
        Rule::Largest => (T::EPS / 2.0).sqrt(),
        Rule::Limited(_) => T::EPS.sqrt().max(1e-6),
    };
    let all = progress::part(qr_flops((m, n)));
    let (mut steps, mut entries) = (0, 0);
    for j in 0..k {
        match rule {
            Rule::Largest => ctx.launch::<T>(
                LARGEST,
                1,
                1,
                1024,
                &args![m, n, j, a.ptr, a.ld(), order.ptr, norm.ptr, v.ptr, tau.ptr],
            )?,
            Rule::Limited(tol) => ctx.launch::<T>(
                LIMITED,
                1,
                1,
                1024,
                &args![
                    m,
                    n,
                    j,
                    tol,
                    a.ptr,
                    a.ld(),
                    order.ptr,
                    moved.ptr,
                    norm.ptr,
                    original.ptr,
                    kept.ptr,
                    v.ptr,
                    tau.ptr
                ],
            )?,
        }
        ctx.launch::<T>(
            REFLECT,
            n - j - 1,
            1,
            256,
            &args![
                m,
                j,
                a.ptr,
                a.ld(),
                order.ptr,
                norm.ptr,
                recent.ptr,
                v.ptr,
                tau.ptr,
                i32::from(rule != Rule::Largest),
                threshold
            ],
        )?;
        steps += 1;
        entries += (m - j) * (n - j);
        if steps >= STRIDE || entries >= ENTRIES {
            (steps, entries) = (0, 0);
            all.left(qr_flops((m - j, n - j)));
            ctx.fence()?;
        }
    }
    reorder_columns(ctx, a, &order)?;
    order.to_slice(&mut jpvt)?;
    let mut factors = try_zeroed::<T>(k)?;
    tau.to_slice(&mut factors)?;
    let mut front = [0i32];
    kept.to_slice(&mut front)?;
    Ok(PivotedQr {
        tau: factors,
        jpvt: jpvt.into_iter().map(|j| j as usize).collect(),
        rank: usize::try_from(front[0]).unwrap_or(0).min(k),
    })
}
