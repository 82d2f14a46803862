//! Blocks of `blocks` in memory of the host.

use super::blocks::Blocks;
use crate::base::columns::{advance, dot, norm, norm_of, pairs, products};
use crate::base::error::{Error, Result};
use crate::base::scalar::try_zeroed;
use crate::base::threads::{resolve, share};

/// A matrix by columns.
#[derive(Debug, Clone, PartialEq)]
pub struct HostBlock {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl HostBlock {
    /// From a matrix stored by columns.
    pub fn new(rows: usize, columns: usize, values: Vec<f64>) -> Result<Self> {
        if rows.checked_mul(columns) != Some(values.len()) {
            return Err(Error::Dimension {
                what: "a block has not as many numbers as its shape says".into(),
            });
        }
        Ok(HostBlock {
            rows,
            columns,
            values,
        })
    }

    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// All of them, by columns.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// Of a block without rows all are empty.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.rows..(j + 1) * self.rows]
    }

    pub fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.values[j * self.rows..(j + 1) * self.rows]
    }
}

/// The arithmetic of [`HostBlock`]s, the same with any number of threads.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    pub(crate) threads: usize,
}

impl Host {
    /// At most this many threads; 0 asks the environment and the machine.
    pub fn new(threads: usize) -> Self {
        Host {
            threads: resolve(threads),
        }
    }

    /// At most so many are used.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// How many threads pass over a vector of so many numbers.
    pub fn share(&self, numbers: usize) -> usize {
        share(self.threads, PASSING * numbers as f64)
    }
}

/// An entry on its way from memory and back costs about as much as this many multiplications.
const PASSING: f64 = 16.0;

impl Blocks for Host {
    type Block = HostBlock;

    fn shape(&self, x: &HostBlock) -> (usize, usize) {
        x.shape()
    }

    fn zeros(&self, rows: usize, columns: usize) -> Result<HostBlock> {
        HostBlock::new(rows, columns, try_zeroed(rows.saturating_mul(columns))?)
    }

    fn copy(&self, x: &HostBlock) -> Result<HostBlock> {
        let mut out = self.zeros(x.rows, x.columns)?;
        self.assign(x, &mut out)?;
        Ok(out)
    }

    fn assign(&self, x: &HostBlock, to: &mut HostBlock) -> Result<()> {
        let threads = self.share(x.values.len());
        pairs(&x.values, &mut to.values, threads, &|x, to| *to = x);
        Ok(())
    }

    fn dots(&self, x: &HostBlock, y: &HostBlock) -> Result<Vec<f64>> {
        let threads = self.share(x.rows);
        let of = |j| dot(x.column(j), y.column(j), threads);
        Ok((0..x.columns).map(of).collect())
    }

    fn norms(&self, x: &HostBlock) -> Result<Vec<f64>> {
        let threads = self.share(x.rows);
        let of = |j| norm(x.column(j), threads);
        Ok((0..x.columns).map(of).collect())
    }

    fn add(&self, x: &HostBlock, by: &[f64], y: &mut HostBlock) -> Result<()> {
        let threads = self.share(x.rows);
        for (j, by) in by.iter().enumerate() {
            pairs(x.column(j), y.column_mut(j), threads, &|x, y| *y += by * x);
        }
        Ok(())
    }

    fn add_to(&self, x: &HostBlock, by: &[f64], y: &mut HostBlock) -> Result<()> {
        let threads = self.share(x.rows);
        for (j, by) in by.iter().enumerate() {
            let y = y.column_mut(j);
            pairs(x.column(j), y, threads, &|x, y| *y = x + by * *y);
        }
        Ok(())
    }

    fn advance(
        &self,
        steps: &[f64],
        (p, x): (&HostBlock, &mut HostBlock),
        (q, r): (&HostBlock, &mut HostBlock),
    ) -> Result<Vec<f64>> {
        let threads = self.share(2 * x.rows);
        let of = |(j, step): (usize, &f64)| {
            let (x, to) = (
                (p.column(j), x.column_mut(j)),
                (q.column(j), r.column_mut(j)),
            );
            let square = advance(*step, x, to, threads);
            norm_of(square, r.column(j))
        };
        Ok(steps.iter().enumerate().map(of).collect())
    }

    fn subtract(&self, x: &HostBlock, y: &mut HostBlock) -> Result<()> {
        let threads = self.share(x.values.len());
        pairs(&x.values, &mut y.values, threads, &|x, y| *y -= x);
        Ok(())
    }

    fn exponents(&self) -> f64 {
        1000.0
    }

    fn scaled(&self, x: &HostBlock, by: &[f64]) -> Result<HostBlock> {
        let mut out = self.zeros(x.rows, x.columns)?;
        let threads = self.share(x.rows);
        for (j, by) in by.iter().enumerate() {
            let to = out.column_mut(j);
            pairs(x.column(j), to, threads, &|x, to| *to = by * x);
        }
        Ok(out)
    }

    fn multiply_rows(&self, d: &HostBlock, x: &HostBlock, out: &mut HostBlock) -> Result<()> {
        let threads = self.share(x.rows);
        for j in 0..x.columns {
            let both = (&d.values[..], x.column(j));
            products(both, out.column_mut(j), threads);
        }
        Ok(())
    }

    fn column(&self, x: &[f64]) -> Result<HostBlock> {
        let mut out = self.zeros(x.len(), 1)?;
        out.values.copy_from_slice(x);
        Ok(out)
    }

    fn gather(&self, x: &HostBlock, columns: &[usize]) -> Result<HostBlock> {
        let mut out = self.zeros(x.rows, columns.len())?;
        for (to, from) in columns.iter().enumerate() {
            out.column_mut(to).copy_from_slice(x.column(*from));
        }
        Ok(out)
    }

    fn scatter(&self, x: &HostBlock, columns: &[usize], to: &mut HostBlock) -> Result<()> {
        for (from, at) in columns.iter().enumerate() {
            to.column_mut(*at).copy_from_slice(x.column(from));
        }
        Ok(())
    }
}
