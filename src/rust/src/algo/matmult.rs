//! Matrix products.

use faer::{MatMut, MatRef};

use crate::device::Device;
use crate::error::Result;
use crate::matrix::Trans;
use crate::scalar::Scalar;

/// `out = op(x) op(y)`.
pub fn product<T: Scalar, D: Device<T>>(
    dev: &D,
    x: (Trans, MatRef<'_, T>),
    y: (Trans, MatRef<'_, T>),
    out: MatMut<'_, T>,
) -> Result<()> {
    dev.gemm_host(x, y, out)
}

/// `op(x) op(y)` of matrices on the device.
pub fn product_resident<T: Scalar, D: Device<T>>(
    dev: &D,
    (tx, x): (Trans, &D::Mat<'_>),
    (ty, y): (Trans, &D::Mat<'_>),
) -> Result<D::Mat<'static>> {
    let mut c = dev.zeros(tx.shape(dev.shape(x)).0, ty.shape(dev.shape(y)).1)?;
    dev.gemm(T::from_f64(1.0), tx, x, ty, y, T::from_f64(0.0), &mut c)?;
    Ok(c)
}

/// As [`self_product`], of a matrix on the device.
pub fn self_product_resident<T: Scalar, D: Device<T>>(
    dev: &D,
    trans: Trans,
    x: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let (_, n) = match trans {
        Trans::Yes => dev.shape(x),
        Trans::No => Trans::Yes.shape(dev.shape(x)),
    };
    let mut c = dev.zeros(n, n)?;
    dev.syrk(trans, x, &mut c)?;
    Ok(c)
}

/// `out = x'x` (`Trans::Yes`) or `xx'`, exactly symmetric.
pub fn self_product<T: Scalar, D: Device<T>>(
    dev: &D,
    trans: Trans,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    dev.syrk_host(trans, x, out)
}
