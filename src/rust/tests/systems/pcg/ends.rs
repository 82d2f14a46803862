//! What does not converge, and why.

use cudafactor::algo::krylov::blocks::{Jacobi, Product, Solve, Unpreconditioned};
use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::krylov::outcome::{End, Stopping};
use cudafactor::algo::krylov::pcg::pcg;
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};

use super::problem::{block, poisson, residual, run};

fn diagonal(d: &[f64]) -> Csc {
    let mut a = Csc::with_rows(d.len());
    d.iter()
        .enumerate()
        .for_each(|(i, d)| a.push(vec![(i, *d)]));
    a
}

fn columns(values: &[&[f64]]) -> HostBlock {
    HostBlock::new(values[0].len(), values.len(), values.concat()).unwrap()
}

#[test]
fn an_indefinite_matrix_is_said_to_be_one() {
    let a = diagonal(&[1.0, 2.0, -3.0]);
    // The second column never meets the negative eigenvalue.
    let b = columns(&[&[1.0, 1.0, 1.0], &[1.0, 1.0, 0.0], &[0.0, 0.0, 2.0]]);
    let s = run(&a, &Unpreconditioned, &b, 1e-10, 50);
    let End::Indefinite { cosine } = s.ends[0] else {
        panic!("{:?}", s.ends)
    };
    // p = (1, 1, 1) has p'Ap = 0.
    assert_eq!(cosine, 0.0);
    assert_eq!(s.ends[1], End::Converged);
    assert_eq!(s.ends[2], End::Indefinite { cosine: -1.0 });
    assert_eq!(s.converged(), [false, true, false]);
    assert!(residual(&a, s.x.column(1), b.column(1)) <= 1e-10);
    let error = s.verdict().unwrap_err();
    assert_eq!(error.kind(), "indefinite");
    let Error::Indefinite {
        column, argument, ..
    } = error
    else {
        panic!("{error:?}")
    };
    assert_eq!((argument, column), ("A", 1));
}

#[test]
fn so_is_an_indefinite_preconditioner() {
    let a = poisson(&[10]);
    let b = block(10, 2, 1);
    let m = Solve(|r: &HostBlock, out: &mut HostBlock| -> Result<()> {
        let pairs = out.values_mut().iter_mut().zip(r.values());
        pairs.for_each(|(o, r)| *o = -r);
        Ok(())
    });
    let s = run(&a, &m, &b, 1e-10, 50);
    for c in 0..2 {
        let End::IndefinitePreconditioner { cosine } = s.ends[c] else {
            panic!("{:?}", s.ends)
        };
        assert!((cosine + 1.0).abs() < 1e-12);
    }
    assert!(matches!(
        s.verdict(),
        Err(Error::Indefinite { argument: "M", .. })
    ));
}

#[test]
fn a_diagonal_that_is_not_positive_is_refused() {
    let host = Host::new(1);
    for (d, order) in [([1.0, 0.0, -1.0], 2), ([-1.0, 1.0, 1.0], 1)] {
        let e = Jacobi::new(&host, &d).err();
        assert_eq!(e, Some(Error::NotPositiveDefinite { order }));
    }
    for d in [f64::NAN, f64::INFINITY] {
        let e = Jacobi::new(&host, &[1.0, d]).err();
        assert_eq!(e, Some(Error::NonFiniteIn { argument: "A" }));
    }
}

#[test]
fn what_is_no_number_is_refused() {
    let host = Host::new(1);
    let a = Symmetric::new(&poisson(&[4]), Stored::All).unwrap();
    let stop = Stopping { tol: 0.1, maxit: 9 };
    let good = block(4, 2, 1);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut b = good.clone();
        b.values_mut()[6] = bad;
        let of = |b: &HostBlock, x0: Option<&HostBlock>| {
            pcg(&host, &a, &Unpreconditioned, b, x0, stop).err()
        };
        assert_eq!(of(&b, None), Some(Error::NonFiniteIn { argument: "b" }));
        let start = of(&good, Some(&b));
        assert_eq!(start, Some(Error::NonFiniteIn { argument: "x0" }));
        let e = Symmetric::new(&diagonal(&[1.0, bad]), Stored::All).err();
        assert_eq!(e, Some(Error::NonFiniteIn { argument: "A" }));
    }
}

/// One column's NaN is none of another's.
#[test]
fn what_becomes_no_number_ends_its_column() {
    let product = Product {
        order: 6,
        multiply: |x: &HostBlock, out: &mut HostBlock| -> Result<()> {
            for c in 0..x.shape().1 {
                let first = x.column(c)[0];
                for (i, (o, x)) in out.column_mut(c).iter_mut().zip(x.column(c)).enumerate() {
                    *o = if first > 0.0 {
                        f64::NAN
                    } else {
                        (i + 1) as f64 * x
                    };
                }
            }
            Ok(())
        },
    };
    let mut b = block(6, 2, 3);
    (b.column_mut(0)[0], b.column_mut(1)[0]) = (1.0, 0.0);
    let stop = Stopping {
        tol: 1e-12,
        maxit: 9,
    };
    let s = pcg(&Host::new(1), &product, &Unpreconditioned, &b, None, stop).unwrap();
    assert_eq!(s.ends, [End::NonFinite, End::Converged]);
    assert!(s.residuals[0].is_nan());
    assert_eq!(s.verdict(), Err(Error::NonFinite));
}

/// The last residual is computed by a separate product, after which there is no other.
#[test]
fn what_becomes_no_number_at_the_end_is_found() {
    for bad in [f64::NAN, f64::INFINITY] {
        let products = std::cell::Cell::new(0);
        let product = Product {
            order: 6,
            multiply: |x: &HostBlock, out: &mut HostBlock| -> Result<()> {
                products.set(products.get() + 1);
                for (i, (o, x)) in out.values_mut().iter_mut().zip(x.values()).enumerate() {
                    let d = (i + 1) as f64;
                    *o = if products.get() > 1 { bad } else { d * x };
                }
                Ok(())
            },
        };
        let b = block(6, 1, 3);
        let stop = Stopping {
            tol: 1e-12,
            maxit: 1,
        };
        let s = pcg(&Host::new(1), &product, &Unpreconditioned, &b, None, stop).unwrap();
        assert_eq!(s.ends, [End::NonFinite]);
        assert!(s.residuals[0].is_nan());
    }
}

/// Squares of the first residual would overflow.
#[test]
fn a_start_that_is_far_too_large_is_none() {
    let a = poisson(&[30]);
    let host = Host::new(1);
    let sparse = Symmetric::new(&a, Stored::All).unwrap();
    let stop = Stopping {
        tol: 1e-10,
        maxit: 90,
    };
    let mut b = HostBlock::new(30, 3, vec![1.0; 90]).unwrap();
    let mut x0 = b.clone();
    b.column_mut(1).fill(1e-200);
    x0.column_mut(2).fill(1e160);
    let of = |x0| pcg(&host, &sparse, &Unpreconditioned, &b, x0, stop).unwrap();
    let (s, zero) = (of(Some(&x0)), of(None));
    assert_eq!(s.ends, [End::Converged; 3]);
    for c in 1..3 {
        assert_eq!(s.x.column(c), zero.x.column(c));
        assert_eq!(s.history[c], zero.history[c]);
    }
    // A small matrix has large solutions, and a start near one is kept.
    let mut small = a.clone();
    small.values.iter_mut().for_each(|v| *v *= 1e-180);
    let sparse = Symmetric::new(&small, Stored::All).unwrap();
    let b = HostBlock::new(30, 1, vec![1.0; 30]).unwrap();
    let of = |x0| pcg(&host, &sparse, &Unpreconditioned, &b, x0, stop).unwrap();
    let again = of(Some(&of(None).x));
    assert_eq!((again.ends[0], again.iterations[0]), (End::Converged, 0));
}

/// Of inner products that underflow nobody is to blame.
#[test]
fn numbers_out_of_range_are_not_indefinite() {
    let a = poisson(&[10]);
    let b = block(10, 1, 1);
    let times = |by: f64| {
        Solve(move |r: &HostBlock, out: &mut HostBlock| -> Result<()> {
            let pairs = out.values_mut().iter_mut().zip(r.values());
            pairs.for_each(|(o, r)| *o = by * r);
            Ok(())
        })
    };
    for by in [1e-200, -1e-320, 1e200] {
        let s = run(&a, &times(by), &b, 1e-10, 50);
        assert_eq!(s.ends, [End::NonFinite], "{by}");
        assert_eq!(s.verdict(), Err(Error::NonFinite));
    }
    // What is as small and has a sign is said to be so.
    let mut negative = a.clone();
    negative.values.iter_mut().for_each(|v| *v *= -1e-300);
    let s = run(&negative, &Unpreconditioned, &b, 1e-10, 50);
    assert!(matches!(s.ends[0], End::Indefinite { cosine } if cosine < -0.01));
    let s = run(
        &diagonal(&[1.0, 0.0]),
        &Unpreconditioned,
        &columns(&[&[0.0, 1e-200]]),
        1e-10,
        50,
    );
    assert!(matches!(s.ends[0], End::Indefinite { .. }));
}

#[test]
fn errors_of_functions_come_through() {
    let product = Product {
        order: 6,
        multiply: |_: &HostBlock, _: &mut HostBlock| -> Result<()> { Err(Error::Interrupted) },
    };
    let stop = Stopping { tol: 0.1, maxit: 9 };
    let b = block(6, 2, 3);
    let s = pcg(&Host::new(1), &product, &Unpreconditioned, &b, None, stop);
    assert_eq!(s.err(), Some(Error::Interrupted));
}

#[test]
fn arguments_are_looked_at() {
    let host = Host::new(1);
    let a = Symmetric::new(&poisson(&[4]), Stored::All).unwrap();
    let of = |b: &HostBlock, x0: Option<&HostBlock>, tol| {
        let stop = Stopping { tol, maxit: 9 };
        let e = pcg(&host, &a, &Unpreconditioned, b, x0, stop).err();
        e.map_or("", |e| e.kind())
    };
    let b = block(4, 2, 1);
    assert_eq!(of(&block(5, 1, 1), None, 0.1), "dimension");
    assert_eq!(of(&b, Some(&block(4, 1, 1)), 0.1), "dimension");
    assert_eq!(of(&b, None, -0.1), "argument");
    assert_eq!(of(&b, None, f64::NAN), "argument");
    assert!(HostBlock::new(2, 2, vec![0.0; 3]).is_err());
}

#[test]
fn a_preconditioner_of_another_order_is_refused() {
    let host = Host::new(1);
    let a = Symmetric::new(&poisson(&[4]), Stored::All).unwrap();
    let stop = Stopping { tol: 0.1, maxit: 9 };
    let b = block(4, 2, 1);
    for n in [3, 5] {
        let jacobi = Jacobi::new(&host, &vec![1.0; n]).unwrap();
        let e = pcg(&host, &a, &jacobi, &b, None, stop).err().unwrap();
        assert_eq!(e.kind(), "dimension");
        let ic0 = IncompleteCholesky::new(&poisson(&[n]), Stored::All, Fill::None).unwrap();
        let e = pcg(&host, &a, &ic0, &b, None, stop).err().unwrap();
        assert_eq!(e.kind(), "dimension");
    }
}

/// The question is its thread's.
#[test]
fn users_are_heard() {
    let run = || {
        cudafactor::base::interrupt::install(|| true);
        let a = Symmetric::new(&poisson(&[30, 30]), Stored::All).unwrap();
        let b = block(900, 2, 1);
        let stop = Stopping {
            tol: 1e-9,
            maxit: 900,
        };
        pcg(&Host::new(1), &a, &Unpreconditioned, &b, None, stop).err()
    };
    let heard = std::thread::spawn(run).join().unwrap();
    assert_eq!(heard, Some(Error::Interrupted));
}

#[test]
fn iterations_are_counted() {
    let a = poisson(&[30, 30]);
    let b = block(900, 2, 1);
    for maxit in [0, 1, 7] {
        let s = run(&a, &Unpreconditioned, &b, 1e-10, maxit);
        assert_eq!(s.ends, [End::Iterations; 2]);
        assert_eq!(s.iterations, [maxit; 2]);
        assert!(s.verdict().is_ok());
        for c in 0..2 {
            let r = residual(&a, s.x.column(c), b.column(c));
            assert!((r - s.residuals[c]).abs() <= 1e-12);
            assert_eq!(s.history[c].len(), maxit + 1);
        }
    }
}

/// A residual whose square is nothing is no reason to go on.
#[test]
fn squares_of_tiny_residuals_vanish() {
    let mut a = super::problem::only(&poisson(&[2]), |i, j| i == j);
    a.values = vec![1.0, 2.0];
    let host = Host::new(1);
    let sparse = Symmetric::new(&a, Stored::All).unwrap();
    let b = HostBlock::new(2, 1, vec![1.0, 1e-200]).unwrap();
    let stop = Stopping {
        tol: 0.0,
        maxit: 10,
    };
    let s = pcg(&host, &sparse, &Unpreconditioned, &b, None, stop).unwrap();
    s.verdict().unwrap();
    assert_eq!(s.x.values()[0], 1.0);
}

/// As far as rounding allows, and no further: the recurrence's residuals would go on to where their
/// squares underflow.
#[test]
fn no_tolerance_at_all() {
    let a = poisson(&[20, 20]);
    let host = Host::new(1);
    let sparse = Symmetric::new(&a, Stored::All).unwrap();
    let b = block(400, 2, 3);
    let stop = Stopping {
        tol: 0.0,
        maxit: 5000,
    };
    let s = pcg(&host, &sparse, &Unpreconditioned, &b, None, stop).unwrap();
    for c in 0..2 {
        assert_eq!(s.ends[c], End::Stagnated);
        assert!(s.residuals[c] < 1e-13);
    }
}
