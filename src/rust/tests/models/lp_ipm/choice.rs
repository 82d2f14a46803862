//! Linear programs from the problem to the solution, as the devices of a call choose: dense or
//! sparse, where, and in which precision.

use cudafactor::algo::lp::choice::{solve_on, solve_resident, ConstraintMatrix};
use cudafactor::algo::lp::ipm::iterate::Status;
use cudafactor::algo::lp::solve::{LpSolution, Options};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::Error;
use cudafactor::base::processor::Processor;
use cudafactor::base::scalar::Scalar;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::device::memory::Memory;
use faer::MatRef;

use super::problem::Lp;
use super::INF;
use crate::common::devices::{Devices, GPU};

const CPU: Processor = Processor::Cpu;

/// Work of any amount goes to a GPU; without work there is no reason for one.
fn eager() -> Devices {
    Devices {
        gpu_from: Some(1.0),
        ..Devices::auto()
    }
}

fn single(devices: Devices) -> Devices {
    Devices {
        single: true,
        ..devices
    }
}

/// Covers each of m rows at least once at the least cost, with n columns, of which column j has an
/// entry in row i where `has(i, j)`.
fn cover(m: usize, n: usize, has: impl Fn(usize, usize) -> bool) -> Lp {
    let entry = |i: usize, j: usize| match has(i, j) {
        true => 1.0 + ((3 * i + 5 * j) % 7) as f64 / 8.0,
        false => 0.0,
    };
    let a: Vec<Vec<f64>> = (0..m)
        .map(|i| (0..n).map(|j| entry(i, j)).collect())
        .collect();
    let a: Vec<&[f64]> = a.iter().map(|row| &row[..]).collect();
    let costs: Vec<f64> = (0..n).map(|j| 1.0 + (j % 5) as f64).collect();
    Lp::new(&costs, &a, &vec![(1.0, INF); m])
}

/// A few entries next to the diagonal.
fn band(m: usize) -> Lp {
    cover(m, m + 2, |i, j| j >= i && j < i + 3)
}

/// One column has an entry in every row, so that the normal equations have no zero.
fn arrow(m: usize) -> Lp {
    cover(m, m + 1, |i, j| j == 0 || j == i + 1)
}

fn full(m: usize) -> Lp {
    cover(m, 2 * m, |_, _| true)
}

fn as_dense(lp: &Lp, devices: &Devices) -> (LpSolution, Vec<Processor>) {
    let (values, dim) = (lp.by_columns(), (lp.a.len(), lp.c.len()));
    let a = ConstraintMatrix::Dense(dim, &values);
    let solved = lp.with(|p| solve_on(devices, a, p, &Options::default()));
    (solved.unwrap(), devices.ran())
}

fn as_sparse(lp: &Lp, devices: &Devices) -> (LpSolution, Vec<Processor>) {
    let a = Csc::from_dense(lp.a.len(), &lp.by_columns()).unwrap();
    let solved =
        lp.with(|p| solve_on(devices, ConstraintMatrix::Sparse(a), p, &Options::default()));
    (solved.unwrap(), devices.ran())
}

/// The same solution, number by number.
fn same(a: &LpSolution, b: &LpSolution) {
    assert_eq!((&a.x, &a.y), (&b.x, &b.y));
    assert_eq!(a.log.len(), b.log.len());
}

/// Whether it is solved as a sparse program, on the CPU, or as a dense one, on the GPU.
fn check(lp: &Lp, (s, ran): (LpSolution, Vec<Processor>), is_sparse: bool) {
    assert_eq!(s.status, Status::Optimal);
    lp.check_optimal(&s);
    let expected = match is_sparse {
        true => lp.sparse(&Options::default()),
        false => lp.dense::<f64>(&Options::default()),
    };
    same(&s, &expected.unwrap());
    assert_eq!(ran, [if is_sparse { CPU } else { GPU }]);
}

#[test]
fn dense_matrices() {
    // Few entries: a sparse matrix, unless the normal equations are full or a GPU is named.
    check(&band(30), as_dense(&band(30), &eager()), true);
    check(&band(80), as_dense(&band(80), &eager()), true);
    check(&arrow(30), as_dense(&arrow(30), &eager()), true);
    check(&arrow(80), as_dense(&arrow(80), &eager()), false);
    check(&full(30), as_dense(&full(30), &eager()), false);
    check(&band(80), as_dense(&band(80), &Devices::gpu()), false);
}

#[test]
fn sparse_matrices() {
    check(&band(30), as_sparse(&band(30), &eager()), true);
    check(&band(80), as_sparse(&band(80), &eager()), true);
    // Small ones stay sparse, whatever their entries are.
    check(&full(30), as_sparse(&full(30), &eager()), true);
    check(&arrow(80), as_sparse(&arrow(80), &eager()), false);
    check(&full(80), as_sparse(&full(80), &eager()), false);
    check(&band(80), as_sparse(&band(80), &Devices::gpu()), false);
}

#[test]
fn the_cpu_alone() {
    for lp in [band(80), arrow(80), full(30)] {
        for (s, ran) in [
            as_dense(&lp, &Devices::cpu()),
            as_sparse(&lp, &Devices::cpu()),
        ] {
            assert_eq!((s.status, &ran[..]), (Status::Optimal, &[CPU][..]));
            lp.check_optimal(&s);
        }
    }
}

/// Single precision is mixed precision, of dense matrices.
#[test]
fn single_precision() {
    for lp in [band(80), full(30)] {
        let (s, ran) = as_dense(&lp, &single(eager()));
        same(&s, &lp.mixed(&Options::default()).unwrap());
        assert_eq!(ran, [GPU]);
    }
    let lp = band(80);
    let (s, ran) = as_sparse(&lp, &single(eager()));
    same(&s, &lp.sparse(&Options::default()).unwrap());
    assert_eq!(ran, [CPU]);
}

#[test]
fn a_gpu_that_fails() {
    let lp = full(30);
    let failing = Devices {
        fails: true,
        ..eager()
    };
    let (s, ran) = as_dense(&lp, &failing);
    same(&s, &lp.dense::<f64>(&Options::default()).unwrap());
    assert_eq!(ran, [GPU, CPU]);
    let named = Devices {
        fails: true,
        ..Devices::gpu()
    };
    let (values, dim) = (lp.by_columns(), (lp.a.len(), lp.c.len()));
    let a = ConstraintMatrix::Dense(dim, &values);
    let e = lp.with(|p| solve_on(&named, a, p, &Options::default()));
    assert!(matches!(e, Err(Error::DeviceFailed { .. })));
}

fn resident<T: Scalar>() {
    let lp = full(30);
    let dev = CpuDevice::new(1);
    let values: Vec<T> = lp.by_columns().into_iter().map(T::from_f64).collect();
    let view = MatRef::from_column_major_slice(&values, lp.a.len(), lp.c.len());
    let a = Memory::<T>::load(&dev, view).unwrap();
    let options = Options {
        tolerance: T::EPS.sqrt(),
        ..Options::default()
    };
    let s = lp.with(|p| solve_resident::<T, _>(&dev, &a, p, &options));
    same(&s.unwrap(), &lp.dense::<T>(&options).unwrap());
}

#[test]
fn resident_matrices() {
    resident::<f64>();
    resident::<f32>();
}
