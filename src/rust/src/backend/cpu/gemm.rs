//! Products.

use faer::linalg::matmul::{matmul, triangular};
use faer::{Accum, MatMut, MatRef};

use super::threads::{par, share};
use crate::error::Result;
use crate::interrupt;
use crate::scalar::Scalar;

/// Edge of the pieces a product is cut into, so that the user is asked about stopping every fraction of a second.
const TILE: usize = 2048;
/// Multiplications that keep one thread busy for longer than it takes to wake it.
const GRAIN: f64 = 4e6;

/// `C <- alpha A B + beta C`; C is not read when `beta` is zero.
pub(crate) fn gemm<T: Scalar>(
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    beta: T,
    mut c: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
    if k == 0 || beta != T::from_f64(0.0) && beta != T::from_f64(1.0) {
        for j in 0..n {
            for i in 0..m {
                let old = c[(i, j)];
                c[(i, j)] = if beta == T::from_f64(0.0) {
                    beta
                } else {
                    beta * old
                };
            }
        }
    }
    let mut accum = if beta == T::from_f64(0.0) {
        Accum::Replace
    } else {
        Accum::Add
    };
    for p in (0..k).step_by(TILE) {
        let kb = TILE.min(k - p);
        for j in (0..n).step_by(TILE) {
            let nb = TILE.min(n - j);
            for i in (0..m).step_by(TILE) {
                let mb = TILE.min(m - i);
                interrupt::poll()?;
                product(
                    c.as_mut().submatrix_mut(i, j, mb, nb),
                    accum,
                    a.submatrix(i, p, mb, kb),
                    b.submatrix(p, j, kb, nb),
                    alpha,
                    threads,
                );
            }
        }
        accum = Accum::Add;
    }
    Ok(())
}

/// `C (+)= alpha A B` in one piece.
pub(crate) fn product<T: Scalar>(
    c: MatMut<'_, T>,
    accum: Accum,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    alpha: T,
    threads: usize,
) {
    let work = a.nrows() as f64 * a.ncols() as f64 * b.ncols() as f64;
    matmul(c, accum, a, b, alpha, par(share(threads, work, GRAIN)));
}

/// `C += alpha A A'` in the lower triangle of C.
pub(crate) fn rank_update_lower<T: Scalar>(
    c: MatMut<'_, T>,
    a: MatRef<'_, T>,
    alpha: T,
    threads: usize,
) {
    let work = a.nrows() as f64 * a.nrows() as f64 * a.ncols() as f64 / 2.0;
    triangular::matmul(
        c,
        triangular::BlockStructure::TriangularLower,
        Accum::Add,
        a,
        triangular::BlockStructure::Rectangular,
        a.transpose(),
        triangular::BlockStructure::Rectangular,
        alpha,
        par(share(threads, work, GRAIN)),
    );
}

/// `C <- B'B`, both triangles, exactly symmetric.
pub(crate) fn crossproduct<T: Scalar>(
    b: MatRef<'_, T>,
    mut c: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let n = b.ncols();
    gemm(
        T::from_f64(1.0),
        b.transpose(),
        b,
        T::from_f64(0.0),
        c.as_mut(),
        threads,
    )?;
    for j in 0..n {
        for i in 0..j {
            c[(j, i)] = c[(i, j)];
        }
    }
    Ok(())
}
