//! A dense matrix of constraints as it was given, on its device.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::marker::PhantomData;

use faer::MatMut;

use super::dense::{DenseNormal, Slacks};
use super::layout::{ConstraintLayout, Constraints, Dependent, Scaled};
use super::rank;
use crate::algo::lp::normal::layout::SMALL;
use crate::algo::lp::vectors::device::OnDevice;
use crate::algo::lp::vectors::space::Vectors;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Part, Trans};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::sparse::csc::Csc;
use crate::device::elementwise::{Elementwise, Index, Operand};
use crate::device::functions::{Fold, Lines, Map, Zip};

/// A matrix as it was given, rows by columns, on its device.
pub struct DenseConstraints<'d, 'a, 'm, T: Scalar, D: Elementwise<T>> {
    dev: &'d D,
    a: &'a D::Mat<'m>,
    /// The same with magnitudes for numbers, from when it is first asked for.
    magnitudes: OnceCell<D::Mat<'static>>,
    scalar: PhantomData<T>,
}

fn places(all: &[usize]) -> Result<Vec<i32>> {
    let place = |i: &usize| i32::try_from(*i);
    let places: std::result::Result<_, _> = all.iter().map(place).collect();
    places.map_err(|_| Error::Dimension {
        what: "a linear program has too many rows or columns".into(),
    })
}

fn is_all(list: &[usize], length: usize) -> bool {
    list.len() == length && list.iter().enumerate().all(|(i, at)| i == *at)
}

impl<'d, 'a, 'm, T: Scalar, D: Elementwise<T>> DenseConstraints<'d, 'a, 'm, T, D> {
    pub fn new(dev: &'d D, a: &'a D::Mat<'m>) -> Self {
        DenseConstraints {
            dev,
            a,
            magnitudes: OnceCell::new(),
            scalar: PhantomData,
        }
    }

    /// These rows and columns.
    fn part(&self, rows: &[usize], columns: &[usize]) -> Result<D::Mat<'static>> {
        if rows.is_empty() || columns.is_empty() {
            return self.dev.zeros(rows.len(), columns.len());
        }
        let (all_rows, all_columns) = self.dev.shape(self.a);
        if is_all(rows, all_rows) && is_all(columns, all_columns) {
            return self.dev.duplicate(self.a, Part::All);
        }
        let (r, c) = (places(rows)?, places(columns)?);
        let mut out = self.dev.blank(rows.len(), columns.len())?;
        let zero = T::from_f64(0.0);
        self.dev
            .gather(Index::List(&r), Index::List(&c), zero, self.a, &mut out)?;
        Ok(out)
    }

    /// The transpose of these.
    fn transposed(&self, rows: &[usize], columns: &[usize]) -> Result<D::Mat<'static>> {
        if rows.is_empty() || columns.is_empty() {
            return self.dev.zeros(columns.len(), rows.len());
        }
        let mut out = self.dev.blank(columns.len(), rows.len())?;
        let (all_rows, all_columns) = self.dev.shape(self.a);
        if is_all(rows, all_rows) && is_all(columns, all_columns) {
            self.dev.transpose(self.a, &mut out)?;
        } else {
            self.dev.transpose(&self.part(rows, columns)?, &mut out)?;
        }
        Ok(out)
    }

    fn product(&self, trans: Trans, x: &[f64]) -> Result<Vec<f64>> {
        product(self.dev, self.a, trans, x)
    }

    /// A product of magnitudes, with those of x.
    fn product_of_magnitudes(&self, trans: Trans, x: &[f64]) -> Result<Vec<f64>> {
        let x: Vec<f64> = x.iter().map(|x| x.abs()).collect();
        let all = match self.magnitudes.get() {
            Some(all) => all,
            None => {
                let (rows, cols) = self.dev.shape(self.a);
                let mut all = self.dev.blank(rows, cols)?;
                if rows * cols > 0 {
                    self.dev.map(Map::Abs, self.a, &mut all)?;
                }
                self.magnitudes.get_or_init(|| all)
            }
        };
        product(self.dev, all, trans, &x)
    }
}

fn product<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    trans: Trans,
    x: &[f64],
) -> Result<Vec<f64>> {
    let ops = OnDevice::new(dev)?;
    let len = trans.shape(dev.shape(a)).0;
    if x.is_empty() || len == 0 {
        return Ok(vec![0.0; len]);
    }
    let x = ops.column(x)?;
    let mut out = dev.blank(len, 1)?;
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    dev.gemm(one, trans, a, Trans::No, &x, zero, &mut out)?;
    ops.fetch(&out)
}

impl<'d, T: Scalar, D: Elementwise<T>> Constraints for DenseConstraints<'d, '_, '_, T, D> {
    type Normal = DenseNormal<'d, T, D>;

    fn shape(&self) -> (usize, usize) {
        self.dev.shape(self.a)
    }

    fn column_magnitudes(&self, rows: &[usize]) -> Result<Vec<f64>> {
        let (all, columns) = self.shape();
        if rows.is_empty() || columns == 0 {
            return Ok(vec![0.0; columns]);
        }
        if is_all(rows, all) {
            return self.dev.fold(Fold::Largest, Lines::Columns, false, self.a);
        }
        let columns: Vec<usize> = (0..columns).collect();
        let part = self.part(rows, &columns)?;
        self.dev.fold(Fold::Largest, Lines::Columns, false, &part)
    }

    fn times(&self, x: &[f64]) -> Result<Vec<f64>> {
        self.product(Trans::No, x)
    }

    fn transposed_times(&self, y: &[f64]) -> Result<Vec<f64>> {
        self.product(Trans::Yes, y)
    }

    fn magnitudes_times(&self, x: &[f64]) -> Result<Vec<f64>> {
        self.product_of_magnitudes(Trans::No, x)
    }

    fn magnitudes_transposed_times(&self, y: &[f64]) -> Result<Vec<f64>> {
        self.product_of_magnitudes(Trans::Yes, y)
    }

    fn eps(&self) -> f64 {
        T::EPS
    }

    fn on_host(&self) -> Result<Option<Cow<'_, Csc>>> {
        let (rows, columns) = self.shape();
        if rows * columns > SMALL {
            return Ok(None);
        }
        let mut values = try_zeroed::<T>(rows * columns)?;
        if !values.is_empty() {
            let home = MatMut::from_column_major_slice_mut(&mut values, rows, columns);
            self.dev.read(self.a, home)?;
        }
        let mut a = Csc::with_rows(rows);
        for j in 0..columns {
            let column = values[j * rows..(j + 1) * rows].iter().enumerate();
            let filled = column.map(|(i, v)| (i, (*v).into()));
            a.push(filled.filter(|(_, v): &(usize, f64)| *v != 0.0).collect());
        }
        Ok(Some(Cow::Owned(a)))
    }

    fn arrange(&self, layout: &mut ConstraintLayout) -> Result<DenseNormal<'d, T, D>> {
        let ops = OnDevice::new(self.dev)?;
        let mut structural = self.transposed(&layout.rows, &layout.bounded)?;
        if layout.signs.iter().any(|s| *s != 1.0) {
            let signs = ops.column(&layout.signs)?;
            let shape = self.dev.shape(&structural);
            let (a, by) = (Operand::Matrix(&structural), Operand::Recycled(&signs));
            structural = ops.zip(Zip::Multiply, a, by, shape)?;
        }
        let free = self.transposed(&layout.rows, &layout.free)?;
        let at = layout.places(self.shape().0);
        let slack_rows: Vec<usize> = layout.slacks.iter().filter_map(|row| at[*row]).collect();
        let slacks = Slacks {
            rows: places(&slack_rows)?,
            values: layout.slack_signs.clone(),
        };
        DenseNormal::new(
            ops,
            structural,
            free,
            slacks,
            layout.capped(),
            layout.rows.len(),
        )
    }

    fn dependent_rows(&self, rows: &Scaled, columns: &Scaled) -> Result<Dependent> {
        let a = self.transposed(&rows.places, &columns.places)?;
        rank::dependent_columns(self.dev, a, &columns.scales, &rows.scales)
    }

    fn dependent_columns(&self, columns: &Scaled, rows: &Scaled) -> Result<Dependent> {
        let a = self.part(&rows.places, &columns.places)?;
        rank::dependent_columns(self.dev, a, &rows.scales, &columns.scales)
    }
}
