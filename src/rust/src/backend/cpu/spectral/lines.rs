//! Matrices whose columns are whole cache lines, so that loops over vectors need no tails.

use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::Range;

use pulp::bytemuck::{cast_slice, cast_slice_mut, Pod, Zeroable};

use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};

const LINE: usize = 64;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; LINE / 8]);

// SAFETY: an array of integers of the size of its alignment has no padding, and any bits are a
// value.
unsafe impl Zeroable for Line {}
// SAFETY: as above.
unsafe impl Pod for Line {}

/// A zeroed matrix by columns. Each column begins at a cache line and ends with zeros.
#[derive(Debug)]
pub(super) struct Lines<T> {
    memory: Vec<Line>,
    /// Entries from one column to the next.
    stride: usize,
    entries: PhantomData<T>,
}

/// The entries of a cache line.
pub(super) const fn per_line<T>() -> usize {
    LINE / size_of::<T>()
}

/// The first entry of the line that holds entry `i`.
pub(super) const fn line_of<T>(i: usize) -> usize {
    i - i % per_line::<T>()
}

/// The length of a column of `rows` rows with its padding.
pub(super) const fn padded<T>(rows: usize) -> usize {
    rows.next_multiple_of(per_line::<T>())
}

impl<T: Scalar> Lines<T> {
    pub(super) fn zeroed(rows: usize, columns: usize) -> Result<Self> {
        let mut lines = rows.div_ceil(per_line::<T>());
        // Columns whose distance is a multiple of 512 bytes would share few sets of the cache.
        if columns > 1 && lines % 8 == 0 {
            lines += 1;
        }
        Ok(Lines {
            memory: try_zeroed(lines * columns)?,
            stride: lines * per_line::<T>(),
            entries: PhantomData,
        })
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    pub(super) fn all(&self) -> &[T] {
        cast_slice(&self.memory)
    }

    pub(super) fn all_mut(&mut self) -> &mut [T] {
        cast_slice_mut(&mut self.memory)
    }

    pub(super) fn at(&self, i: usize, j: usize) -> T {
        self.all()[j * self.stride + i]
    }

    /// Some rows of column `j`.
    pub(super) fn part(&self, j: usize, rows: Range<usize>) -> &[T] {
        let first = j * self.stride;
        &self.all()[first + rows.start..first + rows.end]
    }

    pub(super) fn part_mut(&mut self, j: usize, rows: Range<usize>) -> &mut [T] {
        let first = j * self.stride;
        &mut self.all_mut()[first + rows.start..first + rows.end]
    }
}
