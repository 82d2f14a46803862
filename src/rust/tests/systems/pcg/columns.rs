//! Many right-hand sides at once.

use cudafactor::algo::krylov::blocks::{Blocks, Unpreconditioned};
use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::krylov::outcome::{End, Stopping};
use cudafactor::algo::krylov::pcg::pcg;
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};

use super::problem::{block, numbers, poisson, residual, run};

/// Columns that are done after different numbers of iterations: one is an eigenvector.
fn mixed(side: usize, k: usize) -> HostBlock {
    let n = side * side;
    let mut values = numbers(n * k, 11);
    let wave = |i: usize| (std::f64::consts::PI * (i + 1) as f64 / (side + 1) as f64).sin();
    for (i, v) in values[..n].iter_mut().enumerate() {
        *v = wave(i % side) * wave(i / side);
    }
    if k > 2 {
        values[n..2 * n].fill(0.0);
    }
    HostBlock::new(n, k, values).unwrap()
}

/// Bit by bit.
#[test]
fn the_same_as_one_at_a_time() {
    let a = poisson(&[40, 40]);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let a = Symmetric::new(&a, Stored::All).unwrap();
    let stop = Stopping {
        tol: 1e-9,
        maxit: 1000,
    };
    for k in [1, 3, 4, 5, 9] {
        let b = mixed(40, k);
        let host = Host::new(1);
        let all = pcg(&host, &a, &m, &b, None, stop).unwrap();
        for c in 0..k {
            let b = host.gather(&b, &[c]).unwrap();
            let one = pcg(&host, &a, &m, &b, None, stop).unwrap();
            assert_eq!(one.x.values(), all.x.column(c));
            assert_eq!(one.iterations[0], all.iterations[c]);
            assert_eq!(one.history[0], all.history[c]);
            assert_eq!(one.ends[0], all.ends[c]);
        }
    }
}

/// Bit by bit, where vectors are long enough for several threads.
#[test]
fn the_same_with_any_number_of_threads() {
    let a = poisson(&[730, 720]);
    let (n, k) = (a.rows, 3);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let a = Symmetric::new(&a, Stored::All).unwrap();
    let (one, two) = (Host::new(1), Host::new(2));
    assert_eq!((two.share(n), m.share(k, 2)), (2, 2));
    let b = block(n, k, 7);
    let stop = Stopping {
        tol: 1e-9,
        maxit: 3,
    };
    let alone = pcg(&one, &a, &m, &b, None, stop).unwrap();
    let shared = pcg(&two, &a, &m, &b, None, stop).unwrap();
    assert_eq!(alone.ends, [End::Iterations; 3]);
    assert_eq!(alone.history, shared.history);
    assert_eq!(alone.residuals, shared.residuals);
    assert!(alone.x == shared.x);
}

#[test]
fn an_eigenvector_takes_one_iteration_and_zero_none() {
    let a = poisson(&[20, 20]);
    let s = run(&a, &Unpreconditioned, &mixed(20, 4), 1e-8, 1000);
    assert_eq!(s.iterations[..2], [1, 0]);
    assert!(s.iterations[2] > 20);
    assert_eq!(s.history[1], [0.0]);
    assert!(s.x.column(1).iter().all(|x| *x == 0.0));
    assert_eq!(s.converged(), [true; 4]);
}

#[test]
fn a_start_is_gone_on_from() {
    let a = poisson(&[25, 31]);
    let b = block(a.rows, 3, 4);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let half = run(&a, &m, &b, 1e-4, 1000);
    let whole = run(&a, &m, &b, 1e-8, 1000);
    let operator = Symmetric::new(&a, Stored::All).unwrap();
    let from = |x0: &HostBlock, tol| {
        let stop = Stopping { tol, maxit: 1000 };
        pcg(&Host::new(2), &operator, &m, &b, Some(x0), stop).unwrap()
    };
    let rest = from(&half.x, 1e-8);
    for c in 0..3 {
        assert!(rest.iterations[c] < whole.iterations[c]);
        assert!(residual(&a, rest.x.column(c), b.column(c)) <= 1.001e-8);
        assert_eq!(rest.history[c][0], half.residuals[c]);
    }
    let done = from(&whole.x, 1e-7);
    assert_eq!(done.iterations, [0; 3]);
    assert_eq!(done.x, whole.x);
}

/// A zero right-hand side has the solution zero, whatever the start.
#[test]
fn zero_in_spite_of_a_start() {
    let a = Symmetric::new(&poisson(&[9]), Stored::All).unwrap();
    let b = HostBlock::new(9, 1, vec![0.0; 9]).unwrap();
    let stop = Stopping { tol: 0.0, maxit: 5 };
    let x0 = block(9, 1, 1);
    let s = pcg(&Host::new(1), &a, &Unpreconditioned, &b, Some(&x0), stop).unwrap();
    assert_eq!((s.ends[0], s.iterations[0]), (End::Converged, 0));
    assert!(s.x.values().iter().all(|x| *x == 0.0));
}

/// A start that overflows when b is brought near 1 is none.
#[test]
fn a_start_out_of_range_is_left_out() {
    let a = poisson(&[12, 13]);
    let operator = Symmetric::new(&a, Stored::All).unwrap();
    let mut b = block(a.rows, 3, 8);
    b.column_mut(1).iter_mut().for_each(|v| *v *= 1e-300);
    let mut x0 = block(a.rows, 3, 9);
    x0.column_mut(1).iter_mut().for_each(|v| *v *= 1e20);
    let stop = Stopping {
        tol: 1e-9,
        maxit: 100,
    };
    let host = Host::new(1);
    let s = pcg(&host, &operator, &Unpreconditioned, &b, Some(&x0), stop).unwrap();
    assert_eq!(s.converged(), [true; 3], "{:?}", s.ends);
    assert_eq!(s.history[1][0], 1.0);
    assert!(s.history[0][0] > 1.0);
}

/// b's magnitude is of no account, to the last bit.
#[test]
fn ends_of_the_range() {
    let a = poisson(&[12, 13]);
    let b = block(a.rows, 1, 8);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let plain = run(&a, &m, &b, 1e-9, 100);
    for scale in [2f64.powi(-900), 2f64.powi(900), -1.0] {
        let scaled = b.values().iter().map(|x| x * scale).collect();
        let b = HostBlock::new(a.rows, 1, scaled).unwrap();
        let s = run(&a, &m, &b, 1e-9, 100);
        assert_eq!(s.history, plain.history);
        let pairs = s.x.values().iter().zip(plain.x.values());
        pairs.for_each(|(x, y)| assert_eq!(*x, y * scale));
    }
}

#[test]
fn nothing_to_solve() {
    let s = run(&poisson(&[0]), &Unpreconditioned, &block(0, 3, 1), 0.1, 9);
    assert_eq!(s.converged(), [true; 3]);
    let s = run(&poisson(&[5]), &Unpreconditioned, &block(5, 0, 1), 0.1, 9);
    assert_eq!((s.x.shape(), s.ends.len()), ((5, 0), 0));
}
