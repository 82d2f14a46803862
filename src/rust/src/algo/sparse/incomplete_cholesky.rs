//! Incomplete Cholesky factors of sparse symmetric positive definite matrices.
//!
//! `A ~ L L'` with a sparse L, in the order of the rows as they are. Without fill, IC(0), L has
//! entries where A has some, and there `L L'` is A (Meijerink & van der Vorst 1977, Math. Comp.
//! 31:148). With a threshold, those entries are left out that are small beside their column of A
//! (as in Munksgaard 1980, ACM TOMS 6:206). Such a factor exists for M- and H-matrices; others may
//! have a pivot that is not positive (Kershaw 1978, J. Comput. Phys. 26:43). Then
//! `A + alpha diag(A)` is factored instead, alpha as small as doubling finds it (Manteuffel 1980,
//! Math. Comp. 34:473).

use super::incomplete_cholesky_columns::{factor, Lower};
use crate::algo::krylov::blocks::Blocks;
use crate::algo::krylov::blocks::{check_diagonal, require_order, Preconditioner};
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::algo::sparse::incomplete_cholesky_columns::Fill;
use crate::base::error::{Error, Result};
use crate::base::scalar::try_zeroed;
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::Stored;
use crate::base::threads::{join, share};

/// The first shift that is tried.
const FIRST: f64 = 1e-3;

/// With so large a shift rounding alone could stop a factorization.
const LAST: f64 = 1e15;

/// The factor L, by which systems with `L L'` are solved.
pub struct IncompleteCholesky {
    l: Lower,
    /// `1 / L[j, j]`.
    inverse: Vec<f64>,
    shift: f64,
    failures: usize,
}

impl IncompleteCholesky {
    /// Of a symmetric matrix, of which one triangle is read.
    ///
    /// Errors: [`Error::Dimension`] of a matrix that is not square, [`Error::Argument`] of a
    /// threshold that is negative or NaN, [`Error::NonFiniteIn`] of an entry,
    /// [`Error::NotPositiveDefinite`] of a diagonal entry that is not greater than zero, with the
    /// order of a minor that has it in its corner.
    pub fn new(a: &Csc, stored: Stored, fill: Fill) -> Result<Self> {
        if matches!(fill, Fill::Threshold(t) if t.is_nan() || t < 0.0) {
            return Err(Error::Argument {
                argument: "droptol",
                what: "the threshold is negative or not a number".into(),
            });
        }
        let a = Lower::of(a, stored)?;
        check_diagonal(&a.diagonal)?;
        let (mut shift, mut failures) = (0.0, 0);
        let l = loop {
            match factor(&a, fill, shift)? {
                Ok(l) => break l,
                Err(j) if shift > LAST => return Err(Error::NotPositiveDefinite { order: j + 1 }),
                Err(_) => failures += 1,
            }
            shift = if shift == 0.0 { FIRST } else { 2.0 * shift };
        };
        IncompleteCholesky::with(l, shift, failures)
    }

    /// From a factor L, all of it below the diagonal or on that.
    ///
    /// Errors name the `argument`: [`Error::NonFiniteIn`] of an entry, [`Error::Argument`] of a
    /// diagonal entry that is not greater than zero, or has an infinite reciprocal. And
    /// [`Error::Dimension`] of a matrix that is not square.
    pub fn from_lower(l: &Csc, argument: &'static str) -> Result<Self> {
        let l = Lower::of(l, Stored::Lower).map_err(|e| match e {
            Error::NonFiniteIn { .. } => Error::NonFiniteIn { argument },
            other => other,
        })?;
        // As are their reciprocals, which a tiny one has not.
        if !l.diagonal.iter().all(|d| *d > 0.0 && (1.0 / d).is_finite()) {
            return Err(Error::Argument {
                argument,
                what: "the diagonal of a Cholesky factor must be positive".into(),
            });
        }
        IncompleteCholesky::with(l, 0.0, 0)
    }

    fn with(l: Lower, shift: f64, failures: usize) -> Result<Self> {
        let mut inverse = try_zeroed(l.diagonal.len())?;
        let entries = inverse.iter_mut().zip(&l.diagonal);
        entries.for_each(|(i, d): (&mut f64, &f64)| *i = 1.0 / d);
        Ok(IncompleteCholesky {
            l,
            inverse,
            shift,
            failures,
        })
    }

    pub fn order(&self) -> usize {
        self.inverse.len()
    }

    /// alpha of `A + alpha diag(A)`, which was factored; 0 where A itself was.
    pub fn shift(&self) -> f64 {
        self.shift
    }

    /// How many factorizations failed before.
    pub fn failures(&self) -> usize {
        self.failures
    }

    /// Entries of L, with the diagonal.
    pub fn entries(&self) -> usize {
        self.order() + self.l.index.len()
    }

    /// L by columns, each of which begins with its diagonal entry.
    pub fn lower(&self) -> Result<Csc> {
        let mut out = Csc::with_rows(self.order());
        let needed = self.entries() as u64 * 16;
        let failed = |_| Error::HostMemory { needed };
        out.index.try_reserve(self.entries()).map_err(failed)?;
        out.values.try_reserve(self.entries()).map_err(failed)?;
        for (j, d) in self.l.diagonal.iter().enumerate() {
            let below = self.l.starts[j]..self.l.starts[j + 1];
            out.index.push(j);
            out.values.push(*d);
            let rows = self.l.index[below.clone()].iter();
            out.index.extend(rows.map(|i| *i as usize));
            out.values.extend_from_slice(&self.l.values[below]);
            out.starts.push(out.index.len());
        }
        Ok(out)
    }

    /// `X <- L^-1 X` for X of order() rows stored by columns, each of them as if it were alone.
    pub fn solve_lower(&self, x: &mut [f64], threads: usize) {
        self.each(x, threads, Half::Lower);
    }

    /// `X <- L'^-1 X`.
    pub fn solve_upper(&self, x: &mut [f64], threads: usize) {
        self.each(x, threads, Half::Upper);
    }

    /// How many of `threads` solve systems with so many right-hand sides.
    pub fn share(&self, columns: usize, threads: usize) -> usize {
        share(threads, ENTRY * (self.entries() * columns) as f64)
    }

    /// Columns are independent of each other; within one each row waits for others.
    fn each(&self, x: &mut [f64], threads: usize, half: Half) {
        let n = self.order();
        if n == 0 {
            return;
        }
        let columns = x.len() / n;
        self.part(x, columns, self.share(columns, threads), half);
    }

    fn part(&self, x: &mut [f64], columns: usize, threads: usize, half: Half) {
        let n = self.order();
        if threads > 1 && columns > 1 {
            let at = (columns * (threads / 2) / threads).max(1);
            let (left, right) = x.split_at_mut(at * n);
            join(
                threads,
                |t| self.part(left, at, t, half),
                |t| self.part(right, columns - at, t, half),
            );
            return;
        }
        let mut rest = x.chunks_exact_mut(n);
        while let Some(a) = rest.next() {
            if rest.len() < TOGETHER - 1 {
                self.columns([a], half);
            } else if let (Some(b), Some(c), Some(d)) = (rest.next(), rest.next(), rest.next()) {
                self.columns([a, b, c, d], half);
            }
        }
    }

    fn columns<const K: usize>(&self, mut x: [&mut [f64]; K], half: Half) {
        let n = self.order();
        let below = |j: usize| {
            let at = self.l.starts[j]..self.l.starts[j + 1];
            self.l.index[at.clone()].iter().zip(&self.l.values[at])
        };
        match half {
            Half::Lower => {
                for j in 0..n {
                    let mut by = [0.0; K];
                    for (by, x) in by.iter_mut().zip(&mut x) {
                        x[j] *= self.inverse[j];
                        *by = x[j];
                    }
                    for (i, v) in below(j) {
                        for (x, by) in x.iter_mut().zip(by) {
                            x[*i as usize] -= v * by;
                        }
                    }
                }
            }
            Half::Upper => {
                for j in (0..n).rev() {
                    let mut sums = [0.0; K];
                    for (i, v) in below(j) {
                        for (sum, x) in sums.iter_mut().zip(&x) {
                            *sum += v * x[*i as usize];
                        }
                    }
                    for (x, sum) in x.iter_mut().zip(sums) {
                        x[j] = (x[j] - sum) * self.inverse[j];
                    }
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Half {
    Lower,
    Upper,
}

/// Right-hand sides that are solved together.
const TOGETHER: usize = 4;

/// An entry of the factor costs about as much as this many multiplications.
const ENTRY: f64 = 4.0;

impl Preconditioner<Host> for IncompleteCholesky {
    fn solve(&self, host: &Host, r: &HostBlock, out: &mut HostBlock) -> Result<()> {
        require_order(self.order(), r.shape().0)?;
        host.assign(r, out)?;
        self.solve_lower(out.values_mut(), host.threads);
        self.solve_upper(out.values_mut(), host.threads);
        Ok(())
    }
}
