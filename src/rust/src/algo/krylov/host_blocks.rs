//! Blocks of `blocks` in memory of the host.

use super::blocks::Blocks;
use crate::base::error::{Error, Result};
use crate::base::scalar::try_zeroed;
use crate::base::threads::{join, resolve, share};

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

/// Entries that one thread takes at once.
const CHUNK: usize = 4096;

/// Where to halve vectors: the tree of sums is the same with any number of threads.
fn half(len: usize) -> usize {
    (len / 2).next_multiple_of(CHUNK)
}

fn dot(x: &[f64], y: &[f64], threads: usize) -> f64 {
    if x.len() <= CHUNK {
        // Several sums, which do not wait for each other.
        let mut sums = [0.0; 8];
        let (whole, rest) = (x.chunks_exact(8), x.chunks_exact(8).remainder());
        let tail = &y[y.len() - rest.len()..];
        for (x, y) in whole.zip(y.chunks_exact(8)) {
            (0..8).for_each(|i| sums[i] += x[i] * y[i]);
        }
        let rest: f64 = rest.iter().zip(tail).map(|(x, y)| x * y).sum();
        return sums.iter().sum::<f64>() + rest;
    }
    let at = half(x.len());
    let (left, right) = join(
        threads,
        |t| dot(&x[..at], &y[..at], t),
        |t| dot(&x[at..], &y[at..], t),
    );
    left + right
}

/// `f` of each pair of entries.
fn pairs(x: &[f64], y: &mut [f64], threads: usize, f: &(impl Fn(f64, &mut f64) + Sync)) {
    if threads < 2 || x.len() <= CHUNK {
        x.iter().zip(y).for_each(|(x, y)| f(*x, y));
        return;
    }
    let at = half(x.len());
    let ((x1, x2), (y1, y2)) = (x.split_at(at), y.split_at_mut(at));
    join(threads, |t| pairs(x1, y1, t, f), |t| pairs(x2, y2, t, f));
}

/// Products of pairs of entries.
fn products((x, y): (&[f64], &[f64]), out: &mut [f64], threads: usize) {
    if threads < 2 || out.len() <= CHUNK {
        let both = x.iter().zip(y);
        out.iter_mut().zip(both).for_each(|(o, (x, y))| *o = x * y);
        return;
    }
    let at = half(out.len());
    let ((x1, x2), (y1, y2)) = (x.split_at(at), y.split_at(at));
    let (a, b) = out.split_at_mut(at);
    join(
        threads,
        |t| products((x1, y1), a, t),
        |t| products((x2, y2), b, t),
    );
}

/// The step of [`Blocks::advance`] for one column; the sum of squares of r, as [`dot`] has it.
fn advance(
    step: f64,
    (p, x): (&[f64], &mut [f64]),
    (q, r): (&[f64], &mut [f64]),
    threads: usize,
) -> f64 {
    if x.len() <= CHUNK {
        p.iter().zip(x).for_each(|(p, x)| *x += step * p);
        q.iter().zip(r.iter_mut()).for_each(|(q, r)| *r -= step * q);
        return dot(r, r, 1);
    }
    let at = half(x.len());
    let ((p1, p2), (q1, q2)) = (p.split_at(at), q.split_at(at));
    let ((x1, x2), (r1, r2)) = (x.split_at_mut(at), r.split_at_mut(at));
    let (left, right) = join(
        threads,
        |t| advance(step, (p1, x1), (q1, r1), t),
        |t| advance(step, (p2, x2), (q2, r2), t),
    );
    left + right
}

/// Squares of numbers in this range neither overflow nor lose digits by underflow, nor do their
/// sums.
pub(super) const PLAIN: std::ops::Range<f64> = 1e-280..1e300;

fn norm(x: &[f64], threads: usize) -> f64 {
    norm_of(dot(x, x, threads), x)
}

/// The norm of x, whose squares have this sum.
fn norm_of(square: f64, x: &[f64]) -> f64 {
    if PLAIN.contains(&square) {
        return square.sqrt();
    }
    // NaN is found by the sum, as a maximum leaves it out.
    let most = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if square.is_nan() || most == 0.0 || most == f64::INFINITY {
        return if square.is_nan() { square } else { most };
    }
    most * x.iter().map(|x| (x / most).powi(2)).sum::<f64>().sqrt()
}

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
