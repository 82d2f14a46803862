//! Algebraic multigrid: levels of aggregates of the rows of a sparse matrix, made of its entries
//! alone.
//!
//! Aggregates are made by two passes of pairs (Notay 2010, Electron. Trans. Numer. Anal. 37:123),
//! and interpolation is constant on each: a coarser matrix sums entries up, and needs no product of
//! sparse matrices. What that costs is that a coarse correction is too small, since constants have
//! steps between aggregates where an error has slopes; the coarser matrix is therefore made smaller
//! by a factor (Braess 1995, Computing 55:379), which keeps it positive definite. Rows that their
//! diagonal dominates are left to relaxation, and so is what is left where rows find no partners.

use crate::device::memory::Memory;
use faer::MatRef;

use super::geometric::{beyond, Level, Multigrid, COARSEST};
use crate::algo::krylov::blocks::{Operator, Preconditioner};
use crate::algo::krylov::device_blocks::OnDevice;
use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::{filled, try_zeroed};
use crate::device::elementwise::Operand;
use crate::device::functions::{Fold, Lines, Zip};
use crate::device::multigrid::{LevelOperator, Step};
use crate::device::sparse::{Sparse, DOMINANT};

/// What a correction is larger by for the steps between aggregates. 1.5 to 2 take about as many
/// iterations on grids in the plane and in space.
const OVERCORRECTION: f64 = 1.8;

/// A coarser level must have no more rows than this part of those of the one before.
const WORTH: f64 = 0.8;

/// More levels below the finest are not made.
const DEEPEST: usize = 40;

/// A level, with the aggregates that are the rows of the next one.
pub struct Aggregated<A, G> {
    matrix: A,
    rows: usize,
    /// How many levels are above.
    depth: usize,
    aggregates: Option<G>,
}

type Own<D> = <D as Memory<f64>>::Mat<'static>;

/// The levels of a device.
pub type Of<D> = Aggregated<<D as Sparse>::Csr, <D as Sparse>::Aggregates>;

impl<D: Sparse> Level<D> for Of<D> {
    fn points(&self) -> usize {
        self.rows
    }

    fn coarser(&mut self, dev: &D) -> Result<Option<Self>> {
        if self.rows <= COARSEST || self.depth >= DEEPEST {
            return Ok(None);
        }
        let pairs = dev.sparse_aggregate(&self.matrix, DOMINANT)?;
        let mut between = dev.sparse_coarsen(&self.matrix, &pairs, 1.0)?;
        // Nothing relaxes between: whatever is here goes on, also what has no neighbour, and what
        // joins must be near by this level's diagonal.
        dev.sparse_inherit(&self.matrix, &pairs, &mut between)?;
        let pairs_of_pairs = dev.sparse_aggregate(&between, -1.0)?;
        let rows = dev.sparse_count(&pairs_of_pairs);
        if rows == 0 || rows as f64 > WORTH * self.rows as f64 {
            return Ok(None);
        }
        let matrix = dev.sparse_coarsen(&between, &pairs_of_pairs, 1.0 / OVERCORRECTION)?;
        self.aggregates = Some(dev.sparse_compose(&pairs, &pairs_of_pairs)?);
        Ok(Some(Aggregated {
            matrix,
            rows,
            depth: self.depth + 1,
            aggregates: None,
        }))
    }

    fn dense(&self, dev: &D) -> Result<Vec<f64>> {
        let (n, rows) = (self.rows, dev.sparse_read(&self.matrix)?);
        let mut dense = try_zeroed(n * n)?;
        for i in 0..n {
            let (columns, values) = rows.column(i);
            for (j, v) in columns.iter().zip(values) {
                dense[*j as usize * n + i] = *v;
            }
        }
        Ok(dense)
    }

    type Operator = D::Csr;
    type Interpolation = D::Aggregates;

    fn operator(&self) -> &D::Csr {
        &self.matrix
    }

    fn interpolation(&self) -> Result<&D::Aggregates> {
        self.aggregates.as_ref().ok_or_else(beyond)
    }
}

/// What rows of a matrix make of a vector that changes little from row to row, over what its
/// diagonal makes of it, where multigrid finds the vector that it is for: of Poisson's equation
/// some hundredths. From here on another one is looked for.
const ROUGH: f64 = 0.3;

/// Steps of relaxation by which it is looked for, and by how much it must be better.
const SWEEPS: usize = 20;
const BETTER: f64 = 0.25;

const WHOLE: Step = Step {
    rate: 1.0,
    momentum: 0.0,
};
const PART: Step = Step {
    rate: 0.7,
    momentum: 0.0,
};

/// A positive vector t for which `D^-1 A t` is small beside t, where that of a constant is not;
/// none where a constant is as good, or relaxation of it finds none.
///
/// Interpolation is constant on aggregates, which is for matrices whose near-null vector is: not
/// for `S A S` of such a one with numbers S that vary from row to row, as units of measurement do.
/// But relaxation of a constant leaves what `S^-1` has of it.
fn near_null<D: Sparse>(dev: &D, a: &D::Csr) -> Result<Option<Own<D>>> {
    let n = dev.sparse_order(a);
    if n <= COARSEST {
        return Ok(None);
    }
    let ones = filled(n, 1.0)?;
    let column = MatRef::from_column_major_slice(&ones, n, 1);
    let mut t = dev.load_temporary(column, Part::All)?;
    let (zero, mut p, mut other) = (dev.zeros(n, 1)?, dev.blank(n, 1)?, dev.blank(n, 1)?);
    let rest = |t: &Own<D>, p: &mut Own<D>, other: &mut Own<D>| -> Result<f64> {
        a.relax(dev, &zero, Some(t), WHOLE, p, other)?;
        Ok((dev.column_dots(p, p)?[0] / dev.column_dots(t, t)?[0]).sqrt())
    };
    let before = rest(&t, &mut p, &mut other)?;
    if before.is_nan() || before < ROUGH {
        return Ok(None);
    }
    for _ in 0..SWEEPS {
        a.relax(dev, &zero, Some(&t), PART, &mut p, &mut other)?;
        std::mem::swap(&mut t, &mut other);
    }
    let after = rest(&t, &mut p, &mut other)?;
    let least = dev.fold(Fold::Min, Lines::All, false, &t)?;
    let found = after <= BETTER * before && least.iter().all(|t| *t > 0.0);
    Ok(found.then_some(t))
}

/// A sparse matrix on a device with its approximate inverse: both what multiplies and what solves.
pub struct Algebraic<'d, D: Sparse> {
    /// Of the matrix, or of `diag(t) A diag(t)`.
    multigrid: Multigrid<'d, D, Of<D>>,
    /// The matrix and t.
    scaled: Option<(D::Csr, Own<D>)>,
}

impl<'d, D: Sparse> Algebraic<'d, D> {
    pub fn new(dev: &'d D, matrix: D::Csr) -> Result<Self> {
        let (matrix, scaled) = match near_null(dev, &matrix)? {
            Some(t) => (dev.sparse_scaled(&matrix, &t)?, Some((matrix, t))),
            None => (matrix, None),
        };
        let finest = Aggregated {
            rows: dev.sparse_order(&matrix),
            matrix,
            depth: 0,
            aggregates: None,
        };
        Ok(Algebraic {
            multigrid: Multigrid::of_levels(dev, finest)?,
            scaled,
        })
    }

    /// Rows of each level.
    pub fn levels(&self) -> Vec<usize> {
        self.multigrid.points()
    }

    /// `out` becomes the approximate inverse times `b`, of any number of columns.
    pub fn apply(&self, dev: &D, b: &Own<D>, out: &mut Own<D>) -> Result<()> {
        let (rows, columns) = dev.shape(b);
        match &self.scaled {
            Some((_, t)) if columns > 0 => {
                let t = || Operand::Recycled(t);
                let (mut r, mut z) = (dev.blank(rows, columns)?, dev.blank(rows, columns)?);
                dev.zip(Zip::Multiply, Operand::Matrix(b), t(), &mut r)?;
                self.multigrid.apply(&r, &mut z)?;
                dev.zip(Zip::Multiply, Operand::Matrix(&z), t(), out)
            }
            _ => self.multigrid.apply(b, out),
        }
    }

    fn matrix(&self) -> &D::Csr {
        match &self.scaled {
            Some((a, _)) => a,
            None => &self.multigrid.finest().matrix,
        }
    }
}

impl<D: Sparse> Operator<OnDevice<'_, f64, D>> for Algebraic<'_, D> {
    fn order(&self, _: &OnDevice<'_, f64, D>) -> usize {
        self.multigrid.finest().rows
    }

    fn multiply(&self, blocks: &OnDevice<'_, f64, D>, x: &Own<D>, out: &mut Own<D>) -> Result<()> {
        self.matrix().residual(blocks.dev, None, x, out)
    }
}

impl<D: Sparse> Preconditioner<OnDevice<'_, f64, D>> for Algebraic<'_, D> {
    fn solve(&self, blocks: &OnDevice<'_, f64, D>, r: &Own<D>, out: &mut Own<D>) -> Result<()> {
        let rows = blocks.dev.shape(r).0;
        crate::algo::krylov::blocks::require_order(self.multigrid.finest().rows, rows)?;
        self.apply(blocks.dev, r, out)
    }
}
