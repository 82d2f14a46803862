//! What the interior-point iteration asks of the matrix of constraints, dense or sparse, and the
//! augmented system that it solves by way of the normal equations.
//!
//! Columns are in two groups, `A = [A_B A_F]`: bounded ones, slacks among them, and free ones. The
//! system is `A_B'dy - theta dx_B = f_B`, `A_F'dy = f_F`, `A dx = g` with theta positive, solved by
//! `M = A_B theta^-1 A_B' + gamma A_F A_F'` and the Schur complement of the free columns,
//! `A_F' M^-1 A_F`: gamma makes M definite and changes nothing else.

use std::time::{Duration, Instant};

use crate::algo::lp::vectors::space::{Capped, Vectors};
use crate::base::error::Result;

/// Pivots of M, its diagonal brought to 1, up to this are of rows that depend on those before them,
/// to the precision: they are left out.
pub const LEAST_PIVOT: f64 = 1e-13;

/// Corrections of a solution by its residuals, and the relative residual from which on none is
/// needed, if the precision has that.
const REFINEMENTS: usize = 3;
const ACCURATE: f64 = 1e-9;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dimensions {
    pub rows: usize,
    pub bounded: usize,
    pub free: usize,
    pub capped: Capped,
}

/// What forming M and factoring it took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub forming: Duration,
    pub factoring: Duration,
}

impl Spent {
    /// Of something that began, and was formed at the second time.
    pub(crate) fn add(&mut self, began: Instant, formed: Instant) {
        self.forming += formed - began;
        self.factoring += formed.elapsed();
    }
}

impl std::ops::Add for Spent {
    type Output = Spent;

    fn add(self, other: Spent) -> Spent {
        Spent {
            forming: self.forming + other.forming,
            factoring: self.factoring + other.factoring,
        }
    }
}

/// Of rows, bounded and free columns.
pub type Magnitudes = (Vec<f64>, Vec<f64>, Vec<f64>);

pub trait NormalEquations {
    /// Vectors of rows, columns and bounds.
    type V;
    /// Their arithmetic.
    type Space: Vectors<V = Self::V>;

    fn space(&self) -> &Self::Space;
    fn dimensions(&self) -> Dimensions;
    /// The distance of 1 from the next number of the precision.
    fn eps(&self) -> f64;

    /// The largest magnitude in each row, each bounded and each free column, were they multiplied
    /// by these.
    fn magnitudes(&self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<Magnitudes>;
    /// Multiplies rows and columns.
    fn rescale(&mut self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<()>;

    /// `A_B x`.
    fn times_bounded(&self, x: &Self::V) -> Result<Self::V>;
    /// Adds `a A_F free`.
    fn add_times_free(&self, a: f64, free: &Self::V, out: &mut Self::V) -> Result<()>;
    /// `A_B' y` and `A_F' y`.
    fn transposed_times(&self, y: &Self::V) -> Result<(Self::V, Self::V)>;

    /// Factors `A_B diag(weights) A_B' + gamma A_F A_F'`, leaving out pivots up to `least`, of a
    /// matrix with a unit diagonal; how many these are. The factor gamma is chosen here.
    fn factor(&mut self, weights: &Self::V, least: f64) -> Result<usize>;
    /// In all calls of [`NormalEquations::factor`].
    fn spent(&self) -> Spent;
    /// Prepares the Schur complement of the free columns, after [`NormalEquations::factor`].
    fn factor_free(&mut self) -> Result<()>;
    fn gamma(&self) -> f64;
    /// `M^-1 x` in place.
    fn solve(&self, x: &mut Self::V) -> Result<()>;
    /// The free columns' part: from `t = M^-1 r` and `f_F`, a share of f, to `dx_F`, and t becomes
    /// `dy`.
    fn solve_free(&self, t: &mut Self::V, share: f64, f: &Self::V) -> Result<Self::V>;

    /// Takes factors in single precision from now on, or in double again; false where that is how
    /// it was, or where they are in one precision only.
    fn coarsen(&mut self, _coarse: bool) -> Result<bool> {
        Ok(false)
    }

    /// `A_B x + A_F free`.
    fn times(&self, x: &Self::V, free: &Self::V) -> Result<Self::V> {
        let mut out = self.times_bounded(x)?;
        self.add_times_free(1.0, free, &mut out)?;
        Ok(out)
    }
}

/// A size to divide by: 1 in place of what is none.
pub(crate) fn or_one(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() {
        x
    } else {
        1.0
    }
}

/// The geometric mean of what is positive, 1 if nothing is: one entry that is larger by orders of
/// magnitude does not make it too large for the others.
pub(super) fn typical(diagonal: &[f64]) -> f64 {
    let positive = diagonal.iter().filter(|d| **d > 0.0);
    let logs = positive.clone().map(|d| d.ln()).sum::<f64>();
    or_one((logs / positive.count() as f64).exp())
}

/// Of the augmented system: bounded, free, rows.
pub struct Triple<V> {
    pub bounded: V,
    pub free: V,
    pub rows: V,
}

/// Right-hand sides: `f_B`, and of `f_F` and g the same share of vectors.
pub struct Sides<'s, V> {
    pub bounded: &'s V,
    pub share: f64,
    pub free: &'s V,
    pub rows: &'s V,
    /// What residuals of rows are relative to: not to g, which may be 0, nor to what the normal
    /// equations have on their right, which may be larger than all that it stands for.
    pub size: f64,
}

/// A factored system.
pub struct Augmented<V> {
    inverse: V,
}

impl<V> Augmented<V> {
    pub fn new<N: NormalEquations<V = V>>(n: &mut N, theta: &V) -> Result<Self> {
        let inverse = n.space().invert(theta)?;
        n.factor(&inverse, LEAST_PIVOT)?;
        if n.dimensions().free > 0 {
            n.factor_free()?;
        }
        Ok(Augmented { inverse })
    }

    /// Refined as long as that helps, by what is left in rows and free columns, whose relative size
    /// is told. In bounded columns nothing is left but rounding, as `dx_B` is made of dy.
    pub fn solve<N: NormalEquations<V = V>>(
        &self,
        n: &N,
        s: &Sides<'_, V>,
    ) -> Result<(Triple<V>, f64)> {
        let mut b = n.times_bounded(&n.space().multiply(s.bounded, &self.inverse)?)?;
        if s.share != 0.0 {
            n.add_times_free(n.gamma() * s.share, s.free, &mut b)?;
            n.space().add(s.share, s.rows, 1.0, &mut b)?;
        }
        let (accurate, of_rows) = (ACCURATE.max(n.eps()), or_one(s.size));
        let of_free = match n.dimensions().free {
            0 => 1.0,
            _ => or_one(
                n.space()
                    .largest(s.bounded)?
                    .max(s.share * n.space().largest(s.free)?),
            ),
        };
        let free_side = (s.share, s.free);
        let (mut now, mut priced) = self.solve_once(n, b, free_side, Some(s.bounded))?;
        let mut before: Option<(Triple<V>, f64)> = None;
        for left in (0..=REFINEMENTS).rev() {
            let mut rows = n.times(&now.bounded, &now.free)?;
            n.space().add(s.share, s.rows, -1.0, &mut rows)?;
            let free = n.space().combined(s.share, s.free, -1.0, &priced)?;
            // A sum, as the larger of two is no NaN where one is.
            let error = n.space().largest(&rows)? / of_rows + n.space().largest(&free)? / of_free;
            if !error.is_finite() {
                return Ok(before.unwrap_or((now, error)));
            }
            if let Some((old, last)) = before {
                if error >= last {
                    return Ok((old, last));
                }
            }
            if error <= accurate || left == 0 {
                return Ok((now, error));
            }
            n.add_times_free(n.gamma(), &free, &mut rows)?;
            let (mut next, more) = self.solve_once(n, rows, (1.0, &free), None)?;
            n.space().add(1.0, &now.bounded, 1.0, &mut next.bounded)?;
            n.space().add(1.0, &now.free, 1.0, &mut next.free)?;
            n.space().add(1.0, &now.rows, 1.0, &mut next.rows)?;
            n.space().add(1.0, &more, 1.0, &mut priced)?;
            // A correction leaves a share of the error that is about what the solution left of the
            // right-hand side.
            if error * error <= accurate {
                return Ok((next, error * error));
            }
            before = Some((now, error));
            now = next;
        }
        Ok((now, f64::INFINITY))
    }

    /// A solution from the right-hand side of the normal equations, and `A_F'dy`. Without f that is
    /// 0 in bounded columns.
    fn solve_once<N: NormalEquations<V = V>>(
        &self,
        n: &N,
        mut rows: V,
        (share, of_free): (f64, &V),
        f: Option<&V>,
    ) -> Result<(Triple<V>, V)> {
        n.solve(&mut rows)?;
        let free = if n.dimensions().free > 0 {
            n.solve_free(&mut rows, share, of_free)?
        } else {
            n.space().zeros(0)?
        };
        let (mut bounded, priced) = n.transposed_times(&rows)?;
        if let Some(f) = f {
            bounded = n.space().minus(&bounded, f)?;
        }
        let solution = Triple {
            bounded: n.space().multiply(&bounded, &self.inverse)?,
            free,
            rows,
        };
        Ok((solution, priced))
    }
}
