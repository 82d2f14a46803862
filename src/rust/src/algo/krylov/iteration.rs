//! The columns that conjugate gradients still iterate on.
//!
//! Columns are scaled by powers of 2, which brings b's norm near 1 and changes no digit, so that
//! inner products neither overflow nor underflow because of b.

use super::blocks::{Blocks, Operator, Preconditioner};
use super::spectrum::Coefficients;
use crate::algo::krylov::outcome::{End, Solution, Stopping};
use crate::base::error::Result;

/// What one column is and has.
pub(crate) struct Column {
    /// Its number among all.
    pub number: usize,
    /// What b and x are multiplied by.
    pub scale: f64,
    /// Of b, scaled.
    pub norm: f64,
    /// `r'M^-1 r` of the direction's residual; none where the recurrence begins.
    pub rho: Option<f64>,
    /// Of r, the recurrence's or the true one.
    pub residual: f64,
    /// The residual computed last, over b's norm.
    pub checked: f64,
    /// Why it leaves, which does not need another look at its residual, or does.
    pub end: Option<(End, Look)>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Look {
    Taken,
    Needed,
}

impl Column {
    /// Leaves, as something is not finite.
    fn fail(&mut self) {
        self.checked = f64::NAN;
        self.end = Some((End::NonFinite, Look::Taken));
    }
}

/// Blocks of the columns that are left.
pub(crate) struct Running<'s, S: Blocks, A: ?Sized, M: ?Sized> {
    pub(crate) blocks: &'s S,
    pub(crate) a: &'s A,
    m: &'s M,
    pub(crate) b: &'s S::Block,
    pub(crate) stop: Stopping,
    pub(crate) iteration: usize,
    pub(crate) columns: Vec<Column>,
    pub(crate) x: S::Block,
    pub(crate) r: S::Block,
    /// The directions.
    pub(crate) p: S::Block,
    /// `A p`, then `M^-1 r`.
    pub(crate) q: S::Block,
}

/// A residual of the recurrence below this part of b is far below rounding: going on, its square
/// would underflow.
pub(crate) const NOTHING: f64 = 1e-17;

/// Residuals of a matrix that is not singular to the precision grow to less than this multiple of
/// b, the square root of its condition, unless the preconditioner's scale makes them. Where one is
/// larger, the direction's curvature is looked at: `p'Ap` of a cosine below [`SINGULAR`] is
/// rounding.
const GROWN: f64 = 1e10;
const SINGULAR: f64 = 16.0 * f64::EPSILON;

/// A start whose residual is larger than 2 to this part of the exponents that there are is no
/// start: inner products would overflow.
const START: f64 = 0.45;

/// An inner product that is not positive is of no account where it is not below `-NEGATIVE`, and
/// the product of the norms is below `VANISHING`: what it was a sum of underflowed.
const VANISHING: f64 = 1e-290;
const NEGATIVE: f64 = 1e-310;

/// The power of 2 that brings a positive number near 1, as far as one within the range does.
fn scale(norm: f64, most: f64) -> f64 {
    (-norm.log2().floor().clamp(-most, most)).exp2()
}

/// A start, with zero in place of columns that are not finite as they were too large beside b.
fn finite<S: Blocks>(blocks: &S, x: S::Block) -> Result<S::Block> {
    let norms = blocks.norms(&x)?;
    let kept = norms
        .iter()
        .enumerate()
        .filter(|(_, norm)| norm.is_finite());
    let kept: Vec<usize> = kept.map(|(c, _)| c).collect();
    if kept.len() == norms.len() {
        return Ok(x);
    }
    let mut out = blocks.zeros(blocks.shape(&x).0, norms.len())?;
    blocks.scatter(&blocks.gather(&x, &kept)?, &kept, &mut out)?;
    Ok(out)
}

impl<'s, S: Blocks, A: Operator<S> + ?Sized, M: Preconditioner<S> + ?Sized> Running<'s, S, A, M> {
    pub fn new(
        blocks: &'s S,
        (a, m): (&'s A, &'s M),
        b: &'s S::Block,
        x0: Option<&S::Block>,
        norms: Vec<f64>,
        stop: Stopping,
        done: &mut Solution<S::Block>,
    ) -> Result<Self> {
        let (n, _) = blocks.shape(b);
        let not_zero = norms.iter().enumerate().filter(|(_, norm)| **norm > 0.0);
        let (numbers, scales): (Vec<usize>, Vec<f64>) = not_zero
            .map(|(number, norm)| (number, scale(*norm, blocks.exponents())))
            .unzip();
        let r = blocks.scaled(&blocks.gather(b, &numbers)?, &scales)?;
        // Taken anew: rounding of the norm, too, is then that of any other scale.
        let norms = blocks.norms(&r)?.into_iter();
        let columns: Vec<Column> = numbers
            .iter()
            .zip(&scales)
            .zip(norms)
            .map(|((number, scale), norm)| Column {
                number: *number,
                scale: *scale,
                norm,
                rho: None,
                residual: norm,
                checked: f64::INFINITY,
                end: None,
            })
            .collect();
        let x = match x0 {
            Some(x) => finite(
                blocks,
                blocks.scaled(&blocks.gather(x, &numbers)?, &scales)?,
            )?,
            None => blocks.zeros(n, columns.len())?,
        };
        let blank = || blocks.zeros(n, columns.len());
        let (p, q) = (blank()?, blank()?);
        let mut all = Running {
            blocks,
            a,
            m,
            b,
            stop,
            iteration: 0,
            columns,
            x,
            r,
            p,
            q,
        };
        if x0.is_some() && all.is_on() {
            all.a.multiply(blocks, &all.x, &mut all.q)?;
            blocks.subtract(&all.q, &mut all.r)?;
            all.begin_again()?;
        }
        for c in &all.columns {
            done.history[c.number].clear();
        }
        for (c, norm) in all.columns.iter_mut().zip(blocks.norms(&all.r)?) {
            c.residual = norm;
            c.checked = norm / c.norm;
            done.history[c.number].push(c.checked);
            if !norm.is_finite() {
                c.fail();
            } else if c.checked <= stop.tol {
                c.end = Some((End::Converged, Look::Taken));
            } else if stop.maxit == 0 {
                c.end = Some((End::Iterations, Look::Taken));
            }
        }
        all.leave(done)?;
        all.turn(done)?;
        Ok(all)
    }

    /// Begins columns from zero whose start leaves residuals that are too large.
    fn begin_again(&mut self) -> Result<()> {
        let blocks = self.blocks;
        let most = (START * blocks.exponents()).exp2();
        let norms = blocks.norms(&self.r)?;
        let large = |c: &usize| norms[*c].is_nan() || norms[*c] > most;
        let places: Vec<usize> = (0..norms.len()).filter(large).collect();
        if places.is_empty() {
            return Ok(());
        }
        let columns = || places.iter().map(|c| &self.columns[*c]);
        let numbers: Vec<usize> = columns().map(|c| c.number).collect();
        let scales: Vec<f64> = columns().map(|c| c.scale).collect();
        let b = blocks.scaled(&blocks.gather(self.b, &numbers)?, &scales)?;
        blocks.scatter(&b, &places, &mut self.r)?;
        let zeros = blocks.zeros(blocks.shape(&b).0, places.len())?;
        blocks.scatter(&zeros, &places, &mut self.x)
    }

    pub fn is_on(&self) -> bool {
        !self.columns.is_empty()
    }

    /// One iteration of every column.
    pub fn step(&mut self, done: &mut Solution<S::Block>) -> Result<()> {
        let blocks = self.blocks;
        self.a.multiply(blocks, &self.p, &mut self.q)?;
        let curvatures = blocks.dots(&self.p, &self.q)?;
        if !curvatures.iter().all(|c| c.is_finite() && *c > 0.0) {
            let angles = self.angles(&self.p, &self.q, &curvatures)?;
            for ((c, curvature), angle) in self.columns.iter_mut().zip(&curvatures).zip(angles) {
                if !curvature.is_finite() {
                    c.fail();
                } else if *curvature <= 0.0 {
                    match angle {
                        Some(cosine) => c.end = Some((End::Indefinite { cosine }, Look::Needed)),
                        None => c.fail(),
                    }
                }
            }
            // The others take the product again, and go on.
            return self.leave(done);
        }
        let rhos = self.columns.iter().map(|c| c.rho.unwrap_or(0.0));
        let steps: Vec<f64> = rhos.zip(&curvatures).map(|(rho, c)| rho / c).collect();
        let (x, r) = ((&self.p, &mut self.x), (&self.q, &mut self.r));
        let norms = blocks.advance(&steps, x, r)?;
        self.iteration += 1;
        for (c, step) in self.columns.iter().zip(&steps) {
            if let Some(last) = done.coefficients[c.number].last_mut() {
                last.step = *step;
            }
        }
        let grown = self
            .columns
            .iter()
            .zip(&norms)
            .any(|(c, n)| n / c.norm > GROWN);
        let cosines = match grown {
            true => self.cosines(&self.p, &self.q, &curvatures)?,
            false => Vec::new(),
        };
        for (k, (c, norm)) in self.columns.iter_mut().zip(norms).enumerate() {
            let relative = norm / c.norm;
            c.residual = norm;
            done.history[c.number].push(relative);
            done.iterations[c.number] = self.iteration;
            if !norm.is_finite() {
                c.fail();
            } else if relative <= self.stop.tol.max(NOTHING) {
                c.end = Some((End::Converged, Look::Needed));
            } else if let Some(cosine) = cosines
                .get(k)
                .copied()
                .filter(|cosine| relative > GROWN && *cosine <= SINGULAR)
            {
                c.end = Some((End::Indefinite { cosine }, Look::Needed));
            } else if self.iteration >= self.stop.maxit {
                c.end = Some((End::Iterations, Look::Needed));
            }
        }
        self.leave(done)?;
        self.turn(done)
    }

    /// Makes the next directions: `p <- M^-1 r + p beta`.
    fn turn(&mut self, done: &mut Solution<S::Block>) -> Result<()> {
        if !self.is_on() {
            return Ok(());
        }
        let blocks = self.blocks;
        let plain = self.m.is_identity();
        let mut rhos = if plain {
            self.columns
                .iter()
                .map(|c| c.residual * c.residual)
                .collect()
        } else {
            self.m.solve(blocks, &self.r, &mut self.q)?;
            blocks.dots(&self.r, &self.q)?
        };
        if !plain && !rhos.iter().all(|c| c.is_finite() && *c > 0.0) {
            let angles = self.angles(&self.r, &self.q, &rhos)?;
            for ((c, rho), angle) in self.columns.iter_mut().zip(&rhos).zip(angles) {
                if !rho.is_finite() {
                    c.fail();
                } else if *rho <= 0.0 {
                    let end = |cosine| (End::IndefinitePreconditioner { cosine }, Look::Needed);
                    match angle {
                        Some(cosine) => c.end = Some(end(cosine)),
                        None => c.fail(),
                    }
                }
            }
            let stay = self.staying();
            rhos = stay.iter().map(|c| rhos[*c]).collect();
            let z = blocks.gather(&self.q, &stay)?;
            self.leave(done)?;
            self.q = z;
        }
        let ratio = |c: &Column, rho: f64| c.rho.map_or(0.0, |before| rho / before);
        let betas: Vec<f64> = self
            .columns
            .iter()
            .zip(&rhos)
            .map(|(c, rho)| ratio(c, *rho))
            .collect();
        let z = if plain { &self.r } else { &self.q };
        if betas.iter().any(|beta| *beta != 0.0) {
            blocks.add_to(z, &betas, &mut self.p)?;
        } else {
            blocks.assign(z, &mut self.p)?;
        }
        for ((c, rho), kept) in self.columns.iter_mut().zip(rhos).zip(betas) {
            c.rho = Some(rho);
            done.coefficients[c.number].push(Coefficients { step: 0.0, kept });
        }
        Ok(())
    }

    /// The cosines of the angles between columns whose inner products are these.
    fn cosines(&self, x: &S::Block, y: &S::Block, dots: &[f64]) -> Result<Vec<f64>> {
        let (x, y) = (self.blocks.norms(x)?, self.blocks.norms(y)?);
        let norms = x.iter().zip(&y);
        Ok(norms.zip(dots).map(|((x, y), d)| d / x / y).collect())
    }

    /// The cosines, and none where vectors are so small that the sign of their inner product says
    /// nothing. A product that is zero, of a vector that is not so small, is what it is.
    fn angles(&self, x: &S::Block, y: &S::Block, dots: &[f64]) -> Result<Vec<Option<f64>>> {
        let (x, y) = (self.blocks.norms(x)?, self.blocks.norms(y)?);
        let angle = |((x, y), d): ((&f64, &f64), &f64)| {
            let both = if *y == 0.0 { *x } else { x * y };
            let lost = *d > -NEGATIVE && both < VANISHING;
            (!lost).then_some(d / x / y)
        };
        Ok(x.iter().zip(&y).zip(dots).map(angle).collect())
    }
}
