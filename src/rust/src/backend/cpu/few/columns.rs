//! Products with few columns, which take the time that their matrix takes from memory.
//!
//! Parts of a matrix depend on its shape alone: no bit depends on the number of threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::kernels::{Four, Triangle};
use crate::backend::cpu::gemm::gemm;
use crate::backend::cpu::matrix::views::{columns, require};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::Trans;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::simd::dispatch;
use crate::base::threads::{join, share};

/// An entry on its way from memory costs about as much as this many multiplications.
const PASSING: f64 = 16.0;

/// With more columns than this, multiplications take the time.
const FEW: usize = 8;

/// The same of symmetric matrices, of which half is read for each four columns.
const FEW_SYMMETRIC: usize = 32;

/// Entries of a part of a matrix that one thread takes.
const PART: usize = 1 << 18;

/// Parts of a symmetric matrix, at most: each has a sum of its own.
const PARTS: usize = 16;

pub(super) fn work(rows: usize, cols: usize) -> f64 {
    PASSING * rows as f64 * cols as f64
}

/// Where to halve `len` lines, which are cut at multiples of 8.
pub(super) fn half(len: usize) -> usize {
    (len / 2).next_multiple_of(8)
}

/// `out <- op(A) X`.
pub(in crate::backend::cpu) fn multiply<T: Scalar>(
    op: Trans,
    a: MatRef<'_, T>,
    x: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (k, m, n) = (x.ncols(), a.nrows(), a.ncols());
    let (zero, one) = (T::from_f64(0.0), T::from_f64(1.0));
    let is_few = k <= FEW && m > 0 && n > 0;
    let shared = share(threads, work(m, n));
    interrupt::poll()?;
    if op.is_yes() {
        // faer need not copy A for the transpose of this product.
        let mut across = try_zeroed::<T>(k * n)?;
        let mut across = MatMut::from_column_major_slice_mut(&mut across, k, n);
        match is_few {
            true => by_columns(a, x, across.as_mut(), shared),
            false => gemm(one, x.transpose(), a, zero, across.as_mut(), threads)?,
        }
        for j in 0..k {
            (0..n).for_each(|i| out[(i, j)] = across[(j, i)]);
        }
    } else if is_few {
        by_rows(a, x, out, shared);
    } else {
        return gemm(one, a, x, zero, out, threads);
    }
    if is_few {
        progress::advance(2.0 * m as f64 * n as f64 * k as f64);
    }
    Ok(())
}

fn by_rows<T: Scalar>(a: MatRef<'_, T>, x: MatRef<'_, T>, out: MatMut<'_, T>, threads: usize) {
    let (m, n) = a.shape();
    if m < 16 || m * n <= PART {
        return matmul(out, Accum::Replace, a, x, T::from_f64(1.0), Par::Seq);
    }
    let at = half(m);
    let ((top, bottom), (a1, a2)) = (out.split_at_row_mut(at), a.split_at_row(at));
    join(
        threads,
        |t| by_rows(a1, x, top, t),
        |t| by_rows(a2, x, bottom, t),
    );
}

/// `out <- X'A`.
fn by_columns<T: Scalar>(a: MatRef<'_, T>, x: MatRef<'_, T>, out: MatMut<'_, T>, threads: usize) {
    let (m, n) = a.shape();
    if n < 16 || m * n <= PART {
        return matmul(
            out,
            Accum::Replace,
            x.transpose(),
            a,
            T::from_f64(1.0),
            Par::Seq,
        );
    }
    let at = half(n);
    let ((left, right), (a1, a2)) = (out.split_at_col_mut(at), a.split_at_col(at));
    join(
        threads,
        |t| by_columns(a1, x, left, t),
        |t| by_columns(a2, x, right, t),
    );
}

/// `out <- A X` for a symmetric matrix A with both triangles, one of which is hardly read.
pub(in crate::backend::cpu) fn symmetric<T: Scalar>(
    a: MatRef<'_, T>,
    x: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (n, k) = x.shape();
    let fits = a.shape() == (n, n) && out.shape() == (n, k);
    require(fits, "the shapes of a product do not agree")?;
    if k > FEW_SYMMETRIC || n == 0 {
        return gemm(T::from_f64(1.0), a, x, T::from_f64(0.0), out, threads);
    }
    let a = columns(a)?;
    let entries: Vec<&[T]> = (0..n).map(|j| a.col(j).as_slice()).collect();
    let area = n * (n + 1) / 2;
    let (least, threads) = (
        PART.max(area / PARTS),
        share(threads, PASSING * area as f64),
    );
    let zeros = try_zeroed::<T>(n)?;
    let x = columns(x)?;
    for first in (0..k).step_by(4) {
        interrupt::poll()?;
        let column = |j: usize| match first + j < k {
            true => x.col(first + j).as_slice(),
            false => &zeros[..],
        };
        let x = [column(0), column(1), column(2), column(3)];
        let y = triangle(&entries, x, &zeros, (0, n), least, threads)?;
        for (j, y) in (first..k.min(first + 4)).zip(y.chunks_exact(n)) {
            (0..n).for_each(|i| out[(i, j)] = y[i]);
        }
    }
    progress::advance(2.0 * n as f64 * n as f64 * k as f64);
    Ok(())
}

/// What these rows of the lower triangle and their mirror images add to the product.
fn triangle<T: Scalar>(
    a: &[&[T]],
    x: Four<'_, T>,
    zeros: &[T],
    (from, to): (usize, usize),
    least: usize,
    threads: usize,
) -> Result<Vec<T>> {
    let n = a.len();
    let area = (to - from) * (to + from) / 2;
    if area <= least || to - from < 64 {
        let mut out = try_zeroed::<T>(4 * n)?;
        let (left, right) = out.split_at_mut(2 * n);
        let ((a0, a1), (a2, a3)) = (left.split_at_mut(n), right.split_at_mut(n));
        let (y, rows) = ([a0, a1, a2, a3], (from, to));
        dispatch::<T, _>(Triangle {
            a,
            x,
            y,
            rows,
            zeros,
        });
        return Ok(out);
    }
    // Half of the area.
    let at = ((from * from + to * to) as f64 / 2.0).sqrt() as usize;
    let at = at / 16 * 16;
    let (one, two) = join(
        threads,
        |t| triangle(a, x, zeros, (from, at), least, t),
        |t| triangle(a, x, zeros, (at, to), least, t),
    );
    let (mut one, two) = (one?, two?);
    one.iter_mut().zip(&two).for_each(|(y, z)| *y += *z);
    Ok(one)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use faer::Mat;

    /// Some matrix.
    pub(crate) fn made(n: usize, k: usize, seed: usize) -> Mat<f64> {
        Mat::from_fn(n, k, |i, j| {
            ((i * 7 + j * 13 + seed) % 19) as f64 / 19.0 - 0.4
        })
    }

    /// Products of every number of columns, with any number of threads.
    fn check(n: usize, exact: &Mat<f64>, f: impl Fn(MatRef<'_, f64>, MatMut<'_, f64>, usize)) {
        let x = made(exact.ncols(), 9, 4);
        for k in [1, 2, 3, 4, 5, 8, 9] {
            let x = x.as_ref().subcols(0, k);
            let [one, four] = [1, 4].map(|threads| {
                let mut out = Mat::from_fn(n, k, |_, _| f64::NAN);
                f(x, out.as_mut(), threads);
                out
            });
            assert!(k > FEW || one == four, "{n} {k}");
            let off = (&one - exact * x).norm_max();
            assert!(off <= 1e-13 * exact.ncols() as f64, "{n} {k}: {off:e}");
        }
    }

    #[test]
    fn products_are_those_of_the_matrix() {
        for n in [1, 2, 3, 8, 17, 129, 511, 512, 513, 1101] {
            let half = made(n, n, 1);
            let a = Mat::from_fn(n, n, |i, j| half[(i.max(j), i.min(j))]);
            check(n, &a, |x, out, threads| {
                symmetric(a.as_ref(), x, out, threads).unwrap();
            });
        }
        for (m, n) in [(1, 1), (7, 900), (900, 7), (1030, 700), (700, 1030)] {
            let (a, across) = (made(m, n, 3), made(m, n, 3).transpose().to_owned());
            check(m, &a, |x, out, threads| {
                multiply(Trans::No, a.as_ref(), x, out, threads).unwrap();
            });
            check(n, &across, |x, out, threads| {
                multiply(Trans::Yes, a.as_ref(), x, out, threads).unwrap();
            });
        }
    }
}
