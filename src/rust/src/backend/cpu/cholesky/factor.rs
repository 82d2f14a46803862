//! Cholesky factorization.

use faer::linalg::matmul::matmul;
use faer::traits::math_utils::sqrt;
use faer::{Accum, MatMut, MatRef, Par};

use crate::backend::cpu::gemm::rank_update_lower;
use crate::backend::cpu::triangular::trsm;
use crate::backend::cpu::vector::{axpy, exceeds};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::base::simd::vectorized;

/// Order of the diagonal blocks factored in a separate buffer.
pub(crate) const BASE: usize = 64;
/// Columns of such a block factored before the rest of it is updated.
const STEP: usize = 16;

/// `A = LL'` in the lower triangle of any layout: R's upper factor is the lower one of the
/// transposed view, the same memory.
pub(crate) fn potrf<T: Scalar>(a: MatMut<'_, T>, threads: usize) -> Result<()> {
    recurse(a, 0, threads)
}

/// Factors `a`, whose first row is row `start` of the whole matrix.
fn recurse<T: Scalar>(a: MatMut<'_, T>, start: usize, threads: usize) -> Result<()> {
    interrupt::poll()?;
    let n = a.nrows();
    if n <= BASE {
        return base(a, start, &mut [0.0; BASE * BASE]);
    }
    let half = (n / 2).next_multiple_of(BASE);
    let (mut a11, _, mut a21, a22) = a.split_at_mut(half, half);
    recurse(a11.as_mut(), start, threads)?;
    trsm(
        Side::Right,
        Uplo::Lower,
        Trans::Yes,
        Diag::NonUnit,
        a11.as_ref(),
        a21.as_mut(),
        threads,
    )?;
    let mut a22 = a22;
    rank_update_lower(
        a22.as_mut(),
        Accum::Add,
        a21.as_ref(),
        T::from_f64(-1.0),
        threads,
    )?;
    recurse(a22, start + half, threads)
}

/// A block that fits the first level of cache, by columns, and in double precision: in single the
/// many small subtractions from a diagonal entry would be most of the factorization's error. What
/// the buffer holds before does not matter.
pub(crate) fn base<T: Scalar>(
    mut a: MatMut<'_, T>,
    start: usize,
    buffer: &mut [f64; BASE * BASE],
) -> Result<()> {
    let n = a.nrows();
    // Down the columns of `a`, or of what it is the transposed view of.
    if a.row_stride() == 1 {
        for j in 0..n {
            for i in j..n {
                buffer[j * BASE + i] = a[(i, j)].into();
            }
        }
    } else {
        for i in 0..n {
            for j in 0..=i {
                buffer[j * BASE + i] = a[(i, j)].into();
            }
        }
    }
    if let Some(j) = factor_block(buffer, n) {
        return Err(Error::NotPositiveDefinite {
            order: start + j + 1,
        });
    }
    if a.row_stride() == 1 {
        for j in 0..n {
            for i in j..n {
                a[(i, j)] = T::from_f64(buffer[j * BASE + i]);
            }
        }
    } else {
        for i in 0..n {
            for j in 0..=i {
                a[(i, j)] = T::from_f64(buffer[j * BASE + i]);
            }
        }
    }
    Ok(())
}

/// The first column whose pivot is not positive, if any.
fn factor_block(a: &mut [f64; BASE * BASE], n: usize) -> Option<usize> {
    for from in (0..n).step_by(STEP) {
        let to = n.min(from + STEP);
        let failed = factor_columns(a, from, to, n);
        if failed.is_some() {
            return failed;
        }
        let (done, rest) = a.split_at_mut(to * BASE);
        let panel = MatRef::from_column_major_slice(&done[from * BASE..], BASE, to - from);
        for (block, columns) in rest.chunks_mut(STEP * BASE).enumerate() {
            let top = to + block * STEP;
            if top >= n {
                break;
            }
            let width = STEP.min(n - top);
            let columns = &mut columns[..width * BASE];
            let c = MatMut::from_column_major_slice_mut(columns, BASE, width);
            matmul(
                c.subrows_mut(top, n - top),
                Accum::Add,
                panel.subrows(top, n - top),
                panel.subrows(top, width).transpose(),
                -1.0,
                Par::Seq,
            );
        }
    }
    None
}

vectorized! {
    /// Columns `from..to`, of which those before `from` have already been taken off.
    fn factor_columns<'a, T>(
        a: &'a mut [T; BASE * BASE],
        from: usize,
        to: usize,
        n: usize,
    ) -> Option<usize> {
        for j in from..to {
            let (done, rest) = a.split_at_mut(j * BASE);
            let column = &mut rest[j..n];
            for l in done.chunks_exact(BASE).skip(from) {
                axpy(-l[j], &l[j..n], column);
            }
            let pivot = column[0];
            if !exceeds(pivot, T::from_f64(0.0)) {
                return Some(j);
            }
            let root = sqrt(&pivot);
            column[0] = root;
            for x in &mut column[1..] {
                *x /= root;
            }
        }
        None
    }
}
