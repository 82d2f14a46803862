//! The diagonal of the inverse of `A = R'R`, from R in a file of tiles.
//!
//! Entry j is the square of the norm of `R^-T e_j`, which is zero above row j. So a chunk of
//! columns of the identity is solved for from its own block of rows on, and a block of its columns
//! takes part from its own: n^3/3 operations in all. A chunk has as many columns as fit in memory,
//! and the tiles are read once for each chunk.

use faer::Mat;

use crate::algo::tiled::engine::slot_budget::Traffic;
use crate::algo::tiled::factor::Factor;
use crate::algo::tiled::memory::{too_few, Budget, StreamSlots, TileBudget};
use crate::algo::tiled::solve::{down, side, Passes, SolveStep};
use crate::algo::tiled::stream::{host_slots, Stream, AT_ONCE};
use crate::algo::tiled::tile_source::TileSource;
use crate::base::error::Result;
use crate::base::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::device::blas::Blas;
use crate::device::memory::Memory;
use crate::tiles::plan::LEAST_SLOTS;

/// Columns of the identity that are solved for as one matrix: some of those of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    block: usize,
    from: usize,
    width: usize,
}

/// Groups in chunks, each of at most so many numbers; none where there is no room for a column.
fn chunks<T: Scalar>(factor: &Factor<'_, T>, numbers: usize) -> Option<Vec<Vec<Group>>> {
    let mut all: Vec<Vec<Group>> = Vec::new();
    let mut left = 0;
    for block in 0..factor.count() {
        let rows = factor.order() - block * factor.tile();
        let cols = factor.rows_of(block);
        let fit = (numbers / rows).min(cols);
        if fit == 0 {
            return None;
        }
        let width = cols.div_ceil(cols.div_ceil(fit));
        for from in (0..cols).step_by(width) {
            let width = width.min(cols - from);
            if all.is_empty() || left < rows * width {
                all.push(Vec::new());
                left = numbers;
            }
            left -= rows * width;
            if let Some(chunk) = all.last_mut() {
                chunk.push(Group { block, from, width });
            }
        }
    }
    Some(all)
}

/// Tiles that a chunk needs.
fn needed(chunk: &[Group], count: usize) -> usize {
    let rows = count - chunk.first().map_or(count, |group| group.block);
    rows * (rows + 1) / 2
}

/// About how many tiles are loaded where there are so many slots: what stays from one chunk to the
/// next need not be.
fn loads(chunks: &[Vec<Group>], count: usize, slots: usize) -> usize {
    let each = chunks.iter().enumerate().map(|(c, chunk)| {
        let kept = if c == 0 { 0 } else { slots - 1 };
        needed(chunk, count).saturating_sub(kept)
    });
    each.sum()
}

/// How memory is shared between tiles and columns: so that the fewest tiles are read, then copied,
/// then looked at.
fn share<T: Scalar>(
    factor: &Factor<'_, T>,
    memory: &TileBudget,
    budget: Budget,
) -> Result<(StreamSlots, Vec<Vec<Group>>)> {
    let size = size_of::<T>() as u64;
    let bytes = memory.device.unwrap_or(budget.host);
    let fit = (bytes / memory.tile_bytes).min(memory.most);
    let least = LEAST_SLOTS as u64;
    let mut best: Option<(usize, StreamSlots, Vec<Vec<Group>>)> = None;
    for tiles in [least, 6, fit / 8, fit / 4, fit / 2, fit * 3 / 4, fit] {
        let tiles = tiles.clamp(least, fit);
        let numbers = (bytes - tiles * memory.tile_bytes) / size;
        let Some(chunks) = chunks(factor, numbers as usize) else {
            continue;
        };
        let tiles = tiles as usize;
        let slots = StreamSlots {
            host: memory.device.map_or(tiles, |_| memory.host),
            device: memory.device.map(|_| tiles),
        };
        let count = factor.count();
        let looks: usize = chunks.iter().map(|chunk| needed(chunk, count)).sum();
        let sent = slots.device.map_or(0, |n| loads(&chunks, count, n));
        let cost = 100 * loads(&chunks, count, slots.host) + 10 * sent + looks;
        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, slots, chunks));
        }
    }
    let (_, slots, chunks) = best.ok_or_else(|| {
        let needed = least * memory.tile_bytes + factor.order() as u64 * size;
        match memory.device {
            None => too_few("host_memory", bytes, needed),
            Some(left) => too_few("gpu_memory", budget.device, budget.device - left + needed),
        }
    })?;
    Ok((slots, chunks))
}

/// A group on the device: its blocks of rows from its own on, as far as they have begun and are not
/// done.
struct Columns<M> {
    group: Group,
    blocks: Vec<Option<M>>,
}

struct Chunk<'c, T: Scalar, D: Blas<T>> {
    dev: &'c D,
    factor: &'c Factor<'c, T>,
    columns: Vec<Columns<D::Mat<'static>>>,
}

impl<'c, T: Scalar, D: Blas<T>> Chunk<'c, T, D> {
    fn begin(&mut self, groups: &[Group]) {
        let count = self.factor.count();
        let columns = groups.iter().map(|group| Columns {
            group: *group,
            blocks: (group.block..count).map(|_| None).collect(),
        });
        self.columns = columns.collect();
    }

    /// One step for every group that has begun; the number of operations. `out` has the sums of
    /// squares of the columns.
    fn apply(&mut self, task: SolveStep, tile: &D::Mat<'_>, out: &mut [f64]) -> Result<f64> {
        let (dev, factor) = (self.dev, self.factor);
        let (rows, cols) = dev.shape(tile);
        let mut operations = 0.0;
        for Columns { group, blocks } in &mut self.columns {
            let Some(known) = task.known.checked_sub(group.block) else {
                continue;
            };
            let wide = group.width as f64;
            if task.known == task.target {
                if known == 0 {
                    blocks[0] = Some(unit_columns(dev, rows, group)?);
                }
                if let Some(block) = &mut blocks[known] {
                    let (left, upper) = (Side::Left, Uplo::Upper);
                    dev.trsm(left, upper, side(task), Diag::NonUnit, rows, tile, block)?;
                    operations += rows as f64 * rows as f64 * wide;
                }
                continue;
            }
            let (before, after) = blocks.split_at_mut(task.target - group.block);
            let begun = after[0].is_some();
            if !begun {
                after[0] = Some(dev.zeros(cols, group.width)?);
            }
            if let (Some(solved), Some(rest)) = (&before[known], &mut after[0]) {
                let beta = T::from_f64(if begun { 1.0 } else { 0.0 });
                let minus = T::from_f64(-1.0);
                dev.gemm(minus, side(task), tile, Trans::No, solved, beta, rest)?;
                operations += 2.0 * rows as f64 * cols as f64 * wide;
            }
        }
        if task.target + 1 == factor.count() {
            self.finish(task.known, out)?;
        }
        Ok(operations)
    }

    /// The block of rows `known` is needed no more: only its squares are.
    fn finish(&mut self, known: usize, out: &mut [f64]) -> Result<()> {
        for Columns { group, blocks } in &mut self.columns {
            let Some(known) = known.checked_sub(group.block) else {
                continue;
            };
            if let Some(block) = blocks[known].take() {
                let first = group.block * self.factor.tile() + group.from;
                let norms = self.dev.column_norms(&block)?;
                for (sum, norm) in out[first..].iter_mut().zip(norms) {
                    *sum += norm * norm;
                }
            }
        }
        Ok(())
    }
}

/// The group's columns of the identity, in its own block of rows.
fn unit_columns<T: Scalar, D: Memory<T>>(
    dev: &D,
    rows: usize,
    group: &Group,
) -> Result<D::Mat<'static>> {
    if group.width == rows {
        let mut unit = dev.zeros(rows, rows)?;
        dev.set_identity(&mut unit)?;
        return Ok(unit);
    }
    let unit = Mat::<T>::from_fn(rows, group.width, |i, j| {
        T::from_f64(if i == group.from + j { 1.0 } else { 0.0 })
    });
    dev.load_temporary(unit.as_ref(), Part::All)
}

/// The diagonal of `(R'R)^-1` in `out`, of the order of the factor; the sums of squares are taken
/// in double precision.
pub fn inverse_diagonal<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    factor: &Factor<'_, T>,
    out: &mut [f64],
    budget: Budget,
) -> Result<Passes> {
    out.fill(0.0);
    let tile_bytes = factor.tile_bytes()?;
    if factor.order() == 0 {
        return Ok(Passes {
            traffic: Traffic::default(),
            tile_bytes,
            chunks: 0,
            slots: StreamSlots::default(),
        });
    }
    let memory = TileBudget::new(dev, factor, budget)?;
    let (slots, chunks) = share(factor, &memory, budget)?;
    let count = factor.count();
    let host = host_slots(dev, factor, slots)?;
    let mut stream = Stream::new(dev, factor, slots, &host)?;
    let mut chunk = Chunk {
        dev,
        factor,
        columns: Vec::new(),
    };
    let mut rest = chunks.as_slice();
    while !rest.is_empty() {
        // As many chunks as one plan is made for.
        let (mut steps, mut some) = (Vec::new(), 0);
        while let Some(groups) = rest.get(some) {
            if some > 0 && steps.len() + needed(groups, count) > AT_ONCE {
                break;
            }
            let first = groups.first().map_or(count, |group| group.block);
            steps.extend(down(first, count).map(|step| (some, step)));
            some += 1;
        }
        let tiles = steps.iter().map(|(_, t)| factor.index(t.at().0, t.at().1));
        let tiles: Vec<usize> = tiles.collect::<Result<_>>()?;
        let mut begun = None;
        stream.run(&tiles, |x, tile| {
            let (which, task) = steps[x];
            if begun != Some(which) {
                chunk.begin(&rest[which]);
                begun = Some(which);
            }
            chunk.apply(task, tile, out)
        })?;
        rest = &rest[some..];
    }
    Ok(Passes {
        traffic: stream.traffic(),
        tile_bytes,
        chunks: chunks.len(),
        slots,
    })
}
