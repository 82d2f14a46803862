//! Bounds of variables that are far beyond everything else in a linear program, as users give in
//! place of none.
//!
//! Moving such a bound to 0 would leave nothing of the right-hand sides but rounding. A problem
//! without them has all points of the one with them: what it is proved not to have, that has not,
//! and its optimum, if within all bounds, is that of both.

use crate::algo::lp::problem::Problem;
use crate::algo::lp::standard_form::INFINITE;

/// Magnitudes of right-hand sides from which on a bound is far.
const FAR: f64 = 1e3;

/// Bounds of variables without far ones; none where there are none.
pub fn without_far_bounds(p: &Problem<'_>) -> Option<(Vec<f64>, Vec<f64>)> {
    let sides = p.rows.0.iter().chain(p.rows.1);
    let finite = sides.map(|b| b.abs()).filter(|b| *b < INFINITE);
    let far = FAR * finite.fold(1.0, f64::max);
    let (mut lower, mut upper) = (p.columns.0.to_vec(), p.columns.1.to_vec());
    let mut found = false;
    for (l, u) in lower.iter_mut().zip(&mut upper) {
        // A bound that keeps a variable away from 0 is no stand-in for none.
        let (below, above) = (*l <= -far && *l > -INFINITE, *u >= far && *u < INFINITE);
        if below && *u > -far {
            *l = f64::NEG_INFINITY;
            found = true;
        }
        if above && *l < far {
            *u = f64::INFINITY;
            found = true;
        }
    }
    found.then_some((lower, upper))
}
