//! A sparse symmetric matrix of the host that multiplies blocks, by several threads.

use super::csc::Csc;
use crate::algo::krylov::blocks::Operator;
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::base::error::{Error, Result};
use crate::base::scalar::{filled, try_zeroed};
use crate::base::threads::{join, share};
use crate::device::sparse::each_product;
pub use crate::device::sparse::Stored;

/// All entries of a symmetric matrix by rows, or columns. Both triangles are kept, so that rows of
/// a product are independent of each other; places are numbers of four bytes, as a product takes as
/// long as its matrix takes from memory.
pub struct Sparse {
    starts: Vec<usize>,
    index: Vec<i32>,
    values: Vec<f64>,
}

/// An entry of the matrix costs about as much as this many multiplications.
const ENTRY: f64 = 4.0;

impl Sparse {
    /// Errors: [`Error::Dimension`] of a matrix that is not square or has 2^31 rows,
    /// [`Error::NonFiniteIn`] of an entry.
    pub fn new(a: &Csc, stored: Stored) -> Result<Self> {
        let n = a.columns();
        if a.rows != n || i32::try_from(n).is_err() {
            return Err(Error::Dimension {
                what: "a sparse matrix is not square, or too large".into(),
            });
        }
        let mirrored = |i: usize, j: usize| stored != Stored::All && i != j;
        let mut starts = filled(n + 1, 0)?;
        for j in 0..n {
            let (rows, values) = a.column(j);
            for (i, v) in rows
                .iter()
                .zip(values)
                .filter(|(i, _)| stored.reads(**i, j))
            {
                if !v.is_finite() {
                    return Err(Error::NonFiniteIn { argument: "A" });
                }
                starts[j + 1] += 1;
                starts[i + 1] += usize::from(mirrored(*i, j));
            }
        }
        (0..n).for_each(|j| starts[j + 1] += starts[j]);
        let len = starts[n];
        let mut out = Sparse {
            index: filled(len, 0)?,
            values: try_zeroed(len)?,
            starts,
        };
        // Columns are gone through in order, so that places within rows ascend whatever is stored.
        let mut next = filled(n + 1, 0)?;
        next.copy_from_slice(&out.starts);
        let mut put = |i: usize, j: usize, v: f64| {
            out.index[next[i]] = j as i32;
            out.values[next[i]] = v;
            next[i] += 1;
        };
        for j in 0..n {
            let (rows, values) = a.column(j);
            for (i, v) in rows
                .iter()
                .zip(values)
                .filter(|(i, _)| stored.reads(**i, j))
            {
                put(j, *i, *v);
                if mirrored(*i, j) {
                    put(*i, j, *v);
                }
            }
        }
        Ok(out)
    }

    /// How many rows there are, and entries of both triangles.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn entries(&self) -> usize {
        self.index.len()
    }

    /// The columns of a row's entries, its own among them.
    pub(crate) fn neighbours(&self, row: usize) -> &[i32] {
        &self.index[self.starts[row]..self.starts[row + 1]]
    }

    /// Zero where no entry is stored.
    pub fn diagonal(&self) -> Result<Vec<f64>> {
        let n = self.starts.len() - 1;
        let mut out = try_zeroed(n)?;
        for (i, d) in out.iter_mut().enumerate() {
            let row = self.starts[i]..self.starts[i + 1];
            let place = self.index[row.clone()]
                .iter()
                .position(|j| *j as usize == i);
            *d = place.map_or(0.0, |p| self.values[row.start + p]);
        }
        Ok(out)
    }

    /// Rows from `first` on of `A x`, for columns of x and of the product.
    fn part(&self, first: usize, x: &[&[f64]], mut out: Vec<&mut [f64]>, threads: usize) {
        let rows = out.first().map_or(0, |o| o.len());
        if threads > 1 && rows > 1 {
            // As many entries for each of the threads.
            let (from, to) = (self.starts[first], self.starts[first + rows]);
            let middle = from + (to - from) * (threads / 2) / threads;
            let at = self.starts[first..first + rows].partition_point(|s| *s < middle);
            let at = at.clamp(1, rows - 1);
            let (top, bottom) = out.into_iter().map(|o| o.split_at_mut(at)).unzip();
            join(
                threads,
                |t| self.part(first, x, top, t),
                |t| self.part(first + at, x, bottom, t),
            );
            return;
        }
        let row = |i: usize| {
            let at = self.starts[i]..self.starts[i + 1];
            (&self.index[at.clone()], &self.values[at])
        };
        let all = first..first + rows;
        each_product(all, row, x, |i, c, product| out[c][i - first] = product);
    }
}

impl Operator<Host> for Sparse {
    fn order(&self, _: &Host) -> usize {
        self.rows()
    }

    fn multiply(&self, host: &Host, x: &HostBlock, out: &mut HostBlock) -> Result<()> {
        let (n, k) = x.shape();
        if n == 0 {
            return Ok(());
        }
        let columns: Vec<&[f64]> = (0..k).map(|j| x.column(j)).collect();
        let outs = out.values_mut().chunks_exact_mut(n);
        let threads = share(host.threads, ENTRY * (self.values.len() * k) as f64);
        self.part(0, &columns, outs.collect(), threads);
        Ok(())
    }
}
