//! Sparse matrices of linear programs, compressed by columns.

use crate::base::error::{Error, Result};
use crate::base::scalar::room;
use crate::device::sparse::Columns;

/// Rows within columns ascend, none is named twice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Csc {
    pub rows: usize,
    /// Where each column begins, and the last one ends.
    pub starts: Vec<usize>,
    pub index: Vec<usize>,
    pub values: Vec<f64>,
}

fn wrong(what: &str) -> Error {
    Error::Dimension {
        what: format!("a sparse matrix {what}"),
    }
}

/// Places that are numbers of four bytes, from 0.
fn places(all: &[i32]) -> Result<Vec<usize>> {
    let mut out = room(all.len())?;
    for i in all {
        out.push(
            usize::try_from(*i).map_err(|_| wrong("has rows that are out of order or range"))?,
        );
    }
    Ok(out)
}

impl Csc {
    /// A matrix whose parts were checked.
    pub fn new(
        rows: usize,
        starts: Vec<usize>,
        index: Vec<usize>,
        values: Vec<f64>,
    ) -> Result<Self> {
        let ends = starts.first() == Some(&0) && starts.last() == Some(&index.len());
        if !ends || index.len() != values.len() || starts.windows(2).any(|w| w[0] > w[1]) {
            return Err(wrong("has parts that do not fit together"));
        }
        for w in starts.windows(2) {
            let column = &index[w[0]..w[1]];
            if column.windows(2).any(|w| w[0] >= w[1]) || column.last().is_some_and(|i| *i >= rows)
            {
                return Err(wrong("has rows that are out of order or range"));
            }
        }
        Ok(Csc {
            rows,
            starts,
            index,
            values,
        })
    }

    /// A copy of a matrix of so many rows whose parts are checked.
    ///
    /// Errors: [`Error::Dimension`] and [`Error::HostMemory`].
    pub fn from_columns(rows: usize, a: Columns<'_>) -> Result<Self> {
        let mut values = room(a.values.len())?;
        values.extend_from_slice(a.values);
        Csc::new(rows, places(a.starts)?, places(a.index)?, values)
    }

    pub fn columns(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Rows and values of a column.
    pub fn column(&self, j: usize) -> (&[usize], &[f64]) {
        let at = self.starts[j]..self.starts[j + 1];
        (&self.index[at.clone()], &self.values[at])
    }

    /// `out <- out + A x`.
    pub fn add_times(&self, x: &[f64], out: &mut [f64]) {
        for (j, x) in x.iter().enumerate() {
            if *x != 0.0 {
                let (index, values) = self.column(j);
                for (i, v) in index.iter().zip(values) {
                    out[*i] += v * x;
                }
            }
        }
    }

    /// `A' y`.
    pub fn transposed_times(&self, y: &[f64]) -> Vec<f64> {
        let inner = |j: usize| {
            let (index, values) = self.column(j);
            index.iter().zip(values).map(|(i, v)| v * y[*i]).sum()
        };
        (0..self.columns()).map(inner).collect()
    }

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

    /// Of an empty matrix.
    pub fn with_rows(rows: usize) -> Self {
        Csc {
            rows,
            starts: vec![0],
            ..Csc::default()
        }
    }

    /// The entries that are not zero of a matrix stored by columns.
    ///
    /// Errors: [`Error::HostMemory`].
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

    /// Whether more than half of the entries of `A A'` are there, as far as a sample of rows tells,
    /// without some columns: then nothing is gained by leaving zeros out.
    pub fn fills_its_product(&self, without: impl Fn(usize) -> bool) -> bool {
        let columns = || (0..self.columns()).filter(|j| !without(*j));
        let of_column = |j: usize| ((self.starts[j + 1] - self.starts[j]) as f64).powi(2);
        if columns().map(of_column).sum::<f64>() < 0.5 * (self.rows as f64).powi(2) {
            return false;
        }
        let mut by_row = vec![Vec::new(); self.rows];
        for j in columns() {
            let (index, _) = self.column(j);
            index.iter().for_each(|i| by_row[*i].push(j));
        }
        let step = (self.rows / SAMPLE).max(1);
        let (mut met, mut asked) = (0, 0);
        let mut seen = vec![usize::MAX; self.rows];
        for i in (0..self.rows).step_by(step) {
            for j in &by_row[i] {
                for k in self.column(*j).0 {
                    met += usize::from(seen[*k] != i);
                    seen[*k] = i;
                }
            }
            asked += self.rows;
        }
        2 * met > asked
    }
}

/// Rows that are looked at.
const SAMPLE: usize = 64;

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
}
