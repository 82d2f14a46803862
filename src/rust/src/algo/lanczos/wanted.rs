//! What is asked for, when a value counts as found, and what is returned.

use crate::algo::lanczos::consistency::Rounding;
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;

/// Which eigenvalues of a symmetric matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Largest magnitudes.
    Magnitude,
    Largest,
    Smallest,
}

impl Which {
    /// A larger rank is wanted sooner.
    pub(super) fn rank(self, value: f64) -> f64 {
        match self {
            Which::Magnitude => value.abs(),
            Which::Largest => value,
            Which::Smallest => -value,
        }
    }

    /// The places of the values, the most wanted first.
    pub(super) fn order(self, values: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&i, &j| self.rank(values[j]).total_cmp(&self.rank(values[i])));
        order
    }
}

/// How many values, and how well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// At least 1, at most the smaller dimension.
    pub count: usize,
    /// See [`Wanted::limit`]. 0 asks for residuals of the size of rounding.
    pub tol: f64,
    /// Restarts, at most.
    pub maxit: usize,
    /// Columns of a block.
    pub block: usize,
}

/// Columns of a block. Of each eigenvalue, a Krylov space has as many vectors as a block has
/// columns, and a product with this many columns takes little more time than with one.
pub const BLOCK: usize = 4;

/// Blocks in the basis in addition to twice the wanted vectors. Fewer take far more products where
/// gaps are small, as for sparse grids. More save few products, and take more memory.
const BLOCKS: usize = 16;

/// The relative tolerance counts for values down to this share of the norm. For smaller ones it
/// counts for this share.
const LEAST_SHARE: f64 = 1e-3;

/// Values whose distance is below this share of the norm may be copies of one.
const TOGETHER: f64 = 1e-8;

/// [`Wanted::loss`] in units of the tolerance and of the precision: it changes residuals as much.
const LOSS_SHARE: f64 = 1e-3;
const LOSS: f64 = 16.0;

impl Wanted {
    pub fn new(count: usize, tol: f64, maxit: usize) -> Self {
        Wanted {
            count,
            tol,
            maxit,
            block: BLOCK,
        }
    }

    /// Vectors in the basis before a restart. More vectors take fewer products, and more time for
    /// their orthogonalization.
    pub(super) fn room(&self) -> usize {
        2 * self.count + BLOCKS * self.block
    }

    /// Vectors that a restart keeps: some more than are wanted, which speeds up convergence.
    pub(super) fn kept(&self) -> usize {
        self.count + (self.room() - self.count) / 4
    }

    /// Whether the basis would be a large part of the space, for a matrix with this smaller
    /// dimension. Then all values are computed by a dense method.
    pub fn is_most(&self, least: usize) -> bool {
        least < 2 * self.room()
    }

    /// The largest residual with which a value counts as found, for a matrix of this norm: `tol`
    /// times the value, but not below the rounding of products.
    pub(super) fn limit(&self, value: f64, norm: f64, rounding: Rounding) -> f64 {
        let relative = self.tol * value.abs().max(LEAST_SHARE * norm);
        relative.max(rounding.residual(norm))
    }

    /// How large inner products of different left singular vectors may be.
    pub(super) fn loss<T: Scalar>(&self) -> f64 {
        (LOSS_SHARE * self.tol).max(LOSS * T::EPS)
    }

    /// Whether the tolerance asks for residuals of the size of [`Wanted::loss`].
    pub(super) fn is_tight<T: Scalar>(&self) -> bool {
        LOSS_SHARE * self.tol < LOSS * T::EPS
    }

    /// Whether as many of these values agree as a block has columns: then the matrix may have more
    /// copies of them than its Krylov space.
    pub(super) fn may_lack_copies(&self, values: &[f64], norm: f64, unit: f64) -> bool {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let near = |w: &[f64]| w[w.len() - 1] - w[0] <= TOGETHER.max(100.0 * unit) * norm;
        sorted.windows(self.block).any(near)
    }
}

/// How many times [`Wanted::limit`] a residual of a dense method may be. These methods check what
/// they return, and their errors grow with the order instead of its root.
pub(super) fn dense_slack(n: usize) -> f64 {
    8.0 * (n as f64).sqrt().max(1.0)
}

/// Values, and vectors by columns of numbers on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// In decreasing order.
    pub values: Vec<f64>,
    /// Eigenvectors, or right singular vectors.
    pub right: Vec<f64>,
    /// Left singular vectors.
    pub left: Vec<f64>,
    /// `||A v - value v||`, or the larger one of `||A v - d u||` and `||A' u - d v||`, computed by
    /// products with the vectors and divided by the largest magnitude of a value.
    pub residuals: Vec<f64>,
    /// [`Wanted::limit`] in the same unit.
    pub limits: Vec<f64>,
    pub converged: Vec<bool>,
    pub restarts: usize,
    /// Columns that the matrix or its transpose multiplied.
    pub products: usize,
    /// The machine that has the vectors of the iteration.
    pub processor: Processor,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_the_order_asked_for() {
        let values = [-3.0, 1.0, 2.0, -0.5];
        assert_eq!(Which::Magnitude.order(&values), [0, 2, 1, 3]);
        assert_eq!(Which::Largest.order(&values), [2, 1, 3, 0]);
        assert_eq!(Which::Smallest.order(&values), [0, 3, 1, 2]);
    }

    #[test]
    fn the_basis_has_room_for_a_restart() {
        for count in 1..400 {
            let wanted = Wanted::new(count, 1e-10, 10);
            assert!(wanted.kept() >= count && wanted.kept() + wanted.block <= wanted.room());
        }
    }

    #[test]
    fn copies_are_seen() {
        let wanted = Wanted::new(5, 1e-10, 10);
        assert!(wanted.may_lack_copies(&[1.0, 5.0, 5.0, 5.0, 5.0], 5.0, f64::EPS));
        assert!(!wanted.may_lack_copies(&[1.0, 2.0, 5.0, 5.0, 5.0], 5.0, f64::EPS));
        assert!(!wanted.may_lack_copies(&[1.0, 1.0], 1.0, f64::EPS));
    }
}
