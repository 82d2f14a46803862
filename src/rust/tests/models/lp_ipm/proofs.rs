//! Proofs that there is no optimum.

use cudafactor::algo::lp::ipm::iterate::Status;
use cudafactor::algo::lp::solve::{Certificate, Options};

use super::problem::{random, Lp};
use super::INF;

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
fn dependent_rows_agree_to_the_tolerance() {
    let ones: [&[f64]; 2] = [&[1.0, 1.0], &[1.0, 1.0]];
    let with = |off: f64| Lp::new(&[1.0, 2.0], &ones, &[(1.0, 1.0), (1.0 + off, 1.0 + off)]);
    assert_eq!(with(1.5e-7).solve().status, Status::Infeasible);
    let s = with(1e-9).solve();
    assert_eq!((s.status, s.dropped), (Status::Optimal, 1));
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
