//! Operators on grids, line by line of points that are adjacent in memory.

use super::stencil_coarse::{coarsen, interpolation};
use super::stencil_transfer::{prolong, restrict};
use crate::backend::cpu::matrix::views::require;
use crate::backend::cpu::matrix::views::CpuMat;
use crate::backend::cpu::multigrid::slices::{in_parts, numbers, numbers_mut, Slices};
use crate::backend::cpu::CpuDevice;
use crate::base::error::Result;
use crate::device::multigrid::Step;
use crate::device::stencil::{Grid, Operator, Reach, Stencil, Weights};

/// The columns of vectors on a grid.
fn columns(x: &[f64], points: usize) -> Vec<&[f64]> {
    x.chunks_exact(points.max(1)).collect()
}

pub(crate) fn residual(
    a: &Slices<'_>,
    b: Option<&[f64]>,
    x: &[f64],
    out: &mut [f64],
    threads: usize,
) -> Result<()> {
    let (points, length) = (a.grid.points(), a.grid.dims[0]);
    require(
        out.len() == x.len()
            && b.is_none_or(|b| b.len() == x.len())
            && x.len() % points.max(1) == 0,
        "vectors and operator do not fit",
    )?;
    let (x, b) = (columns(x, points), b.map(|b| columns(b, points)));
    let work = a.work(x.len());
    in_parts(
        out.chunks_exact_mut(points.max(1)),
        length,
        threads,
        work,
        &|mut part| {
            for (c, out) in part.columns.iter_mut().enumerate() {
                for (line, out) in (part.first..).zip(out.chunks_exact_mut(length)) {
                    a.multiply(line, x[c], out);
                    if let Some(b) = &b {
                        let b = &b[c][line * length..];
                        out.iter_mut().zip(b).for_each(|(out, b)| *out = b - *out);
                    }
                }
            }
        },
    )
}

pub(crate) fn relax(
    a: &Slices<'_>,
    b: &[f64],
    x: Option<&[f64]>,
    step: Step,
    (p, out): (&mut [f64], &mut [f64]),
    threads: usize,
) -> Result<()> {
    let (points, length) = (a.grid.points(), a.grid.dims[0]);
    require(
        [p.len(), out.len(), x.map_or(b.len(), <[f64]>::len)]
            .iter()
            .all(|n| *n == b.len())
            && b.len() % points.max(1) == 0,
        "vectors and operator do not fit",
    )?;
    let (x, b) = (x.map(|x| columns(x, points)), columns(b, points));
    let count = b.len();
    let work = a.work(count);
    // Those of p, then those of the result.
    let all = p
        .chunks_exact_mut(points.max(1))
        .chain(out.chunks_exact_mut(points.max(1)));
    in_parts(all, length, threads, work, &|mut part| {
        let (mut divisors, mut product) = (vec![0.0; length], vec![0.0; length]);
        let (p, out) = part.columns.split_at_mut(count);
        let lines = out.first().map_or(0, |c| c.len() / length);
        for k in 0..lines {
            let (line, at) = (part.first + k, k * length..(k + 1) * length);
            a.divisors(line, &mut product, &mut divisors);
            for c in 0..count {
                let whole = line * length..(line + 1) * length;
                let (b, p, out) = (
                    &b[c][whole.clone()],
                    &mut p[c][at.clone()],
                    &mut out[c][at.clone()],
                );
                match &x {
                    Some(x) => {
                        a.multiply(line, x[c], &mut product);
                        let x = &x[c][whole];
                        for i in 0..length {
                            p[i] = step.momentum * p[i]
                                + step.rate * (b[i] - product[i]) / divisors[i];
                            out[i] = x[i] + p[i];
                        }
                    }
                    None => {
                        for i in 0..length {
                            p[i] = step.rate * b[i] / divisors[i];
                            out[i] = p[i];
                        }
                    }
                }
            }
        }
    })
}

type Mat = CpuMat<'static, f64>;

impl CpuDevice {
    fn made(&self, grid: Grid, data: Vec<f64>) -> Mat {
        let rows = grid.points();
        CpuMat::Own {
            cols: data.len().checked_div(rows).unwrap_or(0),
            data,
            rows,
            factor: false,
        }
    }
}

impl Stencil for CpuDevice {
    fn stencil_residual(
        &self,
        a: &Operator<Mat>,
        b: Option<&Mat>,
        x: &Mat,
        out: &mut Mat,
    ) -> Result<()> {
        let b = b.map(numbers).transpose()?;
        residual(
            &Slices::new(a.grid, a.reach, numbers(&a.entries)?)?,
            b,
            numbers(x)?,
            numbers_mut(out)?,
            self.threads(),
        )
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
        let a = Slices::new(a.grid, a.reach, numbers(&a.entries)?)?;
        let x = x.map(numbers).transpose()?;
        relax(
            &a,
            numbers(b)?,
            x,
            step,
            (numbers_mut(p)?, numbers_mut(out)?),
            self.threads(),
        )
    }

    fn stencil_interpolation(&self, a: &Operator<Mat>) -> Result<Weights<Mat>> {
        let slices = Slices::new(a.grid, a.reach, numbers(&a.entries)?)?;
        Ok(Weights {
            grid: a.grid,
            entries: self.made(a.grid.coarse(), interpolation(&slices, self.threads())?),
        })
    }

    fn stencil_coarsen(&self, a: &Operator<Mat>, weights: &Weights<Mat>) -> Result<Operator<Mat>> {
        let slices = Slices::new(a.grid, a.reach, numbers(&a.entries)?)?;
        let grid = a.grid.coarse();
        Ok(Operator {
            grid,
            reach: Reach::All,
            entries: self.made(
                grid,
                coarsen(&slices, numbers(&weights.entries)?, self.threads())?,
            ),
        })
    }

    fn stencil_restrict(&self, weights: &Weights<Mat>, x: &Mat, out: &mut Mat) -> Result<()> {
        restrict(
            weights.grid,
            numbers(&weights.entries)?,
            numbers(x)?,
            numbers_mut(out)?,
            self.threads(),
        )
    }

    fn stencil_prolong(&self, weights: &Weights<Mat>, x: &Mat, out: &mut Mat) -> Result<()> {
        prolong(
            weights.grid,
            numbers(&weights.entries)?,
            numbers(x)?,
            numbers_mut(out)?,
            self.threads(),
        )
    }
}
