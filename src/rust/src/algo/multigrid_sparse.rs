//! Algebraic multigrid: levels of aggregates of the rows of a sparse matrix, made of its entries alone.
//!
//! Aggregates are made by two passes of pairs (Notay 2010, Electron. Trans. Numer. Anal. 37:123), and interpolation is constant on each: a coarser matrix sums entries up, and needs no product of
//! sparse matrices. What that costs is that a coarse correction is too small, since constants have steps between aggregates where an error has slopes; the coarser matrix is therefore made smaller by
//! a factor (Braess 1995, Computing 55:379), which keeps it positive definite. Rows that their diagonal dominates are left to relaxation, and so is what is left where rows find no partners.

use super::multigrid::{Level, Multigrid, COARSEST};
use super::pcg_blocks::{Operator, Preconditioner};
use super::pcg_device::OnDevice;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::scalar::try_zeroed;
use crate::sparse::{Sparse, DOMINANT};
use crate::stencil::Step;

/// What a correction is larger by for the steps between aggregates. 1.5 to 2 take about as many iterations on grids in the plane and in space.
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

impl<A, G> Aggregated<A, G> {
    fn aggregates(&self) -> Result<&G> {
        self.aggregates.as_ref().ok_or_else(|| Error::Internal {
            what: "multigrid went beyond its coarsest level".into(),
        })
    }
}

type Own<D> = <D as Device<f64>>::Mat<'static>;

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
        let between = dev.sparse_coarsen(&self.matrix, &pairs, 1.0)?;
        // Nothing relaxes between: whatever is here goes on, also what has no neighbour.
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
            for e in rows.starts[i] as usize..rows.starts[i + 1] as usize {
                dense[rows.index[e] as usize * n + i] = rows.values[e];
            }
        }
        Ok(dense)
    }

    fn residual(&self, dev: &D, b: &Own<D>, x: &Own<D>, out: &mut Own<D>) -> Result<()> {
        dev.sparse_residual(&self.matrix, Some(b), x, out)
    }

    fn relax(
        &self,
        dev: &D,
        b: &Own<D>,
        x: Option<&Own<D>>,
        step: Step,
        p: &mut Own<D>,
        out: &mut Own<D>,
    ) -> Result<()> {
        dev.sparse_relax(&self.matrix, b, x, step, p, out)
    }

    fn restrict(&self, dev: &D, x: &Own<D>, out: &mut Own<D>) -> Result<()> {
        dev.sparse_restrict(self.aggregates()?, x, out)
    }

    fn prolong(&self, dev: &D, x: &Own<D>, out: &mut Own<D>) -> Result<()> {
        dev.sparse_prolong(self.aggregates()?, x, out)
    }
}

/// A sparse matrix on a device with its approximate inverse: both what multiplies and what solves.
pub struct Algebraic<'d, D: Sparse>(Multigrid<'d, D, Of<D>>);

impl<'d, D: Sparse> Algebraic<'d, D> {
    pub fn new(dev: &'d D, matrix: D::Csr) -> Result<Self> {
        let finest = Aggregated {
            rows: dev.sparse_order(&matrix),
            matrix,
            depth: 0,
            aggregates: None,
        };
        Ok(Algebraic(Multigrid::of_levels(dev, finest, false)?))
    }

    /// Rows of each level.
    pub fn levels(&self) -> Vec<usize> {
        self.0.points()
    }

    /// `out` becomes the approximate inverse times `b`, of any number of columns.
    pub fn apply(&self, b: &Own<D>, out: &mut Own<D>) -> Result<()> {
        self.0.apply(b, out)
    }
}

impl<D: Sparse> Operator<OnDevice<'_, f64, D>> for Algebraic<'_, D> {
    fn order(&self, _: &OnDevice<'_, f64, D>) -> usize {
        self.0.finest().rows
    }

    fn multiply(&self, blocks: &OnDevice<'_, f64, D>, x: &Own<D>, out: &mut Own<D>) -> Result<()> {
        let a = &self.0.finest().matrix;
        blocks.dev.sparse_residual(a, None, x, out)
    }
}

impl<D: Sparse> Preconditioner<OnDevice<'_, f64, D>> for Algebraic<'_, D> {
    fn solve(&self, blocks: &OnDevice<'_, f64, D>, r: &Own<D>, out: &mut Own<D>) -> Result<()> {
        let rows = blocks.dev.shape(r).0;
        super::pcg_blocks::require_order(self.0.finest().rows, rows)?;
        self.apply(r, out)
    }
}
