//! The workspace of an LU factorization.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::panel::column_pipeline::PipelinePlan;
use crate::base::progress;

/// The matrix, and the workspace that all panels share.
pub(crate) struct LuWorkspace<T> {
    pub ctx: &'static Context,
    pub a: View<T>,
    pub(super) space: Buffer,
    pub(super) places: Buffer,
    pub pivots: Buffer,
    pub zero: Buffer,
    pub lists: Buffer,
    /// Memory for the panel of a cluster and its number of rows, if there is one.
    pub cluster: Option<(usize, Buffer)>,
    /// Which columns are factored in pipelines, and room for their messages.
    pub plan: PipelinePlan,
    pub(super) messages: Buffer,
    /// Exchanges of rows that are deferred, if any are.
    pub deferred: Option<Deferred>,
    /// The progress of the factorization.
    pub(super) all: progress::CountedPart,
}

/// Columns of a panel, as in `kernels/lu/lu.cu`.
pub(crate) const PANEL: usize = 32;

pub(crate) const THREADS: usize = 256;

/// With more chunks than this, the reduction over them takes most of each launch.
pub(super) const MOST_CHUNKS: usize = 256;

/// Rows of one chunk of `m` rows.
pub(crate) fn chunk_rows(m: usize) -> usize {
    m.div_ceil(MOST_CHUNKS).next_multiple_of(THREADS)
}

/// The most chunks that `m` rows or fewer are cut into. Fewer rows may have more chunks: 65,537
/// make 129, one row less makes 256.
pub(crate) fn most_chunks(m: usize) -> usize {
    m.div_ceil(THREADS).min(MOST_CHUNKS)
}

/// Columns of a cluster's panel, as in `kernels/lu/lu_panel.cu`.
pub(crate) const CLUSTER_PANEL: usize = 128;

/// Integers of a panel's list of moves: their number, destinations and sources. The list of more
/// columns takes the memory of those of as many columns in panels.
pub(crate) const LIST_WORDS: usize = 1 + 4 * PANEL;

/// Deferred exchanges, applied at the end to the columns on the left, and memory for their product:
/// the source of each row, for each block of columns.
pub(crate) struct Deferred {
    pub(super) late: Late,
    pub(super) table: Buffer,
    pub(super) order: Buffer,
}

/// The exchanges still to be applied to each block of columns after it has been factored: those of
/// all later columns.
#[derive(Debug)]
pub(super) struct Late {
    /// Blocks of columns that need any, from the first of their columns to the one behind the last.
    pub(super) blocks: Vec<(usize, usize)>,
    /// First columns and sizes of all lists, in the order of application.
    pub(super) lists: Vec<(usize, usize)>,
}
