//! Products from host to host in panels of the result's columns: uploads, multiplications and
//! downloads run at the same time.

use crate::backend::cuda::transfer::host_copy::pages_of;
use std::mem::size_of;

use faer::{MatMut, MatRef};

use crate::backend::cuda::driver::chunks::cut;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::traffic::count;
use crate::backend::cuda::gemm;
use crate::backend::cuda::gemm::update::Update;
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::transfer::copy_engine::CopyEngine;
use crate::backend::cuda::transfer::matrix::{sink, source, stage};
use crate::base::error::Result;
use crate::base::matrix::{Part, Trans};
use crate::base::scalar::Scalar;
use crate::cost::plan::call::{take_way, Way};
use crate::cost::plan::size::product_panel;

/// `out = op(a) op(b)`. False, with nothing done, if the operands do not suit this path.
pub(crate) fn multiply<T: Scalar>(
    ctx: &'static Context,
    (ta, a): (Trans, MatRef<'_, T>),
    (tb, b): (Trans, MatRef<'_, T>),
    mut out: MatMut<'_, T>,
) -> Result<bool> {
    let (rows, depth) = ta.shape((a.nrows(), a.ncols()));
    let cols = out.ncols();
    require(
        (depth, cols) == tb.shape((b.nrows(), b.ncols())) && rows == out.nrows(),
        "product: shapes do not fit",
    )?;
    let Some(step) = product_panel((rows, cols), size_of::<T>()).filter(|_| depth > 0) else {
        return Ok(false);
    };
    let bytes = rows * cols * size_of::<T>();
    let operands = (a.nrows() * a.ncols() + b.nrows() * b.ncols()) * size_of::<T>();
    let Some((mut staging, workers, slot)) = stage(ctx, bytes.max(operands))? else {
        return Ok(false);
    };
    let (left, right, c) = (
        Matrix::new(ctx, a.nrows(), a.ncols())?,
        Matrix::new(ctx, b.nrows(), b.ncols())?,
        Matrix::new(ctx, rows, cols)?,
    );
    let (Some(from_a), Some(from_b), Some(to)) = (
        source(a, left.view().ptr),
        source(b, right.view().ptr),
        sink(&mut out, c.view().ptr),
    ) else {
        return Ok(false);
    };
    let (all_a, all_b) = (from_a.bytes(Part::All), from_b.bytes(Part::All));
    count(all_a + all_b, bytes);
    let (send, senders) = cut(all_a + all_b, workers, slot);
    let (fetch, fetchers) = cut(bytes, workers, slot);
    let panels: Vec<(usize, usize)> = (0..cols)
        .step_by(step)
        .map(|j| (j, step.min(cols - j)))
        .collect();
    take_way(|| Way::Streamed {
        blocks: panels.len(),
        columns: step,
    });
    // First A and the operand of the first panel; then the operands of the other panels.
    let mut up: Vec<_> = panels
        .iter()
        .map(|&(j, n)| match tb {
            Trans::No => from_b.columns(j, n).pieces(Part::All, send),
            Trans::Yes if j == 0 => from_b.pieces(Part::All, send),
            Trans::Yes => Vec::new(),
        })
        .collect();
    let mut first = from_a.pieces(Part::All, send);
    first.append(&mut up[0]);
    up[0] = first;
    let mut down = Vec::new();
    let mut ends = Vec::with_capacity(panels.len());
    for &(j, n) in &panels {
        down.extend(to.columns(j, n).pieces(Part::All, fetch));
        ends.push(down.len());
    }
    let pages = match to.pitch == rows {
        // SAFETY: `out` is borrowed for longer than the flow below.
        true => unsafe { pages_of(to.host.cast(), bytes) },
        false => None,
    };
    ctx.order_up()?;
    let flow = CopyEngine::new(ctx, up, down, senders.max(fetchers), pages);
    let whole = |view: crate::backend::cuda::matrix::views::View<T>, t: Trans| {
        if t.is_yes() {
            view.t()
        } else {
            view
        }
    };
    let (left, right, c) = (whole(left.view(), ta), whole(right.view(), tb), c.view());
    let drive = |flow: &CopyEngine| {
        for (panel, &(j, n)) in panels.iter().enumerate() {
            flow.await_stage(panel)?;
            ctx.join_up()?;
            let (b, c) = (right.sub(0, j, depth, n), c.sub(0, j, rows, n));
            gemm::gemm_syrk::multiply(ctx, Update::assign(), left, b, c)?;
            flow.release(ends[panel])?;
        }
        Ok(())
    };
    // SAFETY: `a`, `b` and `out` are borrowed, and the device's matrices live until the end of this
    // function.
    unsafe { flow.run(&mut staging, drive) }?;
    Ok(true)
}
