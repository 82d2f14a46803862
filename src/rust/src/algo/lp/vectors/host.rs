//! The vectors of `space` on the host.

use super::space::{Capped, Line, Recentre, Vectors};
use crate::base::columns::{dot, sum_of};
use crate::base::error::Result;

/// Vectors of the host.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

fn inner(x: &[f64], y: &[f64]) -> f64 {
    let len = x.len().min(y.len());
    dot(&x[..len], &y[..len], 1)
}

impl Vectors for Plain {
    type V = Vec<f64>;

    fn zeros(&self, len: usize) -> Result<Vec<f64>> {
        crate::base::scalar::try_zeroed(len)
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

    fn combined(&self, a: f64, x: &Vec<f64>, b: f64, y: &Vec<f64>) -> Result<Vec<f64>> {
        Ok(x.iter().zip(y).map(|(x, y)| a * x + b * y).collect())
    }

    fn multiple(&self, a: f64, x: &Vec<f64>) -> Result<Vec<f64>> {
        Ok(x.iter().map(|x| a * x).collect())
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

    fn dots(&self, pairs: &[(&Vec<f64>, &Vec<f64>)]) -> Result<Vec<f64>> {
        Ok(pairs.iter().map(|(x, y)| inner(x, y)).collect())
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

    fn weighted_square(&self, x: &Vec<f64>, weights: &Vec<f64>) -> Result<f64> {
        let (x, w) = (&x[..], &weights[..x.len().min(weights.len())]);
        Ok(sum_of(w.len(), |i| (x[i] * w[i]).powi(2)))
    }

    fn least_ratios(&self, lines: &[Line<'_, Vec<f64>>], weights: &[f64]) -> Result<Vec<Vec<f64>>> {
        let of_line = |(x, d, e): &Line<'_, Vec<f64>>| {
            let mut least = vec![0.0_f64; weights.len()];
            for (i, (x, d)) in x.iter().zip(d.iter()).enumerate() {
                let (from, by) = (d / x, e.map_or(0.0, |e| e[i]) / x);
                for (least, weight) in least.iter_mut().zip(weights) {
                    *least = least.min(from + weight * by);
                }
            }
            least
        };
        Ok(lines.iter().map(of_line).collect())
    }

    fn centred(
        &self,
        aim: f64,
        x: &Vec<f64>,
        z: &Vec<f64>,
        d: Option<(&Vec<f64>, &Vec<f64>)>,
    ) -> Result<Vec<f64>> {
        let pairs = x.iter().zip(z);
        Ok(match d {
            None => pairs.map(|(x, z)| aim / x - z).collect(),
            Some((dx, dz)) => {
                let second = dx.iter().zip(dz).map(|(dx, dz)| dx * dz);
                let all = pairs.zip(second);
                all.map(|((x, z), second)| (aim - second) / x - z).collect()
            }
        })
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
        let changes = first.zip(second).map(|(x, z)| towards(x * z));
        Ok(changes.zip(x).map(|(change, x)| change / x).collect())
    }

    fn capped(&self, at: Capped, x: &Vec<f64>) -> Result<Vec<f64>> {
        Ok(at.places().map(|i| x[i]).collect())
    }

    fn add_capped(&self, at: Capped, a: f64, u: &Vec<f64>, x: &mut Vec<f64>) -> Result<()> {
        at.places().zip(u).for_each(|(i, u)| x[i] += a * u);
        Ok(())
    }
}
