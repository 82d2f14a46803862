//! The linear system of a random walker, and the result from its solutions.

use crate::base::chunks::AT_ONCE;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::try_zeroed;
use crate::base::sparse::csc::Csc;

/// The weight between an unknown and a neighbour with a seed, by the number of that one's label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    pub unknown: u32,
    pub label: u32,
    pub weight: f64,
}

/// The Laplacian of a graph reduced to its unknown pixels, which is symmetric and positive
/// definite, and what joins these to seeds. The probabilities of label k solve it for the
/// right-hand side that [`LaplacianSystem::right_hand_sides`] makes of k.
#[derive(Debug)]
pub struct LaplacianSystem {
    pub matrix: Csc,
    /// The pixel of each unknown.
    pub order: Vec<u32>,
    pub links: Vec<Link>,
}

impl LaplacianSystem {
    pub fn unknowns(&self) -> usize {
        self.order.len()
    }

    /// The smallest weight of an edge with an unknown at an end; infinite where there is none.
    pub fn least_weight(&self) -> f64 {
        let least = self
            .links
            .iter()
            .map(|l| l.weight)
            .fold(f64::INFINITY, f64::min);
        let inside = self.matrix.values.iter().filter(|v| **v < 0.0);
        inside.fold(least, |least, v| least.min(-v))
    }

    /// The numbers of labels with a seed beside an unknown, in ascending order; of others every
    /// probability is 0.
    pub fn touching(&self) -> Vec<u32> {
        let mut labels: Vec<u32> = self.links.iter().map(|l| l.label).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// The right-hand sides of some labels, named by ascending numbers, added to `out`: a row for
    /// each unknown, with a number for each label.
    pub fn right_hand_sides(&self, labels: &[u32], out: &mut [f64]) {
        for link in &self.links {
            if let Ok(k) = labels.binary_search(&link.label) {
                out[link.unknown as usize * labels.len() + k] += link.weight;
            }
        }
    }

    /// The right-hand sides of all of so many labels, by columns.
    ///
    /// Errors: [`Error::HostMemory`](crate::base::error::Error::HostMemory).
    pub fn sides(&self, labels: usize) -> Result<Vec<f64>> {
        let n = self.unknowns();
        let mut sides = try_zeroed(n * labels)?;
        for link in &self.links {
            sides[link.label as usize * n + link.unknown as usize] += link.weight;
        }
        Ok(sides)
    }

    /// What these labels' solutions `x` are off, `out`, both by rows: `b - A x` as a sum over edges
    /// of weights times differences, with no sum of weights in it. Of a part of the image that only
    /// small weights join to the rest, a rounded diagonal knows too little of these. Needs a matrix
    /// whose upper triangle was not made.
    pub fn residuals(&self, labels: &[u32], x: &[f64], out: &mut [f64]) -> Result<()> {
        let columns = labels.len();
        out.fill(0.0);
        self.right_hand_sides(labels, out);
        for link in &self.links {
            let at = link.unknown as usize * columns;
            for (out, x) in out[at..].iter_mut().zip(&x[at..at + columns]) {
                *out -= link.weight * x;
            }
        }
        for j in 0..self.unknowns() {
            if j % AT_ONCE == 0 {
                interrupt::poll()?;
            }
            let (index, values) = self.matrix.column(j);
            for (i, v) in index.iter().zip(values) {
                // The diagonal entry comes with a difference of 0.
                let (i, j) = (i * columns, j * columns);
                for c in 0..columns {
                    let flow = v * (x[j + c] - x[i + c]);
                    out[j + c] += flow;
                    out[i + c] -= flow;
                }
            }
        }
        Ok(())
    }
}
