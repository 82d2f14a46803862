//! Problems from their operands to their solutions: operands as R has them, and what must hold.

use cudafactor::algo::krylov::host_blocks::Host;
use cudafactor::algo::krylov::outcome::{End, Stopping};
use cudafactor::algo::systems::preconditioner::PreconditionerName;
use cudafactor::algo::systems::problem::{Matrix, Solved, Systems};
use cudafactor::base::scalar::Scalar;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::Stored;
use cudafactor::device::sparse::Columns;
use faer::Mat;

use super::problem::residual;

pub const TOL: f64 = 1e-9;
pub const COLUMNS: usize = 2;

/// A sparse matrix as R has it.
pub struct Parts {
    starts: Vec<i32>,
    index: Vec<i32>,
    values: Vec<f64>,
    stored: Stored,
}

impl Parts {
    pub fn new(a: &Csc, stored: Stored) -> Self {
        let four = |x: &[usize]| x.iter().map(|i| *i as i32).collect();
        Parts {
            starts: four(&a.starts),
            index: four(&a.index),
            values: a.values.clone(),
            stored,
        }
    }

    pub fn matrix(&self) -> Matrix<'_> {
        Matrix::Sparse(Columns {
            starts: &self.starts,
            index: &self.index,
            values: &self.values,
            stored: self.stored,
        })
    }
}

pub fn by_columns(a: &Mat<f64>) -> Vec<f64> {
    let column = |j: usize| (0..a.nrows()).map(move |i| a[(i, j)]);
    (0..a.ncols()).flat_map(column).collect()
}

/// A covariance of points on a line, with a nugget: no entry is zero.
pub fn covariance(n: usize) -> Mat<f64> {
    Mat::from_fn(n, n, |i, j| {
        let nugget = if i == j { 0.1 } else { 0.0 };
        (-(i.abs_diff(j) as f64) / (0.02 * n as f64)).exp() + nugget
    })
}

/// The upper triangle of the Cholesky factor, by columns.
pub fn factor(a: &Mat<f64>) -> Vec<f64> {
    let l = a.llt(faer::Side::Lower).unwrap();
    by_columns(&l.L().transpose().to_owned())
}

pub fn systems(n: usize, b: &[f64]) -> Systems<'_> {
    Systems {
        n,
        columns: b.len() / n,
        b,
        start: None,
        stop: Stopping {
            tol: TOL,
            maxit: 2000,
        },
        host: Host::new(2),
    }
}

/// That all columns have converged, by residuals computed here.
pub fn check(a: &Csc, b: &[f64], found: &Solved, tol: f64) {
    let (n, s) = (a.rows, &found.solution);
    s.verdict().unwrap();
    assert_eq!(s.ends.len(), b.len() / n);
    for (c, end) in s.ends.iter().enumerate() {
        assert_eq!(*end, End::Converged);
        let at = c * n..(c + 1) * n;
        let off = residual(a, &s.x[at.clone()], &b[at]);
        assert!(off <= tol, "a residual of {off:e}");
        assert!(s.residuals[c] <= tol);
    }
}

/// Looser than what the precision allows.
pub fn tol<T: Scalar>() -> f64 {
    T::EPS.powf(0.6)
}

/// In the order of the columns of the tables below.
pub const ASKED: [PreconditionerName; 7] = [
    PreconditionerName::None,
    PreconditionerName::Jacobi,
    PreconditionerName::Ic0,
    PreconditionerName::Cholesky,
    PreconditionerName::Amg,
    PreconditionerName::Auto,
    PreconditionerName::Default,
];

/// The preconditioners that are built for a dense matrix.
pub const DENSE: [&str; 7] = [
    "none", "jacobi", "cholesky", "cholesky", "cholesky", "cholesky", "jacobi",
];
