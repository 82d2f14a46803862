//! Every kind of matrix with every preconditioner, from the problem to its solution, as the devices
//! of a call choose: what is built, where, and that the solution is one.

use cudafactor::algo::krylov::blocks::{Operator, Product};
use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::systems::preconditioner::{Built, PreconditionerName};
use cudafactor::algo::systems::problem::{Given, Matrix};
use cudafactor::algo::systems::solve::solve;
use cudafactor::base::error::Error;
use cudafactor::base::processor::Processor;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};

use super::problem::{dense, lower, numbers, poisson, sparse, upper};
use super::whole::{by_columns, check, covariance, systems, Parts, ASKED, COLUMNS, DENSE, TOL};
use crate::common::devices::{Devices, GPU};

const CPU: Processor = Processor::Cpu;

/// Solves with each named preconditioner: the names of those that were built, and the devices.
fn row(a: &Csc, matrix: Matrix<'_>, devices: &Devices) -> ([&'static str; 7], Vec<Processor>) {
    let b = numbers(a.rows * COLUMNS, 3);
    let s = systems(a.rows, &b);
    let built = ASKED.map(|asked| {
        let found = solve(&s, matrix, &Given::Named(asked), devices).unwrap();
        check(a, &b, &found, 1.01 * TOL);
        found.built.unwrap().name()
    });
    (built, devices.ran())
}

const ON_HOST: [&str; 7] = [
    "none", "jacobi", "ic0", "cholesky", "amg", "cholesky", "ic0",
];
const ON_GPU: [&str; 7] = ["none", "jacobi", "ic0", "cholesky", "amg", "amg", "amg"];

#[test]
fn sparse_matrices() {
    let a = poisson(&[24, 20]);
    for parts in [
        Parts::new(&a, Stored::All),
        Parts::new(&lower(&a), Stored::Lower),
        Parts::new(&upper(&a), Stored::Upper),
    ] {
        let expected = (ON_HOST, vec![CPU; 7]);
        assert_eq!(row(&a, parts.matrix(), &Devices::cpu()), expected);
        // Too small for "auto" to take a GPU.
        assert_eq!(row(&a, parts.matrix(), &Devices::auto()), expected);
        // IC(0) and complete factors are the host's.
        let places = vec![GPU, GPU, CPU, CPU, GPU, GPU, GPU];
        let found = row(&a, parts.matrix(), &Devices::gpu());
        assert_eq!(found, (ON_GPU, places));
    }
}

/// Strong diagonals make iterations cheaper than a factor.
#[test]
fn auto_iterates_where_a_factor_does_not_pay() {
    let mut a = poisson(&[14, 14, 14]);
    for j in 0..a.columns() {
        for p in a.starts[j]..a.starts[j + 1] {
            if a.index[p] == j {
                a.values[p] += 100.0;
            }
        }
    }
    let b = numbers(a.rows, 3);
    let s = systems(a.rows, &b);
    let given = Given::Named(PreconditionerName::Auto);
    let parts = Parts::new(&a, Stored::All);
    let found = solve(&s, parts.matrix(), &given, &Devices::cpu()).unwrap();
    check(&a, &b, &found, 1.01 * TOL);
    assert_eq!(found.built, Some(Built::Ic0));
}

#[test]
fn auto_takes_a_gpu_for_a_large_sparse_matrix() {
    let a = poisson(&[224, 225]);
    let b = numbers(a.rows, 3);
    let s = systems(a.rows, &b);
    let parts = Parts::new(&a, Stored::All);
    let solved = |asked, devices: &Devices| {
        let found = solve(&s, parts.matrix(), &Given::Named(asked), devices);
        found.map(|found| {
            check(&a, &b, &found, 1.01 * TOL);
            (found.built.unwrap(), devices.ran(), devices.recovered.get())
        })
    };
    let auto = PreconditionerName::Auto;
    let found = solved(auto, &Devices::auto()).unwrap();
    assert_eq!(found, (Built::Multigrid, vec![GPU], 0));
    // A GPU that fails is replaced: by the host's preconditioner, or by the same on the CPU.
    let failing = || Devices {
        fails: true,
        ..Devices::auto()
    };
    let found = solved(PreconditionerName::Default, &failing()).unwrap();
    assert_eq!(found, (Built::Ic0, vec![GPU, CPU], 1));
    let found = solved(PreconditionerName::Amg, &failing()).unwrap();
    assert_eq!(found, (Built::Multigrid, vec![GPU, CPU], 1));
    // One that the user named is not.
    let named = Devices {
        fails: true,
        ..Devices::gpu()
    };
    let e = solved(auto, &named).unwrap_err();
    assert!(matches!(e, Error::DeviceFailed { .. }));
}

#[test]
fn dense_matrices() {
    let a = covariance(120);
    let (values, entries) = (by_columns(&a), sparse(&a));
    let matrix = Matrix::Dense(&values);
    let found = row(&entries, matrix, &Devices::cpu());
    assert_eq!(found, (DENSE, vec![CPU; 7]));
    let found = row(&entries, matrix, &Devices::auto());
    assert_eq!(found, (DENSE, vec![CPU; 7]));
    let found = row(&entries, matrix, &Devices::gpu());
    assert_eq!(found, (DENSE, vec![GPU; 7]));
    let failing = Devices {
        fails: true,
        gpu_from: Some(1.0),
        ..Devices::auto()
    };
    let found = row(&entries, matrix, &failing);
    assert_eq!(found, (DENSE, [GPU, CPU].repeat(7)));
}

#[test]
fn dense_matrices_that_are_mostly_zero() {
    let a = poisson(&[24, 20]);
    let values = by_columns(&dense(&a));
    let matrix = Matrix::Dense(&values);
    // Multigrid needs a matrix that is sparse in R.
    let b = numbers(a.rows * COLUMNS, 3);
    let s = systems(a.rows, &b);
    for (asked, expected) in ASKED.into_iter().zip(ON_HOST) {
        let devices = Devices::auto();
        let found = solve(&s, matrix, &Given::Named(asked), &devices);
        match found {
            Ok(found) => {
                check(&a, &b, &found, 1.01 * TOL);
                assert_eq!(found.built.unwrap().name(), expected);
                assert_eq!(devices.ran(), [CPU]);
            }
            Err(e) => {
                assert_eq!(asked, PreconditionerName::Amg);
                assert!(matches!(e, Error::Internal { .. }));
            }
        }
    }
    // On a GPU it is dense.
    let found = row(&a, matrix, &Devices::gpu());
    assert_eq!(found, (DENSE, vec![GPU; 7]));
}

#[test]
fn functions() {
    let a = poisson(&[24, 20]);
    let product = Symmetric::new(&a, Stored::All).unwrap();
    let host = Host::new(2);
    let f = Product {
        order: a.rows,
        multiply: |x: &HostBlock, out: &mut HostBlock| product.multiply(&host, x, out),
    };
    for devices in [Devices::cpu(), Devices::auto(), Devices::gpu()] {
        let found = row(&a, Matrix::Function(&f), &devices);
        assert_eq!(found, (["none"; 7], vec![CPU; 7]));
    }
}
