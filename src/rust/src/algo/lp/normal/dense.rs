//! The normal equations of a dense matrix, on a device where it stays.
//!
//! The structural columns are held as rows, so that weights of columns repeat down the columns of
//! what is multiplied; slacks, which have one entry each, are not held as columns.

use std::time::Instant;

use super::equations::{typical, Dimensions, Magnitudes, NormalEquations, Spent};
use super::free_columns::FreeFactor;
use super::pivots;
use crate::algo::lp::vectors::device::OnDevice;
use crate::algo::lp::vectors::space::{Capped, Vectors};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Elementwise, Index, Operand};
use crate::device::functions::{Lines, Zip};

pub struct DenseNormal<'d, T: Scalar, D: Elementwise<T>> {
    ops: OnDevice<'d, T, D>,
    rows: usize,
    /// Structural bounded columns, and free ones, as rows.
    structural: D::Mat<'static>,
    free: D::Mat<'static>,
    slack_rows: Vec<i32>,
    slacks: D::Mat<'static>,
    slack_values: Vec<f64>,
    capped: Capped,
    /// The structural columns times the roots of their weights, and its product with itself.
    weighted: D::Mat<'static>,
    m: D::Mat<'static>,
    factor: Option<D::Mat<'static>>,
    free_factor: Option<FreeFactor<T, D>>,
    gamma: f64,
    /// Whether a pivot was too small before: then likely again.
    careful: bool,
    spent: Spent,
}

/// Entries of columns that have one each.
pub struct Slacks {
    pub rows: Vec<i32>,
    pub values: Vec<f64>,
}

impl<'d, T: Scalar, D: Elementwise<T>> DenseNormal<'d, T, D> {
    pub(crate) fn new(
        ops: OnDevice<'d, T, D>,
        structural: D::Mat<'static>,
        free: D::Mat<'static>,
        slacks: Slacks,
        capped: Capped,
        rows: usize,
    ) -> Result<Self> {
        let columns = ops.dev.shape(&structural).0;
        Ok(DenseNormal {
            weighted: ops.dev.zeros(columns, rows)?,
            m: ops.dev.zeros(rows, rows)?,
            slacks: ops.column(&slacks.values)?,
            slack_rows: slacks.rows,
            slack_values: slacks.values,
            rows,
            capped,
            structural,
            free,
            factor: None,
            free_factor: None,
            gamma: 0.0,
            careful: false,
            spent: Spent::default(),
            ops,
        })
    }

    /// The device, and what a matrix in another precision is made of: its columns that are no
    /// slacks, and the slacks.
    pub(crate) fn parts(&self) -> (&'d D, [&D::Mat<'static>; 2], Slacks) {
        let slacks = Slacks {
            rows: self.slack_rows.clone(),
            values: self.slack_values.clone(),
        };
        (self.ops.dev, [&self.structural, &self.free], slacks)
    }

    fn columns(&self) -> usize {
        self.ops.dev.shape(&self.structural).0
    }

    /// Rows one after the other need no list on the device.
    fn slack_places(&self) -> Index<'_> {
        let first = self.slack_rows.first().map_or(0, |row| *row as usize);
        let mut all = self.slack_rows.iter().zip(first..);
        if all.all(|(row, next)| *row as usize == next) {
            Index::From(first)
        } else {
            Index::List(&self.slack_rows)
        }
    }

    fn free_columns(&self) -> usize {
        self.ops.dev.shape(&self.free).0
    }

    /// `op(a) x`.
    fn product(
        &self,
        a: &D::Mat<'static>,
        trans: Trans,
        x: &D::Mat<'static>,
    ) -> Result<D::Mat<'static>> {
        let dev = self.ops.dev;
        let (len, inner) = trans.shape(dev.shape(a));
        if len * inner == 0 {
            return self.ops.zeros(len);
        }
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        let mut out = dev.blank(len, 1)?;
        dev.gemm(one, trans, a, Trans::No, x, zero, &mut out)?;
        Ok(out)
    }

    /// That of M.
    fn diagonal(&self) -> Result<Vec<f64>> {
        let diagonal = self.ops.dev.diagonal(&self.m)?;
        Ok(diagonal.into_iter().map(Into::into).collect())
    }
}

impl<'d, T: Scalar, D: Elementwise<T>> NormalEquations for DenseNormal<'d, T, D> {
    type V = D::Mat<'static>;
    type Space = OnDevice<'d, T, D>;

    fn space(&self) -> &OnDevice<'d, T, D> {
        &self.ops
    }

    fn dimensions(&self) -> Dimensions {
        Dimensions {
            rows: self.rows,
            bounded: self.columns() + self.slack_rows.len(),
            free: self.free_columns(),
            capped: self.capped,
        }
    }

    fn magnitudes(&self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<Magnitudes> {
        let (ops, columns) = (&self.ops, self.columns());
        let (of_structural, of_slacks) = bounded.split_at(columns);
        let structural = ops.scaled(&self.structural, of_structural, rows)?;
        let mut of_rows = ops.largest_by(&structural, Lines::Columns, self.rows)?;
        let mut of_bounded = ops.largest_by(&structural, Lines::Rows, columns)?;
        let free = ops.scaled(&self.free, free, rows)?;
        let by_free = ops.largest_by(&free, Lines::Columns, self.rows)?;
        for (row, by_free) in of_rows.iter_mut().zip(by_free) {
            *row = row.max(by_free);
        }
        let of_free = ops.largest_by(&free, Lines::Rows, self.free_columns())?;
        let slacks = self.slack_rows.iter().zip(&self.slack_values);
        for ((row, value), scale) in slacks.zip(of_slacks) {
            let row = *row as usize;
            let magnitude = (value * scale * rows[row]).abs();
            of_rows[row] = of_rows[row].max(magnitude);
            of_bounded.push(magnitude);
        }
        Ok((of_rows, of_bounded, of_free))
    }

    fn rescale(&mut self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<()> {
        let (structural, slacks) = bounded.split_at(self.columns());
        self.structural = self.ops.scaled(&self.structural, structural, rows)?;
        self.free = self.ops.scaled(&self.free, free, rows)?;
        let all = self.slack_rows.iter().zip(slacks);
        for (value, (row, by)) in self.slack_values.iter_mut().zip(all) {
            *value *= by * rows[*row as usize];
        }
        self.slacks = self.ops.column(&self.slack_values)?;
        Ok(())
    }

    fn times_bounded(&self, x: &Self::V) -> Result<Self::V> {
        let (dev, columns, slacks) = (self.ops.dev, self.columns(), self.slack_rows.len());
        if slacks == 0 {
            return self.product(&self.structural, Trans::Yes, x);
        }
        let mut out = dev.zeros(self.rows, 1)?;
        let part = self.ops.part(x, columns, slacks)?;
        let part = self.ops.multiply(&part, &self.slacks)?;
        let (rows, column, part) = (self.slack_places(), Index::From(0), Operand::Matrix(&part));
        dev.scatter(rows, column, (slacks, 1), part, &mut out)?;
        if columns > 0 {
            let part = self.ops.part(x, 0, columns)?;
            let (one, yes, no) = (T::from_f64(1.0), Trans::Yes, Trans::No);
            dev.gemm(one, yes, &self.structural, no, &part, one, &mut out)?;
        }
        Ok(out)
    }

    fn add_times_free(&self, a: f64, free: &Self::V, out: &mut Self::V) -> Result<()> {
        if self.free_columns() == 0 {
            return Ok(());
        }
        let (a, one, yes, no) = (T::from_f64(a), T::from_f64(1.0), Trans::Yes, Trans::No);
        self.ops.dev.gemm(a, yes, &self.free, no, free, one, out)
    }

    fn transposed_times(&self, y: &Self::V) -> Result<(Self::V, Self::V)> {
        let (dev, columns) = (self.ops.dev, self.columns());
        let free = self.product(&self.free, Trans::No, y)?;
        let structural = self.product(&self.structural, Trans::No, y)?;
        let slacks = self.slack_rows.len();
        if slacks == 0 {
            return Ok((structural, free));
        }
        let mut part = dev.blank(slacks, 1)?;
        dev.gather(
            self.slack_places(),
            Index::From(0),
            T::from_f64(0.0),
            y,
            &mut part,
        )?;
        let part = self.ops.multiply(&part, &self.slacks)?;
        let mut all = dev.blank(columns + slacks, 1)?;
        self.ops.put(&structural, (0, columns), &mut all, 0)?;
        self.ops.put(&part, (0, slacks), &mut all, columns)?;
        Ok((all, free))
    }

    fn eps(&self) -> f64 {
        T::EPS
    }

    fn factor(&mut self, weights: &Self::V, least: f64) -> Result<usize> {
        interrupt::poll()?;
        let began = Instant::now();
        let (dev, columns) = (self.ops.dev, self.columns());
        if columns > 0 {
            // As a power, not by the root, for which a device has to say whether there was one.
            let (all, half) = (Operand::Recycled(weights), Operand::Number(0.5));
            let roots = self.ops.zip(Zip::Power, all, half, (columns, 1))?;
            let (a, by) = (Operand::Matrix(&self.structural), Operand::Recycled(&roots));
            dev.zip(Zip::Multiply, a, by, &mut self.weighted)?;
            dev.syrk(Trans::Yes, &self.weighted, &mut self.m)?;
        } else {
            self.m = dev.zeros(self.rows, self.rows)?;
        }
        let mut diagonal = self.diagonal()?;
        if !self.slack_rows.is_empty() {
            let weights = self
                .ops
                .fetch_part(weights, columns, self.slack_rows.len())?;
            let values = self.slack_values.iter().zip(weights);
            for (row, (value, weight)) in self.slack_rows.iter().zip(values) {
                diagonal[*row as usize] += value * value * weight;
            }
            let all: Vec<T> = diagonal.iter().map(|d| T::from_f64(*d)).collect();
            dev.set_diagonal(&all, &mut self.m)?;
        }
        if self.free_columns() > 0 {
            self.gamma = typical(&diagonal);
            let (gamma, one) = (T::from_f64(self.gamma), T::from_f64(1.0));
            let (a, yes, no) = (&self.free, Trans::Yes, Trans::No);
            dev.gemm(gamma, yes, a, no, a, one, &mut self.m)?;
            diagonal = self.diagonal()?;
        }
        let (least, formed) = (least.max(T::EPS), Instant::now());
        let (factor, left_out, careful) =
            pivots::factor(&self.ops, &self.m, &diagonal, least, self.careful)?;
        self.spent.add(began, formed);
        self.careful = careful;
        self.factor = Some(factor);
        Ok(left_out)
    }

    fn spent(&self) -> Spent {
        self.spent
    }

    fn factor_free(&mut self) -> Result<()> {
        let dev = self.ops.dev;
        let (rows, free) = (self.rows, self.free_columns());
        let mut solved = dev.blank(rows, free)?;
        dev.transpose(&self.free, &mut solved)?;
        self.solve(&mut solved)?;
        let mut complement = dev.blank(free, free)?;
        let (one, zero, no) = (T::from_f64(1.0), T::from_f64(0.0), Trans::No);
        dev.gemm(one, no, &self.free, no, &solved, zero, &mut complement)?;
        self.free_factor = Some(FreeFactor::new(&self.ops, complement, solved)?);
        Ok(())
    }

    fn gamma(&self) -> f64 {
        self.gamma
    }

    fn solve(&self, x: &mut Self::V) -> Result<()> {
        let Some(factor) = &self.factor else {
            return Err(not_factored());
        };
        let (left, upper, non) = (Side::Left, Uplo::Upper, Diag::NonUnit);
        for trans in [Trans::Yes, Trans::No] {
            let dev = self.ops.dev;
            dev.trsm(left, upper, trans, non, self.rows, factor, x)?;
        }
        Ok(())
    }

    fn solve_free(&self, t: &mut Self::V, share: f64, f: &Self::V) -> Result<Self::V> {
        let Some(factor) = &self.free_factor else {
            return Err(not_factored());
        };
        let mut x = self.product(&self.free, Trans::No, t)?;
        self.ops.add(-share, f, 1.0, &mut x)?;
        factor.solve(&self.ops, x, t)
    }
}

pub(super) fn not_factored() -> Error {
    Error::Internal {
        what: "normal equations were solved before they were factored".into(),
    }
}
