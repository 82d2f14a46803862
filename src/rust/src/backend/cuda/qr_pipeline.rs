//! QR of as many columns as fit on the GPU at once, in a pipeline of blocks (`kernels/qr_pipeline.cu`).

use std::mem::size_of;

use super::buffer::Buffer;
use super::context::Context;
use super::kernels::{args, Family, Kernel};
use super::memory::View;
use super::pipeline::{columns_held, messages, most_rows, send_blank, Shape, WIDTH};
use crate::error::Result;
use crate::scalar::Scalar;

const fn shape(name: &'static str, threads: usize, rows: usize) -> Shape {
    Shape {
        kernel: Kernel::new(Family::QrPipeline, name),
        threads,
        rows,
    }
}

/// Kernels by how many rows they take.
const DOUBLE: [Shape; 3] = [
    shape("columns_reflect_pipeline128x4", 128, 512),
    shape("columns_reflect_pipeline256x4", 256, 1024),
    shape("columns_reflect_pipeline256x8", 256, 2048),
];
const SINGLE: [Shape; 3] = [
    shape("columns_reflect_pipeline128x8", 128, 1024),
    shape("columns_reflect_pipeline256x8", 256, 2048),
    shape("columns_reflect_pipeline256x16", 256, 4096),
];

fn shapes<T>() -> &'static [Shape; 3] {
    match size_of::<T>() {
        8 => &DOUBLE,
        _ => &SINGLE,
    }
}

/// Workspace for the columns from some number on, whose rows are few enough.
pub(super) struct Pipeline {
    ctx: &'static Context,
    messages: Buffer,
}

impl Pipeline {
    /// The most rows that it takes; none where the device has no pipeline.
    pub(super) fn most_rows<T: Scalar>(ctx: &'static Context) -> Result<usize> {
        most_rows::<T>(ctx, shapes::<T>(), |_| 0)
    }

    /// For an `m` x `n` matrix of no more than [`Pipeline::most_rows`] rows, and what is left of it.
    pub(super) fn new<T: Scalar>(ctx: &'static Context, m: usize, n: usize) -> Result<Self> {
        let room = messages(ctx, shapes::<T>(), m, n);
        Ok(Pipeline {
            ctx,
            messages: Buffer::of::<T>(ctx, room)?,
        })
    }

    /// Columns of an `m` x `n` matrix that one launch takes.
    pub(super) fn columns<T: Scalar>(&self, m: usize, n: usize) -> usize {
        columns_held(self.ctx, shapes::<T>(), m, n)
    }

    /// Factors `a`, of no more columns than that.
    pub(super) fn factor<T: Scalar>(&self, a: View<T>, tau: u64) -> Result<()> {
        let shape = Shape::of(shapes::<T>(), a.rows);
        send_blank::<T>(&self.messages, shape, a.rows.min(a.cols))?;
        self.ctx.launch_together::<T>(
            shape.kernel,
            a.cols.div_ceil(WIDTH),
            shape.threads as u32,
            0,
            &args![
                a.rows as i32,
                a.cols as i32,
                a.ptr,
                a.ld(),
                self.messages.ptr,
                tau
            ],
        )
    }
}
