//! Sparse matrices of linear programs, compressed by columns.

use crate::error::{Error, Result};

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
}
