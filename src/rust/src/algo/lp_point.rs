//! The vectors of a linear program in standard form, and points and directions among them.

use super::lp_normal::NormalEquations;
use crate::error::Result;

/// The problem's vectors.
pub struct Data<V> {
    pub rhs: V,
    pub cost: V,
    pub free_cost: V,
    pub upper: V,
}

/// A point, or a direction: `x` of bounded columns with their dual slacks z, `v` what is left up to upper bounds, with w.
pub struct Point<V> {
    pub x: V,
    pub free: V,
    pub y: V,
    pub z: V,
    pub v: V,
    pub w: V,
    pub tau: f64,
    pub kappa: f64,
}

pub struct Residuals<V> {
    pub rows: V,
    pub capped: V,
    pub bounded: V,
    pub free: V,
    pub gap: f64,
    pub mu: f64,
    pub objective: f64,
    pub dual_objective: f64,
}

pub fn copy<N: NormalEquations>(n: &N, p: &Point<N::V>) -> Result<Point<N::V>> {
    Ok(Point {
        x: n.copy(&p.x)?,
        free: n.copy(&p.free)?,
        y: n.copy(&p.y)?,
        z: n.copy(&p.z)?,
        v: n.copy(&p.v)?,
        w: n.copy(&p.w)?,
        tau: p.tau,
        kappa: p.kappa,
    })
}

/// `d <- d + weight (e - d)`.
pub fn blend<N: NormalEquations>(
    n: &N,
    d: &mut Point<N::V>,
    e: &Point<N::V>,
    weight: f64,
) -> Result<()> {
    let keep = 1.0 - weight;
    n.add(weight, &e.x, keep, &mut d.x)?;
    n.add(weight, &e.free, keep, &mut d.free)?;
    n.add(weight, &e.y, keep, &mut d.y)?;
    n.add(weight, &e.z, keep, &mut d.z)?;
    n.add(weight, &e.v, keep, &mut d.v)?;
    n.add(weight, &e.w, keep, &mut d.w)?;
    d.tau = weight * e.tau + keep * d.tau;
    d.kappa = weight * e.kappa + keep * d.kappa;
    Ok(())
}

/// `e <- d + e`.
pub fn add<N: NormalEquations>(n: &N, d: &Point<N::V>, e: &mut Point<N::V>) -> Result<()> {
    n.add(1.0, &d.x, 1.0, &mut e.x)?;
    n.add(1.0, &d.free, 1.0, &mut e.free)?;
    n.add(1.0, &d.y, 1.0, &mut e.y)?;
    n.add(1.0, &d.z, 1.0, &mut e.z)?;
    n.add(1.0, &d.v, 1.0, &mut e.v)?;
    n.add(1.0, &d.w, 1.0, &mut e.w)?;
    e.tau += d.tau;
    e.kappa += d.kappa;
    Ok(())
}
