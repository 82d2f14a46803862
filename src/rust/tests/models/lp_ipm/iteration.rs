//! The iteration itself: limits, precisions, degenerate and sparse problems.

use cudafactor::device::memory::Memory;
use std::time::Duration;

use cudafactor::algo::lp::ipm::iterate::Status;
use cudafactor::algo::lp::normal::dense_constraints::DenseConstraints;
use cudafactor::algo::lp::normal::density::is_for_dense;
use cudafactor::algo::lp::normal::equations::NormalEquations;
use cudafactor::algo::lp::normal::layout::{ConstraintLayout, Constraints};
use cudafactor::algo::lp::normal::mixed_precision::MixedConstraints;
use cudafactor::algo::lp::solve::Options;
use cudafactor::algo::lp::vectors::space::Vectors;
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::sparse::csc::Csc;
use faer::MatRef;

use super::problem::{near, random, Lp, Random};
use super::INF;

#[test]
fn limits_leave_the_best_point() {
    let p = random(20, 50, 9);
    let few = Options {
        iterations: 3,
        ..Options::default()
    };
    for s in [p.dense::<f64>(&few).unwrap(), p.sparse(&few).unwrap()] {
        assert_eq!((s.status, s.log.len()), (Status::IterationLimit, 4));
        assert!(s.x.iter().chain(&s.y).all(|x| x.is_finite()));
        let best = s.log.iter().map(|r| r.measures.worst()).fold(INF, f64::min);
        assert_eq!(s.measures.worst(), best);
    }
    let none = Options {
        time: Some(Duration::ZERO),
        ..Options::default()
    };
    assert_eq!(p.sparse(&none).unwrap().status, Status::TimeLimit);
}

#[test]
fn random_problems_dense_and_sparse_twice_the_same() {
    for (m, n) in [(1, 1), (1, 7), (5, 5), (30, 60), (150, 310)] {
        let p = random(m, n, (m * n) as u64);
        let s = p.solve();
        assert_eq!(s.status, Status::Optimal, "{m} x {n}");
        assert!(
            s.measures.worst() <= 1e-8 && s.log.len() <= 20,
            "{}",
            s.log.len()
        );
        let again = p.sparse(&Options::default()).unwrap();
        assert_eq!((again.x, again.y), (s.x, s.y));
    }
}

/// A factor in single precision is what it says, and no more than that is lost by it.
#[test]
fn factors_in_single_precision_are_refined() {
    let p = random(60, 130, 3);
    let dev = CpuDevice::new(1);
    let values = p.by_columns();
    let view = MatRef::from_column_major_slice(&values, 60, 130);
    let a = Memory::<f64>::load(&dev, view).unwrap();
    let a = MixedConstraints::new(DenseConstraints::<f64, _>::new(&dev, &a));
    let mut layout = ConstraintLayout {
        rows: (0..60).collect(),
        bounded: (0..130).collect(),
        signs: vec![1.0; 130],
        ..ConstraintLayout::default()
    };
    let mut n = a.arrange(&mut layout).unwrap();
    let weights: Vec<f64> = (0..130).map(|j| 1e30 * (1.0 + j as f64)).collect();
    let weights = n.space().bring(&weights).unwrap();
    let right: Vec<f64> = (0..60).map(|i| 1e-20 * (f64::from(i) - 20.5)).collect();
    let mut solve = |coarse| {
        assert_eq!(n.coarsen(coarse).unwrap(), coarse);
        assert_eq!(n.factor(&weights, 1e-13).unwrap(), 0);
        let mut x = n.space().bring(&right).unwrap();
        n.solve(&mut x).unwrap();
        n.space().fetch(&x).unwrap()
    };
    let (double, single) = (solve(false), solve(true));
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let off: Vec<f64> = double.iter().zip(&single).map(|(a, b)| a - b).collect();
    let error = norm(&off) / norm(&double);
    assert!(error > 1e-12 && error < 1e-4, "{error}");
    let (double, mixed) = (
        p.dense::<f64>(&Options::default()).unwrap(),
        p.mixed(&Options::default()).unwrap(),
    );
    assert_eq!(mixed.status, Status::Optimal);
    assert!(mixed.measures.worst() <= 1e-8);
    assert!(mixed.log.len() <= double.log.len() + 2);
    assert!(mixed.x != double.x);
}

#[test]
fn single_precision_reaches_its_tolerance() {
    let p = random(40, 90, 2);
    let coarse = Options {
        tolerance: 1e-4,
        ..Options::default()
    };
    let s = p.dense::<f32>(&coarse).unwrap();
    assert_eq!(s.status, Status::Optimal);
    let (a, b) = (s.measures.objective, p.solve().measures.objective);
    assert!((a - b).abs() < 1e-3 * (1.0 + b.abs()));
}

/// Shipments between as many sources as sinks, of equal amounts: degenerate, with one equation too
/// many.
#[test]
fn degenerate_problems_reach_the_tolerance() {
    for k in [3, 8, 15] {
        let n = k * k;
        let mut r = Random(k as u64);
        let c: Vec<f64> = r.many(n).iter().map(|x| (10.0 * x).round()).collect();
        let from = |i: usize| (0..n).map(|j| f64::from(j / k == i)).collect::<Vec<_>>();
        let to = |i: usize| (0..n).map(|j| f64::from(j % k == i)).collect::<Vec<_>>();
        let a: Vec<Vec<f64>> = (0..k).map(from).chain((0..k).map(to)).collect();
        let parts: Vec<&[f64]> = a.iter().map(Vec::as_slice).collect();
        let s = Lp::new(&c, &parts, &vec![(1.0, 1.0); 2 * k]).solve();
        assert_eq!((s.status, s.dropped), (Status::Optimal, 1));
        let whole = s.measures.objective.round();
        assert!(
            (s.measures.objective - whole).abs() < 1e-5,
            "{}",
            s.measures.objective
        );
    }
}

/// Coefficients are free, and each row has its residual's two parts to itself.
#[test]
fn least_absolute_values_stay_sparse() {
    let (n, p) = (40, 3);
    let mut r = Random(5);
    let x: Vec<Vec<f64>> = (0..n).map(|_| r.many(p)).collect();
    let mut a = Vec::new();
    let mut rows = Vec::new();
    for (i, x) in x.iter().enumerate() {
        let part = |sign: f64| (0..n).map(move |k| if k == i { sign } else { 0.0 });
        a.push(
            x.iter()
                .copied()
                .chain(part(1.0))
                .chain(part(-1.0))
                .collect::<Vec<f64>>(),
        );
        let y = x[0] - 2.0 * x[1] + 3.0 * x[2] + if i % 4 == 0 { r.next() } else { 0.0 };
        rows.push((y, y));
    }
    let c: Vec<f64> = (0..p + 2 * n).map(|j| f64::from(j >= p)).collect();
    let columns: Vec<(f64, f64)> = (0..p + 2 * n)
        .map(|j| (if j < p { -INF } else { 0.0 }, INF))
        .collect();
    let parts: Vec<&[f64]> = a.iter().map(Vec::as_slice).collect();
    let problem = Lp::new(&c, &parts, &rows).bounded(&columns);
    let s = problem.solve();
    assert_eq!(s.status, Status::Optimal);
    // Most observations are on one plane, which is then the fit.
    near(&s.x[..p], &[1.0, -2.0, 3.0]);
    let sparse = Csc::from_dense(n, &problem.by_columns()).unwrap();
    assert!(problem.with(|p| !is_for_dense(&sparse, p)));
    let full = random(60, 90, 4);
    let dense = Csc::from_dense(60, &full.by_columns()).unwrap();
    assert!(full.with(|p| is_for_dense(&dense, p)));
}
