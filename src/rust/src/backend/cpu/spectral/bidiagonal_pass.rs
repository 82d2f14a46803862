//! The pass of a step of the reduction to bidiagonal form.

use faer::traits::{ComplexField, SimdCtx};
use pulp::bytemuck::{cast_slice, cast_slice_mut};
use pulp::{Simd, WithSimd};

use crate::base::scalar::Scalar;

type Vector<T, S> = <T as ComplexField>::SimdVec<S>;

/// Columns that are read together.
pub(super) const GROUP: usize = 4;

/// `a_c -= v y_c + x u_c`, `new_y_c = tau a_c'new`, `row_c = a_jc - new_y_c` and `z += row_c a_c`
/// for the columns from `first` on. For those up to the step j, the new numbers are zero.
///
/// Columns of length m begin at the first active row.
pub(super) struct UpdateBoth<'a, T> {
    pub a: &'a mut [T],
    pub stride: usize,
    pub rows: (usize, usize),
    pub step: usize,
    pub first: usize,
    pub v: &'a [T],
    pub x: &'a [T],
    pub new: &'a [T],
    pub tau: T,
    pub y: &'a [T],
    pub u: &'a [T],
    pub new_y: &'a mut [T],
    pub row: &'a mut [T],
    pub z: &'a mut [T],
    /// Begins with the last columns, which the cache still holds after a pass forward.
    pub backward: bool,
}

impl<T: Scalar> WithSimd for UpdateBoth<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let simd = SimdCtx::<T, S>(T::simd_ctx(simd));
        let (top, end) = self.rows;
        let (v, x, new) = (cast_slice(self.v), cast_slice(self.x), cast_slice(self.new));
        let z: &mut [Vector<T, S>] = cast_slice_mut(self.z);
        let count = self.y.len() / GROUP;
        for k in 0..count {
            let k = GROUP * if self.backward { count - 1 - k } else { k };
            let columns = &mut self.a[k * self.stride..(k + GROUP) * self.stride];
            let (a0, rest) = columns.split_at_mut(self.stride);
            let (a1, rest) = rest.split_at_mut(self.stride);
            let (a2, a3) = rest.split_at_mut(self.stride);
            let a0: &mut [Vector<T, S>] = cast_slice_mut(&mut a0[top..end]);
            let a1: &mut [Vector<T, S>] = cast_slice_mut(&mut a1[top..end]);
            let a2: &mut [Vector<T, S>] = cast_slice_mut(&mut a2[top..end]);
            let a3: &mut [Vector<T, S>] = cast_slice_mut(&mut a3[top..end]);
            let mut factors = [[simd.zero(); 2]; GROUP];
            for (i, factors) in factors.iter_mut().enumerate() {
                factors[0] = simd.splat(-self.y[k + i]);
                factors[1] = simd.splat(-self.u[k + i]);
            }
            let dots = update(simd, [a0, a1, a2, a3], [v, x, new], factors);
            let mut row = [simd.zero(); GROUP];
            for i in 0..GROUP {
                let (mut dot, mut entry) = (T::from_f64(0.0), T::from_f64(0.0));
                if self.first + k + i > self.step {
                    dot = self.tau * simd.reduce_sum(dots[i]);
                    entry = columns[i * self.stride + self.step] - dot;
                }
                self.new_y[k + i] = dot;
                self.row[k + i] = entry;
                row[i] = simd.splat(entry);
            }
            let a0 = cast_slice(&columns[top..end]);
            let a1 = cast_slice(&columns[self.stride..][top..end]);
            let a2 = cast_slice(&columns[2 * self.stride..][top..end]);
            let a3 = cast_slice(&columns[3 * self.stride..][top..end]);
            accumulate(simd, [a0, a1, a2, a3], row, z);
        }
    }
}

/// Updates four columns, and returns their products with `new`.
#[inline(always)]
fn update<T: Scalar, S: Simd>(
    simd: SimdCtx<T, S>,
    [a0, a1, a2, a3]: [&mut [Vector<T, S>]; GROUP],
    [v, x, new]: [&[Vector<T, S>]; 3],
    f: [[Vector<T, S>; 2]; GROUP],
) -> [Vector<T, S>; GROUP] {
    let len = v.len();
    let (a0, a1) = (&mut a0[..len], &mut a1[..len]);
    let (a2, a3) = (&mut a2[..len], &mut a3[..len]);
    let (x, new) = (&x[..len], &new[..len]);
    let mut dots = [simd.zero(); GROUP];
    for i in 0..len {
        let (vi, xi, ni) = (v[i], x[i], new[i]);
        let columns = [&mut a0[i], &mut a1[i], &mut a2[i], &mut a3[i]];
        for ((a, f), dot) in columns.into_iter().zip(&f).zip(&mut dots) {
            let updated = simd.mul_add(xi, f[1], simd.mul_add(vi, f[0], *a));
            *a = updated;
            *dot = simd.mul_add(updated, ni, *dot);
        }
    }
    dots
}

/// `z += A r`
#[inline(always)]
fn accumulate<T: Scalar, S: Simd>(
    simd: SimdCtx<T, S>,
    [a0, a1, a2, a3]: [&[Vector<T, S>]; GROUP],
    r: [Vector<T, S>; GROUP],
    z: &mut [Vector<T, S>],
) {
    let len = z.len();
    let (a0, a1, a2, a3) = (&a0[..len], &a1[..len], &a2[..len], &a3[..len]);
    for i in 0..len {
        let one = simd.mul_add(a1[i], r[1], simd.mul_add(a0[i], r[0], z[i]));
        z[i] = simd.mul_add(a3[i], r[3], simd.mul_add(a2[i], r[2], one));
    }
}
