//! Applies blocks of reflectors one after the other, and forms V and T of the next meanwhile.

use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::gemm::split_k;
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::qr::reflectors::BlockReflector;
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::flops::apply_flops;

/// Multiprocessors for computing V and T of the reflectors of `next` while products apply those of
/// `now`: so many that both take the same time. A tenth of a millisecond is spent in steps that
/// more multiprocessors do not speed up.
fn loading<T: Scalar>(ctx: &Context, now: &Part<T>, next: &Part<T>) -> usize {
    let all = ctx.multiprocessors();
    let (rows, width, cols) = (now.a.rows as f64, now.a.cols as f64, now.c.cols as f64);
    let products = 4.0 * rows * width * cols;
    let gram = 2.0 * next.a.rows as f64 * (next.a.cols as f64).powi(2);
    let rate = ctx.properties.product_rate::<T>();
    balance(all, |few| {
        let loaded = 1e-4 + gram / (rate * few);
        let applied = products / (rate * (all as f64 - few));
        loaded.max(applied)
    })
}

/// The number of multiprocessors, of `all`, that minimizes `longest`.
pub(super) fn balance(all: usize, longest: impl Fn(f64) -> f64) -> usize {
    (4..all)
        .step_by(4)
        .min_by(|x, y| longest(*x as f64).total_cmp(&longest(*y as f64)))
        .unwrap_or(all / 2)
}

/// Reflectors in the columns of `a`, their factors at `tau`, and what they are applied to.
#[derive(Clone, Copy)]
pub(crate) struct Part<T> {
    pub a: View<T>,
    pub tau: u64,
    pub c: View<T>,
}

/// Applies the reflectors of the parts, one after the other. V and T of the next part are computed
/// during the products of each, if there are two blocks to alternate. Progress counts `flops`
/// operations in all.
pub(super) fn apply_in_turns<T: Scalar>(
    ctx: &'static Context,
    blocks: &[BlockReflector; 2],
    trans: Trans,
    parts: &[Part<T>],
    flops: f64,
) -> Result<()> {
    let weight = |parts: &[Part<T>]| -> f64 {
        let each = parts
            .iter()
            .map(|p| apply_flops(p.a.rows, p.a.cols, p.c.cols));
        each.sum()
    };
    let (all, weights) = (progress::part(flops), weight(parts).max(1.0));
    let tell = |i: usize| all.left(flops * weight(&parts[i..]) / weights);
    let load = |i: usize| match parts.get(i) {
        Some(p) => blocks[i % 2].load(0, p.a, p.tau).map(Some),
        None => Ok(None),
    };
    if !blocks[1].is_there() {
        return parts.iter().enumerate().try_for_each(|(i, p)| {
            tell(i);
            let by = blocks[0].load(0, p.a, p.tau)?;
            blocks[0].apply(trans, by, p.c, 0)?;
            ctx.fence()
        });
    }
    split_k::prepare_beside(ctx)?;
    let available = ctx.multiprocessors();
    let mut loaded = load(0)?;
    for (i, p) in parts.iter().enumerate() {
        tell(i);
        let Some(by) = loaded else { break };
        let Some(next) = parts.get(i + 1) else {
            blocks[i % 2].apply(trans, by, p.c, 0)?;
            break;
        };
        let few = loading(ctx, p, next);
        loaded = ctx.beside(|| ctx.leaving(available - few, || load(i + 1)))?;
        ctx.leaving(few, || blocks[i % 2].apply(trans, by, p.c, 0))?;
        ctx.join()?;
        ctx.fence()?;
    }
    ctx.fence()
}
