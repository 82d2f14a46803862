//! What the interior-point iteration asks of the matrix of constraints, dense or sparse, and the augmented system that it solves by way of the normal equations.
//!
//! Columns are in two groups, `A = [A_B A_F]`: bounded ones, slacks among them, and free ones. The system is
//! `A_B'dy - theta dx_B = f_B`, `A_F'dy = f_F`, `A dx = g` with theta positive, solved by `M = A_B theta^-1 A_B' + gamma A_F A_F'` and the Schur complement of the free
//! columns, `A_F' M^-1 A_F`: gamma makes M definite and changes nothing else.

use super::lp_vectors::{Capped, Vectors};
use crate::error::Result;

/// Pivots of M, its diagonal brought to 1, up to this are of rows that depend on those before them, to the precision: they are left out.
pub const LEAST_PIVOT: f64 = 1e-13;

/// Corrections of a solution by its residuals, and the relative residual from which on none is needed.
const REFINEMENTS: usize = 3;
const ACCURATE: f64 = 1e-12;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extents {
    pub rows: usize,
    pub bounded: usize,
    pub free: usize,
    pub capped: Capped,
}

/// Of rows, bounded and free columns.
pub type Magnitudes = (Vec<f64>, Vec<f64>, Vec<f64>);

pub trait NormalEquations: Vectors {
    fn extents(&self) -> Extents;
    /// The distance of 1 from the next number of the precision.
    fn eps(&self) -> f64;

    /// The largest magnitude in each row, each bounded and each free column, were they multiplied by these.
    fn magnitudes(&self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<Magnitudes>;
    /// Multiplies rows and columns.
    fn rescale(&mut self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<()>;

    /// `A_B x + A_F free`.
    fn times(&self, x: &Self::V, free: &Self::V) -> Result<Self::V>;
    /// `A_B' y` and `A_F' y`.
    fn transposed_times(&self, y: &Self::V) -> Result<(Self::V, Self::V)>;

    /// Factors `A_B diag(weights) A_B' + gamma A_F A_F'`, leaving out pivots up to `least`, of a matrix with a unit diagonal; how many these are. The factor gamma is chosen here.
    fn factor(&mut self, weights: &Self::V, least: f64) -> Result<usize>;
    /// Prepares the Schur complement of the free columns, after [`NormalEquations::factor`].
    fn factor_free(&mut self) -> Result<()>;
    fn gamma(&self) -> f64;
    /// `M^-1 x` in place.
    fn solve(&self, x: &mut Self::V) -> Result<()>;
    /// The free columns' part: from `t = M^-1 r` and `f_F` to `dx_F`, and t becomes `dy`.
    fn solve_free(&self, t: &mut Self::V, f: &Self::V) -> Result<Self::V>;
}

/// A size to divide by: 1 in place of what is none.
pub(super) fn or_one(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() {
        x
    } else {
        1.0
    }
}

/// The geometric mean of what is positive, 1 if nothing is: one entry that is larger by orders of magnitude does not make it too large for the others.
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

/// A factored system.
pub struct Augmented<V> {
    pub theta: V,
    inverse: V,
}

impl<V> Augmented<V> {
    pub fn new<N: NormalEquations<V = V>>(n: &mut N, theta: V) -> Result<Self> {
        let inverse = n.invert(&theta)?;
        n.factor(&inverse, LEAST_PIVOT)?;
        if n.extents().free > 0 {
            n.factor_free()?;
        }
        Ok(Augmented { theta, inverse })
    }

    /// Right-hand sides f and, as `rows`, g. Refined as long as that helps.
    pub fn solve<N: NormalEquations<V = V>>(&self, n: &N, rhs: &Triple<V>) -> Result<Triple<V>> {
        let size = |v: &V| n.largest(v);
        let of_f = size(&rhs.bounded)?.max(size(&rhs.free)?);
        let of_g = size(&rhs.rows)?;
        // With each solution `A'dy`, which the solution is made of, and its residual, too.
        let (mut now, mut priced) = self.solve_once(n, rhs)?;
        let mut before: Option<(f64, Triple<V>)> = None;
        for left in (0..=REFINEMENTS).rev() {
            let r = self.residual(n, rhs, &now, &priced)?;
            let in_f = size(&r.bounded)?.max(size(&r.free)?) / or_one(of_f);
            let error = in_f.max(size(&r.rows)? / or_one(of_g));
            if !error.is_finite() {
                return Ok(before.map_or(now, |(_, old)| old));
            }
            if let Some((last, old)) = before {
                if error >= last {
                    return Ok(old);
                }
            }
            if error <= ACCURATE || left == 0 {
                return Ok(now);
            }
            let (mut next, more) = self.solve_once(n, &r)?;
            n.add(1.0, &now.bounded, 1.0, &mut next.bounded)?;
            n.add(1.0, &now.free, 1.0, &mut next.free)?;
            n.add(1.0, &now.rows, 1.0, &mut next.rows)?;
            n.add(1.0, &more.0, 1.0, &mut priced.0)?;
            n.add(1.0, &more.1, 1.0, &mut priced.1)?;
            before = Some((error, now));
            now = next;
        }
        Ok(now)
    }

    /// A solution, and `A_B'dy` and `A_F'dy`.
    fn solve_once<N: NormalEquations<V = V>>(
        &self,
        n: &N,
        rhs: &Triple<V>,
    ) -> Result<(Triple<V>, (V, V))> {
        let of_bounded = n.multiply(&rhs.bounded, &self.inverse)?;
        let mut of_free = n.copy(&rhs.free)?;
        n.add(0.0, &rhs.free, n.gamma(), &mut of_free)?;
        let mut rows = n.times(&of_bounded, &of_free)?;
        n.add(1.0, &rhs.rows, 1.0, &mut rows)?;
        n.solve(&mut rows)?;
        let free = if n.extents().free > 0 {
            n.solve_free(&mut rows, &rhs.free)?
        } else {
            of_free
        };
        let priced = n.transposed_times(&rows)?;
        let bounded = n.multiply(&n.minus(&priced.0, &rhs.bounded)?, &self.inverse)?;
        let solution = Triple {
            bounded,
            free,
            rows,
        };
        Ok((solution, priced))
    }

    fn residual<N: NormalEquations<V = V>>(
        &self,
        n: &N,
        rhs: &Triple<V>,
        at: &Triple<V>,
        priced: &(V, V),
    ) -> Result<Triple<V>> {
        let held = n.multiply(&self.theta, &at.bounded)?;
        let (mut bounded, mut free) = (n.minus(&priced.0, &held)?, n.copy(&priced.1)?);
        n.add(1.0, &rhs.bounded, -1.0, &mut bounded)?;
        n.add(1.0, &rhs.free, -1.0, &mut free)?;
        let mut rows = n.times(&at.bounded, &at.free)?;
        n.add(1.0, &rhs.rows, -1.0, &mut rows)?;
        Ok(Triple {
            bounded,
            free,
            rows,
        })
    }
}
