//! The inverse of `R'R` from upper triangular R.

use faer::{MatMut, MatRef};

use crate::backend::cpu::gemm::gemm;
use crate::backend::cpu::triangular::trsm;
use crate::backend::cpu::vector::mirror_upper;
use crate::base::error::Result;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::cost::flops::cholesky_flops;

/// Fewest columns in a strip, and most strips.
const NARROWEST: usize = 64;
const STRIPS: usize = 12;

/// `C <- V V'` with `V = R^-1`, exactly symmetric. Strips of columns of V end at its diagonal, and
/// those of C begin where the rows of V do: nearly all zeros are skipped, and each step takes n^3 /
/// 3 operations.
pub(crate) fn potri<T: Scalar>(
    r: MatRef<'_, T>,
    mut c: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let n = c.nrows();
    let (zero, one) = (T::from_f64(0.0), T::from_f64(1.0));
    let width = n.div_ceil(STRIPS).next_multiple_of(8).max(NARROWEST);
    let strips = || (0..n).step_by(width).map(|j| (j, width.min(n - j)));
    // At the diagonal a strip also has zeros.
    let flops = |(j, w): (usize, usize)| ((j + w) * w * (j + w + 2 * (n - j))) as f64;
    progress::extend(strips().map(flops).sum::<f64>() - 2.0 * cholesky_flops(n));
    let mut v = try_zeroed::<T>(n * n)?;
    let mut v = MatMut::from_column_major_slice_mut(&mut v, n, n);
    for (j, w) in strips() {
        (j..j + w).for_each(|k| v[(k, k)] = one);
        let a = r.submatrix(0, 0, j + w, j + w);
        let b = v.as_mut().submatrix_mut(0, j, j + w, w);
        trsm(
            Side::Left,
            Uplo::Upper,
            Trans::No,
            Diag::NonUnit,
            a,
            b,
            threads,
        )?;
    }
    let v = v.as_ref();
    for (j, w) in strips() {
        let (above, here) = (v.submatrix(0, j, j + w, n - j), v.submatrix(j, j, w, n - j));
        let to = c.as_mut().submatrix_mut(0, j, j + w, w);
        gemm(one, above, here.transpose(), zero, to, threads)?;
    }
    mirror_upper(c);
    Ok(())
}
