//! QR factorization by Householder reflectors, in blocks of columns that change the rest as `I - V T V'`.
//!
//! A block is made of matrix products (`qr_panel.rs`) where its columns are independent enough, and otherwise in panels of [`PANEL`]
//! columns, column by column. Which way it went is not to be seen in the result but for rounding.

use std::mem::size_of;

use super::buffer::Buffer;
use super::context::Context;
use super::kernels::{args, Family, Kernel};
use super::lu::{chunk_rows, most_chunks};
use super::memory::{set_identity, View};
use super::qr_panel::Panels;
use super::qr_reflectors::{width, BlockReflector};
use crate::error::Result;
use crate::matrix::Trans;
use crate::scalar::{try_zeroed, Scalar};

const REFLECT: Kernel = Kernel::new(Family::Qr, "panel_reflect_column");

/// Columns of a panel, as in `kernels/qr.cu`.
const PANEL: usize = 32;
const THREADS: u32 = 256;

/// Blocks queued before the host asks whether one was refused; after one was, it asks after each, then less and less often.
const MOST_QUEUED: usize = 32;

/// Factors in place; returns the reflectors' factors.
pub(super) fn factor<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Vec<T>> {
    factor_in_ways(ctx, a, a.rows.min(a.cols) >= PANEL)
}

/// As [`factor`], with blocks from products or without.
fn factor_in_ways<T: Scalar>(ctx: &'static Context, a: View<T>, products: bool) -> Result<Vec<T>> {
    let k = a.rows.min(a.cols);
    if k == 0 {
        return Ok(Vec::new());
    }
    let tau = Buffer::zeroed::<T>(ctx, k)?;
    let mut work = Factoring {
        ctx,
        a,
        width: width::<T>(ctx).min(k),
        tau: &tau,
        outer: None,
        columns: None,
    };
    let panels = if products {
        Some(Panels::new::<T>(ctx)?)
    } else {
        None
    };
    let (mut first, mut queued) = (0, MOST_QUEUED);
    while first < k {
        let Some(panels) = &panels else {
            work.by_columns(first)?;
            first += work.width;
            continue;
        };
        let end = k.min(first + queued * work.width);
        for block in (first..end).step_by(work.width) {
            work.by_products(panels, block)?;
        }
        (first, queued) = match panels.refused()? {
            None => (end, MOST_QUEUED.min(2 * queued)),
            Some(block) => {
                work.by_columns(block)?;
                (block + work.width, 1)
            }
        };
    }
    let mut out = try_zeroed::<T>(k)?;
    tau.to_slice(&mut out)?;
    Ok(out)
}

/// A factorization under way.
struct Factoring<'t, T> {
    ctx: &'static Context,
    a: View<T>,
    /// Columns of a block.
    width: usize,
    tau: &'t Buffer,
    /// The block's reflectors, and what column by column takes, made when they are needed.
    outer: Option<BlockReflector>,
    columns: Option<(Buffer, BlockReflector)>,
}

impl<T: Scalar> Factoring<'_, T> {
    /// The block that begins at column `first`: from its diagonal on, and what is to its right.
    fn block(&self, first: usize) -> (View<T>, View<T>) {
        let (rows, cols) = (self.a.rows - first, self.a.cols - first);
        let width = self.width.min(rows).min(cols);
        (
            self.a.sub(first, first, rows, width),
            self.a.sub(first, first + width, rows, cols - width),
        )
    }

    fn tau_at(&self, first: usize) -> u64 {
        self.tau.ptr + (first * size_of::<T>()) as u64
    }

    fn outer<'w>(
        outer: &'w mut Option<BlockReflector>,
        ctx: &'static Context,
        a: View<T>,
        width: usize,
    ) -> Result<&'w BlockReflector> {
        let made = match outer.take() {
            Some(made) => made,
            None => BlockReflector::new::<T>(ctx, width, a.rows, a.cols - width)?,
        };
        Ok(outer.insert(made))
    }

    fn by_products(&mut self, panels: &Panels, first: usize) -> Result<()> {
        let ((block, rest), tau) = (self.block(first), self.tau_at(first));
        if block.rows == 1 {
            // There is nothing to reflect, and a root of a square would not have the same bits.
            return Ok(());
        }
        let outer = Self::outer(&mut self.outer, self.ctx, self.a, self.width)?;
        let reflector = panels.factor(first, block, tau, outer, !rest.is_empty())?;
        if !rest.is_empty() {
            outer.apply(Trans::Yes, reflector, rest, panels.stop())?;
        }
        self.ctx.fence()
    }

    fn by_columns(&mut self, first: usize) -> Result<()> {
        let ((block, rest), tau) = (self.block(first), self.tau_at(first));
        let (space, inner) = match self.columns.take() {
            Some(made) => self.columns.insert(made),
            None => {
                let space = 2 * (most_chunks(self.a.rows) * (PANEL + 1) + PANEL);
                self.columns.insert((
                    Buffer::of::<T>(self.ctx, space)?,
                    BlockReflector::new::<T>(self.ctx, PANEL, self.a.rows, self.width)?,
                ))
            }
        };
        for at in (0..block.cols).step_by(PANEL) {
            let next = (at + PANEL).min(block.cols);
            let panel = block.sub(at, at, block.rows - at, next - at);
            let tau = tau + (at * size_of::<T>()) as u64;
            factor_panel(self.ctx, panel, tau, space)?;
            if next < block.cols {
                let reflector = inner.load(panel, tau)?;
                let behind = block.sub(at, next, panel.rows, block.cols - next);
                inner.apply(Trans::Yes, reflector, behind, 0)?;
            }
        }
        if !rest.is_empty() {
            let outer = Self::outer(&mut self.outer, self.ctx, self.a, self.width)?;
            outer.apply(Trans::Yes, outer.load(block, tau)?, rest, 0)?;
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
    let width = width::<T>(ctx).min(k);
    let blocks = BlockReflector::new::<T>(ctx, width, a.rows, c.cols)?;
    let mut starts: Vec<usize> = (0..k).step_by(width).collect();
    if trans == Trans::No {
        starts.reverse();
    }
    for first in starts {
        let (width, rows) = (width.min(k - first), a.rows - first);
        let part_tau = device_tau.ptr + (first * size_of::<T>()) as u64;
        let reflector = blocks.load(a.sub(first, first, rows, width), part_tau)?;
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
