//! Changes of a Cholesky factor.

use crate::backend::cpu::matrix::views::{columns, columns_mut, require, CpuMat};
use crate::backend::cpu::update::factor::Reflections;
use crate::backend::cpu::{update, CpuDevice};
use crate::base::error::Result;
use crate::base::matrix::{Change, Part};
use crate::base::packing;
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;
use crate::device::functions::{Fold, Lines};
use crate::device::memory::Memory;
use crate::device::update::FactorUpdate;
use faer::{MatMut, MatRef};

/// An update is short up to this product of the factor's order, squared, and V's columns: it takes
/// some tenths of a second.
const SHORT: f64 = 1e9;

impl<T: Scalar> FactorUpdate<T> for CpuDevice {
    type Reflections = Reflections<T>;

    fn has_update(&self) -> bool {
        true
    }

    fn update_pays(&self, n: usize, k: usize) -> bool {
        k <= n / 2
    }

    fn update_factor(
        &self,
        change: Change,
        r: &mut CpuMat<'_, T>,
        v: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        let (r, v) = (r.columns_mut()?, v.columns_mut()?);
        let fits = r.nrows() == r.ncols() && r.nrows() == v.nrows();
        require(fits, "a factor and its update differ in their rows")?;
        update::factor::update(change, r, v, self.threads)
    }

    fn update_guarded(&self, most: f64, r: &mut CpuMat<'_, T>, v: &CpuMat<'_, T>) -> Result<bool> {
        let largest = self.fold(Fold::Largest, Lines::All, false, v)?;
        if !largest.iter().all(|x| *x <= most) {
            return Ok(false);
        }
        let mut v = self.duplicate(v, Part::All)?;
        self.update_factor(Change::Up, r, &mut v)?;
        Ok(true)
    }

    fn update_streamed(
        &self,
        change: Change,
        from: MatRef<'_, T>,
        v: &mut CpuMat<'_, T>,
        out: MatMut<'_, T>,
        _look: &mut dyn FnMut(&CpuMat<'static, T>) -> Result<()>,
    ) -> Result<Option<()>> {
        packing::ready()?;
        if change == Change::Down || from.try_as_col_major().is_none() {
            return Ok(None);
        }
        let (from, r) = (columns(from)?, columns_mut(out)?);
        let v = v.columns_mut()?;
        let fits = r.nrows() == r.ncols() && r.nrows() == v.nrows() && r.shape() == from.shape();
        require(fits, "a factor and its update differ in their rows")?;
        update::factor::update_from(change, from, r, v, self.threads).map(Some)
    }

    fn is_short_update(&self, n: usize, k: usize) -> bool {
        (n as f64).powi(2) * k as f64 <= SHORT
    }

    fn is_factor(&self, a: &CpuMat<'_, T>) -> bool {
        matches!(a, CpuMat::Own { factor: true, .. })
    }

    fn set_factor(&self, a: &mut CpuMat<'_, T>, known: bool) {
        if let CpuMat::Own { factor, .. } = a {
            *factor = known;
        }
    }

    fn reflections(&self, change: Change, n: usize, k: usize) -> Result<Reflections<T>> {
        Reflections::new(change, n, k)
    }

    fn update_panel(
        &self,
        all: &mut Reflections<T>,
        first: usize,
        panel: &mut CpuMat<'_, T>,
        v: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        let (panel, v) = (panel.columns_mut()?, v.columns_mut()?);
        let fits = panel.nrows() == first + panel.ncols() && panel.ncols() == v.nrows();
        require(
            fits && all.expects(first, panel.nrows(), v.ncols()),
            "a panel of a factor and its update do not fit what came before",
        )?;
        update::factor::change_panel(all, first, panel, v, self.threads)
    }
}
