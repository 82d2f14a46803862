//! Memory for planes, and how a product is cut so that it suffices.

use super::job::{EmulatedProduct, Planes, COLS, DEPTH};
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::properties::LONGEST_LAUNCH;
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::cost::flops::ProductSize;

/// Depth of the residues that are in memory at a time. Sums may not be deeper than 2^15.
const DEEPEST: usize = 8192;
const SHALLOWEST: usize = 1024;

/// Orders of the blocks of C whose residues are in memory at a time.
const LARGEST: usize = 16384;
const SMALLEST: usize = 2048;

/// Workspace takes at most this share of the free memory, and what the pool keeps for later.
const SHARE: f64 = 0.5;
const POOLED: f64 = 8.0;

/// For fewer bytes nobody asks how many are free, which takes as long as a small product.
const LITTLE: usize = 64 << 20;

#[cfg(test)]
thread_local! {
    static CUT: std::cell::Cell<Option<(usize, usize)>> = const { std::cell::Cell::new(None) };
}

/// Runs `f` with blocks of C of this order, and residues of this depth.
#[cfg(test)]
pub(super) fn cut_into<R>(order: usize, depth: usize, f: impl FnOnce() -> R) -> R {
    CUT.set(Some((order, depth)));
    let result = f();
    CUT.set(None);
    result
}

impl<T: Scalar> EmulatedProduct<'_, T> {
    /// The order of the blocks of C and the depth of residues that fit into memory; None if there
    /// is too little.
    pub(super) fn cut(&self) -> Result<Option<(usize, usize)>> {
        let widest = self.c.rows.max(self.c.cols).next_multiple_of(COLS);
        let mut order = LARGEST.min(widest);
        let mut depth = DEEPEST.min(self.left.depth.next_multiple_of(DEPTH));
        let slow = |order: usize, depth: usize| {
            let size = ProductSize {
                m: self.c.rows.min(order),
                n: self.c.cols.min(order),
                k: depth,
                triangle: false,
            };
            let rates = self.ctx.properties.integer_rates();
            rates.products(&size, self.integers.moduli) > LONGEST_LAUNCH
        };
        #[cfg(test)]
        if let Some(cut) = CUT.get() {
            return Ok(Some(cut));
        }
        // No launch may keep an interrupt waiting.
        while depth > SHALLOWEST && slow(order, depth) {
            depth = (depth / 2).next_multiple_of(DEPTH);
        }
        if self.bytes(order, depth) <= LITTLE {
            return Ok(Some((order, depth)));
        }
        let free = self.ctx.room()?;
        let limit = (SHARE * free.0 as f64).min(free.1 as f64 / POOLED);
        while self.bytes(order, depth) as f64 > limit {
            if depth > SHALLOWEST && depth >= order / 2 {
                depth = (depth / 2).next_multiple_of(DEPTH);
            } else if order > SMALLEST {
                order = (order / 2).next_multiple_of(COLS);
            } else {
                return Ok(None);
            }
        }
        Ok(Some((order, depth)))
    }

    fn sizes(&self, order: usize, depth: usize) -> [usize; 3] {
        let rows = self.c.rows.min(order).next_multiple_of(COLS);
        let cols = self.c.cols.min(order).next_multiple_of(COLS);
        [rows * depth, cols * depth, rows * cols].map(|size| self.integers.moduli * size)
    }

    fn bytes(&self, order: usize, depth: usize) -> usize {
        self.sizes(order, depth).iter().sum()
    }

    pub(super) fn planes(&self, order: usize, depth: usize) -> Result<Planes> {
        let [left, right, block] = self.sizes(order, depth);
        let one = self.square && self.c.rows <= order;
        Ok(Planes {
            left: Buffer::of::<u8>(self.ctx, left)?,
            right: match one {
                true => None,
                false => Some(Buffer::of::<u8>(self.ctx, right)?),
            },
            block: Buffer::of::<u8>(self.ctx, block)?,
            depth,
            depth_of_magnitudes: DEEPEST.min(self.integers.moduli * depth),
        })
    }
}
