//! The normal equations of a sparse matrix, on the host: `A W A'` has one pattern throughout, which
//! is ordered and analysed once (faer's sparse Cholesky). Only what belongs to free columns is
//! dense.

use std::borrow::Cow;
use std::time::Instant;

use super::dense::not_factored;
use super::density::stands_alone;
use super::equations::{Dimensions, Magnitudes, NormalEquations, Spent};
use super::free_columns::FreeFactor;
use super::layout::{ConstraintLayout, Constraints, Dependent, Scaled};
use super::rank;
use super::sparse_product::NormalProduct;
use crate::algo::lp::vectors::device::OnDevice;
use crate::algo::lp::vectors::host::Plain;
use crate::algo::lp::vectors::space::{Capped, Vectors};
use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::sparse::csc::Csc;
use crate::device::elementwise::Elementwise;
use faer::MatRef;

/// A sparse matrix as it was given, and the device for what is dense.
pub struct SparseConstraints<'d, D: Elementwise<f64>> {
    dev: &'d D,
    a: &'d Csc,
}

impl<'d, D: Elementwise<f64>> SparseConstraints<'d, D> {
    pub fn new(dev: &'d D, a: &'d Csc) -> Self {
        SparseConstraints { dev, a }
    }

    /// A dense matrix with a column for each of `lines`, of those entries that have a place in the
    /// other direction.
    fn dense(
        &self,
        rows: &[usize],
        columns: &[usize],
        transposed: bool,
    ) -> Result<D::Mat<'static>> {
        let (m, n) = (rows.len(), columns.len());
        let mut place = vec![None; self.a.rows];
        rows.iter()
            .enumerate()
            .for_each(|(k, i)| place[*i] = Some(k));
        let mut all = crate::base::scalar::try_zeroed::<f64>(m * n)?;
        for (k, j) in columns.iter().enumerate() {
            let (index, values) = self.a.column(*j);
            for (i, v) in index.iter().zip(values) {
                if let Some(at) = place[*i] {
                    all[if transposed { at * n + k } else { k * m + at }] = *v;
                }
            }
        }
        let (m, n) = if transposed { (n, m) } else { (m, n) };
        let view = MatRef::from_column_major_slice(&all, m, n);
        self.dev.load_temporary(view, Part::All)
    }
}

impl<'d, D: Elementwise<f64>> Constraints for SparseConstraints<'d, D> {
    type Normal = SparseNormal<'d, D>;

    fn shape(&self) -> (usize, usize) {
        (self.a.rows, self.a.columns())
    }

    fn column_magnitudes(&self, rows: &[usize]) -> Result<Vec<f64>> {
        let mut kept = vec![false; self.a.rows];
        rows.iter().for_each(|i| kept[*i] = true);
        let largest = |j: usize| {
            let (index, values) = self.a.column(j);
            let entries = index.iter().zip(values).filter(|(i, _)| kept[**i]);
            let greater = |s: f64, v: f64| if v > s || v.is_nan() { v } else { s };
            entries.fold(0.0, |s, (_, v)| greater(s, v.abs()))
        };
        Ok((0..self.a.columns()).map(largest).collect())
    }

    fn times(&self, x: &[f64]) -> Result<Vec<f64>> {
        let mut out = vec![0.0; self.a.rows];
        self.a.add_times(x, &mut out);
        Ok(out)
    }

    fn transposed_times(&self, y: &[f64]) -> Result<Vec<f64>> {
        Ok(self.a.transposed_times(y))
    }

    fn magnitudes_times(&self, x: &[f64]) -> Result<Vec<f64>> {
        let mut out = vec![0.0; self.a.rows];
        for (j, x) in x.iter().enumerate() {
            let (index, values) = self.a.column(j);
            let entries = index.iter().zip(values);
            entries.for_each(|(i, v)| out[*i] += (v * x).abs());
        }
        Ok(out)
    }

    fn magnitudes_transposed_times(&self, y: &[f64]) -> Result<Vec<f64>> {
        let inner = |j: usize| {
            let (index, values) = self.a.column(j);
            let terms = index.iter().zip(values).map(|(i, v)| (v * y[*i]).abs());
            terms.sum()
        };
        Ok((0..self.a.columns()).map(inner).collect())
    }

    fn eps(&self) -> f64 {
        f64::EPSILON
    }

    fn on_host(&self) -> Result<Option<Cow<'_, Csc>>> {
        Ok(Some(Cow::Borrowed(self.a)))
    }

    fn arrange(&self, layout: &mut ConstraintLayout) -> Result<SparseNormal<'d, D>> {
        let columns = |layout: &ConstraintLayout| {
            let at = layout.places(self.a.rows);
            let m = layout.rows.len();
            let (mut bounded, mut free) = (Csc::with_rows(m), Csc::with_rows(m));
            let part = |j: usize, sign: f64| {
                let (index, values) = self.a.column(j);
                let entries = index.iter().zip(values).filter(|(_, v)| **v != 0.0);
                entries
                    .filter_map(|(i, v)| at[*i].map(|i| (i, sign * v)))
                    .collect()
            };
            for (j, sign) in layout.bounded.iter().zip(&layout.signs) {
                bounded.push(part(*j, *sign));
            }
            for (row, sign) in layout.slacks.iter().zip(&layout.slack_signs) {
                bounded.push(at[*row].map(|i| (i, *sign)).into_iter().collect());
            }
            for j in &layout.free {
                free.push(part(*j, 1.0));
            }
            (bounded, free)
        };
        let (bounded, free) = columns(layout);
        let separate = stands_alone(&bounded, &free);
        let none = Csc::with_rows(bounded.rows);
        let beside = |free| if separate { &none } else { free };
        let order = NormalProduct::order(&bounded, beside(&free))?;
        layout.rows = order.iter().map(|i| layout.rows[*i]).collect();
        let (bounded, free) = columns(layout);
        Ok(SparseNormal {
            ops: Plain,
            dense: OnDevice::new(self.dev)?,
            product: NormalProduct::new(&bounded, beside(&free))?,
            separate,
            spent: Spent::default(),
            capped: layout.capped(),
            bounded,
            free,
            gamma: 0.0,
            free_factor: None,
        })
    }

    fn dependent_rows(&self, rows: &Scaled, columns: &Scaled) -> Result<Dependent> {
        let a = self.dense(&rows.places, &columns.places, true)?;
        rank::dependent_columns(self.dev, a, &columns.scales, &rows.scales)
    }

    fn dependent_columns(&self, columns: &Scaled, rows: &Scaled) -> Result<Dependent> {
        let a = self.dense(&rows.places, &columns.places, false)?;
        rank::dependent_columns(self.dev, a, &rows.scales, &columns.scales)
    }
}

pub struct SparseNormal<'d, D: Elementwise<f64>> {
    ops: Plain,
    dense: OnDevice<'d, f64, D>,
    bounded: Csc,
    free: Csc,
    product: NormalProduct,
    /// Whether free columns have no part in it.
    separate: bool,
    spent: Spent,
    capped: Capped,
    gamma: f64,
    free_factor: Option<FreeFactor<f64, D>>,
}

fn scale(a: &mut Csc, rows: &[f64], columns: &[f64]) {
    for (j, by) in columns.iter().enumerate() {
        let at = a.starts[j]..a.starts[j + 1];
        for (i, v) in a.index[at.clone()].iter().zip(&mut a.values[at]) {
            *v *= by * rows[*i];
        }
    }
}

impl<D: Elementwise<f64>> NormalEquations for SparseNormal<'_, D> {
    type V = Vec<f64>;
    type Space = Plain;

    fn space(&self) -> &Plain {
        &self.ops
    }

    fn dimensions(&self) -> Dimensions {
        Dimensions {
            rows: self.bounded.rows,
            bounded: self.bounded.columns(),
            free: self.free.columns(),
            capped: self.capped,
        }
    }

    fn magnitudes(&self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<Magnitudes> {
        let mut of_rows = vec![0.0_f64; self.bounded.rows];
        let mut largest = |a: &Csc, scales: &[f64]| {
            let mut columns = vec![0.0_f64; a.columns()];
            for (j, column) in columns.iter_mut().enumerate() {
                let (index, values) = a.column(j);
                for (i, v) in index.iter().zip(values) {
                    let magnitude = (v * rows[*i] * scales[j]).abs();
                    of_rows[*i] = of_rows[*i].max(magnitude);
                    *column = column.max(magnitude);
                }
            }
            columns
        };
        let (bounded, free) = (largest(&self.bounded, bounded), largest(&self.free, free));
        Ok((of_rows, bounded, free))
    }

    fn rescale(&mut self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<()> {
        scale(&mut self.bounded, rows, bounded);
        scale(&mut self.free, rows, free);
        Ok(())
    }

    fn times_bounded(&self, x: &Vec<f64>) -> Result<Vec<f64>> {
        let mut out = vec![0.0; self.bounded.rows];
        self.bounded.add_times(x, &mut out);
        Ok(out)
    }

    fn add_times_free(&self, a: f64, free: &Vec<f64>, out: &mut Vec<f64>) -> Result<()> {
        let free: Vec<f64> = free.iter().map(|x| a * x).collect();
        self.free.add_times(&free, out);
        Ok(())
    }

    fn transposed_times(&self, y: &Vec<f64>) -> Result<(Vec<f64>, Vec<f64>)> {
        let bounded = self.bounded.transposed_times(y);
        Ok((bounded, self.free.transposed_times(y)))
    }

    fn eps(&self) -> f64 {
        f64::EPSILON
    }

    fn factor(&mut self, weights: &Vec<f64>, least: f64) -> Result<usize> {
        crate::base::interrupt::poll()?;
        let began = Instant::now();
        let none = Csc::with_rows(0);
        let free = if self.separate { &none } else { &self.free };
        self.gamma = self.product.form(&self.bounded, weights, free);
        let formed = Instant::now();
        let left_out = self.product.factor(least);
        self.spent.add(began, formed);
        left_out
    }

    fn spent(&self) -> Spent {
        self.spent
    }

    fn factor_free(&mut self) -> Result<()> {
        let (rows, free) = (self.bounded.rows, self.free.columns());
        let mut solved = crate::base::scalar::try_zeroed::<f64>(rows * free)?;
        let mut complement = crate::base::scalar::try_zeroed::<f64>(free * free)?;
        for j in 0..free {
            let (index, values) = self.free.column(j);
            let column = &mut solved[j * rows..(j + 1) * rows];
            index.iter().zip(values).for_each(|(i, v)| column[*i] = *v);
            self.product.solve(column)?;
            let inner = self.free.transposed_times(column);
            complement[j * free..(j + 1) * free].copy_from_slice(&inner);
        }
        let dev = self.dense.dev;
        let solved = MatRef::from_column_major_slice(&solved, rows, free);
        let complement = MatRef::from_column_major_slice(&complement, free, free);
        let solved = dev.load_temporary(solved, Part::All)?;
        let complement = dev.load_temporary(complement, Part::All)?;
        self.free_factor = Some(FreeFactor::new(&self.dense, complement, solved)?);
        Ok(())
    }

    fn gamma(&self) -> f64 {
        self.gamma
    }

    fn solve(&self, x: &mut Vec<f64>) -> Result<()> {
        self.product.solve(x)
    }

    fn solve_free(&self, t: &mut Vec<f64>, share: f64, f: &Vec<f64>) -> Result<Vec<f64>> {
        let Some(factor) = &self.free_factor else {
            return Err(not_factored());
        };
        let mut x = self.free.transposed_times(t);
        x.iter_mut().zip(f).for_each(|(x, f)| *x -= share * f);
        let mut dense = self.dense.column(t)?;
        let x = factor.solve(&self.dense, self.dense.column(&x)?, &mut dense)?;
        *t = self.dense.fetch(&dense)?;
        self.dense.fetch(&x)
    }
}
