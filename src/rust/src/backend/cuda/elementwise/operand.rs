//! Operands of arithmetic by entries, for kernels.

use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::matrix::views::Matrix;
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::device::elementwise::Operand;

/// An operand as kernels take it: an address and a number of entries; without entries, one number.
pub(crate) fn operand<T: Scalar>(
    x: Operand<'_, Matrix<'_, T>>,
    shape: (usize, usize),
) -> Result<(u64, usize, f64)> {
    match x {
        Operand::Matrix(a) => {
            require(a.shape() == shape, "non-conformable arrays")?;
            Ok((a.view().ptr, shape.0 * shape.1, 0.0))
        }
        Operand::Number(x) => Ok((0, 0, T::from_f64(x).into())),
        Operand::Recycled(v) => {
            let v = v.view();
            require(!v.is_empty(), "an empty vector is recycled")?;
            // Only the beginning of a longer vector is read.
            Ok((v.ptr, (v.rows * v.cols).min(shape.0 * shape.1), 0.0))
        }
    }
}
