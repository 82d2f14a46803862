//! The vectors of `space` on a device, composed of its functions: matrices of one column that live
//! there. Only what is reduced to numbers comes back.

use std::marker::PhantomData;

use faer::{MatMut, MatRef};

use super::space::{Capped, Line, Recentre, Vectors};
use crate::base::error::Result;
use crate::base::matrix::{Block, Part, Trans};
use crate::base::scalar::{try_zeroed, widened, Scalar};
use crate::device::elementwise::{Elementwise, Operand};
use crate::device::functions::{Fold, Lines, Zip};

/// Vectors of a device.
pub struct OnDevice<'d, T: Scalar, D: Elementwise<T>> {
    pub dev: &'d D,
    /// The number one, for sums of multiples by products.
    one: D::Mat<'static>,
    scalar: PhantomData<T>,
}

impl<'d, T: Scalar, D: Elementwise<T>> OnDevice<'d, T, D> {
    pub fn new(dev: &'d D) -> Result<Self> {
        let one = [T::from_f64(1.0)];
        let view = MatRef::from_column_major_slice(&one, 1, 1);
        Ok(OnDevice {
            dev,
            one: dev.load_temporary(view, Part::All)?,
            scalar: PhantomData,
        })
    }

    /// A matrix of one column from numbers of the host.
    pub fn column(&self, x: &[f64]) -> Result<D::Mat<'static>> {
        if x.is_empty() {
            return self.dev.blank(0, 1);
        }
        let x = T::borrow_host(x)?;
        let view = MatRef::from_column_major_slice(&x, x.len(), 1);
        self.dev.load_temporary(view, Part::All)
    }

    /// `f(x, y)` as another matrix, of which an empty one takes no step.
    pub fn zip(
        &self,
        f: Zip,
        x: Operand<'_, D::Mat<'static>>,
        y: Operand<'_, D::Mat<'static>>,
        shape: (usize, usize),
    ) -> Result<D::Mat<'static>> {
        let mut out = self.dev.blank(shape.0, shape.1)?;
        if shape.0 * shape.1 > 0 {
            self.dev.zip(f, x, y, &mut out)?;
        }
        Ok(out)
    }

    pub(crate) fn both(
        &self,
        f: Zip,
        x: &D::Mat<'static>,
        y: &D::Mat<'static>,
    ) -> Result<D::Mat<'static>> {
        let shape = self.dev.shape(x);
        self.zip(f, Operand::Matrix(x), Operand::Matrix(y), shape)
    }

    pub(crate) fn with(&self, f: Zip, x: &D::Mat<'static>, y: f64) -> Result<D::Mat<'static>> {
        let shape = self.dev.shape(x);
        self.zip(f, Operand::Matrix(x), Operand::Number(y), shape)
    }

    pub(crate) fn fold(&self, f: Fold, x: &D::Mat<'static>) -> Result<f64> {
        if self.len(x) == 0 {
            return Ok(f.of_nothing());
        }
        let all = self.dev.fold(f, Lines::All, false, x)?;
        Ok(all.first().copied().unwrap_or(f.of_nothing()))
    }

    /// A matrix with its rows and its columns multiplied: one after the other, as their products
    /// may be out of range where a number's own is not.
    pub fn scaled(
        &self,
        a: &D::Mat<'static>,
        down: &[f64],
        across: &[f64],
    ) -> Result<D::Mat<'static>> {
        let (rows, cols) = self.dev.shape(a);
        if rows * cols == 0 {
            return self.dev.blank(rows, cols);
        }
        let (down, across) = (self.column(down)?, self.column(across)?);
        let (a, by) = (Operand::Matrix(a), Operand::Recycled(&down));
        let first = self.zip(Zip::Multiply, a, by, (rows, cols))?;
        let ones = self.column(&vec![1.0; rows])?;
        let mut by = self.dev.blank(rows, cols)?;
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        let (no, yes) = (Trans::No, Trans::Yes);
        self.dev.gemm(one, no, &ones, yes, &across, zero, &mut by)?;
        let (first, by) = (Operand::Matrix(&first), Operand::Matrix(&by));
        self.zip(Zip::Multiply, first, by, (rows, cols))
    }

    /// Rows of a column, brought to the host.
    pub fn fetch_part(&self, x: &D::Mat<'static>, row: usize, rows: usize) -> Result<Vec<f64>> {
        let mut out = try_zeroed::<T>(rows)?;
        if rows > 0 {
            let block = Block {
                row,
                col: 0,
                rows,
                cols: 1,
            };
            let home = MatMut::from_column_major_slice_mut(&mut out, rows, 1);
            self.dev.read_block(x, block, home)?;
        }
        widened(&out)
    }

    /// Rows of a column.
    pub fn part(&self, x: &D::Mat<'static>, from: usize, len: usize) -> Result<D::Mat<'static>> {
        let mut out = self.dev.blank(len, 1)?;
        self.put(x, (from, len), &mut out, 0)?;
        Ok(out)
    }

    /// Copies rows of a column to another one, from a row on.
    pub fn put(
        &self,
        x: &D::Mat<'static>,
        (row, rows): (usize, usize),
        out: &mut D::Mat<'static>,
        at: usize,
    ) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let block = Block {
            row,
            col: 0,
            rows,
            cols: 1,
        };
        self.dev.copy_block(x, block, out, (at, 0))
    }
}

impl<T: Scalar, D: Elementwise<T>> Vectors for OnDevice<'_, T, D> {
    type V = D::Mat<'static>;

    fn zeros(&self, len: usize) -> Result<Self::V> {
        if len == 0 {
            return self.dev.blank(0, 1);
        }
        self.dev.zeros(len, 1)
    }

    fn bring(&self, x: &[f64]) -> Result<Self::V> {
        self.column(x)
    }

    fn fetch(&self, x: &Self::V) -> Result<Vec<f64>> {
        self.fetch_part(x, 0, self.len(x))
    }

    fn copy(&self, x: &Self::V) -> Result<Self::V> {
        if self.len(x) == 0 {
            return self.dev.blank(0, 1);
        }
        self.dev.duplicate(x, Part::All)
    }

    fn len(&self, x: &Self::V) -> usize {
        self.dev.shape(x).0
    }

    fn add(&self, a: f64, x: &Self::V, b: f64, y: &mut Self::V) -> Result<()> {
        if self.len(x) == 0 {
            return Ok(());
        }
        let (a, b) = (T::from_f64(a), T::from_f64(b));
        self.dev.gemm(a, Trans::No, x, Trans::No, &self.one, b, y)
    }

    fn combined(&self, a: f64, x: &Self::V, b: f64, y: &Self::V) -> Result<Self::V> {
        // What one step will do.
        match (a, b) {
            (1.0, 1.0) => return self.both(Zip::Add, x, y),
            (1.0, -1.0) => return self.both(Zip::Subtract, x, y),
            (-1.0, 1.0) => return self.both(Zip::Subtract, y, x),
            (0.0, _) => return self.multiple(b, y),
            (_, 0.0) => return self.multiple(a, x),
            _ => {}
        }
        let mut out = self.multiple(a, x)?;
        self.add(b, y, 1.0, &mut out)?;
        Ok(out)
    }

    fn multiple(&self, a: f64, x: &Self::V) -> Result<Self::V> {
        self.with(Zip::Multiply, x, a)
    }

    fn shift(&self, a: f64, x: &mut Self::V) -> Result<()> {
        *x = self.with(Zip::Add, x, a)?;
        Ok(())
    }

    fn multiply(&self, x: &Self::V, y: &Self::V) -> Result<Self::V> {
        self.both(Zip::Multiply, x, y)
    }

    fn divide(&self, x: &Self::V, y: &Self::V) -> Result<Self::V> {
        self.both(Zip::Divide, x, y)
    }

    fn invert(&self, x: &Self::V) -> Result<Self::V> {
        let shape = self.dev.shape(x);
        self.zip(Zip::Divide, Operand::Number(1.0), Operand::Matrix(x), shape)
    }

    fn dots(&self, pairs: &[(&Self::V, &Self::V)]) -> Result<Vec<f64>> {
        let products = pairs.iter().map(|(x, y)| self.multiply(x, y));
        self.fold_each(Fold::Sum, products.collect::<Result<_>>()?)
    }

    fn sum(&self, x: &Self::V) -> Result<f64> {
        self.fold(Fold::Sum, x)
    }

    fn largest(&self, x: &Self::V) -> Result<f64> {
        self.fold(Fold::Largest, x)
    }

    fn least(&self, x: &Self::V) -> Result<f64> {
        self.fold(Fold::Min, x)
    }

    fn weighted_square(&self, x: &Self::V, weights: &Self::V) -> Result<f64> {
        self.fold(Fold::Squares, &self.multiply(x, weights)?)
    }

    fn least_ratios(&self, lines: &[Line<'_, Self::V>], weights: &[f64]) -> Result<Vec<Vec<f64>>> {
        self.ratios(lines, weights)
    }

    fn centred(
        &self,
        aim: f64,
        x: &Self::V,
        z: &Self::V,
        d: Option<(&Self::V, &Self::V)>,
    ) -> Result<Self::V> {
        let from = |a: Operand<'_, D::Mat<'static>>, f, b| self.zip(f, a, b, self.dev.shape(x));
        let (number, x) = (Operand::Number(aim), Operand::Matrix(x));
        let over_x = match d {
            Some((dx, dz)) => {
                let second = self.multiply(dx, dz)?;
                let product = from(number, Zip::Subtract, Operand::Matrix(&second))?;
                from(Operand::Matrix(&product), Zip::Divide, x)?
            }
            // Towards nothing at all.
            None if aim == 0.0 => return self.multiple(-1.0, z),
            None => from(number, Zip::Divide, x)?,
        };
        self.minus(&over_x, z)
    }

    fn recentred(
        &self,
        by: Recentre,
        (x, dx): (&Self::V, &Self::V),
        (z, dz): (&Self::V, &Self::V),
    ) -> Result<Self::V> {
        let first = self.combined(by.steps.0, dx, 1.0, x)?;
        let second = self.combined(by.steps.1, dz, 1.0, z)?;
        let change = self.towards(&self.multiply(&first, &second)?, by.least, by.most)?;
        self.divide(&change, x)
    }

    fn capped(&self, at: Capped, x: &Self::V) -> Result<Self::V> {
        if at.is_empty() {
            return self.dev.blank(0, 1);
        }
        let mut out = self.dev.blank(at.len(), 1)?;
        self.put(x, (0, at.structural), &mut out, 0)?;
        self.put(x, (at.slack_at, at.slack), &mut out, at.structural)?;
        Ok(out)
    }

    fn add_capped(&self, at: Capped, a: f64, u: &Self::V, x: &mut Self::V) -> Result<()> {
        if at.is_empty() {
            return Ok(());
        }
        let mut sums = self.capped(at, x)?;
        self.add(a, u, 1.0, &mut sums)?;
        self.put(&sums, (0, at.structural), x, 0)?;
        self.put(&sums, (at.structural, at.slack), x, at.slack_at)
    }
}
