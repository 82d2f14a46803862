//! The orthogonal factor of an object that R's `qr` made: its columns, and products with it, by its reflectors.

use faer::prelude::*;
use faer::{MatMut, MatRef};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::matrix::{Part, Trans};
use crate::progress;
use crate::scalar::{narrow, try_zeroed, Scalar};
use crate::work::{apply_flops, form_flops, reflect_flops};

/// How reflectors are stored below the diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Reflector j times `qraux[j]`, which is `tau_j`; none in the last row.
    Linpack,
    /// With an implicit leading one; `qraux` is `tau`.
    Lapack,
}

/// The reflectors of a `qr` object that are to be used: those its first columns hold, as many as `qraux` has numbers.
#[derive(Debug, Clone, Copy)]
pub struct Reflectors<'a, T> {
    pub form: Form,
    pub matrix: MatRef<'a, T>,
    pub qraux: &'a [f64],
}

impl<T: Scalar> Reflectors<'_, T> {
    /// Hands them to `then` in LAPACK's form, on the device.
    fn load<D: Device<T>>(
        self,
        dev: &D,
        then: impl FnOnce(&D::Mat<'_>, &[T]) -> Result<()>,
    ) -> Result<()> {
        let m = self.matrix.nrows();
        if self.qraux.len() > m.min(self.matrix.ncols()) {
            return Err(Error::Dimension {
                what: "there are more reflectors than the matrix has columns".to_owned(),
            });
        }
        let linpack = self.form == Form::Linpack;
        let k = self.qraux.len().min(m.saturating_sub(linpack.into()));
        let mut tau: Vec<T> = try_zeroed(k)?;
        narrow(self.qraux, &mut tau);
        let columns = self.matrix.subcols(0, k);
        if !linpack {
            let a = dev.load(columns)?;
            return then(&a, &tau);
        }
        let mut v = try_zeroed(m * k)?;
        let mut v = MatMut::from_column_major_slice_mut(&mut v, m, k);
        v.rb_mut().copy_from(columns);
        for (j, t) in tau.iter().enumerate() {
            if *t != T::from_f64(0.0) {
                for v in v.rb_mut().col_mut(j).get_mut(j + 1..).iter_mut() {
                    *v /= *t;
                }
            }
        }
        let a = dev.load(v.rb())?;
        then(&a, &tau)
    }
}

/// `Q y`, or `Q'y`, in `out`.
pub fn apply<T: Scalar, D: Device<T>>(
    dev: &D,
    trans: Trans,
    reflectors: Reflectors<'_, T>,
    y: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    reflectors.load(dev, |a, tau| {
        let (size, n) = ((out.nrows(), tau.len()), out.ncols());
        progress::extend(reflect_flops(size, n) - apply_flops(size.0, size.1, n));
        let mut c = dev.load_into(y, Part::All, out)?;
        dev.ormqr(trans, a, tau, &mut c)?;
        dev.store(c)
    })
}

/// As many of Q's first columns as `out` has.
pub fn form<T: Scalar, D: Device<T>>(
    dev: &D,
    reflectors: Reflectors<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    reflectors.load(dev, |a, tau| {
        let (size, n) = ((out.nrows(), tau.len()), out.ncols());
        progress::extend(form_flops(size, n) - apply_flops(size.0, size.1, n));
        let mut q = dev.output(out)?;
        dev.orgqr(a, tau, &mut q)?;
        dev.store(q)
    })
}
