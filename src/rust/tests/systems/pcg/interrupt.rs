//! The user's wish to stop is asked for by the work that is done.

use std::cell::Cell;
use std::time::Duration;

use cudafactor::algo::krylov::blocks::{Blocks, Preconditioner};
use cudafactor::algo::krylov::host_blocks::Host;
use cudafactor::algo::sparse::cholesky::Ordered;
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::base::error::Error;
use cudafactor::base::interrupt;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::Stored;

use super::problem::{block, poisson};

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// The user wants to stop when asked for the time of this number. The answer takes so long that
/// each look is another question.
fn stop_at(question: usize) {
    LEFT.set(question);
    interrupt::install(|| {
        std::thread::sleep(Duration::from_millis(60));
        LEFT.set(LEFT.get() - 1);
        LEFT.get() == 0
    });
}

/// A matrix whose few columns fill up.
#[test]
fn an_incomplete_factor_with_few_columns() {
    let n = 400;
    let mut a = Csc::with_rows(n);
    a.push(
        (0..n)
            .map(|i| (i, if i == 0 { n as f64 } else { 0.5 }))
            .collect(),
    );
    (1..n).for_each(|j| a.push(vec![(j, 2.0)]));
    let fill = Fill::Threshold(0.0);
    stop_at(5);
    let stopped = IncompleteCholesky::new(&a, Stored::Lower, fill);
    assert_eq!(stopped.err(), Some(Error::Interrupted));
}

/// Each part of the work looks, so that the user is heard whenever that is.
#[test]
fn a_complete_factor() {
    let a = poisson(&[22, 23, 24]);
    for threads in [1, 2] {
        for question in [1, 3, 5] {
            let order = Ordered::new(&a, Stored::All).unwrap();
            stop_at(question);
            let stopped = order.factor(&Host::new(threads));
            assert_eq!(
                stopped.err(),
                Some(Error::Interrupted),
                "{threads} {question}"
            );
            interrupt::install(|| false);
        }
    }
}

#[test]
fn solutions_with_a_complete_factor() {
    let a = poisson(&[30, 31]);
    let host = Host::new(1);
    let m = Ordered::new(&a, Stored::All)
        .unwrap()
        .factor(&host)
        .unwrap();
    let b = block(a.rows, 4, 3);
    let mut x = host.zeros(a.rows, 4).unwrap();
    stop_at(3);
    assert_eq!(m.solve(&host, &b, &mut x), Err(Error::Interrupted));
}
