//! Matrices that are ill-conditioned, graded, or singular.

use cudafactor::algo::krylov::blocks::{Jacobi, Unpreconditioned};
use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::krylov::outcome::{End, Stopping};
use cudafactor::algo::krylov::pcg::pcg;
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::base::error::Error;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};
use faer::Mat;

use super::problem::{block, direct, numbers, poisson, residual, run, sparse};

/// S A S for a diagonal S of these powers of 10, over and over again.
fn graded(a: &Csc, powers: &[i32]) -> Csc {
    let s = |i: usize| 10f64.powi(powers[i % powers.len()]);
    let mut out = a.clone();
    for j in 0..a.columns() {
        for p in a.starts[j]..a.starts[j + 1] {
            out.values[p] *= s(a.index[p]) * s(j);
        }
    }
    out
}

fn diagonal(a: &Csc) -> Vec<f64> {
    let entry = |j: usize| {
        let (rows, values) = a.column(j);
        values[rows.iter().position(|i| *i == j).unwrap()]
    };
    (0..a.columns()).map(entry).collect()
}

/// The same with either preconditioner as without the grades, which the diagonal takes out.
#[test]
fn grades_are_taken_out() {
    let plain = poisson(&[25, 24]);
    let a = graded(&plain, &[0, 3, -2, 5, -4]);
    let x = block(a.rows, 2, 3);
    let mut b = HostBlock::new(a.rows, 2, vec![0.0; 2 * a.rows]).unwrap();
    (0..2).for_each(|c| a.add_times(x.column(c), b.column_mut(c)));
    let jacobi = Jacobi::new(&Host::new(2), &diagonal(&a)).unwrap();
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    assert_eq!(ic0.failures(), 0);
    for s in [
        run(&a, &jacobi, &b, 1e-12, 2000),
        run(&a, &ic0, &b, 1e-12, 2000),
    ] {
        assert_eq!(s.converged(), [true; 2], "{:?}", s.ends);
        for c in 0..2 {
            assert!(residual(&a, s.x.column(c), b.column(c)) <= 1.01e-12);
        }
    }
    // IC(0) of the graded matrix is that of the plain one, graded.
    let (l, of_plain) = (ic0.lower().unwrap(), {
        let m = IncompleteCholesky::new(&plain, Stored::All, Fill::None).unwrap();
        graded_rows(&m.lower().unwrap(), &[0, 3, -2, 5, -4])
    });
    let pairs = l.values.iter().zip(&of_plain.values);
    pairs.for_each(|(x, y)| assert!((x - y).abs() <= 1e-13 * y.abs()));
}

fn graded_rows(l: &Csc, powers: &[i32]) -> Csc {
    let mut out = l.clone();
    for (v, i) in out.values.iter_mut().zip(&l.index) {
        *v *= 10f64.powi(powers[i % powers.len()]);
    }
    out
}

/// The recurrence's residual goes on falling where the true one does not: what is said to have
/// converged has.
#[test]
fn what_is_claimed_holds_for_hilberts_matrix() {
    let n = 12;
    let a = sparse(&Mat::from_fn(n, n, |i, j| 1.0 / (i + j + 1) as f64));
    for (tol, seed) in [(1e-4, 1), (1e-8, 2), (1e-12, 3), (0.0, 4)] {
        // The first has a solution of moderate size, and the others of up to the condition number,
        // 1e16.
        let mut b = block(n, 3, seed);
        b.column_mut(0).fill(0.0);
        a.add_times(&numbers(n, seed), b.column_mut(0));
        let s = run(&a, &Unpreconditioned, &b, tol, 500);
        assert!(tol < 1e-10 || s.ends[0] == End::Converged, "{:?}", s.ends);
        for c in 0..3 {
            let r = residual(&a, s.x.column(c), b.column(c));
            if s.ends[c] == End::Converged {
                assert!(r <= 1.01 * tol, "{tol:e}: {r:e}");
            }
            let near = (r - s.residuals[c]).abs();
            assert!(near <= 1e-3 * r.max(1e-10), "{r:e} {:e}", s.residuals[c]);
            let last = s.history[c].last().copied();
            assert_eq!(last, Some(s.residuals[c]));
        }
    }
}

/// From a start of large numbers the recurrence's residual is soon far from the true one: it takes
/// that, and goes on.
#[test]
fn a_far_start_is_made_up_for() {
    let a = poisson(&[20, 21]);
    let b = block(a.rows, 3, 5);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let near = run(&a, &m, &b, 1e-12, 500);
    let far = numbers(3 * a.rows, 9).iter().map(|x| 1e9 * x).collect();
    let far = HostBlock::new(a.rows, 3, far).unwrap();
    let operator = Symmetric::new(&a, Stored::All).unwrap();
    let stop = Stopping {
        tol: 1e-12,
        maxit: 500,
    };
    let s = pcg(&Host::new(2), &operator, &m, &b, Some(&far), stop).unwrap();
    for c in 0..3 {
        assert_eq!(s.ends[c], End::Converged);
        assert!(residual(&a, s.x.column(c), b.column(c)) <= 1.01e-12);
        assert!(s.iterations[c] < 4 * near.iterations[c]);
        // The look at the residual, which was larger than the recurrence had it.
        let jump = s.history[c].windows(2).any(|w| w[1] > 100.0 * w[0]);
        assert!(jump, "{:?}", s.history[c]);
    }
}

/// Rounding allows no residual of 0, which ends in one of the ways that say so.
#[test]
fn a_tolerance_of_nothing_comes_to_an_end() {
    let a = poisson(&[15, 15]);
    let b = block(a.rows, 2, 5);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let s = run(&a, &m, &b, 0.0, 2000);
    let exact = direct(&a, &b);
    for c in 0..2 {
        assert_ne!(s.ends[c], End::NonFinite);
        assert!(s.residuals[c] <= 1e-13, "{:e}", s.residuals[c]);
        let pairs = s.x.column(c).iter().zip(exact.col(c).iter());
        pairs.for_each(|(x, e)| assert!((x - e).abs() <= 1e-11));
    }
}

/// Beyond what rounding allows, that is said, and soon.
#[test]
fn too_small_a_tolerance_stagnates() {
    let a = graded(&poisson(&[40]), &[0, 4, -4]);
    let b = block(a.rows, 1, 5);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let s = run(&a, &m, &b, 1e-17, 500);
    assert_eq!(s.ends[0], End::Stagnated);
    assert!(s.iterations[0] < 100, "{}", s.iterations[0]);
}

/// What has no finite reciprocal divides nothing.
#[test]
fn a_tiny_diagonal_is_refused() {
    let host = Host::new(1);
    let e = Jacobi::new(&host, &[1.0, 1e-310]).err().unwrap();
    assert_eq!(e, Error::NonFinite);
    let mut l = Csc::with_rows(1);
    l.push(vec![(0, 1e-310)]);
    let e = IncompleteCholesky::from_lower(&l, "M").err().unwrap();
    assert_eq!(e.kind(), "argument");
}

/// The Laplacian with Neumann boundaries is singular; a right-hand side in its range has a
/// solution, which is found.
#[test]
fn singular_and_consistent() {
    let mut a = poisson(&[20, 20]);
    for j in 0..a.columns() {
        let at = a.starts[j]..a.starts[j + 1];
        let degree = (at.len() - 1) as f64;
        for p in at {
            if a.index[p] == j {
                a.values[p] = degree;
            }
        }
    }
    let x = block(a.rows, 2, 6);
    let mut b = HostBlock::new(a.rows, 2, vec![0.0; 2 * a.rows]).unwrap();
    (0..2).for_each(|c| a.add_times(x.column(c), b.column_mut(c)));
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    for s in [
        run(&a, &Unpreconditioned, &b, 1e-8, 1000),
        run(&a, &ic0, &b, 1e-8, 1000),
    ] {
        assert_eq!(s.converged(), [true; 2], "{:?}", s.ends);
    }
}
