//! When an interior-point iteration has come to its end: residuals of the problem as it was before
//! scaling, and certificates.

use super::point::{Data, Point, Residuals};
use crate::algo::lp::normal::equations::{or_one, NormalEquations};
use crate::algo::lp::presolve::scale::Scales;
use crate::algo::lp::vectors::space::Vectors;
use crate::base::error::Result;

/// How accurate a certificate must be, relative to what it certifies, for a closer look at it,
/// which decides: that, or this many units of rounding.
const CERTAIN: f64 = 1e-6;
const UNITS: f64 = 1e3;

/// How far a point is from an optimum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measures {
    /// Relative residuals, in Euclidean norms, and the relative gap between the objectives.
    pub primal: f64,
    pub dual: f64,
    pub gap: f64,
    pub objective: f64,
    pub dual_objective: f64,
}

impl Measures {
    pub fn worst(&self) -> f64 {
        self.primal.max(self.dual).max(self.gap)
    }

    pub fn is_finite(&self) -> bool {
        (self.primal + self.dual + self.gap).is_finite()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    GoOn,
    Optimal,
    /// y, z and w prove that there is no feasible point.
    Infeasible,
    /// x and v are a direction along which the objective falls for ever.
    Unbounded,
}

/// Whether a verdict on a point holds.
pub type Holds<'h, N> = dyn Fn(&N, &Point<<N as NormalEquations>::V>, Verdict) -> Result<bool> + 'h;

/// What residuals are measured with.
pub struct StoppingCriteria<V> {
    rows: V,
    bounded: V,
    free: V,
    /// Columns' scales of those with an upper bound.
    capped: V,
    rhs: f64,
    cost: f64,
    norm_rhs: f64,
    norm_cost: f64,
    /// What both objectives have besides.
    constant: f64,
    /// What sizes of costs and of the objective are added to: 1, or less where all costs are
    /// smaller.
    unit: f64,
    /// The same of right-hand sides.
    rhs_unit: f64,
    tolerance: f64,
    certain: f64,
    /// Right-hand sides and costs as residuals are measured.
    of_data: (f64, f64),
}

/// Of right-hand sides and ranges, and of costs, before scaling, and before lower bounds were moved
/// to 0.
pub struct Sizes {
    pub rhs: f64,
    pub cost: f64,
    /// The largest of each.
    pub largest_rhs: f64,
    pub largest_cost: f64,
    pub constant: f64,
}

pub fn norm<'a>(all: impl Iterator<Item = &'a f64>) -> f64 {
    all.map(|x| x * x).sum::<f64>().sqrt()
}

impl<V> StoppingCriteria<V> {
    pub fn new<N: NormalEquations<V = V>>(
        n: &N,
        data: &Data<V>,
        s: &Scales,
        sizes: &Sizes,
        tolerance: f64,
    ) -> Result<Self> {
        let inverse = |all: &[f64]| all.iter().map(|x| 1.0 / x).collect::<Vec<_>>();
        let capped: Vec<f64> = n
            .dimensions()
            .capped
            .places()
            .map(|j| s.bounded[j])
            .collect();
        let mut yardstick = StoppingCriteria {
            rows: n.space().bring(&inverse(&s.rows))?,
            bounded: n.space().bring(&inverse(&s.bounded))?,
            free: n.space().bring(&inverse(&s.free))?,
            capped: n.space().bring(&capped)?,
            rhs: s.rhs,
            cost: s.cost,
            norm_rhs: sizes.rhs,
            norm_cost: sizes.cost,
            constant: sizes.constant,
            unit: or_one(sizes.largest_cost).min(1.0),
            rhs_unit: or_one(sizes.largest_rhs).min(1.0),
            tolerance,
            certain: CERTAIN.max(UNITS * n.eps()),
            of_data: (0.0, 0.0),
        };
        yardstick.of_data = (
            yardstick.of_rows(n, &data.rhs, &data.upper)?,
            yardstick.of_columns(n, &data.cost, &data.free_cost)?,
        );
        Ok(yardstick)
    }

    fn of_rows<N: NormalEquations<V = V>>(&self, n: &N, rows: &V, capped: &V) -> Result<f64> {
        let rows = n.space().weighted_square(rows, &self.rows)?;
        let capped = n.space().weighted_square(capped, &self.capped)?;
        Ok((rows + capped).sqrt() / self.rhs)
    }

    fn of_columns<N: NormalEquations<V = V>>(&self, n: &N, bounded: &V, free: &V) -> Result<f64> {
        let bounded = n.space().weighted_square(bounded, &self.bounded)?;
        let free = n.space().weighted_square(free, &self.free)?;
        Ok((bounded + free).sqrt() / self.cost)
    }

    pub fn measure<N: NormalEquations<V = V>>(
        &self,
        n: &N,
        at: &Point<V>,
        r: &Residuals<V>,
    ) -> Result<Measures> {
        let both = self.rhs * self.cost * at.tau;
        let (objective, dual_objective) = (r.objective / both, r.dual_objective / both);
        Ok(Measures {
            primal: self.of_rows(n, &r.rows, &r.capped)? / at.tau / (self.rhs_unit + self.norm_rhs),
            dual: self.of_columns(n, &r.bounded, &r.free)? / at.tau / (self.unit + self.norm_cost),
            gap: (objective - dual_objective).abs()
                / (self.unit * self.rhs_unit + (objective + self.constant).abs()),
            objective,
            dual_objective,
        })
    }

    /// `holds` has the last word: whether what a point seems to be holds for the problem as it was
    /// given.
    #[allow(clippy::too_many_arguments)]
    pub fn judge<N: NormalEquations<V = V>>(
        &self,
        n: &N,
        data: &Data<V>,
        at: &Point<V>,
        r: &Residuals<V>,
        m: &Measures,
        holds: &Holds<'_, N>,
    ) -> Result<Verdict> {
        if m.worst() <= self.tolerance && holds(n, at, Verdict::Optimal)? {
            return Ok(Verdict::Optimal);
        }
        // A'y + z - w = c tau - r, and so A x and x + v.
        let without = |of: &V, r: &V| n.space().combined(-1.0, r, at.tau, of);
        // Not where the difference of the norms shows that of the vectors to be larger.
        let residuals = (
            m.primal * at.tau * (self.rhs_unit + self.norm_rhs),
            m.dual * at.tau * (self.unit + self.norm_cost),
        );
        let certain = self.certain / (self.rhs * self.cost);
        let least = certain * r.dual_objective;
        if least > 0.0 && at.tau * self.of_data.1 - residuals.1 <= least {
            let bounded = without(&data.cost, &r.bounded)?;
            let free = without(&data.free_cost, &r.free)?;
            let off = self.of_columns(n, &bounded, &free)?;
            if off <= least && holds(n, at, Verdict::Infeasible)? {
                return Ok(Verdict::Infeasible);
            }
        }
        let least = -certain * r.objective;
        if least > 0.0 && at.tau * self.of_data.0 - residuals.0 <= least {
            let rows = without(&data.rhs, &r.rows)?;
            let capped = without(&data.upper, &r.capped)?;
            let off = self.of_rows(n, &rows, &capped)?;
            if off <= least && holds(n, at, Verdict::Unbounded)? {
                return Ok(Verdict::Unbounded);
            }
        }
        Ok(Verdict::GoOn)
    }
}
