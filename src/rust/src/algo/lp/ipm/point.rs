//! The vectors of a linear program in standard form, and points and directions among them.

use crate::algo::lp::normal::equations::NormalEquations;
use crate::algo::lp::vectors::space::Vectors;
use crate::base::error::Result;

/// The problem's vectors.
pub struct Data<V> {
    pub rhs: V,
    /// The largest magnitude of right-hand sides.
    pub rhs_size: f64,
    pub cost: V,
    pub free_cost: V,
    pub upper: V,
}

/// A point, or a direction: `x` of bounded columns with their dual slacks z, `v` what is left up to
/// upper bounds, with w.
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

/// By what the vectors of a point are multiplied, and what multiple of another's is added.
#[derive(Debug, Clone, Copy)]
pub struct By {
    pub keep: f64,
    pub add: f64,
}

impl<V> Point<V> {
    /// What the vectors of two points in the same places make.
    fn make<'p>(
        &'p self,
        other: &'p Point<V>,
        f: impl Fn(&'p V, &'p V) -> Result<V>,
        (tau, kappa): (f64, f64),
    ) -> Result<Point<V>> {
        Ok(Point {
            x: f(&self.x, &other.x)?,
            free: f(&self.free, &other.free)?,
            y: f(&self.y, &other.y)?,
            z: f(&self.z, &other.z)?,
            v: f(&self.v, &other.v)?,
            w: f(&self.w, &other.w)?,
            tau,
            kappa,
        })
    }

    pub fn copy<N: NormalEquations<V = V>>(&self, n: &N) -> Result<Point<V>> {
        self.make(self, |x, _| n.space().copy(x), (self.tau, self.kappa))
    }

    /// `d - e`.
    pub fn minus<N: NormalEquations<V = V>>(&self, n: &N, e: &Point<V>) -> Result<Point<V>> {
        let numbers = (self.tau - e.tau, self.kappa - e.kappa);
        self.make(e, |d, e| n.space().minus(d, e), numbers)
    }

    /// To vectors of primal and of dual variables; not to tau and kappa.
    pub fn add<N: NormalEquations<V = V>>(
        &mut self,
        n: &N,
        d: &Point<V>,
        primal: By,
        dual: By,
    ) -> Result<()> {
        let all = [
            (primal, &d.x, &mut self.x),
            (primal, &d.free, &mut self.free),
            (primal, &d.v, &mut self.v),
            (dual, &d.y, &mut self.y),
            (dual, &d.z, &mut self.z),
            (dual, &d.w, &mut self.w),
        ];
        for (by, from, to) in all {
            n.space().add(by.add, from, by.keep, to)?;
        }
        Ok(())
    }

    /// `d <- d + weight e`.
    pub fn go_along<N: NormalEquations<V = V>>(
        &mut self,
        n: &N,
        e: &Point<V>,
        weight: f64,
    ) -> Result<()> {
        let by = By {
            keep: 1.0,
            add: weight,
        };
        self.add(n, e, by, by)?;
        self.tau += weight * e.tau;
        self.kappa += weight * e.kappa;
        Ok(())
    }
}
