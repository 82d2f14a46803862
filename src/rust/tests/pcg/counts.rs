//! How many iterations there are, beside textbooks'.

use cudafactor::algo::incomplete_cholesky::{Fill, IncompleteCholesky};
use cudafactor::algo::pcg_blocks::{Jacobi, Unpreconditioned};
use cudafactor::algo::pcg_host::Host;
use cudafactor::algo::pcg_sparse::Stored;
use cudafactor::algo::sparse_cholesky::Ordered;

use crate::problem::{block, grid_ic0, poisson, run, textbook};

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

/// Run by hand, in release, for the time.
#[test]
#[ignore = "prints times, for somebody to look at"]
fn a_million_unknowns() {
    let a = poisson(&[1000, 1000]);
    let b = block(a.rows, 1, 1);
    let clock = std::time::Instant::now;
    let begin = clock();
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    println!("IC(0): {:?}", begin.elapsed());
    let begin = clock();
    let s = run(&a, &m, &b, 1e-8, 10_000);
    println!(
        "with it: {} iterations, {:?}",
        s.iterations[0],
        begin.elapsed()
    );
    let textbook = textbook(&a, grid_ic0(&a), b.values(), 1e-8);
    println!("textbook: {textbook} iterations");
    within_5_percent(s.iterations[0], textbook);
    let jacobi = Jacobi::new(&Host::new(2), &vec![4.0; a.rows]).unwrap();
    let begin = clock();
    let s = run(&a, &jacobi, &b, 1e-8, 10_000);
    println!(
        "Jacobi: {} iterations, {:?}",
        s.iterations[0],
        begin.elapsed()
    );
}

/// Run by hand, for the time.
#[test]
#[ignore = "prints times, for somebody to look at"]
fn many_at_once_beside_one_at_a_time() {
    let a = poisson(&[512, 512]);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    for k in [1, 4, 8] {
        let b = block(a.rows, k, 1);
        let begin = std::time::Instant::now();
        let s = run(&a, &m, &b, 1e-6, 10_000);
        println!("{k} at once: {:?}, {:?}", s.iterations, begin.elapsed());
    }
}

/// Run by hand, in release: what "auto" chooses between.
#[test]
#[ignore = "prints times, for somebody to look at"]
fn direct_beside_iterations() {
    for sides in [
        &[100, 100][..],
        &[300, 300],
        &[600, 600],
        &[1000, 1000],
        &[2000, 2000],
        &[20, 20, 20],
        &[30, 30, 30],
        &[40, 40, 40],
        &[60, 60, 60],
        &[80, 80, 80],
        &[100, 100, 100],
    ] {
        let a = poisson(sides);
        let b = block(a.rows, 1, 1);
        let clock = std::time::Instant::now;
        let begin = clock();
        let ordered = Ordered::new(&a, Stored::All).unwrap();
        let ordering = begin.elapsed();
        let operations = ordered.multiplications();
        print!("{sides:?}: AMD {ordering:.2?}, {operations:.2e} multiplications");
        if operations < 2e11 {
            let begin = clock();
            let m = ordered.factor(&Host::new(2)).unwrap();
            let factoring = begin.elapsed();
            let begin = clock();
            let s = run(&a, &m, &b, 1e-8, 10);
            let (all, count) = (begin.elapsed(), s.iterations[0]);
            print!(
                ", factor {factoring:.2?}, {} entries, {count} iterations {all:.2?}",
                m.entries()
            );
        }
        if a.rows > 1_000_000 {
            println!();
            continue;
        }
        let begin = clock();
        let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
        let s = run(&a, &m, &b, 1e-8, 10_000);
        println!(
            "; IC(0) {} iterations, {:.2?}",
            s.iterations[0],
            begin.elapsed()
        );
    }
}
