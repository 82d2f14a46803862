//! The contract for sparse symmetric matrices, and for the steps of algebraic multigrid with them.
//!
//! A matrix is stored by rows with the entries of both triangles, columns ascending. Beside it is a
//! diagonal D for relaxation, `d_i = max(a_ii, sum_j |a_ij| / 2)`: of any symmetric positive
//! definite matrix the eigenvalues of `D^-1 A` are then at most 2, since those of A are not above
//! those of the diagonal of the sums. Of a row without entries `d_i` is 1.
//!
//! A coarser matrix has a row for each aggregate, a set of rows: interpolation P has an entry 1 for
//! each row that is in one, and `P' A P` sums entries up by aggregates. Aggregates are pairs of
//! rows that are each other's strongest neighbours among those that are left, and rows that join
//! them, where these are not weak ([`WEAK`]). Two rows are neighbours where their entry is
//! negative, by as much as `-a_ij / sqrt(d_i d_j)` in single precision without its last bits, so
//! that rounding hardly ever decides; a number made of both rows' numbers ([`priority`]) decides
//! between those that are alike.

use crate::base::error::Result;
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::Stored;
use crate::base::sparse::view::CscRef;
use crate::device::elementwise::Elementwise;
use crate::device::multigrid::{Interpolation, LevelOperator};

/// A symmetric matrix of the host by columns, as R has it: where each begins and the last one ends,
/// rows counted from 0, values.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    pub starts: &'a [i32],
    pub index: &'a [i32],
    pub values: &'a [f64],
    pub stored: Stored,
}

impl<'a> Columns<'a> {
    /// A matrix of so many rows whose parts were checked.
    ///
    /// Errors: [`Error::Dimension`](crate::base::error::Error::Dimension), and of memory.
    pub fn copied(&self, rows: usize) -> Result<Csc> {
        CscRef {
            rows,
            ..self.view()
        }
        .owned()
    }

    /// The same as a square matrix whose parts are not checked.
    pub(crate) fn view(&self) -> CscRef<'a, i32, i32> {
        self.of_rows(self.starts.len().saturating_sub(1))
    }

    /// The same as a matrix of so many rows whose parts are not checked.
    pub(crate) fn of_rows(&self, rows: usize) -> CscRef<'a, i32, i32> {
        CscRef {
            rows,
            starts: self.starts,
            index: self.index,
            values: self.values,
        }
    }
}

/// How many times every row that is left is asked for its strongest neighbour. What four leave are
/// a few rows in a hundred, which join others.
pub const ROUNDS: usize = 4;

/// A row whose other entries sum up to no more than this part of its own is in no aggregate:
/// relaxation alone solves it.
pub const DOMINANT: f64 = 1.0 / 8.0;

/// A neighbour whose strength is a smaller part of that of the row's strongest is none: so a region
/// that small entries join to the rest becomes one row by itself, whatever its shape, before it is
/// joined to others. Where nothing relaxes it is the strength itself that must not be smaller than
/// [`FAINT`].
pub const WEAK: f32 = 1.0 / 64.0;
pub const FAINT: f32 = 1.0 / 256.0;

/// Bits of a strength in single precision that do not count: neighbours that differ by 1e-4 are
/// alike.
pub const ALIKE: u32 = !0x3ff;

fn mixed(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// What decides between neighbours: the strength first, then a number that looks drawn at random
/// and is the same seen from either row.
pub fn priority(i: u32, j: u32, strength: f64) -> u64 {
    let (low, high) = (i.min(j), i.max(j));
    let drawn = mixed(mixed(low).wrapping_add(high.wrapping_mul(0x9e37_79b1)));
    u64::from((strength as f32).to_bits() & ALIKE) << 32 | u64::from(drawn)
}

/// Arithmetic with sparse matrices. Vectors are columns, several of them beside each other, of as
/// many rows as the matrix has, or as there are rows or aggregates; no result is an operand. What
/// does not fit together is [`Dimension`](crate::base::error::Error::Dimension).
pub trait Sparse: Elementwise<f64> + Sized {
    /// A matrix with its diagonal for relaxation.
    type Csr: LevelOperator<Self>;
    /// Which aggregate each row is in, if it is in one, and the rows of each, ascending.
    type Aggregates: Interpolation<Self>;

    /// A matrix from the host. Errors: [`Dimension`](crate::base::error::Error::Dimension) of parts
    /// that do not fit together or are out of order, and of more entries than 31 bits count;
    /// [`NonFiniteIn`](crate::base::error::Error::NonFiniteIn) of an entry and
    /// [`NotSymmetric`](crate::base::error::Error::NotSymmetric), which name `A`; and of memory.
    /// What is not stored is zero.
    fn sparse_load(&self, a: Columns<'_>) -> Result<Self::Csr>;

    /// All entries by rows, brought to the host.
    fn sparse_read(&self, a: &Self::Csr) -> Result<Csc<i32>>;

    /// Rows.
    fn sparse_order(&self, a: &Self::Csr) -> usize;

    /// Entries `a_ii`, zero where none is stored.
    fn sparse_diagonal(&self, a: &Self::Csr) -> Result<Vec<f64>>;

    /// `diag(by) A diag(by)`, for one column of finite numbers.
    fn sparse_scaled(&self, a: &Self::Csr, by: &Self::Mat<'static>) -> Result<Self::Csr>;

    /// Aggregates of a pair of rows or a few more. Rows whose other entries sum up to no more than
    /// `apart` times their own, as [`DOMINANT`] has it, are in none; with -1 rows without entries
    /// alone. That is for a matrix with which nothing relaxes: aggregates of its rows are to be
    /// such as relaxation with the matrix before sees the difference of, by whose diagonal
    /// ([`Sparse::sparse_inherit`]) neighbours are strong or [`FAINT`] then.
    fn sparse_aggregate(&self, a: &Self::Csr, apart: f64) -> Result<Self::Aggregates>;

    /// How many there are.
    fn sparse_count(&self, of: &Self::Aggregates) -> usize;

    /// The aggregate of each row on the host, -1 for none.
    #[cfg(feature = "testing")]
    fn sparse_members(&self, of: &Self::Aggregates) -> Result<Vec<i32>>;

    /// The aggregates of aggregates as aggregates of rows.
    fn sparse_compose(
        &self,
        inner: &Self::Aggregates,
        outer: &Self::Aggregates,
    ) -> Result<Self::Aggregates>;

    /// `scale P' A P`, in an order of operations that depends on the matrix alone.
    fn sparse_coarsen(&self, a: &Self::Csr, of: &Self::Aggregates, scale: f64)
        -> Result<Self::Csr>;

    /// The coarse matrix's diagonal for relaxation becomes `P' D` of this one's.
    fn sparse_inherit(
        &self,
        a: &Self::Csr,
        of: &Self::Aggregates,
        coarse: &mut Self::Csr,
    ) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::priority;

    #[test]
    fn priorities_are_symmetric_and_led_by_strength() {
        assert_eq!(priority(3, 70, 0.25), priority(70, 3, 0.25));
        assert!(priority(1, 2, 0.5) > priority(5, 6, 0.25));
        assert_ne!(priority(1, 2, 0.5), priority(2, 3, 0.5));
        let by_a_little = priority(1, 2, 0.5 * (1.0 + 1e-12));
        assert_eq!(by_a_little, priority(1, 2, 0.5));
    }
}
