//! QR in pipelines (`kernels/qr_pipeline.cu`).

use std::mem::size_of;

use super::kernels::{Family, Kernel};
use super::pipeline::{Pipeline, Pipelines};

const fn pipeline(name: &'static str, threads: usize, rows: usize) -> Pipeline {
    Pipeline {
        kernel: Kernel::new(Family::QrPipeline, name),
        rows: threads * rows,
        threads,
        clerks: 0,
        shared: 0,
    }
}

static DOUBLE: Pipelines = [
    pipeline("columns_reflect_pipeline128x4", 128, 4),
    pipeline("columns_reflect_pipeline256x4", 256, 4),
    pipeline("columns_reflect_pipeline256x8", 256, 8),
];
static SINGLE: Pipelines = [
    pipeline("columns_reflect_pipeline128x8", 128, 8),
    pipeline("columns_reflect_pipeline256x8", 256, 8),
    pipeline("columns_reflect_pipeline256x16", 256, 16),
];

/// The kernels for that element type.
pub(super) fn pipelines<T>() -> &'static Pipelines {
    match size_of::<T>() {
        8 => &DOUBLE,
        _ => &SINGLE,
    }
}
