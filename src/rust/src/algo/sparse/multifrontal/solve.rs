//! Solves with a multifrontal factor: up the tree of nodes with L, down with its transpose.

use super::factor::{in_parallel, Factor, BRIEF};
use super::front_solve::{backward, forward};
use super::nested_dissection::NONE;
use crate::base::error::Result;
use crate::base::interrupt::Stop;
use crate::base::{scalar, threads};

impl Factor {
    /// Solves for a block of right-hand sides, in place: n rows of `columns` numbers.
    pub fn solve(&self, x: &mut [f64], columns: usize) -> Result<()> {
        if !self.fronts.is_empty() && columns > 0 {
            let root = self.fronts.len() - 1;
            let work = self.entries() as f64 * columns as f64;
            in_parallel(work, |threads, stop| {
                self.forward(root, x, columns, threads, stop)?;
                self.backward(root, x, (&[], 0), columns, threads, stop)
            })?;
        }
        Ok(())
    }

    /// Solves with L for the unknowns of a node and those below it. What this leaves to the others
    /// of the node is in the answer, by columns for all its unknowns; there is none where that is
    /// nothing, since no seed is near.
    fn forward(
        &self,
        node: usize,
        x: &mut [f64],
        columns: usize,
        threads: usize,
        stop: Stop<'_>,
    ) -> Result<Vec<f64>> {
        let front = &self.fronts[node];
        if front.work > BRIEF {
            stop.poll()?;
        }
        let rows = front.rows();
        let (below, mine) = x.split_at_mut((front.first - front.lowest) * columns);
        let [left, right] = front.children;
        let cut = self.child(left).map_or(0, |c| (c.end - c.lowest) * columns);
        let (first, second) = below.split_at_mut(cut);
        let half = |child: u32, x: &mut [f64], threads| match child {
            NONE => Ok(Vec::new()),
            child => self.forward(child as usize, x, columns, threads, stop),
        };
        let share = threads::share(threads, front.work);
        let (p, q) = threads::join(share, |t| half(left, first, t), |t| half(right, second, t));
        let (p, q) = (p?, q?);
        if p.is_empty() && q.is_empty() && mine.iter().all(|x| *x == 0.0) {
            return Ok(Vec::new());
        }
        let mut y = scalar::try_zeroed(rows * columns)?;
        load(mine, rows, &mut y, columns);
        for (child, part) in [(left, p), (right, q)] {
            let Some(child) = self.child(child) else {
                continue;
            };
            let above = self.above_of(child);
            let parts = part.chunks_exact(child.rows().max(1));
            for (y, part) in y.chunks_exact_mut(rows.max(1)).zip(parts) {
                for (i, part) in above.iter().zip(&part[child.own()..]) {
                    y[*i as usize] += part;
                }
            }
        }
        forward(self.panel(front), rows, &mut y);
        store(&y, rows, mine, columns);
        Ok(y)
    }

    /// Solves with L' for the unknowns of a node and those below it. `above` has the solutions of
    /// the unknowns of the node above, which has so many, by columns.
    fn backward(
        &self,
        node: usize,
        x: &mut [f64],
        (above, above_rows): (&[f64], usize),
        columns: usize,
        threads: usize,
        stop: Stop<'_>,
    ) -> Result<()> {
        let front = &self.fronts[node];
        if front.work > BRIEF {
            stop.poll()?;
        }
        let (own, rows) = (front.own(), front.rows());
        let (below, mine) = x.split_at_mut((front.first - front.lowest) * columns);
        let mut y = scalar::try_zeroed(rows * columns)?;
        load(mine, rows, &mut y, columns);
        let places = self.above_of(front);
        let columns_above = above.chunks_exact(above_rows.max(1));
        for (y, above) in y.chunks_exact_mut(rows.max(1)).zip(columns_above) {
            for (y, i) in y[own..].iter_mut().zip(places) {
                *y = above[*i as usize];
            }
        }
        backward(self.panel(front), rows, &mut y);
        store(&y, rows, mine, columns);
        let [left, right] = front.children;
        let cut = self.child(left).map_or(0, |c| (c.end - c.lowest) * columns);
        let (first, second) = below.split_at_mut(cut);
        let half = |child: u32, x: &mut [f64], threads| match child {
            NONE => Ok(()),
            child => self.backward(child as usize, x, (&y, rows), columns, threads, stop),
        };
        let share = threads::share(threads, front.work);
        let (p, q) = threads::join(share, |t| half(left, first, t), |t| half(right, second, t));
        p.and(q)
    }
}

/// Brings rows of `columns` numbers to the beginnings of columns of `rows`.
fn load(x: &[f64], rows: usize, y: &mut [f64], columns: usize) {
    for (i, x) in x.chunks_exact(columns).enumerate() {
        for (k, x) in x.iter().enumerate() {
            y[k * rows + i] = *x;
        }
    }
}

/// The other way.
fn store(y: &[f64], rows: usize, x: &mut [f64], columns: usize) {
    for (i, x) in x.chunks_exact_mut(columns).enumerate() {
        for (k, x) in x.iter_mut().enumerate() {
            *x = y[k * rows + i];
        }
    }
}
