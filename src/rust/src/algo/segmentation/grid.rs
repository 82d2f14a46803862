//! The system of a random walker on the whole grid of its image, which the iterative method solves.

use std::ops::Range;

use faer::MatRef;

use super::graph::{Graph, NEIGHBOURS};
use super::image::{Along, VALUE, WEIGHT};
use super::probe::draw;
use super::seeds::UNKNOWN;
use super::system::Link;
use crate::base::chunks::{bands, chained, in_parts, BAND, UNIT};
use crate::base::error::Result;
use crate::base::matrix::{Block, Part};
use crate::base::scalar::{reserve, try_zeroed};
use crate::device::elementwise::{Index, Operand};
use crate::device::stencil::{Grid, Operator, Reach, Stencil};

/// Pixels that are looked over for seeds together.
const GLANCE: usize = 256;

/// Some pixels of a line, and whether there are lines before and after it along the other axes.
struct Run {
    pixels: Range<usize>,
    beside: [(bool, bool); 2],
}

/// What joins unknown pixels to seeds beside them, in the order of the pixels; an unknown is named
/// by its pixel.
pub(crate) fn links(graph: &Graph<'_>) -> Result<Vec<Link>> {
    let [length, height, depth] = graph.dims();
    let part = |range: Range<usize>| {
        let mut links = Vec::new();
        let mut pixel = range.start;
        while pixel < range.end {
            let line = pixel / length;
            let end = range.end.min((line + 1) * length).min(pixel + GLANCE);
            let beside = |at: usize, length: usize| (at > 0, at + 1 < length);
            let run = Run {
                pixels: pixel..end,
                beside: [beside(line % height, height), beside(line / height, depth)],
            };
            if has_seeds(graph, &run) {
                links_of(graph, &run, &mut links)?;
            }
            pixel = end;
        }
        Ok(links)
    };
    in_parts(0..graph.pixels(), VALUE, part, chained)
}

/// Whether a seed may be beside one of these pixels.
fn has_seeds(graph: &Graph<'_>, run: &Run) -> bool {
    let (seeds, [length, height, _]) = (graph.seeds(), graph.dims());
    let any = |range: Range<usize>| {
        let largest = |most: i32, seed: &i32| most.max(*seed);
        seeds[range].iter().fold(UNKNOWN, largest) > UNKNOWN
    };
    let (first, end) = (run.pixels.start, run.pixels.end);
    let strides = [length, length * height];
    any(first.saturating_sub(1)..(end + 1).min(seeds.len()))
        || run
            .beside
            .iter()
            .zip(strides)
            .any(|((before, after), stride)| {
                (*before && any(first - stride..end - stride))
                    || (*after && any(first + stride..end + stride))
            })
}

fn links_of(graph: &Graph<'_>, run: &Run, links: &mut Vec<Link>) -> Result<()> {
    let (seeds, length, along) = (graph.seeds(), graph.dims()[0], graph.along());
    for p in run.pixels.clone() {
        if seeds[p] != UNKNOWN {
            continue;
        }
        reserve(links, NEIGHBOURS)?;
        let mut look = |q: usize, along: &Along<'_>, first: usize| {
            if let Some(label) = graph.number(seeds[q]) {
                links.push(Link {
                    unknown: p as u32,
                    label: label as u32,
                    weight: along.of(first),
                });
            }
        };
        let x = p % length;
        let all = [(x > 0, x + 1 < length), run.beside[0], run.beside[1]];
        for (along, (before, after)) in along.iter().zip(all) {
            let Some(along) = along else { continue };
            if before {
                look(p - along.stride, along, p - along.stride);
            }
            if after {
                look(p + along.stride, along, p);
            }
        }
    }
    Ok(())
}

/// The system's matrix as an operator: seeds and pixels that are left out are points without
/// couplings, with 1 on the diagonal. It goes to the device band by band, so that the host needs no
/// room for it.
pub(crate) fn operator<D: Stencil>(
    dev: &D,
    graph: &Graph<'_>,
    links: &[Link],
) -> Result<Operator<D::Mat<'static>>> {
    let grid = Grid { dims: graph.dims() };
    let (n, reach) = (graph.pixels(), Reach::Axes);
    let columns = grid.entries(reach);
    let mut entries = dev.blank(n, columns)?;
    let (mut room, along) = (try_zeroed(n.min(BAND))?, graph.along());
    for k in 0..columns {
        for band in bands(n) {
            let (row, rows) = (band.start, band.len());
            let out = &mut room[..rows];
            match k.checked_sub(1).and_then(|axis| along.get(axis)) {
                None => excess(graph, links, band, out)?,
                Some(Some(along)) => couplings(graph, along, band, out)?,
                // Nobody has a neighbour.
                Some(None) => out.fill(0.0),
            }
            let whole = Block {
                row: 0,
                col: 0,
                rows,
                cols: 1,
            };
            let there = dev.load(MatRef::from_column_major_slice(out, rows, 1))?;
            dev.copy_block(&there, whole, &mut entries, (row, k))?;
        }
    }
    Ok(Operator {
        grid,
        reach,
        entries,
    })
}

/// What rows sum up to.
fn excess(graph: &Graph<'_>, links: &[Link], band: Range<usize>, out: &mut [f64]) -> Result<()> {
    let seeds = graph.seeds();
    let fill = |(range, out): (Range<usize>, &mut [f64])| {
        for (out, seed) in out.iter_mut().zip(&seeds[range]) {
            *out = if *seed == UNKNOWN { 0.0 } else { 1.0 };
        }
        Ok(())
    };
    in_parts((band.clone(), &mut *out), VALUE, fill, |(), ()| Ok(()))?;
    let before = |end: usize| links.partition_point(|l| (l.unknown as usize) < end);
    for link in &links[before(band.start)..before(band.end)] {
        out[link.unknown as usize - band.start] += link.weight;
    }
    Ok(())
}

/// The couplings of pixels and the next ones along an axis. Past its end stand some that nobody
/// reads.
fn couplings(
    graph: &Graph<'_>,
    along: &Along<'_>,
    band: Range<usize>,
    out: &mut [f64],
) -> Result<()> {
    let seeds = graph.seeds();
    let fill = |(range, out): (Range<usize>, &mut [f64])| {
        for (first, out) in range.step_by(UNIT).zip(out.chunks_mut(UNIT)) {
            along.fill(first, out);
            let next = seeds[first..].iter().skip(along.stride);
            for ((out, seed), next) in out.iter_mut().zip(&seeds[first..]).zip(next) {
                if *seed != UNKNOWN || *next != UNKNOWN {
                    *out = 0.0;
                }
            }
        }
        Ok(())
    };
    in_parts((band, out), WEIGHT, fill, |(), ()| Ok(()))
}

/// A random number for each pixel whose label is sought, and else 0.
pub(crate) fn random<D: Stencil>(dev: &D, graph: &Graph<'_>) -> Result<D::Mat<'static>> {
    let (n, seeds) = (graph.pixels(), graph.seeds());
    let mut out = dev.blank(n, 1)?;
    let mut room = try_zeroed(n.min(BAND))?;
    for band in bands(n) {
        let rows = band.len();
        let here = &mut room[..rows];
        draw(band.clone(), here)?;
        let keep = |(range, out): (Range<usize>, &mut [f64])| {
            let pixels = out.iter_mut().zip(&seeds[range]);
            let known = pixels.filter(|(_, seed)| **seed != UNKNOWN);
            known.for_each(|(out, _)| *out = 0.0);
            Ok(())
        };
        in_parts((band.clone(), &mut *here), VALUE, keep, |(), ()| Ok(()))?;
        let whole = Block {
            row: 0,
            col: 0,
            rows,
            cols: 1,
        };
        let there = dev.load(MatRef::from_column_major_slice(here, rows, 1))?;
        dev.copy_block(&there, whole, &mut out, (band.start, 0))?;
    }
    Ok(out)
}

/// The right-hand sides of labels, named by ascending numbers, of fewer than 2^31 pixels. They are
/// zero but beside seeds, so that few numbers go to the device.
pub(super) fn right_hand_sides<D: Stencil>(
    dev: &D,
    pixels: usize,
    links: &[Link],
    labels: &[u32],
) -> Result<D::Mat<'static>> {
    let column = |link: &Link| labels.binary_search(&link.label).ok();
    let own = || links.iter().filter_map(|l| Some((l, column(l)?)));
    let mut rows: Vec<i32> = Vec::new();
    for (link, _) in own() {
        let row = link.unknown as i32;
        if rows.last() != Some(&row) {
            reserve(&mut rows, 1)?;
            rows.push(row);
        }
    }
    let (m, k) = (rows.len(), labels.len());
    let mut out = dev.zeros(pixels, k)?;
    if m == 0 {
        return Ok(out);
    }
    let (mut sides, mut at) = (try_zeroed(m * k)?, 0);
    for (link, k) in own() {
        at += usize::from(rows[at] != link.unknown as i32);
        sides[k * m + at] += link.weight;
    }
    let sides = MatRef::from_column_major_slice(&sides, m, k);
    let sides = dev.load_temporary(sides, Part::All)?;
    let (rows, columns) = (Index::List(&rows), Index::From(0));
    dev.scatter(rows, columns, (m, k), Operand::Matrix(&sides), &mut out)?;
    Ok(out)
}
