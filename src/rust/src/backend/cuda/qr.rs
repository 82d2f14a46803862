//! QR factorization by Householder reflectors, in blocks of columns that change the rest as `I - V T V'`.
//!
//! A panel is made of matrix products (`qr_panel.rs`) where its columns are independent enough, and otherwise in parts of [`PANEL`]
//! columns, column by column. What few enough rows are left of goes through pipelines (`qr_pipeline.rs`). Which way it went is not to be seen in the result but for rounding. In large matrices a panel changes
//! only the rest of a block of panels, which then changes what is behind it at once.

use std::mem::size_of;

use super::buffer::Buffer;
use super::context::Context;
use super::kernels::{args, Family, Kernel};
use super::lu::{chunk_rows, most_chunks};
use super::memory::{set_identity, View};
use super::pipeline::capacity;
use super::qr_panel::Panels;
use super::qr_pipeline::Pipeline;
use super::qr_reflectors::{width, BlockReflector, Reflector, LD};
use crate::error::Result;
use crate::matrix::Trans;
use crate::scalar::{try_zeroed, Scalar};

const REFLECT: Kernel = Kernel::new(Family::Qr, "panel_reflect_column");

/// Columns of a panel, as in `kernels/qr.cu`.
const PANEL: usize = 32;
const THREADS: u32 = 256;

/// Panels of a block, where it has more than one.
const PANELS: usize = 4;

/// Panels queued before the host asks whether one was refused; after one was, it asks after each, then less and less often.
const MOST_QUEUED: usize = 32;

/// Reflectors of a block of panels, which changes the columns behind it at once, in an `m` x `n` matrix.
///
/// A tile of 128 x 128 of what is behind takes a multiprocessor 9 us for each 128 of depth, and 8 more whatever the depth
/// (`product_shapes.rs`); during a factorization a third of the tiles are there on the average. With p panels to a block, 1 - 1/p of
/// the 8 us are saved for each panel, and as many panels have six products more, some 30 us: they change the rest of the block, and
/// join T. So four panels or one, by whether a third of the tiles are four for each multiprocessor; two never pay where four do not.
/// And there must be blocks enough that most of the work is behind them.
fn block_width<T: Scalar>(ctx: &Context, m: usize, n: usize, reflectors: usize) -> usize {
    let panel = width::<T>(ctx);
    let tiles = (m / 128).saturating_mul(n / 128) / 3;
    let many = 4 * ctx.properties.multiprocessors;
    if reflectors >= 8 * PANELS * panel && tiles >= many {
        PANELS * panel
    } else {
        panel.min(reflectors)
    }
}

/// What a factorization is made of.
#[derive(Clone, Copy)]
struct Ways {
    /// Columns of a block of panels.
    width: usize,
    /// Whether panels are made of products where that is safe.
    products: bool,
    /// The most rows that pipelines take over.
    pipelines: usize,
}

/// Factors in place; returns the reflectors' factors.
pub(super) fn factor<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Vec<T>> {
    let k = a.rows.min(a.cols);
    let ways = Ways {
        width: block_width::<T>(ctx, a.rows, a.cols, k),
        products: k >= PANEL,
        pipelines: Pipeline::most_rows::<T>(ctx)?,
    };
    factor_in_ways(ctx, a, ways)
}

fn factor_in_ways<T: Scalar>(ctx: &'static Context, a: View<T>, ways: Ways) -> Result<Vec<T>> {
    let k = a.rows.min(a.cols);
    if k == 0 {
        return Ok(Vec::new());
    }
    let tau = Buffer::zeroed::<T>(ctx, k)?;
    let panel = self::width::<T>(ctx).min(k);
    // From here on what is left has few enough rows.
    let tail = match ways.pipelines {
        0 => k,
        most => a.rows.saturating_sub(most).next_multiple_of(panel).min(k),
    };
    let block = if tail > 0 { ways.width } else { 0 };
    let later = if tail < k && a.cols - tail > capacity(ctx) {
        (PANELS * panel).min(k)
    } else {
        0
    };
    // A last panel of one row reflects nothing; from a root of a square it would not have the same bits.
    let reflectors = match a.rows <= a.cols && k > 1 && tail == k && k % panel == 1 {
        true => k - 1,
        false => tail,
    };
    let mut work = Factoring {
        ctx,
        a,
        reflectors,
        panel,
        width: ways.width,
        tau: &tau,
        block: BlockReflector::new::<T>(ctx, block.max(later), a.rows, a.cols)?,
        columns: None,
    };
    work.panels(ways.products)?;
    if tail < k {
        work.pipelines(tail, later)?;
    }
    let mut out = try_zeroed::<T>(k)?;
    tau.to_slice(&mut out)?;
    Ok(out)
}

/// A factorization under way.
struct Factoring<'t, T> {
    ctx: &'static Context,
    a: View<T>,
    reflectors: usize,
    /// Columns of a panel, and of a block of panels.
    panel: usize,
    width: usize,
    tau: &'t Buffer,
    block: BlockReflector,
    /// What column by column takes, made when it is needed.
    columns: Option<(Buffer, BlockReflector)>,
}

impl<T: Scalar> Factoring<'_, T> {
    /// The reflectors that panels make.
    fn panels(&mut self, products: bool) -> Result<()> {
        let (end, panel) = (self.reflectors, self.panel);
        if !products || end == 0 {
            return (0..end)
                .step_by(panel)
                .try_for_each(|at| self.by_columns(at));
        }
        let panels = Panels::new::<T>(self.ctx)?;
        let (mut first, mut queued) = (0, MOST_QUEUED);
        while first < end {
            let last = end.min(first + queued * panel);
            for at in (first..last).step_by(panel) {
                self.by_products(&panels, at)?;
            }
            (first, queued) = match panels.refused()? {
                None => (last, MOST_QUEUED.min(2 * queued)),
                Some(at) => {
                    self.by_columns(at)?;
                    (at + panel, 1)
                }
            };
        }
        Ok(())
    }

    /// The reflectors from number `first` on, by pipelines, which change what is behind them in blocks of `width`.
    fn pipelines(&self, mut first: usize, width: usize) -> Result<()> {
        let (m, n) = (self.a.rows, self.a.cols);
        let pipeline = Pipeline::new::<T>(self.ctx, m - first, n - first)?;
        while first < m.min(n) {
            let rows = m - first;
            let cols = pipeline.columns::<T>(rows, n - first);
            let part = self.a.sub(first, first, rows, cols);
            pipeline.factor(part, self.tau_at(first))?;
            let (end, behind) = (cols, n - first - cols);
            if behind > 0 {
                for at in (0..end).step_by(width) {
                    let some = part.sub(at, at, rows - at, width.min(end - at));
                    let reflector = self.block.load(0, some, self.tau_at(first + at))?;
                    let rest = self.a.sub(first + at, first + cols, rows - at, behind);
                    self.block.apply(Trans::Yes, reflector, rest, 0)?;
                }
            }
            self.ctx.fence()?;
            first += cols;
        }
        Ok(())
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
        let to = self.block.room(first % self.width, panel.rows, panel.cols);
        let follow = first + panel.cols < self.a.cols;
        panels.factor(first, panel, tau, to, follow)?;
        self.update(first, to, panels.stop())
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
            let reflector = self.block.load(first % self.width, panel, tau)?;
            self.update(first, reflector, 0)?;
        }
        self.ctx.fence()
    }

    /// Changes what is behind the panel that begins at column `first`: the rest of its block, and after the last one the rest of A.
    fn update(&self, first: usize, by: Reflector<T>, stop: u64) -> Result<()> {
        let (m, n) = (self.a.rows, self.a.cols);
        let (start, next) = (first - first % self.width, first + by.v.cols);
        let end = self.reflectors.min(start + self.width);
        if next < end {
            let rest = self.a.sub(first, next, m - first, end - next);
            self.block.apply(Trans::Yes, by, rest, stop)?;
        }
        if end < n {
            if first > start {
                self.block
                    .append::<T>(first - start, m - start, by.v.cols, stop)?;
            }
            if next == end {
                let all = self.block.room(0, m - start, end - start);
                let rest = self.a.sub(start, end, m - start, n - end);
                self.block.apply(Trans::Yes, all, rest, stop)?;
            }
        }
        self.ctx.fence()
    }
}

/// One launch per column, and one before them; see `kernels/qr.cu`.
fn factor_panel<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    tau: u64,
    space: &Buffer,
) -> Result<()> {
    let chunk = chunk_rows(a.rows);
    for j in 0..=a.cols {
        ctx.launch::<T>(
            REFLECT,
            a.rows.div_ceil(chunk),
            1,
            THREADS,
            &args![
                a.rows,
                a.cols as i32,
                j as i32 - 1,
                chunk,
                a.ptr,
                a.ld(),
                space.ptr,
                tau
            ],
        )?;
    }
    Ok(())
}

/// `C <- Q' C` or `Q C` for the reflectors in the lower trapezoid of A.
pub(super) fn apply<T: Scalar>(
    ctx: &'static Context,
    trans: Trans,
    a: View<T>,
    tau: &[T],
    c: View<T>,
) -> Result<()> {
    apply_in_blocks(ctx, trans, a, tau, c, |_| 0)
}

/// C <- the first columns of Q, no fewer than there are reflectors.
pub(super) fn form<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    tau: &[T],
    c: View<T>,
) -> Result<()> {
    set_identity(ctx, c)?;
    // The last block comes first: the columns before it are still those of the identity, zero where it reflects.
    apply_in_blocks(ctx, Trans::No, a, tau, c, |first| first)
}

/// As [`apply`], the block of reflectors from `first` on to the columns from `from(first)` on.
fn apply_in_blocks<T: Scalar>(
    ctx: &'static Context,
    trans: Trans,
    a: View<T>,
    tau: &[T],
    c: View<T>,
    from: impl Fn(usize) -> usize,
) -> Result<()> {
    let k = tau.len();
    if k == 0 || c.is_empty() {
        return Ok(());
    }
    let device_tau = Buffer::from_slice(ctx, tau)?;
    // Wide blocks take fewer launches and passes over C, but V'V more work: where C is wide beside them.
    let width = match width::<T>(ctx) {
        LD if k.min(c.cols) >= 8 * LD => PANELS * LD,
        panel => panel.min(k),
    };
    let blocks = BlockReflector::new::<T>(ctx, width, a.rows, c.cols)?;
    let mut starts: Vec<usize> = (0..k).step_by(width).collect();
    if trans == Trans::No {
        starts.reverse();
    }
    for first in starts {
        let (width, rows) = (width.min(k - first), a.rows - first);
        let part_tau = device_tau.ptr + (first * size_of::<T>()) as u64;
        let reflector = blocks.load(0, a.sub(first, first, rows, width), part_tau)?;
        let column = from(first);
        let part = c.sub(first, column, rows, c.cols - column);
        blocks.apply(trans, reflector, part, 0)?;
        ctx.fence()?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "qr_tests.rs"]
mod tests;
