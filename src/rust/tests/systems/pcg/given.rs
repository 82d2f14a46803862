//! Preconditioners that the user gives, and matrices and factors that are on a device: from the
//! problem to its solution.

use cudafactor::algo::krylov::blocks::{Operator, Preconditioner, Product, Solve};
use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::krylov::outcome::Stopping;
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::algo::systems::dense::{
    solve_operator_with, solve_resident, solve_resident_with, triangle_of,
};
use cudafactor::algo::systems::preconditioner::PreconditionerName;
use cudafactor::algo::systems::problem::{Given, Matrix, Systems};
use cudafactor::algo::systems::solve::{solve, work, HostOperator};
use cudafactor::base::error::Error;
use cudafactor::base::matrix::{Part, Uplo};
use cudafactor::base::processor::Processor;
use cudafactor::base::scalar::Scalar;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};
use cudafactor::device::dispatch::Dispatch;
use cudafactor::device::elementwise::Elementwise;
use faer::{Mat, MatRef};

use super::problem::{dense, numbers, poisson, sparse};
use super::whole::{
    by_columns, check, covariance, factor, systems, tol, Parts, ASKED, COLUMNS, DENSE, TOL,
};
use crate::common::devices::Devices;
use crate::common::{for_each_device, Host as HostMatrix};

const CPU: Processor = Processor::Cpu;

/// Preconditioners that the user gives, for every kind of matrix.
#[test]
fn given_preconditioners() {
    let a = poisson(&[24, 20]);
    let n = a.rows;
    let full = dense(&a);
    let (values, parts) = (by_columns(&full), Parts::new(&a, Stored::All));
    let product = Symmetric::new(&a, Stored::All).unwrap();
    let host = Host::new(2);
    let f = Product {
        order: n,
        multiply: |x: &HostBlock, out: &mut HostBlock| product.multiply(&host, x, out),
    };
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let m = Solve(|r: &HostBlock, out: &mut HostBlock| ic0.solve(&host, r, out));
    let upper_factor = factor(&full);
    let b = numbers(n * COLUMNS, 3);
    let s = systems(n, &b);
    let iterations = |matrix: Matrix<'_>, given: Given<'_>, devices: &Devices| {
        let found = solve(&s, matrix, &given, devices).unwrap();
        check(&a, &b, &found, 1.01 * TOL);
        assert_eq!((found.built, found.shift), (None, 0.0));
        (found.solution.iterations, devices.ran())
    };
    for matrix in [Matrix::Dense(&values), parts.matrix(), Matrix::Function(&f)] {
        let is_dense = matches!(matrix, Matrix::Dense(_));
        for devices in [Devices::cpu(), Devices::gpu()] {
            // Dense matrices and factors alone go to a GPU.
            let there = devices.processor(work(n));
            let at = if is_dense { there } else { CPU };
            let by_ic0 = iterations(matrix, Given::OnHost(&ic0), &devices);
            assert_eq!(by_ic0.1, [at]);
            assert_eq!(iterations(matrix, Given::OnHost(&m), &devices), by_ic0);
            let (few, ran) = iterations(matrix, Given::Factor(&upper_factor), &devices);
            assert!(few.iter().all(|i| *i <= 2), "{few:?}");
            assert_eq!(ran, [there]);
        }
    }
}

#[test]
fn starts() {
    let a = poisson(&[24, 20]);
    let b = numbers(a.rows * COLUMNS, 3);
    let (full, parts) = (by_columns(&dense(&a)), Parts::new(&a, Stored::All));
    let first = systems(a.rows, &b);
    for matrix in [Matrix::Dense(&full), parts.matrix()] {
        for devices in [Devices::cpu(), Devices::gpu()] {
            let given = Given::Named(PreconditionerName::Jacobi);
            let found = solve(&first, matrix, &given, &devices).unwrap();
            let again = Systems {
                start: Some(&found.solution.x),
                stop: Stopping {
                    tol: 1.1 * TOL,
                    ..first.stop
                },
                ..first
            };
            let found = solve(&again, matrix, &given, &devices).unwrap();
            assert_eq!(found.solution.iterations, [0, 0]);
        }
    }
}

#[test]
fn matrices_that_are_refused() {
    let mut a = poisson(&[24, 20]);
    let b = numbers(a.rows, 3);
    let s = systems(a.rows, &b);
    let refused = |a: &Csc, expected: Error| {
        let (full, parts) = (by_columns(&dense(a)), Parts::new(a, Stored::All));
        let factor = factor(&covariance(s.n));
        let asked = ASKED.map(Given::Named);
        for given in asked.iter().chain(&[Given::Factor(&factor)]) {
            for devices in [Devices::cpu(), Devices::gpu()] {
                let e = solve(&s, parts.matrix(), given, &devices).err();
                assert_eq!(e.as_ref(), Some(&expected));
            }
        }
        assert_eq!(HostOperator::new(&s, parts.matrix()).err(), Some(expected));
        full
    };
    a.values[1] = -0.5;
    let expected = Error::NotSymmetric { argument: "A" };
    let full = refused(&a, expected.clone());
    for devices in [Devices::cpu(), Devices::gpu()] {
        let given = Given::Named(PreconditionerName::None);
        let e = solve(&s, Matrix::Dense(&full), &given, &devices).err();
        assert_eq!(e, Some(expected.clone()));
    }
    a.values[1] = f64::NAN;
    refused(&a, Error::NonFiniteIn { argument: "A" });
}

#[test]
fn triangles_of_factors() {
    let n = 30;
    let of = |keep: fn(usize, usize) -> bool| {
        let x = Mat::from_fn(n, n, |i, j| if keep(i, j) { 1.0 } else { 0.0 });
        triangle_of(&by_columns(&x), (n, n))
    };
    assert_eq!(of(|i, j| i <= j), Ok(Uplo::Upper));
    assert_eq!(of(|i, j| i >= j), Ok(Uplo::Lower));
    let what = |found: Result<Uplo, Error>| match found {
        Err(Error::Argument {
            argument: "M",
            what,
        }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(what(of(|i, j| i == j)), "diagonal");
    assert_eq!(what(of(|_, _| true)), "full");
    assert_eq!(triangle_of(&[2.0], (1, 1)), Ok(Uplo::Upper));
}

for_each_device!(resident_matrices, resident_factors);

/// A matrix on the device with what the host has.
fn resident_matrices<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let n = 120;
    let full = covariance(n);
    let a = sparse(&Mat::from_fn(n, n, |i, j| T::from_f64(full[(i, j)]).into()));
    let there = HostMatrix::<T>::from_fn(n, n, |i, j| full[(i, j)]);
    let there = dev.load_temporary(there.view(), Part::All).unwrap();
    let b = numbers(n * COLUMNS, 3);
    let s = Systems {
        stop: Stopping {
            tol: tol::<T>(),
            maxit: 2000,
        },
        ..systems(n, &b)
    };
    let solved = |given: Given<'_>| {
        let found = solve_resident::<T, D>(&s, dev, &there, &given).unwrap();
        // The right-hand sides are rounded, too.
        check(&a, &b, &found, 1.1 * tol::<T>() + 8.0 * T::EPS);
        assert_eq!(found.processor, dev.processor());
        found
    };
    for (asked, expected) in ASKED.into_iter().zip(DENSE) {
        let found = solved(Given::Named(asked));
        assert_eq!(found.built.unwrap().name(), expected);
    }
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    assert_eq!(solved(Given::OnHost(&ic0)).built, None);
    let factor = factor(&full);
    assert_eq!(solved(Given::Factor(&factor)).built, None);
    let skewed = HostMatrix::<T>::from_fn(n, n, |i, j| (i + 2 * j) as f64);
    let skewed = dev.load_temporary(skewed.view(), Part::All).unwrap();
    let e = solve_resident::<T, D>(&s, dev, &skewed, &Given::Factor(&factor)).err();
    assert_eq!(e, Some(Error::NotSymmetric { argument: "A" }));
}

/// A factor on the device with each kind of matrix that can be with it.
fn resident_factors<T: Scalar, D: Elementwise<T>>(dev: &D) {
    let a = poisson(&[12, 10]);
    let n = a.rows;
    let full = dense(&a);
    let b = numbers(n * COLUMNS, 3);
    let s = Systems {
        stop: Stopping {
            tol: tol::<T>(),
            maxit: 2000,
        },
        ..systems(n, &b)
    };
    let bring = |x: &[f64]| {
        let x = T::borrow_host(x).unwrap();
        let x = MatRef::from_column_major_slice(&x, n, n);
        dev.load_temporary(x, Part::All).unwrap()
    };
    let upper_factor = factor(&full);
    let turned = Mat::from_fn(n, n, |i, j| upper_factor[i * n + j]);
    let there = bring(&by_columns(&full));
    let parts = Parts::new(&a, Stored::All);
    let product = HostOperator::new(&s, parts.matrix()).unwrap();
    let by_function = HostOperator::new(&s, Matrix::Function(product.operator())).unwrap();
    for factor in [bring(&upper_factor), bring(&by_columns(&turned))] {
        let all = [
            solve_resident_with::<T, D>(&s, dev, &there, &factor),
            solve_operator_with::<T, D>(&s, dev, product.operator(), &factor),
            solve_operator_with::<T, D>(&s, dev, by_function.operator(), &factor),
        ];
        for found in all {
            let found = found.unwrap();
            check(&a, &b, &found, 1.1 * tol::<T>() + 8.0 * T::EPS);
            assert!(found.solution.iterations.iter().all(|i| *i <= 3));
            assert_eq!(found.built, None);
        }
    }
    let e = solve_resident_with::<T, D>(&s, dev, &there, &there).err();
    assert!(matches!(e, Some(Error::Argument { argument: "M", .. })));
}
