//! Products of a symmetric matrix with a vector which update the lower triangle in the same pass.
//!
//! Diagonal blocks of the size of a cache line hold both triangles, so that all loops run over
//! whole vectors. Entries outside the active part do no harm, since the vectors are zero there.

use faer::traits::{ComplexField, SimdCtx};
use pulp::bytemuck::{cast_slice, cast_slice_mut};
use pulp::{Simd, WithSimd};

use super::lines::{line_of, per_line};
use crate::base::scalar::Scalar;

type Vector<T, S> = <T as ComplexField>::SimdVec<S>;

/// Columns that are read together.
pub(super) const GROUP: usize = 4;

/// `y += (A - v w' - w v') x` for the columns `columns.0 .. columns.1` of the lower triangle and
/// their mirror images, where `A` is overwritten by the difference.
pub(super) struct UpdateTimes<'a, T> {
    /// The matrix from the first of these columns on.
    pub a: &'a mut [T],
    pub stride: usize,
    /// Multiples of [`GROUP`].
    pub columns: (usize, usize),
    pub v: &'a [T],
    pub w: &'a [T],
    pub x: &'a [T],
    pub y: &'a mut [T],
    /// Begins with the last columns, which the cache still holds after a pass forward.
    pub backward: bool,
}

// In the following the compiler builds closures, such as those of `array::map`, for the oldest
// processor. So there are loops instead.

impl<T: Scalar> WithSimd for UpdateTimes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let simd = SimdCtx::<T, S>(T::simd_ctx(simd));
        let UpdateTimes {
            a,
            stride,
            v,
            w,
            x,
            y,
            ..
        } = self;
        let rows = y.len();
        let (first, last) = self.columns;
        for k in 0..(last - first) / GROUP {
            let c = match self.backward {
                true => last - (k + 1) * GROUP,
                false => first + k * GROUP,
            };
            let top = line_of::<T>(c);
            let columns = &mut a[(c - first) * stride..(c + GROUP - first) * stride];
            let (a0, rest) = columns.split_at_mut(stride);
            let (a1, rest) = rest.split_at_mut(stride);
            let (a2, a3) = rest.split_at_mut(stride);
            let a = [
                cast_slice_mut(&mut a0[top..rows]),
                cast_slice_mut(&mut a1[top..rows]),
                cast_slice_mut(&mut a2[top..rows]),
                cast_slice_mut(&mut a3[top..rows]),
            ];
            let vectors = [
                cast_slice(&v[top..rows]),
                cast_slice(&w[top..rows]),
                cast_slice(&x[top..rows]),
            ];
            let mut factors = [[simd.zero(); 3]; GROUP];
            for k in 0..GROUP {
                factors[k][0] = simd.splat(-v[c + k]);
                factors[k][1] = simd.splat(-w[c + k]);
                factors[k][2] = simd.splat(x[c + k]);
            }
            let y1 = cast_slice_mut(&mut y[top..rows]);
            let dots = update_times_four(simd, a, vectors, factors, y1);
            for k in 0..GROUP {
                y[c + k] += simd.reduce_sum(dots[k]);
            }
        }
    }
}

/// Subtracts from four columns, whose diagonal block comes first, adds their product with the
/// entries of x to y, and returns the products of their other rows with x.
#[inline(always)]
fn update_times_four<T: Scalar, S: Simd>(
    simd: SimdCtx<T, S>,
    [a0, a1, a2, a3]: [&mut [Vector<T, S>]; GROUP],
    [v, w, x]: [&[Vector<T, S>]; 3],
    f: [[Vector<T, S>; 3]; GROUP],
    y: &mut [Vector<T, S>],
) -> [Vector<T, S>; GROUP] {
    let len = y.len();
    let block = (per_line::<T>() * size_of::<T>() / size_of::<Vector<T, S>>()).min(len);
    let (a0, a1, a2, a3) = (
        &mut a0[..len],
        &mut a1[..len],
        &mut a2[..len],
        &mut a3[..len],
    );
    let (v, w, x) = (&v[..len], &w[..len], &x[..len]);
    let mut dots = [simd.zero(); GROUP];
    for i in 0..block {
        let (vi, wi) = (v[i], w[i]);
        let mut sum = y[i];
        let update = [&mut a0[i], &mut a1[i], &mut a2[i], &mut a3[i]];
        for (a, f) in update.into_iter().zip(&f) {
            *a = simd.mul_add(vi, f[1], simd.mul_add(wi, f[0], *a));
            sum = simd.mul_add(*a, f[2], sum);
        }
        y[i] = sum;
    }
    for i in block..len {
        let (vi, wi, xi) = (v[i], w[i], x[i]);
        let mut sum = y[i];
        let update = [&mut a0[i], &mut a1[i], &mut a2[i], &mut a3[i]];
        for ((a, f), dot) in update.into_iter().zip(&f).zip(&mut dots) {
            let new = simd.mul_add(vi, f[1], simd.mul_add(wi, f[0], *a));
            *a = new;
            *dot = simd.mul_add(new, xi, *dot);
            sum = simd.mul_add(new, f[2], sum);
        }
        y[i] = sum;
    }
    dots
}
