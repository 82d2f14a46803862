//! Sparse matrices of the host's multigrid, and the aggregates of their rows.

use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::try_zeroed;
use crate::device::sparse::Rows;

/// A matrix by rows, all entries of both triangles.
pub struct HostCsr {
    pub(crate) rows: Rows,
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
    pub(crate) fn new(rows: Rows) -> Result<Self> {
        let n = rows.starts.len() - 1;
        let (mut own, mut diagonal) = (try_zeroed(n)?, try_zeroed(n)?);
        for i in 0..n {
            look(i)?;
            let mut sum = 0.0;
            for e in rows.starts[i] as usize..rows.starts[i + 1] as usize {
                let v: f64 = rows.values[e];
                if rows.index[e] as usize == i {
                    own[i] = v;
                }
                sum += v.abs();
            }
            let most = f64::max(own[i], sum / 2.0);
            diagonal[i] = if most > 0.0 { most } else { 1.0 };
        }
        Ok(HostCsr {
            rows,
            own,
            diagonal,
        })
    }

    pub(crate) fn order(&self) -> usize {
        self.own.len()
    }

    /// Columns and values of a row.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> (&[i32], &[f64]) {
        let at = self.rows.starts[i] as usize..self.rows.starts[i + 1] as usize;
        (&self.rows.index[at.clone()], &self.rows.values[at])
    }

    pub(super) fn work(&self, columns: usize) -> f64 {
        ((self.rows.index.len() + 2 * self.order()) * columns) as f64
    }
}

/// Looks for the user's wish to stop, at some rows.
pub(crate) fn look(row: usize) -> Result<()> {
    if row % (1 << 14) == 0 {
        interrupt::poll()?;
    }
    Ok(())
}
