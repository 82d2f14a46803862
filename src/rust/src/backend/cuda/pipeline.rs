//! Pipelines of columns: a launch factors as many as its blocks hold, each of which sends its columns on to those behind it
//! (`kernels/pipeline.cuh`). What the factorizations by pipelines share.

use std::mem::size_of;

use super::buffer::Buffer;
use super::context::Context;
use super::kernels::Kernel;
use crate::error::Result;
use crate::scalar::Scalar;

/// Columns of a block, as in the kernels.
pub(super) const WIDTH: usize = 8;
/// Launches end where a multiple of so many columns is done, but for the last one.
const UNIT: usize = 32;

/// A kernel of a pipeline: its threads that have rows, and the most rows.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub kernel: Kernel,
    pub threads: usize,
    pub rows: usize,
}

impl Shape {
    /// The first of `shapes` that takes so many rows; the last one where none does.
    pub(super) fn of(shapes: &[Shape; 3], rows: usize) -> Shape {
        shapes
            .iter()
            .find(|s| rows <= s.rows)
            .copied()
            .unwrap_or(shapes[2])
    }
}

/// Columns that the device holds at once.
pub(super) fn capacity(ctx: &Context) -> usize {
    WIDTH * ctx.properties.multiprocessors
}

/// The most rows that one of the `shapes` takes on this device, started with `shared(rows)` bytes of shared memory; 0 where there
/// are no pipelines.
pub(super) fn most_rows<T: Scalar>(
    ctx: &'static Context,
    shapes: &[Shape; 3],
    shared: impl Fn(usize) -> usize,
) -> Result<usize> {
    if !ctx.has(shapes[0].kernel.family) || capacity(ctx) < UNIT {
        return Ok(0);
    }
    let mut most = 0;
    for s in shapes {
        let bytes = shared(s.rows);
        if bytes > ctx.properties.shared
            || ctx.resident::<T>(s.kernel, s.threads as u32, bytes)? == 0
        {
            break;
        }
        most = s.rows;
    }
    Ok(most)
}

/// Columns that one launch takes of an `m` x `n` matrix: all of them if they are held at once. Else as many as are held and have
/// a pivot, but no more than it takes to get to where a kernel for half of the rows goes on: its columns take less time.
pub(super) fn columns_held(ctx: &Context, shapes: &[Shape; 3], m: usize, n: usize) -> usize {
    columns_of(capacity(ctx), shapes, m, n)
}

fn columns_of(capacity: usize, shapes: &[Shape; 3], m: usize, n: usize) -> usize {
    if n <= capacity {
        return n;
    }
    let less = shapes[1].rows;
    let held = if m > less { m - less } else { m };
    let held = held.next_multiple_of(UNIT).min(capacity / UNIT * UNIT);
    held.min(m)
}

/// Numbers that the messages of a launch for an `m` x `n` matrix take, or of any one for what it leaves.
pub(super) fn messages(ctx: &Context, shapes: &[Shape; 3], m: usize, n: usize) -> usize {
    let largest = Shape::of(shapes, m).rows;
    let pivots = m.min(n).min(capacity(ctx));
    let used = shapes.iter().filter(|s| s.rows <= largest);
    used.map(|s| room(*s, pivots.min(s.rows)))
        .max()
        .unwrap_or(0)
}

/// Numbers that the messages of so many columns take: one column more is read ahead, and one has room for integers.
fn room(shape: Shape, columns: usize) -> usize {
    (columns + 2) * shape.rows
}

/// Makes the messages of the next launch blank: the word of a signalling NaN, as in the kernels.
pub(super) fn send_blank<T: Scalar>(messages: &Buffer, shape: Shape, columns: usize) -> Result<()> {
    let word = match size_of::<T>() {
        8 => 0x7ff4_b1a7,
        _ => 0x7fa4_b1a7,
    };
    messages.fill_words(word, room(shape, columns) * (size_of::<T>() / 4))
}
