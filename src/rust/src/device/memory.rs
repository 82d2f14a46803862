//! Matrices of a device: how they come to it, and how they return to the host.

use faer::{MatMut, MatRef};

use crate::base::error::Result;
use crate::base::matrix::{Block, Part};
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;

/// A machine that has column-major matrices of `T`.
///
/// The caller is responsible for shapes. A backend may answer a wrong shape with
/// [`Error::Dimension`](crate::base::error::Error::Dimension). It never reads or writes outside a
/// matrix.
pub trait Memory<T: Scalar> {
    /// A matrix that this device can compute with.
    ///
    /// It may borrow host memory for `'a`. On the CPU an operand is R's memory, and a result is
    /// written to the place where R will read it. On a GPU both stand for device memory, and
    /// [`Memory::store`] copies a result to its home.
    type Mat<'a>;

    /// Whether [`Memory::load`] borrows host memory instead of copying it.
    const BORROWS: bool;

    /// The machine that has the matrices.
    fn processor(&self) -> Processor;
    /// `"cpu"` or `"cuda:0"`.
    fn name(&self) -> String {
        self.processor().name()
    }

    /// A read-only operand. On the CPU it borrows `a`.
    fn load<'a>(&self, a: MatRef<'a, T>) -> Result<Self::Mat<'a>>;
    /// A copy of `part` of `a`, zero elsewhere, whose final contents go to `home`, of the same
    /// shape.
    fn load_into<'a>(
        &self,
        a: MatRef<'_, T>,
        part: Part,
        home: MatMut<'a, T>,
    ) -> Result<Self::Mat<'a>>;
    /// A matrix with undefined entries whose final contents go to `home`.
    fn output<'a>(&self, home: MatMut<'a, T>) -> Result<Self::Mat<'a>>;
    /// A matrix of zeros without a home.
    fn zeros(&self, rows: usize, cols: usize) -> Result<Self::Mat<'static>>;
    /// A copy of `part` of `a`, zero elsewhere, without a home.
    fn load_temporary(&self, a: MatRef<'_, T>, part: Part) -> Result<Self::Mat<'static>>;
    /// Overwrites a matrix with `part` of `from`, of the same shape, and zero elsewhere.
    fn refill(&self, from: MatRef<'_, T>, part: Part, to: &mut Self::Mat<'_>) -> Result<()>;
    /// Sets the diagonal to one and the rest to zero.
    fn set_identity(&self, a: &mut Self::Mat<'_>) -> Result<()>;
    /// Sets what is outside `part` to zero.
    fn keep_part(&self, part: Part, a: &mut Self::Mat<'_>) -> Result<()>;

    /// Copies the contents to the matrix's home and waits for the copy. Without a home it only
    /// waits.
    fn store(&self, a: Self::Mat<'_>) -> Result<()>;
    /// As [`Memory::store`], for a matrix that is zero outside `part`.
    fn store_part(&self, a: Self::Mat<'_>, part: Part) -> Result<()>;
    /// Copies the contents to `out`, of the same shape, and waits for the copy.
    fn read(&self, a: &Self::Mat<'_>, out: MatMut<'_, T>) -> Result<()>;
    /// As [`Memory::read`], for the rows and columns of `block`.
    fn read_block(&self, a: &Self::Mat<'_>, block: Block, out: MatMut<'_, T>) -> Result<()>;

    /// A copy of `part` of a matrix of the device, zero elsewhere, without a home.
    fn duplicate(&self, a: &Self::Mat<'_>, part: Part) -> Result<Self::Mat<'static>>;
    /// Copies a block of one matrix to another, where its first entry goes to row and column `at`.
    fn copy_block(
        &self,
        from: &Self::Mat<'_>,
        block: Block,
        to: &mut Self::Mat<'_>,
        at: (usize, usize),
    ) -> Result<()>;
    /// Rows and columns.
    fn shape(&self, a: &Self::Mat<'_>) -> (usize, usize);
}
