//! What a device does beyond [`Device`] so that tiles travel while others are computed with.

use std::ops::Range;

use faer::MatMut;

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::dense::Device;
use crate::tiles::buffer::Pages;

/// A device for tiles that lie in host memory: either it computes there, or tiles are copied beside
/// the computation.
pub trait AsyncCopy<T: Scalar>: Device<T> + Sync {
    /// A moment in what the device has been given to do.
    type Mark;
    /// What becomes of a factorization.
    type Outcome;

    /// Whether matrices are computed with where they lie in host memory. Then nothing below but
    /// [`AsyncCopy::in_place`] is asked for.
    fn is_host(&self) -> bool;
    /// This device and the others of its kind with these numbers; of those that cannot be used an
    /// error where `all` are needed.
    fn with(&self, numbers: &[usize], all: bool) -> Result<Vec<Self>>
    where
        Self: Sized;
    /// Bytes of its memory that are free.
    fn free(&self) -> Result<u64>;
    /// Matrices that R has in its memory, or had and has not collected.
    fn held(&self) -> u64 {
        0
    }
    /// How fast it computes products, beside others of its kind.
    fn speed(&self) -> f64;
    /// The matrix in host memory, with its contents.
    fn in_place<'a>(&self, home: MatMut<'a, T>) -> Result<Self::Mat<'a>>;

    /// Lets copies from and to this memory run by themselves, until [`AsyncCopy::keep`].
    fn pin(&self, memory: Pages) -> Result<Pages>;
    /// Takes pinned memory back, to be kept for another call or to be released.
    ///
    /// # Safety
    /// No copy from or to it is on its way.
    unsafe fn keep(&self, memory: Pages);
    /// Pinned memory of so many bytes that was kept.
    fn kept(&self, bytes: usize) -> Option<Pages>;
    /// The end of all that was given to the device to compute.
    fn mark(&self) -> Result<Self::Mark>;
    /// Starts a copy of pinned memory to some of a device's matrix's entries, counted column by
    /// column, as soon as `after` is past; the end of it.
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
    /// Starts a copy of such entries to pinned memory, as soon as `after` is past; the end of it.
    ///
    /// # Safety
    /// As of [`AsyncCopy::send`].
    unsafe fn fetch(
        &self,
        from: &mut Self::Mat<'_>,
        entries: Range<usize>,
        to: *mut T,
        after: &[&Self::Mark],
    ) -> Result<Self::Mark>;
    /// Whether copies come straight from the other device's memory.
    fn reaches(&self, _other: &Self) -> Result<bool>
    where
        Self: Sized,
    {
        Ok(false)
    }
    /// Whether [`AsyncCopy::copy`] brings the other device's memory, directly or through the
    /// host's.
    fn copies_from(&self, other: &Self) -> Result<bool>
    where
        Self: Sized,
    {
        self.reaches(other)
    }
    /// Where a matrix is in the device's memory, for [`AsyncCopy::copy`].
    fn place(&self, _matrix: &mut Self::Mat<'_>) -> Result<usize> {
        unreachable_memory()
    }
    /// Starts a copy of another device's matrix, which it has computed, to one of this device, as
    /// soon as `after` is past; the end of it.
    ///
    /// # Safety
    /// `from` is one that this device copies from, and a matrix of as many numbers lies there; both
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
    /// What is computed from now on comes after it.
    fn follow(&self, mark: &Self::Mark) -> Result<()>;
    fn is_past(&self, mark: &Self::Mark) -> Result<bool>;
    /// As [`Lapack::potrf`](crate::device::lapack::Lapack::potrf) of the upper triangle, but it
    /// need not be done when this returns: see [`AsyncCopy::outcome`].
    fn start_potrf(&self, a: &mut Self::Mat<'_>) -> Result<Self::Outcome>;
    /// What has become of it, once a later mark is past.
    fn outcome(&self, outcome: &Self::Outcome) -> Result<()>;
    /// Waits until the device does nothing any more, whatever has happened.
    fn drain(&self);
}

fn unreachable_memory<R>() -> Result<R> {
    Err(Error::Internal {
        what: "a device was asked for the memory of another that it does not reach".into(),
    })
}
