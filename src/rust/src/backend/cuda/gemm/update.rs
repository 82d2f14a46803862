//! How a product is added to C: the triangle, the factors alpha and beta, and a flag that cancels
//! it.

use crate::base::scalar::Scalar;

/// Which part of C is computed; the rest is neither read nor written. Lower has the entries (i, j)
/// with i >= j, upper those with i <= j, also where C is not square.
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

/// What the error of a product must be within, u = 2^-53.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// `k u |A||B|` for each entry, as for sums in double precision.
    Entries,
    /// The same, where operands have no zeros and magnitudes that do not differ widely within a
    /// line; others are multiplied in double precision. The host does not wait for what they are.
    DenseEntries,
    /// `k u |a_i| |b_j|` with the norms of a row and a column, which is all that the analysis of
    /// stable factorizations asks for.
    Norms,
}

/// How to add a product to a matrix, and the device flag that cancels it (0: none).
#[derive(Clone, Copy)]
pub(crate) struct Update<T> {
    pub alpha: T,
    pub beta: T,
    pub triangle: UpdatedPart,
    pub bound: Bound,
    pub stop: u64,
}

impl<T: Scalar> Update<T> {
    /// `C <- A B`
    pub(crate) fn assign() -> Self {
        Update {
            alpha: T::from_f64(1.0),
            beta: T::from_f64(0.0),
            triangle: UpdatedPart::Full,
            bound: Bound::Entries,
            stop: 0,
        }
    }

    /// The same, with an error that is bounded by norms.
    pub(crate) fn by_norms(self) -> Self {
        Update {
            bound: Bound::Norms,
            ..self
        }
    }

    /// `C <- C - A B`
    pub(crate) fn subtract() -> Self {
        Update {
            alpha: T::from_f64(-1.0),
            beta: T::from_f64(1.0),
            triangle: UpdatedPart::Full,
            bound: Bound::Entries,
            stop: 0,
        }
    }
}

/// Products that take this share of the longest launch are fenced, so that only a few are ever
/// queued.
pub(super) const FENCED: f64 = 2e-3;
