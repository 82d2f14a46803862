//! Arithmetic of small matrices that decides about the columns of a block.

use faer::Mat;

/// Estimates of inner products of different columns.
pub(super) struct Loose {
    /// The largest one allowed.
    pub most: f64,
    /// Of all columns, and of the last block.
    pub all: f64,
    pub last: f64,
}

/// The inner product with column j.
pub(super) fn inner(g: &[f64], r: &Mat<f64>, j: usize) -> f64 {
    g.iter().enumerate().map(|(i, g)| g * r[(i, j)]).sum()
}

/// An orthonormal basis of the range of a small matrix, except for what is not above `least`: Gram
/// and Schmidt with the largest column next. Also the smallest norm of these columns.
pub(super) fn range(r: &Mat<f64>, least: f64) -> (Vec<Vec<f64>>, f64) {
    let (rows, cols) = (r.nrows(), r.ncols());
    let mut left: Vec<Vec<f64>> = (0..cols)
        .map(|j| (0..rows).map(|i| r[(i, j)]).collect())
        .collect();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let mut found: Vec<Vec<f64>> = Vec::new();
    let mut smallest = f64::INFINITY;
    while let Some(next) =
        (0..left.len()).max_by(|&i, &j| dot(&left[i], &left[i]).total_cmp(&dot(&left[j], &left[j])))
    {
        let mut g = left.swap_remove(next);
        let norm = dot(&g, &g).sqrt();
        if norm <= least {
            break;
        }
        smallest = norm;
        g.iter_mut().for_each(|g| *g /= norm);
        for x in &mut left {
            // Twice is enough.
            for _ in 0..2 {
                let along = dot(&g, x);
                x.iter_mut().zip(&g).for_each(|(x, g)| *x -= along * g);
            }
        }
        found.push(g);
    }
    (found, smallest)
}

/// The largest norm of a column.
pub(super) fn largest(x: &Mat<f64>) -> f64 {
    let norm = |j| x.col(j).norm_l2();
    (0..x.ncols()).map(norm).fold(0.0, f64::max)
}

impl Loose {
    /// Whether a block of rounding `rounding` is orthogonal enough to all columns, after it was
    /// orthogonalized to the last block, or to all: each inner product with a column subtracts one
    /// of the columns `coefficients` times.
    pub fn accepts(
        &mut self,
        rounding: f64,
        coefficients: f64,
        to_all: bool,
        smallest: f64,
    ) -> bool {
        let before = if to_all { self.all } else { self.last };
        let last = (rounding + before * coefficients) / smallest;
        let accepted = last <= self.most;
        if accepted {
            self.last = last;
            self.all = self.all.max(last);
        }
        accepted
    }
}
