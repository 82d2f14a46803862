//! How a product is added to C: the triangle, the factors alpha and beta, and a flag that cancels
//! it.

use crate::base::scalar::Scalar;

/// Which part of C is computed; the rest is neither read nor written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdatedPart {
    Full = 0,
    Lower = 1,
    Upper = 2,
}

impl UpdatedPart {
    /// The same part seen in the transpose.
    pub(crate) fn t(self) -> Self {
        match self {
            UpdatedPart::Full => UpdatedPart::Full,
            UpdatedPart::Lower => UpdatedPart::Upper,
            UpdatedPart::Upper => UpdatedPart::Lower,
        }
    }
}

/// How to add a product to a matrix, and the device flag that cancels it (0: none).
#[derive(Clone, Copy)]
pub(crate) struct Update<T> {
    pub alpha: T,
    pub beta: T,
    pub triangle: UpdatedPart,
    pub stop: u64,
}

impl<T: Scalar> Update<T> {
    /// `C <- A B`
    pub(crate) fn assign() -> Self {
        Update {
            alpha: T::from_f64(1.0),
            beta: T::from_f64(0.0),
            triangle: UpdatedPart::Full,
            stop: 0,
        }
    }

    /// `C <- C - A B`
    pub(crate) fn subtract() -> Self {
        Update {
            alpha: T::from_f64(-1.0),
            beta: T::from_f64(1.0),
            triangle: UpdatedPart::Full,
            stop: 0,
        }
    }
}

/// Products that take this share of the longest launch are fenced, so that only a few are ever
/// queued.
pub(super) const FENCED: f64 = 2e-3;
