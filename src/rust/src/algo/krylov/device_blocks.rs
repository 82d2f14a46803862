//! Blocks of `blocks` on a device, composed of its functions: only what is reduced to numbers comes
//! back.

use std::marker::PhantomData;

use faer::{MatMut, MatRef};

use super::blocks::Blocks;
use crate::base::columns::PLAIN;
use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::{Elementwise, Index, Operand, Scaling};
use crate::device::functions::{Map, Zip};

/// The arithmetic of matrices of a device. Their numbers may be in single precision.
pub struct OnDevice<'d, T: Scalar, D: Elementwise<T>> {
    pub dev: &'d D,
    scalar: PhantomData<T>,
}

fn places(columns: &[usize]) -> Result<Vec<i32>> {
    let place = |c: &usize| i32::try_from(*c);
    let all: std::result::Result<_, _> = columns.iter().map(place).collect();
    all.map_err(|_| Error::Dimension {
        what: "there are too many right-hand sides".into(),
    })
}

impl<'d, T: Scalar, D: Elementwise<T>> OnDevice<'d, T, D> {
    pub fn new(dev: &'d D) -> Self {
        OnDevice {
            dev,
            scalar: PhantomData,
        }
    }

    /// A block from a matrix of the host.
    pub fn bring(&self, x: MatRef<'_, T>) -> Result<D::Mat<'static>> {
        if x.nrows() * x.ncols() == 0 {
            return self.dev.blank(x.nrows(), x.ncols());
        }
        self.dev.load_temporary(x, Part::All)
    }

    /// A block's numbers by columns.
    pub fn fetch(&self, x: &D::Mat<'static>) -> Result<Vec<T>> {
        let (rows, cols) = self.dev.shape(x);
        let mut out = try_zeroed::<T>(rows.saturating_mul(cols))?;
        if rows * cols > 0 {
            let home = MatMut::from_column_major_slice_mut(&mut out, rows, cols);
            self.dev.read(x, home)?;
        }
        Ok(out)
    }

    fn is_empty(&self, x: &D::Mat<'static>) -> bool {
        let (rows, cols) = self.dev.shape(x);
        rows * cols == 0
    }
}

impl<T: Scalar, D: Elementwise<T>> Blocks for OnDevice<'_, T, D> {
    type Block = D::Mat<'static>;

    fn shape(&self, x: &Self::Block) -> (usize, usize) {
        self.dev.shape(x)
    }

    fn zeros(&self, rows: usize, columns: usize) -> Result<Self::Block> {
        if rows == 0 || columns == 0 {
            return self.dev.blank(rows, columns);
        }
        self.dev.zeros(rows, columns)
    }

    fn copy(&self, x: &Self::Block) -> Result<Self::Block> {
        if self.is_empty(x) {
            let (rows, cols) = self.dev.shape(x);
            return self.dev.blank(rows, cols);
        }
        self.dev.duplicate(x, Part::All)
    }

    fn assign(&self, x: &Self::Block, to: &mut Self::Block) -> Result<()> {
        if !self.is_empty(x) {
            self.dev.map(Map::Copy, x, to)?;
        }
        Ok(())
    }

    fn dots(&self, x: &Self::Block, y: &Self::Block) -> Result<Vec<f64>> {
        if self.is_empty(x) {
            return Ok(vec![0.0; self.dev.shape(x).1]);
        }
        self.dev.column_dots(x, y)
    }

    fn norms(&self, x: &Self::Block) -> Result<Vec<f64>> {
        if self.is_empty(x) {
            return Ok(vec![0.0; self.dev.shape(x).1]);
        }
        let squares = self.dev.column_dots(x, x)?;
        if squares.iter().all(|s| PLAIN.contains(s)) {
            return Ok(squares.into_iter().map(f64::sqrt).collect());
        }
        let careful = self.dev.column_norms(x)?;
        let both = squares.into_iter().zip(careful);
        Ok(both
            .map(|(s, norm)| if PLAIN.contains(&s) { s.sqrt() } else { norm })
            .collect())
    }

    fn add(&self, x: &Self::Block, by: &[f64], y: &mut Self::Block) -> Result<()> {
        if self.is_empty(x) {
            return Ok(());
        }
        self.dev.scale_columns(x, by, Scaling::Add, y)
    }

    fn add_to(&self, x: &Self::Block, by: &[f64], y: &mut Self::Block) -> Result<()> {
        if self.is_empty(x) {
            return Ok(());
        }
        self.dev.scale_columns(x, by, Scaling::Onto, y)
    }

    fn subtract(&self, x: &Self::Block, y: &mut Self::Block) -> Result<()> {
        if self.is_empty(x) {
            return Ok(());
        }
        let all = vec![-1.0; self.dev.shape(x).1];
        self.dev.scale_columns(x, &all, Scaling::Add, y)
    }

    fn exponents(&self) -> f64 {
        if size_of::<T>() < size_of::<f64>() {
            120.0
        } else {
            1000.0
        }
    }

    fn scaled(&self, x: &Self::Block, by: &[f64]) -> Result<Self::Block> {
        let (rows, cols) = self.dev.shape(x);
        let mut out = self.dev.blank(rows, cols)?;
        if rows * cols > 0 {
            self.dev.scale_columns(x, by, Scaling::Replace, &mut out)?;
        }
        Ok(out)
    }

    fn multiply_rows(&self, d: &Self::Block, x: &Self::Block, out: &mut Self::Block) -> Result<()> {
        if self.is_empty(x) {
            return Ok(());
        }
        let (x, d) = (Operand::Matrix(x), Operand::Recycled(d));
        self.dev.zip(Zip::Multiply, x, d, out)
    }

    fn column(&self, x: &[f64]) -> Result<Self::Block> {
        let x = T::borrow_host(x)?;
        self.bring(MatRef::from_column_major_slice(&x, x.len(), 1))
    }

    fn gather(&self, x: &Self::Block, columns: &[usize]) -> Result<Self::Block> {
        let rows = self.dev.shape(x).0;
        let mut out = self.dev.blank(rows, columns.len())?;
        if rows > 0 && !columns.is_empty() {
            let (columns, zero) = (places(columns)?, T::from_f64(0.0));
            let columns = Index::List(&columns);
            self.dev
                .gather(Index::From(0), columns, zero, x, &mut out)?;
        }
        Ok(out)
    }

    fn scatter(&self, x: &Self::Block, columns: &[usize], to: &mut Self::Block) -> Result<()> {
        if self.is_empty(x) {
            return Ok(());
        }
        let places = places(columns)?;
        let columns = Index::List(&places);
        let (shape, x) = (self.dev.shape(x), Operand::Matrix(x));
        self.dev.scatter(Index::From(0), columns, shape, x, to)
    }
}
