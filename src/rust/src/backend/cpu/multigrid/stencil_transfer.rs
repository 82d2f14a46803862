//! Multigrid's ways between two grids, line by line.

use crate::backend::cpu::matrix::views::require;
use crate::backend::cpu::multigrid::slices::in_parts;
use crate::base::error::Result;
use crate::device::stencil::Grid;

/// A line of the coarse grid and a line of the grid beside it, and the weights between their
/// points, by columns of cells: of points of the line that are coarse along it (1 where there are
/// none), and of others, for the coarse point below and above.
struct Beside<'a> {
    fine: usize,
    coarse: usize,
    same: Option<&'a [f64]>,
    below: &'a [f64],
    above: &'a [f64],
}

struct Lines<'a> {
    grid: Grid,
    coarse: Grid,
    weights: Vec<&'a [f64]>,
}

/// Weights of interpolation to a grid, by columns of cells.
pub(super) fn by_cells(grid: Grid, weights: &[f64]) -> Result<Vec<&[f64]>> {
    let cells = grid.coarse().points();
    require(
        weights.len() == cells * grid.weights(),
        "interpolation and grid do not fit",
    )?;
    Ok(weights.chunks_exact(cells.max(1)).collect())
}

impl<'a> Lines<'a> {
    fn new(grid: Grid, weights: &'a [f64]) -> Result<Self> {
        Ok(Lines {
            grid,
            coarse: grid.coarse(),
            weights: by_cells(grid, weights)?,
        })
    }

    /// The coarse line `of` and the line that lies so many steps from it along the other axes, if
    /// there are these.
    fn beside(&self, of: [isize; 2], step: [isize; 2]) -> Option<Beside<'a>> {
        let at = |grid: &Grid, [y, z]: [isize; 2]| {
            let line = grid.place([0, y, z])?;
            Some(line / grid.dims[0])
        };
        let (mut cell, mut code) = (of, 0);
        for (k, power) in [3, 9].into_iter().enumerate() {
            code += power * step[k].rem_euclid(3) as usize;
            cell[k] -= isize::from(step[k] < 0);
        }
        let length = self.coarse.dims[0];
        let first = at(&self.coarse, cell)? * length;
        let column = |code: usize| &self.weights[code - 1][first..first + length];
        Some(Beside {
            fine: at(&self.grid, [2 * of[0] + step[0], 2 * of[1] + step[1]])?,
            coarse: at(&self.coarse, of)?,
            same: (code > 0).then(|| column(code)),
            below: column(code + 1),
            above: column(code + 2),
        })
    }

    fn steps(&self) -> impl Iterator<Item = [isize; 2]> {
        let deep = if self.grid.axes() == 3 { -1..=1 } else { 0..=0 };
        deep.flat_map(|z| (-1..=1).map(move |y| [y, z]))
    }
}

fn split(line: usize, height: usize) -> [isize; 2] {
    [(line % height) as isize, (line / height) as isize]
}

/// Calls `f` with the number of each line of vectors on the grid `to`, the vector on the grid
/// `from` that goes there, and the line.
fn each_line(
    (from, x): (Grid, &[f64]),
    (to, out): (Grid, &mut [f64]),
    threads: usize,
    f: impl Fn(usize, &[f64], &mut [f64]) + Sync,
) -> Result<()> {
    let (here, there) = (from.points(), to.points());
    require(
        x.len() * there == out.len() * here,
        "vectors and grids do not fit",
    )?;
    let work = x.len().max(out.len()) as f64 * 4.0;
    let x: Vec<_> = x.chunks_exact(here.max(1)).collect();
    let (columns, length) = (out.chunks_exact_mut(there.max(1)), to.dims[0]);
    in_parts(columns, length, threads, work, &|mut part| {
        for (x, column) in x.iter().zip(&mut part.columns) {
            for (line, out) in (part.first..).zip(column.chunks_exact_mut(length)) {
                f(line, x, out);
            }
        }
    })
}

/// `out <- P' x`.
pub(crate) fn restrict(
    grid: Grid,
    weights: &[f64],
    x: &[f64],
    out: &mut [f64],
    threads: usize,
) -> Result<()> {
    let lines = Lines::new(grid, weights)?;
    let from = grid.dims[0];
    each_line((grid, x), (lines.coarse, out), threads, |line, x, out| {
        out.fill(0.0);
        let of = split(line, lines.coarse.dims[1]);
        for beside in lines.steps().filter_map(|step| lines.beside(of, step)) {
            let x = &x[beside.fine * from..(beside.fine + 1) * from];
            let (even, odd) = (x.iter().step_by(2), x.iter().skip(1).step_by(2));
            match beside.same {
                Some(same) => out
                    .iter_mut()
                    .zip(same)
                    .zip(even)
                    .for_each(|((o, w), x)| *o += w * x),
                None => out.iter_mut().zip(even).for_each(|(o, x)| *o += x),
            }
            for (i, x) in odd.enumerate() {
                out[i] += beside.below[i] * x;
                if let Some(o) = out.get_mut(i + 1) {
                    *o += beside.above[i] * x;
                }
            }
        }
    })
}

/// `out <- out + P x`.
pub(crate) fn prolong(
    grid: Grid,
    weights: &[f64],
    x: &[f64],
    out: &mut [f64],
    threads: usize,
) -> Result<()> {
    let lines = Lines::new(grid, weights)?;
    let from = lines.coarse.dims[0];
    each_line((lines.coarse, x), (grid, out), threads, |line, x, out| {
        let at = split(line, grid.dims[1]);
        // Coarse lines are at it, or on both sides.
        for step in lines.steps() {
            let of = [at[0] - step[0], at[1] - step[1]];
            if of.iter().any(|c| c % 2 != 0) {
                continue;
            }
            let Some(beside) = lines.beside(of.map(|c| c / 2), step) else {
                continue;
            };
            let x = &x[beside.coarse * from..(beside.coarse + 1) * from];
            let even = out.iter_mut().step_by(2).zip(x);
            match beside.same {
                Some(same) => even.zip(same).for_each(|((o, x), w)| *o += w * x),
                None => even.for_each(|(o, x)| *o += x),
            }
            let odd = out.iter_mut().skip(1).step_by(2);
            for (i, o) in odd.enumerate() {
                let next = x.get(i + 1).copied().unwrap_or(0.0);
                *o += beside.below[i] * x[i] + beside.above[i] * next;
            }
        }
    })
}
