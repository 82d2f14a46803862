//! How many iterations there are, beside textbooks'.

use cudafactor::algo::krylov::blocks::{Jacobi, Unpreconditioned};
use cudafactor::algo::krylov::host_blocks::Host;
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::base::sparse::symmetric::Stored;

use super::problem::{block, grid_ic0, poisson, run, textbook};

fn within_5_percent(ours: usize, theirs: usize) {
    let off = (ours as f64 - theirs as f64).abs();
    assert!(off <= 0.05 * theirs as f64, "{ours} beside {theirs}");
}

/// The same recurrence, so also about the same history.
fn grid(sides: &[usize], tol: f64) -> [usize; 3] {
    let a = poisson(sides);
    let b = block(a.rows, 1, 1);
    let diagonal = vec![2.0 * sides.len() as f64; a.rows];
    let jacobi = Jacobi::new(&Host::new(2), &diagonal).unwrap();
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    assert_eq!((ic0.shift(), ic0.failures()), (0.0, 0));
    let none = run(&a, &Unpreconditioned, &b, tol, 10_000);
    let by_diagonal = run(&a, &jacobi, &b, tol, 10_000);
    let by_ic0 = run(&a, &ic0, &b, tol, 10_000);
    let plain = textbook(&a, |r| r.to_vec(), b.values(), tol);
    within_5_percent(none.iterations[0], plain);
    // The diagonal is constant.
    within_5_percent(by_diagonal.iterations[0], plain);
    within_5_percent(
        by_ic0.iterations[0],
        textbook(&a, grid_ic0(&a), b.values(), tol),
    );
    [&none, &by_diagonal, &by_ic0].map(|s| s.iterations[0])
}

#[test]
fn as_textbooks_have_it() {
    for tol in [1e-3, 1e-8] {
        let [none, jacobi, ic0] = grid(&[100, 100], tol);
        println!("100 x 100 to {tol:e}: none {none}, Jacobi {jacobi}, IC(0) {ic0}");
        assert!(2 * ic0 < none);
    }
    for sides in [&[37, 61][..], &[15, 16, 17], &[300]] {
        println!("{sides:?}: {:?}", grid(sides, 1e-8));
    }
}

/// A lower threshold gives a fuller factor and fewer iterations.
#[test]
fn thresholds() {
    let a = poisson(&[60, 60]);
    let b = block(a.rows, 1, 2);
    let mut last = (0, usize::MAX);
    for t in [1e-1, 1e-2, 1e-3, 1e-4] {
        let m = IncompleteCholesky::new(&a, Stored::All, Fill::Threshold(t)).unwrap();
        let iterations = run(&a, &m, &b, 1e-8, 1000).iterations[0];
        println!(
            "threshold {t:e}: {} entries, {iterations} iterations",
            m.entries()
        );
        assert!(m.entries() > last.0 && iterations < last.1);
        last = (m.entries(), iterations);
    }
}

/// The counts at the order of `bench/pcg/pcg.R`, for a build with optimizations.
#[test]
#[ignore = "takes more than a minute in the profile of tests"]
fn a_million_unknowns() {
    let a = poisson(&[1000, 1000]);
    let b = block(a.rows, 1, 1);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let ours = run(&a, &m, &b, 1e-8, 10_000).iterations[0];
    let textbook = textbook(&a, grid_ic0(&a), b.values(), 1e-8);
    println!("{ours} iterations, the textbook's {textbook}");
    within_5_percent(ours, textbook);
}
