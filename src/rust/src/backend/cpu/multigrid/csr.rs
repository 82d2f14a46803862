//! Sparse matrices of the host's multigrid, and the aggregates of their rows.

use crate::base::error::Result;
use crate::base::scalar::try_zeroed;
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::Symmetric;
use crate::base::sparse::view::{look, Place};

/// A matrix with its diagonals.
pub struct HostCsr {
    pub(crate) matrix: Symmetric,
    /// `a_ii`, and the diagonal for relaxation.
    pub(crate) own: Vec<f64>,
    pub(crate) diagonal: Vec<f64>,
}

/// The aggregate of each row, -1 of none; where the members of each begin, and they.
pub struct HostAggregates {
    pub(crate) aggregate: Vec<i32>,
    pub(crate) starts: Vec<usize>,
    pub(crate) members: Vec<u32>,
}

impl HostAggregates {
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn of(&self, k: usize) -> &[u32] {
        &self.members[self.starts[k]..self.starts[k + 1]]
    }
}

impl HostCsr {
    pub(crate) fn new(matrix: Symmetric) -> Result<Self> {
        let n = matrix.rows();
        let (mut own, mut diagonal) = (try_zeroed(n)?, try_zeroed(n)?);
        for i in 0..n {
            look(i)?;
            let (columns, values) = matrix.row(i);
            let mut sum = 0.0;
            for (j, v) in columns.iter().zip(values) {
                if j.at() == i {
                    own[i] = *v;
                }
                sum += v.abs();
            }
            let most = f64::max(own[i], sum / 2.0);
            diagonal[i] = if most > 0.0 { most } else { 1.0 };
        }
        Ok(HostCsr {
            matrix,
            own,
            diagonal,
        })
    }

    pub(crate) fn order(&self) -> usize {
        self.own.len()
    }

    pub(super) fn all(&self) -> &Csc<i32> {
        self.matrix.all()
    }

    pub(super) fn work(&self, columns: usize) -> f64 {
        ((self.matrix.entries() + 2 * self.order()) * columns) as f64
    }
}
