//! Interpolation from a coarser grid, and the operator there.

use super::stencil_transfer::by_cells;
use crate::backend::cpu::multigrid::slices::{in_parts, Slices};
use crate::base::error::Result;
use crate::base::scalar::try_zeroed;
use crate::device::stencil::{Grid, Offset, Reach};

/// Neighbours of a point, and itself.
const MOST: usize = 27;

/// The place of a step in a list of all neighbours.
fn slot(grid: Grid, [x, y, z]: Offset) -> usize {
    let flat = (x + 1) + 3 * (y + 1);
    (if grid.axes() == 3 {
        flat + 9 * (z + 1)
    } else {
        flat
    }) as usize
}

fn add(a: Offset, b: Offset) -> Offset {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn halved(at: Offset) -> Offset {
    at.map(|c| c.div_euclid(2))
}

/// The weight of a coarse point for a fine one: which cell has it, and its name there, 0 for a
/// weight of 1.
fn named(fine: Offset, coarse: Offset) -> (Offset, usize) {
    let (mut cell, mut code, mut power) = (coarse, 0, 1);
    for a in 0..3 {
        match fine[a] - 2 * coarse[a] {
            1 => code += power,
            -1 => {
                code += 2 * power;
                cell[a] -= 1;
            }
            _ => {}
        }
        power *= 3;
    }
    (cell, code)
}

/// Weights as columns of cells.
struct Weights<'a> {
    coarse: Grid,
    columns: Vec<&'a [f64]>,
}

impl<'a> Weights<'a> {
    fn new(grid: Grid, weights: &'a [f64]) -> Result<Self> {
        Ok(Weights {
            coarse: grid.coarse(),
            columns: by_cells(grid, weights)?,
        })
    }

    /// Of a coarse point for a fine one beside it.
    fn of(&self, fine: Offset, coarse: Offset) -> f64 {
        match named(fine, coarse) {
            (_, 0) => 1.0,
            (cell, code) => self
                .coarse
                .place(cell)
                .map_or(0.0, |c| self.columns[code - 1][c]),
        }
    }

    /// Calls `f` with the coarse points that a fine one lies between, and their weights.
    fn each(&self, fine: Offset, mut f: impl FnMut(Offset, f64)) {
        let low = halved(fine);
        let odd = fine.map(|c| c & 1);
        for z in 0..=odd[2] {
            for y in 0..=odd[1] {
                for x in 0..=odd[0] {
                    let coarse = add(low, [x, y, z]);
                    if self.coarse.place(coarse).is_some() {
                        f(coarse, self.of(fine, coarse));
                    }
                }
            }
        }
    }
}

/// A point's couplings by [`slot`] of the neighbour, 0 where there is none, and its excess.
fn row(a: &Slices<'_>, at: Offset, place: usize) -> ([f64; MOST], f64) {
    let mut w = [0.0; MOST];
    for (offset, couplings) in &a.couplings {
        if a.grid.place(add(at, *offset)).is_some() {
            w[slot(a.grid, *offset)] = couplings[place];
        }
        let back = offset.map(|o| -o);
        if let Some(other) = a.grid.place(add(at, back)) {
            w[slot(a.grid, back)] = couplings[other];
        }
    }
    (w, a.excess[place])
}

/// Where the points of a line of a grid are.
fn points(grid: Grid, line: usize) -> impl Iterator<Item = Offset> {
    let (y, z) = (
        (line % grid.dims[1]) as isize,
        (line / grid.dims[1]) as isize,
    );
    (0..grid.dims[0] as isize).map(move |x| [x, y, z])
}

fn at(n: usize) -> f64 {
    n as f64
}

pub(crate) fn interpolation(a: &Slices<'_>, threads: usize) -> Result<Vec<f64>> {
    let (grid, coarse) = (a.grid, a.grid.coarse());
    let (cells, length) = (coarse.points(), coarse.dims[0]);
    let mut all = try_zeroed(cells * grid.weights())?;
    let around = grid.around();
    // Points between coarse ones along one axis, then two, then three: these need the weights of
    // those.
    for between in 1..=grid.axes() {
        let (mut known, mut sought) = (Vec::new(), Vec::new());
        for (k, column) in all.chunks_exact_mut(cells.max(1)).enumerate() {
            let digits = [k + 1, (k + 1) / 3, (k + 1) / 9].map(|c| c % 3);
            let count = digits.iter().filter(|d| **d > 0).count();
            if count == between {
                sought.push((k + 1, digits, column));
                known.push(&[][..]);
            } else {
                known.push(&*column);
            }
        }
        let known = Weights {
            coarse,
            columns: known,
        };
        let codes: Vec<_> = sought
            .iter()
            .map(|(code, digits, _)| (*code, *digits))
            .collect();
        let columns = sought.into_iter().map(|(_, _, column)| column);
        let work = at(cells) * at(codes.len() * around.len() * 4);
        in_parts(columns, length, threads, work, &|mut part| {
            let lines = part.columns.first().map_or(0, |c| c.len() / length);
            for line in 0..lines {
                for (i, cell) in points(coarse, part.first + line).enumerate() {
                    let mut done = [[-1; 3]; 8];
                    let mut count = 0;
                    for (_, digits) in &codes {
                        let odd = digits.map(|d| isize::from(d > 0));
                        if done[..count].contains(&odd) {
                            continue;
                        }
                        (done[count], count) = (odd, count + 1);
                        let mut corners = [0.0; 8];
                        point(a, &known, &around, cell, odd, &mut corners);
                        for ((_, digits), column) in codes.iter().zip(&mut part.columns) {
                            if digits.map(|d| isize::from(d > 0)) == odd {
                                let corner = usize::from(digits[0] == 2)
                                    + 2 * usize::from(digits[1] == 2)
                                    + 4 * usize::from(digits[2] == 2);
                                column[line * length + i] = corners[corner];
                            }
                        }
                    }
                }
            }
        })?;
    }
    Ok(all)
}

/// The weights of the corners of a cell for the point that is `odd` from its lowest one: couplings
/// along axes where the point is not between coarse ones are left out, and those to points that are
/// not coarse go on to the coarse points that these lie between.
fn point(
    a: &Slices<'_>,
    known: &Weights<'_>,
    around: &[Offset],
    cell: Offset,
    odd: Offset,
    corners: &mut [f64; 8],
) {
    let fine = add(cell.map(|c| 2 * c), odd);
    let Some(place) = a.grid.place(fine) else {
        return;
    };
    let (w, excess) = row(a, fine, place);
    let mut sum = excess.max(0.0);
    for step in around {
        let w = w[slot(a.grid, *step)];
        let along: Offset = [0, 1, 2].map(|a| if odd[a] > 0 { step[a] } else { 0 });
        if w == 0.0 || along == [0; 3] {
            continue;
        }
        sum += w;
        let mut give = |coarse: Offset, share: f64| {
            let corner = [0, 1, 2].map(|a| (coarse[a] - cell[a]) as usize);
            corners[corner[0] + 2 * corner[1] + 4 * corner[2]] += w * share;
        };
        known.each(add(fine, along), &mut give);
    }
    let scale = if sum > 0.0 { 1.0 / sum } else { 0.0 };
    corners.iter_mut().for_each(|c| *c *= scale);
}

pub(crate) fn coarsen(a: &Slices<'_>, weights: &[f64], threads: usize) -> Result<Vec<f64>> {
    let p = Weights::new(a.grid, weights)?;
    let (grid, coarse) = (a.grid, p.coarse);
    let (cells, length) = (coarse.points(), coarse.dims[0]);
    let forwards = coarse.forwards(Reach::All);
    let around = grid.around();
    let mut all = try_zeroed(cells * (1 + forwards.len()))?;
    let work = at(cells) * at(around.len() * around.len() * 8);
    in_parts(
        all.chunks_exact_mut(cells.max(1)),
        length,
        threads,
        work,
        &|mut part| {
            let lines = part.columns[0].len() / length;
            for line in 0..lines {
                for (i, here) in points(coarse, part.first + line).enumerate() {
                    let sums = products(a, &p, &around, here);
                    let to = line * length + i;
                    part.columns[0][to] = sums.iter().sum();
                    for (forward, column) in forwards.iter().zip(&mut part.columns[1..]) {
                        // That of a neighbour that there is not is 0.
                        column[to] = -sums[slot(coarse, *forward)];
                    }
                }
            }
        },
    )?;
    Ok(all)
}

/// A row of `P' A P`, by [`slot`] of the coarse grid.
fn products(a: &Slices<'_>, p: &Weights<'_>, around: &[Offset], here: Offset) -> [f64; MOST] {
    let mut sums = [0.0; MOST];
    for beside in around {
        let fine = add(here.map(|c| 2 * c), *beside);
        let Some(place) = a.grid.place(fine) else {
            continue;
        };
        let weight = p.of(fine, here);
        if weight == 0.0 {
            continue;
        }
        let (w, excess) = row(a, fine, place);
        let diagonal = excess + w.iter().sum::<f64>();
        let take =
            |by: f64| move |coarse: Offset, share: f64| (add(coarse, here.map(|c| -c)), by * share);
        let own = take(weight * diagonal);
        p.each(fine, |c, s| {
            let (step, value) = own(c, s);
            sums[slot(p.coarse, step)] += value;
        });
        for step in around {
            let w = w[slot(a.grid, *step)];
            if w != 0.0 {
                let other = take(-weight * w);
                p.each(add(fine, *step), |c, s| {
                    let (step, value) = other(c, s);
                    sums[slot(p.coarse, step)] += value;
                });
            }
        }
    }
    sums
}
