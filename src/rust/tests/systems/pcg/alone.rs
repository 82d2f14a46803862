//! Columns among others, bit for bit as alone, for every kind of matrix and preconditioner on the
//! host.

use cudafactor::algo::krylov::blocks::{Operator, Preconditioner, Product, Solve};
use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::algo::systems::preconditioner::PreconditionerName;
use cudafactor::algo::systems::problem::{Given, Matrix, Systems};
use cudafactor::algo::systems::solve::solve;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};

use super::problem::{dense, lower, numbers, poisson, sparse};
use super::whole::{by_columns, check, covariance, factor, systems, Parts, ASKED, TOL};
use crate::common::devices::Devices;

const COLUMNS: usize = 5;

/// Columns alone, and with another number of threads.
fn check_alone(a: &Csc, matrix: Matrix<'_>, given: Given<'_>, what: &str) {
    let b = numbers(a.rows * COLUMNS, 29);
    let all = solve(&systems(a.rows, &b), matrix, &given, &Devices::cpu()).unwrap();
    check(a, &b, &all, 1.01 * TOL);
    let single = Systems {
        host: Host::new(1),
        ..systems(a.rows, &b)
    };
    let same = solve(&single, matrix, &given, &Devices::cpu()).unwrap();
    assert!(same.solution.x == all.solution.x, "{what}: threads");
    for c in [0, 2, COLUMNS - 1] {
        let at = c * a.rows..(c + 1) * a.rows;
        let one = systems(a.rows, &b[at.clone()]);
        let one = solve(&one, matrix, &given, &Devices::cpu()).unwrap();
        assert_eq!(one.built, all.built, "{what}");
        assert!(one.solution.x == all.solution.x[at], "{what}: column {c}");
        assert_eq!(one.solution.history[0], all.solution.history[c], "{what}");
    }
}

/// `Auto` is left out where it weighs the number of columns.
fn named(with_auto: bool) -> impl Iterator<Item = PreconditionerName> {
    let all = ASKED.into_iter();
    all.filter(move |asked| with_auto || *asked != PreconditionerName::Auto)
}

#[test]
fn sparse_matrices() {
    let a = poisson(&[26, 21]);
    for parts in [
        Parts::new(&a, Stored::All),
        Parts::new(&lower(&a), Stored::Lower),
    ] {
        for asked in named(false) {
            check_alone(
                &a,
                parts.matrix(),
                Given::Named(asked),
                &format!("{asked:?}"),
            );
        }
    }
}

#[test]
fn dense_matrices() {
    let full = covariance(211);
    let (a, values) = (sparse(&full), by_columns(&full));
    for asked in named(true) {
        let what = format!("dense, {asked:?}");
        check_alone(&a, Matrix::Dense(&values), Given::Named(asked), &what);
    }
}

#[test]
fn functions_and_given_preconditioners() {
    let a = poisson(&[26, 21]);
    let full = dense(&a);
    let (values, parts) = (by_columns(&full), Parts::new(&a, Stored::All));
    let product = Symmetric::new(&a, Stored::All).unwrap();
    let host = Host::new(2);
    let f = Product {
        order: a.rows,
        multiply: |x: &HostBlock, out: &mut HostBlock| product.multiply(&host, x, out),
    };
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let m = Solve(|r: &HostBlock, out: &mut HostBlock| ic0.solve(&host, r, out));
    let upper_factor = factor(&full);
    for (kind, matrix) in [
        ("dense", Matrix::Dense(&values)),
        ("sparse", parts.matrix()),
        ("function", Matrix::Function(&f)),
    ] {
        check_alone(&a, matrix, Given::OnHost(&ic0), &format!("{kind}, ic0"));
        check_alone(&a, matrix, Given::OnHost(&m), &format!("{kind}, function"));
        let given = Given::Factor(&upper_factor);
        check_alone(&a, matrix, given, &format!("{kind}, factor"));
    }
}
