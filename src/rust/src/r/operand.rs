//! Operands of routines with a `gpu_matrix`: handles of others, and double vectors that repeat.

use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::scalar::Scalar;
use crate::device::elementwise::Operand;
use crate::device::memory::Memory;
use crate::r::args;
use crate::r::handle::resident;
use crate::r::on_resident::different_devices;
use crate::r::resident::ResidentMatrix;

pub fn unknown(what: &str) -> Error {
    Error::Internal {
        what: format!("a native routine was called with an unknown {what}"),
    }
}

/// An operand as R passes it.
pub enum Value<'v> {
    Resident(&'v ResidentMatrix),
    Number(f64),
    Values(&'v [f64]),
}

impl<'v> Value<'v> {
    pub fn new(x: &'v Robj) -> Result<Self> {
        if x.rtype() != Rtype::Doubles {
            return Ok(Value::Resident(resident(x)?));
        }
        Ok(match args::doubles(x)? {
            [x] => Value::Number(*x),
            values => Value::Values(values),
        })
    }

    pub fn resident(&self) -> Option<&'v ResidentMatrix> {
        match self {
            Value::Resident(a) => Some(a),
            _ => None,
        }
    }
}

/// An operand on the device.
pub enum DeviceOperand<'v, M> {
    Matrix(&'v M),
    Number(f64),
    Loaded(M),
}

/// The matrix of the device, where it is there in this precision.
fn matrix_on<'a, T: Scalar, D: Memory<T>>(
    dev: &D,
    a: &'a ResidentMatrix,
) -> Result<&'a D::Mat<'static>>
where
    D::Mat<'static>: 'static,
{
    if a.target() != dev.processor() {
        return Err(different_devices());
    }
    a.matrix(dev).map_err(|_| different_devices())
}

/// The operand for a computation on this device; a double vector is copied to it.
///
/// # Errors
/// A resident matrix is on another device, or of another precision.
pub fn bring<'v, T: Scalar, D: Memory<T>>(
    dev: &D,
    x: &Value<'v>,
) -> Result<DeviceOperand<'v, D::Mat<'static>>>
where
    D::Mat<'static>: 'static,
{
    Ok(match x {
        Value::Resident(a) => DeviceOperand::Matrix(matrix_on(dev, a)?),
        Value::Number(x) => DeviceOperand::Number(*x),
        Value::Values(values) => {
            let values = T::borrow_host(values)?;
            let column = args::view(&values, (values.len(), 1));
            DeviceOperand::Loaded(dev.load_temporary(column, Part::All)?)
        }
    })
}

impl<M> DeviceOperand<'_, M> {
    /// The operand of a computation by entries: a matrix that fits as a matrix; all others
    /// repeat.
    pub fn operand(&self, fits: impl Fn(&M) -> bool) -> Operand<'_, M> {
        match self {
            DeviceOperand::Matrix(a) if fits(a) => Operand::Matrix(a),
            DeviceOperand::Matrix(a) => Operand::Recycled(a),
            DeviceOperand::Number(x) => Operand::Number(*x),
            DeviceOperand::Loaded(a) => Operand::Recycled(a),
        }
    }
}
