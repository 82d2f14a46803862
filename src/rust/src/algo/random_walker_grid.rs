//! The system of a random walker on the whole grid of its image, which the iterative method solves.

use std::ops::Range;

use faer::MatRef;

use super::random_walker_graph::Graph;
use super::random_walker_image::{Along, WEIGHT};
use super::random_walker_seeds::UNKNOWN;
use super::random_walker_system::Link;
use crate::elementwise::{Index, Operand};
use crate::error::{Error, Result};
use crate::matrix::{Block, Part};
use crate::parts::{chained, in_parts, UNIT};
use crate::scalar::try_zeroed;
use crate::stencil::{Grid, Operator, Reach, Stencil};

/// A pixel costs as much as this many multiplications where its neighbours are looked at.
const NEIGHBOURS: f64 = 16.0;

/// What joins unknown pixels to seeds beside them, in the order of the pixels; an unknown is named by its pixel.
pub(super) fn links(graph: &Graph<'_>) -> Result<Vec<Link>> {
    let ([length, height, depth], classes) = (graph.dims(), graph.classes());
    let along = graph.along();
    let part = |range: Range<usize>| {
        let mut links = Vec::new();
        let mut pixel = range.start;
        while pixel < range.end {
            // As far as the line goes.
            let (x, line) = (pixel % length, pixel / length);
            let (y, z) = (line % height, line / height);
            let end = range.end.min(pixel - x + length);
            // The first and the last place of an axis have one neighbour. Of the first axis that is seen in the line.
            let beside = |at: usize, extent: usize| (at > 0, at + 1 < extent);
            let others = [(1, beside(y, height)), (2, beside(z, depth))];
            for p in pixel..end {
                if classes[p] != UNKNOWN {
                    continue;
                }
                let mut look = |q: usize, along: &Along<'_>, first: usize| {
                    let label = classes[q];
                    if label < UNKNOWN {
                        links.push(Link {
                            unknown: p as u32,
                            label,
                            weight: along.of(first),
                        });
                    }
                };
                let first = (0, beside(p - pixel + x, length));
                for (axis, (before, after)) in [first].into_iter().chain(others) {
                    let Some(along) = &along[axis] else { continue };
                    if before {
                        look(p - along.stride, along, p - along.stride);
                    }
                    if after {
                        look(p + along.stride, along, p);
                    }
                }
            }
            pixel = end;
        }
        links
    };
    in_parts(0..graph.pixels(), NEIGHBOURS, part, chained)
}

/// The system's matrix as an operator: seeds and pixels that are left out are points without couplings, with 1 on the diagonal. It goes to the device column by column.
pub(super) fn operator<D: Stencil>(
    dev: &D,
    graph: &Graph<'_>,
    links: &[Link],
) -> Result<Operator<D::Mat<'static>>> {
    let grid = Grid { dims: graph.dims() };
    let (n, reach) = (graph.pixels(), Reach::Axes);
    let columns = grid.entries(reach);
    let mut entries = dev.blank(n, columns)?;
    let (mut column, along) = (try_zeroed(n)?, graph.along());
    for k in 0..columns {
        match k.checked_sub(1).and_then(|axis| along.get(axis)) {
            None => excess(graph, links, &mut column)?,
            Some(Some(along)) => couplings(graph, along, &mut column)?,
            // Nobody has a neighbour.
            Some(None) => column.fill(0.0),
        }
        let whole = Block {
            row: 0,
            col: 0,
            rows: n,
            cols: 1,
        };
        let there = dev.load(MatRef::from_column_major_slice(&column, n, 1))?;
        dev.copy_block(&there, whole, &mut entries, (0, k))?;
    }
    Ok(Operator {
        grid,
        reach,
        entries,
    })
}

/// What rows sum up to.
fn excess(graph: &Graph<'_>, links: &[Link], out: &mut [f64]) -> Result<()> {
    let classes = graph.classes();
    let fill = |(range, out): (Range<usize>, &mut [f64])| {
        for (out, class) in out.iter_mut().zip(&classes[range]) {
            *out = if *class == UNKNOWN { 0.0 } else { 1.0 };
        }
    };
    in_parts((0..out.len(), &mut *out), NEIGHBOURS, fill, |(), ()| ())?;
    for link in links {
        out[link.unknown as usize] += link.weight;
    }
    Ok(())
}

/// The couplings of pixels and the next ones along an axis. Past its end stand some that nobody reads.
fn couplings(graph: &Graph<'_>, along: &Along<'_>, out: &mut [f64]) -> Result<()> {
    let classes = graph.classes();
    let fill = |(range, out): (Range<usize>, &mut [f64])| {
        for (first, out) in range.step_by(UNIT).zip(out.chunks_mut(UNIT)) {
            along.fill(first, out);
            let next = classes[first..].iter().skip(along.stride);
            for ((out, class), next) in out.iter_mut().zip(&classes[first..]).zip(next) {
                if *class != UNKNOWN || *next != UNKNOWN {
                    *out = 0.0;
                }
            }
        }
    };
    in_parts((0..out.len(), &mut *out), WEIGHT, fill, |(), ()| ())
}

/// The right-hand sides of labels, named by ascending numbers. They are zero but beside seeds, so that few numbers go to the device.
pub(super) fn right_hand_sides<D: Stencil>(
    dev: &D,
    pixels: usize,
    links: &[Link],
    labels: &[u32],
) -> Result<D::Mat<'static>> {
    let (mut rows, mut sides) = (Vec::new(), vec![Vec::new(); labels.len()]);
    for link in links {
        let Ok(k) = labels.binary_search(&link.label) else {
            continue;
        };
        let row = i32::try_from(link.unknown).map_err(|_| Error::Dimension {
            what: "an image has too many pixels for method \"cg\"".into(),
        })?;
        if rows.last() != Some(&row) {
            rows.push(row);
            sides.iter_mut().for_each(|s| s.push(0.0));
        }
        if let Some(last) = sides[k].last_mut() {
            *last += link.weight;
        }
    }
    let mut out = dev.zeros(pixels, labels.len())?;
    if !rows.is_empty() {
        let (m, k) = (rows.len(), labels.len());
        let sides = sides.concat();
        let sides = MatRef::from_column_major_slice(&sides, m, k);
        let sides = dev.load_temporary(sides, Part::All)?;
        let (rows, columns) = (Index::List(&rows), Index::From(0));
        dev.scatter(rows, columns, (m, k), Operand::Matrix(&sides), &mut out)?;
    }
    Ok(out)
}
