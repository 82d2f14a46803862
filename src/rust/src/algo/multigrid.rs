//! Multigrid for symmetric positive definite operators on grids, as an approximate inverse.
//!
//! Grids of half the points along each axis follow each other down to one whose system is solved by Cholesky. On the way down and on the way up errors that a coarser grid does not see are damped by
//! Chebyshev's polynomial of degree 2 in `D^-1 A`, over the upper part of its spectrum, which ends at 2 (Adams, Brezina, Hu & Tuminaro 2003, J. Comput. Phys. 188:593); so the whole is a symmetric
//! operator. Interpolation follows the operator ([`crate::stencil`]), which keeps the number of iterations small where couplings differ by many orders of magnitude.

use std::cell::RefCell;

use faer::{MatMut, MatRef};

use crate::elementwise::Map;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::scalar::try_zeroed;
use crate::stencil::{Operator, Stencil, Step};

/// A grid of at most so many points is not made coarser.
const COARSEST: usize = 256;

/// Eigenvalues of `D^-1 A` are at most this; errors of those down to an eighth of it are damped here.
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

/// Vectors of one level: the right-hand side, which on the finest level is the caller's, and those of the iteration.
struct Work<M> {
    b: M,
    x: M,
    other: M,
    p: M,
}

/// Those of all levels but the coarsest, which has a right-hand side alone, for so many columns.
struct Columns<M> {
    count: usize,
    levels: Vec<Work<M>>,
    last: M,
}

/// An approximate inverse of an operator.
pub struct Multigrid<'d, D: Stencil> {
    dev: &'d D,
    /// From the finest to the coarsest.
    operators: Vec<Operator<D::Mat<'static>>>,
    /// From each but the finest to the one before.
    weights: Vec<D::Mat<'static>>,
    /// The Cholesky factor of the coarsest.
    factor: D::Mat<'static>,
    columns: RefCell<Option<Columns<D::Mat<'static>>>>,
}

impl<'d, D: Stencil> Multigrid<'d, D> {
    /// Of an operator that is positive definite: in every part of the grid that couplings join there is an excess.
    pub fn new(dev: &'d D, finest: Operator<D::Mat<'static>>) -> Result<Self> {
        let (mut operators, mut weights) = (Vec::new(), Vec::new());
        let mut operator = finest;
        while operator.grid.points() > COARSEST {
            interrupt::poll()?;
            let to = dev.stencil_interpolation(&operator)?;
            let coarse = dev.stencil_coarsen(&operator, &to)?;
            operators.push(operator);
            weights.push(to);
            operator = coarse;
        }
        let factor = factor(dev, &operator)?;
        operators.push(operator);
        Ok(Multigrid {
            dev,
            operators,
            weights,
            factor,
            columns: RefCell::new(None),
        })
    }

    /// The operator that this is an approximate inverse of.
    pub fn operator(&self) -> &Operator<D::Mat<'static>> {
        &self.operators[0]
    }

    /// `out` becomes the approximate inverse times `b`, of any number of columns.
    pub fn apply(&self, b: &D::Mat<'static>, out: &mut D::Mat<'static>) -> Result<()> {
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
        if columns.levels.is_empty() {
            // The grid is its own coarsest.
            self.dev.map(Map::Copy, b, out)?;
            return self.solve_last(out);
        }
        self.cycle(0, b, &mut columns.levels, &mut columns.last, Some(out))
    }

    fn room(&self, count: usize) -> Result<Columns<D::Mat<'static>>> {
        let levels = self.operators[..self.weights.len()].iter().enumerate();
        let levels = levels.map(|(k, operator)| {
            let points = operator.grid.points();
            Ok(Work {
                b: self.dev.blank(if k > 0 { points } else { 0 }, count)?,
                x: self.dev.blank(points, count)?,
                other: self.dev.blank(points, count)?,
                p: self.dev.blank(points, count)?,
            })
        });
        let last = self.operators[self.weights.len()].grid.points();
        Ok(Columns {
            count,
            levels: levels.collect::<Result<_>>()?,
            last: self.dev.blank(last, count)?,
        })
    }

    fn solve_last(&self, b: &mut D::Mat<'static>) -> Result<()> {
        let n = self.dev.shape(&self.factor).0;
        for trans in [Trans::Yes, Trans::No] {
            let diag = Diag::NonUnit;
            self.dev
                .trsm(Side::Left, Uplo::Upper, trans, diag, n, &self.factor, b)?;
        }
        Ok(())
    }

    /// Solves approximately on a level and those below for `b`; the solution is `out`, without that `levels[0].other`, or, on the coarsest, `last` where its right-hand side was.
    fn cycle(
        &self,
        level: usize,
        b: &D::Mat<'static>,
        levels: &mut [Work<D::Mat<'static>>],
        last: &mut D::Mat<'static>,
        out: Option<&mut D::Mat<'static>>,
    ) -> Result<()> {
        let Some((work, below)) = levels.split_first_mut() else {
            return Ok(());
        };
        let (dev, a, weights) = (self.dev, &self.operators[level], &self.weights[level]);
        let Work { x, other, p, .. } = work;
        dev.stencil_relax(a, b, None, FIRST, p, x)?;
        dev.stencil_relax(a, b, Some(x), SECOND, p, other)?;
        dev.stencil_residual(a, Some(b), other, x)?;
        match below.first_mut() {
            Some(next) => {
                dev.stencil_restrict(a.grid, weights, x, &mut next.b)?;
                let b = std::mem::replace(&mut next.b, dev.blank(0, 0)?);
                let done = self.cycle(level + 1, &b, below, last, None);
                below[0].b = b;
                done?;
                dev.stencil_prolong(a.grid, weights, &below[0].other, other)?;
            }
            None => {
                dev.stencil_restrict(a.grid, weights, x, last)?;
                self.solve_last(last)?;
                dev.stencil_prolong(a.grid, weights, last, other)?;
            }
        }
        dev.stencil_relax(a, b, Some(other), FIRST, p, x)?;
        dev.stencil_relax(a, b, Some(x), SECOND, p, out.unwrap_or(other))
    }
}

/// What the diagonal is enlarged by, as a part of it, where rounding took what was positive: this is an approximate inverse anyway.
const SHIFTS: [f64; 4] = [0.0, 1e-14, 1e-11, 1e-8];

/// The Cholesky factor of an operator as a dense matrix.
fn factor<D: Stencil>(dev: &D, a: &Operator<D::Mat<'static>>) -> Result<D::Mat<'static>> {
    let mut dense = dense(dev, a)?;
    let n = a.grid.points();
    let mut failed = Error::NotPositiveDefinite { order: 1 };
    for shift in SHIFTS {
        dense
            .iter_mut()
            .step_by(n + 1)
            .for_each(|d| *d += shift * *d);
        let matrix = MatRef::from_column_major_slice(&dense, n, n);
        let mut factor = dev.load_temporary(matrix, Part::All)?;
        match dev.potrf(Uplo::Upper, &mut factor) {
            Ok(()) => return Ok(factor),
            Err(e @ Error::NotPositiveDefinite { .. }) => failed = e,
            Err(e) => return Err(e),
        }
    }
    Err(failed)
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
