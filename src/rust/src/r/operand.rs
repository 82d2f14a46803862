//! Operands beside a `gpu_matrix`: handles of others, and double vectors that repeat.

use extendr_api::prelude::*;

use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Elementwise, Operand};
use crate::r::args;
use crate::r::resident::{apart, held, Held, Holds};

/// Finds a matrix of the device again.
pub trait Finds<T: Scalar>: Elementwise<T> + Holds<T> {
    /// `None` where the matrix is on another device or of another precision.
    fn find<'h>(&self, held: &'h Held) -> Option<&'h Self::Mat<'static>>;
}

impl<T: Scalar, D: Elementwise<T> + Holds<T>> Finds<T> for D
where
    D::Mat<'static>: 'static,
{
    fn find<'h>(&self, held: &'h Held) -> Option<&'h Self::Mat<'static>> {
        (held.target() == self.processor())
            .then_some(held)?
            .matrix(self)
            .ok()
    }
}

pub fn unknown(what: &str) -> Error {
    Error::Internal {
        what: format!("a native routine was called with an unknown {what}"),
    }
}

/// An argument that a matrix stands beside.
pub enum Value<'v> {
    Held(&'v Held),
    Number(f64),
    Values(&'v [f64]),
}

impl<'v> Value<'v> {
    pub fn new(x: &'v Robj) -> Result<Self> {
        if x.rtype() != Rtype::Doubles {
            return Ok(Value::Held(held(x)?));
        }
        Ok(match args::doubles(x)? {
            [x] => Value::Number(*x),
            values => Value::Values(values),
        })
    }

    pub fn held(&self) -> Option<&'v Held> {
        match self {
            Value::Held(a) => Some(a),
            _ => None,
        }
    }
}

/// The same where it can be computed with.
pub enum There<'v, M> {
    Matrix(&'v M),
    Number(f64),
    Loaded(M),
}

pub fn bring<'v, T: Scalar, D: Finds<T>>(
    dev: &D,
    x: &Value<'v>,
) -> Result<There<'v, D::Mat<'static>>> {
    Ok(match x {
        Value::Held(a) => There::Matrix(dev.find(a).ok_or_else(apart)?),
        Value::Number(x) => There::Number(*x),
        Value::Values(values) => {
            let values = T::borrow_host(values)?;
            let column = args::view(&values, (values.len(), 1));
            There::Loaded(dev.load_temporary(column, Part::All)?)
        }
    })
}

impl<M> There<'_, M> {
    /// A matrix of the result's shape is taken as it is; all others repeat.
    pub fn operand(&self, fits: impl Fn(&M) -> bool) -> Operand<'_, M> {
        match self {
            There::Matrix(a) if fits(a) => Operand::Matrix(a),
            There::Matrix(a) => Operand::Recycled(a),
            There::Number(x) => Operand::Number(*x),
            There::Loaded(a) => Operand::Recycled(a),
        }
    }
}
