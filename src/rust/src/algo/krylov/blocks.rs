//! Blocks of vectors, and what conjugate gradients need of matrices and preconditioners.
//!
//! A block is an n x k matrix whose columns belong to k systems with one matrix. [`Blocks`] is the
//! little arithmetic that the iteration of `pcg` is written in: `host_blocks` has it for memory of
//! the host, beside sparse matrices, and `device_blocks` composes it of a device's functions.
//! Scalars are in double precision whatever the blocks are.

use crate::base::error::{Error, Result};

/// The arithmetic of blocks. Shapes are the caller's duty; no block is both an operand and a
/// result.
pub trait Blocks {
    type Block;

    /// Rows and columns.
    fn shape(&self, x: &Self::Block) -> (usize, usize);
    fn zeros(&self, rows: usize, columns: usize) -> Result<Self::Block>;
    fn copy(&self, x: &Self::Block) -> Result<Self::Block>;
    /// `to <- x`, of the same shape.
    fn assign(&self, x: &Self::Block, to: &mut Self::Block) -> Result<()>;

    /// The inner product of every column of x with that of y.
    fn dots(&self, x: &Self::Block, y: &Self::Block) -> Result<Vec<f64>>;
    /// The Euclidean norm of every column, without overflow or underflow.
    fn norms(&self, x: &Self::Block) -> Result<Vec<f64>>;
    /// `y <- y + x diag(by)`. What is not finite in a column of x reaches that column of y alone.
    fn add(&self, x: &Self::Block, by: &[f64], y: &mut Self::Block) -> Result<()>;
    /// `y <- x + y diag(by)`, as [`Blocks::add`] otherwise.
    fn add_to(&self, x: &Self::Block, by: &[f64], y: &mut Self::Block) -> Result<()>;
    /// `y <- y - x`.
    fn subtract(&self, x: &Self::Block, y: &mut Self::Block) -> Result<()>;
    /// One iteration's step: `x <- x + p diag(steps)`, `r <- r - q diag(steps)`; the norms of r's
    /// columns.
    fn advance(
        &self,
        steps: &[f64],
        (p, x): (&Self::Block, &mut Self::Block),
        (q, r): (&Self::Block, &mut Self::Block),
    ) -> Result<Vec<f64>> {
        let back: Vec<f64> = steps.iter().map(|s| -s).collect();
        self.add(p, steps, x)?;
        self.add(q, &back, r)?;
        self.norms(r)
    }
    /// Powers of 2 with exponents up to this magnitude may be factors.
    fn exponents(&self) -> f64;
    /// `x diag(by)`, of finite x.
    fn scaled(&self, x: &Self::Block, by: &[f64]) -> Result<Self::Block>;
    /// `out <- diag(d) x`, with d of one column.
    fn multiply_rows(&self, d: &Self::Block, x: &Self::Block, out: &mut Self::Block) -> Result<()>;

    /// A block of one column from numbers of the host.
    fn column(&self, x: &[f64]) -> Result<Self::Block>;
    /// The columns listed, in their order.
    fn gather(&self, x: &Self::Block, columns: &[usize]) -> Result<Self::Block>;
    /// Column c of x becomes column `columns[c]` of `to`.
    fn scatter(&self, x: &Self::Block, columns: &[usize], to: &mut Self::Block) -> Result<()>;
}

/// A symmetric matrix of order n that multiplies blocks.
pub trait Operator<S: Blocks> {
    fn order(&self, blocks: &S) -> usize;
    /// `out <- A x`, for blocks of any number of columns, each of which must depend on that of x
    /// alone.
    fn multiply(&self, blocks: &S, x: &S::Block, out: &mut S::Block) -> Result<()>;
}

/// A symmetric positive definite matrix M near A whose systems are easily solved.
pub trait Preconditioner<S: Blocks> {
    /// `out <- M^-1 r`, for blocks of any number of columns. M must be the same in every iteration.
    fn solve(&self, blocks: &S, r: &S::Block, out: &mut S::Block) -> Result<()>;
    /// Whether M = I, so that there is nothing to solve.
    fn is_identity(&self) -> bool {
        false
    }
}

/// An error unless a preconditioner has the order of the matrix.
pub(crate) fn require_order(order: usize, rows: usize) -> Result<()> {
    if order == rows {
        return Ok(());
    }
    Err(Error::Dimension {
        what: "the preconditioner has another order than the matrix".into(),
    })
}

/// An error unless all entries are positive and finite.
pub(crate) fn check_diagonal(diagonal: &[f64]) -> Result<()> {
    if diagonal.iter().any(|d| d.is_nan() || *d == f64::INFINITY) {
        return Err(Error::NonFiniteIn { argument: "A" });
    }
    match diagonal.iter().position(|d| *d <= 0.0) {
        Some(i) => Err(Error::NotPositiveDefinite { order: i + 1 }),
        None => Ok(()),
    }
}

/// A matrix of order `order` given by a function `(x, out)` that multiplies.
pub struct Product<F> {
    pub order: usize,
    pub multiply: F,
}

impl<S: Blocks, F: Fn(&S::Block, &mut S::Block) -> Result<()>> Operator<S> for Product<F> {
    fn order(&self, _: &S) -> usize {
        self.order
    }

    fn multiply(&self, _: &S, x: &S::Block, out: &mut S::Block) -> Result<()> {
        (self.multiply)(x, out)
    }
}

/// A preconditioner given by a function `(r, out)` that solves.
pub struct Solve<F>(pub F);

impl<S: Blocks, F: Fn(&S::Block, &mut S::Block) -> Result<()>> Preconditioner<S> for Solve<F> {
    fn solve(&self, _: &S, r: &S::Block, out: &mut S::Block) -> Result<()> {
        (self.0)(r, out)
    }
}

/// No preconditioner: M = I.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unpreconditioned;

impl<S: Blocks> Preconditioner<S> for Unpreconditioned {
    fn solve(&self, blocks: &S, r: &S::Block, out: &mut S::Block) -> Result<()> {
        blocks.assign(r, out)
    }

    fn is_identity(&self) -> bool {
        true
    }
}

/// Jacobi's preconditioner: M = diag(A).
pub struct Jacobi<B> {
    /// One column.
    inverse: B,
}

impl<B> Jacobi<B> {
    /// From the diagonal of A. An entry that is not greater than zero is
    /// [`Error::NotPositiveDefinite`] with the order of a minor that has it in its corner; one that
    /// is infinite or NaN, [`Error::NonFiniteIn`]; one so small that its reciprocal is infinite,
    /// [`Error::NonFinite`].
    pub fn new(blocks: &impl Blocks<Block = B>, diagonal: &[f64]) -> Result<Self> {
        check_diagonal(diagonal)?;
        let mut inverse: Vec<f64> = crate::base::scalar::try_zeroed(diagonal.len())?;
        for (i, d) in inverse.iter_mut().zip(diagonal) {
            *i = 1.0 / d;
            if i.is_infinite() {
                return Err(Error::NonFinite);
            }
        }
        Ok(Jacobi {
            inverse: blocks.column(&inverse)?,
        })
    }
}

impl<S: Blocks> Preconditioner<S> for Jacobi<S::Block> {
    fn solve(&self, blocks: &S, r: &S::Block, out: &mut S::Block) -> Result<()> {
        require_order(blocks.shape(&self.inverse).0, blocks.shape(r).0)?;
        blocks.multiply_rows(&self.inverse, r, out)
    }
}
