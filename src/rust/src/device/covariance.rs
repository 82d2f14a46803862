//! Stationary covariance functions of points, as Gaussian processes and kriging use them.
//!
//! Of two points with coordinates x and y, `h^2` is the sum over the dimensions k of
//! `((x_k - y_k) s_k)^2`, where `s_k` is one over the range in that dimension. Distances come from
//! differences, so that points which are close to each other lose no digits to how far they are
//! from the origin. `h^2` is symmetric in the two points bit for bit, and so is all that is
//! computed of it.

use faer::MatRef;

use crate::base::error::{Error, Result};
use crate::base::matrix::Block;
use crate::base::scalar::Scalar;
use crate::device::memory::Memory;

/// How the correlation falls with the distance: Rasmussen and Williams (2006), section 4.2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correlation {
    /// `exp(-h)`, which is also Matern's of smoothness 1/2.
    Exponential,
    /// `(1 + sqrt(3) h) exp(-sqrt(3) h)`, Matern's of smoothness 3/2.
    Matern32,
    /// `(1 + sqrt(5) h + 5 h^2 / 3) exp(-sqrt(5) h)`, Matern's of smoothness 5/2.
    Matern52,
    /// `exp(-h^2 / 2)`.
    SquaredExponential,
}

impl Correlation {
    /// The names that users give.
    pub const NAMES: [(&'static str, Correlation); 4] = [
        ("exponential", Correlation::Exponential),
        ("matern32", Correlation::Matern32),
        ("matern52", Correlation::Matern52),
        ("squared_exponential", Correlation::SquaredExponential),
    ];

    pub fn named(name: &str) -> Option<Correlation> {
        let mut found = Correlation::NAMES.iter().filter(|(n, _)| *n == name);
        found.next().map(|(_, correlation)| *correlation)
    }

    /// Stands for the function on its way to the device.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// Of a squared distance, in the order of operations that every device has. Where a distance is
    /// so large that the exponential is zero so is the correlation, though its polynomial may have
    /// become infinite.
    pub fn at(self, squared: f64) -> f64 {
        let fading = |polynomial: f64, e: f64| if e > 0.0 { polynomial * e } else { 0.0 };
        match self {
            Correlation::Exponential => (-squared.sqrt()).exp(),
            Correlation::Matern32 => {
                let a = (3.0 * squared).sqrt();
                fading(1.0 + a, (-a).exp())
            }
            Correlation::Matern52 => {
                let a = (5.0 * squared).sqrt();
                fading(1.0 + (a + squared * (5.0 / 3.0)), (-a).exp())
            }
            Correlation::SquaredExponential => (squared * -0.5).exp(),
        }
    }
}

/// `variance` times the correlation, and the nugget, which a point has with itself alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Covariance {
    pub correlation: Correlation,
    pub variance: f64,
    pub nugget: f64,
}

/// What an entry costs besides its distance, in operations: mostly the exponential and the root.
const ENTRY: f64 = 40.0;

impl Covariance {
    /// Operations for so many entries, of points in so many dimensions.
    pub fn operations(entries: f64, dimensions: usize) -> f64 {
        entries * (ENTRY + 4.0 * dimensions as f64)
    }
}

/// Points in host memory.
#[derive(Clone, Copy)]
pub struct Points<'a> {
    /// A row for each point, a column for each dimension.
    pub coordinates: MatRef<'a, f64>,
    /// What differences are multiplied with, in each dimension.
    pub scales: &'a [f64],
}

impl Points<'_> {
    /// An error where there is not a scale for each dimension.
    pub fn check(&self) -> Result<()> {
        if self.scales.len() == self.coordinates.ncols() {
            return Ok(());
        }
        Err(Error::Dimension {
            what: "points have as many ranges as dimensions".into(),
        })
    }
}

/// One over each range. A range below `1 / f64::MAX` counts as that, so that points in one place
/// have distance zero.
pub fn scales(ranges: &[f64]) -> Vec<f64> {
    ranges.iter().map(|r| (1.0 / r).min(f64::MAX)).collect()
}

/// Covariances of points, computed where the matrix is.
pub trait CovarianceMatrix<T: Scalar>: Memory<T> {
    /// Points in the device's memory.
    type Points<'a>;

    /// Points to read, in double precision whatever `T` is. On the CPU they are borrowed.
    fn points<'a>(&self, x: Points<'a>) -> Result<Self::Points<'a>>;
    /// `out[i, j]` becomes the covariance of point `block.row + i` of x with point `block.col + j`
    /// of y.
    ///
    /// `out` becomes zero outside the block's rows and columns. The nugget is added where the two
    /// point numbers are equal, so it is for points and themselves. x and y have the same
    /// dimension; the scales of x are used. Entries are computed in double precision by the
    /// operations of [`Correlation::at`] in their order, and rounded to `T` once. So devices differ
    /// only by the last places of their exponential functions, and an entry depends on its two
    /// points alone.
    fn covariance(
        &self,
        function: &Covariance,
        x: &Self::Points<'_>,
        y: &Self::Points<'_>,
        block: Block,
        out: &mut Self::Mat<'_>,
    ) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_functions() {
        for (k, (name, correlation)) in Correlation::NAMES.into_iter().enumerate() {
            assert_eq!(Correlation::named(name), Some(correlation));
            assert_eq!(correlation.number(), k as i32);
        }
        assert_eq!(Correlation::named("matern"), None);
    }

    #[test]
    fn correlations_are_one_at_zero_and_zero_far_away() {
        for (_, correlation) in Correlation::NAMES {
            assert_eq!(correlation.at(0.0), 1.0);
            for far in [1e10, 1e200, 1e308, f64::INFINITY] {
                assert_eq!(correlation.at(far), 0.0, "{correlation:?} {far}");
            }
        }
    }

    #[test]
    fn scales_are_finite() {
        assert_eq!(scales(&[0.5, 4.0, 1e-320]), [2.0, 0.25, f64::MAX]);
    }
}
