//! The Schur complement of the free columns of a linear program.

use crate::algo::lp::vectors::device::OnDevice;
use crate::algo::lp::vectors::space::Vectors;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Elementwise, Operand};
use crate::device::functions::Zip;

/// What is added to its diagonal, which is brought to 1; times a hundred each time that is too
/// little.
const SHIFT: f64 = 1e-13;

/// `A_F' M^-1 A_F`, factored.
pub struct FreeFactor<T: Scalar, D: Elementwise<T>> {
    /// Of the matrix with a unit diagonal.
    factor: D::Mat<'static>,
    scales: D::Mat<'static>,
    /// `M^-1 A_F`.
    solved: D::Mat<'static>,
}

impl<T: Scalar, D: Elementwise<T>> FreeFactor<T, D> {
    pub fn new(
        ops: &OnDevice<'_, T, D>,
        complement: D::Mat<'static>,
        solved: D::Mat<'static>,
    ) -> Result<Self> {
        let dev = ops.dev;
        let diagonal = dev.diagonal(&complement)?;
        let n = diagonal.len();
        let scale = |d: &T| 1.0 / Into::<f64>::into(*d).max(1e-300).sqrt();
        let scales = ops.column(&diagonal.iter().map(scale).collect::<Vec<_>>())?;
        let mut by = dev.blank(n, n)?;
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        dev.gemm(one, Trans::No, &scales, Trans::Yes, &scales, zero, &mut by)?;
        let (a, by) = (Operand::Matrix(&complement), Operand::Matrix(&by));
        let unit = ops.zip(Zip::Multiply, a, by, (n, n))?;
        let mut shift = SHIFT.max(T::EPS);
        loop {
            let mut factor = dev.duplicate(&unit, Part::Upper)?;
            dev.set_diagonal(&[T::from_f64(1.0 + shift)], &mut factor)?;
            match dev.potrf(Uplo::Upper, &mut factor) {
                Ok(()) => {
                    return Ok(FreeFactor {
                        factor,
                        scales,
                        solved,
                    })
                }
                Err(Error::NotPositiveDefinite { .. }) if shift < 1.0 => shift *= 100.0,
                Err(e) => return Err(e),
            }
        }
    }

    /// x becomes the solution; `t - M^-1 A_F x` takes the place of t.
    pub fn solve(
        &self,
        ops: &OnDevice<'_, T, D>,
        mut x: D::Mat<'static>,
        t: &mut D::Mat<'static>,
    ) -> Result<D::Mat<'static>> {
        let dev = ops.dev;
        let n = ops.len(&x);
        x = ops.multiply(&x, &self.scales)?;
        let (left, upper, non) = (Side::Left, Uplo::Upper, Diag::NonUnit);
        for trans in [Trans::Yes, Trans::No] {
            dev.trsm(left, upper, trans, non, n, &self.factor, &mut x)?;
        }
        x = ops.multiply(&x, &self.scales)?;
        let (one, minus, no) = (T::from_f64(1.0), T::from_f64(-1.0), Trans::No);
        dev.gemm(minus, no, &self.solved, no, &x, one, t)?;
        Ok(x)
    }
}
