//! Cholesky factorization `A = R'R` with upper triangular R, and the inverse from it.
//!
//! Only the upper triangle of A is read, as in `base::chol`. Golub & Van Loan, Matrix
//! Computations, 4th ed., sections 4.2 and 10.5 (pivoting); LAPACK `potrf`, `pstrf`, `potri`.

use crate::algo::dense::host_to_host;
use crate::device::batched::Batched;
use crate::device::lapack::Lapack;
use crate::device::streamed::Streamed;
use faer::{MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::matrix::{Part, Uplo};
use crate::base::scalar::{narrow, try_zeroed, widen, Scalar};
use crate::device::lapack::PivotedCholesky;

/// The upper factor of a matrix on the device, as [`host_to_host::potrf`] makes it.
pub fn factor_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    x: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let mut a = dev.duplicate(x, Part::Upper)?;
    dev.potrf(Uplo::Upper, &mut a)?;
    Ok(a)
}

/// The upper factors of the square matrices that stand side by side in `x`, in `out`, zero below
/// the diagonals.
pub fn factor_batch<T: Scalar, D: Batched<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let n = x.nrows();
    let count = x.ncols().checked_div(n).unwrap_or(0);
    let step = together(dev, n, count)?;
    let mut rest = out;
    for first in (0..count).step_by(step) {
        let width = step.min(count - first) * n;
        let (part, later) = rest.split_at_col_mut(width);
        rest = later;
        let mut a = dev.load_into(x.subcols(first * n, width), Part::All, part)?;
        dev.potrf_batched(&mut a).map_err(|e| e.in_batch(first))?;
        dev.store(a)?;
    }
    Ok(())
}

/// As [`factor_batch`], for matrices of order `n` in R's doubles that lie apart, each with a place
/// for its factor.
pub fn factor_list<T: Scalar, D: Batched<T> + Streamed<T>>(
    dev: &D,
    n: usize,
    xs: &[&[f64]],
    outs: &mut [&mut [f64]],
) -> Result<()> {
    let size = n * n;
    let step = together(dev, n, xs.len().min(STAGED_BYTES / each_bytes::<T>(n)))?;
    if step < 2 || size == 0 {
        for (i, (x, out)) in xs.iter().zip(outs).enumerate() {
            let x = T::borrow_host(x)?;
            let x = MatRef::from_column_major_slice(&x, n, n);
            let factored = T::fill_host(out, |out| {
                host_to_host::potrf(dev, x, MatMut::from_column_major_slice_mut(out, n, n))
            });
            factored.map_err(|e| e.in_batch(i))?;
        }
        return Ok(());
    }
    // Gathered, because a device takes neighbours at once and many small pieces one after the
    // other.
    let mut from = try_zeroed::<T>(step * size)?;
    let mut to = try_zeroed::<T>(step * size)?;
    for (part, (xs, outs)) in xs.chunks(step).zip(outs.chunks_mut(step)).enumerate() {
        for (staged, x) in from.chunks_exact_mut(size).zip(xs) {
            narrow(x, staged)?;
        }
        let width = xs.len() * n;
        let x = MatRef::from_column_major_slice(&from[..width * n], n, width);
        let out = MatMut::from_column_major_slice_mut(&mut to[..width * n], n, width);
        factor_batch(dev, x, out).map_err(|e| e.in_batch(part * step))?;
        for (out, staged) in outs.iter_mut().zip(to.chunks_exact(size)) {
            widen(staged, out)?;
        }
    }
    Ok(())
}

/// The most bytes of matrices of a list that are gathered at once.
const STAGED_BYTES: usize = 128 << 20;

fn each_bytes<T>(n: usize) -> usize {
    n.saturating_mul(n).saturating_mul(size_of::<T>()).max(1)
}

/// How many of `count` matrices of order `n` to bring to the device at once, at least 1.
fn together<T: Scalar, D: Batched<T>>(dev: &D, n: usize, count: usize) -> Result<usize> {
    let each = each_bytes::<T>(n);
    Ok((dev.batch_bytes(each.saturating_mul(count))? / each).max(1))
}

/// The upper factor of `P'AP` in `out`, zero below the diagonal. At rank `r < n` the trailing
/// block of order `n - r` is what elimination had left of A there.
pub fn factor_pivoted<T: Scalar, D: Lapack<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    tol: f64,
    out: MatMut<'_, T>,
) -> Result<PivotedCholesky> {
    let mut a = dev.load_into(x, Part::Upper, out)?;
    let info = dev.pstrf(tol, &mut a)?;
    dev.store(a)?;
    Ok(info)
}

/// `(R'R)^-1` in `out`, from the leading `out.nrows()` columns and rows of R.
pub fn inverse<T: Scalar, D: Lapack<T>>(
    dev: &D,
    r: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let n = out.nrows();
    let diagonal: Vec<T> = (0..n).map(|i| r[(i, i)]).collect();
    check_regular(&diagonal)?;
    let r = dev.load_temporary(r.get(..n, ..n), Part::Upper)?;
    let mut c = dev.output(out)?;
    dev.potri(&r, &mut c)?;
    dev.store(c)
}

/// As [`inverse`], from the leading `n` columns and rows of a matrix on the device.
pub fn inverse_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    r: &D::Mat<'_>,
    n: usize,
) -> Result<D::Mat<'static>> {
    check_regular(&dev.diagonal(r)?[..n])?;
    let mut c = dev.zeros(n, n)?;
    dev.potri(r, &mut c)?;
    Ok(c)
}

/// The first zero on a triangle's diagonal is [`Error::Singular`].
fn check_regular<T: Scalar>(diagonal: &[T]) -> Result<()> {
    let zero = T::from_f64(0.0);
    match diagonal.iter().position(|d| *d == zero) {
        Some(i) => Err(Error::Singular { index: i + 1 }),
        None => Ok(()),
    }
}
