//! Linear programs: dense and sparse, against closed forms and against what certificates and optimality say of themselves.

use std::time::Duration;

use cudafactor::algo::lp::{self, Certificate, Options, Solution};
use cudafactor::algo::lp_csc::Csc;
use cudafactor::algo::lp_dense_constraints::DenseConstraints;
use cudafactor::algo::lp_density::is_for_dense;
use cudafactor::algo::lp_form::Problem;
use cudafactor::algo::lp_ipm::Status;
use cudafactor::algo::lp_sparse::SparseConstraints;
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::device::Device;
use cudafactor::error::Error;
use cudafactor::scalar::Scalar;
use faer::MatRef;

const INF: f64 = f64::INFINITY;

/// A problem with its matrix by rows.
#[derive(Clone)]
struct Lp {
    c: Vec<f64>,
    a: Vec<Vec<f64>>,
    rows: Vec<(f64, f64)>,
    columns: Vec<(f64, f64)>,
}

impl Lp {
    fn new(c: &[f64], a: &[&[f64]], rows: &[(f64, f64)]) -> Lp {
        Lp {
            c: c.to_vec(),
            a: a.iter().map(|r| r.to_vec()).collect(),
            rows: rows.to_vec(),
            columns: vec![(0.0, INF); c.len()],
        }
    }

    fn bounded(mut self, columns: &[(f64, f64)]) -> Lp {
        self.columns = columns.to_vec();
        self
    }

    fn by_columns(&self) -> Vec<f64> {
        let column = |j: usize| self.a.iter().map(move |r| r[j]);
        (0..self.c.len()).flat_map(column).collect()
    }

    fn with<R>(&self, f: impl FnOnce(&Problem<'_>) -> R) -> R {
        let (rl, ru): (Vec<f64>, Vec<f64>) = self.rows.iter().copied().unzip();
        let (l, u): (Vec<f64>, Vec<f64>) = self.columns.iter().copied().unzip();
        f(&Problem {
            objective: &self.c,
            rows: (&rl, &ru),
            columns: (&l, &u),
        })
    }

    fn dense<T: Scalar>(&self, options: &Options) -> Result<Solution, Error> {
        let dev = CpuDevice::new(1);
        let values: Vec<T> = self.by_columns().into_iter().map(T::from_f64).collect();
        let view = MatRef::from_column_major_slice(&values, self.a.len(), self.c.len());
        let a = Device::<T>::load(&dev, view)?;
        self.with(|p| lp::solve(&DenseConstraints::<T, _>::new(&dev, &a), p, options))
    }

    fn sparse(&self, options: &Options) -> Result<Solution, Error> {
        let dev = CpuDevice::new(1);
        let mut a = Csc::from_dense(self.a.len(), &self.by_columns());
        if self.a.is_empty() {
            a = Csc::new(0, vec![0; self.c.len() + 1], vec![], vec![])?;
        }
        self.with(|p| lp::solve(&SparseConstraints::new(&dev, &a), p, options))
    }

    /// Both ways, which agree.
    fn solve(&self) -> Solution {
        let options = Options::default();
        let dense = self.dense::<f64>(&options).unwrap();
        let sparse = self.sparse(&options).unwrap();
        assert_eq!(dense.status, sparse.status);
        if dense.status == Status::Optimal {
            let (a, b) = (dense.measures.objective, sparse.measures.objective);
            assert!((a - b).abs() <= 1e-6 * (1.0 + a.abs()), "{a} and {b}");
            self.check_optimal(&dense);
            self.check_optimal(&sparse);
        }
        if let (Some(a), Some(b)) = (&dense.certificate, &sparse.certificate) {
            self.check_proof(a);
            self.check_proof(b);
        }
        sparse
    }

    /// Within bounds, signs of duals, complementary.
    fn check_optimal(&self, s: &Solution) {
        let near = 1e-6 * (1.0 + s.measures.objective.abs());
        let check = |x: f64, (l, u): (f64, f64), d: f64, what: &str| {
            assert!(x >= l - near && x <= u + near, "{what}: {x} in {l}, {u}");
            if d > 1e-5 {
                assert!(
                    (x - l) * d.min(1.0) <= 1e-4 * (1.0 + l.abs()),
                    "{what}: {x} over {l}, {d}"
                );
            }
            if d < -1e-5 {
                assert!(
                    (u - x) * (-d).min(1.0) <= 1e-4 * (1.0 + u.abs()),
                    "{what}: {x} under {u}, {d}"
                );
            }
        };
        for (j, x) in s.x.iter().enumerate() {
            check(*x, self.columns[j], s.reduced[j], "variable");
        }
        for (i, x) in s.activity.iter().enumerate() {
            check(*x, self.rows[i], s.y[i], "row");
        }
    }

    fn check_proof(&self, proof: &Certificate) {
        // The most that a multiple of something within bounds can be; rounding does not count against infinity.
        let most = |v: f64, (l, u): (f64, f64)| match v {
            v if v.abs() < 1e-7 => 0.0,
            v if v > 0.0 => v * u,
            v => v * l,
        };
        match proof {
            Certificate::Rows(y) => {
                let combined = |j: usize| y.iter().zip(&self.a).map(|(y, r)| y * r[j]).sum::<f64>();
                let reach: f64 = (0..self.c.len())
                    .map(|j| most(combined(j), self.columns[j]))
                    .sum();
                let wanted: f64 = y.iter().zip(&self.rows).map(|(y, r)| -most(-y, *r)).sum();
                assert!(wanted - reach > 0.5, "{wanted} of {reach}");
            }
            Certificate::Ray(x) => {
                let fall: f64 = x.iter().zip(&self.c).map(|(x, c)| x * c).sum();
                assert!((fall + 1.0).abs() < 1e-6);
                let stays = |d: f64, (l, u): (f64, f64)| {
                    assert!(d > -1e-6 || l == -INF, "{d}");
                    assert!(d < 1e-6 || u == INF, "{d}");
                };
                x.iter().zip(&self.columns).for_each(|(d, b)| stays(*d, *b));
                for (row, b) in self.a.iter().zip(&self.rows) {
                    stays(row.iter().zip(x).map(|(a, d)| a * d).sum(), *b);
                }
            }
        }
    }
}

fn near(x: &[f64], wanted: &[f64]) {
    assert_eq!(x.len(), wanted.len());
    for (x, w) in x.iter().zip(wanted) {
        assert!((x - w).abs() <= 1e-6 * (1.0 + w.abs()), "{x} is not {w}");
    }
}

/// Numbers from -1 to 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn many(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
}

/// Feasible on both sides by construction, `m` equations in `n` variables.
fn random(m: usize, n: usize, seed: u64) -> Lp {
    let mut r = Random(seed);
    let a: Vec<Vec<f64>> = (0..m).map(|_| r.many(n)).collect();
    let x: Vec<f64> = r.many(n).iter().map(|x| 1.1 + x).collect();
    let z: Vec<f64> = r.many(n).iter().map(|x| 1.1 + x).collect();
    let y = r.many(m);
    let row = |i: usize| a[i].iter().zip(&x).map(|(a, x)| a * x).sum::<f64>();
    let rows: Vec<(f64, f64)> = (0..m).map(|i| (row(i), row(i))).collect();
    let cost = |j: usize| z[j] + (0..m).map(|i| a[i][j] * y[i]).sum::<f64>();
    let c: Vec<f64> = (0..n).map(cost).collect();
    let parts: Vec<&[f64]> = a.iter().map(Vec::as_slice).collect();
    Lp::new(&c, &parts, &rows)
}

#[test]
fn a_problem_with_a_known_vertex() {
    let p = Lp::new(
        &[-3.0, -2.0],
        &[&[1.0, 1.0], &[1.0, 3.0]],
        &[(-INF, 4.0), (-INF, 7.0)],
    )
    .bounded(&[(0.0, 3.0), (0.0, INF)]);
    let s = p.solve();
    assert_eq!(s.status, Status::Optimal);
    near(&s.x, &[3.0, 1.0]);
    near(&s.y, &[-2.0, 0.0]);
    near(&s.reduced, &[-1.0, 0.0]);
    near(&[s.measures.objective], &[-11.0]);
}

#[test]
fn every_kind_of_row_and_variable() {
    // Free, fixed, upper alone, negative lower, boxed; an equation, a range, both inequalities, a row without bounds.
    let p = Lp::new(
        &[1.0, 2.0, -1.0, 1.0, -1.0],
        &[
            &[1.0, 1.0, 1.0, 0.0, 0.0],
            &[1.0, 0.0, 0.0, 1.0, 1.0],
            &[0.0, 0.0, 1.0, 1.0, 0.0],
            &[1.0, -1.0, 0.0, 0.0, 2.0],
            &[5.0, 5.0, 5.0, 5.0, 5.0],
        ],
        &[
            (2.0, 2.0),
            (-1.0, 4.0),
            (-INF, 3.0),
            (-2.0, INF),
            (-1e20, 1e21),
        ],
    )
    .bounded(&[
        (-INF, INF),
        (1.5, 1.5),
        (-INF, 2.0),
        (-4.0, INF),
        (0.0, 1.0),
    ]);
    let s = p.solve();
    assert_eq!(s.status, Status::Optimal);
    // x1 = 0.5 - x3, x4 >= -1 - x1 - x5: the objective is -2 x3 + x4 - x5 + 3.5, and x4 = x3 - 2.5 at x5 = 1.
    near(&s.x, &[-1.5, 1.5, 2.0, -0.5, 1.0]);
    assert_eq!(s.y[4], 0.0);
}

#[test]
fn contradictions_are_proved() {
    let one = Lp::new(&[1.0, 1.0], &[&[1.0, 1.0]], &[(-INF, -1.0)]);
    assert_eq!(one.solve().status, Status::Infeasible);
    let rows: [&[f64]; 3] = [&[1.0, 2.0, 0.0], &[2.0, 4.0, 0.0], &[0.0, 1.0, 1.0]];
    let twice = Lp::new(&[1.0; 3], &rows, &[(2.0, 2.0), (5.0, 5.0), (1.0, 1.0)]);
    assert_eq!(twice.solve().status, Status::Infeasible);
    let boxed = Lp::new(
        &[0.0, 0.0],
        &[&[1.0, -1.0], &[1.0, 1.0]],
        &[(3.0, 5.0), (0.0, 2.0)],
    )
    .bounded(&[(0.0, 2.0), (0.0, 2.0)]);
    assert_eq!(boxed.solve().status, Status::Infeasible);
    let empty = Lp::new(
        &[1.0, 1.0],
        &[&[0.0, 0.0], &[1.0, 1.0]],
        &[(1.0, 1.0), (1.0, 1.0)],
    );
    assert_eq!(empty.solve().status, Status::Infeasible);
}

#[test]
fn endless_descent_is_proved() {
    let open =
        Lp::new(&[-1.0, 1.0], &[&[1.0, -1.0]], &[(-INF, 1.0)]).bounded(&[(0.0, INF), (-INF, INF)]);
    // The row bounds the objective, if no variable.
    assert_eq!(open.solve().status, Status::Optimal);
    let open = Lp::new(&[-2.0, 1.0], &[&[1.0, -1.0]], &[(-INF, 1.0)]);
    assert_eq!(open.solve().status, Status::Unbounded);
    let free = Lp::new(&[1.0, 1.0, 1.0], &[&[1.0, 2.0, 1.0]], &[(1.0, 1.0)]).bounded(&[
        (-INF, INF),
        (-INF, INF),
        (0.0, INF),
    ]);
    assert_eq!(free.solve().status, Status::Unbounded);
    let idle = Lp::new(&[1.0, -1.0], &[&[1.0, 0.0]], &[(1.0, 1.0)]);
    assert_eq!(idle.solve().status, Status::Unbounded);
}

#[test]
fn equations_that_follow_from_others_are_left_out() {
    let mut p = random(12, 30, 3);
    let sum = |p: &Lp, k: usize| -> Vec<f64> {
        (0..30).map(|j| p.a[k][j] - 2.0 * p.a[k + 1][j]).collect()
    };
    for k in [0, 5] {
        let row = sum(&p, k);
        let rhs = p.rows[k].0 - 2.0 * p.rows[k + 1].0;
        p.a.insert(3, row);
        p.rows.insert(3, (rhs, rhs));
    }
    let s = p.solve();
    assert_eq!((s.status, s.dropped), (Status::Optimal, 2));
    near(
        &[s.measures.objective],
        &[random(12, 30, 3).solve().measures.objective],
    );
}

#[test]
fn free_columns_that_follow_from_others_are_left_out() {
    let p = Lp::new(
        &[1.0, 2.0, 1.0],
        &[&[1.0, 2.0, 0.0], &[2.0, 4.0, 1.0]],
        &[(1.0, INF), (3.0, INF)],
    )
    .bounded(&[(-INF, INF), (-INF, INF), (0.0, INF)]);
    let s = p.solve();
    assert_eq!(s.status, Status::Optimal);
    near(&[s.measures.objective], &[1.5]);
}

#[test]
fn what_needs_no_iteration() {
    let p = Lp::new(&[1.0, -2.0, 0.0], &[], &[]).bounded(&[(2.0, 5.0), (-1.0, 3.0), (1.0, INF)]);
    let s = p.solve();
    assert_eq!((s.status, s.log.len()), (Status::Optimal, 0));
    near(&s.x, &[2.0, 3.0, 1.0]);
    near(&s.reduced, &[1.0, -2.0, 0.0]);
    let fixed =
        Lp::new(&[1.0, 1.0], &[&[1.0, 1.0]], &[(3.0, 3.0)]).bounded(&[(1.0, 1.0), (2.0, 2.0)]);
    near(&fixed.solve().x, &[1.0, 2.0]);
    let wrong =
        Lp::new(&[1.0, 1.0], &[&[1.0, 1.0]], &[(4.0, 4.0)]).bounded(&[(1.0, 1.0), (2.0, 2.0)]);
    assert_eq!(wrong.solve().status, Status::Infeasible);
    let zero_row = Lp::new(&[1.0], &[&[0.0], &[1.0]], &[(0.0, 0.0), (1.0, INF)]);
    near(&zero_row.solve().x, &[1.0]);
}

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

/// Shipments between as many sources as sinks, of equal amounts: degenerate, with one equation too many.
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
    let sparse = Csc::from_dense(n, &problem.by_columns());
    assert!(problem.with(|p| !is_for_dense(&sparse, p)));
    let full = random(60, 90, 4);
    let dense = Csc::from_dense(60, &full.by_columns());
    assert!(full.with(|p| is_for_dense(&dense, p)));
}

#[test]
fn wrong_input_is_an_error() {
    let p = Lp::new(&[1.0, 1.0], &[&[1.0, f64::NAN]], &[(1.0, 1.0)]);
    let error = Err::<(), _>(Error::NonFiniteIn { argument: "mat" });
    let options = Options::default();
    assert_eq!(p.dense::<f64>(&options).map(|_| ()), error);
    assert_eq!(p.sparse(&options).map(|_| ()), error);
    let p = Lp::new(&[INF, 1.0], &[&[1.0, 1.0]], &[(1.0, 1.0)]);
    let error = Err::<(), _>(Error::NonFiniteIn { argument: "obj" });
    assert_eq!(p.dense::<f64>(&options).map(|_| ()), error);
    let crossed = Lp::new(&[1.0], &[&[1.0]], &[(2.0, 1.0)]);
    assert!(matches!(
        crossed.sparse(&options),
        Err(Error::Argument { .. })
    ));
    assert!(Csc::new(2, vec![0, 2], vec![1, 0], vec![1.0, 1.0]).is_err());
    assert!(Csc::new(2, vec![0, 1], vec![2], vec![1.0]).is_err());
}

/// Observations `y` of `x`'s rows: coefficients first, residuals in two parts behind.
fn least_absolute(x: &[Vec<f64>], y: &[f64], least: f64) -> Lp {
    let (n, p) = (x.len(), x[0].len());
    let part = |i: usize, sign: f64| (0..n).map(move |k| if k == i { sign } else { 0.0 });
    let row = |(i, x): (usize, &Vec<f64>)| {
        let x = x.iter().copied();
        x.chain(part(i, 1.0)).chain(part(i, -1.0)).collect()
    };
    let a: Vec<Vec<f64>> = x.iter().enumerate().map(row).collect();
    let parts: Vec<&[f64]> = a.iter().map(Vec::as_slice).collect();
    let c: Vec<f64> = (0..p + 2 * n).map(|j| f64::from(j >= p)).collect();
    let columns: Vec<(f64, f64)> = (0..p + 2 * n)
        .map(|j| (if j < p { least } else { 0.0 }, INF))
        .collect();
    let rows: Vec<(f64, f64)> = y.iter().map(|y| (*y, *y)).collect();
    Lp::new(&c, &parts, &rows).bounded(&columns)
}

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
fn single_precision_knows_dependent_rows_and_proofs() {
    let coarse = Options {
        tolerance: 1e-4,
        ..Options::default()
    };
    let mut p = random(10, 30, 11);
    let sum = |j: usize| p.a.iter().map(|r| r[j]).sum::<f64>();
    let row: Vec<f64> = (0..30).map(sum).collect();
    let b: f64 = p.rows.iter().map(|r| r.0).sum();
    p.a.push(row);
    p.rows.push((b, b));
    let s = p.dense::<f32>(&coarse).unwrap();
    assert_eq!((s.status, s.dropped), (Status::Optimal, 1));
    let rows: [&[f64]; 2] = [&[1.0, 2.0], &[1.0, 2.0]];
    let none = Lp::new(&[1.0, 1.0], &rows, &[(-INF, 2.0), (3.0, INF)]);
    let s = none.dense::<f32>(&coarse).unwrap();
    assert_eq!(s.status, Status::Infeasible);
    none.check_proof(&s.certificate.unwrap());
    let open = Lp::new(&[-2.0, 1.0], &[&[1.0, -1.0]], &[(-INF, 1.0)]);
    let s = open.dense::<f32>(&coarse).unwrap();
    assert_eq!(s.status, Status::Unbounded);
    open.check_proof(&s.certificate.unwrap());
}

#[test]
fn dependent_rows_agree_to_the_tolerance() {
    let ones: [&[f64]; 2] = [&[1.0, 1.0], &[1.0, 1.0]];
    let with = |off: f64| Lp::new(&[1.0, 2.0], &ones, &[(1.0, 1.0), (1.0 + off, 1.0 + off)]);
    assert_eq!(with(1.5e-7).solve().status, Status::Infeasible);
    let s = with(1e-9).solve();
    assert_eq!((s.status, s.dropped), (Status::Optimal, 1));
}

#[test]
fn columns_may_all_be_free() {
    let a: [&[f64]; 2] = [&[2.0, 1.0], &[1.0, 3.0]];
    let free = [(-INF, INF); 2];
    let s = Lp::new(&[1.0, 1.0], &a, &[(5.0, 5.0), (10.0, 10.0)])
        .bounded(&free)
        .solve();
    assert_eq!(s.status, Status::Optimal);
    near(&s.x, &[1.0, 3.0]);
    let s = Lp::new(&[1.0, 1.0], &a[..1], &[(5.0, 5.0)])
        .bounded(&free)
        .solve();
    assert_eq!(s.status, Status::Unbounded);
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

#[test]
fn proofs_are_clean() {
    let a: [&[f64]; 2] = [&[1.0, -1.0, 0.3], &[1.0, 1.0, 0.7]];
    let p = Lp::new(&[-1.0, -1.0, 0.1], &a, &[(-INF, 1.0), (0.5, INF)]).bounded(&[
        (0.0, INF),
        (0.0, INF),
        (0.0, 2.0),
    ]);
    match p.solve().certificate {
        Some(Certificate::Ray(x)) => assert!(x[2] == 0.0 && x[0] >= 0.0 && x[1] >= 0.0),
        other => panic!("{other:?}"),
    }
}
