//! Whether systems with a sparse matrix are solved by its complete factor or by conjugate gradients
//! with IC(0).
//!
//! How many iterations there will be is not known beforehand: they depend on numbers. On a grid
//! they grow as its sides, and Poisson's equation in the plane takes about half of a side for half
//! of the digits. In space, where there are fewer, factors cost so much more that it makes no
//! difference. A diagonal that dominates bounds the condition number, and so the iterations,
//! whatever the graph is.

use crate::algo::krylov::host_blocks::Host;
use crate::algo::sparse::cholesky::{Ordered, SparseCholesky};
use crate::algo::sparse::levels::widest_level;
use crate::base::error::{Error, Result};
use crate::base::scalar::try_zeroed;
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::{Stored, Symmetric};

/// An entry of the matrix costs an iteration with IC(0) as much time as so many of the factor's
/// multiplications.
const ITERATION: f64 = 20.0;

/// IC(0) itself takes as long as so many iterations.
const SETUP: f64 = 5.0;

/// IC(0) takes one iteration where Jacobi's preconditioner takes about so many: on grids in the
/// plane and in space, whatever is added to the diagonal.
const JACOBI: f64 = 3.0;

/// Grids in the plane and in space take about this many times the cube of their widest level for a
/// factor, in an order of minimum degree.
const CUBES: f64 = 10.0;

/// By how much that has to be too dear before the order, which may be dear itself, is not asked.
const CLEARLY: f64 = 4.0;

/// What systems are expected to take by conjugate gradients with IC(0).
#[derive(Debug, Clone, Copy)]
pub struct Iterations {
    each: f64,
    columns: usize,
}

impl Iterations {
    /// For so many right-hand sides, to residuals of `tol` times those.
    ///
    /// Errors: [`Error::HostMemory`].
    pub fn expected(a: &Csc, stored: Stored, columns: usize, tol: f64) -> Result<Self> {
        let usual = 0.5 * (a.columns() as f64).sqrt();
        let bound = by_jacobi(radius(a, stored)?, tol) / JACOBI;
        Ok(Iterations {
            each: usual.min(bound),
            columns: columns.max(1),
        })
    }

    /// For each right-hand side.
    pub fn each(&self) -> f64 {
        self.each
    }

    /// In multiplications of a factor, of a matrix with so many entries.
    fn cost(&self, entries: f64) -> f64 {
        (SETUP + self.each * self.columns as f64) * ITERATION * entries
    }
}

/// A bound of how far from 1 the eigenvalues are of a symmetric matrix A whose diagonal D has been
/// scaled to ones, by Gershgorin's circles of `D^-1/2 A D^-1/2` or of `D^-1 A`, which has the same
/// ones. Not below 1 where a diagonal entry is not positive.
fn radius(a: &Csc, stored: Stored) -> Result<f64> {
    let n = a.columns();
    let mut scale: Vec<f64> = try_zeroed(n)?;
    for (j, s) in scale.iter_mut().enumerate() {
        let (rows, values) = a.column(j);
        let d = rows.binary_search(&j).map_or(0.0, |p| values[p]);
        if d.is_nan() || d <= 0.0 {
            return Ok(f64::INFINITY);
        }
        *s = 1.0 / d.sqrt();
    }
    let (mut both, mut rows_alone): (Vec<f64>, Vec<f64>) = (try_zeroed(n)?, try_zeroed(n)?);
    for j in 0..n {
        let (rows, values) = a.column(j);
        for (i, v) in rows.iter().zip(values) {
            if *i == j || !stored.reads(*i, j) {
                continue;
            }
            let (v, si, sj) = (v.abs(), scale[*i], scale[j]);
            both[j] += v * si * sj;
            rows_alone[j] += v * sj * sj;
            if stored != Stored::All {
                both[*i] += v * si * sj;
                rows_alone[*i] += v * si * si;
            }
        }
    }
    let largest = |v: &[f64]| v.iter().copied().fold(0.0, f64::max);
    Ok(largest(&both).min(largest(&rows_alone)))
}

/// The most iterations with Jacobi's preconditioner where eigenvalues are within `radius` of 1: the
/// error's norm is less than `2 ((k - 1) / (k + 1))^i` times the first, k the root of the condition
/// number. Golub & Van Loan, Matrix Computations, theorem 11.3.3.
fn by_jacobi(radius: f64, tol: f64) -> f64 {
    if radius >= 1.0 {
        return f64::INFINITY;
    }
    let root = ((1.0 + radius) / (1.0 - radius)).sqrt();
    ((2.0 / tol).ln() / ((root + 1.0) / (root - 1.0)).ln()).max(0.0)
}

/// Whether a factor may pay, as far as the graph's levels tell: [`pays`] knows it, but takes an
/// order, which takes longer, for graphs without structure several times as long as all of the
/// iterations.
///
/// # Errors
/// As of [`widest_level`].
pub fn may_pay(a: &Symmetric, iterations: Iterations) -> Result<bool> {
    let width = widest_level(a)? as f64;
    let cost = iterations.cost(a.entries() as f64);
    Ok(CUBES * width.powi(3) <= CLEARLY * cost)
}

/// Whether the factor is likely to take less time than iterations.
pub fn pays(order: &Ordered, iterations: Iterations) -> bool {
    order.multiplications() <= iterations.cost(order.entries())
}

/// The complete factor of a matrix, `product` with all of its entries, for so many right-hand sides
/// and residuals of `tol`: where it is likely to take less time than iterations with IC(0), and can
/// be had. It cannot for want of memory, or of a matrix that is singular to rounding, with which
/// conjugate gradients may well converge; of one that is not definite they say so themselves.
///
/// # Errors
/// [`Error::NonFiniteIn`] and [`Error::NotPositiveDefinite`] as of [`Ordered::new`], and
/// [`Error::Interrupted`].
pub fn factor_that_pays(
    (a, stored): (&Csc, Stored),
    product: &Symmetric,
    (columns, tol): (usize, f64),
    host: &Host,
) -> Result<Option<SparseCholesky>> {
    had(attempt((a, stored), product, (columns, tol), host))
}

fn attempt(
    (a, stored): (&Csc, Stored),
    product: &Symmetric,
    (columns, tol): (usize, f64),
    host: &Host,
) -> Result<Option<SparseCholesky>> {
    let iterations = Iterations::expected(a, stored, columns, tol)?;
    if !may_pay(product, iterations)? {
        return Ok(None);
    }
    let order = Ordered::new(a, stored)?;
    match pays(&order, iterations) {
        true => order.factor(host).map(Some),
        false => Ok(None),
    }
}

/// Without what cannot be had. The dimension is that of a factor whose entries have no numbers: a
/// matrix that is not square has no product.
fn had<F>(factor: Result<Option<F>>) -> Result<Option<F>> {
    match factor {
        Err(Error::HostMemory { .. } | Error::Dimension { .. } | Error::IndefinitePivot) => {
            Ok(None)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_and_what_is_wrong() {
        let of = |e: Error| had::<()>(Err(e));
        let what = "too large".to_owned();
        assert_eq!(of(Error::HostMemory { needed: 1 }), Ok(None));
        assert_eq!(of(Error::Dimension { what }), Ok(None));
        assert_eq!(of(Error::IndefinitePivot), Ok(None));
        for e in [
            Error::Interrupted,
            Error::NotPositiveDefinite { order: 1 },
            Error::NonFiniteIn { argument: "A" },
        ] {
            assert_eq!(of(e.clone()), Err(e));
        }
        assert_eq!(had(Ok(Some(1))), Ok(Some(1)));
    }

    #[test]
    fn bounds_of_iterations() {
        // Condition numbers of 9 and 1.
        assert!((by_jacobi(0.8, 2e-6) - 6.0 * 10f64.ln() / 2f64.ln()).abs() < 1e-10);
        assert_eq!(by_jacobi(0.0, 1e-8), 0.0);
        assert_eq!(by_jacobi(0.5, 3.0), 0.0);
        for (radius, tol) in [(1.0, 1e-8), (f64::INFINITY, 1e-8), (0.5, 0.0)] {
            assert_eq!(by_jacobi(radius, tol), f64::INFINITY);
        }
        assert_eq!(by_jacobi(0.0, 0.0), 0.0);
    }
}
