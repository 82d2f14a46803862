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

/// `out = x'x` (`Trans::Yes`) or `xx'`, exactly symmetric.
pub fn self_product<T: Scalar, D: Device<T>>(
    dev: &D,
    trans: Trans,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let x = dev.load(x)?;
    let mut c = dev.output(out)?;
    dev.syrk(trans, &x, &mut c)?;
    dev.store(c)
}
