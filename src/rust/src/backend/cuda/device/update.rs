//! Changes of a Cholesky factor.

use crate::backend::cuda::cholesky::update::Reflections;
use crate::backend::cuda::cholesky::update_on_host::processor;
use crate::backend::cuda::driver::guards::{in_blocks, require};
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{cholesky, streamed, CudaDevice};
use crate::base::error::Result;
use crate::base::matrix::Change;
use crate::base::scalar::Scalar;
use crate::cost::plan::size;
use crate::device::update::FactorUpdate;
use faer::{MatMut, MatRef};

impl<T: Scalar> FactorUpdate<T> for CudaDevice {
    type Reflections = Reflections;

    fn has_update(&self) -> bool {
        cholesky::update::is_there(self.ctx)
    }

    fn update_pays(&self, n: usize, k: usize) -> bool {
        match cholesky::update::is_there(self.ctx) {
            true => cholesky::update::pays(n, k),
            false => FactorUpdate::<T>::update_pays(&processor(), n, k),
        }
    }

    fn update_factor(
        &self,
        change: Change,
        r: &mut Matrix<'_, T>,
        v: &mut Matrix<'_, T>,
    ) -> Result<()> {
        if !cholesky::update::is_there(self.ctx) {
            return cholesky::update_on_host::change(self.ctx, change, r, v);
        }
        let mut all = cholesky::update::reflections(self.ctx, change, r.shape().0, v.shape().1)?;
        cholesky::update::change(self.ctx, &mut all, 0, r.view(), v.view())
    }

    fn update_guarded(&self, most: f64, r: &mut Matrix<'_, T>, v: &Matrix<'_, T>) -> Result<bool> {
        match cholesky::update::is_there(self.ctx) {
            true => cholesky::update::change_guarded(self.ctx, most, r.view(), v.view()),
            false => cholesky::update_on_host::change_guarded(self.ctx, most, r, v),
        }
    }

    fn reflections(&self, change: Change, n: usize, k: usize) -> Result<Reflections> {
        cholesky::update::reflections(self.ctx, change, n, k)
    }

    fn update_panel(
        &self,
        all: &mut Reflections,
        first: usize,
        panel: &mut Matrix<'_, T>,
        v: &mut Matrix<'_, T>,
    ) -> Result<()> {
        cholesky::update::change(self.ctx, all, first, panel.view(), v.view())
    }

    fn update_streamed(
        &self,
        change: Change,
        from: MatRef<'_, T>,
        v: &mut Matrix<'_, T>,
        out: MatMut<'_, T>,
        look: &mut dyn FnMut(&Matrix<'static, T>) -> Result<()>,
    ) -> Result<Option<()>> {
        let (shape, home) = ((from.nrows(), from.ncols()), (out.nrows(), out.ncols()));
        require(
            shape.0 == shape.1 && shape == home && v.shape().0 == shape.0,
            "update of a factor: shapes do not fit",
        )?;
        if !cholesky::update::is_there(self.ctx) {
            return match change {
                Change::Up => cholesky::update_on_host::update_from(self.ctx, from, v, out),
                Change::Down => Ok(None),
            };
        }
        let Some(blocks) = size::Streamed::Update.blocks(shape, size_of::<T>()) else {
            return Ok(None);
        };
        let v = v.view();
        in_blocks(|| streamed::update::change(self.ctx, change, from, v, out, &blocks, look))
    }

    fn is_short_update(&self, n: usize, k: usize) -> bool {
        match cholesky::update::is_there(self.ctx) {
            true => cholesky::update::is_short(n, k),
            false => FactorUpdate::<T>::is_short_update(&processor(), n, k),
        }
    }

    fn is_factor(&self, a: &Matrix<'_, T>) -> bool {
        a.factor
    }

    fn set_factor(&self, a: &mut Matrix<'_, T>, known: bool) {
        a.factor = known;
    }
}
