//! Presolve, feasible points of unbounded problems, problems without an interior, and tiny numbers.

use cudafactor::algo::lp::ipm::iterate::Status;
use cudafactor::algo::lp::solve::{Certificate, Options};

use super::problem::{near, random, Lp};
use super::INF;

#[test]
fn rows_that_bound_a_variable_have_its_reduced_cost() {
    let fixed = Lp::new(&[1e-5], &[&[1.0]], &[(2.0, 2.0)]).bounded(&[(0.0, 2.0)]);
    let s = fixed.solve();
    assert_eq!(s.status, Status::Optimal);
    near(&s.x, &[2.0]);
    // Row 1 fixes x1, so row 2 bounds x2. The dual of row 2 enters the dual of row 1.
    let chain = Lp::new(
        &[1.0, 3.0],
        &[&[2.0, 0.0], &[1.0, -1.0], &[0.0, 0.0]],
        &[(4.0, 4.0), (-INF, -1.0), (-1.0, 5.0)],
    );
    let s = chain.solve();
    assert_eq!(s.status, Status::Optimal);
    near(&s.x, &[2.0, 3.0]);
    near(&s.y, &[2.0, -3.0, 0.0]);
    near(&s.reduced, &[0.0, 0.0]);
}

#[test]
fn bounds_that_leave_no_value_are_proved() {
    for by in [1e-5, 1e-6, 1e-7] {
        let one = Lp::new(&[1.0], &[&[1.0]], &[(3.0 + by, INF)]).bounded(&[(0.0, 3.0)]);
        assert_eq!(one.solve().status, Status::Infeasible);
        let two = Lp::new(
            &[1.0, 1.0],
            &[&[1.0, 2.0], &[1.0, 2.0]],
            &[(-INF, 3.0), (3.0 + by, INF)],
        );
        assert_eq!(two.solve().status, Status::Infeasible);
    }
    // The contradiction needs a variable that another row fixes.
    let chain = Lp::new(
        &[1.0, 1.0],
        &[&[1.0, 0.0], &[1.0, 1.0]],
        &[(-2.0, -2.0), (1.0, INF)],
    )
    .bounded(&[(-INF, INF), (0.0, 2.0)]);
    assert_eq!(chain.solve().status, Status::Infeasible);
    let zeros = Lp::new(
        &[1.0, 1.0],
        &[&[0.0, 1.0], &[0.0, 0.0], &[0.0, 0.0], &[2.0, -1.0]],
        &[(4.0, 4.0), (5.0, INF), (-INF, -5.0), (2.0, 2.0)],
    )
    .bounded(&[(-4.0, 3.0), (-INF, INF)]);
    assert_eq!(zeros.solve().status, Status::Infeasible);
    // Rounding of decimal data does not make a problem infeasible.
    let tenths = Lp::new(
        &[1.0, 1.0],
        &[&[1.0, 0.0], &[0.0, 1.0], &[1.0, 1.0]],
        &[(0.1, 0.1), (0.2, 0.2), (0.3, 0.3)],
    );
    assert_eq!(tenths.solve().status, Status::Optimal);
}

#[test]
fn an_unbounded_problem_has_a_point() {
    let none = Lp::new(&[-1.0, 0.0], &[&[0.0, 1.0]], &[(-1.0, -1.0)]);
    assert_eq!(none.solve().status, Status::Infeasible);
    let rows: [&[f64]; 2] = [&[1.0, 1.0, 0.0], &[1.0, 1.0, 0.0]];
    let none = Lp::new(&[0.0, 0.0, -1.0], &rows, &[(-INF, 1.0), (2.0, INF)]);
    assert_eq!(none.solve().status, Status::Infeasible);
    let open = Lp::new(&[0.0, 0.0, -1.0], &rows, &[(-INF, 2.0), (1.0, INF)]);
    let s = open.solve();
    assert_eq!(s.status, Status::Unbounded);
    let point = s.point.unwrap();
    let sum = point[0] + point[1];
    assert!((1.0 - 1e-7..=2.0 + 1e-7).contains(&sum) && point.iter().all(|x| *x >= 0.0));
    assert!(matches!(s.certificate, Some(Certificate::Ray(_))));
}

#[test]
fn small_numbers_keep_to_their_bounds() {
    for size in [1e-8, 1e-10, 1e-12] {
        let p = Lp::new(
            &[1.0, 2.0, -1.0],
            &[&[1.0, 1.0, 1.0], &[1.0, -1.0, 2.0]],
            &[(3.0 * size, 3.0 * size), (-INF, 2.0 * size)],
        )
        .bounded(&[(0.0, size), (0.0, INF), (0.0, size)]);
        let s = p.solve();
        assert_eq!(s.status, Status::Optimal);
        let x: Vec<f64> = s.x.iter().map(|x| x / size).collect();
        near(&x, &[1.0, 1.0, 1.0]);
    }
}

/// The simplex method does not overrule the user's limit of iterations.
#[test]
fn a_limit_that_was_asked_for_is_kept_to() {
    let p = random(5, 9, 3);
    let few = Options {
        iterations: 1,
        ..Options::default()
    };
    assert_eq!(p.sparse(&few).unwrap().status, Status::IterationLimit);
    assert_eq!(
        p.sparse(&Options::default()).unwrap().status,
        Status::Optimal
    );
}

#[test]
fn equations_that_fixed_variables_fulfil_are_counted() {
    let p = Lp::new(
        &[1.0, 1.0],
        &[&[1.0, 0.0], &[0.0, 2.0], &[1.0, 1.0], &[0.0, 0.0]],
        &[(1.0, 1.0), (2.0, 2.0), (2.0, 2.0), (0.0, 0.0)],
    );
    let s = p.solve();
    assert_eq!((s.status, s.dropped), (Status::Optimal, 2));
    near(&s.x, &[1.0, 1.0]);
}
