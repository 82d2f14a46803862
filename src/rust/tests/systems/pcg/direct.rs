//! The complete factor of a sparse matrix as preconditioner.

use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::algo::sparse::cholesky::Ordered;
use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::algo::sparse::levels::widest_level;
use cudafactor::algo::systems::choice::{factor_that_pays, may_pay, pays, Iterations};
use cudafactor::base::error::{Error, Result};
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};
use cudafactor::base::threads::share;

use super::problem::{block, lower, numbers, poisson, residual, run, upper};

fn check(full: &Csc, a: &Csc, stored: Stored) {
    check_on(&[1], full, a, stored);
}

/// With each of these numbers of threads, all of which have a share.
fn check_on(threads: &[usize], full: &Csc, a: &Csc, stored: Stored) {
    let b = block(full.rows, 3, 5);
    let order = Ordered::new(a, stored).unwrap();
    for threads in threads.iter().copied() {
        assert_eq!(share(threads, order.multiplications()), threads);
        let m = order.factor(&Host::new(threads)).unwrap();
        assert!(m.entries() >= full.rows);
        let s = run(full, &m, &b, 1e-13, 3);
        for c in 0..3 {
            assert!(s.iterations[c] <= 2);
            let r = residual(full, s.x.column(c), b.column(c));
            assert!(r <= 1e-13, "{r:e}");
        }
    }
}

#[test]
fn either_triangle() {
    for sides in [&[1][..], &[2], &[40], &[13, 17], &[60, 50], &[7, 8, 9]] {
        let a = poisson(sides);
        check(&a, &a, Stored::All);
        check(&a, &lower(&a), Stored::Lower);
        check(&a, &upper(&a), Stored::Upper);
        // The other triangle is not read.
        check(&a, &a, Stored::Lower);
        check(&a, &a, Stored::Upper);
    }
}

#[test]
fn several_threads() {
    let a = poisson(&[20, 21, 22]);
    check_on(&[1, 2, 3], &a, &a, Stored::All);
}

#[test]
fn nothing() {
    let a = Csc::with_rows(0);
    let m = Ordered::new(&a, Stored::All).unwrap();
    let m = m.factor(&Host::new(1)).unwrap();
    let s = run(&a, &m, &block(0, 2, 1), 1e-8, 3);
    assert_eq!(s.iterations, [0, 0]);
}

#[test]
fn what_has_no_factor() {
    let kind = |a: &Csc| match Ordered::new(a, Stored::All) {
        Err(e) => e.kind(),
        Ok(order) => order.factor(&Host::new(1)).err().unwrap().kind(),
    };
    let mut shifted = poisson(&[30, 30]);
    let diagonal = shifted.values.iter_mut().filter(|v| **v > 0.0);
    diagonal.for_each(|v| *v -= 1.0);
    assert_eq!(kind(&shifted), "indefinite");
    let mut a = poisson(&[9]);
    a.values[0] = 0.0;
    assert_eq!(kind(&a), "not_positive_definite");
    a.values[0] = f64::NAN;
    assert_eq!(kind(&a), "non_finite");
    assert_eq!(kind(&Csc::with_rows(3)), "dimension");
}

fn expected(a: &Csc, columns: usize) -> Iterations {
    Iterations::expected(a, Stored::All, columns, 1e-8).unwrap()
}

/// Planes are for factors, and spaces for iterations, unless they are small.
#[test]
fn what_pays() {
    let pays = |sides: &[usize]| {
        let a = poisson(sides);
        pays(&Ordered::new(&a, Stored::All).unwrap(), expected(&a, 1))
    };
    for sides in [&[5000][..], &[30, 30], &[300, 200], &[10, 10, 10]] {
        assert!(pays(sides), "{sides:?}");
    }
    assert!(!pays(&[50, 50, 50]));
}

/// With a one for each entry.
fn only_ones(a: &Csc) -> Csc {
    let mut ones = a.clone();
    ones.values.fill(1.0);
    ones
}

fn levels(a: &Csc) -> (usize, bool) {
    // As of a matrix whose diagonal does not dominate.
    let product = Symmetric::new(a, Stored::All).unwrap();
    let iterations = expected(&only_ones(a), 1);
    let may = may_pay(&product, iterations).unwrap();
    (widest_level(&product).unwrap(), may)
}

/// A graph of n rows, joined by a function of a row to others after it.
fn graph(n: usize, after: impl Fn(usize) -> Vec<usize>) -> Csc {
    let mut columns = vec![std::collections::BTreeSet::new(); n];
    for i in 0..n {
        for j in after(i).into_iter().chain([i]).filter(|j| *j < n) {
            columns[i].insert(j);
            columns[j].insert(i);
        }
    }
    let mut a = Csc::with_rows(n);
    for (j, rows) in columns.into_iter().enumerate() {
        for i in rows {
            a.index.push(i);
            a.values.push(if i == j { 100.0 } else { -1.0 });
        }
        a.starts.push(a.index.len());
    }
    a
}

/// Levels lie across grids, and rows that nearly all others hang on make none.
#[test]
fn levels_tell_what_may_pay() {
    assert_eq!(levels(&poisson(&[5000])), (0, true));
    assert_eq!(levels(&poisson(&[300, 20])), (20, true));
    assert_eq!(levels(&poisson(&[200, 200])), (200, true));
    assert!(levels(&poisson(&[10, 10, 200])).1);
    let (width, may) = levels(&poisson(&[50, 50, 50]));
    assert!(1250 < width && width < 2500 && !may, "{width} {may}");
    let drawn = graph(20_000, |i| {
        (1..4).map(|k| (i * 7919 * k + 13 * k) % 20_000).collect()
    });
    assert!(!levels(&drawn).1);
    let hub = graph(20_000, |i| match i {
        0 => (1..20_000).collect(),
        i => vec![i + 1],
    });
    assert_eq!(levels(&hub), (0, true));
    let parts = graph(1000, |i| if i % 10 < 9 { vec![i + 1] } else { vec![] });
    assert_eq!(levels(&parts), (0, true));
    assert_eq!(levels(&graph(0, |_| vec![])), (0, true));
}

fn chosen(a: &Csc) -> Result<bool> {
    let product = Symmetric::new(a, Stored::All)?;
    let m = factor_that_pays((a, Stored::All), &product, (1, 1e-8), &Host::new(1))?;
    Ok(m.is_some())
}

/// Its factor has no fill, however wide it is; hung on a grid it leaves the levels as they are.
#[test]
fn trees_pay() {
    let n = 20_000;
    let before = |i: usize| ((numbers(1, i as u64)[0].abs() * i as f64) as usize).min(i - 1);
    let tree = |from: usize| {
        let mut after = vec![Vec::new(); n];
        (from..n).for_each(|i| after[before(i)].push(i));
        after
    };
    let edges = tree(1);
    let a = graph(n, |i| edges[i].clone());
    assert_eq!(levels(&a), (0, true));
    let order = Ordered::new(&a, Stored::All).unwrap();
    assert!(pays(&order, expected(&only_ones(&a), 1)));
    assert!(order.multiplications() <= 3.0 * n as f64);
    // A grid of 40 rows and 30 columns first.
    let edges = tree(1200);
    let hung = graph(n, |i| {
        let mut after = edges[i].clone();
        if i < 1200 {
            after.extend((i % 30 < 29).then_some(i + 1));
            after.extend((i < 1170).then_some(i + 30));
        }
        after
    });
    assert_eq!(levels(&hung), (30, true));
    // One that joins all leaves: they have two neighbours each, but an order puts it last.
    let edges = tree(1);
    let a = graph(n + 1, |i| match i {
        20_000 => vec![],
        i if edges[i].is_empty() => vec![n],
        i => edges[i].clone(),
    });
    assert_eq!(levels(&a), (0, true));
}

/// What has no factor is left to the iterations, with which a singular system that has solutions
/// converges.
#[test]
fn iterations_where_there_is_no_factor() {
    assert_eq!(chosen(&poisson(&[20, 20])), Ok(true));
    // A path's Laplacian, whose pivots are exact: the last one is 0.
    let mut a = poisson(&[60]);
    a.values[0] = 1.0;
    *a.values.last_mut().unwrap() = 1.0;
    let refused = Ordered::new(&a, Stored::All).unwrap().factor(&Host::new(1));
    assert_eq!(refused.err(), Some(Error::IndefinitePivot));
    assert_eq!(chosen(&a), Ok(false));
    let mut b = vec![0.0; 60];
    (b[3], b[50]) = (1.0, -1.0);
    let b = HostBlock::new(60, 1, b).unwrap();
    let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    assert_eq!(run(&a, &ic0, &b, 1e-8, 100).converged(), [true]);
    a.values[0] = -1.0;
    assert_eq!(chosen(&a), Err(Error::NotPositiveDefinite { order: 1 }));
}

/// The answer changes at one number of right-hand sides, which is the same whatever is stored.
#[test]
fn what_is_stored_does_not_decide() {
    let full = poisson(&[26, 27, 28]);
    let least = |a: &Csc, stored| {
        let order = Ordered::new(a, stored).unwrap();
        let expected = |k| Iterations::expected(a, stored, k, 1e-8).unwrap();
        (1..1000).find(|k| pays(&order, expected(*k))).unwrap()
    };
    let expected = least(&full, Stored::All);
    assert!(expected > 3, "{expected}");
    assert_eq!(least(&upper(&full), Stored::Upper), expected);
    assert_eq!(least(&lower(&full), Stored::Lower), expected);
    assert_eq!(least(&full, Stored::Lower), expected);
}

/// Poisson's equation with something added to the diagonal.
fn dominated(sides: &[usize], more: f64) -> Csc {
    let mut a = poisson(sides);
    let diagonal = a.values.iter_mut().filter(|v| **v > 0.0);
    diagonal.for_each(|v| *v += more);
    a
}

/// A diagonal that dominates leaves few iterations: about as many are counted on as there are.
#[test]
fn dominant_diagonals_do_not_pay() {
    for sides in [&[100, 90][..], &[20, 21, 22]] {
        for more in [100.0, 10.0, 1.0] {
            let a = dominated(sides, more);
            let ic0 = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
            let found = run(&a, &ic0, &block(a.rows, 1, 3), 1e-8, 100).iterations[0] as f64;
            let each = expected(&a, 1).each();
            assert!(
                0.4 * found <= each && each <= 1.5 * found,
                "{each} for {found}"
            );
        }
    }
    let plane = [250, 250];
    assert_eq!(expected(&poisson(&plane), 1).each(), 125.0);
    assert_eq!(chosen(&poisson(&plane)), Ok(true));
    assert_eq!(chosen(&dominated(&plane, 10.0)), Ok(false));
    // The less of a residual is to be left, the more of them.
    let a = dominated(&plane, 1.0);
    let counts = [1e-2, 1e-8, 0.0].map(|tol| {
        let i = Iterations::expected(&a, Stored::All, 1, tol).unwrap();
        i.each()
    });
    assert!(
        3.0 * counts[0] < counts[1] && counts[2] == 125.0,
        "{counts:?}"
    );
}

/// Units of rows and what is stored make no difference, a diagonal entry that is not positive
/// leaves what is usual.
#[test]
fn scaled_diagonals_dominate_as_well() {
    let a = dominated(&[30, 40], 2.0);
    let each = expected(&a, 1).each();
    for (a, stored) in [(lower(&a), Stored::Lower), (upper(&a), Stored::Upper)] {
        let other = Iterations::expected(&a, stored, 1, 1e-8).unwrap().each();
        assert!((other - each).abs() < 1e-10);
    }
    let mut scaled = a.clone();
    let unit = |i: usize| 10f64.powi(i as i32 % 7 - 3);
    for j in 0..a.columns() {
        for p in a.starts[j]..a.starts[j + 1] {
            scaled.values[p] *= unit(a.index[p]) * unit(j);
        }
    }
    assert!((expected(&scaled, 1).each() - each).abs() < 1e-8);
    let mut hole = a;
    hole.values[0] = 0.0;
    assert_eq!(expected(&hole, 1).each(), 0.5 * 1200f64.sqrt());
}
