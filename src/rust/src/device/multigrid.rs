//! The contract for one level of multigrid: its operator, and the way to the next coarser level.
//!
//! Operators are objects of a device: matrices ([`sparse`](super::sparse)) and grids
//! ([`stencil`](super::stencil)). Vectors are columns, several of them next to each other; no
//! result is an operand. Every column of a result depends on that column of the operands alone.

use crate::base::error::Result;
use crate::device::memory::Memory;

/// A step of an iteration: `p <- momentum p + rate D^-1 (b - A x)`, with D diagonal and
/// `d_i = max(a_ii, sum_j |a_ij| / 2)`, so that eigenvalues of `D^-1 A` are at most 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    pub rate: f64,
    pub momentum: f64,
}

/// A symmetric operator A of a level.
pub trait LevelOperator<D: Memory<f64>> {
    /// `out <- b - A x`, or `A x` without b.
    fn residual(
        &self,
        dev: &D,
        b: Option<&D::Mat<'static>>,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()>;

    /// `p` as [`Step`] says, and `out <- x + p`. Without x that is 0, and nothing of p is read.
    fn relax(
        &self,
        dev: &D,
        b: &D::Mat<'static>,
        x: Option<&D::Mat<'static>>,
        step: Step,
        p: &mut D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()>;
}

/// The interpolation P from the next coarser level.
pub trait Interpolation<D: Memory<f64>> {
    /// `out <- P' x`, of the coarser level.
    fn restrict(&self, dev: &D, x: &D::Mat<'static>, out: &mut D::Mat<'static>) -> Result<()>;

    /// `out <- out + P x`, x of the coarser level.
    fn prolong(&self, dev: &D, x: &D::Mat<'static>, out: &mut D::Mat<'static>) -> Result<()>;
}
