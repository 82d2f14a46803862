//! Eigenvectors of a symmetric tridiagonal matrix by divide and conquer (Cuppen; Gu and Eisenstat).
//!
//! ```text
//! vectors(T):
//!     small: QR iteration
//!     T = [T1 0; 0 T2] + rho u u', u with entries 1 and +-1 in the two rows where T is torn
//!     Q1 D1 Q1' = T1, Q2 D2 Q2' = T2
//!     D + rho z z' = S L S' for z = [Q1 0; 0 Q2]' u, without what deflates
//!     vectors: [Q1 0; 0 Q2] S, one product for each half of the rows
//! ```

use faer::{MatMut, MatRef};

use super::largest;
use super::secular::{restore, roots, vector};
use super::tridiagonal_leaf::{diagonalize, LEAF};
use crate::backend::cpu::gemm::gemm;
use crate::backend::cpu::matrix::views::{columns_mut, ColumnsMut};
use crate::base::deflate::{ascending, deflate, Merge, Place};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::{join, share};

/// Overwrites the diagonal `d` by the values in ascending order, destroys the off-diagonal `e`, and
/// writes orthonormal vectors to `q`. False if the iteration of a leaf does not converge.
///
/// Numbers of one dimension are in double precision. Those of the vectors, and the tolerances of
/// deflation, are of the type of `q`.
pub(super) fn vectors<T: Scalar>(
    d: &mut [f64],
    e: &mut [f64],
    q: MatMut<'_, T>,
    threads: usize,
) -> Result<bool> {
    let n = d.len();
    if d.iter().chain(&*e).any(|x| !x.is_finite()) {
        return Ok(false);
    }
    let largest = largest(d, e);
    // Tolerances compare entries of T with those of unit vectors.
    let scale = match largest > 0.0 {
        true => 2f64.powi(-(largest.log2().floor() as i32) - 1),
        false => 1.0,
    };
    d.iter_mut().chain(&mut *e).for_each(|x| *x *= scale);
    let mut q = columns_mut(q)?;
    let zero = T::from_f64(0.0);
    for j in 0..n {
        q.as_mut().col_mut(j).as_slice_mut().fill(zero);
    }
    let (mut work, mut s) = (try_zeroed(n * n)?, try_zeroed(n * n)?);
    let threads = share(threads, (n as f64).powi(3));
    if !solve(d, e, q.as_mut(), &mut work, &mut s, threads)? {
        return Ok(false);
    }
    if n > 1 {
        sort(d, q, &mut work);
    }
    d.iter_mut().for_each(|x| *x /= scale);
    Ok(true)
}

/// The columns by ascending values.
fn sort<T: Scalar>(d: &mut [f64], mut q: ColumnsMut<'_, T>, work: &mut [T]) {
    let n = d.len();
    let order = ascending(0, d);
    if order.is_sorted() {
        return;
    }
    let sorted: Vec<f64> = order.iter().map(|&i| d[i]).collect();
    d.copy_from_slice(&sorted);
    for (column, &from) in work.chunks_exact_mut(n).zip(&order) {
        column.copy_from_slice(q.as_ref().col(from).as_slice());
    }
    for (j, column) in work.chunks_exact(n).enumerate() {
        q.as_mut().col_mut(j).as_slice_mut().copy_from_slice(column);
    }
}

/// As [`vectors`], in any order, for a part of the matrix. `q` is zero on entry.
///
/// `work` and `s` have as many entries as `q`. That suffices: a pole with rows in both halves has
/// deflated another one, so that the columns of both halves are no more than n.
fn solve<T: Scalar>(
    d: &mut [f64],
    e: &mut [f64],
    mut q: ColumnsMut<'_, T>,
    work: &mut [T],
    s: &mut [T],
    threads: usize,
) -> Result<bool> {
    let n = d.len();
    if n <= LEAF {
        return Ok(leaf(d, e, q));
    }
    interrupt::poll()?;
    let mid = n / 2;
    let rho = e[mid - 1];
    d[mid - 1] -= rho.abs();
    d[mid] -= rho.abs();
    {
        let (q1, _, _, q2) = q.as_mut().split_at_mut(mid, mid);
        let (d1, d2) = d.split_at_mut(mid);
        let (e1, e2) = e.split_at_mut(mid);
        let e1 = &mut e1[..mid - 1];
        let (work1, work2) = work.split_at_mut(mid * mid);
        let (s1, s2) = s.split_at_mut(mid * mid);
        let (first, second) = join(
            share(threads, (mid as f64).powi(3)),
            |t| solve(d1, e1, q1, work1, s1, t),
            |t| solve(d2, e2, q2, work2, s2, t),
        );
        if !(first? && second?) {
            return Ok(false);
        }
    }
    let mut z: Vec<f64> = (0..n)
        .map(|j| q.as_ref().col(j).as_slice()[if j < mid { mid - 1 } else { mid }].to_f64())
        .collect();
    let place = Place {
        start: 0,
        mid,
        end: n,
    };
    let merge = deflate(place, rho, T::EPS, d, &mut z);
    rotate(&merge, q.as_mut());
    join_halves(&merge, d, &z, q, work, s, threads)?;
    Ok(true)
}

fn leaf<T: Scalar>(d: &mut [f64], e: &mut [f64], mut q: ColumnsMut<'_, T>) -> bool {
    let mut vectors = [[0.0; LEAF]; LEAF];
    if !diagonalize(d, e, T::EPS, &mut vectors) {
        return false;
    }
    let order = ascending(0, d);
    let sorted: Vec<f64> = order.iter().map(|&i| d[i]).collect();
    d.copy_from_slice(&sorted);
    for (j, &from) in order.iter().enumerate() {
        let column = q.as_mut().col_mut(j).as_slice_mut();
        for (to, x) in column.iter_mut().zip(&vectors[from]) {
            *to = T::from_f64(*x);
        }
    }
    true
}

/// The rotations of deflation.
fn rotate<T: Scalar>(merge: &Merge, mut q: ColumnsMut<'_, T>) {
    for r in merge.chains.iter().flatten() {
        let (c, s) = (T::from_f64(r.c), T::from_f64(r.s));
        let (low, high) = (r.x.min(r.y), r.x.max(r.y));
        let (left, right) = q.as_mut().split_at_col_mut(high);
        let (a, b) = (
            left.col_mut(low).as_slice_mut(),
            right.col_mut(0).as_slice_mut(),
        );
        // With x and y exchanged, the sine has the other sign.
        let s = if r.x == low { s } else { -s };
        for (a, b) in a.iter_mut().zip(b) {
            let (x, y) = (*a, *b);
            (*a, *b) = (c * x + s * y, c * y - s * x);
        }
    }
}

/// Calls `f` for pieces of one or two arrays on several threads, each with its first index. An
/// empty `y` stays so.
fn in_pieces(
    (first, x): (usize, &mut [f64]),
    y: &mut [f64],
    threads: usize,
    f: &(impl Fn(usize, &mut [f64], &mut [f64]) + Sync),
) {
    if threads < 2 || x.len() < 16 {
        return f(first, x, y);
    }
    let half = (x.len() / 2).next_multiple_of(8);
    let (x1, x2) = x.split_at_mut(half);
    let (y1, y2) = y.split_at_mut(half.min(y.len()));
    join(
        threads,
        |t| in_pieces((first, x1), y1, t, f),
        |t| in_pieces((first + half, x2), y2, t, f),
    );
}

/// Solves the secular equation and multiplies. The columns are then those of the roots, followed
/// by the deflated ones, and so are the values in `d`.
fn join_halves<T: Scalar>(
    merge: &Merge,
    d: &mut [f64],
    z: &[f64],
    mut q: ColumnsMut<'_, T>,
    work: &mut [T],
    s: &mut [T],
    threads: usize,
) -> Result<()> {
    let Place { mid, end: n, .. } = merge.place;
    let k = merge.poles.len();
    if k == 0 {
        return Ok(());
    }
    let poles: Vec<f64> = merge.poles.iter().map(|&i| d[i]).collect();
    let mut z: Vec<f64> = merge.poles.iter().map(|&i| z[i]).collect();
    let weights: Vec<f64> = z.iter().map(|z| merge.rho * z * z).collect();
    let (mut origins, mut offsets) = (vec![0.0; k], vec![0.0; k]);
    // A division takes as long as several multiplications.
    let some = share(threads, 16.0 * (k * k) as f64);
    in_pieces((0, &mut origins), &mut offsets, some, &|first, x, y| {
        roots(&poles, &weights, first, x, y);
    });
    in_pieces((0, &mut z), &mut [], some, &|first, z, _| {
        restore(&poles, &origins, &offsets, first, z);
    });
    // The columns of both halves, and those that stay.
    let [k1, k2] = [0, 1].map(|h| merge.halves[h].len());
    let (a1, rest) = work.split_at_mut(mid * k1);
    let (a2, stay) = rest.split_at_mut((n - mid) * k2);
    let gathered = [(&mut *a1, 0, mid), (&mut *a2, mid, n)];
    for (half, (a, from, to)) in gathered.into_iter().enumerate() {
        for (a, &p) in a.chunks_exact_mut(to - from).zip(&merge.halves[half]) {
            let column = q.as_ref().col(merge.poles[p as usize]).as_slice();
            a.copy_from_slice(&column[from..to]);
        }
    }
    for (to, &from) in stay.chunks_exact_mut(n).zip(&merge.deflated) {
        to.copy_from_slice(q.as_ref().col(from).as_slice());
    }
    let (s1, s2) = s[..(k1 + k2) * k].split_at_mut(k1 * k);
    secular_vectors(
        &poles,
        &z,
        (&origins, &offsets),
        &merge.halves,
        (s1, s2),
        some,
    );
    let (zero, one) = (T::from_f64(0.0), T::from_f64(1.0));
    let (top, bottom) = q
        .as_mut()
        .subcols_mut(0, k)
        .as_dyn_stride_mut()
        .split_at_row_mut(mid);
    let a1 = MatRef::from_column_major_slice(a1, mid, k1);
    let a2 = MatRef::from_column_major_slice(a2, n - mid, k2);
    let s1 = MatRef::from_column_major_slice(s1, k1, k);
    let s2 = MatRef::from_column_major_slice(s2, k2, k);
    gemm(one, a1, s1, zero, top, threads)?;
    gemm(one, a2, s2, zero, bottom, threads)?;
    for (j, from) in stay.chunks_exact(n).take(n - k).enumerate() {
        q.as_mut()
            .col_mut(k + j)
            .as_slice_mut()
            .copy_from_slice(from);
    }
    let kept: Vec<f64> = merge.deflated.iter().map(|&i| d[i]).collect();
    for j in 0..k {
        d[j] = origins[j] + offsets[j];
    }
    d[k..].copy_from_slice(&kept);
    Ok(())
}

/// The rows of each half of the eigenvectors of `D + rho z z'`.
fn secular_vectors<T: Scalar>(
    d: &[f64],
    z: &[f64],
    (origins, offsets): (&[f64], &[f64]),
    halves: &[Vec<i32>; 2],
    (s1, s2): (&mut [T], &mut [T]),
    threads: usize,
) {
    let count = origins.len();
    let [k1, k2] = [0, 1].map(|h| halves[h].len());
    if threads > 1 && count > 16 {
        let half = count / 2;
        let (o1, o2) = origins.split_at(half);
        let (x1, x2) = offsets.split_at(half);
        let (s11, s12) = s1.split_at_mut(half * k1);
        let (s21, s22) = s2.split_at_mut(half * k2);
        join(
            threads,
            |t| secular_vectors(d, z, (o1, x1), halves, (s11, s21), t),
            |t| secular_vectors(d, z, (o2, x2), halves, (s12, s22), t),
        );
        return;
    }
    let mut y = vec![0.0; d.len()];
    for j in 0..count {
        vector(d, z, (origins[j], offsets[j]), &mut y);
        for (to, half) in [
            (&mut s1[j * k1..(j + 1) * k1], 0),
            (&mut s2[j * k2..(j + 1) * k2], 1),
        ] {
            for (to, &i) in to.iter_mut().zip(&halves[half]) {
                *to = T::from_f64(y[i as usize]);
            }
        }
    }
}
