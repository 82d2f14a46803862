//! The orthogonal factor of an object that R's `qr` made: its columns, and products with it, by its
//! reflectors.

use crate::device::lapack::Lapack;
use crate::device::memory::Memory;
use faer::prelude::*;
use faer::{MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Diag, Part, Side, Trans, Uplo};
use crate::base::progress;
use crate::base::scalar::{narrow, try_zeroed, Scalar};
use crate::cost::flops::{apply_flops, form_flops, reflect_flops};

/// How reflectors are stored below the diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReflectorForm {
    /// Reflector j times `qraux[j]`, which is `tau_j`; none in the last row.
    Linpack,
    /// With an implicit leading one; `qraux` is `tau`.
    Lapack,
}

/// The reflectors of a `qr` object that are to be used: those its first columns hold, as many as
/// `qraux` has numbers.
#[derive(Debug, Clone, Copy)]
pub struct Reflectors<'a, T> {
    pub form: ReflectorForm,
    pub matrix: MatRef<'a, T>,
    pub qraux: &'a [f64],
}

impl<T: Scalar> Reflectors<'_, T> {
    /// Hands them to `then` in LAPACK's form, on the device.
    fn load<D: Memory<T>>(
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
        let linpack = self.form == ReflectorForm::Linpack;
        let k = self.qraux.len().min(m.saturating_sub(linpack.into()));
        let mut tau: Vec<T> = try_zeroed(k)?;
        narrow(self.qraux, &mut tau)?;
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
pub fn apply<T: Scalar, D: Lapack<T>>(
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
pub fn form<T: Scalar, D: Lapack<T>>(
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

/// As [`apply`], by the first reflectors of a factor in LAPACK's form, all on the device.
pub fn apply_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    trans: Trans,
    (factor, tau): (&D::Mat<'_>, &[T]),
    y: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let mut c = dev.duplicate(y, Part::All)?;
    dev.ormqr(trans, factor, tau, &mut c)?;
    Ok(c)
}

/// The part of y in the space that columns `first` to `first + count` of Q span: `Q D Q'y` with
/// ones at these places of D's diagonal.
pub fn project_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    (factor, tau): (&D::Mat<'_>, &[T]),
    (first, count): (usize, usize),
    y: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let (rows, columns) = dev.shape(y);
    let turned = apply_resident(dev, Trans::Yes, (factor, tau), y)?;
    let mut part = dev.zeros(rows, columns)?;
    let block = Block {
        row: first,
        col: 0,
        rows: count,
        cols: columns,
    };
    dev.copy_block(&turned, block, &mut part, (first, 0))?;
    dev.ormqr(Trans::No, factor, tau, &mut part)?;
    Ok(part)
}

/// As [`form`], of a factor in LAPACK's form on the device.
pub fn form_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    (factor, tau): (&D::Mat<'_>, &[T]),
    columns: usize,
) -> Result<D::Mat<'static>> {
    let mut q = dev.zeros(dev.shape(factor).0, columns)?;
    dev.orgqr(factor, tau, &mut q)?;
    Ok(q)
}

/// The first rows of R, zero below the diagonal, those of `turned` with their sign turned.
pub fn triangle_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    factor: &D::Mat<'_>,
    rows: usize,
    turned: &[usize],
) -> Result<D::Mat<'static>> {
    let columns = dev.shape(factor).1;
    let mut top = dev.zeros(rows, columns)?;
    dev.copy_block(factor, Block::leading(rows, columns), &mut top, (0, 0))?;
    let mut r = dev.duplicate(&top, Part::Upper)?;
    if let Some(last) = turned.iter().max() {
        // Reflectors I - 2 e_j e_j', the others being none.
        let mut tau: Vec<T> = try_zeroed(last + 1)?;
        for j in turned {
            tau[*j] = T::from_f64(2.0);
        }
        let units = dev.zeros(rows, last + 1)?;
        dev.ormqr(Trans::Yes, &units, &tau, &mut r)?;
    }
    Ok(r)
}

/// The coefficients of least squares, in the columns' own order: `R^-1 Q'y` by the first
/// `tau.len()` columns, which `jpvt` names, and `missing` for the others.
pub fn coefficients_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    (factor, tau): (&D::Mat<'_>, &[T]),
    jpvt: &[usize],
    missing: f64,
    y: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let (k, n, columns) = (tau.len(), jpvt.len(), dev.shape(y).1);
    let mut c = apply_resident(dev, Trans::Yes, (factor, tau), y)?;
    let (left, upper) = (Side::Left, Uplo::Upper);
    dev.trsm(left, upper, Trans::No, Diag::NonUnit, k, factor, &mut c)?;
    let mut x = dev.zeros(n, columns)?;
    dev.copy_block(&c, Block::leading(k, columns), &mut x, (0, 0))?;
    if k < n {
        let mut none: Vec<T> = try_zeroed((n - k) * columns)?;
        none.fill(T::from_f64(missing));
        let none = MatRef::from_column_major_slice(&none, n - k, columns);
        let none = dev.load_temporary(none, Part::All)?;
        dev.copy_block(&none, Block::leading(n - k, columns), &mut x, (k, 0))?;
    }
    dev.laswp(Trans::Yes, &exchanges(jpvt), &mut x)?;
    Ok(x)
}

/// The row exchanges that put row `order[i]` in place i, which must name every row once.
fn exchanges(order: &[usize]) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..order.len()).collect();
    let mut place = rows.clone();
    order
        .iter()
        .enumerate()
        .map(|(i, row)| {
            let at = place[*row];
            place[rows[i]] = at;
            rows.swap(i, at);
            at
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_make_the_permutation() {
        for order in [
            vec![],
            vec![0],
            vec![2, 0, 1],
            vec![1, 0, 3, 2],
            vec![3, 1, 0, 2],
        ] {
            let mut rows: Vec<usize> = (0..order.len()).collect();
            for (i, at) in exchanges(&order).into_iter().enumerate() {
                assert!(at >= i);
                rows.swap(i, at);
            }
            assert_eq!(rows, order);
        }
    }
}
