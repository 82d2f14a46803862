//! Loops over four vectors that meet a matrix, for `columns` and `basis`.
//!
//! Four columns of the matrix are read at a time: each of their entries meets all four vectors
//! while it is in a register.

use faer::traits::{ComplexField, SimdCtx};
use pulp::bytemuck::{cast_slice, cast_slice_mut};
use pulp::{Simd, WithSimd};

use crate::base::scalar::Scalar;

type Vector<T, S> = <T as ComplexField>::SimdVec<S>;
/// Four columns of the same rows.
pub(super) type Four<'a, T> = [&'a [T]; 4];
pub(super) type FourMut<'a, T> = [&'a mut [T]; 4];
/// By rows: of the second four columns.
pub(super) type Square<T> = [[T; 4]; 4];

/// Rows whose entries of x and y stay in the first cache.
const CHUNK: usize = 512;

/// The entries that fill whole vectors.
#[inline(always)]
fn whole<T, V>(len: usize) -> usize {
    let lanes = size_of::<V>() / size_of::<T>();
    len / lanes * lanes
}

// In the following the compiler builds closures, such as those of `array::map`, for the oldest
// processor. So there are loops instead.

/// What some rows of the lower triangle of a symmetric matrix, and their mirror images, add to the
/// product y with x. Blocks on the diagonal are read as a whole, so that loops run over whole
/// vectors, and columns that fill no block instead of their rows.
pub(super) struct Triangle<'a, T> {
    /// All columns of the square.
    pub a: &'a [&'a [T]],
    pub x: Four<'a, T>,
    pub y: FourMut<'a, T>,
    /// They begin at a multiple of 16, and end at one or at the last row.
    pub rows: (usize, usize),
    /// As long as a column.
    pub zeros: &'a [T],
}

impl<T: Scalar> WithSimd for Triangle<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let simd = SimdCtx::<T, S>(T::simd_ctx(simd));
        let Triangle {
            a,
            x,
            mut y,
            rows,
            zeros,
        } = self;
        let (n, block) = (a.len(), 64 / size_of::<T>());
        let blocks = n / block * block;
        let mut first = rows.0;
        while first < rows.1.min(blocks) {
            let end = rows.1.min(blocks).min(first + CHUNK);
            for c in (0..end).step_by(4) {
                let four = [a[c], a[c + 1], a[c + 2], a[c + 3]];
                if c < first {
                    group(simd, four, &x, &mut y, c, (first, end));
                    continue;
                }
                let (top, bottom) = (c / block * block, (c / block + 1) * block);
                for k in 0..4 {
                    for g in 0..4 {
                        let (by, a) = (x[k][c + g], &four[g][top..bottom]);
                        for (y, a) in y[k][top..bottom].iter_mut().zip(a) {
                            *y += by * *a;
                        }
                    }
                }
                group(simd, four, &x, &mut y, c, (bottom, end));
            }
            first = end;
        }
        if rows.1 < n {
            return;
        }
        for c in (blocks..n).step_by(4) {
            let mut four = [zeros; 4];
            let left = 4.min(n - c);
            four[..left].copy_from_slice(&a[c..c + left]);
            for first in (0..blocks).step_by(CHUNK) {
                group(
                    simd,
                    four,
                    &x,
                    &mut y,
                    c,
                    (first, blocks.min(first + CHUNK)),
                );
            }
        }
        for k in 0..4 {
            for j in blocks..n {
                for i in blocks..n {
                    y[k][i] += a[j][i] * x[k][j];
                }
            }
        }
    }
}

/// What whole vectors of rows of the columns from `c` on, and their mirror images, add to y. Those
/// of a column beyond the last are zero.
#[inline(always)]
fn group<T: Scalar, S: Simd>(
    simd: SimdCtx<T, S>,
    a: Four<'_, T>,
    x: &Four<'_, T>,
    y: &mut FourMut<'_, T>,
    c: usize,
    (from, to): (usize, usize),
) {
    if from >= to {
        return;
    }
    let count = 4.min(x[0].len() - c);
    let mut f = [[simd.zero(); 4]; 4];
    for k in 0..4 {
        for g in 0..count {
            f[k][g] = simd.splat(x[k][c + g]);
        }
    }
    let a = [
        &a[0][from..to],
        &a[1][from..to],
        &a[2][from..to],
        &a[3][from..to],
    ];
    let xs = [
        &x[0][from..to],
        &x[1][from..to],
        &x[2][from..to],
        &x[3][from..to],
    ];
    let [y0, y1, y2, y3] = &mut *y;
    let ys = [
        &mut y0[from..to],
        &mut y1[from..to],
        &mut y2[from..to],
        &mut y3[from..to],
    ];
    let sums = triangle_four(simd, a, xs, f, ys);
    for k in 0..4 {
        for g in 0..count {
            y[k][c + g] += simd.reduce_sum(sums[k][g]);
        }
    }
}

/// Adds products of four columns with the factors to y, and returns their products with x.
#[inline(always)]
fn triangle_four<T: Scalar, S: Simd>(
    simd: SimdCtx<T, S>,
    a: Four<'_, T>,
    x: Four<'_, T>,
    f: Square<Vector<T, S>>,
    y: FourMut<'_, T>,
) -> Square<Vector<T, S>> {
    let [a0, a1, a2, a3] = a;
    let [x0, x1, x2, x3] = x;
    let [y0, y1, y2, y3] = y;
    let a0: &[Vector<T, S>] = cast_slice(a0);
    let len = a0.len();
    let a1: &[Vector<T, S>] = &cast_slice(a1)[..len];
    let a2: &[Vector<T, S>] = &cast_slice(a2)[..len];
    let a3: &[Vector<T, S>] = &cast_slice(a3)[..len];
    let x0: &[Vector<T, S>] = &cast_slice(x0)[..len];
    let x1: &[Vector<T, S>] = &cast_slice(x1)[..len];
    let x2: &[Vector<T, S>] = &cast_slice(x2)[..len];
    let x3: &[Vector<T, S>] = &cast_slice(x3)[..len];
    let y0: &mut [Vector<T, S>] = &mut cast_slice_mut(y0)[..len];
    let y1: &mut [Vector<T, S>] = &mut cast_slice_mut(y1)[..len];
    let y2: &mut [Vector<T, S>] = &mut cast_slice_mut(y2)[..len];
    let y3: &mut [Vector<T, S>] = &mut cast_slice_mut(y3)[..len];
    let mut sums = [[simd.zero(); 4]; 4];
    for i in 0..len {
        let a = [a0[i], a1[i], a2[i], a3[i]];
        let x = [x0[i], x1[i], x2[i], x3[i]];
        let mut y = [y0[i], y1[i], y2[i], y3[i]];
        for k in 0..4 {
            for g in 0..4 {
                y[k] = simd.mul_add(a[g], f[k][g], y[k]);
                sums[k][g] = simd.mul_add(a[g], x[k], sums[k][g]);
            }
        }
        [y0[i], y1[i], y2[i], y3[i]] = y;
    }
    sums
}

/// Inner products of four columns with four others.
pub(super) struct Dots<'a, T> {
    pub q: Four<'a, T>,
    pub w: Four<'a, T>,
}

impl<T: Scalar> WithSimd for Dots<'_, T> {
    type Output = Square<T>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Square<T> {
        let simd = SimdCtx::<T, S>(T::simd_ctx(simd));
        let Dots { q, w } = self;
        let rows = q[0].len();
        let to = whole::<T, Vector<T, S>>(rows);
        let q0: &[Vector<T, S>] = cast_slice(&q[0][..to]);
        let len = q0.len();
        let q1: &[Vector<T, S>] = &cast_slice(&q[1][..to])[..len];
        let q2: &[Vector<T, S>] = &cast_slice(&q[2][..to])[..len];
        let q3: &[Vector<T, S>] = &cast_slice(&q[3][..to])[..len];
        let w0: &[Vector<T, S>] = &cast_slice(&w[0][..to])[..len];
        let w1: &[Vector<T, S>] = &cast_slice(&w[1][..to])[..len];
        let w2: &[Vector<T, S>] = &cast_slice(&w[2][..to])[..len];
        let w3: &[Vector<T, S>] = &cast_slice(&w[3][..to])[..len];
        let mut sums = [[simd.zero(); 4]; 4];
        for i in 0..len {
            let q = [q0[i], q1[i], q2[i], q3[i]];
            let w = [w0[i], w1[i], w2[i], w3[i]];
            for k in 0..4 {
                for g in 0..4 {
                    sums[k][g] = simd.mul_add(q[g], w[k], sums[k][g]);
                }
            }
        }
        let mut out = [[T::from_f64(0.0); 4]; 4];
        for k in 0..4 {
            for g in 0..4 {
                out[k][g] = simd.reduce_sum(sums[k][g]);
                for i in to..rows {
                    out[k][g] += q[g][i] * w[k][i];
                }
            }
        }
        out
    }
}

/// `w_k += sum_g q_g h[k][g]`.
pub(super) struct Add<'a, T> {
    pub q: Four<'a, T>,
    pub h: Square<T>,
    pub w: FourMut<'a, T>,
}

impl<T: Scalar> WithSimd for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let simd = SimdCtx::<T, S>(T::simd_ctx(simd));
        let Add { q, h, w } = self;
        let rows = q[0].len();
        let to = whole::<T, Vector<T, S>>(rows);
        let mut f = [[simd.zero(); 4]; 4];
        for k in 0..4 {
            for g in 0..4 {
                f[k][g] = simd.splat(h[k][g]);
                for i in to..rows {
                    w[k][i] += q[g][i] * h[k][g];
                }
            }
        }
        let [w0, w1, w2, w3] = w;
        let q0: &[Vector<T, S>] = cast_slice(&q[0][..to]);
        let len = q0.len();
        let q1: &[Vector<T, S>] = &cast_slice(&q[1][..to])[..len];
        let q2: &[Vector<T, S>] = &cast_slice(&q[2][..to])[..len];
        let q3: &[Vector<T, S>] = &cast_slice(&q[3][..to])[..len];
        let w0: &mut [Vector<T, S>] = &mut cast_slice_mut(&mut w0[..to])[..len];
        let w1: &mut [Vector<T, S>] = &mut cast_slice_mut(&mut w1[..to])[..len];
        let w2: &mut [Vector<T, S>] = &mut cast_slice_mut(&mut w2[..to])[..len];
        let w3: &mut [Vector<T, S>] = &mut cast_slice_mut(&mut w3[..to])[..len];
        for i in 0..len {
            let q = [q0[i], q1[i], q2[i], q3[i]];
            let mut w = [w0[i], w1[i], w2[i], w3[i]];
            for k in 0..4 {
                for g in 0..4 {
                    w[k] = simd.mul_add(q[g], f[k][g], w[k]);
                }
            }
            [w0[i], w1[i], w2[i], w3[i]] = w;
        }
    }
}

/// `w <- w R^-1` for an upper triangle R with reciprocals on its diagonal.
pub(super) struct Divide<'a, T> {
    pub r: Square<T>,
    pub w: FourMut<'a, T>,
}

impl<T: Scalar> WithSimd for Divide<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let [w0, w1, w2, w3] = self.w;
        let r = self.r;
        for (((a, b), c), d) in w0.iter_mut().zip(w1).zip(w2).zip(w3) {
            *a *= r[0][0];
            *b = (*b - *a * r[0][1]) * r[1][1];
            *c = (*c - *a * r[0][2] - *b * r[1][2]) * r[2][2];
            *d = (*d - *a * r[0][3] - *b * r[1][3] - *c * r[2][3]) * r[3][3];
        }
    }
}
