//! QR factorization as R's `qr` object holds it.
//!
//! R's default is LINPACK's `dqrdc2`: Householder reflectors without exchanges, except that a
//! column found nearly dependent on those before it moves to the end. It is computed as a plain QR
//! first. `|R[j,j]|` is the norm that `dqrdc2` would have compared with `tol` times the norm of
//! column j, so when every one of them passes, no exchange would have happened and the plain factor
//! is the answer; otherwise the matrix is factored again with exchanges.

use crate::device::lapack::Lapack;
use crate::device::streamed::Streamed;
use faer::prelude::*;
use faer::{MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Block, Part};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::flops::qr_flops;
use crate::device::lapack::PivotedQr;

/// Whether `dqrdc2` would have kept the columns in their order, from R's diagonal and the columns'
/// norms.
fn in_order<T: Scalar>(diagonal: &[T], norms: &[f64], tol: f64) -> bool {
    diagonal.iter().zip(norms).all(|(d, norm)| {
        let d: f64 = (*d).into();
        let first = if *norm == 0.0 { 1.0 } else { *norm };
        d.abs() >= tol * first
    })
}

/// Whether all entries are finite. A column whose norm is needs no look; that of others may have
/// overflowed.
fn is_finite<T: Scalar>(x: MatRef<'_, T>, norms: &[f64]) -> Result<bool> {
    for (j, norm) in norms.iter().enumerate() {
        let finite = |v: &T| {
            let v: f64 = (*v).into();
            v.is_finite()
        };
        if !norm.is_finite() {
            interrupt::poll()?;
            if !x.col(j).iter().all(finite) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Factors `a`, into LAPACK's form: R on and above the diagonal, reflectors with an implicit
/// leading one below it. `again` makes it what it was; `finite` looks at the entries of columns
/// whose norms are not.
fn limited<'a, T: Scalar, D: Lapack<T>>(
    dev: &D,
    mut a: D::Mat<'a>,
    tol: f64,
    finite: impl FnOnce(&[f64]) -> Result<bool>,
    again: impl FnOnce(&mut D::Mat<'a>) -> Result<()>,
) -> Result<(D::Mat<'a>, PivotedQr<T>)> {
    let norms = dev.column_norms(&a)?;
    if norms.iter().any(|norm| !norm.is_finite()) && !finite(&norms)? {
        return Err(Error::NonFinite);
    }
    let tau = dev.geqrf(&mut a)?;
    if in_order(&dev.diagonal(&a)?, &norms, tol) {
        let info = PivotedQr {
            rank: tau.len(),
            jpvt: (0..norms.len()).collect(),
            tau,
        };
        return Ok((a, info));
    }
    again(&mut a)?;
    progress::extend(qr_flops(dev.shape(&a)));
    let info = dev.qrdc2(tol, &mut a)?;
    Ok((a, info))
}

/// The factor on the device with its home in `home`, in LAPACK's form.
pub fn factor_limited<'a, T: Scalar, D: Lapack<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    tol: f64,
    home: MatMut<'a, T>,
) -> Result<(D::Mat<'a>, PivotedQr<T>)> {
    let a = dev.load_into(x, Part::All, home)?;
    limited(
        dev,
        a,
        tol,
        |norms| is_finite(x, norms),
        |a| dev.refill(x, Part::All, a),
    )
}

/// As [`factor_limited`], of a matrix on the device.
pub fn factor_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    x: &D::Mat<'_>,
    tol: f64,
) -> Result<(D::Mat<'static>, PivotedQr<T>)> {
    let (m, n) = dev.shape(x);
    let a = dev.duplicate(x, Part::All)?;
    limited(
        dev,
        a,
        tol,
        // Whoever holds the matrix has looked.
        |_| Ok(true),
        |a| dev.copy_block(x, Block::leading(m, n), a, (0, 0)),
    )
}

/// What [`to_linpack`] leaves besides the matrix.
pub struct Linpack {
    /// Complete but for [`last_qraux`].
    pub qraux: Vec<f64>,
    /// Rows whose sign it turned; those of `Q'y` turn with them.
    pub turned: Vec<usize>,
}

/// Where LINPACK has a reflector `I - 2 e_j e_j'`, and LAPACK none: the columns of an m-rowed
/// matrix that were zero below the diagonal.
pub fn turned<T: Scalar>(m: usize, diagonal: &[T], tau: &[T]) -> Vec<usize> {
    let zero = T::from_f64(0.0);
    let columns = tau.iter().zip(diagonal).take(m.saturating_sub(1));
    let is_turned = |(_, (t, d)): &(usize, (&T, &T))| **t == zero && **d != zero;
    columns
        .enumerate()
        .filter(is_turned)
        .map(|(j, _)| j)
        .collect()
}

/// Rewrites a factor from LAPACK's form into LINPACK's, in place.
///
/// LINPACK scales reflector j by `tau_j` and keeps its leading entry in `qraux[j]`; R is the same.
/// Where a column is zero below its diagonal entry already, LAPACK makes no reflector and LINPACK
/// makes `I - 2 e_j e_j'`, which turns the sign of row j. Neither makes one for the last row.
pub fn to_linpack<T: Scalar, D: Lapack<T>>(
    dev: &D,
    a: &mut D::Mat<'_>,
    tau: &[T],
) -> Result<Linpack> {
    let (m, n) = dev.shape(a);
    let one = T::from_f64(1.0);
    let diagonal = dev.diagonal(a)?;
    let mut qraux = vec![0.0; n];
    let turned = turned(m, &diagonal, tau);
    let (mut below, mut rows) = (vec![one; tau.len()], vec![one; m]);
    for (j, t) in tau.iter().enumerate().take(m.saturating_sub(1)) {
        if turned.binary_search(&j).is_ok() {
            qraux[j] = 2.0;
            rows[j] = -one;
        } else {
            qraux[j] = (*t).into();
            below[j] = *t;
        }
    }
    dev.scale_trapezoids(&below, &rows, a)?;
    Ok(Linpack { qraux, turned })
}

/// From the last row on, which has no reflector, `qraux` holds the remaining norm of the column:
/// the magnitude of its last entry.
pub fn last_qraux<T: Scalar>(a: MatRef<'_, T>, qraux: &mut [f64]) {
    let m = a.nrows();
    if m > 0 {
        for (j, q) in qraux.iter_mut().enumerate().skip(m - 1) {
            let last: f64 = a[(m - 1, j)].into();
            *q = last.abs();
        }
    }
}

/// What R's `qr` object holds besides the matrix; columns counted from 0.
pub struct QrObject {
    pub rank: usize,
    pub qraux: Vec<f64>,
    pub jpvt: Vec<usize>,
}

/// R's default `qr`: LINPACK's form in `out`.
pub fn linpack<T: Scalar, D: Streamed<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    tol: f64,
    mut out: MatMut<'_, T>,
) -> Result<QrObject> {
    if let Some(mut qraux) = in_blocks(dev, x, tol, out.rb_mut())? {
        last_qraux(out.rb(), &mut qraux);
        return Ok(QrObject {
            rank: qraux.len(),
            jpvt: (0..qraux.len()).collect(),
            qraux,
        });
    }
    let (mut a, info) = factor_limited(dev, x, tol, out.rb_mut())?;
    let mut qraux = to_linpack(dev, &mut a, &info.tau)?.qraux;
    dev.store(a)?;
    last_qraux(out.rb(), &mut qraux);
    Ok(QrObject {
        qraux,
        rank: info.rank,
        jpvt: info.jpvt,
    })
}

/// [`linpack`]'s matrix and `qraux`, complete but for [`last_qraux`], by a device that factors in
/// blocks while they travel; `None` where there is none, or a block is not of a matrix whose factor
/// is plain in either form.
fn in_blocks<T: Scalar, D: Streamed<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    tol: f64,
    out: MatMut<'_, T>,
) -> Result<Option<Vec<f64>>> {
    let (m, n) = (x.nrows(), x.ncols());
    let mut qraux = vec![0.0; n];
    let mut finish = |first: usize, diagonal: &[T], norms: &[f64], tau: &[T]| {
        let finite = norms.iter().all(|norm| norm.is_finite());
        if !finite
            || !in_order(diagonal, norms, tol)
            || !turned(m - first, diagonal, tau).is_empty()
        {
            return None;
        }
        // None for the last row.
        let count = tau.len().min(m - first - 1);
        for (q, t) in qraux[first..].iter_mut().zip(&tau[..count]) {
            *q = (*t).into();
        }
        Some(tau[..count].to_vec())
    };
    let done = dev.geqrf_streamed(x, out, &mut finish)?;
    Ok(done.map(|_| qraux))
}

/// LINPACK's form, in `out`, of a factor that stays on the device in LAPACK's; `qraux` is what it
/// gives.
pub fn linpack_of_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    factor: &D::Mat<'_>,
    tau: &[T],
    mut out: MatMut<'_, T>,
) -> Result<Vec<f64>> {
    let mut a = dev.duplicate(factor, Part::All)?;
    let mut qraux = to_linpack(dev, &mut a, tau)?.qraux;
    dev.read(&a, out.rb_mut())?;
    last_qraux(out.rb(), &mut qraux);
    Ok(qraux)
}

/// R's `qr(LAPACK = TRUE)`: columns in order of remaining norm, LAPACK's form in `out`.
pub fn lapack<T: Scalar, D: Lapack<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<QrObject> {
    let mut a = dev.load_into(x, Part::All, out)?;
    let info = dev.geqp3(&mut a)?;
    dev.store(a)?;
    Ok(QrObject {
        qraux: info.tau.into_iter().map(Into::into).collect(),
        rank: info.rank,
        jpvt: info.jpvt,
    })
}
