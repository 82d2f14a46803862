//! How an iteration proceeds: restarts, and its end.

use crate::algo::lanczos::consistency::Rounding;
use crate::algo::lanczos::wanted::{Wanted, Which};

/// What follows the values of a projected matrix.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// The wanted values are found, there were as many restarts as allowed, or errors of products
    /// keep residuals from falling.
    End,
    /// A restart that keeps so many vectors.
    Restart(usize),
    /// A restart that keeps the wanted vectors alone, and goes on with random columns.
    Renew,
}

/// How an iteration proceeds.
#[derive(Default)]
pub(super) struct Course {
    pub restarts: usize,
    /// The wanted values at the last restart with random columns.
    before: Option<Vec<f64>>,
    fall: Fall,
    /// The largest residual in units of its limit at the last restart.
    worst: Option<f64>,
    /// Columns that the basis may need for the wanted values.
    check: Option<usize>,
}

/// The part of the first basis after which values are checked: they may be found long before it
/// is full.
const FIRST_CHECK: f64 = 0.7;

/// Restarts without progress before an iteration ends, if residuals are as small as the errors of
/// products.
const PATIENCE: usize = 50;

/// The largest residual in units of these errors, which are estimates.
const NEAR: f64 = 30.0;

/// Residuals at least this much smaller are progress.
const LESS: f64 = 0.8;

/// The last progress of an iteration.
#[derive(Default)]
struct Fall {
    values: Vec<f64>,
    residuals: Vec<f64>,
    /// The largest residual in units of its limit.
    worst: f64,
    /// Restarts since then.
    since: usize,
}

/// The sizes of what a residual is compared with.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// The norm of the matrix.
    pub norm: f64,
    pub rounding: Rounding,
    /// Errors of products that the iteration has seen.
    pub errors: f64,
}

impl Fall {
    /// Whether residuals have not fallen for long. A value that moves by more than its residual is
    /// another one, which came up late: then residuals rise before they fall.
    fn is_over(&mut self, values: &[f64], residuals: Vec<f64>, worst: f64) -> bool {
        let moved = |i: usize| (self.values[i] - values[i]).abs() > 2.0 * self.residuals[i];
        let first = self.values.is_empty();
        if first || worst <= LESS * self.worst || (0..values.len()).any(moved) {
            *self = Fall {
                values: values.to_vec(),
                residuals,
                worst,
                since: 0,
            };
        } else {
            self.since += 1;
        }
        self.since >= PATIENCE
    }
}

impl Course {
    /// Columns of the basis at which to check values before it is full. Residuals fall by about as
    /// much from column to column as before the last restart. A search for further copies with
    /// random columns needs the whole basis: until then residuals say nothing of these copies.
    pub fn check_at(&self, wanted: &Wanted) -> usize {
        let room = wanted.room();
        match self.worst {
            _ if self.before.is_some() => room,
            None => (FIRST_CHECK * room as f64) as usize,
            Some(_) => self.check.unwrap_or(room),
        }
    }

    /// Whether the residuals of all wanted values, in the order of [`Which::order`], are below
    /// their limits.
    pub fn is_done(
        wanted: &Wanted,
        values: &[f64],
        residual: impl Fn(usize) -> f64,
        sizes: Sizes,
    ) -> bool {
        let limit = |i: usize| wanted.limit(values[i], sizes.norm, sizes.rounding);
        (0..wanted.count).all(|i| residual(i) <= limit(i))
    }

    fn plan(&mut self, wanted: &Wanted, worst: f64) {
        let (kept, room) = (wanted.kept(), wanted.room());
        let cycle = (room - kept) as f64;
        let needed = |before: f64| cycle * worst.ln() / (before / worst).ln();
        let falls = self.worst.filter(|before| worst < *before);
        self.check = falls.map(|before| kept + wanted.block + needed(before).min(cycle) as usize);
        self.worst = Some(worst);
    }

    /// The next step, for values in the order of [`Which::order`] with these residuals.
    pub fn step(
        &mut self,
        wanted: &Wanted,
        (which, values): (Which, &[f64]),
        residual: impl Fn(usize) -> f64,
        sizes: Sizes,
    ) -> Step {
        let Sizes {
            norm,
            rounding,
            errors,
        } = sizes;
        let (count, now) = (wanted.count, &values[..wanted.count]);
        let limit = |i: usize| wanted.limit(values[i], norm, rounding);
        let done = Course::is_done(wanted, values, &residual, sizes);
        if self.restarts >= wanted.maxit
            || done && !wanted.may_lack_copies(now, norm, rounding.unit)
        {
            return Step::End;
        }
        if !done {
            let left: Vec<f64> = (0..count).map(&residual).collect();
            let worst = (0..count).map(|i| left[i] / limit(i)).fold(0.0, f64::max);
            self.plan(wanted, worst);
            let near = left.iter().all(|r| *r <= NEAR * errors);
            if self.fall.is_over(now, left, worst) && near {
                return Step::End;
            }
            self.restarts += 1;
            return Step::Restart(wanted.kept());
        }
        self.restarts += 1;
        let same = |before: &Vec<f64>| (0..count).all(|i| (before[i] - now[i]).abs() <= limit(i));
        if !self.before.as_ref().is_some_and(same) {
            self.before = Some(now.to_vec());
            return Step::Renew;
        }
        // A missing copy would raise the next value above the last one that is wanted.
        let next = which.rank(values[count]) + residual(count);
        match next <= which.rank(values[count - 1]) + limit(count - 1) {
            true => Step::End,
            false => Step::Restart(wanted.kept()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::scalar::Scalar;

    fn sizes(errors: f64) -> Sizes {
        let rounding = Rounding {
            unit: f64::EPS,
            length: 9,
        };
        Sizes {
            norm: 1.0,
            rounding,
            errors,
        }
    }

    fn restarts_until_the_end(
        residual: impl Fn(usize) -> f64,
        value: impl Fn(usize) -> f64,
        errors: f64,
    ) -> usize {
        let (wanted, sizes) = (Wanted::new(1, 1e-10, 1000), sizes(errors));
        let mut course = Course::default();
        loop {
            let (values, now) = ([value(course.restarts), 0.1], residual(course.restarts));
            let step = course.step(&wanted, (Which::Largest, &values), |_| now, sizes);
            if step == Step::End {
                return course.restarts;
            }
        }
    }

    #[test]
    fn residuals_that_do_not_fall_end_an_iteration() {
        // It falls until 1e-7 and stays there.
        let until = |r: usize| 0.5_f64.powi(r.min(23) as i32);
        let ends = restarts_until_the_end(until, |_| 1.0, 1e-8);
        assert_eq!(ends, 23 + PATIENCE);
        // Products are exact: it may fall later.
        assert_eq!(restarts_until_the_end(until, |_| 1.0, 1e-15), 1000);
        // A slow one goes on, as does one that follows a plateau with a value that moves.
        let slow = |r: usize| 0.995_f64.powi(r as i32);
        assert_eq!(restarts_until_the_end(slow, |_| 1.0, 1.0), 1000);
        let late = |r: usize| {
            if r < 40 {
                1e-3
            } else {
                0.9_f64.powi(r as i32 - 40)
            }
        };
        let ends = restarts_until_the_end(late, |r| if r < 40 { 0.9 } else { 1.0 }, 1.0);
        assert!(ends > 250 && ends < 270, "{ends}");
    }

    /// An early check would end a search for copies before they can have come up.
    #[test]
    fn a_search_for_copies_fills_the_basis() {
        let (wanted, sizes) = (Wanted::new(4, 1e-10, 1000), sizes(0.0));
        let mut course = Course::default();
        assert!(course.check_at(&wanted) < wanted.room());
        let values = [1.0, 1.0, 1.0, 1.0, 0.5];
        for residual in [1e-4, 1e-9] {
            let step = course.step(&wanted, (Which::Largest, &values), |_| residual, sizes);
            assert_eq!(step, Step::Restart(wanted.kept()));
        }
        assert!(course.check_at(&wanted) < wanted.room());
        let step = course.step(&wanted, (Which::Largest, &values), |_| 0.0, sizes);
        assert_eq!(step, Step::Renew);
        assert_eq!(course.check_at(&wanted), wanted.room());
    }
}
