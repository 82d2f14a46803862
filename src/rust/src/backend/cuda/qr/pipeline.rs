//! QR factorization in pipelines of columns (`kernels/qr/qr_pipeline.cu`), and their reflectors
//! applied to other columns.

use std::mem::size_of;

use super::reflectors::BlockReflector;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::panel::column_pipeline::{Pipeline, PipelinePlan, Pipelines};
use crate::backend::cuda::qr::apply::{apply_in_turns, Part};
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::flops::qr_flops;

const fn pipeline(name: &'static str, threads: usize, rows: usize) -> Pipeline {
    Pipeline {
        kernel: Kernel::new(Family::QrPipeline, name),
        rows: threads * rows,
        threads,
        clerks: 0,
        shared: 0,
    }
}

static DOUBLE: Pipelines = [
    pipeline("columns_reflect_pipeline128x4", 128, 4),
    pipeline("columns_reflect_pipeline256x4", 256, 4),
    pipeline("columns_reflect_pipeline256x8", 256, 8),
];
static SINGLE: Pipelines = [
    pipeline("columns_reflect_pipeline128x8", 128, 8),
    pipeline("columns_reflect_pipeline256x8", 256, 8),
    pipeline("columns_reflect_pipeline256x16", 256, 16),
];

/// The kernels for that element type.
pub(crate) fn pipelines<T>() -> &'static Pipelines {
    match size_of::<T>() {
        8 => &DOUBLE,
        _ => &SINGLE,
    }
}

/// Factors the columns of `a` that the plan gives to pipelines; the factors of its reflectors go to
/// `tau`. Columns behind a launch are changed in blocks of `width` reflectors.
pub(super) fn factor_left<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    plan: &PipelinePlan,
    tau: &Buffer,
    blocks: &[BlockReflector; 2],
    width: usize,
    all: &progress::CountedPart,
) -> Result<()> {
    let messages = Buffer::of::<u32>(ctx, plan.words::<T>())?;
    let (m, n) = (a.rows, a.cols);
    let tau_at = |column: usize| tau.ptr + (column * size_of::<T>()) as u64;
    for (first, cols, reflectors) in plan.launches() {
        all.left(qr_flops((m - first, n - first)));
        let rows = m - first;
        let made = a.sub(first, first, rows, cols);
        plan.launch(ctx, made, &messages, &args![tau_at(first)])?;
        let next = first + cols;
        let behind = if next < n { reflectors } else { 0 };
        let part = |at: usize| Part {
            a: made.sub(at, at, rows - at, width.min(reflectors - at)),
            tau: tau_at(first + at),
            c: a.sub(first + at, next, rows - at, n - next),
        };
        let parts: Vec<_> = (0..behind).step_by(width.max(1)).map(part).collect();
        // Counted by the launches.
        apply_in_turns(ctx, blocks, Trans::Yes, &parts, 0.0)?;
        ctx.fence()?;
    }
    Ok(())
}
