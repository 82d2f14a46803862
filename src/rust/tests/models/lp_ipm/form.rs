//! Standard forms: kinds of rows and variables, and what depends on others.

use cudafactor::algo::lp::ipm::iterate::Status;
use cudafactor::algo::lp::solve::Options;
use cudafactor::base::error::Error;
use cudafactor::base::sparse::csc::Csc;

use super::problem::{near, random, Lp};
use super::INF;

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
    // Free, fixed, upper alone, negative lower, boxed; an equation, a range, both inequalities, a
    // row without bounds.
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
    // x1 = 0.5 - x3, x4 >= -1 - x1 - x5: the objective is -2 x3 + x4 - x5 + 3.5, and x4 = x3 - 2.5
    // at x5 = 1.
    near(&s.x, &[-1.5, 1.5, 2.0, -0.5, 1.0]);
    assert_eq!(s.y[4], 0.0);
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
