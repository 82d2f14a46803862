//! Incomplete Cholesky factors against masked dense ones.

use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::Stored;
use faer::{Mat, Side};

use super::problem::{dense, lower, numbers, poisson, sparse, upper};

/// Cholesky's algorithm on all entries, of which those outside of the mask are zeroed as they come.
fn masked(a: &Mat<f64>, keep: impl Fn(usize, usize) -> bool) -> Mat<f64> {
    let n = a.nrows();
    let mut l = a.clone();
    for j in 0..n {
        let root = l[(j, j)].sqrt();
        l[(j, j)] = root;
        for i in j + 1..n {
            l[(i, j)] = if keep(i, j) { l[(i, j)] / root } else { 0.0 };
        }
        for k in j + 1..n {
            for i in k..n {
                let by = l[(i, j)] * l[(k, j)];
                l[(i, k)] -= by;
            }
        }
        (0..j).for_each(|i| l[(i, j)] = 0.0);
    }
    l
}

/// Diagonally dominant, with about `fill` entries in a row.
fn random(n: usize, fill: usize, seed: u64) -> Csc {
    let draws = numbers(n * n, seed);
    let mut a = Mat::<f64>::zeros(n, n);
    for j in 0..n {
        for i in 0..j {
            let v = draws[i * n + j];
            if draws[j * n + i].abs() * (n as f64) < fill as f64 {
                (a[(i, j)], a[(j, i)]) = (v, v);
            }
        }
    }
    for j in 0..n {
        let sum: f64 = (0..n).map(|i| a[(i, j)].abs()).sum();
        a[(j, j)] = sum + 0.01 + draws[j * n + j].abs();
    }
    sparse(&a)
}

fn same(l: &Csc, expected: &Mat<f64>) {
    let n = l.columns();
    let ours = dense(l);
    for j in 0..n {
        for i in 0..n {
            let (x, y) = (ours[(i, j)], expected[(i, j)]);
            let bound = 1e-13 * expected[(i.max(j), i.max(j))].max(1.0);
            assert!((x - y).abs() <= bound, "[{i}, {j}]: {x} and {y}");
        }
    }
}

#[test]
fn pattern_and_values_without_fill() {
    let mut all = vec![
        poisson(&[0]),
        poisson(&[1]),
        poisson(&[2]),
        poisson(&[6, 7]),
    ];
    all.push(poisson(&[4, 3, 5]));
    all.extend([(3, 2), (17, 4), (60, 6), (90, 90)].map(|(n, fill)| random(n, fill, n as u64)));
    for a in all {
        let full = dense(&a);
        let expected = masked(&full, |i, j| full[(i, j)] != 0.0);
        for (a, stored) in [
            (a.clone(), Stored::All),
            (lower(&a), Stored::Lower),
            (upper(&a), Stored::Upper),
        ] {
            let m = IncompleteCholesky::new(&a, stored, Fill::None).unwrap();
            assert_eq!((m.shift(), m.failures()), (0.0, 0));
            let l = m.lower().unwrap();
            let pattern = lower(&sparse(&full));
            assert_eq!((&l.starts, &l.index), (&pattern.starts, &pattern.index));
            assert_eq!(m.entries(), l.index.len());
            same(&l, &expected);
        }
    }
}

/// Some rows that hang on nearly all others come first, so that few entries of long columns count
/// for later ones.
#[test]
fn long_columns_first() {
    let n = 150;
    let draws = numbers(n * n, 21);
    let a = Mat::from_fn(n, n, |i, j| {
        let (i, j) = (i.max(j), i.min(j));
        let there = (j < 3 && (i + j) % 5 > 0) || draws[j * n + i].abs() < 0.03;
        match there {
            _ if i == j => 2.0 * n as f64,
            true => draws[i * n + j],
            false => 0.0,
        }
    });
    let l = IncompleteCholesky::new(&sparse(&a), Stored::All, Fill::None).unwrap();
    assert_eq!(l.failures(), 0);
    same(&l.lower().unwrap(), &masked(&a, |i, j| a[(i, j)] != 0.0));
}

/// The sum of a column's entries overflows: what is large beside it is kept all the same, with a
/// threshold of 0 everything.
#[test]
fn columns_near_overflow() {
    let a = Mat::from_fn(3, 3, |i, j| if i == j { 1e308 } else { 0.6e308 });
    let expected = a.llt(Side::Lower).unwrap().L().to_owned();
    for t in [0.0, 1e-3] {
        let m = IncompleteCholesky::new(&sparse(&a), Stored::All, Fill::Threshold(t)).unwrap();
        assert_eq!((m.shift(), m.entries()), (0.0, 6));
        same(&m.lower().unwrap(), &expected);
    }
}

/// Where L has entries, L L' is A.
#[test]
fn products_are_the_matrix_on_its_pattern() {
    let a = random(70, 5, 9);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let l = dense(&m.lower().unwrap());
    let product = &l * l.transpose();
    for j in 0..70 {
        let (rows, values) = a.column(j);
        for (i, v) in rows.iter().zip(values) {
            assert!((product[(*i, j)] - v).abs() <= 1e-13 * 20.0);
        }
    }
}

#[test]
fn limits_of_the_threshold() {
    for a in [poisson(&[8, 9]), random(50, 5, 4), poisson(&[1])] {
        let full = dense(&a);
        let factor = full.llt(Side::Lower).unwrap();
        let complete = IncompleteCholesky::new(&a, Stored::All, Fill::Threshold(0.0)).unwrap();
        same(&complete.lower().unwrap(), &factor.L().to_owned());
        let none = IncompleteCholesky::new(&a, Stored::All, Fill::Threshold(f64::INFINITY));
        let none = none.unwrap();
        assert_eq!(none.entries(), a.columns());
        let roots = none.lower().unwrap();
        let pairs = roots.values.iter().enumerate();
        pairs.for_each(|(i, r)| assert_eq!(*r, full[(i, i)].sqrt()));
    }
}

/// What is left out is small beside its column of A, and what is kept is not.
#[test]
fn thresholds_are_kept() {
    let (a, t) = (random(80, 6, 2), 0.03);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::Threshold(t)).unwrap();
    let l = m.lower().unwrap();
    let all = dense(&lower(&a));
    for j in 0..80 {
        let norm: f64 = all.col(j).iter().map(|x| x.abs()).sum();
        let (rows, values) = l.column(j);
        assert_eq!(rows[0], j);
        for v in &values[1..] {
            assert!(v.abs() * values[0] >= t * norm * (1.0 - 1e-14));
        }
    }
    let complete = IncompleteCholesky::new(&a, Stored::All, Fill::Threshold(0.0)).unwrap();
    assert!(m.entries() < complete.entries());
}

#[test]
fn systems_are_solved() {
    let a = random(61, 5, 8);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let l = dense(&m.lower().unwrap());
    for k in [0, 1, 2, 3, 4, 5, 11] {
        let x = numbers(61 * k, 3);
        let x = faer::MatRef::from_column_major_slice(&x, 61, k);
        let flat = |m: Mat<f64>| -> Vec<f64> {
            m.col_iter()
                .flat_map(|c| c.iter().copied().collect::<Vec<_>>())
                .collect()
        };
        let (mut down, mut up) = (flat(&l * x), flat(l.transpose() * x));
        m.solve_lower(&mut down, 1);
        m.solve_upper(&mut up, 1);
        for (solved, x) in [down, up]
            .iter()
            .flat_map(|s| s.iter().zip(flat(x.to_owned())))
        {
            assert!((solved - x).abs() <= 1e-13);
        }
    }
}

/// Bit by bit, each column as if it were alone.
#[test]
fn threads_change_nothing() {
    let a = poisson(&[200, 200]);
    let (n, k) = (a.rows, 30);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    let x = numbers(n * k, 5);
    let solved = |x: &[f64], threads| {
        let mut x = x.to_vec();
        m.solve_lower(&mut x, threads);
        m.solve_upper(&mut x, threads);
        x
    };
    let expected = solved(&x, 1);
    for threads in [2, 3] {
        assert_eq!(m.share(k, threads), threads);
        assert!(solved(&x, threads) == expected);
    }
    for c in [0, 14, 29] {
        let column = c * n..(c + 1) * n;
        assert!(solved(&x[column.clone()], 2) == expected[column]);
    }
}
