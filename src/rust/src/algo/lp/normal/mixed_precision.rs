//! Normal equations in double precision whose factors are in single precision, as long as solutions
//! can be refined from those.
//!
//! Forming and factoring is most of the work, and single precision makes it twice as fast, or
//! faster by far on cards with few units for double precision. Early weights differ by few orders
//! of magnitude; once they differ by more, a solution with such a factor no longer gets better by
//! its residuals, and factors are in double precision from then on. Only vectors change their
//! precision on the way, on the host; the answer is that of double precision.

use crate::device::memory::Memory;
use std::borrow::Cow;

use faer::{MatMut, MatRef};

use super::dense::DenseNormal;
use super::dense_constraints::DenseConstraints;
use super::equations::{or_one, Dimensions, Magnitudes, NormalEquations, Spent};
use super::layout::{ConstraintLayout, Constraints, Dependent, Scaled};
use crate::algo::lp::vectors::device::OnDevice;
use crate::algo::lp::vectors::space::Vectors;
use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::sparse::csc::Csc;
use crate::device::elementwise::Elementwise;

/// A dense matrix as it was given, whose normal equations are [`Mixed`].
pub struct MixedConstraints<'d, 'a, 'm, D: Elementwise<f64>>(DenseConstraints<'d, 'a, 'm, f64, D>);

impl<'d, 'a, 'm, D: Elementwise<f64>> MixedConstraints<'d, 'a, 'm, D> {
    pub fn new(a: DenseConstraints<'d, 'a, 'm, f64, D>) -> Self {
        MixedConstraints(a)
    }
}

impl<'d, D: Elementwise<f64> + Elementwise<f32>> Constraints for MixedConstraints<'d, '_, '_, D> {
    type Normal = Mixed<'d, D>;

    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    fn column_magnitudes(&self, rows: &[usize]) -> Result<Vec<f64>> {
        self.0.column_magnitudes(rows)
    }

    fn times(&self, x: &[f64]) -> Result<Vec<f64>> {
        self.0.times(x)
    }

    fn transposed_times(&self, y: &[f64]) -> Result<Vec<f64>> {
        self.0.transposed_times(y)
    }

    fn magnitudes_times(&self, x: &[f64]) -> Result<Vec<f64>> {
        self.0.magnitudes_times(x)
    }

    fn magnitudes_transposed_times(&self, y: &[f64]) -> Result<Vec<f64>> {
        self.0.magnitudes_transposed_times(y)
    }

    fn eps(&self) -> f64 {
        self.0.eps()
    }

    fn on_host(&self) -> Result<Option<Cow<'_, Csc>>> {
        self.0.on_host()
    }

    fn arrange(&self, layout: &mut ConstraintLayout) -> Result<Mixed<'d, D>> {
        Ok(Mixed {
            double: self.0.arrange(layout)?,
            single: None,
            spent: Spent::default(),
            scale: 1.0,
        })
    }

    fn dependent_rows(&self, rows: &Scaled, columns: &Scaled) -> Result<Dependent> {
        self.0.dependent_rows(rows, columns)
    }

    fn dependent_columns(&self, columns: &Scaled, rows: &Scaled) -> Result<Dependent> {
        self.0.dependent_columns(columns, rows)
    }
}

pub struct Mixed<'d, D: Elementwise<f64> + Elementwise<f32>> {
    double: DenseNormal<'d, f64, D>,
    /// While factors are in single precision.
    single: Option<DenseNormal<'d, f32, D>>,
    /// In single precision, before double.
    spent: Spent,
    /// By what its weights are smaller than those that were given.
    scale: f64,
}

/// The power of 2 that brings the largest magnitude to about 1 is 1 over this.
fn size(x: &[f64]) -> f64 {
    let largest = x.iter().fold(0.0, |s: f64, x| s.max(x.abs()));
    or_one(or_one(largest).log2().round().exp2())
}

/// A matrix of the device in single precision, by way of the host.
fn narrowed<D: Memory<f64> + Memory<f32>>(
    dev: &D,
    a: &<D as Memory<f64>>::Mat<'static>,
) -> Result<<D as Memory<f32>>::Mat<'static>> {
    let (rows, cols) = Memory::<f64>::shape(dev, a);
    let mut wide = try_zeroed::<f64>(rows * cols)?;
    let view = MatMut::from_column_major_slice_mut(&mut wide, rows, cols);
    Memory::<f64>::read(dev, a, view)?;
    let narrow = f32::borrow_host(&wide)?;
    let view = MatRef::from_column_major_slice(&narrow, rows, cols);
    Memory::<f32>::load_temporary(dev, view, Part::All)
}

/// The same matrix in single precision.
fn in_single<'d, D>(a: &DenseNormal<'d, f64, D>) -> Result<DenseNormal<'d, f32, D>>
where
    D: Elementwise<f64> + Elementwise<f32>,
{
    let (dev, [structural, free], slacks) = a.parts();
    let (structural, free) = (narrowed(dev, structural)?, narrowed(dev, free)?);
    let of = a.dimensions();
    DenseNormal::new(
        OnDevice::new(dev)?,
        structural,
        free,
        slacks,
        of.capped,
        of.rows,
    )
}

impl<'d, D: Elementwise<f64> + Elementwise<f32>> NormalEquations for Mixed<'d, D> {
    type V = <D as Memory<f64>>::Mat<'static>;
    type Space = OnDevice<'d, f64, D>;

    fn space(&self) -> &OnDevice<'d, f64, D> {
        self.double.space()
    }

    fn dimensions(&self) -> Dimensions {
        self.double.dimensions()
    }

    fn eps(&self) -> f64 {
        self.double.eps()
    }

    fn magnitudes(&self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<Magnitudes> {
        self.double.magnitudes(rows, bounded, free)
    }

    fn rescale(&mut self, rows: &[f64], bounded: &[f64], free: &[f64]) -> Result<()> {
        self.single = None;
        self.double.rescale(rows, bounded, free)
    }

    fn times_bounded(&self, x: &Self::V) -> Result<Self::V> {
        self.double.times_bounded(x)
    }

    fn add_times_free(&self, a: f64, free: &Self::V, out: &mut Self::V) -> Result<()> {
        self.double.add_times_free(a, free, out)
    }

    fn transposed_times(&self, y: &Self::V) -> Result<(Self::V, Self::V)> {
        self.double.transposed_times(y)
    }

    /// With pivots to be left out it is in double precision, too: they would be others.
    fn factor(&mut self, weights: &Self::V, least: f64) -> Result<usize> {
        if let Some(single) = &mut self.single {
            let mut weights = self.double.space().fetch(weights)?;
            self.scale = size(&weights);
            weights.iter_mut().for_each(|w| *w /= self.scale);
            let weights = single.space().bring(&weights)?;
            match single.factor(&weights, least) {
                Ok(0) => return Ok(0),
                Ok(_) | Err(Error::NotPositiveDefinite { .. } | Error::NonFinite) => {}
                Err(e) => return Err(e),
            }
            self.coarsen(false)?;
        }
        self.double.factor(weights, least)
    }

    fn spent(&self) -> Spent {
        let single = self.single.as_ref().map(|single| single.spent());
        self.spent + self.double.spent() + single.unwrap_or_default()
    }

    fn factor_free(&mut self) -> Result<()> {
        self.double.factor_free()
    }

    fn gamma(&self) -> f64 {
        self.double.gamma()
    }

    fn solve(&self, x: &mut Self::V) -> Result<()> {
        let Some(single) = &self.single else {
            return self.double.solve(x);
        };
        let mut right = self.double.space().fetch(x)?;
        let size = size(&right);
        right.iter_mut().for_each(|b| *b /= size);
        let mut y = single.space().bring(&right)?;
        single.solve(&mut y)?;
        let mut y = single.space().fetch(&y)?;
        y.iter_mut().for_each(|y| *y = *y / self.scale * size);
        *x = self.double.space().bring(&y)?;
        Ok(())
    }

    fn solve_free(&self, t: &mut Self::V, share: f64, f: &Self::V) -> Result<Self::V> {
        self.double.solve_free(t, share, f)
    }

    /// Not where there are free columns, whose Schur complement loses what single precision has.
    fn coarsen(&mut self, coarse: bool) -> Result<bool> {
        if coarse == self.single.is_some() || self.dimensions().free > 0 {
            return Ok(false);
        }
        if let Some(single) = &self.single {
            self.spent = self.spent + single.spent();
        }
        self.single = if coarse {
            Some(in_single(&self.double)?)
        } else {
            None
        };
        Ok(true)
    }
}
