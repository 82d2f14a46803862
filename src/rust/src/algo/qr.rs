//! QR factorization as R's `qr` object holds it.
//!
//! R's default is LINPACK's `dqrdc2`: Householder reflectors without exchanges, except that a column
//! found nearly dependent on those before it moves to the end. It is computed as a plain QR
//! first. `|R[j,j]|` is the norm that `dqrdc2` would have compared with `tol` times the norm of column
//! j, so when every one of them passes, no exchange would have happened and the plain
//! factor is the answer; otherwise the matrix is factored again with exchanges.

use faer::prelude::*;
use faer::{MatMut, MatRef};

use crate::device::{Device, PivotedQr};
use crate::error::Result;
use crate::matrix::Part;
use crate::progress;
use crate::scalar::Scalar;
use crate::work::qr_flops;

/// Whether `dqrdc2` would have kept the columns in their order, from R's diagonal and the columns' norms.
fn in_order<T: Scalar>(diagonal: &[T], norms: &[f64], tol: f64) -> bool {
    diagonal.iter().zip(norms).all(|(d, norm)| {
        let d: f64 = (*d).into();
        let first = if *norm == 0.0 { 1.0 } else { *norm };
        d.abs() >= tol * first
    })
}

/// The factor on the device with its home in `home`, in LAPACK's form: R on and above the diagonal,
/// reflectors with an implicit leading one below it.
pub fn factor_limited<'a, T: Scalar, D: Device<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    tol: f64,
    home: MatMut<'a, T>,
) -> Result<(D::Mat<'a>, PivotedQr<T>)> {
    let mut a = dev.load_into(x, Part::All, home)?;
    let norms = dev.column_norms(&a)?;
    let tau = dev.geqrf(&mut a)?;
    if in_order(&dev.diagonal(&a)?, &norms, tol) {
        let info = PivotedQr {
            rank: tau.len(),
            jpvt: (0..x.ncols()).collect(),
            tau,
        };
        return Ok((a, info));
    }
    dev.refill(x, Part::All, &mut a)?;
    progress::extend(qr_flops((x.nrows(), x.ncols())));
    let info = dev.qrdc2(tol, &mut a)?;
    Ok((a, info))
}

/// What [`to_linpack`] leaves besides the matrix.
pub struct Linpack {
    pub qraux: Vec<f64>,
    /// Rows whose sign it turned; those of `Q'y` turn with them.
    pub turned: Vec<usize>,
}

/// Rewrites a factor from LAPACK's form into LINPACK's, in place.
///
/// LINPACK scales reflector j by `tau_j` and keeps its leading entry in `qraux[j]`; R is the same. Where a
/// column is zero below its diagonal entry already, LAPACK makes no reflector and LINPACK makes `I - 2 e_j e_j'`,
/// which turns the sign of row j. Neither makes one for the last row, so from there on `qraux` holds
/// the remaining norm of the column, which is the magnitude of its last entry.
pub fn to_linpack<T: Scalar>(mut a: MatMut<'_, T>, tau: &[T]) -> Linpack {
    let (m, n) = (a.nrows(), a.ncols());
    let zero = T::from_f64(0.0);
    let mut qraux = vec![0.0; n];
    let mut turned = Vec::new();
    for (j, t) in tau.iter().enumerate().take(m.saturating_sub(1)) {
        if *t == zero && a[(j, j)] != zero {
            qraux[j] = 2.0;
            turned.push(j);
            for v in a.rb_mut().row_mut(j).get_mut(j..).iter_mut() {
                *v = -*v;
            }
            continue;
        }
        qraux[j] = (*t).into();
        for v in a.rb_mut().col_mut(j).get_mut(j + 1..).iter_mut() {
            *v *= *t;
        }
    }
    if m > 0 {
        for (j, q) in qraux.iter_mut().enumerate().skip(m - 1) {
            let last: f64 = a[(m - 1, j)].into();
            *q = last.abs();
        }
    }
    Linpack { qraux, turned }
}

/// What R's `qr` object holds besides the matrix; columns counted from 0.
pub struct QrObject {
    pub rank: usize,
    pub qraux: Vec<f64>,
    pub jpvt: Vec<usize>,
}

/// R's default `qr`: LINPACK's form in `out`.
pub fn linpack<T: Scalar, D: Device<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    tol: f64,
    mut out: MatMut<'_, T>,
) -> Result<QrObject> {
    let (a, info) = factor_limited(dev, x, tol, out.rb_mut())?;
    dev.store(a)?;
    Ok(QrObject {
        qraux: to_linpack(out, &info.tau).qraux,
        rank: info.rank,
        jpvt: info.jpvt,
    })
}

/// R's `qr(LAPACK = TRUE)`: columns in order of remaining norm, LAPACK's form in `out`.
pub fn lapack<T: Scalar, D: Device<T>>(
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
