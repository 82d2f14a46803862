//! Blocks of a grid's points that threads share, and matrices as plain slices.

use crate::backend::cpu::matrix::views::{require, CpuMat};
use crate::base::chunks::{in_parts_of, Cut};
use crate::base::error::{Error, Result};
use crate::device::stencil::{Grid, Offset, Reach};
use std::ops::Range;

/// Some lines of a grid, from number `first` on, of several vectors.
pub(crate) struct Part<'a> {
    pub first: usize,
    pub columns: Vec<&'a mut [f64]>,
}

/// Calls `f` with parts of vectors of lines of `length` points, one for each thread that `work`
/// multiplications are worth.
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

    /// Calls `f` with pieces of a line and of the same length of the lines of its neighbours: the
    /// points' places in the line, the couplings, and where the neighbours begin.
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

    /// What the rows of a line are divided by, as [`Step`](crate::device::multigrid::Step) says.
    /// `around` has room for the sums of couplings' magnitudes.
    pub(super) fn divisors(&self, line: usize, around: &mut [f64], out: &mut [f64]) {
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
    pub(super) fn multiply(&self, line: usize, x: &[f64], out: &mut [f64]) {
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

    pub(super) fn work(&self, columns: usize) -> f64 {
        (self.grid.points() * self.couplings.len() * columns) as f64
    }
}

pub(crate) fn numbers<'a>(x: &'a CpuMat<'static, f64>) -> Result<&'a [f64]> {
    match x {
        CpuMat::Own { data, .. } => Ok(data),
        _ => Err(not_own()),
    }
}

pub(super) fn numbers_mut<'a>(x: &'a mut CpuMat<'static, f64>) -> Result<&'a mut [f64]> {
    match x {
        CpuMat::Own { data, .. } => Ok(data),
        _ => Err(not_own()),
    }
}

pub(super) fn not_own() -> Error {
    Error::Internal {
        what: "a vector is not the device's own".into(),
    }
}

/// An entry on its way from memory costs about as much as this many multiplications.
pub(super) const READ: f64 = 4.0;
