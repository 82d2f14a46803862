//! Newton directions of the homogeneous self-dual embedding of a linear program, and steps along
//! them.

use super::point::{Data, Point, Residuals};
use crate::algo::lp::normal::equations::{Augmented, NormalEquations, Sides, Triple};
use crate::algo::lp::vectors::space::{Recentre, Vectors};
use crate::base::error::Result;

/// The relative residual that refining must come down to with factors in single precision.
const COARSE: f64 = 1e-7;

/// What the products of complementary variables are to change by: those of x and z over x, those of
/// v and w over v.
pub struct Changes<V> {
    pub z: V,
    pub w: V,
    pub tau_kappa: f64,
}

/// Longest steps, up to 1, of the primal and of the dual variables.
pub type Steps = (f64, f64);

/// The linearized system at a point, factored, and its part that comes of tau.
pub struct Newton<V> {
    system: Augmented<V>,
    /// z / x and w / v.
    slope: V,
    capped_slope: V,
    by_tau: Triple<V>,
    /// Costs with what bounds add to them, if there are any.
    cost: Option<V>,
    denominator: f64,
    /// What directions' residuals of rows are relative to: what they are to take away.
    size: f64,
}

impl<V> Newton<V> {
    pub fn new<N: NormalEquations<V = V>>(
        n: &mut N,
        data: &Data<V>,
        at: &Point<V>,
        r: &Residuals<V>,
    ) -> Result<Self> {
        let capped = n.dimensions().capped;
        let slope = n.space().divide(&at.z, &at.x)?;
        let capped_slope = n.space().divide(&at.w, &at.v)?;
        let theta = n.space().with_capped(capped, 1.0, &capped_slope, &slope)?;
        let theta = theta.as_ref().unwrap_or(&slope);
        let mut system = Augmented::new(n, theta)?;
        let h = n.space().multiply(&capped_slope, &data.upper)?;
        let f = n.space().with_capped(capped, -1.0, &h, &data.cost)?;
        let cost = n.space().with_capped(capped, 1.0, &h, &data.cost)?;
        let sides = Sides {
            bounded: f.as_ref().unwrap_or(&data.cost),
            share: 1.0,
            free: &data.free_cost,
            rows: &data.rhs,
            size: data.rhs_size,
        };
        let (mut by_tau, error) = system.solve(n, &sides)?;
        if (error > COARSE || error.is_nan()) && n.coarsen(false)? {
            system = Augmented::new(n, theta)?;
            (by_tau, _) = system.solve(n, &sides)?;
        }
        // A sum of squares, where the difference of large numbers would lose its sign.
        let q = &by_tau.bounded;
        let over = n
            .space()
            .minus(&n.space().capped(capped, q)?, &data.upper)?;
        let (by_x, by_v) = (
            n.space().multiply(&slope, q)?,
            n.space().multiply(&capped_slope, &over)?,
        );
        let squares = n.space().dots(&[(q, &by_x), (&over, &by_v)])?;
        Ok(Newton {
            denominator: squares.iter().sum::<f64>() + at.kappa / at.tau,
            size: n.space().largest(&r.rows)?,
            system,
            slope,
            capped_slope,
            by_tau,
            cost,
        })
    }

    /// The direction that takes this share of the residuals away and changes products as asked.
    pub fn direction<N: NormalEquations<V = V>>(
        &self,
        n: &N,
        data: &Data<V>,
        at: &Point<V>,
        r: &Residuals<V>,
        share: f64,
        changes: &Changes<V>,
    ) -> Result<Point<V>> {
        let capped = n.dimensions().capped;
        let mut f = n.space().combined(share, &r.bounded, -1.0, &changes.z)?;
        let mut v = n.space().multiple(share, &r.capped)?;
        let mut e = n.space().multiply(&self.capped_slope, &v)?;
        n.space().add(1.0, &changes.w, -1.0, &mut e)?;
        n.space().add_capped(capped, 1.0, &e, &mut f)?;
        let sides = Sides {
            bounded: &f,
            share,
            free: &r.free,
            rows: &r.rows,
            size: self.size,
        };
        let (p, _) = self.system.solve(n, &sides)?;
        let (mut x, mut free, mut y) = (p.bounded, p.free, p.rows);
        let cost = self.cost.as_ref().unwrap_or(&data.cost);
        let (of_x, of_y) = ((cost, &x), (&data.rhs, &y));
        let dots = n
            .space()
            .dots(&[of_x, of_y, (&data.upper, &e), (&data.free_cost, &free)])?;
        let inner = dots[0] - dots[1] + dots[2] + dots[3];
        let mut tau = share * r.gap + changes.tau_kappa / at.tau;
        tau += inner;
        tau /= self.denominator;
        n.space().add(tau, &self.by_tau.bounded, 1.0, &mut x)?;
        n.space().add(tau, &self.by_tau.free, 1.0, &mut free)?;
        n.space().add(tau, &self.by_tau.rows, 1.0, &mut y)?;
        n.space().add(tau, &data.upper, 1.0, &mut v)?;
        n.space()
            .add(-1.0, &n.space().capped(capped, &x)?, 1.0, &mut v)?;
        Ok(Point {
            z: n.space()
                .minus(&changes.z, &n.space().multiply(&self.slope, &x)?)?,
            w: n.space()
                .minus(&changes.w, &n.space().multiply(&self.capped_slope, &v)?)?,
            kappa: (changes.tau_kappa - at.kappa * tau) / at.tau,
            x,
            free,
            y,
            v,
            tau,
        })
    }
}

/// The longest step by the least of the ratios of changes to values.
fn longest(ratio: f64) -> f64 {
    if ratio < 0.0 {
        (-1.0 / ratio).min(1.0)
    } else {
        1.0
    }
}

pub fn step<N: NormalEquations>(n: &N, at: &Point<N::V>, d: &Point<N::V>) -> Result<Steps> {
    let all = steps(n, at, d, None)?;
    Ok(all.first().copied().unwrap_or((0.0, 0.0)))
}

/// The steps along d, or along `d + weight e` for each of the weights.
pub fn steps<N: NormalEquations>(
    n: &N,
    at: &Point<N::V>,
    d: &Point<N::V>,
    further: Option<(&Point<N::V>, &[f64])>,
) -> Result<Vec<Steps>> {
    let (e, weights) = match further {
        Some((e, weights)) => (Some(e), weights),
        None => (None, &[0.0][..]),
    };
    let lines = [
        (&at.x, &d.x, e.map(|e| &e.x)),
        (&at.v, &d.v, e.map(|e| &e.v)),
        (&at.z, &d.z, e.map(|e| &e.z)),
        (&at.w, &d.w, e.map(|e| &e.w)),
    ];
    let ratios = n.space().least_ratios(&lines, weights)?;
    let (of_tau, of_kappa) = e.map_or((0.0, 0.0), |e| (e.tau, e.kappa));
    let step = |(k, weight): (usize, &f64)| {
        let tau = longest((d.tau + weight * of_tau) / at.tau);
        let both = tau.min(longest((d.kappa + weight * of_kappa) / at.kappa));
        let along = |line: usize| longest(ratios[line][k]);
        (
            both.min(along(0)).min(along(1)),
            both.min(along(2)).min(along(3)),
        )
    };
    Ok(weights.iter().enumerate().map(step).collect())
}

/// `aim - x z` and its like, less second-order terms of a direction.
pub fn centred<N: NormalEquations>(
    n: &N,
    at: &Point<N::V>,
    aim: f64,
    d: Option<&Point<N::V>>,
) -> Result<Changes<N::V>> {
    Ok(Changes {
        z: n.space()
            .centred(aim, &at.x, &at.z, d.map(|d| (&d.x, &d.z)))?,
        w: n.space()
            .centred(aim, &at.v, &at.w, d.map(|d| (&d.v, &d.w)))?,
        tau_kappa: aim - at.tau * at.kappa - d.map_or(0.0, |d| d.tau * d.kappa),
    })
}

/// By how much products at the end of longer steps than possible would have to change (Gondzio).
pub fn recentred<N: NormalEquations>(
    n: &N,
    at: &Point<N::V>,
    d: &Point<N::V>,
    steps: Steps,
    aim: f64,
) -> Result<Changes<N::V>> {
    let by = Recentre {
        steps,
        least: 0.1 * aim,
        most: 10.0 * aim,
    };
    let product = (at.tau + steps.0 * d.tau) * (at.kappa + steps.1 * d.kappa);
    let there = product.max(by.least).min(by.most);
    Ok(Changes {
        z: n.space().recentred(by, (&at.x, &d.x), (&at.z, &d.z))?,
        w: n.space().recentred(by, (&at.v, &d.v), (&at.w, &d.w))?,
        tau_kappa: (there - product).max(-by.most),
    })
}

/// So many numbers from one to another.
pub fn evenly(from: f64, to: f64, count: usize) -> Vec<f64> {
    let at = |k: usize| from + (to - from) * k as f64 / (count - 1) as f64;
    (0..count).map(at).collect()
}
