//! What a device does beyond [`Device`] so that tiles are copied during computations.

use std::ops::Range;

use faer::MatMut;

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::dense::Device;
use crate::tiles::buffer::Pages;

/// A device for tiles in host memory. It computes with them in place, or has copies of them in its
/// memory, made while it computes with others.
pub trait AsyncCopy<T: Scalar>: Device<T> + Sync {
    /// A position in the device's queue of work.
    type Mark;
    /// The result of a factorization that may still be running.
    type Outcome;

    /// Whether the device computes in memory apart from the host's, which has a limit. Without it
    /// the device computes with tiles in place.
    fn has_own_memory(&self) -> bool;
    /// The bytes of a budget that are for copies of tiles in the device's memory. `None` for a
    /// device that computes with tiles in host memory: it has no copies, and drivers call
    /// [`AsyncCopy::in_place`] and nothing below [`AsyncCopy::pages`].
    fn own_memory(&self, budget: u64) -> Option<u64> {
        self.has_own_memory().then_some(budget)
    }
    /// This device and the others of its kind with these numbers. A device that cannot be used is
    /// left out, or an error where `all` are needed.
    fn with(&self, numbers: &[usize], all: bool) -> Result<Vec<Self>>
    where
        Self: Sized;
    /// Bytes of its memory that are free.
    fn free(&self) -> Result<u64>;
    /// Matrices that R has in its memory, or had and has not collected.
    fn held(&self) -> u64 {
        0
    }
    /// Its rate of matrix products, in a unit that all devices of its kind share.
    fn speed(&self) -> f64;
    /// The matrix in host memory, with its contents.
    fn in_place<'a>(&self, home: MatMut<'a, T>) -> Result<Self::Mat<'a>>;

    /// Host memory for `count` tiles of so many bytes, from and to which the device copies without
    /// waiting. Its contents are undefined. `threads` have the system provide new memory.
    /// [`AsyncCopy::keep`] takes it back.
    fn pages(&self, count: usize, bytes: usize, threads: usize) -> Result<Vec<Pages>>;
    /// Takes memory of [`AsyncCopy::pages`] back, to keep it for another call or to release it.
    ///
    /// # Safety
    /// No copy from or to it is in flight.
    unsafe fn keep(&self, memory: Pages);
    /// The end of all work in the device's queue.
    fn mark(&self) -> Result<Self::Mark>;
    /// Starts a copy of [`AsyncCopy::pages`] to some entries of a device's matrix, counted column
    /// by column, as soon as `after` is past. Its mark is the end of the copy.
    ///
    /// # Safety
    /// The memory has as many numbers, and the matrix those entries; both stay, and neither is
    /// changed there, until the copy is done.
    unsafe fn send(
        &self,
        from: *const T,
        to: &mut Self::Mat<'_>,
        entries: Range<usize>,
        after: &[&Self::Mark],
    ) -> Result<Self::Mark>;
    /// The reverse of [`AsyncCopy::send`].
    ///
    /// # Safety
    /// As [`AsyncCopy::send`].
    unsafe fn fetch(
        &self,
        from: &mut Self::Mat<'_>,
        entries: Range<usize>,
        to: *mut T,
        after: &[&Self::Mark],
    ) -> Result<Self::Mark>;
    /// Whether this device copies directly from the other device's memory.
    fn reaches(&self, _other: &Self) -> Result<bool>
    where
        Self: Sized,
    {
        Ok(false)
    }
    /// Whether [`AsyncCopy::copy`] copies from the other device's memory, directly or through the
    /// host's.
    fn copies_from(&self, other: &Self) -> Result<bool>
    where
        Self: Sized,
    {
        self.reaches(other)
    }
    /// The address of a matrix in the device's memory, for [`AsyncCopy::copy`].
    fn place(&self, _matrix: &mut Self::Mat<'_>) -> Result<usize> {
        unreachable_memory()
    }
    /// Starts a copy of another device's matrix, which it has computed, to one of this device, as
    /// soon as `after` is past. Its mark is the end of the copy.
    ///
    /// # Safety
    /// This device copies from `from`, where a matrix of as many numbers lies at `place`. Both
    /// stay, and neither is changed, until the copy is done.
    unsafe fn copy(
        &self,
        _from: &Self,
        _place: usize,
        _to: &mut Self::Mat<'_>,
        _after: &[&Self::Mark],
    ) -> Result<Self::Mark>
    where
        Self: Sized,
    {
        unreachable_memory()
    }
    /// Later work of the device's queue waits for the mark.
    fn follow(&self, mark: &Self::Mark) -> Result<()>;
    /// Whether the device has reached the mark.
    fn is_past(&self, mark: &Self::Mark) -> Result<bool>;
    /// Starts [`Lapack::potrf`](crate::device::lapack::Lapack::potrf) of the upper triangle.
    /// [`AsyncCopy::outcome`] has its result.
    fn start_potrf(&self, a: &mut Self::Mat<'_>) -> Result<Self::Outcome>;
    /// The result of the factorization, once a later mark is past.
    fn outcome(&self, outcome: &Self::Outcome) -> Result<()>;
    /// Waits until the device has finished all work and copies, after errors as well.
    fn drain(&self);
}

fn unreachable_memory<R>() -> Result<R> {
    Err(Error::Internal {
        what: "a device was asked for the memory of another that it does not reach".into(),
    })
}
