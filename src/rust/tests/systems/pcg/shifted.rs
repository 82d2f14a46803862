//! Breakdown of incomplete factors, and shifts.

use cudafactor::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use cudafactor::algo::sparse::incomplete_cholesky_columns::Fill;
use cudafactor::base::error::Error;
use cudafactor::base::sparse::csc::Csc;
use cudafactor::base::sparse::symmetric::Stored;
use faer::{mat, Mat, Side};

use super::problem::{block, dense, poisson, residual, run, sparse};

/// Kershaw (1978): positive definite, and without fill its last pivot is -5.
fn kershaw() -> Csc {
    sparse(&mat![
        [3.0, -2.0, 0.0, 2.0],
        [-2.0, 3.0, -2.0, 0.0],
        [0.0, -2.0, 3.0, -2.0],
        [2.0, 0.0, -2.0, 3.0],
    ])
}

#[test]
fn kershaws_matrix() {
    let a = kershaw();
    assert!(dense(&a).llt(Side::Lower).is_ok());
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    assert!(m.shift() > 0.0 && m.failures() > 0);
    // 1e-3, doubled at each failure but the first.
    let doubled = 1e-3 * 2f64.powi(m.failures() as i32 - 1);
    assert!((m.shift() - doubled).abs() <= 1e-12);
    // The factor is that of the shifted matrix, on whose pattern L L' is it.
    let l = dense(&m.lower().unwrap());
    let product = &l * l.transpose();
    for j in 0..4 {
        let (rows, values) = a.column(j);
        for (i, v) in rows.iter().zip(values) {
            let shifted = if *i == j { v * (1.0 + m.shift()) } else { *v };
            assert!((product[(*i, j)] - shifted).abs() <= 1e-14 * 10.0);
        }
    }
    // Half of the shift was not enough.
    let halved = Mat::from_fn(4, 4, |i, j| {
        let by = if i == j { 1.0 + 0.5 * m.shift() } else { 1.0 };
        dense(&a)[(i, j)] * by
    });
    let again = IncompleteCholesky::new(&sparse(&halved), Stored::All, Fill::None).unwrap();
    assert!(again.failures() > 0);
    let b = block(4, 2, 1);
    let s = run(&a, &m, &b, 1e-12, 30);
    assert_eq!(s.converged(), [true; 2]);
    (0..2).for_each(|c| assert!(residual(&a, s.x.column(c), b.column(c)) <= 1.1e-12));
}

/// All of the fill, and there is no breakdown.
#[test]
fn the_complete_factor_of_kershaws_matrix() {
    let m = IncompleteCholesky::new(&kershaw(), Stored::All, Fill::Threshold(0.0)).unwrap();
    assert_eq!((m.shift(), m.failures()), (0.0, 0));
    let s = run(&kershaw(), &m, &block(4, 3, 2), 1e-12, 30);
    assert!(s.iterations.iter().all(|i| *i <= 2));
}

/// In a larger matrix: Kershaw's along the diagonal, loosely coupled.
#[test]
fn many_breakdowns_take_one_shift() {
    let (one, n) = (dense(&kershaw()), 200);
    let a = Mat::from_fn(n, n, |i, j| match (i / 4 == j / 4, i.abs_diff(j)) {
        (true, _) => one[(i % 4, j % 4)],
        (false, 4) => -0.02,
        _ => 0.0,
    });
    assert!(a.llt(Side::Lower).is_ok());
    let a = sparse(&a);
    let b = block(n, 2, 4);
    for fill in [Fill::None, Fill::Threshold(0.2)] {
        let m = IncompleteCholesky::new(&a, Stored::All, fill).unwrap();
        let s = run(&a, &m, &b, 1e-10, 400);
        assert_eq!(s.converged(), [true; 2]);
        let shifted = m.shift() > 0.0;
        assert!(fill != Fill::None || shifted);
    }
}

/// A shift makes any matrix with a positive diagonal factorable; that it is indefinite, the
/// iteration finds.
#[test]
fn an_indefinite_matrix_is_found_out_later() {
    let a = sparse(&mat![[1.0, 3.0], [3.0, 1.0]]);
    let m = IncompleteCholesky::new(&a, Stored::All, Fill::None).unwrap();
    assert!(m.shift() >= 2.0 && m.shift() <= 4.1, "{}", m.shift());
    let b = cudafactor::algo::krylov::host_blocks::HostBlock::new(2, 1, vec![1.0, -1.0]).unwrap();
    let s = run(&a, &m, &b, 1e-10, 10);
    assert_eq!(s.verdict().unwrap_err().kind(), "indefinite");
}

#[test]
fn what_cannot_be_factored_is_refused() {
    let of = |a: &Csc, fill| IncompleteCholesky::new(a, Stored::All, fill).err();
    let minors = sparse(&mat![[1.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, -1.0]]);
    let order = Some(Error::NotPositiveDefinite { order: 3 });
    assert_eq!(of(&minors, Fill::None), order);
    // A diagonal entry that is not stored is zero.
    let hole = sparse(&mat![[1.0, 1.0], [1.0, 0.0]]);
    let order = Some(Error::NotPositiveDefinite { order: 2 });
    assert_eq!(of(&hole, Fill::None), order);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut a = poisson(&[5]);
        a.values[4] = bad;
        let e = Some(Error::NonFiniteIn { argument: "A" });
        assert_eq!(of(&a, Fill::None), e);
    }
    for t in [-1.0, f64::NAN] {
        let e = of(&poisson(&[5]), Fill::Threshold(t)).unwrap();
        assert_eq!(e.kind(), "argument");
    }
    let long = sparse(&Mat::from_fn(3, 2, |_, _| 1.0));
    assert_eq!(of(&long, Fill::None).unwrap().kind(), "dimension");
}
