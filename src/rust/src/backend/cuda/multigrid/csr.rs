//! Sparse matrices in device memory.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::kernels::Kernel;
use crate::backend::cuda::elementwise::vectors::THREADS;
use crate::base::error::Result;

/// A matrix by rows, all entries of both triangles.
pub struct DeviceCsr {
    pub(crate) n: usize,
    pub(crate) entries: usize,
    /// Four bytes each.
    pub(crate) starts: Buffer,
    pub(crate) index: Buffer,
    pub(crate) values: Buffer,
    /// `a_ii`, and the diagonal for relaxation.
    pub(crate) own: Buffer,
    pub(crate) diagonal: Buffer,
    /// How many rows have more entries than [`LONG`], and these rows from the second place on.
    pub(crate) long: usize,
    pub(super) long_rows: Buffer,
}

impl DeviceCsr {
    /// Which of two kernels takes so many vectors: the one for single vectors does not leave long
    /// rows out.
    pub(super) fn kernel(&self, of: [Kernel; 2], count: i32) -> Kernel {
        of[usize::from(count > 1 || self.long > 0)]
    }

    /// The address of the list of long rows.
    pub(super) fn listed(&self) -> u64 {
        self.long_rows.ptr + size_of::<i32>() as u64
    }

    /// Threads to a row of a product: a block's rows fill what it has in shared memory.
    pub(super) fn lanes(&self) -> usize {
        let rows = STAGED * self.n / self.entries.max(1);
        let lanes = (THREADS as usize).div_ceil(rows.max(1));
        lanes.next_power_of_two().min(32)
    }

    /// Threads to a row where rows are gone through as they lie: a few entries for each.
    pub(super) fn few_lanes(&self) -> usize {
        let mean = self.entries / self.n.max(1);
        (mean / 2).next_power_of_two().clamp(1, 32)
    }
}

/// Numbers of four bytes of the device.
pub(crate) fn whole(from: &Buffer, count: usize) -> Result<Vec<i32>> {
    let mut all = vec![0; count];
    from.to_slice(&mut all)?;
    Ok(all)
}

/// Rows with more entries have a block each, as the kernels have it, and that many threads.
pub(super) const LONG: usize = 4096;

/// Entries that the kernels of products have in shared memory at once.
pub(super) const STAGED: usize = 2048;
