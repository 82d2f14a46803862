//! The order of work in a QR factorization on the GPU.
//!
//! Panels make blocks. A block changes the columns of the next one first; that one's panels are
//! then factored on a few multiprocessors while the other columns are changed, since panels are
//! long chains of small steps. When few enough rows are left, pipelines factor the rest.

use std::mem::size_of;

use super::cholesky_qr::Panels;
use super::householder::{factor_panel, PANEL, PANELS};
use super::pipeline::{factor_left, pipelines};
use super::reflectors::{width, BlockReflector, Reflector};
use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::gemm::split_k;
use crate::backend::cuda::lu::work::most_chunks;
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::panel::column_pipeline::PipelinePlan;
use crate::backend::cuda::qr::apply::balance;
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::cost::flops::qr_flops;

/// The algorithm of a factorization.
#[derive(Clone, Copy)]
pub(crate) struct Ways {
    /// Panels of a block.
    pub panels: usize,
    /// Whether panels are factored by products (CholeskyQR) where that is safe.
    pub products: bool,
    /// Whether the last columns, with few enough rows, are factored in pipelines.
    pub pipelines: bool,
}

/// Factors in place; returns the reflectors' factors.
pub(crate) fn factor<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Vec<T>> {
    let k = a.rows.min(a.cols);
    let ways = Ways {
        panels: PANELS,
        products: k >= PANEL,
        pipelines: true,
    };
    factor_in_ways(ctx, a, ways)
}

pub(super) fn factor_in_ways<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    ways: Ways,
) -> Result<Vec<T>> {
    let k = a.rows.min(a.cols);
    if k == 0 {
        return Ok(Vec::new());
    }
    let tau = Buffer::zeroed::<T>(ctx, k)?;
    let all = progress::part(qr_flops((a.rows, a.cols)));
    let panel = width::<T>(ctx).min(k);
    let size = (a.rows, a.cols);
    let plan = match ways.pipelines {
        true => PipelinePlan::of::<T>(ctx, pipelines::<T>(), size, panel)?,
        false => PipelinePlan::none(pipelines::<T>(), size),
    };
    let tail = plan.tail;
    // A last panel of one row has no reflector; the root of its square would have other bits.
    let reflectors = match a.rows <= a.cols && k > 1 && tail == k && k % panel == 1 {
        true => k - 1,
        false => tail,
    };
    // With fewer than two blocks no panel can be factored during other work.
    let wide = ways.panels * panel;
    let mut width = if reflectors >= 2 * wide { wide } else { panel };
    let later = match tail < k && a.cols - tail > plan.capacity {
        true => (PANELS * panel).min(k),
        false => 0,
    };
    let blocks = |width: usize| {
        let most = if tail > 0 { width.max(later) } else { later };
        BlockReflector::pair::<T>(ctx, most, a.rows, a.cols, width > panel || later > 0)
    };
    let blocks = match where_there_is_room(blocks(width))? {
        Some(there) => there,
        None => {
            width = panel;
            blocks(width)?
        }
    };
    let panels = match ways.products && tail > 0 {
        true => Some(Panels::new::<T>(ctx)?),
        false => None,
    };
    let mut work = Factoring {
        ctx,
        a,
        reflectors,
        panel,
        width,
        tau: &tau,
        blocks,
        columns: None,
    };
    // After an error no work may be left in the second stream, because its memory is freed.
    ctx.or_drain(work.panels(panels.as_ref(), &all))?;
    if tail < k {
        let blocks = &work.blocks;
        ctx.or_drain(factor_left(ctx, a, &plan, &tau, blocks, later, &all))?;
    }
    let mut out = try_zeroed::<T>(k)?;
    tau.to_slice(&mut out)?;
    Ok(out)
}

/// A running factorization.
struct Factoring<'t, T> {
    ctx: &'static Context,
    a: View<T>,
    /// Number of reflectors of panels.
    reflectors: usize,
    /// Columns of a panel, and of a block of panels.
    panel: usize,
    width: usize,
    tau: &'t Buffer,
    /// Blocks of panels, which alternate if a block has more than one panel.
    blocks: [BlockReflector; 2],
    /// The workspace for column by column, allocated when it is needed.
    columns: Option<(Buffer, BlockReflector)>,
}

impl<T: Scalar> Factoring<'_, T> {
    /// Factors all panels and applies them.
    fn panels(&mut self, panels: Option<&Panels>, all: &progress::CountedPart) -> Result<()> {
        let (end, m, n) = (self.reflectors, self.a.rows, self.a.cols);
        if self.take_turns() {
            split_k::prepare_beside(self.ctx)?;
        }
        let mut made = 0;
        for start in (0..end).step_by(self.width) {
            all.left(qr_flops((m - start, n - start)));
            let last = end.min(start + self.width);
            self.make(panels, made.max(start), last)?;
            let next = end.min(last + self.width);
            let ahead = panels.filter(|_| last < next && next < n && self.take_turns());
            let Some(panels) = ahead else {
                self.change(start, last, last, n)?;
                continue;
            };
            self.change(start, last, last, next)?;
            let available = self.ctx.multiprocessors();
            let few = self.few(start, next - last, n - next);
            self.ctx.beside(|| {
                let queue = || {
                    (last..next)
                        .step_by(self.panel)
                        .try_for_each(|at| self.by_products(panels, at))
                };
                self.ctx.leaving(available - few, queue)
            })?;
            self.ctx
                .leaving(few, || self.change(start, last, next, n))?;
            self.ctx.join()?;
            made = self.made(panels, next)?;
        }
        Ok(())
    }

    /// Multiprocessors for the panels of the next block, `width` columns, while the block from
    /// column `start` on changes `behind` columns: so many that both take the same time. On y of
    /// them a panel of 128 columns takes about 180 us and 1.1 rows / y us, and products keep nine
    /// tenths of their rate (H200).
    fn few(&self, start: usize, width: usize, behind: usize) -> usize {
        let all = self.ctx.multiprocessors();
        let rows = (self.a.rows - start) as f64;
        let operations = 4.0 * rows * self.width as f64 * behind as f64;
        let rate = 0.9 * self.ctx.properties.product_rate::<T>();
        balance(all, |few| {
            let panels = width as f64 / 128.0 * (180e-6 + 1.1e-6 * rows / few);
            panels.max(operations / (rate * (all as f64 - few)))
        })
    }

    /// Factors the panels of a block, columns `first..end`, and applies them within it.
    fn make(&mut self, panels: Option<&Panels>, mut first: usize, end: usize) -> Result<()> {
        while first < end {
            let Some(panels) = panels else {
                self.by_columns(first)?;
                first += self.panel;
                continue;
            };
            for at in (first..end).step_by(self.panel) {
                self.by_products(panels, at)?;
            }
            first = self.made(panels, end)?;
        }
        Ok(())
    }

    /// The number of columns before `end` that are done now. Factors the panel that was refused, if
    /// any.
    fn made(&mut self, panels: &Panels, end: usize) -> Result<usize> {
        let Some(at) = panels.refused()? else {
            return Ok(end);
        };
        self.by_columns(at)?;
        Ok(end.min(at + self.panel))
    }

    /// Whether there are blocks of several panels, and two of them.
    fn take_turns(&self) -> bool {
        self.width > self.panel && self.blocks[1].is_there()
    }

    /// The block of panels of the reflectors around column `first`.
    fn block(&self, first: usize) -> &BlockReflector {
        let turn = if self.take_turns() {
            first / self.width % 2
        } else {
            0
        };
        &self.blocks[turn]
    }

    /// The panel that begins at column `first`, from its diagonal on.
    fn panel(&self, first: usize) -> View<T> {
        let cols = self.panel.min(self.reflectors - first);
        self.a.sub(first, first, self.a.rows - first, cols)
    }

    fn tau_at(&self, first: usize) -> u64 {
        self.tau.ptr + (first * size_of::<T>()) as u64
    }

    fn by_products(&self, panels: &Panels, first: usize) -> Result<()> {
        let (panel, tau) = (self.panel(first), self.tau_at(first));
        let to = self
            .block(first)
            .room(first % self.width, panel.rows, panel.cols);
        let follow = first + panel.cols < self.a.cols;
        panels.factor(first, panel, tau, to, follow)?;
        self.join(first, to, panels.stop())
    }

    fn by_columns(&mut self, first: usize) -> Result<()> {
        let (panel, tau) = (self.panel(first), self.tau_at(first));
        let (space, inner) = match self.columns.take() {
            Some(made) => self.columns.insert(made),
            None => {
                let space = 2 * (most_chunks(self.a.rows) * (PANEL + 1) + PANEL);
                self.columns.insert((
                    Buffer::of::<T>(self.ctx, space)?,
                    BlockReflector::new::<T>(self.ctx, PANEL, self.a.rows, self.panel)?,
                ))
            }
        };
        for at in (0..panel.cols).step_by(PANEL) {
            let next = (at + PANEL).min(panel.cols);
            let part = panel.sub(at, at, panel.rows - at, next - at);
            let tau = tau + (at * size_of::<T>()) as u64;
            factor_panel(self.ctx, part, tau, space)?;
            if next < panel.cols {
                let reflector = inner.load(0, part, tau)?;
                let behind = panel.sub(at, next, part.rows, panel.cols - next);
                inner.apply(Trans::Yes, reflector, behind, 0)?;
            }
        }
        if first + panel.cols < self.a.cols {
            let reflector = self.block(first).load(first % self.width, panel, tau)?;
            self.join(first, reflector, 0)?;
        }
        self.ctx.fence()
    }

    /// Changes the rest of the block behind the panel that begins at column `first`, and joins the
    /// panel to the block.
    fn join(&self, first: usize, by: Reflector<T>, stop: u64) -> Result<()> {
        let (m, start) = (self.a.rows, first - first % self.width);
        let (next, end) = (first + by.v.cols, self.reflectors.min(start + self.width));
        let block = self.block(first);
        if next < end {
            let rest = self.a.sub(first, next, m - first, end - next);
            block.apply(Trans::Yes, by, rest, stop)?;
        }
        if end < self.a.cols && first > start {
            block.append::<T>(first - start, m - start, by.v.cols, stop)?;
        }
        Ok(())
    }

    /// Changes columns `from..to` by the block of reflectors `start..end`.
    fn change(&self, start: usize, end: usize, from: usize, to: usize) -> Result<()> {
        if from < to {
            let rows = self.a.rows - start;
            let block = self.block(start);
            let by = block.room(0, rows, end - start);
            block.apply(Trans::Yes, by, self.a.sub(start, from, rows, to - from), 0)?;
        }
        self.ctx.fence()
    }
}
