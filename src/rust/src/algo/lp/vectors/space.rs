//! Vectors of an interior-point method, on the host or on a device.
//!
//! [`Vectors`] is the little arithmetic that the iteration of `lp_ipm` is written in. `host` has it
//! for vectors of the host, beside a sparse matrix; `device` composes it of a device's functions.
//! Scalars are in double precision whatever the vectors are.

use crate::base::error::Result;

/// Which entries of a vector of bounded columns have an upper bound: the first of the structural
/// columns, and the first of the slacks behind them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capped {
    pub structural: usize,
    /// The place of the first slack.
    pub slack_at: usize,
    pub slack: usize,
}

impl Capped {
    pub fn len(self) -> usize {
        self.structural + self.slack
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The places, in order.
    pub fn places(self) -> impl Iterator<Item = usize> {
        (0..self.structural).chain(self.slack_at..self.slack_at + self.slack)
    }
}

/// Of what the products of two vectors are brought towards: see [`Vectors::recentred`].
#[derive(Debug, Clone, Copy)]
pub struct Recentre {
    /// Steps along the directions of the first and of the second vector.
    pub steps: (f64, f64),
    /// The interval of products that are as they should be.
    pub least: f64,
    pub most: f64,
}

/// A positive vector, a direction from it, and what is added to that with a weight.
pub type Line<'v, V> = (&'v V, &'v V, Option<&'v V>);

pub trait Vectors {
    type V;

    fn zeros(&self, len: usize) -> Result<Self::V>;
    fn bring(&self, x: &[f64]) -> Result<Self::V>;
    fn fetch(&self, x: &Self::V) -> Result<Vec<f64>>;
    fn copy(&self, x: &Self::V) -> Result<Self::V>;
    fn len(&self, x: &Self::V) -> usize;

    /// `y <- a x + b y`.
    fn add(&self, a: f64, x: &Self::V, b: f64, y: &mut Self::V) -> Result<()>;
    /// `a x + b y`.
    fn combined(&self, a: f64, x: &Self::V, b: f64, y: &Self::V) -> Result<Self::V>;
    /// `a x`.
    fn multiple(&self, a: f64, x: &Self::V) -> Result<Self::V>;
    /// `x <- x + a`, entry by entry.
    fn shift(&self, a: f64, x: &mut Self::V) -> Result<()>;
    fn multiply(&self, x: &Self::V, y: &Self::V) -> Result<Self::V>;
    fn divide(&self, x: &Self::V, y: &Self::V) -> Result<Self::V>;
    /// `1 / x`.
    fn invert(&self, x: &Self::V) -> Result<Self::V>;

    /// The inner products of pairs, all at once: what comes back from a device makes the host wait.
    fn dots(&self, pairs: &[(&Self::V, &Self::V)]) -> Result<Vec<f64>>;
    fn sum(&self, x: &Self::V) -> Result<f64>;
    /// The largest magnitude, 0 of nothing; NaN where there is one.
    fn largest(&self, x: &Self::V) -> Result<f64>;
    /// The smallest entry, infinity of nothing.
    fn least(&self, x: &Self::V) -> Result<f64>;
    /// The square of the Euclidean norm of entries with weights.
    fn weighted_square(&self, x: &Self::V, weights: &Self::V) -> Result<f64>;
    /// Of each line and for each weight the smallest of 0 and the entries of `(d + weight e) / x`,
    /// x positive.
    fn least_ratios(&self, lines: &[Line<'_, Self::V>], weights: &[f64]) -> Result<Vec<Vec<f64>>>;
    /// `(aim - dx dz) / x - z`: what takes the products of x and z to `aim`, over x, less the
    /// second-order term of a direction.
    fn centred(
        &self,
        aim: f64,
        x: &Self::V,
        z: &Self::V,
        d: Option<(&Self::V, &Self::V)>,
    ) -> Result<Self::V>;
    /// By how much the products of `x + a dx` and `z + b dz` would have to change to come into an
    /// interval, never less than minus its upper end; over x.
    fn recentred(
        &self,
        by: Recentre,
        first: (&Self::V, &Self::V),
        second: (&Self::V, &Self::V),
    ) -> Result<Self::V>;

    /// The entries that have an upper bound.
    fn capped(&self, at: Capped, x: &Self::V) -> Result<Self::V>;
    /// Adds `a u` to these entries.
    fn add_capped(&self, at: Capped, a: f64, u: &Self::V, x: &mut Self::V) -> Result<()>;

    /// `x - y`.
    fn minus(&self, x: &Self::V, y: &Self::V) -> Result<Self::V> {
        self.combined(1.0, x, -1.0, y)
    }

    fn dot(&self, x: &Self::V, y: &Self::V) -> Result<f64> {
        Ok(self.dots(&[(x, y)])?.iter().sum())
    }

    /// x with `a u` added to the entries that have an upper bound; none where there are none of
    /// these, and x is as good.
    fn with_capped(&self, at: Capped, a: f64, u: &Self::V, x: &Self::V) -> Result<Option<Self::V>> {
        if at.is_empty() {
            return Ok(None);
        }
        let mut out = self.copy(x)?;
        self.add_capped(at, a, u, &mut out)?;
        Ok(Some(out))
    }
}
