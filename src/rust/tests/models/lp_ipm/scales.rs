//! Numbers that differ by orders of magnitude.

use cudafactor::algo::lp::ipm::iterate::Status;
use cudafactor::algo::lp::solve::Options;

use super::problem::{least_absolute, near, Lp};
use super::INF;

/// The optimum, though rounding may keep the residuals from the tolerance.
fn reaches(p: &Lp, optimum: f64) {
    let options = Options::default();
    for s in [
        p.dense::<f64>(&options).unwrap(),
        p.sparse(&options).unwrap(),
    ] {
        let known = matches!(s.status, Status::Optimal | Status::Stalled);
        assert!(known, "{:?}", s.status);
        near(&[s.measures.objective], &[optimum]);
    }
}

#[test]
fn large_coefficients_make_no_rows_dependent() {
    let a: [&[f64]; 2] = [&[1e10, 1.0, 0.0], &[1e10, 0.0, 1.0]];
    reaches(&Lp::new(&[1.0; 3], &a, &[(1.0, 1.0), (3.0, 3.0)]), 2.0);
    reaches(&Lp::new(&[0.0, 0.0, -1.0], &a, &[(1.0, 1.0); 2]), -1.0);
    let a: [&[f64]; 3] = [&[1e10, 1e10], &[1.0, 0.0], &[0.0, 1.0]];
    let p = Lp::new(&[1.0, 3.0], &a, &[(1.0, INF); 3]);
    reaches(&p.bounded(&[(-INF, INF); 2]), 4.0);
}

#[test]
fn nearly_dependent_free_columns_are_not_dropped_silently() {
    let t: Vec<f64> = (1..=20).map(|i| f64::from(i) * 0.05).collect();
    let x: Vec<Vec<f64>> = t.iter().map(|t| vec![1.0, 1.6e9 + t]).collect();
    let y: Vec<f64> = t.iter().map(|t| 3.0 + 2.0 * t).collect();
    let p = least_absolute(&x, &y, -INF);
    for s in [
        p.dense::<f64>(&Options::default()).unwrap(),
        p.sparse(&Options::default()).unwrap(),
    ] {
        assert_eq!(s.dropped_columns, 0);
        if s.status == Status::Optimal {
            assert!(s.measures.objective < 1e-3, "{}", s.measures.objective);
        } else {
            assert_eq!(s.status, Status::Stalled);
        }
    }
}

#[test]
fn far_bounds_are_no_shifts() {
    let x: Vec<Vec<f64>> = (1..=5).map(|i| vec![1.0, f64::from(i)]).collect();
    let y = [2.0, 4.0, 5.0, 4.0, 5.0];
    for far in [-1e5, -1e6, -1e8, -1e12, -1e15] {
        let s = least_absolute(&x, &y, far).solve();
        assert_eq!(s.status, Status::Optimal, "{far}");
        near(&[s.measures.objective], &[3.0]);
        let s = Lp::new(&[1.0, 1.0], &[&[1.0, 1.0]], &[(5.0, INF)])
            .bounded(&[(far, INF), (far, INF)])
            .solve();
        assert_eq!(s.status, Status::Optimal, "{far}");
        near(&[s.measures.objective], &[5.0]);
    }
    let p = Lp::new(&[1.0, 0.0], &[&[1.0, 1.0]], &[(3.0, 3.0)]);
    let s = p.clone().bounded(&[(0.0, INF), (-1e8, 2.0)]).solve();
    assert_eq!(s.status, Status::Optimal);
    near(&[s.measures.objective], &[1.0]);
    // One that binds.
    let s = Lp::new(&[1.0, 0.0], &[&[1.0, -1.0]], &[(-INF, 3.0)])
        .bounded(&[(-1e6, INF), (0.0, 1.0)])
        .solve();
    assert_eq!(s.status, Status::Optimal);
    near(&s.x[..1], &[-1e6]);
}

#[test]
fn small_rows_and_costs_count_beside_large_ones() {
    let a: [&[f64]; 3] = [&[1.0, 1.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]];
    let s = Lp::new(&[1.0; 3], &a, &[(-INF, 1.0), (1.5, INF), (1e9, INF)]).solve();
    assert_eq!(s.status, Status::Infeasible);
    let unit: [&[f64]; 2] = [&[1.0, 0.0], &[0.0, 1.0]];
    let s = Lp::new(&[1.0; 2], &unit, &[(1e8, INF), (0.1, INF)]).solve();
    assert_eq!(s.status, Status::Optimal);
    assert!((s.x[1] - 0.1).abs() < 1e-4 && (s.y[1] - 1.0).abs() < 1e-3);
    let a: [&[f64]; 2] = [&[1.0, 0.0, 0.0], &[0.0, 1.0, 1.0]];
    let s = Lp::new(&[1e8, 1.0, 2.0], &a, &[(1.0, INF); 2]).solve();
    assert_eq!(s.status, Status::Optimal);
    assert!((s.x[1] - 1.0).abs() < 1e-3 && s.x[2] < 1e-3);
    let x: Vec<Vec<f64>> = (1..=12).map(|i| vec![1.0, f64::from(i)]).collect();
    let wave = |i: i32| f64::from(i * i % 5) * 0.1;
    let mut y: Vec<f64> = (1..=12)
        .map(|i| 1.0 + 2.0 * f64::from(i) + wave(i))
        .collect();
    y[3] = 1e3;
    let fit = least_absolute(&x, &y, -INF).solve();
    y[3] = 1e8;
    let s = least_absolute(&x, &y, -INF).solve();
    assert_eq!(s.status, Status::Optimal);
    for k in 0..2 {
        assert!((s.x[k] - fit.x[k]).abs() < 1e-3, "{} {}", s.x[k], fit.x[k]);
    }
}

#[test]
fn a_small_objective_is_optimized_all_the_same() {
    for c in [1e-3, 1e-9, 1e-12] {
        let s = Lp::new(&[-c], &[&[1.0]], &[(-INF, 1.0)]).solve();
        assert_eq!(s.status, Status::Optimal);
        near(&s.x, &[1.0]);
    }
}
