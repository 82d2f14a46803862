//! Four columns orthogonal to a basis, and to each other.
//!
//! Parts of the rows depend on their number alone: no bit depends on the number of threads.

use faer::{Mat, MatMut, MatRef};

use super::columns::{half, work};
use super::kernels::{Add, Divide, Dots, Four, FourMut, Square};
use crate::backend::cpu::gemm::gemm;
use crate::backend::cpu::matrix::views::{columns, columns_mut};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::base::simd::dispatch;
use crate::base::threads::{join, share};

/// Rows that products with a basis take at once: its part of them fits into the second cache.
const ROWS: usize = 2048;

/// `w <- w - Q Q'w` for the first `count` columns of the parts of Q; answers `(Q'w)'`, with zeros
/// for their other columns.
pub(in crate::backend::cpu) fn project<T: Scalar>(
    q: &[MatRef<'_, T>],
    count: usize,
    mut w: MatMut<'_, T>,
    threads: usize,
) -> Result<Mat<T>> {
    let all = q.iter().map(|part| part.ncols()).sum();
    let mut h = Mat::zeros(w.ncols(), all);
    let fours = all_fours(q, count)?;
    if w.ncols() != 4 || fours.is_empty() {
        let (one, mut at) = (T::from_f64(1.0), 0);
        for part in q {
            let to = h.as_mut().subcols_mut(at, part.ncols());
            gemm(
                one,
                w.as_ref().transpose(),
                *part,
                T::from_f64(0.0),
                to,
                threads,
            )?;
            at += part.ncols();
        }
        let mut at = 0;
        for part in q {
            let of = h.as_ref().subcols(at, part.ncols()).transpose();
            gemm(-one, *part, of, one, w.as_mut(), threads)?;
            at += part.ncols();
        }
        return Ok(h);
    }
    let threads = share(threads, work(w.nrows(), count));
    let rows = (0, w.nrows());
    let sums = along(&fours, four(w.as_ref())?, rows, threads);
    subtract(&fours, &sums, four_mut(w)?, rows, threads);
    for (group, sum) in sums.iter().enumerate() {
        for (k, row) in sum.iter().enumerate() {
            (0..4).for_each(|g| h[(k, 4 * group + g)] = row[g]);
        }
    }
    Ok(h)
}

fn four<T: Scalar>(w: MatRef<'_, T>) -> Result<Four<'_, T>> {
    let w = columns(w)?;
    Ok([0, 1, 2, 3].map(|j| w.col(j).as_slice()))
}

fn four_mut<T: Scalar>(w: MatMut<'_, T>) -> Result<FourMut<'_, T>> {
    let (a, rest) = columns_mut(w)?.split_at_col_mut(1);
    let (b, rest) = rest.split_at_col_mut(1);
    let (c, d) = rest.split_at_col_mut(1);
    Ok([a, b, c, d].map(|w| w.col_mut(0).as_slice_mut()))
}

/// The columns of the parts by fours, up to the one with column `count`: none if a part's columns
/// are no multiple of 4.
fn all_fours<'a, T: Scalar>(q: &[MatRef<'a, T>], count: usize) -> Result<Vec<Four<'a, T>>> {
    let mut out = Vec::with_capacity(count.div_ceil(4));
    for part in q {
        if part.ncols() % 4 != 0 {
            return Ok(Vec::new());
        }
        for at in (0..part.ncols()).step_by(4) {
            if 4 * out.len() < count {
                out.push(four(part.subcols(at, 4))?);
            }
        }
    }
    Ok(out)
}

/// Inner products with rows from `rows.0` to `rows.1` of each four columns.
fn along<T: Scalar>(
    q: &[Four<'_, T>],
    w: Four<'_, T>,
    rows: (usize, usize),
    threads: usize,
) -> Vec<Square<T>> {
    if rows.1 - rows.0 > ROWS {
        let at = rows.0 + half(rows.1 - rows.0);
        let (mut one, two) = join(
            threads,
            |t| along(q, w, (rows.0, at), t),
            |t| along(q, w, (at, rows.1), t),
        );
        for (one, two) in one.iter_mut().zip(two) {
            (0..16).for_each(|p| one[p / 4][p % 4] += two[p / 4][p % 4]);
        }
        return one;
    }
    let w = w.map(|c| &c[rows.0..rows.1]);
    let of = |columns: &Four<'_, T>| {
        let q = columns.map(|c| &c[rows.0..rows.1]);
        dispatch::<T, _>(Dots { q, w })
    };
    q.iter().map(of).collect()
}

/// `w` has the rows from `rows.0` to `rows.1`.
fn subtract<T: Scalar>(
    q: &[Four<'_, T>],
    h: &[Square<T>],
    w: FourMut<'_, T>,
    rows: (usize, usize),
    threads: usize,
) {
    if rows.1 - rows.0 > ROWS {
        let at = half(rows.1 - rows.0);
        let [(a, e), (b, f), (c, g), (d, i)] = w.map(|w| w.split_at_mut(at));
        let middle = rows.0 + at;
        // The last rows first: the cache still has them.
        join(
            threads,
            |t| subtract(q, h, [e, f, g, i], (middle, rows.1), t),
            |t| subtract(q, h, [a, b, c, d], (rows.0, middle), t),
        );
        return;
    }
    let [a, b, c, d] = w;
    for (columns, h) in q.iter().zip(h).rev() {
        let q = columns.map(|c| &c[rows.0..rows.1]);
        let h = h.map(|row| row.map(|h| -h));
        let w = [&mut *a, &mut *b, &mut *c, &mut *d];
        dispatch::<T, _>(Add { q, h, w });
    }
}

/// Columns are clearly independent if each keeps this share of its norm. The errors of a column
/// grow by its reciprocal from each column to the next, so that the first of two factors has errors
/// of 1e6 times rounding at most.
const CLEAR: f64 = 1e-2;

/// Squares of numbers of ordinary size in either precision.
const SQUARES: std::ops::Range<f64> = 1e-24..1e24;

/// Q and R of four columns, which become Q: Cholesky's factor of `W'W`, twice. None, and W as it
/// was, where the columns are not clearly independent, or of no ordinary size, or in single
/// precision, which has too few digits for the first factor.
pub(in crate::backend::cpu) fn orthonormalize<T: Scalar>(
    w: MatMut<'_, T>,
    threads: usize,
) -> Result<Option<Mat<f64>>> {
    if w.ncols() != 4 || w.nrows() < 4 || size_of::<T>() < size_of::<f64>() {
        return Ok(None);
    }
    let (rows, mut w) = (w.nrows(), four_mut(w)?);
    let threads = share(threads, work(rows, 4));
    let mut all: Option<Mat<f64>> = None;
    for _ in 0..2 {
        let columns = [&*w[0], &*w[1], &*w[2], &*w[3]];
        let squares = along(&[columns], columns, (0, rows), threads)[0];
        let Some(r) = cholesky(squares.map(|row| row.map(T::to_f64))) else {
            return match all {
                None => Ok(None),
                // The first factor leaves nearly orthonormal columns.
                Some(_) => Err(Error::Internal {
                    what: "columns became dependent".into(),
                }),
            };
        };
        let mut by = r;
        (0..4).for_each(|i| by[i][i] = 1.0 / r[i][i]);
        let [a, b, c, d] = &mut w;
        let w = [&mut **a, &mut **b, &mut **c, &mut **d];
        let r_inverse = by.map(|row| row.map(T::from_f64));
        dispatch::<T, _>(Divide { r: r_inverse, w });
        let r = Mat::from_fn(4, 4, |i, j| r[i][j]);
        all = Some(match all {
            Some(first) => r * first,
            None => r,
        });
    }
    Ok(all)
}

/// The upper factor of a matrix whose columns are clearly independent.
fn cholesky(g: Square<f64>) -> Option<Square<f64>> {
    let mut r = [[0.0; 4]; 4];
    for j in 0..4 {
        for i in 0..=j {
            let known: f64 = (0..i).map(|k| r[k][i] * r[k][j]).sum();
            let left = g[i][j] - known;
            r[i][j] = match i == j {
                false => left / r[i][i],
                true if left > CLEAR * CLEAR * g[j][j] && SQUARES.contains(&left) => left.sqrt(),
                true => return None,
            };
        }
    }
    Some(r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::few::columns::tests::made;

    #[test]
    fn a_projection_is_that_onto_all_parts() {
        for n in [5, 300, 2500, 9000] {
            let (all, w) = (made(n, 70, 2) / (n as f64).sqrt(), made(n, 4, 9));
            // By the kernels, whose parts have room for more columns, and by products.
            for (count, width) in [(70, 96), (68, 96), (70, 70)] {
                let column = |i: usize, j: usize| if j < count { all[(i, j)] } else { 0.0 };
                let q = Mat::from_fn(n, width, column);
                let each = |at: usize| q.as_ref().subcols(at, 32.min(width - at));
                let parts: Vec<MatRef<'_, f64>> = (0..width).step_by(32).map(each).collect();
                assert_eq!(
                    all_fours(&parts, count).unwrap().len(),
                    if width == 96 { count.div_ceil(4) } else { 0 }
                );
                let [one, four] = [1, 4].map(|threads| {
                    let mut left = w.clone();
                    let h = project(&parts, count, left.as_mut(), threads).unwrap();
                    (h, left)
                });
                assert!(one == four);
                let h = q.transpose() * &w;
                assert!((one.0.transpose() - &h).norm_max() <= 1e-12 * (n as f64).sqrt());
                assert!((one.1 - (&w - &q * &h)).norm_max() <= 1e-11);
            }
        }
    }

    #[test]
    fn four_columns_become_orthonormal() {
        // The last with several threads.
        for n in [4, 50, 5000, 300_000] {
            let w = made(n, 4, 9);
            let w = Mat::from_fn(n, 4, |i, j| w[(i, j)] + f64::from(u8::from(i == j)));
            let [one, four] = [1, 4].map(|threads| {
                let mut q = w.clone();
                let r = orthonormalize(q.as_mut(), threads).unwrap().unwrap();
                (q, r)
            });
            assert!(one == four);
            let (q, r) = one;
            assert!((q.transpose() * &q - Mat::<f64>::identity(4, 4)).norm_max() <= 1e-14);
            assert!((&q * &r - &w).norm_max() <= 1e-14 * (n as f64).sqrt());
            // Nearly dependent, not finite, tiny: as they were.
            for bad in [1e-9, f64::NAN, f64::INFINITY] {
                let of = |i: usize, j: usize| if j == 3 { w[(i, 0)] + bad } else { w[(i, j)] };
                let mut x = Mat::from_fn(n, 4, of);
                assert!(orthonormalize(x.as_mut(), 1).unwrap().is_none());
                assert!((0..n).all(|i| x[(i, 2)] == w[(i, 2)]));
            }
            let mut tiny = Mat::from_fn(n, 4, |i, j| 1e-40 * w[(i, j)]);
            assert!(orthonormalize(tiny.as_mut(), 1).unwrap().is_none());
            let mut single = Mat::from_fn(n, 4, |i, j| w[(i, j)] as f32);
            assert!(orthonormalize(single.as_mut(), 1).unwrap().is_none());
        }
    }
}
