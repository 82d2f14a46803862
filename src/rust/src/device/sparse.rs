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

use std::ops::Range;

use crate::base::error::Result;
use crate::device::elementwise::Elementwise;
use crate::device::stencil::Step;

/// Which entries of a symmetric matrix are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// All of them.
    All,
    /// Those of one triangle, with the diagonal; others are not read.
    Lower,
    Upper,
}

/// A symmetric matrix of the host by columns, as R has it: where each begins and the last one ends,
/// rows counted from 0, values.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    pub starts: &'a [i32],
    pub index: &'a [i32],
    pub values: &'a [f64],
    pub stored: Stored,
}

/// A matrix by rows, on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    pub starts: Vec<i32>,
    pub index: Vec<i32>,
    pub values: Vec<f64>,
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

impl Stored {
    /// Whether what is stored at row i of column j is read.
    pub(crate) fn reads(self, i: usize, j: usize) -> bool {
        match self {
            Stored::All => true,
            Stored::Lower => i >= j,
            Stored::Upper => i <= j,
        }
    }
}

/// Calls `f` with row, column and inner product, of rows of a matrix, whose places and values `row`
/// gives, and columns of x. A sum is in the order of its row's entries; some columns at once go
/// through a row together.
pub(crate) fn each_product<'a>(
    rows: Range<usize>,
    row: impl Fn(usize) -> (&'a [i32], &'a [f64]),
    x: &[&[f64]],
    mut f: impl FnMut(usize, usize, f64),
) {
    fn some<'a, const K: usize>(
        rows: Range<usize>,
        row: &impl Fn(usize) -> (&'a [i32], &'a [f64]),
        x: [&[f64]; K],
        mut f: impl FnMut(usize, usize, f64),
    ) {
        for i in rows {
            let (index, values) = row(i);
            let mut sums = [0.0; K];
            for (j, v) in index.iter().zip(values) {
                for (sum, x) in sums.iter_mut().zip(&x) {
                    *sum += v * x[*j as usize];
                }
            }
            let sums = sums.into_iter().enumerate();
            sums.for_each(|(c, sum)| f(i, c, sum));
        }
    }
    for (k, x) in x.chunks(4).enumerate() {
        let f = |i, c, sum| f(i, 4 * k + c, sum);
        match *x {
            [a] => some(rows.clone(), &row, [a], f),
            [a, b] => some(rows.clone(), &row, [a, b], f),
            [a, b, c] => some(rows.clone(), &row, [a, b, c], f),
            [a, b, c, d] => some(rows.clone(), &row, [a, b, c, d], f),
            _ => (),
        }
    }
}

/// Arithmetic with sparse matrices. Vectors are columns, several of them beside each other, of as
/// many rows as the matrix has, or as there are rows or aggregates; no result is an operand. What
/// does not fit together is [`Dimension`](crate::base::error::Error::Dimension).
pub trait Sparse: Elementwise<f64> {
    /// A matrix with its diagonal for relaxation.
    type Csr;
    /// Which aggregate each row is in, if it is in one, and the rows of each, ascending.
    type Aggregates;

    /// A matrix from the host. Errors: [`Dimension`](crate::base::error::Error::Dimension) of parts
    /// that do not fit together or are out of order, and of more entries than 31 bits count;
    /// [`NonFiniteIn`](crate::base::error::Error::NonFiniteIn) of an entry and
    /// [`NotSymmetric`](crate::base::error::Error::NotSymmetric), which name `A`; and of memory.
    /// What is not stored is zero.
    fn sparse_load(&self, a: Columns<'_>) -> Result<Self::Csr>;

    /// All entries, brought to the host.
    fn sparse_read(&self, a: &Self::Csr) -> Result<Rows>;

    /// Rows.
    fn sparse_order(&self, a: &Self::Csr) -> usize;

    /// Entries `a_ii`, zero where none is stored.
    fn sparse_diagonal(&self, a: &Self::Csr) -> Result<Vec<f64>>;

    /// `diag(by) A diag(by)`, for one column of finite numbers.
    fn sparse_scaled(&self, a: &Self::Csr, by: &Self::Mat<'static>) -> Result<Self::Csr>;

    /// `out <- b - A x`, or `A x` where there is no b.
    fn sparse_residual(
        &self,
        a: &Self::Csr,
        b: Option<&Self::Mat<'static>>,
        x: &Self::Mat<'static>,
        out: &mut Self::Mat<'static>,
    ) -> Result<()>;

    /// `p` as [`Step`] says with the diagonal for relaxation, and `out <- x + p`. Without x that is
    /// 0, and nothing of p is read.
    fn sparse_relax(
        &self,
        a: &Self::Csr,
        b: &Self::Mat<'static>,
        x: Option<&Self::Mat<'static>>,
        step: Step,
        p: &mut Self::Mat<'static>,
        out: &mut Self::Mat<'static>,
    ) -> Result<()>;

    /// Aggregates of a pair of rows or a few more. Rows whose other entries sum up to no more than
    /// `apart` times their own, as [`DOMINANT`] has it, are in none; with -1 rows without entries
    /// alone. That is for a matrix with which nothing relaxes: aggregates of its rows are to be
    /// such as relaxation with the matrix before sees the difference of, by whose diagonal
    /// ([`Sparse::sparse_inherit`]) neighbours are strong or [`FAINT`] then.
    fn sparse_aggregate(&self, a: &Self::Csr, apart: f64) -> Result<Self::Aggregates>;

    /// How many there are.
    fn sparse_count(&self, of: &Self::Aggregates) -> usize;

    /// The aggregate of each row, -1 of none, brought to the host.
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

    /// `out <- P' x`.
    fn sparse_restrict(
        &self,
        of: &Self::Aggregates,
        x: &Self::Mat<'static>,
        out: &mut Self::Mat<'static>,
    ) -> Result<()>;

    /// `out <- out + P x`.
    fn sparse_prolong(
        &self,
        of: &Self::Aggregates,
        x: &Self::Mat<'static>,
        out: &mut Self::Mat<'static>,
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
