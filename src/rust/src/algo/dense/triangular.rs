//! Triangular systems.

use crate::device::blas::Blas;
use faer::{MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;

/// `out = op(R)^-1 x` with the leading triangle of `r` of order `out.nrows()`; the first
/// `out.nrows()` rows of `x` are read. An exact zero on the diagonal is [`Error::Singular`].
pub fn solve<T: Scalar, D: Blas<T>>(
    dev: &D,
    uplo: Uplo,
    trans: Trans,
    r: MatRef<'_, T>,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let k = out.nrows();
    let zero = T::from_f64(0.0);
    if let Some(i) = (0..k).find(|&i| r[(i, i)] == zero) {
        return Err(Error::Singular { index: i + 1 });
    }
    let r = dev.load(r.get(..k, ..k))?;
    let mut b = dev.load_into(x.get(..k, ..), Part::All, out)?;
    dev.trsm(Side::Left, uplo, trans, Diag::NonUnit, k, &r, &mut b)?;
    dev.store(b)
}

/// As [`solve`], of matrices on the device, with the leading triangle of `r` of order `k`.
pub fn solve_resident<T: Scalar, D: Blas<T>>(
    dev: &D,
    uplo: Uplo,
    trans: Trans,
    k: usize,
    r: &D::Mat<'_>,
    x: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let zero = T::from_f64(0.0);
    let diagonal = dev.diagonal(r)?;
    if let Some(i) = diagonal.iter().take(k).position(|d| *d == zero) {
        return Err(Error::Singular { index: i + 1 });
    }
    let columns = dev.shape(x).1;
    let mut b = dev.zeros(k, columns)?;
    dev.copy_block(x, Block::leading(k, columns), &mut b, (0, 0))?;
    dev.trsm(Side::Left, uplo, trans, Diag::NonUnit, k, r, &mut b)?;
    Ok(b)
}
