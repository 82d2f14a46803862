//! Sparse matrices compressed by columns.

use super::view::{copied, CscRef, Place};
use crate::base::error::Result;
use crate::base::scalar::{filled, room, try_zeroed};

/// A matrix compressed by columns. Rows within columns ascend, none is named twice. Read as rows,
/// the columns are those of the transpose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Csc<I = usize> {
    pub rows: usize,
    /// Where each column begins, and the last one ends.
    pub starts: Vec<usize>,
    pub index: Vec<I>,
    pub values: Vec<f64>,
}

impl<I: Place, S: Place> CscRef<'_, I, S> {
    /// A copy whose parts were checked.
    ///
    /// Errors: as of [`Csc::new`], and of memory.
    pub fn owned(&self) -> Result<Csc> {
        self.check()?;
        let mut out = Csc {
            rows: self.rows,
            starts: room(self.starts.len())?,
            index: room(self.index.len())?,
            values: copied(self.values)?,
        };
        out.starts.extend(self.starts.iter().map(|s| s.at()));
        out.index.extend(self.index.iter().map(|i| i.at()));
        Ok(out)
    }

    /// The transpose, or the same matrix by rows.
    ///
    /// Errors: [`Error::HostMemory`](crate::base::error::Error::HostMemory).
    pub fn transposed(&self) -> Result<Csc<I>> {
        let entries = self.index.len();
        let mut starts = filled(self.rows + 1, 0)?;
        self.index.iter().for_each(|i| starts[i.at() + 1] += 1);
        (0..self.rows).for_each(|i| starts[i + 1] += starts[i]);
        let mut next = copied(&starts)?;
        let (mut index, mut values) = (filled(entries, I::of(0))?, try_zeroed(entries)?);
        for j in 0..self.columns() {
            let (rows, of) = self.column(j);
            for (i, v) in rows.iter().zip(of) {
                let place = &mut next[i.at()];
                (index[*place], values[*place]) = (I::of(j), *v);
                *place += 1;
            }
        }
        Ok(Csc {
            rows: self.columns(),
            starts,
            index,
            values,
        })
    }
}

impl<I: Place> Csc<I> {
    /// A matrix whose parts were checked.
    ///
    /// Errors: [`Error::Dimension`](crate::base::error::Error::Dimension), and of an interrupt.
    pub fn new(rows: usize, starts: Vec<usize>, index: Vec<I>, values: Vec<f64>) -> Result<Self> {
        let made = Csc {
            rows,
            starts,
            index,
            values,
        };
        made.view().check()?;
        Ok(made)
    }

    pub fn view(&self) -> CscRef<'_, I> {
        CscRef {
            rows: self.rows,
            starts: &self.starts,
            index: &self.index,
            values: &self.values,
        }
    }

    pub fn columns(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Rows and values of a column.
    #[inline]
    pub fn column(&self, j: usize) -> (&[I], &[f64]) {
        self.view().column(j)
    }

    /// As [`CscRef::is_symmetric`].
    pub fn is_symmetric(&self) -> Result<bool> {
        self.view().is_symmetric()
    }

    /// As [`CscRef::transposed`].
    pub fn transposed(&self) -> Result<Csc<I>> {
        self.view().transposed()
    }

    /// Another one of the same entries.
    ///
    /// Errors: [`Error::HostMemory`](crate::base::error::Error::HostMemory).
    pub fn copy(&self) -> Result<Self> {
        Ok(Csc {
            rows: self.rows,
            starts: copied(&self.starts)?,
            index: copied(&self.index)?,
            values: copied(&self.values)?,
        })
    }

    /// `out <- out + A x`.
    pub fn add_times(&self, x: &[f64], out: &mut [f64]) {
        for (j, x) in x.iter().enumerate() {
            if *x != 0.0 {
                let (index, values) = self.column(j);
                for (i, v) in index.iter().zip(values) {
                    out[i.at()] += v * x;
                }
            }
        }
    }

    /// `A' y`.
    pub fn transposed_times(&self, y: &[f64]) -> Vec<f64> {
        let inner = |j: usize| {
            let (index, values) = self.column(j);
            index.iter().zip(values).map(|(i, v)| v * y[i.at()]).sum()
        };
        (0..self.columns()).map(inner).collect()
    }
}

impl Csc {
    /// Adds a column whose rows may be in any order.
    pub fn push(&mut self, mut column: Vec<(usize, f64)>) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        column.sort_unstable_by_key(|(i, _)| *i);
        for (i, v) in column {
            self.index.push(i);
            self.values.push(v);
        }
        self.starts.push(self.index.len());
    }

    /// A matrix without columns.
    pub fn with_rows(rows: usize) -> Self {
        Csc {
            rows,
            starts: vec![0],
            ..Csc::default()
        }
    }

    /// The entries that are not zero of a matrix stored by columns.
    ///
    /// Errors: [`Error::HostMemory`](crate::base::error::Error::HostMemory).
    pub fn from_dense(rows: usize, values: &[f64]) -> Result<Self> {
        let columns = values.chunks_exact(rows.max(1));
        // Counted first: what grows takes up to three times as much.
        let entries = values.iter().filter(|v| **v != 0.0).count();
        let mut out = Csc {
            rows,
            starts: room(columns.len() + 1)?,
            index: room(entries)?,
            values: room(entries)?,
        };
        out.starts.push(0);
        for column in columns {
            for (i, v) in column.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                out.index.push(i);
                out.values.push(*v);
            }
            out.starts.push(out.index.len());
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_memory_than_entries() {
        let values: Vec<f64> = (0..35).map(|i| f64::from(i % 3)).collect();
        let a = Csc::from_dense(5, &values).unwrap();
        assert_eq!(
            (a.columns(), a.index.len(), a.column(1).0),
            (7, 23, &[0, 2, 3][..])
        );
        assert_eq!(a.column(1).1, [2.0, 1.0, 2.0]);
        let room = (a.starts.capacity(), a.index.capacity(), a.values.capacity());
        assert_eq!(room, (8, 23, 23));
        for (rows, columns) in [(0, 0), (3, 0)] {
            assert_eq!(Csc::from_dense(rows, &[]).unwrap().columns(), columns);
        }
    }

    #[test]
    fn a_transpose_has_rows_for_columns() {
        let values: Vec<f64> = (0..35).map(|i| f64::from(i % 3)).collect();
        let a = Csc::from_dense(5, &values).unwrap();
        let turned: Vec<f64> = (0..35).map(|p| values[p / 7 + p % 7 * 5]).collect();
        assert_eq!(
            a.transposed().unwrap(),
            Csc::from_dense(7, &turned).unwrap()
        );
        assert_eq!(a.transposed().unwrap().transposed().unwrap(), a);
        let empty = Csc::with_rows(3).transposed().unwrap();
        assert_eq!((empty.rows, empty.starts), (0, vec![0; 4]));
    }

    #[test]
    fn what_is_out_of_order_or_range_is_refused() {
        let of = |starts: &[usize], index: &[i32]| {
            let values = vec![1.0; index.len()];
            Csc::new(3, starts.to_vec(), index.to_vec(), values).is_ok()
        };
        assert!(of(&[0, 2, 2, 3], &[0, 2, 1]));
        for starts in [&[0, 2][..], &[1, 3], &[0, 4, 3], &[]] {
            assert!(!of(starts, &[0, 2, 1]), "{starts:?}");
        }
        for index in [[2, 0, 1], [0, 0, 1], [-1, 2, 1], [0, 3, 1], [0, 2, -5]] {
            assert!(!of(&[0, 2, 3], &index), "{index:?}");
        }
        assert!(Csc::new(3, vec![0, 1], vec![0], vec![]).is_err());
    }
}
