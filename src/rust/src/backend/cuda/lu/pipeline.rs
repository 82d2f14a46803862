//! LU factorization in pipelines of columns (`kernels/lu/lu_pipeline.cu`).

use std::mem::size_of;

use crate::backend::cuda::driver::kernels::{Family, Kernel};
use crate::backend::cuda::panel::column_pipeline::{Pipeline, Pipelines, STRIPE};

const fn pipeline(name: &'static str, threads: usize, rows: usize, element: usize) -> Pipeline {
    // `Shared` in the kernel, two short integers for each row, and alignment.
    let row = 2 * STRIPE * element;
    let choices = 2 * size_of::<i32>() + 2 * threads / 32 * size_of::<u32>() + 16 * threads;
    Pipeline {
        kernel: Kernel::new(Family::LuPipeline, name),
        rows: threads * rows,
        threads,
        clerks: 32,
        shared: row + choices + 2 * size_of::<u16>() * threads * rows + 64,
    }
}

static DOUBLE: Pipelines = [
    pipeline("columns_eliminate_pipeline256x2", 256, 2, 8),
    pipeline("columns_eliminate_pipeline512x2", 512, 2, 8),
    pipeline("columns_eliminate_pipeline512x4", 512, 4, 8),
];
static SINGLE: Pipelines = [
    pipeline("columns_eliminate_pipeline256x4", 256, 4, 4),
    pipeline("columns_eliminate_pipeline256x8", 256, 8, 4),
    pipeline("columns_eliminate_pipeline512x8", 512, 8, 4),
];

/// The kernels for that element type.
pub(crate) fn pipelines<T>() -> &'static Pipelines {
    match size_of::<T>() {
        8 => &DOUBLE,
        _ => &SINGLE,
    }
}
