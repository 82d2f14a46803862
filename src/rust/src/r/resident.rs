//! Matrices that stay on their device between calls.

use std::any::Any;

use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;
use crate::device::memory::Memory;

/// A matrix and the machine it is on.
///
/// The type of the matrix follows from the machine and the precision, which dispatch reads before
/// it asks for the matrix. Threads of the CPU belong to each call, since a forked child has none.
pub struct ResidentMatrix {
    processor: Processor,
    single: bool,
    shape: (usize, usize),
    matrix: Box<dyn Any>,
}

impl ResidentMatrix {
    pub fn target(&self) -> Processor {
        self.processor
    }

    pub fn single(&self) -> bool {
        self.single
    }

    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    pub fn bytes(&self) -> usize {
        let (rows, cols) = self.shape;
        rows * cols * if self.single { 4 } else { 8 }
    }

    /// The matrix, for a device of this machine and precision.
    pub fn matrix<T: Scalar, D: Memory<T>>(&self, _: &D) -> Result<&D::Mat<'static>>
    where
        D::Mat<'static>: 'static,
    {
        self.matrix.downcast_ref().ok_or_else(other_type)
    }

    /// As [`ResidentMatrix::matrix`], to be changed. Its shape stays.
    pub fn matrix_mut<T: Scalar, D: Memory<T>>(&mut self, _: &D) -> Result<&mut D::Mat<'static>>
    where
        D::Mat<'static>: 'static,
    {
        self.matrix.downcast_mut().ok_or_else(other_type)
    }
}

fn other_type() -> Error {
    Error::Internal {
        what: "a matrix has another type than its machine and precision say".to_owned(),
    }
}

/// Makes a [`ResidentMatrix`] of a matrix of this device.
pub trait ToResident<T: Scalar>: Memory<T> {
    fn to_resident(&self, a: Self::Mat<'static>) -> ResidentMatrix;
}

impl<T: Scalar, D: Memory<T>> ToResident<T> for D
where
    D::Mat<'static>: 'static,
{
    fn to_resident(&self, a: Self::Mat<'static>) -> ResidentMatrix {
        ResidentMatrix {
            processor: self.processor(),
            single: size_of::<T>() == size_of::<f32>(),
            shape: self.shape(&a),
            matrix: Box::new(a),
        }
    }
}
