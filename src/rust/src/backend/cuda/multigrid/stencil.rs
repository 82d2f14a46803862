//! Operators on grids, and multigrid's ways between two of them (`kernels/multigrid/stencil.cu`,
//! `stencil_coarse.cu`).

use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::elementwise::vectors::{at, columns, each, Mat, THREADS};
use crate::backend::cuda::matrix::views::blocks_for;
use crate::backend::cuda::CudaDevice;
use crate::base::error::Result;
use crate::device::multigrid::Step;
use crate::device::stencil::{Grid, Operator, Reach, Stencil, Weights};

const RESIDUAL: Kernel = Kernel::untyped(Family::Stencil, "stencil_residual_plain");
const RELAX: Kernel = Kernel::untyped(Family::Stencil, "stencil_relax_plain");
const RESTRICT: Kernel = Kernel::untyped(Family::Stencil, "stencil_restrict_plain");
const PROLONG: Kernel = Kernel::untyped(Family::Stencil, "stencil_prolong_plain");
const INTERPOLATE: Kernel = Kernel::untyped(Family::StencilCoarse, "stencil_interpolate_plain");
const COARSEN: Kernel = Kernel::untyped(Family::StencilCoarse, "stencil_coarsen_plain");

/// Dimensions as kernels take them, which number points in 32 bits.
fn dimensions(grid: Grid) -> Result<[i32; 3]> {
    require(
        grid.points() < u32::MAX as usize && grid.dims.iter().all(|n| *n < i32::MAX as usize),
        "a grid has too many points",
    )?;
    Ok(grid.dims.map(|n| n as i32))
}

/// The address of an operator's entries.
fn entries(a: &Operator<Mat>) -> Result<u64> {
    let (ptr, cols) = columns(&a.entries, a.grid.points())?;
    let fits = cols == a.grid.entries(a.reach);
    require(
        fits,
        "an operator has not as many entries as its grid needs",
    )?;
    Ok(ptr)
}

/// The address of the weights of interpolation to a grid.
fn weights_of(weights: &Weights<Mat>) -> Result<u64> {
    let Weights { grid, entries } = weights;
    let (ptr, cols) = columns(entries, grid.coarse().points())?;
    require(cols == grid.weights(), "interpolation and grid do not fit")?;
    Ok(ptr)
}

fn all(reach: Reach) -> i32 {
    i32::from(reach == Reach::All)
}

impl Stencil for CudaDevice {
    fn stencil_residual(
        &self,
        a: &Operator<Mat>,
        b: Option<&Mat>,
        x: &Mat,
        out: &mut Mat,
    ) -> Result<()> {
        let n = a.grid.points();
        let ([n0, n1, n2], entries) = (dimensions(a.grid)?, entries(a)?);
        let ((x, count), out) = (columns(x, n)?, columns(out, n)?);
        let b = b.map(|b| columns(b, n)).transpose()?;
        let same = out.1 == count && b.is_none_or(|b| b.1 == count);
        require(same, "vectors and operator do not fit")?;
        each(count, |first, count| {
            let b = b.map_or(0, |b| at(b.0, first, n));
            let (x, out) = (at(x, first, n), at(out.0, first, n));
            self.ctx.launch::<f64>(
                RESIDUAL,
                blocks_for(n),
                1,
                THREADS,
                &args![n0, n1, n2, all(a.reach), entries, b, x, out, count],
            )
        })
    }

    fn stencil_relax(
        &self,
        a: &Operator<Mat>,
        b: &Mat,
        x: Option<&Mat>,
        step: Step,
        p: &mut Mat,
        out: &mut Mat,
    ) -> Result<()> {
        let n = a.grid.points();
        let ([n0, n1, n2], entries) = (dimensions(a.grid)?, entries(a)?);
        let ((b, count), p, out) = (columns(b, n)?, columns(p, n)?, columns(out, n)?);
        let x = x.map(|x| columns(x, n)).transpose()?;
        let same = p.1 == count && out.1 == count && x.is_none_or(|x| x.1 == count);
        require(same, "vectors and operator do not fit")?;
        let Step { rate, momentum } = step;
        each(count, |first, count| {
            let x = x.map_or(0, |x| at(x.0, first, n));
            let (b, p, out) = (at(b, first, n), at(p.0, first, n), at(out.0, first, n));
            self.ctx.launch::<f64>(
                RELAX,
                blocks_for(n),
                1,
                THREADS,
                &args![
                    n0,
                    n1,
                    n2,
                    all(a.reach),
                    entries,
                    b,
                    x,
                    rate,
                    momentum,
                    p,
                    out,
                    count
                ],
            )
        })
    }

    fn stencil_interpolation(&self, a: &Operator<Mat>) -> Result<Weights<Mat>> {
        let ([n0, n1, n2], entries) = (dimensions(a.grid)?, entries(a)?);
        let (cells, axes) = (a.grid.coarse().points(), a.grid.axes());
        let weights = Mat::new(self.ctx, cells, a.grid.weights())?;
        let to = weights.view().ptr;
        // Points between coarse ones along one axis, then two, then three: these need the weights
        // of those.
        for between in 1..=axes {
            let choices = (1..1 << axes).filter(|set: &i32| set.count_ones() as usize == between);
            self.ctx.launch::<f64>(
                INTERPOLATE,
                blocks_for(cells),
                choices.count(),
                THREADS,
                &args![n0, n1, n2, all(a.reach), entries, between as i32, to],
            )?;
        }
        Ok(Weights {
            grid: a.grid,
            entries: weights,
        })
    }

    fn stencil_coarsen(&self, a: &Operator<Mat>, weights: &Weights<Mat>) -> Result<Operator<Mat>> {
        let ([n0, n1, n2], entries) = (dimensions(a.grid)?, entries(a)?);
        require(weights.grid == a.grid, "interpolation and grid do not fit")?;
        let weights = weights_of(weights)?;
        let (grid, reach) = (a.grid.coarse(), Reach::All);
        let made = Mat::new(self.ctx, grid.points(), grid.entries(reach))?;
        let to = made.view().ptr;
        self.ctx.launch::<f64>(
            COARSEN,
            blocks_for(grid.points()),
            1,
            THREADS,
            &args![n0, n1, n2, all(a.reach), entries, weights, to],
        )?;
        Ok(Operator {
            grid,
            reach,
            entries: made,
        })
    }

    fn stencil_restrict(&self, weights: &Weights<Mat>, x: &Mat, out: &mut Mat) -> Result<()> {
        let grid = weights.grid;
        let ([n0, n1, n2], weights) = (dimensions(grid)?, weights_of(weights)?);
        let (fine, cells) = (grid.points(), grid.coarse().points());
        let ((x, count), out) = (columns(x, fine)?, columns(out, cells)?);
        require(out.1 == count, "vectors and grids do not fit")?;
        each(count, |first, count| {
            let (x, out) = (at(x, first, fine), at(out.0, first, cells));
            self.ctx.launch::<f64>(
                RESTRICT,
                blocks_for(cells),
                1,
                THREADS,
                &args![n0, n1, n2, weights, x, out, count],
            )
        })
    }

    fn stencil_prolong(&self, weights: &Weights<Mat>, x: &Mat, out: &mut Mat) -> Result<()> {
        let grid = weights.grid;
        let ([n0, n1, n2], weights) = (dimensions(grid)?, weights_of(weights)?);
        let (fine, cells) = (grid.points(), grid.coarse().points());
        let ((x, count), out) = (columns(x, cells)?, columns(out, fine)?);
        require(out.1 == count, "vectors and grids do not fit")?;
        each(count, |first, count| {
            let (x, out) = (at(x, first, cells), at(out.0, first, fine));
            self.ctx.launch::<f64>(
                PROLONG,
                blocks_for(fine),
                1,
                THREADS,
                &args![n0, n1, n2, weights, x, out, count],
            )
        })
    }
}
