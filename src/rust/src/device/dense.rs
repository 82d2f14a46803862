//! All dense capabilities of a machine together.
//!
//! A driver that needs less names the smaller trait in its bound: [`Memory`],
//! [`Blas`](crate::device::blas::Blas), [`Lapack`], [`Batched`], [`Streamed`], [`FactorUpdate`] or
//! [`CovarianceMatrix`].

use crate::base::scalar::Scalar;
use crate::device::batched::Batched;
use crate::device::covariance::CovarianceMatrix;
use crate::device::lapack::Lapack;
use crate::device::memory::Memory;
use crate::device::streamed::Streamed;
use crate::device::update::FactorUpdate;

/// A machine with every dense verb. Every type with these parts has it.
pub trait Device<T: Scalar>:
    Memory<T> + Lapack<T> + Batched<T> + Streamed<T> + FactorUpdate<T> + CovarianceMatrix<T>
{
}

impl<T: Scalar, D> Device<T> for D where
    D: Memory<T> + Lapack<T> + Batched<T> + Streamed<T> + FactorUpdate<T> + CovarianceMatrix<T>
{
}
