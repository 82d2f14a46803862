//! A linear program on the device that is chosen for it, with a sparse or a dense matrix, in double
//! or in mixed precision.

use faer::MatRef;

use super::normal::dense_constraints::DenseConstraints;
use super::normal::density::is_for_dense;
use super::normal::mixed_precision::MixedConstraints;
use super::normal::sparse::SparseConstraints;
use super::problem::Problem;
use super::solve::{solve, LpSolution, Options};
use crate::base::error::Result;
use crate::base::processor::Processor;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::sparse::csc::Csc;
use crate::cost::work::Work;
use crate::device::dispatch::{AnyDevice, Dispatch, Routine};
use crate::device::elementwise::Elementwise;
use crate::device::memory::Memory;

/// The constraints in memory of the host.
pub enum ConstraintMatrix<'m> {
    /// Rows and columns, and all entries by columns.
    Dense((usize, usize), &'m [f64]),
    Sparse(Csc),
}

/// Share of nonzero entries below which a dense matrix becomes a sparse one.
const SPARSE: f64 = 0.25;
/// Rows up to which a sparse matrix stays one, whatever its normal equations are.
const DENSE_ROWS: usize = 50;

/// Solves a linear program.
///
/// A sparse matrix stays one, on the CPU, unless the user names a GPU or its normal equations have
/// few zeros. A dense matrix with few entries becomes a sparse one, except in single precision. All
/// others are dense, on the device for [`Work::linear_program`]; where the user asks for single
/// precision, in mixed precision.
///
/// # Errors
/// As of [`solve`], and what the device answers.
pub fn solve_on(
    devices: &impl Dispatch,
    a: ConstraintMatrix<'_>,
    p: &Problem<'_>,
    options: &Options,
) -> Result<LpSolution> {
    match a {
        ConstraintMatrix::Dense(dim, x) => {
            let filled = x.iter().filter(|x| **x != 0.0).count();
            if !devices.is_single() && (filled as f64) < SPARSE * x.len() as f64 {
                let a = Csc::from_dense(dim.0, x)?;
                if stays_sparse(devices, &a, p) {
                    return solve_sparse(devices, &a, p, options);
                }
            }
            solve_dense(devices, (dim, x), p, options)
        }
        ConstraintMatrix::Sparse(a) => {
            if stays_sparse(devices, &a, p) {
                return solve_sparse(devices, &a, p, options);
            }
            let x = filled(&a)?;
            solve_dense(devices, ((a.rows, a.columns()), &x), p, options)
        }
    }
}

/// Solves a linear program with a matrix on the device, in its precision.
///
/// # Errors
/// As of [`solve`].
pub fn solve_resident<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    p: &Problem<'_>,
    options: &Options,
) -> Result<LpSolution> {
    solve(&DenseConstraints::<T, _>::new(dev, a), p, options)
}

/// Whether a program with this sparse matrix is solved without its zeros.
fn stays_sparse(devices: &impl Dispatch, a: &Csc, p: &Problem<'_>) -> bool {
    let names_gpu = matches!(devices.processor(0.0.into()), Processor::Cuda(_));
    !(names_gpu || a.rows > DENSE_ROWS && is_for_dense(a, p))
}

/// All entries, by columns.
fn filled(a: &Csc) -> Result<Vec<f64>> {
    let mut x = try_zeroed::<f64>(a.rows.saturating_mul(a.columns()))?;
    for j in 0..a.columns() {
        let (index, values) = a.column(j);
        let column = &mut x[j * a.rows..(j + 1) * a.rows];
        index.iter().zip(values).for_each(|(i, v)| column[*i] = *v);
    }
    Ok(x)
}

fn solve_sparse(
    devices: &impl Dispatch,
    a: &Csc,
    problem: &Problem<'_>,
    options: &Options,
) -> Result<LpSolution> {
    let work = Work::from(a.values.len() as f64).of((a.rows, a.columns()));
    let mut routine = SparseRoutine {
        a,
        problem,
        options,
    };
    devices.run_on(Processor::Cpu, Some(work), &mut routine)
}

struct SparseRoutine<'p> {
    a: &'p Csc,
    problem: &'p Problem<'p>,
    options: &'p Options,
}

impl Routine for SparseRoutine<'_> {
    type Value = LpSolution;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<LpSolution> {
        solve(
            &SparseConstraints::new(dev, self.a),
            self.problem,
            self.options,
        )
    }
}

fn solve_dense(
    devices: &impl Dispatch,
    ((m, n), x): ((usize, usize), &[f64]),
    problem: &Problem<'_>,
    options: &Options,
) -> Result<LpSolution> {
    let a = MatRef::from_column_major_slice(x, m, n);
    let mut routine = DenseRoutine {
        a,
        problem,
        options,
    };
    devices.run(Work::linear_program(m, n), &mut routine)
}

struct DenseRoutine<'p> {
    a: MatRef<'p, f64>,
    problem: &'p Problem<'p>,
    options: &'p Options,
}

impl Routine for DenseRoutine<'_> {
    type Value = LpSolution;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<LpSolution> {
        let a = Memory::<f64>::load(dev, self.a)?;
        let a = DenseConstraints::<f64, _>::new(dev, &a);
        match T::EPS > f64::EPSILON {
            true => solve(&MixedConstraints::new(a), self.problem, self.options),
            false => solve(&a, self.problem, self.options),
        }
    }
}
