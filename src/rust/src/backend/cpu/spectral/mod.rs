//! Eigenvalues and singular values, guarded.
//!
//! Symmetric matrices, and singular values alone, come from reductions of this folder
//! (`tridiagonal`, `bidiagonal`), which read and write the matrix once a step. Symmetric vectors
//! come from divide and conquer (`divide`). Singular vectors and general matrices are faer's.
//!
//! faer 0.24 can fail to converge, and near the ends of the range of numbers some of its routines
//! return wrong results as right ones. So each result is checked in `probe`, by a few products with
//! vectors. What fails the check is computed again: by faer, by its QR iteration instead of divide
//! and conquer, then by routines of this folder, in double precision (`jacobi`, `hqr`).
//!
//! It imports `base`, `vector`, `gemm`, `qr` and the views of `matrix`. Start with [`symmetric`].

mod basis;
pub(super) mod batch;
mod bidiagonal;
mod bidiagonal_pass;
#[cfg(test)]
mod bidiagonal_tests;
mod bidiagonal_values;
mod columns;
mod divide;
#[cfg(test)]
mod divide_tests;
pub(super) mod general;
mod hqr;
mod jacobi;
mod lines;
mod probe;
mod secular;
mod square;
pub(super) mod svd;
pub(super) mod symmetric;
mod tridiagonal;
mod tridiagonal_leaf;
mod tridiagonal_pass;
#[cfg(test)]
mod tridiagonal_tests;
mod tridiagonal_values;
mod vectors;

use faer::dyn_stack::{MemBuffer, StackReq};
use faer::{MatMut, MatRef, Par};

use crate::base::error::{Error, Result};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::share;

/// Below this order one thread is faster: waking others costs more than the steps between two
/// products take.
const ALONE: usize = 400;

/// How many of so many threads a decomposition of this order may use.
pub fn threads_for(order: usize, threads: usize) -> usize {
    match order < ALONE {
        true => 1,
        false => threads,
    }
}

/// How faer runs a decomposition of this order.
fn parallelism(order: usize, threads: usize) -> Par {
    match share(threads_for(order, threads), (order as f64).powi(3)) {
        1 => Par::Seq,
        several => Par::rayon(several),
    }
}

/// The largest magnitude on the diagonal and off it; NaN does not count.
fn largest(d: &[f64], e: &[f64]) -> f64 {
    let both = d.iter().chain(e);
    both.fold(0.0, |largest: f64, x| largest.max(x.abs()))
}

fn workspace(needed: StackReq) -> Result<MemBuffer> {
    MemBuffer::try_new(needed).map_err(|_| Error::HostMemory {
        needed: needed.unaligned_bytes_required() as u64,
    })
}

/// The matrix in double precision, by columns.
fn widened<T: Scalar>(a: MatRef<'_, T>) -> Result<Vec<f64>> {
    let (m, n) = a.shape();
    let mut wide = try_zeroed(m * n)?;
    for (j, column) in wide.chunks_exact_mut(m.max(1)).enumerate() {
        column
            .iter_mut()
            .enumerate()
            .for_each(|(i, w)| *w = a[(i, j)].to_f64());
    }
    Ok(wide)
}

/// Writes the first columns of a matrix in double precision to all of `to`.
fn narrow_to<T: Scalar>(wide: &[f64], mut to: MatMut<'_, T>) {
    let m = to.nrows();
    for j in 0..to.ncols() {
        for i in 0..m {
            to[(i, j)] = T::from_f64(wide[j * m + i]);
        }
    }
}

fn narrow_values<T: Scalar>(wide: &[f64], to: &mut [T]) {
    to.iter_mut()
        .zip(wide)
        .for_each(|(to, from)| *to = T::from_f64(*from));
}
