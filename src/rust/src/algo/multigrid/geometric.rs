//! Multigrid for symmetric positive definite operators, as an approximate inverse.
//!
//! Ever coarser levels ([`Level`]) follow each other down to one whose system is solved by
//! Cholesky: grids of half the points along each axis ([`Grids`]), or aggregates of the rows of a
//! sparse matrix (`algebraic`). On the way down and on the way up errors that a coarser level does
//! not see are damped by Chebyshev's polynomial of degree 2 in `D^-1 A`, over the upper part of its
//! spectrum, which ends at 2 (Adams, Brezina, Hu & Tuminaro 2003, J. Comput. Phys. 188:593); so the
//! whole is a symmetric operator. Of grids interpolation follows the operator
//! ([`crate::device::stencil`]), which keeps the number of iterations small where couplings differ
//! by many orders of magnitude.

use crate::device::memory::Memory;
use std::cell::RefCell;

use faer::{MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Part, Trans, Uplo};
use crate::base::scalar::try_zeroed;
use crate::device::elementwise::Elementwise;
use crate::device::functions::Map;
use crate::device::multigrid::{Interpolation, LevelOperator, Step};
use crate::device::stencil::{Operator, Stencil, Weights};

/// A level of at most so many points is not made coarser.
pub(super) const COARSEST: usize = 256;

/// Eigenvalues of `D^-1 A` are at most this; errors of those down to an eighth of it are damped
/// here.
const LARGEST: f64 = 2.0;
const SMALLEST: f64 = LARGEST / 8.0;
/// The two steps of the polynomial of degree 2.
const CENTRE: f64 = (LARGEST + SMALLEST) / 2.0;
const RADIUS: f64 = (LARGEST - SMALLEST) / 2.0;
const FIRST: Step = Step {
    rate: 1.0 / CENTRE,
    momentum: 0.0,
};
const SECOND: Step = {
    // rho_2 = 1 / (2 sigma - rho_1) for rho_1 = 1 / sigma and sigma = CENTRE / RADIUS.
    let sigma = CENTRE / RADIUS;
    let rho = 1.0 / (2.0 * sigma - 1.0 / sigma);
    Step {
        rate: 2.0 * rho / RADIUS,
        momentum: rho / sigma,
    }
};

/// One level: an operator, and the way to the next one, once [`Level::coarser`] has made that.
pub trait Level<D: Elementwise<f64>>: Sized {
    fn points(&self) -> usize;
    /// The next level; none where this is not made coarser.
    fn coarser(&mut self, dev: &D) -> Result<Option<Self>>;
    /// By columns, as a dense matrix.
    fn dense(&self, dev: &D) -> Result<Vec<f64>>;

    type Operator: LevelOperator<D>;
    type Interpolation: Interpolation<D>;
    fn operator(&self) -> &Self::Operator;
    /// From the next level.
    ///
    /// Errors: [`Error::Internal`] where that was not made.
    fn interpolation(&self) -> Result<&Self::Interpolation>;
}

/// A matrix of a device.
type Own<D> = <D as Memory<f64>>::Mat<'static>;

/// A level of grids, with the weights of the interpolation to it from the next one.
pub struct Grids<M> {
    operator: Operator<M>,
    weights: Option<Weights<M>>,
}

impl<D: Stencil> Level<D> for Grids<Own<D>> {
    fn points(&self) -> usize {
        self.operator.grid.points()
    }

    fn coarser(&mut self, dev: &D) -> Result<Option<Self>> {
        if self.operator.grid.points() <= COARSEST {
            return Ok(None);
        }
        let weights = dev.stencil_interpolation(&self.operator)?;
        let operator = dev.stencil_coarsen(&self.operator, &weights)?;
        self.weights = Some(weights);
        let weights = None;
        Ok(Some(Grids { operator, weights }))
    }

    fn dense(&self, dev: &D) -> Result<Vec<f64>> {
        dense(dev, &self.operator)
    }

    type Operator = Operator<Own<D>>;
    type Interpolation = Weights<Own<D>>;

    fn operator(&self) -> &Self::Operator {
        &self.operator
    }

    fn interpolation(&self) -> Result<&Self::Interpolation> {
        self.weights.as_ref().ok_or_else(beyond)
    }
}

pub(super) fn beyond() -> Error {
    Error::Internal {
        what: "multigrid went beyond its coarsest level".into(),
    }
}

/// Vectors of one level: the right-hand side, which on the finest level is the caller's, and those
/// of the iteration.
struct Work<M> {
    b: M,
    x: M,
    other: M,
    p: M,
}

/// Those of all levels, for so many columns.
struct Columns<M> {
    count: usize,
    levels: Vec<Work<M>>,
}

/// An approximate inverse of an operator.
pub struct Multigrid<'d, D: Elementwise<f64>, L = Grids<Own<D>>> {
    dev: &'d D,
    /// From the finest to the coarsest.
    levels: Vec<L>,
    /// The Cholesky factor of the coarsest; where there is none that is relaxed alone.
    factor: Option<Own<D>>,
    columns: RefCell<Option<Columns<Own<D>>>>,
}

impl<'d, D: Stencil> Multigrid<'d, D> {
    /// Of an operator that is positive definite: in every part of the grid that couplings join
    /// there is an excess.
    pub fn new(dev: &'d D, finest: Operator<Own<D>>) -> Result<Self> {
        let (operator, weights) = (finest, None);
        Multigrid::of_levels(dev, Grids { operator, weights })
    }

    /// The operator that this is an approximate inverse of.
    pub fn operator(&self) -> &Operator<Own<D>> {
        &self.levels[0].operator
    }
}

impl<'d, D: Elementwise<f64>, L: Level<D>> Multigrid<'d, D, L> {
    /// Of the finest level. The coarsest is factored if it is small and, to rounding, positive
    /// definite.
    pub(super) fn of_levels(dev: &'d D, finest: L) -> Result<Self> {
        let mut levels = vec![finest];
        loop {
            interrupt::poll()?;
            let last = levels.len() - 1;
            match levels[last].coarser(dev)? {
                Some(next) => levels.push(next),
                None => break,
            }
        }
        let last = &levels[levels.len() - 1];
        let factor = match last.points() <= COARSEST {
            true => Some(factor(dev, last.points(), last.dense(dev)?)),
            false => None,
        };
        let factor = match factor {
            Some(Err(Error::NotPositiveDefinite { .. })) => None,
            factor => factor.transpose()?,
        };
        Ok(Multigrid {
            dev,
            levels,
            factor,
            columns: RefCell::new(None),
        })
    }

    pub(super) fn finest(&self) -> &L {
        &self.levels[0]
    }

    /// Those of each level.
    pub(crate) fn points(&self) -> Vec<usize> {
        self.levels.iter().map(Level::points).collect()
    }

    /// `out` becomes the approximate inverse times `b`, of any number of columns.
    pub fn apply(&self, b: &Own<D>, out: &mut Own<D>) -> Result<()> {
        let count = self.dev.shape(b).1;
        let mut held = self.columns.borrow_mut();
        if held.as_ref().is_none_or(|c| c.count != count) {
            // What was there goes first.
            *held = None;
            *held = Some(self.room(count)?);
        }
        let Some(columns) = held.as_mut() else {
            return Ok(());
        };
        self.cycle(0, b, &mut columns.levels, Some(out))
    }

    fn room(&self, count: usize) -> Result<Columns<Own<D>>> {
        let levels = self.levels.iter().enumerate();
        let levels = levels.map(|(k, level)| {
            let points = level.points();
            let blank = |needed: bool| self.dev.blank(if needed { points } else { 0 }, count);
            let relaxed = k + 1 < self.levels.len() || self.factor.is_none();
            Ok(Work {
                b: blank(k > 0)?,
                x: blank(relaxed)?,
                other: blank(true)?,
                p: blank(relaxed)?,
            })
        });
        Ok(Columns {
            count,
            levels: levels.collect::<Result<_>>()?,
        })
    }

    /// Solves approximately on a level and those below for `b`; the solution is `out`, or
    /// `levels[0].other` without that.
    fn cycle(
        &self,
        number: usize,
        b: &Own<D>,
        levels: &mut [Work<Own<D>>],
        out: Option<&mut Own<D>>,
    ) -> Result<()> {
        let Some((work, below)) = levels.split_first_mut() else {
            return Ok(());
        };
        let (dev, level) = (self.dev, &self.levels[number]);
        let a = level.operator();
        let Work { x, other, p, .. } = work;
        if let (Some(factor), true) = (&self.factor, below.is_empty()) {
            let to = out.unwrap_or(other);
            dev.map(Map::Copy, b, to)?;
            return solve(dev, factor, to);
        }
        a.relax(dev, b, None, FIRST, p, x)?;
        let Some(next) = below.first_mut() else {
            return a.relax(dev, b, Some(x), SECOND, p, out.unwrap_or(other));
        };
        a.relax(dev, b, Some(x), SECOND, p, other)?;
        a.residual(dev, Some(b), other, x)?;
        level.interpolation()?.restrict(dev, x, &mut next.b)?;
        let lower = std::mem::replace(&mut next.b, dev.blank(0, 0)?);
        let done = self.cycle(number + 1, &lower, below, None);
        below[0].b = lower;
        done?;
        level
            .interpolation()?
            .prolong(dev, &below[0].other, other)?;
        a.relax(dev, b, Some(other), FIRST, p, x)?;
        a.relax(dev, b, Some(x), SECOND, p, out.unwrap_or(other))
    }
}

/// `b` becomes the solution.
fn solve<D: Elementwise<f64>>(dev: &D, factor: &Own<D>, b: &mut Own<D>) -> Result<()> {
    dev.solve_columns(Uplo::Upper, Trans::Yes, factor, b)?;
    dev.solve_columns(Uplo::Upper, Trans::No, factor, b)
}

/// What the diagonal is enlarged by, as a part of it, where rounding took what was positive: this
/// is an approximate inverse anyway.
const SHIFTS: [f64; 4] = [0.0, 1e-14, 1e-11, 1e-8];

/// The Cholesky factor of a dense matrix of the host; the last error where no shift is enough.
fn factor<D: Elementwise<f64>>(dev: &D, n: usize, mut dense: Vec<f64>) -> Result<Own<D>> {
    let mut order = n;
    for shift in SHIFTS {
        dense
            .iter_mut()
            .step_by(n + 1)
            .for_each(|d| *d += shift * *d);
        let matrix = MatRef::from_column_major_slice(&dense, n, n);
        let mut factor = dev.load_temporary(matrix, Part::All)?;
        match dev.potrf(Uplo::Upper, &mut factor) {
            Ok(()) => return Ok(factor),
            Err(Error::NotPositiveDefinite { order: minor }) => order = minor,
            Err(e) => return Err(e),
        }
    }
    Err(Error::NotPositiveDefinite { order })
}

/// An operator as a dense matrix of the host.
fn dense<D: Stencil>(dev: &D, a: &Operator<D::Mat<'static>>) -> Result<Vec<f64>> {
    let n = a.grid.points();
    let forwards = a.grid.forwards(a.reach);
    let mut entries = try_zeroed(n * (1 + forwards.len()))?;
    let home = MatMut::from_column_major_slice_mut(&mut entries, n, 1 + forwards.len());
    dev.read(&a.entries, home)?;
    let (excess, couplings) = entries.split_at(n);
    let mut dense = try_zeroed(n * n)?;
    for (i, e) in excess.iter().enumerate() {
        dense[i * (n + 1)] += e;
    }
    for (offset, couplings) in forwards.iter().zip(couplings.chunks_exact(n.max(1))) {
        for (i, w) in couplings.iter().enumerate() {
            if let Some(j) = a.grid.place(a.grid.beside(i, *offset)) {
                dense[i * (n + 1)] += w;
                dense[j * (n + 1)] += w;
                dense[i * n + j] -= w;
                dense[j * n + i] -= w;
            }
        }
    }
    Ok(dense)
}
