//! The square matrix that stands for another one in a singular value decomposition.

use crate::base::error::Result;
use crate::base::matrix::{Block, Part, Trans};
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;
use crate::device::memory::Memory;

/// The reflectors of a QR factorization and their factors.
type Reflectors<T, D> = (<D as Memory<T>>::Mat<'static>, Vec<T>);

/// A square matrix with the singular values of the given one, and what leads back from its vectors.
pub(super) struct Square<T: Scalar, D: Elementwise<T>> {
    pub matrix: D::Mat<'static>,
    /// Applied to left vectors last, for a matrix with more rows than columns.
    outer: Option<Reflectors<T, D>>,
    /// Applied to left and to right vectors first.
    inner: Option<[Reflectors<T, D>; 2]>,
}

impl<T: Scalar, D: Elementwise<T>> Square<T, D> {
    /// For a matrix with at least as many rows as columns.
    pub fn new(dev: &D, mut matrix: D::Mat<'static>) -> Result<Self> {
        let (m, n) = dev.shape(&matrix);
        let mut outer = None;
        if m > n {
            let (r, reflectors) = factor(dev, matrix)?;
            (matrix, outer) = (r, Some(reflectors));
        }
        Ok(Square {
            matrix,
            outer,
            inner: None,
        })
    }

    /// Replaces the matrix by the triangle of two QR factorizations, of it and of R'. Its entries
    /// fall along the diagonal as the singular values do, so that QR needs no pivots.
    pub fn grade(mut self, dev: &D) -> Result<Self> {
        let (n, _) = dev.shape(&self.matrix);
        let mut turned = dev.blank(n, n)?;
        let (r, left) = factor(dev, self.matrix)?;
        dev.transpose(&r, &mut turned)?;
        let (r, right) = factor(dev, turned)?;
        self.matrix = dev.blank(n, n)?;
        dev.transpose(&r, &mut self.matrix)?;
        self.inner = Some([left, right]);
        Ok(self)
    }

    /// The left vectors of the given matrix from those of the square one, in all columns of `out`.
    pub fn restore_left(
        &self,
        dev: &D,
        mut left: D::Mat<'static>,
        out: &mut D::Mat<'_>,
    ) -> Result<()> {
        if let Some([(reflectors, tau), _]) = &self.inner {
            dev.ormqr(Trans::No, reflectors, tau, &mut left)?;
        }
        let (n, _) = dev.shape(&left);
        if self.outer.is_some() {
            dev.set_identity(out)?;
        }
        dev.copy_block(&left, Block::leading(n, n), out, (0, 0))?;
        drop(left);
        match &self.outer {
            Some((reflectors, tau)) => dev.ormqr(Trans::No, reflectors, tau, out),
            None => Ok(()),
        }
    }

    /// As [`Square::restore_left`], for right vectors.
    pub fn restore_right(
        &self,
        dev: &D,
        mut right: D::Mat<'static>,
        out: &mut D::Mat<'_>,
    ) -> Result<()> {
        if let Some([_, (reflectors, tau)]) = &self.inner {
            dev.ormqr(Trans::No, reflectors, tau, &mut right)?;
        }
        let (n, _) = dev.shape(&right);
        dev.copy_block(&right, Block::leading(n, n), out, (0, 0))
    }
}

/// The square R of a QR factorization, with zeros below its diagonal, and the reflectors.
fn factor<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    mut x: D::Mat<'static>,
) -> Result<(D::Mat<'static>, Reflectors<T, D>)> {
    let (_, n) = dev.shape(&x);
    let tau = dev.geqrf(&mut x)?;
    let mut r = dev.blank(n, n)?;
    dev.copy_block(&x, Block::leading(n, n), &mut r, (0, 0))?;
    dev.keep_part(Part::Upper, &mut r)?;
    Ok((r, (x, tau)))
}
