//! Least squares `min ||y - x b||` by QR, as `stats::lm.fit` reports it.
//!
//! With `x P = Q R` and rank k: effects `Q'y`, coefficients `R_k^-1 (Q'y)[0..k]` in pivoted order, residuals
//! `Q (0, (Q'y)[k..])`. Q is applied, never formed. LINPACK `dqrls`.

use faer::prelude::*;
use faer::{MatMut, MatRef};

use crate::algo::qr::{self, QrObject};
use crate::device::Device;
use crate::error::Result;
use crate::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::scalar::{try_zeroed, Scalar};

/// Where the parts of a fit go: `qr` as x; `effects` and `residuals` as y; `coefficients` of
/// `ncol(x)` rows, zero beyond the rank.
pub struct Fit<'a, T> {
    pub qr: MatMut<'a, T>,
    pub effects: MatMut<'a, T>,
    pub residuals: MatMut<'a, T>,
    pub coefficients: MatMut<'a, T>,
}

/// Fits every column of `y`.
pub fn fit<T: Scalar, D: Device<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    y: MatRef<'_, T>,
    tol: f64,
    out: Fit<'_, T>,
) -> Result<QrObject> {
    let Fit {
        qr: mut factor,
        mut effects,
        residuals,
        mut coefficients,
    } = out;
    let zero = T::from_f64(0.0);
    let (a, info) = qr::factor_limited(dev, x, tol, factor.rb_mut())?;
    let k = info.rank;
    let reflectors = &info.tau[..k];

    let mut qty = dev.load_into(y, Part::All, effects.rb_mut())?;
    dev.ormqr(Trans::Yes, &a, reflectors, &mut qty)?;
    dev.store(qty)?;

    coefficients.fill(zero);
    if k > 0 {
        let top = effects.rb().get(..k, ..);
        let mut b = dev.load_into(top, Part::All, coefficients.rb_mut().get_mut(..k, ..))?;
        let left = Side::Left;
        dev.trsm(left, Uplo::Upper, Trans::No, Diag::NonUnit, k, &a, &mut b)?;
        dev.store(b)?;
    }

    let (m, q) = (y.nrows(), y.ncols());
    let mut tail = try_zeroed::<T>(m * q)?;
    let mut tail = MatMut::from_column_major_slice_mut(&mut tail, m, q);
    tail.rb_mut()
        .get_mut(k.., ..)
        .copy_from(effects.rb().get(k.., ..));
    let mut rest = dev.load_into(tail.rb(), Part::All, residuals)?;
    dev.ormqr(Trans::No, &a, reflectors, &mut rest)?;
    dev.store(rest)?;

    dev.store(a)?;
    let linpack = qr::to_linpack(factor, &info.tau);
    // Only the first k reflectors made the effects.
    for row in linpack.turned.into_iter().filter(|&row| row < k) {
        for v in effects.rb_mut().row_mut(row).iter_mut() {
            *v = -*v;
        }
    }
    Ok(QrObject {
        qraux: linpack.qraux,
        rank: k,
        jpvt: info.jpvt,
    })
}
