//! Vectors of an interior-point method, on the host or on a device.
//!
//! [`Vectors`] is the little arithmetic that the iteration of `lp_ipm` is written in. [`Plain`] has it for vectors of the host, beside a sparse matrix;
//! `lp_device` composes it of a device's functions. Scalars are in double precision whatever the vectors are.

use crate::error::Result;

/// Which entries of a vector of bounded columns have an upper bound: the first of the structural columns, and the first of the slacks behind them.
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

pub trait Vectors {
    type V;

    fn zeros(&self, len: usize) -> Result<Self::V>;
    fn bring(&self, x: &[f64]) -> Result<Self::V>;
    fn fetch(&self, x: &Self::V) -> Result<Vec<f64>>;
    fn copy(&self, x: &Self::V) -> Result<Self::V>;
    fn len(&self, x: &Self::V) -> usize;

    /// `y <- a x + b y`.
    fn add(&self, a: f64, x: &Self::V, b: f64, y: &mut Self::V) -> Result<()>;
    /// `x <- x + a`, entry by entry.
    fn shift(&self, a: f64, x: &mut Self::V) -> Result<()>;
    fn multiply(&self, x: &Self::V, y: &Self::V) -> Result<Self::V>;
    fn divide(&self, x: &Self::V, y: &Self::V) -> Result<Self::V>;
    /// `1 / x`.
    fn invert(&self, x: &Self::V) -> Result<Self::V>;

    fn dot(&self, x: &Self::V, y: &Self::V) -> Result<f64>;
    fn sum(&self, x: &Self::V) -> Result<f64>;
    /// The largest magnitude, 0 of nothing; NaN where there is one.
    fn largest(&self, x: &Self::V) -> Result<f64>;
    /// The smallest entry, infinity of nothing.
    fn least(&self, x: &Self::V) -> Result<f64>;
    /// The smallest of `(d + weight (e - d)) / x` for each weight, x positive; infinity of nothing. Without `e` that of `d / x` alone.
    fn least_ratios(
        &self,
        x: &Self::V,
        d: &Self::V,
        e: Option<(&Self::V, &[f64])>,
    ) -> Result<Vec<f64>>;
    /// By how much the products of `x + a dx` and `z + b dz` would have to change to come into an interval; never less than minus its upper end.
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
        let mut out = self.copy(x)?;
        self.add(-1.0, y, 1.0, &mut out)?;
        Ok(out)
    }

    /// The square of the Euclidean norm of entries with weights.
    fn weighted_square(&self, x: &Self::V, weights: &Self::V) -> Result<f64> {
        let scaled = self.multiply(x, weights)?;
        self.dot(&scaled, &scaled)
    }
}

/// All of [`Vectors`] by the vectors in a field.
macro_rules! vectors_by {
    ($ops:ident) => {
        fn zeros(&self, len: usize) -> Result<Self::V> {
            self.$ops.zeros(len)
        }
        fn bring(&self, x: &[f64]) -> Result<Self::V> {
            self.$ops.bring(x)
        }
        fn fetch(&self, x: &Self::V) -> Result<Vec<f64>> {
            self.$ops.fetch(x)
        }
        fn copy(&self, x: &Self::V) -> Result<Self::V> {
            self.$ops.copy(x)
        }
        fn len(&self, x: &Self::V) -> usize {
            self.$ops.len(x)
        }
        fn add(&self, a: f64, x: &Self::V, b: f64, y: &mut Self::V) -> Result<()> {
            self.$ops.add(a, x, b, y)
        }
        fn shift(&self, a: f64, x: &mut Self::V) -> Result<()> {
            self.$ops.shift(a, x)
        }
        fn multiply(&self, x: &Self::V, y: &Self::V) -> Result<Self::V> {
            self.$ops.multiply(x, y)
        }
        fn divide(&self, x: &Self::V, y: &Self::V) -> Result<Self::V> {
            self.$ops.divide(x, y)
        }
        fn invert(&self, x: &Self::V) -> Result<Self::V> {
            self.$ops.invert(x)
        }
        fn dot(&self, x: &Self::V, y: &Self::V) -> Result<f64> {
            self.$ops.dot(x, y)
        }
        fn sum(&self, x: &Self::V) -> Result<f64> {
            self.$ops.sum(x)
        }
        fn largest(&self, x: &Self::V) -> Result<f64> {
            self.$ops.largest(x)
        }
        fn least(&self, x: &Self::V) -> Result<f64> {
            self.$ops.least(x)
        }
        fn least_ratios(
            &self,
            x: &Self::V,
            d: &Self::V,
            e: Option<(&Self::V, &[f64])>,
        ) -> Result<Vec<f64>> {
            self.$ops.least_ratios(x, d, e)
        }
        fn recentred(
            &self,
            by: $crate::algo::lp_vectors::Recentre,
            first: (&Self::V, &Self::V),
            second: (&Self::V, &Self::V),
        ) -> Result<Self::V> {
            self.$ops.recentred(by, first, second)
        }
        fn capped(&self, at: $crate::algo::lp_vectors::Capped, x: &Self::V) -> Result<Self::V> {
            self.$ops.capped(at, x)
        }
        fn add_capped(
            &self,
            at: $crate::algo::lp_vectors::Capped,
            a: f64,
            u: &Self::V,
            x: &mut Self::V,
        ) -> Result<()> {
            self.$ops.add_capped(at, a, u, x)
        }
    };
}
pub(super) use vectors_by;

/// Vectors of the host.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

/// Four sums that do not wait for each other.
fn sum_of(len: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; 4];
    let whole = len / 4 * 4;
    for i in (0..whole).step_by(4) {
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum += term(i + k);
        }
    }
    let rest: f64 = (whole..len).map(term).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

impl Vectors for Plain {
    type V = Vec<f64>;

    fn zeros(&self, len: usize) -> Result<Vec<f64>> {
        crate::scalar::try_zeroed(len)
    }

    fn bring(&self, x: &[f64]) -> Result<Vec<f64>> {
        Ok(x.to_vec())
    }

    fn fetch(&self, x: &Vec<f64>) -> Result<Vec<f64>> {
        Ok(x.clone())
    }

    fn copy(&self, x: &Vec<f64>) -> Result<Vec<f64>> {
        Ok(x.clone())
    }

    fn len(&self, x: &Vec<f64>) -> usize {
        x.len()
    }

    fn add(&self, a: f64, x: &Vec<f64>, b: f64, y: &mut Vec<f64>) -> Result<()> {
        if b == 0.0 {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = a * x);
        } else if b == 1.0 {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
        } else {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = a * x + b * *y);
        }
        Ok(())
    }

    fn shift(&self, a: f64, x: &mut Vec<f64>) -> Result<()> {
        x.iter_mut().for_each(|x| *x += a);
        Ok(())
    }

    fn multiply(&self, x: &Vec<f64>, y: &Vec<f64>) -> Result<Vec<f64>> {
        Ok(x.iter().zip(y).map(|(x, y)| x * y).collect())
    }

    fn divide(&self, x: &Vec<f64>, y: &Vec<f64>) -> Result<Vec<f64>> {
        Ok(x.iter().zip(y).map(|(x, y)| x / y).collect())
    }

    fn invert(&self, x: &Vec<f64>) -> Result<Vec<f64>> {
        Ok(x.iter().map(|x| 1.0 / x).collect())
    }

    fn dot(&self, x: &Vec<f64>, y: &Vec<f64>) -> Result<f64> {
        let (x, y) = (&x[..], &y[..x.len().min(y.len())]);
        let x = &x[..y.len()];
        Ok(sum_of(x.len(), |i| x[i] * y[i]))
    }

    fn sum(&self, x: &Vec<f64>) -> Result<f64> {
        Ok(sum_of(x.len(), |i| x[i]))
    }

    fn largest(&self, x: &Vec<f64>) -> Result<f64> {
        let greater = |s: f64, x: &f64| {
            if x.abs() > s || x.is_nan() {
                x.abs()
            } else {
                s
            }
        };
        Ok(x.iter().fold(0.0, greater))
    }

    fn least(&self, x: &Vec<f64>) -> Result<f64> {
        Ok(x.iter().copied().fold(f64::INFINITY, f64::min))
    }

    fn least_ratios(
        &self,
        x: &Vec<f64>,
        d: &Vec<f64>,
        e: Option<(&Vec<f64>, &[f64])>,
    ) -> Result<Vec<f64>> {
        let Some((e, weights)) = e else {
            let ratios = d.iter().zip(x).map(|(d, x)| d / x);
            return Ok(vec![ratios.fold(f64::INFINITY, f64::min)]);
        };
        let mut least = vec![f64::INFINITY; weights.len()];
        for ((x, d), e) in x.iter().zip(d).zip(e) {
            let (from, by) = (d / x, (e - d) / x);
            for (least, weight) in least.iter_mut().zip(weights) {
                *least = least.min(from + weight * by);
            }
        }
        Ok(least)
    }

    fn recentred(
        &self,
        by: Recentre,
        (x, dx): (&Vec<f64>, &Vec<f64>),
        (z, dz): (&Vec<f64>, &Vec<f64>),
    ) -> Result<Vec<f64>> {
        let (a, b) = by.steps;
        let first = x.iter().zip(dx).map(|(x, d)| x + a * d);
        let second = z.iter().zip(dz).map(|(z, d)| z + b * d);
        let towards = |product: f64| {
            let there = product.max(by.least).min(by.most);
            (there - product).max(-by.most)
        };
        Ok(first.zip(second).map(|(x, z)| towards(x * z)).collect())
    }

    fn capped(&self, at: Capped, x: &Vec<f64>) -> Result<Vec<f64>> {
        Ok(at.places().map(|i| x[i]).collect())
    }

    fn add_capped(&self, at: Capped, a: f64, u: &Vec<f64>, x: &mut Vec<f64>) -> Result<()> {
        at.places().zip(u).for_each(|(i, u)| x[i] += a * u);
        Ok(())
    }
}
