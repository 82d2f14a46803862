//! Matrices that multiply blocks of a device, and their scaling by powers of two.

use std::cell::Cell;

use crate::algo::lanczos::consistency::Rounding;
use crate::algo::lanczos::transfer::fetch;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Part, Trans};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::{Elementwise, Operand, Scaling};
use crate::device::functions::Zip;
use crate::device::memory::Memory;
use crate::device::multigrid::LevelOperator;
use crate::device::sparse::Sparse;

/// A matrix A that multiplies blocks of a device.
pub trait Linear<T: Scalar, D: Memory<T>> {
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);
    /// `out <- op(A) x`. A symmetric matrix may ignore `op`.
    fn multiply(
        &self,
        dev: &D,
        op: Trans,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()>;
    /// The rounding of an operation in a product.
    fn unit(&self) -> f64 {
        T::EPS
    }
}

/// A dense matrix of the device.
pub struct Dense<'m, 'a, T: Scalar, D: Memory<T>> {
    shape: (usize, usize),
    symmetric: bool,
    a: &'m D::Mat<'a>,
}

impl<'m, 'a, T: Scalar, D: Memory<T>> Dense<'m, 'a, T, D> {
    pub fn new(dev: &D, a: &'m D::Mat<'a>) -> Self {
        Dense {
            shape: dev.shape(a),
            symmetric: false,
            a,
        }
    }

    /// One that is known to be symmetric, with both triangles: products may read one of them.
    pub fn symmetric(dev: &D, a: &'m D::Mat<'a>) -> Self {
        Dense {
            symmetric: true,
            ..Dense::new(dev, a)
        }
    }
}

impl<T: Scalar, D: Elementwise<T>> Linear<T, D> for Dense<'_, '_, T, D> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn multiply(
        &self,
        dev: &D,
        op: Trans,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        match self.symmetric {
            true => dev.multiply_symmetric(self.a, x, out),
            false => dev.multiply_few(op, self.a, x, out),
        }
    }
}

/// The symmetric matrix with the lower triangle of a square matrix of the device.
pub fn mirrored<T: Scalar, D: Elementwise<T>>(dev: &D, a: &D::Mat<'_>) -> Result<D::Mat<'static>> {
    let (n, _) = dev.shape(a);
    let lower = dev.duplicate(a, Part::Lower)?;
    let (mut upper, mut both) = (dev.blank(n, n)?, dev.blank(n, n)?);
    dev.transpose(&lower, &mut upper)?;
    let (x, y) = (Operand::Matrix(&lower), Operand::Matrix(&upper));
    dev.zip(Zip::Add, x, y, &mut both)?;
    dev.set_diagonal(&dev.diagonal(a)?, &mut both)?;
    Ok(both)
}

/// A sparse symmetric matrix of the device.
pub struct SparseSymmetric<'m, D: Sparse> {
    n: usize,
    a: &'m D::Csr,
}

impl<'m, D: Sparse> SparseSymmetric<'m, D> {
    pub fn new(dev: &D, a: &'m D::Csr) -> Self {
        let n = dev.sparse_order(a);
        SparseSymmetric { n, a }
    }
}

impl<D: Sparse> Linear<f64, D> for SparseSymmetric<'_, D> {
    fn shape(&self) -> (usize, usize) {
        (self.n, self.n)
    }

    fn multiply(
        &self,
        dev: &D,
        _: Trans,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        self.a.residual(dev, None, x, out)
    }
}

/// `2^exponent A`, with an exponent that brings a norm of unusual size close to one, 0 for others.
/// The norm's estimate is that of a product with a block, so no entry is read and no copy is made.
pub(super) struct Scaled<'o, D, A> {
    dev: &'o D,
    a: &'o A,
    /// Exponents of the factors of operands, and of products.
    before: i32,
    after: i32,
    size: f64,
    products: Cell<usize>,
}

/// The largest number; NaN is larger than all.
fn largest(norms: &[f64]) -> f64 {
    let larger = |a: f64, b: &f64| if a > *b || a.is_nan() { a } else { *b };
    norms.iter().fold(0.0, larger)
}

fn power(exponent: i32) -> f64 {
    f64::from(exponent).exp2()
}

/// An exponent, so that 2 to its power times numbers of ordinary size stays far inside the range of
/// numbers.
fn large<T: Scalar>() -> i32 {
    match size_of::<T>() < size_of::<f64>() {
        true => 60,
        false => 500,
    }
}

impl<'o, D, A> Scaled<'o, D, A> {
    /// The scaling that follows from the product with `x`, whose columns have norm 1, and this
    /// product, scaled.
    ///
    /// # Errors
    /// [`Error::NonFiniteIn`] of `x` if a product is not finite with operands of any size.
    pub fn new<T: Scalar>(
        dev: &'o D,
        a: &'o A,
        x: &D::Mat<'static>,
    ) -> Result<(Self, D::Mat<'static>)>
    where
        D: Elementwise<T>,
        A: Linear<T, D>,
    {
        let mut scaled = Scaled {
            dev,
            a,
            before: 0,
            after: 0,
            size: 2.0,
            products: Cell::new(0),
        };
        let far = large::<T>();
        let mut product = scaled.times(Trans::No, x)?;
        let mut norm = largest(&dev.column_norms(&product)?);
        let before = match norm {
            norm if !norm.is_finite() => -far,
            norm if norm < power(-far) => far,
            _ => 0,
        };
        if before != 0 {
            scaled.before = before;
            product = scaled.times(Trans::No, x)?;
            norm = largest(&dev.column_norms(&product)?);
        }
        if !norm.is_finite() {
            return Err(Error::NonFiniteIn { argument: "x" });
        }
        if norm > 0.0 {
            let exponent = norm.log2().floor() as i32;
            // Norms of ordinary size need no pass over each product.
            if before == 0 && exponent.abs() <= far / 4 {
                scaled.size = power(exponent + 1);
            } else {
                scaled.after = -exponent;
                product = scaled.multiplied(&product, scaled.after)?;
            }
        }
        Ok((scaled, product))
    }

    /// `2^exponent x`.
    fn multiplied<T: Scalar>(&self, x: &D::Mat<'static>, exponent: i32) -> Result<D::Mat<'static>>
    where
        D: Elementwise<T>,
    {
        let (rows, cols) = self.dev.shape(x);
        let mut out = self.dev.blank(rows, cols)?;
        let by = vec![power(exponent); cols];
        self.dev.scale_columns(x, &by, Scaling::Replace, &mut out)?;
        Ok(out)
    }

    /// `2^exponent op(A) x`.
    pub fn times<T: Scalar>(&self, op: Trans, x: &D::Mat<'static>) -> Result<D::Mat<'static>>
    where
        D: Elementwise<T>,
        A: Linear<T, D>,
    {
        interrupt::poll()?;
        let (m, n) = self.a.shape();
        let cols = self.dev.shape(x).1;
        self.products.set(self.products.get() + cols);
        let mut out = self.dev.blank(if op.is_yes() { n } else { m }, cols)?;
        match self.before {
            0 => self.a.multiply(self.dev, op, x, &mut out)?,
            e => self
                .a
                .multiply(self.dev, op, &self.multiplied(x, e)?, &mut out)?,
        }
        match self.after {
            0 => Ok(out),
            e => self.multiplied(&out, e),
        }
    }

    /// Rows and columns.
    pub fn shape<T: Scalar>(&self) -> (usize, usize)
    where
        D: Memory<T>,
        A: Linear<T, D>,
    {
        self.a.shape()
    }

    /// The rounding of products.
    pub fn rounding<T: Scalar>(&self) -> Rounding
    where
        D: Memory<T>,
        A: Linear<T, D>,
    {
        let (m, n) = self.a.shape();
        Rounding {
            unit: self.a.unit(),
            length: m.max(n),
        }
    }

    /// A power of two that the first product's columns are not longer than.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// The exponent of the scaling.
    pub fn exponent(&self) -> i32 {
        self.before + self.after
    }

    /// Columns multiplied so far.
    pub fn products(&self) -> usize {
        self.products.get()
    }

    /// All entries of `2^exponent A`, by columns, from the products with the identity that are
    /// fewer: `A I` or `A'I`.
    pub fn entries<T: Scalar>(&self) -> Result<Vec<f64>>
    where
        D: Elementwise<T>,
        A: Linear<T, D>,
    {
        let (m, n) = self.a.shape();
        let mut all = try_zeroed::<f64>(m.saturating_mul(n))?;
        let (op, least) = if m < n {
            (Trans::Yes, m)
        } else {
            (Trans::No, n)
        };
        for first in (0..least).step_by(AT_ONCE) {
            let cols = AT_ONCE.min(least - first);
            let mut unit = try_zeroed::<T>(least * cols)?;
            (0..cols).for_each(|j| unit[j * least + first + j] = T::from_f64(1.0));
            let unit = faer::MatRef::from_column_major_slice(&unit, least, cols);
            let x = self.dev.load_temporary(unit, Part::All)?;
            let y = fetch(self.dev, &self.times(op, &x)?)?;
            if op.is_yes() {
                // Rows of A.
                for (j, column) in all.chunks_exact_mut(m).enumerate() {
                    (0..cols).for_each(|i| column[first + i] = y[i * n + j]);
                }
            } else {
                all[first * m..(first + cols) * m].copy_from_slice(&y);
            }
        }
        if all.iter().all(|v| v.is_finite()) {
            return Ok(all);
        }
        Err(Error::NonFiniteIn { argument: "x" })
    }
}

/// Columns of the identity that are multiplied at once.
const AT_ONCE: usize = 64;
