//! How a driver takes a device at run time: work that any device can do, and what runs it.

use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::device::async_copy::AsyncCopy;
use crate::device::elementwise::Elementwise;
use crate::device::sparse::Sparse;
use crate::device::spectral::SingularValues;
use crate::device::stencil::Stencil;

/// A device with every capability, in the precision `T` and in both.
pub trait AnyDevice<T: Scalar>:
    Elementwise<T> + SingularValues<T> + Elementwise<f64> + Elementwise<f32> + Sparse + Stencil
{
}

impl<T: Scalar, D> AnyDevice<T> for D where
    D: Elementwise<T> + SingularValues<T> + Elementwise<f64> + Elementwise<f32> + Sparse + Stencil
{
}

/// Work that any device can do: a closure that is generic over the device.
pub trait Routine {
    type Value;

    /// After an error it may be called again, on another device.
    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<Self::Value>;
}

/// Work with tiles of `T` that any device can do.
pub trait TileRoutine<T: Scalar> {
    type Value;

    /// As [`Routine::run`].
    fn run<D: AsyncCopy<T>>(&mut self, dev: &D) -> Result<Self::Value>;
}

/// The devices of one call: which one is for some work, and what runs work there.
pub trait Dispatch {
    /// Whether the user asked for single precision.
    fn is_single(&self) -> bool;

    /// The machine for this work, which begins now: the plan of the call tells of it.
    fn processor(&self, work: Work) -> Processor;

    /// Runs a routine on the machine for this work, in the precision that the user asked for, and
    /// shows its progress. The CPU replaces a GPU of which [`Dispatch::recovers`] allows it.
    fn run<R: Routine>(&self, work: Work, routine: &mut R) -> Result<R::Value>;

    /// Runs a routine on this machine in double precision. With `work` it shows its progress, and
    /// the plan of a call on the CPU tells of it.
    fn run_on<R: Routine>(
        &self,
        processor: Processor,
        work: Option<Work>,
        routine: &mut R,
    ) -> Result<R::Value>;

    /// Runs a routine with tiles on this machine, and shows the progress of so many operations.
    fn run_tiles<T: Scalar, R: TileRoutine<T>>(
        &self,
        processor: Processor,
        operations: f64,
        routine: &mut R,
    ) -> Result<R::Value>;

    /// Seconds that the model predicts for this work on the first GPU; `None` where none starts.
    fn seconds_on_gpu(&self, work: &Work) -> Option<f64>;

    /// Bytes of host memory that are free, where the system says it.
    fn free_memory(&self) -> Option<u64>;

    /// Whether the CPU may replace a GPU after this error, without the user having asked. If so,
    /// the failure is noted.
    fn recovers(&self, e: &Error) -> bool;
}
