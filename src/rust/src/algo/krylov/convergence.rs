//! How columns of conjugate gradients end: by another look at their residuals, after which they
//! leave the blocks, or are resumed.

use super::blocks::{Blocks, Operator};
use super::iteration::{Look, Running, NOTHING};
use crate::algo::krylov::outcome::{End, Solution};
use crate::base::error::Result;

/// The norm of a vector times this is finite where the entries are, of which there are fewer than
/// 2^64.
const SMALL: f64 = 1.0 / (1u64 << 32) as f64;

/// Whether a column's entries are finite. Their norm may not be.
fn is_finite<S: Blocks>(blocks: &S, x: &S::Block) -> Result<bool> {
    let all = |norms: Vec<f64>| norms.iter().all(|norm| norm.is_finite());
    Ok(all(blocks.norms(x)?) || all(blocks.norms(&blocks.scaled(x, &[SMALL])?)?))
}

impl<S: Blocks, A: Operator<S> + ?Sized, M: ?Sized> Running<'_, S, A, M> {
    /// Places of the columns that do not end.
    pub(crate) fn staying(&self) -> Vec<usize> {
        let all = 0..self.columns.len();
        all.filter(|c| self.columns[*c].end.is_none()).collect()
    }

    /// Takes columns that end out of the blocks, or resumes them; q is of no account afterwards.
    pub(crate) fn leave(&mut self, done: &mut Solution<S::Block>) -> Result<()> {
        let blocks = self.blocks;
        let all = 0..self.columns.len();
        let ending: Vec<usize> = all.filter(|c| self.columns[*c].end.is_some()).collect();
        if ending.is_empty() {
            return Ok(());
        }
        let needed = |c: &usize| matches!(self.columns[*c].end, Some((_, Look::Needed)));
        let looked: Vec<usize> = ending.into_iter().filter(needed).collect();
        let (residuals, norms) = self.look(&looked)?;
        let (mut from, mut resumed) = (Vec::new(), Vec::new());
        for (at, (place, norm)) in looked.into_iter().zip(norms).enumerate() {
            let c = &mut self.columns[place];
            let before = std::mem::replace(&mut c.checked, norm / c.norm);
            if let Some(last) = done.history[c.number].last_mut() {
                *last = c.checked;
            }
            let Some((end, _)) = c.end else { continue };
            if !norm.is_finite() {
                c.checked = f64::NAN;
            }
            let end = match end {
                // A function may fail in this product alone.
                End::Converged | End::Iterations if !norm.is_finite() => End::NonFinite,
                _ if c.checked <= self.stop.tol => End::Converged,
                End::Converged if self.iteration >= self.stop.maxit => End::Iterations,
                // Of residuals below that squares vanish.
                End::Converged if c.checked <= 0.5 * before && c.checked > NOTHING => {
                    from.push(at);
                    resumed.push(place);
                    c.end = None;
                    c.rho = None;
                    c.residual = norm;
                    continue;
                }
                End::Converged => End::Stagnated,
                other => other,
            };
            c.end = Some((end, Look::Taken));
        }
        if !resumed.is_empty() {
            let fresh = blocks.gather(&residuals, &from)?;
            blocks.scatter(&fresh, &resumed, &mut self.r)?;
        }
        self.part(done)
    }

    /// The residuals of columns of x, and their norms.
    fn look(&self, places: &[usize]) -> Result<(S::Block, Vec<f64>)> {
        let blocks = self.blocks;
        let x = blocks.gather(&self.x, places)?;
        let (n, k) = blocks.shape(&x);
        if k == 0 {
            return Ok((x, Vec::new()));
        }
        let numbers: Vec<usize> = places.iter().map(|c| self.columns[*c].number).collect();
        let scales: Vec<f64> = places.iter().map(|c| self.columns[*c].scale).collect();
        let mut residuals = blocks.scaled(&blocks.gather(self.b, &numbers)?, &scales)?;
        let mut product = blocks.zeros(n, k)?;
        self.a.multiply(blocks, &x, &mut product)?;
        blocks.subtract(&product, &mut residuals)?;
        let norms = blocks.norms(&residuals)?;
        Ok((residuals, norms))
    }

    /// Hands the solutions of columns that end over, and keeps the others.
    fn part(&mut self, done: &mut Solution<S::Block>) -> Result<()> {
        let blocks = self.blocks;
        let stay = self.staying();
        if stay.len() == self.columns.len() {
            return Ok(());
        }
        for place in 0..self.columns.len() {
            // One by one: a column that is not finite must not reach another.
            let c = &self.columns[place];
            if let Some((end, _)) = c.end {
                done.residuals[c.number] = c.checked;
                let x = blocks.gather(&self.x, &[place])?;
                let x = blocks.scaled(&x, &[1.0 / c.scale])?;
                // b may be so much larger than A that x, which is within the range here, is not for
                // the caller.
                done.ends[c.number] = match end.error(0, 0) {
                    None if !is_finite(blocks, &x)? => End::Overflow,
                    _ => end,
                };
                blocks.scatter(&x, &[c.number], &mut done.x)?;
            }
        }
        self.x = blocks.gather(&self.x, &stay)?;
        self.r = blocks.gather(&self.r, &stay)?;
        self.p = blocks.gather(&self.p, &stay)?;
        let (n, _) = blocks.shape(&self.x);
        self.q = blocks.zeros(n, stay.len())?;
        self.columns.retain(|c| c.end.is_none());
        Ok(())
    }
}
