//! Eigenvalues and eigenvectors of many small symmetric matrices, each as
//! [`symmetric`](super::eigen::symmetric) answers for it.

use faer::{MatMut, MatRef};

use crate::algo::dense::eigen;
use crate::algo::dense::scaling::{descaled, scale_each};
use crate::algo::dense::signs::reverse_and_turn;
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::{room, try_zeroed, Scalar};
use crate::cost::flops::eigen_flops;
use crate::device::batched::Batched;
use crate::device::spectral::EigenBatch;

/// The most bytes of scaled matrices on the host at once.
const STAGED_BYTES: usize = 256 << 20;

/// Eigenvalues of the square matrices that stand side by side in `x`, those of each in descending
/// order, one matrix after the other, and their vectors in the columns of `z`.
///
/// Only lower triangles are read. Matrices may differ in scale, and may have more precision than
/// the device computes in.
///
/// # Errors
/// Those of [`symmetric`](super::eigen::symmetric).
pub fn symmetric_batch<S: Scalar, T: Scalar, D: EigenBatch<T> + Batched<T>>(
    dev: &D,
    x: MatRef<'_, S>,
    mut z: Option<MatMut<'_, T>>,
) -> Result<Vec<S>> {
    let n = x.nrows();
    let count = x.ncols().checked_div(n).unwrap_or(0);
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut values = room(n * count)?;
    if !dev.takes_eigen(n) {
        let each = eigen_flops(n, z.is_some());
        let all = progress::part(count as f64 * each);
        for i in 0..count {
            all.left((count - i) as f64 * each);
            let z = z.as_mut().map(|z| z.as_mut().subcols_mut(i * n, n));
            values.extend(eigen::symmetric(dev, x.subcols(i * n, n), z)?);
        }
        return Ok(values);
    }
    let step = together::<T, D>(dev, n, count, z.is_some())?;
    // Zero above the diagonals, whatever matrix is in it.
    let mut staged = try_zeroed::<T>(step * n * n)?;
    for first in (0..count).step_by(step) {
        let width = step.min(count - first) * n;
        let x = x.subcols(first * n, width);
        let z = z.as_mut().map(|z| z.as_mut().subcols_mut(first * n, width));
        values.extend(part(dev, x, &mut staged[..width * n], z)?);
    }
    Ok(values)
}

/// As [`symmetric_batch`], of matrices that go to the device together.
fn part<S: Scalar, T: Scalar, D: EigenBatch<T>>(
    dev: &D,
    x: MatRef<'_, S>,
    staged: &mut [T],
    mut z: Option<MatMut<'_, T>>,
) -> Result<Vec<S>> {
    let (n, width) = x.shape();
    let exponents = scale_each(x, MatMut::from_column_major_slice_mut(staged, n, width))?;
    let mut w = try_zeroed::<T>(width)?;
    let unsolved = {
        let a = dev.load(MatRef::from_column_major_slice(staged, n, width))?;
        match &mut z {
            Some(z) => {
                let mut to = dev.output(z.as_mut())?;
                let unsolved = dev.syev_batched(&a, &mut w, Some(&mut to), &reverse_and_turn)?;
                dev.store(to)?;
                unsolved
            }
            None => dev.syev_batched(&a, &mut w, None, &reverse_and_turn)?,
        }
    };
    let mut values = room(width)?;
    for (w, exponent) in w.chunks_exact(n).zip(exponents) {
        values.extend(descaled::<T, S>(w, exponent)?);
    }
    for i in unsolved {
        let z = z.as_mut().map(|z| z.as_mut().subcols_mut(i * n, n));
        let found = eigen::symmetric(dev, x.subcols(i * n, n), z)?;
        values[i * n..(i + 1) * n].copy_from_slice(&found);
    }
    Ok(values)
}

/// How many of `count` matrices of order n to bring to the device at once, at least 1.
fn together<T: Scalar, D: Batched<T>>(
    dev: &D,
    n: usize,
    count: usize,
    vectors: bool,
) -> Result<usize> {
    let matrix = n * n * size_of::<T>();
    let each = matrix * (1 + usize::from(vectors));
    let room = dev.batch_bytes(each.saturating_mul(count))? / each;
    Ok(room.min(STAGED_BYTES / matrix).max(1))
}
