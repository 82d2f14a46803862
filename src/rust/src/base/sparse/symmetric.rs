//! Sparse symmetric matrices with the entries of both triangles.

use std::ops::Range;

use super::csc::Csc;
use super::view::{copied, wrong, CscRef, Place};
use crate::base::error::{Error, Result};
use crate::base::scalar::{filled, try_zeroed};

/// Which entries of a symmetric matrix are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// All of them.
    All,
    /// Those of one triangle, with the diagonal; others are not read.
    Lower,
    Upper,
}

impl Stored {
    /// Whether what is stored at row i of column j is read.
    pub(crate) fn reads(self, i: usize, j: usize) -> bool {
        match self {
            Stored::All => true,
            Stored::Lower => i >= j,
            Stored::Upper => i <= j,
        }
    }
}

/// All entries of a symmetric matrix by rows, or columns. Both triangles are kept, so that rows of
/// a product are independent of each other; places are numbers of four bytes, as a product takes as
/// long as its matrix takes from memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Symmetric(Csc<i32>);

impl Symmetric {
    /// Of a matrix whose parts were checked. What is read of [`Stored::All`] must be symmetric.
    ///
    /// Errors: [`Error::Dimension`] of a matrix that is not square or has 2^31 rows,
    /// [`Error::NonFiniteIn`] of an entry.
    pub fn new(a: &Csc, stored: Stored) -> Result<Self> {
        Symmetric::of(a.view(), stored)
    }

    /// As [`Symmetric::new`].
    pub(crate) fn of<I: Place, S: Place>(a: CscRef<'_, I, S>, stored: Stored) -> Result<Self> {
        let n = a.columns();
        if a.rows != n || i32::try_from(n).is_err() {
            return Err(wrong("is not square, or too large"));
        }
        let mirrored = |i: usize, j: usize| stored != Stored::All && i != j;
        let read = |j: usize| {
            let (rows, values) = a.column(j);
            let entries = rows.iter().map(|i| i.at()).zip(values);
            entries.filter(move |(i, _)| stored.reads(*i, j))
        };
        let mut starts = filled(n + 1, 0)?;
        for j in 0..n {
            for (i, v) in read(j) {
                if !v.is_finite() {
                    return Err(Error::NonFiniteIn { argument: "A" });
                }
                starts[j + 1] += 1;
                starts[i + 1] += usize::from(mirrored(i, j));
            }
        }
        (0..n).for_each(|j| starts[j + 1] += starts[j]);
        let (mut index, mut values) = (filled(starts[n], 0)?, try_zeroed(starts[n])?);
        // Columns are gone through in order, so that places within rows ascend whatever is stored.
        let mut next = copied(&starts)?;
        let mut put = |i: usize, j: usize, v: f64| {
            index[next[i]] = j as i32;
            values[next[i]] = v;
            next[i] += 1;
        };
        for j in 0..n {
            for (i, v) in read(j) {
                put(j, i, *v);
                if mirrored(i, j) {
                    put(i, j, *v);
                }
            }
        }
        Ok(Symmetric(Csc {
            rows: n,
            starts,
            index,
            values,
        }))
    }

    /// Of all entries, which must be symmetric and in order.
    pub(crate) fn of_all(entries: Csc<i32>) -> Self {
        Symmetric(entries)
    }

    pub(crate) fn all(&self) -> &Csc<i32> {
        &self.0
    }

    pub fn rows(&self) -> usize {
        self.0.columns()
    }

    /// How many entries there are, of both triangles.
    pub fn entries(&self) -> usize {
        self.0.index.len()
    }

    /// Columns and values of a row.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> (&[i32], &[f64]) {
        self.0.column(i)
    }

    /// The columns of a row's entries, its own among them.
    pub(crate) fn neighbours(&self, row: usize) -> &[i32] {
        self.row(row).0
    }

    /// Zero where no entry is stored.
    pub fn diagonal(&self) -> Result<Vec<f64>> {
        let mut out = try_zeroed(self.rows())?;
        for (i, d) in out.iter_mut().enumerate() {
            let (columns, values) = self.row(i);
            let place = columns.iter().position(|j| j.at() == i);
            *d = place.map_or(0.0, |p| values[p]);
        }
        Ok(out)
    }

    /// As [`Csc::each_product`], of the rows of this matrix.
    pub(crate) fn each_product(
        &self,
        rows: Range<usize>,
        x: &[&[f64]],
        f: impl FnMut(usize, usize, f64),
    ) {
        self.0.each_product(rows, x, f);
    }

    /// Columns of `out` become those of `A x`, as [`Csc::multiply_rows`] has it.
    pub(crate) fn multiply_columns(&self, x: &[&[f64]], out: Vec<&mut [f64]>, threads: usize) {
        self.0.multiply_rows(x, out, threads);
    }
}
