//! Verbs whose operands and results are in host memory.
//!
//! A device may compute while blocks are in flight ([`Streamed`]). Where it does not, the `loaded`
//! form loads whole operands, computes, and stores the result.

use faer::prelude::*;
use faer::{MatMut, MatRef};

use crate::base::error::Result;
use crate::base::matrix::{Part, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::blas::Blas;
use crate::device::lapack::{Lapack, LuInfo};
use crate::device::streamed::Streamed;

/// `out = op(a) op(b)`.
pub fn gemm<T: Scalar, D: Streamed<T>>(
    dev: &D,
    a: (Trans, MatRef<'_, T>),
    b: (Trans, MatRef<'_, T>),
    mut out: MatMut<'_, T>,
) -> Result<()> {
    match dev.gemm_streamed(a, b, out.rb_mut())? {
        Some(()) => Ok(()),
        None => gemm_loaded(dev, a, b, out),
    }
}

/// As [`gemm`], one step after the other.
pub fn gemm_loaded<T: Scalar, D: Blas<T>>(
    dev: &D,
    (ta, a): (Trans, MatRef<'_, T>),
    (tb, b): (Trans, MatRef<'_, T>),
    out: MatMut<'_, T>,
) -> Result<()> {
    let (a, b) = (dev.load(a)?, dev.load(b)?);
    let mut c = dev.output(out)?;
    dev.gemm(T::from_f64(1.0), ta, &a, tb, &b, T::from_f64(0.0), &mut c)?;
    dev.store(c)
}

/// `out = a'a` (`Trans::Yes`) or `aa'`, exactly symmetric.
pub fn syrk<T: Scalar, D: Streamed<T>>(
    dev: &D,
    trans: Trans,
    a: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    if dev.syrk_streamed(trans, a, out.rb_mut())?.is_some() {
        return Ok(());
    }
    let a = dev.load(a)?;
    let mut c = dev.output(out)?;
    dev.syrk(trans, &a, &mut c)?;
    dev.store(c)
}

/// `out` becomes the factor U of `a`, of which only the upper triangle is read, and zero below the
/// diagonal.
pub fn potrf<T: Scalar, D: Streamed<T>>(
    dev: &D,
    a: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    match dev.potrf_streamed(a, out.rb_mut())? {
        Some(()) => Ok(()),
        None => potrf_loaded(dev, a, out),
    }
}

/// As [`potrf`], one step after the other.
pub fn potrf_loaded<T: Scalar, D: Lapack<T>>(
    dev: &D,
    a: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let mut u = dev.load_into(a, Part::Upper, out)?;
    dev.potrf(Uplo::Upper, &mut u)?;
    dev.store_part(u, Part::Upper)
}

/// [`Lapack::getrf`] of a host matrix into `a`, of its shape; also the 1-norm of the matrix.
pub fn getrf<T: Scalar, D: Streamed<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    a: &mut D::Mat<'_>,
) -> Result<(LuInfo, f64)> {
    match dev.getrf_streamed(x, a)? {
        Some(done) => Ok(done),
        None => getrf_loaded(dev, x, a),
    }
}

/// As [`getrf`], one step after the other.
pub fn getrf_loaded<T: Scalar, D: Lapack<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    a: &mut D::Mat<'_>,
) -> Result<(LuInfo, f64)> {
    dev.refill(x, Part::All, a)?;
    let norm = dev.norm1(a)?;
    Ok((dev.getrf(a)?, norm))
}

/// `out = A^-1 b` from the LU factors of A; without `b` the inverse.
pub fn getrs<T: Scalar, D: Streamed<T>>(
    dev: &D,
    lu: &D::Mat<'_>,
    ipiv: &[usize],
    b: Option<MatRef<'_, T>>,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    match dev.getrs_streamed(lu, ipiv, b, out.rb_mut())? {
        Some(()) => Ok(()),
        None => getrs_loaded(dev, lu, ipiv, b, out),
    }
}

/// As [`getrs`], one step after the other.
pub fn getrs_loaded<T: Scalar, D: Lapack<T>>(
    dev: &D,
    lu: &D::Mat<'_>,
    ipiv: &[usize],
    b: Option<MatRef<'_, T>>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let mut x = match b {
        Some(b) => dev.load_into(b, Part::All, out)?,
        None => {
            let mut x = dev.output(out)?;
            dev.set_identity(&mut x)?;
            x
        }
    };
    dev.getrs(lu, ipiv, &mut x)?;
    dev.store(x)
}
