//! Laplacians of grids against the direct solution.

use cudafactor::algo::krylov::blocks::{Jacobi, Unpreconditioned};
use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::krylov::outcome::{End, Solution};
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::Stored;

use super::problem::{block, direct, poisson, residual, run};

const TOL: f64 = 1e-10;

/// The solution is as good as its residual says, and the residual is what is claimed.
fn check(a: &Csc, b: &HostBlock, s: &Solution<HostBlock>, cond: f64) {
    let exact = direct(a, b);
    let k = b.shape().1;
    for c in 0..k {
        assert_eq!(s.ends[c], End::Converged, "column {c}");
        let r = residual(a, s.x.column(c), b.column(c));
        assert!(r <= 1.001 * TOL, "column {c}: {r:e}");
        assert!((r - s.residuals[c]).abs() <= 0.01 * TOL);
        assert_eq!(s.history[c].len(), s.iterations[c] + 1);
        assert_eq!(s.history[c].last(), Some(&s.residuals[c]));
        assert_eq!(s.history[c][0], 1.0);
        let largest = exact.col(c).iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let pairs = s.x.column(c).iter().zip(exact.col(c).iter());
        let off = pairs.fold(0.0, |m: f64, (x, e)| m.max((x - e).abs()));
        let bound = 10.0 * cond * TOL * largest;
        assert!(off <= bound, "column {c}: {off:e} above {bound:e}");
    }
}

fn grid(sides: &[usize]) {
    let a = poisson(sides);
    let n = a.rows;
    let longest = *sides.iter().max().unwrap() as f64;
    // Of the largest and the least eigenvalue of the one-dimensional Laplacian.
    let cond = 0.5 * (longest + 1.0).powi(2);
    let b = block(n, 3, 7);
    let jacobi = Jacobi::new(&Host::new(2), &vec![2.0 * sides.len() as f64; n]).unwrap();
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let ict = IncompleteCholesky::new(&a, Stored::All, Fill::Threshold(1e-2)).unwrap();
    let maxit = 10 * n + 10;
    check(&a, &b, &run(&a, &Unpreconditioned, &b, TOL, maxit), cond);
    check(&a, &b, &run(&a, &jacobi, &b, TOL, maxit), cond);
    check(&a, &b, &run(&a, &ic0, &b, TOL, maxit), cond);
    check(&a, &b, &run(&a, &ict, &b, TOL, maxit), cond);
}

#[test]
fn lines() {
    for n in [1, 2, 3, 31, 200] {
        grid(&[n]);
    }
}

#[test]
fn planes() {
    for sides in [[1, 1], [1, 7], [2, 2], [17, 23]] {
        grid(&sides);
    }
}

#[test]
fn spaces() {
    grid(&[7, 8, 9]);
    grid(&[2, 1, 5]);
}

/// On a line IC(0) is the factor.
#[test]
fn one_iteration_with_the_factor() {
    let a = poisson(&[500]);
    let b = block(500, 2, 3);
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let s = run(&a, &ic0, &b, TOL, 9);
    assert!(s.iterations.iter().all(|i| *i <= 2), "{:?}", s.iterations);
}

/// In exact arithmetic there are no more iterations than eigenvalues.
#[test]
fn as_many_iterations_as_eigenvalues() {
    let mut a = Csc::with_rows(90);
    (0..90).for_each(|i| a.push(vec![(i, [1.0, 5.0, 20.0][i % 3])]));
    let s = run(&a, &Unpreconditioned, &block(90, 2, 5), 1e-12, 90);
    assert_eq!(s.iterations, [3, 3]);
}
