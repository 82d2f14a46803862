//! Cholesky factors of users, upper or lower, and of the algorithms: upper, and zero below the
//! diagonal.

use crate::device::memory::Memory;
use faer::{MatMut, MatRef};

use crate::base::error::Result;
use crate::base::matrix::{Part, Uplo};
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;

fn part(uplo: Uplo) -> Part {
    match uplo {
        Uplo::Upper => Part::Upper,
        Uplo::Lower => Part::Lower,
    }
}

/// The upper factor in the triangle `uplo` of a matrix on the host, or its transpose in the lower
/// one. The other triangle is not read.
pub(crate) fn load<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    uplo: Uplo,
    r: MatRef<'_, T>,
) -> Result<D::Mat<'static>> {
    give(dev, uplo, dev.load_temporary(r, part(uplo))?)
}

/// As [`load`], of a matrix on the device.
pub(crate) fn copy<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    uplo: Uplo,
    r: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    give(dev, uplo, dev.duplicate(r, part(uplo))?)
}

/// An upper factor as the triangle that the caller asks for.
pub(crate) fn give<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    uplo: Uplo,
    r: D::Mat<'static>,
) -> Result<D::Mat<'static>> {
    match uplo {
        Uplo::Upper => Ok(r),
        Uplo::Lower => transposed(dev, &r),
    }
}

/// As [`give`], to host memory.
pub(crate) fn store<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    uplo: Uplo,
    r: D::Mat<'static>,
    out: MatMut<'_, T>,
) -> Result<()> {
    match uplo {
        Uplo::Upper => dev.read(&r, out),
        Uplo::Lower => {
            let mut l = dev.output(out)?;
            dev.transpose(&r, &mut l)?;
            dev.store_part(l, Part::Lower)
        }
    }
}

pub(crate) fn transposed<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let (rows, cols) = Memory::<T>::shape(dev, a);
    let mut out = dev.blank(cols, rows)?;
    dev.transpose(a, &mut out)?;
    Ok(out)
}
