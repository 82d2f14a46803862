//! Where an interior-point method begins.

use super::point::{Data, Point};
use crate::algo::lp::normal::equations::{or_one, Augmented, NormalEquations, Sides};
use crate::algo::lp::vectors::space::Vectors;
use crate::base::error::{Error, Result};

/// Means of a side's variables, in a scaled problem, that are no place to start.
const NOTHING: f64 = 1e-8;

/// Mehrotra's starting point: least squares of either side, moved into the interior.
pub fn start<N: NormalEquations>(n: &mut N, data: &Data<N::V>) -> Result<Point<N::V>> {
    let of = n.dimensions();
    let mut theta = n.space().zeros(of.bounded)?;
    n.space().shift(1.0, &mut theta)?;
    let mut ones = n.space().zeros(of.capped.len())?;
    n.space().shift(1.0, &mut ones)?;
    n.space().add_capped(of.capped, 1.0, &ones, &mut theta)?;
    let system = Augmented::new(n, &theta)?;
    let mut f = n.space().zeros(of.bounded)?;
    n.space().add_capped(of.capped, -1.0, &data.upper, &mut f)?;
    let of_x = Sides {
        bounded: &f,
        share: 1.0,
        free: &n.space().zeros(of.free)?,
        rows: &data.rhs,
        size: data.rhs_size,
    };
    let (primal, _) = system.solve(n, &of_x)?;
    let of_y = Sides {
        bounded: &data.cost,
        share: 1.0,
        free: &data.free_cost,
        rows: &n.space().zeros(of.rows)?,
        size: data.rhs_size,
    };
    let (dual, _) = system.solve(n, &of_y)?;
    let (mut x, y) = (primal.bounded, dual.rows);
    let mut v = n
        .space()
        .minus(&data.upper, &n.space().capped(of.capped, &x)?)?;
    // c - A'y, in equal parts for z and w where there are both.
    let (mut z, _) = n.transposed_times(&y)?;
    n.space().add(1.0, &data.cost, -1.0, &mut z)?;
    let mut w = n.space().capped(of.capped, &z)?;
    n.space().add_capped(of.capped, -0.5, &w, &mut z)?;
    w = n.space().multiple(-0.5, &w)?;

    let least = |a: &N::V, b: &N::V| Ok::<_, Error>(n.space().least(a)?.min(n.space().least(b)?));
    let (mut of_p, mut of_d) = (
        (-1.5 * least(&x, &v)?).max(0.0),
        (-1.5 * least(&z, &w)?).max(0.0),
    );
    let pairs = (of.bounded + of.capped.len()) as f64;
    let sums = (
        n.space().sum(&x)? + n.space().sum(&v)?,
        n.space().sum(&z)? + n.space().sum(&w)?,
    );
    let inner = n.space().dot(&x, &z)? + n.space().dot(&v, &w)?;
    // Of what is shifted, without doing so.
    let all = |p: f64, d: f64| {
        let product = inner + d * sums.0 + p * sums.1 + p * d * pairs;
        (product, sums.0 + p * pairs, sums.1 + d * pairs)
    };
    let (product, sum_p, sum_d) = all(of_p, of_d);
    // Least squares may leave nothing but rounding of one side.
    if product <= 0.0 || sum_p <= NOTHING * pairs || sum_d <= NOTHING * pairs {
        of_p += 1.0;
        of_d += 1.0;
    }
    // Where all columns are free there is nothing to shift.
    let (product, sum_p, sum_d) = all(of_p, of_d);
    of_p += 0.5 * product / or_one(sum_d);
    of_d += 0.5 * product / or_one(sum_p);
    for p in [&mut x, &mut v] {
        n.space().shift(of_p, p)?;
    }
    for d in [&mut z, &mut w] {
        n.space().shift(of_d, d)?;
    }
    let kappa = or_one((n.space().dot(&x, &z)? + n.space().dot(&v, &w)?) / pairs);
    Ok(Point {
        x,
        free: primal.free,
        y,
        z,
        v,
        w,
        tau: 1.0,
        kappa,
    })
}
