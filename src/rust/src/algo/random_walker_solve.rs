//! Solves with a multifrontal factor: up the tree of nodes with L, down with its transpose.

use super::random_walker_direct::{in_parallel, Factor, BRIEF};
use super::random_walker_front_solve::{backward, forward, WIDEST};
use super::random_walker_order::NONE;
use crate::error::{Error, Result};
use crate::interrupt::Stop;
use crate::{scalar, threads};

impl Factor {
    /// Solves for a block of up to eight right-hand sides, in place: n rows of `columns` numbers.
    pub fn solve(&self, x: &mut [f64], columns: usize) -> Result<()> {
        if columns > WIDEST {
            return Err(Error::Dimension {
                what: "too many right-hand sides at once".into(),
            });
        }
        if !self.fronts.is_empty() && columns > 0 {
            let root = self.fronts.len() - 1;
            let work = self.entries() as f64 * columns as f64;
            in_parallel(work, |threads, stop| {
                self.forward(root, x, columns, threads, stop)?;
                self.backward(root, x, &[], columns, threads, stop)
            })?;
        }
        Ok(())
    }

    /// Solves with L for the unknowns of a node and those below it. What this leaves to the others of the node is in the answer, by rows for all its unknowns.
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
        let (own, rows) = (front.own() * columns, front.rows());
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
        let mut y = scalar::try_zeroed(rows * columns)?;
        y[..own].copy_from_slice(mine);
        for (child, part) in [(left, p?), (right, q?)] {
            let Some(child) = self.child(child) else {
                continue;
            };
            let part = part[child.own() * columns..].chunks_exact(columns);
            for (i, part) in self.above_of(child).iter().zip(part) {
                let y = &mut y[*i as usize * columns..][..columns];
                y.iter_mut().zip(part).for_each(|(y, v)| *y += v);
            }
        }
        forward(self.panel(front), rows, &mut y, columns);
        mine.copy_from_slice(&y[..own]);
        Ok(y)
    }

    /// Solves with L' for the unknowns of a node and those below it. `above` has the solutions of the unknowns of the node above, by rows.
    fn backward(
        &self,
        node: usize,
        x: &mut [f64],
        above: &[f64],
        columns: usize,
        threads: usize,
        stop: Stop<'_>,
    ) -> Result<()> {
        let front = &self.fronts[node];
        if front.work > BRIEF {
            stop.poll()?;
        }
        let (own, rows) = (front.own() * columns, front.rows());
        let (below, mine) = x.split_at_mut((front.first - front.lowest) * columns);
        let mut y = scalar::try_zeroed(rows * columns)?;
        let (y_own, y_others) = y.split_at_mut(own);
        y_own.copy_from_slice(mine);
        let places = self.above_of(front).iter();
        for (y, i) in y_others.chunks_exact_mut(columns).zip(places) {
            y.copy_from_slice(&above[*i as usize * columns..][..columns]);
        }
        backward(self.panel(front), rows, &mut y, columns);
        mine.copy_from_slice(&y[..own]);
        let [left, right] = front.children;
        let cut = self.child(left).map_or(0, |c| (c.end - c.lowest) * columns);
        let (first, second) = below.split_at_mut(cut);
        let half = |child: u32, x: &mut [f64], threads| match child {
            NONE => Ok(()),
            child => self.backward(child as usize, x, &y, columns, threads, stop),
        };
        let share = threads::share(threads, front.work);
        let (p, q) = threads::join(share, |t| half(left, first, t), |t| half(right, second, t));
        p.and(q)
    }
}
