//! Matrix products.

use crate::algo::dense::host_to_host;
use crate::device::blas::Blas;
use faer::{MatMut, MatRef};

use super::matmult_blocks;
use crate::base::error::{Error, Result};
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;

/// `out = op(x) op(y)`, with `memory` bytes on the device, infinite for what is free: in parts
/// where that is too little.
pub fn product<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    x: (Trans, MatRef<'_, T>),
    y: (Trans, MatRef<'_, T>),
    memory: f64,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let (m, n) = out.shape();
    let numbers = entries(x.1.shape()) + entries(y.1.shape()) + entries((m, n));
    if let Some(room) = matmult_blocks::room::<T, D>(dev, memory, numbers) {
        return matmult_blocks::product(dev, x, y, room, out);
    }
    match host_to_host::gemm(dev, x, y, out.as_mut()) {
        // Less was to be had than was free.
        Err(Error::DeviceMemory { .. }) => {
            let room = matmult_blocks::what_is_free(dev)?;
            matmult_blocks::product(dev, x, y, room, out)
        }
        done => done,
    }
}

fn entries((rows, cols): (usize, usize)) -> f64 {
    rows as f64 * cols as f64
}

/// `op(x) op(y)` of matrices on the device.
pub fn product_resident<T: Scalar, D: Blas<T>>(
    dev: &D,
    (tx, x): (Trans, &D::Mat<'_>),
    (ty, y): (Trans, &D::Mat<'_>),
) -> Result<D::Mat<'static>> {
    let mut c = dev.zeros(tx.shape(dev.shape(x)).0, ty.shape(dev.shape(y)).1)?;
    dev.gemm(T::from_f64(1.0), tx, x, ty, y, T::from_f64(0.0), &mut c)?;
    Ok(c)
}

/// As [`self_product`], of a matrix on the device.
pub fn self_product_resident<T: Scalar, D: Blas<T>>(
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

/// `out = x'x` (`Trans::Yes`) or `xx'`, exactly symmetric; `memory` as of [`product`].
pub fn self_product<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    trans: Trans,
    x: MatRef<'_, T>,
    memory: f64,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let numbers = entries(x.shape()) + entries((out.nrows(), out.ncols()));
    if let Some(room) = matmult_blocks::room::<T, D>(dev, memory, numbers) {
        return matmult_blocks::self_product(dev, trans, x, room, out);
    }
    match host_to_host::syrk(dev, trans, x, out.as_mut()) {
        Err(Error::DeviceMemory { .. }) => {
            let room = matmult_blocks::what_is_free(dev)?;
            matmult_blocks::self_product(dev, trans, x, room, out)
        }
        done => done,
    }
}
