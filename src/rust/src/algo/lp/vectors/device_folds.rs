//! What several vectors of a device are reduced to, at once where that can be: the host waits for
//! each reduction.

use faer::MatRef;

use super::device::OnDevice;
use super::space::{Line, Vectors};
use crate::base::error::Result;
use crate::base::matrix::{Block, Part, Trans};
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;
use crate::device::functions::{Fold, Lines, Map, Zip};

impl<T: Scalar, D: Elementwise<T>> OnDevice<'_, T, D> {
    /// Columns side by side, with zeros below those that are shorter.
    fn beside(&self, all: &[D::Mat<'static>]) -> Result<D::Mat<'static>> {
        let rows = all.iter().map(|x| self.len(x)).max().unwrap_or(0);
        let mut out = if all.iter().all(|x| self.len(x) == rows) {
            self.dev.blank(rows, all.len())?
        } else {
            self.dev.zeros(rows, all.len())?
        };
        for (j, x) in all.iter().enumerate() {
            let whole = Block::leading(self.len(x), 1);
            self.dev.copy_block(x, whole, &mut out, (0, j))?;
        }
        Ok(out)
    }

    /// The largest magnitudes of so many rows or columns of a matrix.
    pub(crate) fn largest_by(
        &self,
        a: &D::Mat<'static>,
        lines: Lines,
        count: usize,
    ) -> Result<Vec<f64>> {
        let (rows, cols) = self.dev.shape(a);
        if rows * cols == 0 {
            return Ok(vec![0.0; count]);
        }
        self.dev.fold(Fold::Largest, lines, false, a)
    }

    /// Of each vector the sum, or another reduction that zeros do not change; 0 of nothing.
    pub(super) fn fold_each(&self, f: Fold, all: Vec<D::Mat<'static>>) -> Result<Vec<f64>> {
        let mut out = vec![0.0; all.len()];
        let (places, mut filled): (Vec<usize>, Vec<_>) = all
            .into_iter()
            .enumerate()
            .filter(|(_, x)| self.len(x) > 0)
            .unzip();
        if filled.len() > 1 {
            filled = vec![self.beside(&filled)?];
        }
        let Some(filled) = filled.first() else {
            return Ok(out);
        };
        let found = self.dev.fold(f, Lines::Columns, false, filled)?;
        for (place, x) in places.into_iter().zip(found) {
            out[place] = x;
        }
        Ok(out)
    }

    pub(crate) fn ratios(
        &self,
        lines: &[Line<'_, D::Mat<'static>>],
        weights: &[f64],
    ) -> Result<Vec<Vec<f64>>> {
        let (mut places, mut columns) = (Vec::new(), Vec::new());
        let mut further = false;
        for (place, (x, d, e)) in lines.iter().enumerate() {
            if self.len(x) == 0 {
                continue;
            }
            places.push(place);
            columns.push(self.divide(d, x)?);
            if let Some(e) = e {
                columns.push(self.divide(e, x)?);
                further = true;
            }
        }
        let mut out = vec![vec![0.0; weights.len()]; lines.len()];
        let found = if further {
            self.least_weighted(&columns, weights)?
        } else {
            let least = self.fold_each(Fold::Min, columns)?;
            least.iter().map(|x| vec![*x; weights.len()]).collect()
        };
        for (place, found) in places.into_iter().zip(found) {
            for (least, x) in out[place].iter_mut().zip(found) {
                *least = f64::min(*least, x);
            }
        }
        Ok(out)
    }

    /// Of columns in pairs the least entry, for each weight, of one with that multiple of the
    /// other: by one product with a matrix of a block for each pair, and one reduction.
    fn least_weighted(
        &self,
        columns: &[D::Mat<'static>],
        weights: &[f64],
    ) -> Result<Vec<Vec<f64>>> {
        let (count, pairs) = (weights.len(), columns.len() / 2);
        if pairs == 0 {
            return Ok(Vec::new());
        }
        let all = self.beside(columns)?;
        let mut blocks = vec![0.0; columns.len() * pairs * count];
        for (j, column) in blocks.chunks_exact_mut(columns.len()).enumerate() {
            column[j / count * 2] = 1.0;
            column[j / count * 2 + 1] = weights[j % count];
        }
        let blocks = T::borrow_host(&blocks)?;
        let view = MatRef::from_column_major_slice(&blocks, columns.len(), pairs * count);
        let blocks = self.dev.load_temporary(view, Part::All)?;
        let mut along = self.dev.blank(self.dev.shape(&all).0, pairs * count)?;
        let (one, zero, no) = (T::from_f64(1.0), T::from_f64(0.0), Trans::No);
        self.dev
            .gemm(one, no, &all, no, &blocks, zero, &mut along)?;
        let least = self.dev.fold(Fold::Min, Lines::Columns, false, &along)?;
        Ok(least.chunks_exact(count).map(<[f64]>::to_vec).collect())
    }

    /// What takes numbers into an interval from `least` to `most`, by no more than `most`
    /// downwards: with `|p - least| - |p - most| + |p - 2 most|`, which is twice that but for what
    /// is linear, as there is no minimum of two.
    pub(crate) fn towards(
        &self,
        p: &D::Mat<'static>,
        least: f64,
        most: f64,
    ) -> Result<D::Mat<'static>> {
        let distance = |from: f64| -> Result<D::Mat<'static>> {
            let off = self.with(Zip::Subtract, p, from)?;
            let mut out = self.dev.blank(self.len(p), 1)?;
            if self.len(p) > 0 {
                self.dev.map(Map::Abs, &off, &mut out)?;
            }
            Ok(out)
        };
        let mut out = distance(least)?;
        self.add(-0.5, p, 0.5, &mut out)?;
        self.add(-0.5, &distance(most)?, 1.0, &mut out)?;
        self.add(0.5, &distance(2.0 * most)?, 1.0, &mut out)?;
        self.with(Zip::Add, &out, 0.5 * (least - most))
    }
}
