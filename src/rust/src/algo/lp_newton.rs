//! Newton directions of the homogeneous self-dual embedding of a linear program, and steps along them.

use super::lp_normal::{Augmented, NormalEquations, Triple};
use super::lp_point::{Data, Point, Residuals};
use super::lp_vectors::Recentre;
use crate::error::Result;

/// What the products of complementary variables are to change by.
pub struct Products<V> {
    pub xz: V,
    pub vw: V,
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
    /// Costs with what bounds add to them.
    cost: V,
    denominator: f64,
}

impl<V> Newton<V> {
    pub fn new<N: NormalEquations<V = V>>(
        n: &mut N,
        data: &Data<V>,
        at: &Point<V>,
    ) -> Result<Self> {
        let capped = n.extents().capped;
        let slope = n.divide(&at.z, &at.x)?;
        let capped_slope = n.divide(&at.w, &at.v)?;
        let mut theta = n.copy(&slope)?;
        n.add_capped(capped, 1.0, &capped_slope, &mut theta)?;
        let system = Augmented::new(n, theta)?;
        let h = n.multiply(&capped_slope, &data.upper)?;
        let (mut f, mut cost) = (n.copy(&data.cost)?, n.copy(&data.cost)?);
        n.add_capped(capped, -1.0, &h, &mut f)?;
        n.add_capped(capped, 1.0, &h, &mut cost)?;
        let rhs = Triple {
            bounded: f,
            free: n.copy(&data.free_cost)?,
            rows: n.copy(&data.rhs)?,
        };
        let by_tau = system.solve(n, &rhs)?;
        // A sum of squares, where the difference of large numbers would lose its sign.
        let q = &by_tau.bounded;
        let of_x = n.dot(q, &n.multiply(&slope, q)?)?;
        let over = n.minus(&n.capped(capped, q)?, &data.upper)?;
        let of_v = n.dot(&over, &n.multiply(&capped_slope, &over)?)?;
        Ok(Newton {
            denominator: of_x + of_v + at.kappa / at.tau,
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
        products: &Products<V>,
    ) -> Result<Point<V>> {
        let capped = n.extents().capped;
        let scaled = |x: &V| {
            let mut out = n.copy(x)?;
            n.add(0.0, x, share, &mut out)?;
            Ok::<_, crate::error::Error>(out)
        };
        let xz_by_x = n.divide(&products.xz, &at.x)?;
        let mut f = scaled(&r.bounded)?;
        n.add(-1.0, &xz_by_x, 1.0, &mut f)?;
        let of_capped = scaled(&r.capped)?;
        let vw_by_v = n.divide(&products.vw, &at.v)?;
        let mut e = n.multiply(&self.capped_slope, &of_capped)?;
        n.add(1.0, &vw_by_v, -1.0, &mut e)?;
        n.add_capped(capped, 1.0, &e, &mut f)?;
        let rhs = Triple {
            bounded: f,
            free: scaled(&r.free)?,
            rows: scaled(&r.rows)?,
        };
        let p = self.system.solve(n, &rhs)?;
        let mut tau = share * r.gap + products.tau_kappa / at.tau;
        tau += n.dot(&data.upper, &e)? + n.dot(&self.cost, &p.bounded)?;
        tau += n.dot(&data.free_cost, &p.free)? - n.dot(&data.rhs, &p.rows)?;
        tau /= self.denominator;
        let (mut x, mut free, mut y) = (p.bounded, p.free, p.rows);
        n.add(tau, &self.by_tau.bounded, 1.0, &mut x)?;
        n.add(tau, &self.by_tau.free, 1.0, &mut free)?;
        n.add(tau, &self.by_tau.rows, 1.0, &mut y)?;
        let mut v = of_capped;
        n.add(tau, &data.upper, 1.0, &mut v)?;
        n.add(-1.0, &n.capped(capped, &x)?, 1.0, &mut v)?;
        let mut z = n.multiply(&self.slope, &x)?;
        n.add(1.0, &xz_by_x, -1.0, &mut z)?;
        let mut w = n.multiply(&self.capped_slope, &v)?;
        n.add(1.0, &vw_by_v, -1.0, &mut w)?;
        Ok(Point {
            kappa: (products.tau_kappa - at.kappa * tau) / at.tau,
            x,
            free,
            y,
            z,
            v,
            w,
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

pub fn steps<N: NormalEquations>(n: &N, at: &Point<N::V>, d: &Point<N::V>) -> Result<Steps> {
    let all = steps_between(n, at, d, d, None)?;
    Ok(all.first().copied().unwrap_or((0.0, 0.0)))
}

/// The steps along `d + weight (e - d)` for each of the weights, or along d alone.
pub fn steps_between<N: NormalEquations>(
    n: &N,
    at: &Point<N::V>,
    d: &Point<N::V>,
    e: &Point<N::V>,
    weights: Option<&[f64]>,
) -> Result<Vec<Steps>> {
    let ratios = |x: &N::V, d: &N::V, e: &N::V| n.least_ratios(x, d, weights.map(|w| (e, w)));
    let (x, v) = (ratios(&at.x, &d.x, &e.x)?, ratios(&at.v, &d.v, &e.v)?);
    let (z, w) = (ratios(&at.z, &d.z, &e.z)?, ratios(&at.w, &d.w, &e.w)?);
    let all = weights.unwrap_or(&[0.0]).iter().enumerate();
    let step = |(k, weight): (usize, &f64)| {
        let tau = (d.tau + weight * (e.tau - d.tau)) / at.tau;
        let kappa = (d.kappa + weight * (e.kappa - d.kappa)) / at.kappa;
        let both = longest(tau).min(longest(kappa));
        let primal = longest(x[k]).min(longest(v[k])).min(both);
        let dual = longest(z[k]).min(longest(w[k])).min(both);
        (primal, dual)
    };
    Ok(all.map(step).collect())
}

/// By how much products at the end of longer steps than possible would have to change (Gondzio).
pub fn recentred<N: NormalEquations>(
    n: &N,
    at: &Point<N::V>,
    d: &Point<N::V>,
    steps: Steps,
    aim: f64,
) -> Result<Products<N::V>> {
    let by = Recentre {
        steps,
        least: 0.1 * aim,
        most: 10.0 * aim,
    };
    let product = (at.tau + steps.0 * d.tau) * (at.kappa + steps.1 * d.kappa);
    let there = product.max(by.least).min(by.most);
    Ok(Products {
        xz: n.recentred(by, (&at.x, &d.x), (&at.z, &d.z))?,
        vw: n.recentred(by, (&at.v, &d.v), (&at.w, &d.w))?,
        tau_kappa: (there - product).max(-by.most),
    })
}

/// So many numbers from one to another.
pub fn evenly(from: f64, to: f64, count: usize) -> Vec<f64> {
    let at = |k: usize| from + (to - from) * k as f64 / (count - 1) as f64;
    (0..count).map(at).collect()
}
