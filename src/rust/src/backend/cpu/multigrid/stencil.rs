//! Operators on grids, line by line of points that are adjacent in memory.

use std::ops::Range;

use super::stencil_coarse::{coarsen, interpolation};
use super::stencil_transfer::{prolong, restrict};
use crate::backend::cpu::matrix::views::require;
use crate::backend::cpu::matrix::views::CpuMat;
use crate::backend::cpu::CpuDevice;
use crate::base::chunks::{in_parts_of, Cut};
use crate::base::error::{Error, Result};
use crate::device::stencil::{Grid, Offset, Operator, Reach, Stencil, Step};

/// An entry on its way from memory costs about as much as this many multiplications.
const READ: f64 = 4.0;

/// Some lines of a grid, from number `first` on, of several vectors.
pub(crate) struct Part<'a> {
    pub first: usize,
    pub columns: Vec<&'a mut [f64]>,
}

/// Calls `f` with parts of vectors of lines of `length` points, one for each thread that `work` multiplications are worth.
pub(crate) fn in_parts<'a>(
    columns: impl Iterator<Item = &'a mut [f64]>,
    length: usize,
    threads: usize,
    work: f64,
    f: &(impl Fn(Part<'_>) + Sync),
) -> Result<()> {
    let columns: Vec<_> = columns.collect();
    let points = columns.count();
    if points == 0 {
        return Ok(());
    }
    let part = |(range, columns): (Range<usize>, _)| {
        let first = range.start / length;
        f(Part { first, columns });
        Ok(())
    };
    let (cost, all) = (READ * work / points as f64, (0..points, columns));
    in_parts_of(length, threads, all, cost, part, |(), ()| Ok(()))
}

/// An operator's entries as slices.
#[derive(Clone)]
pub(super) struct Slices<'a> {
    pub grid: Grid,
    /// What rows sum up to.
    pub excess: &'a [f64],
    pub couplings: Vec<(Offset, &'a [f64])>,
}

impl<'a> Slices<'a> {
    pub(crate) fn new(grid: Grid, reach: Reach, entries: &'a [f64]) -> Result<Self> {
        let points = grid.points();
        let forwards = grid.forwards(reach);
        require(
            entries.len() == points * (1 + forwards.len()),
            "an operator has not as many entries as its grid needs",
        )?;
        let (excess, rest) = entries.split_at(points);
        let columns = rest.chunks_exact(points.max(1));
        Ok(Slices {
            grid,
            excess,
            couplings: forwards.into_iter().zip(columns).collect(),
        })
    }

    /// Calls `f` with pieces of a line and of the same length of the lines of its neighbours: the points' places in the line, the couplings, and where the neighbours begin.
    #[inline]
    fn each(&self, line: usize, mut f: impl FnMut(Range<usize>, &[f64], usize)) {
        let [length, height, depth] = self.grid.dims;
        let (y, z) = ((line % height) as isize, (line / height) as isize);
        for (offset, couplings) in &self.couplings {
            for sign in [1, -1] {
                let [x, dy, dz] = offset.map(|o| sign * o);
                let (y, z) = (y + dy, z + dz);
                if !(0..height as isize).contains(&y) || !(0..depth as isize).contains(&z) {
                    continue;
                }
                let here = (-x).max(0) as usize..length.saturating_sub(x.max(0) as usize);
                if here.is_empty() {
                    continue;
                }
                let there = length * (y as usize + height * z as usize)
                    + (here.start as isize + x) as usize;
                let own = if sign > 0 {
                    length * line + here.start
                } else {
                    there
                };
                f(here.clone(), &couplings[own..own + here.len()], there);
            }
        }
    }

    /// What the rows of a line are divided by, as [`Step`] says. `around` has room for the sums of couplings' magnitudes.
    fn divisors(&self, line: usize, around: &mut [f64], out: &mut [f64]) {
        let at = line * out.len();
        out.copy_from_slice(&self.excess[at..at + out.len()]);
        around.fill(0.0);
        self.each(line, |here, w, _| {
            let both = out[here.clone()].iter_mut().zip(&mut around[here]);
            for ((out, around), w) in both.zip(w) {
                *out += w;
                *around += w.abs();
            }
        });
        for (out, around) in out.iter_mut().zip(around) {
            *out = out.max(0.5 * (out.abs() + *around));
        }
    }

    /// `A x` of a line.
    fn multiply(&self, line: usize, x: &[f64], out: &mut [f64]) {
        let at = line * out.len();
        let own = &x[at..at + out.len()];
        let excess = &self.excess[at..at + out.len()];
        out.iter_mut()
            .zip(excess)
            .zip(own)
            .for_each(|((out, e), x)| *out = e * x);
        self.each(line, |here, w, there| {
            let others = &x[there..there + here.len()];
            let own = &own[here.clone()];
            for (((out, w), x), other) in out[here].iter_mut().zip(w).zip(own).zip(others) {
                *out += w * (x - other);
            }
        });
    }

    fn work(&self, columns: usize) -> f64 {
        (self.grid.points() * self.couplings.len() * columns) as f64
    }
}

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

    fn stencil_interpolation(&self, a: &Operator<Mat>) -> Result<Mat> {
        let slices = Slices::new(a.grid, a.reach, numbers(&a.entries)?)?;
        Ok(self.made(a.grid.coarse(), interpolation(&slices, self.threads())?))
    }

    fn stencil_coarsen(&self, a: &Operator<Mat>, weights: &Mat) -> Result<Operator<Mat>> {
        let slices = Slices::new(a.grid, a.reach, numbers(&a.entries)?)?;
        let grid = a.grid.coarse();
        Ok(Operator {
            grid,
            reach: Reach::All,
            entries: self.made(grid, coarsen(&slices, numbers(weights)?, self.threads())?),
        })
    }

    fn stencil_restrict(&self, grid: Grid, weights: &Mat, x: &Mat, out: &mut Mat) -> Result<()> {
        restrict(
            grid,
            numbers(weights)?,
            numbers(x)?,
            numbers_mut(out)?,
            self.threads(),
        )
    }

    fn stencil_prolong(&self, grid: Grid, weights: &Mat, x: &Mat, out: &mut Mat) -> Result<()> {
        prolong(
            grid,
            numbers(weights)?,
            numbers(x)?,
            numbers_mut(out)?,
            self.threads(),
        )
    }
}

fn not_own() -> Error {
    Error::Internal {
        what: "a vector is not the device's own".into(),
    }
}

pub(crate) fn numbers(x: &Mat) -> Result<&[f64]> {
    match x {
        CpuMat::Own { data, .. } => Ok(data),
        _ => Err(not_own()),
    }
}

pub(super) fn numbers_mut(x: &mut Mat) -> Result<&mut [f64]> {
    match x {
        CpuMat::Own { data, .. } => Ok(data),
        _ => Err(not_own()),
    }
}
