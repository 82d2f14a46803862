//! Sparse symmetric matrices on a GPU: products, relaxation, and the ways between levels
//! (`kernels/multigrid/sparse.cu`).

use super::sparse_aggregates::DeviceAggregates;
use super::sparse_load;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::elementwise::vectors::{at, columns, each, Mat, THREADS};
use crate::backend::cuda::matrix::views::blocks_for;
use crate::backend::cuda::multigrid::csr::{whole, DeviceCsr};
use crate::backend::cuda::CudaDevice;
use crate::base::error::Result;
use crate::base::scalar::try_zeroed;
use crate::base::sparse::csc::Csc;
use crate::base::sparse::view::Place;
use crate::device::multigrid::{Interpolation, LevelOperator, Step};
use crate::device::sparse::{Columns, Sparse};

/// Of one vector, and of several.
const RESIDUAL: [Kernel; 2] = [
    Kernel::untyped(Family::Sparse, "sparse_residual_single"),
    Kernel::untyped(Family::Sparse, "sparse_residual_several"),
];
const RELAX: [Kernel; 2] = [
    Kernel::untyped(Family::Sparse, "sparse_relax_single"),
    Kernel::untyped(Family::Sparse, "sparse_relax_several"),
];
/// Of rows with more entries than [`LONG`](super::csr::LONG).
const RESIDUAL_LONG: Kernel = Kernel::untyped(Family::Sparse, "sparse_residual_long");
const RELAX_LONG: Kernel = Kernel::untyped(Family::Sparse, "sparse_relax_long");
const RELAX_ZERO: Kernel = Kernel::untyped(Family::Sparse, "sparse_relax_zero_plain");
const RESTRICT: Kernel = Kernel::untyped(Family::Sparse, "sparse_restrict_plain");
const PROLONG: Kernel = Kernel::untyped(Family::Sparse, "sparse_prolong_plain");

const LONG_THREADS: u32 = 1024;

impl Sparse for CudaDevice {
    type Csr = DeviceCsr;
    type Aggregates = DeviceAggregates;

    fn sparse_load(&self, a: Columns<'_>) -> Result<DeviceCsr> {
        sparse_load::load(self.ctx, a)
    }

    fn sparse_read(&self, a: &DeviceCsr) -> Result<Csc<i32>> {
        let mut values = try_zeroed(a.entries)?;
        a.values.to_slice(&mut values)?;
        let starts = whole(&a.starts, a.n + 1)?;
        Ok(Csc {
            rows: a.n,
            starts: starts.into_iter().map(Place::at).collect(),
            index: whole(&a.index, a.entries)?,
            values,
        })
    }

    fn sparse_order(&self, a: &DeviceCsr) -> usize {
        a.n
    }

    fn sparse_diagonal(&self, a: &DeviceCsr) -> Result<Vec<f64>> {
        let mut own = try_zeroed(a.n)?;
        a.own.to_slice(&mut own)?;
        Ok(own)
    }

    fn sparse_scaled(&self, a: &DeviceCsr, by: &Mat) -> Result<DeviceCsr> {
        let (by, count) = columns(by, a.n)?;
        require(count == 1, "vectors and matrix do not fit")?;
        sparse_load::scaled(self.ctx, a, by)
    }

    fn sparse_aggregate(&self, a: &DeviceCsr, apart: f64) -> Result<DeviceAggregates> {
        self.aggregate(a, apart)
    }

    fn sparse_count(&self, of: &DeviceAggregates) -> usize {
        of.count
    }

    #[cfg(feature = "testing")]
    fn sparse_members(&self, of: &DeviceAggregates) -> Result<Vec<i32>> {
        whole(&of.aggregate, of.rows)
    }

    fn sparse_compose(
        &self,
        inner: &DeviceAggregates,
        outer: &DeviceAggregates,
    ) -> Result<DeviceAggregates> {
        require(inner.count == outer.rows, "aggregates do not fit")?;
        self.compose(inner, outer)
    }

    fn sparse_coarsen(
        &self,
        a: &DeviceCsr,
        of: &DeviceAggregates,
        scale: f64,
    ) -> Result<DeviceCsr> {
        require(of.rows == a.n, "aggregates and matrix do not fit")?;
        self.coarser(a, of, scale)
    }

    fn sparse_inherit(
        &self,
        a: &DeviceCsr,
        of: &DeviceAggregates,
        coarse: &mut DeviceCsr,
    ) -> Result<()> {
        let fits = of.rows == a.n && of.count == coarse.n;
        require(fits, "aggregates and matrices do not fit")?;
        self.ctx.launch::<f64>(
            RESTRICT,
            blocks_for(of.count),
            1,
            THREADS,
            &args![
                of.rows,
                of.count,
                of.starts.ptr,
                of.members.ptr,
                a.diagonal.ptr,
                coarse.diagonal.ptr,
                1
            ],
        )
    }
}

impl LevelOperator<CudaDevice> for DeviceCsr {
    fn residual(&self, dev: &CudaDevice, b: Option<&Mat>, x: &Mat, out: &mut Mat) -> Result<()> {
        let n = self.n;
        let ((x, count), out) = (columns(x, n)?, columns(out, n)?);
        let b = b.map(|b| columns(b, n)).transpose()?;
        let same = out.1 == count && b.is_none_or(|b| b.1 == count);
        require(same, "vectors and matrix do not fit")?;
        let lanes = self.lanes();
        let [starts, index, values] = [&self.starts, &self.index, &self.values].map(|b| b.ptr);
        each(count, |first, count| {
            let b = b.map_or(0, |b| at(b.0, first, n));
            let (x, out) = (at(x, first, n), at(out.0, first, n));
            dev.ctx.launch::<f64>(
                self.kernel(RESIDUAL, count),
                n.div_ceil(THREADS as usize / lanes),
                1,
                THREADS,
                &args![lanes as i32, n, starts, index, values, b, x, out, count],
            )?;
            if self.long == 0 {
                return Ok(());
            }
            let args = args![self.listed(), n, starts, index, values, b, x, out, count];
            dev.ctx
                .launch::<f64>(RESIDUAL_LONG, self.long, 1, LONG_THREADS, &args)
        })
    }

    fn relax(
        &self,
        dev: &CudaDevice,
        b: &Mat,
        x: Option<&Mat>,
        step: Step,
        p: &mut Mat,
        out: &mut Mat,
    ) -> Result<()> {
        let n = self.n;
        let ((b, count), p, out) = (columns(b, n)?, columns(p, n)?, columns(out, n)?);
        let x = x.map(|x| columns(x, n)).transpose()?;
        let same = p.1 == count && out.1 == count && x.is_none_or(|x| x.1 == count);
        require(same, "vectors and matrix do not fit")?;
        let Step { rate, momentum } = step;
        let lanes = self.lanes();
        let [starts, index, values, diagonal] =
            [&self.starts, &self.index, &self.values, &self.diagonal].map(|b| b.ptr);
        each(count, |first, count| {
            let (b, p, out) = (at(b, first, n), at(p.0, first, n), at(out.0, first, n));
            let Some(x) = x else {
                return dev.ctx.launch::<f64>(
                    RELAX_ZERO,
                    blocks_for(n),
                    1,
                    THREADS,
                    &args![n, diagonal, b, rate, p, out, count],
                );
            };
            let x = at(x.0, first, n);
            let same =
                args![n, starts, index, values, diagonal, b, x, rate, momentum, p, out, count];
            let by_lanes = [&args![lanes as i32][..], &same].concat();
            let blocks = n.div_ceil(THREADS as usize / lanes);
            let kernel = self.kernel(RELAX, count);
            dev.ctx
                .launch::<f64>(kernel, blocks, 1, THREADS, &by_lanes)?;
            if self.long == 0 {
                return Ok(());
            }
            let by_row = [&args![self.listed()][..], &same].concat();
            dev.ctx
                .launch::<f64>(RELAX_LONG, self.long, 1, LONG_THREADS, &by_row)
        })
    }
}

impl Interpolation<CudaDevice> for DeviceAggregates {
    fn restrict(&self, dev: &CudaDevice, x: &Mat, out: &mut Mat) -> Result<()> {
        let ((x, count), out) = (columns(x, self.rows)?, columns(out, self.count)?);
        require(out.1 == count, "vectors and aggregates do not fit")?;
        each(count, |first, count| {
            let (x, out) = (at(x, first, self.rows), at(out.0, first, self.count));
            dev.ctx.launch::<f64>(
                RESTRICT,
                blocks_for(self.count),
                1,
                THREADS,
                &args![
                    self.rows,
                    self.count,
                    self.starts.ptr,
                    self.members.ptr,
                    x,
                    out,
                    count
                ],
            )
        })
    }

    fn prolong(&self, dev: &CudaDevice, x: &Mat, out: &mut Mat) -> Result<()> {
        let ((x, count), out) = (columns(x, self.count)?, columns(out, self.rows)?);
        require(out.1 == count, "vectors and aggregates do not fit")?;
        each(count, |first, count| {
            let (x, out) = (at(x, first, self.count), at(out.0, first, self.rows));
            dev.ctx.launch::<f64>(
                PROLONG,
                blocks_for(self.rows),
                1,
                THREADS,
                &args![self.rows, self.count, self.aggregate.ptr, x, out, count],
            )
        })
    }
}
