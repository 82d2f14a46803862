//! One reflection of a factor's row with columns of V in registers.

use crate::backend::cpu::matrix::transposed_rows::lanes;
use crate::backend::cpu::matrix::views::ColumnsMut;
use crate::backend::cpu::update::reflections::{Ends, FIXED};
use crate::base::scalar::Scalar;
use pulp::bytemuck::{cast_slice, cast_slice_mut, pod_read_unaligned};
use pulp::Simd;

pub(super) type Vectors<T, S, const G: usize> = [<T as faer::traits::ComplexField>::SimdVec<S>; G];

pub(super) type Context<T, S> = <T as faer::traits::ComplexField>::SimdCtx<S>;

/// The columns of V, and zeros where there are fewer columns or rows.
#[inline(always)]
pub(super) fn fetch<T: Scalar, S: Simd, const K: usize, const G: usize>(
    context: &Context<T, S>,
    v: ColumnsMut<'_, T>,
) -> [Vectors<T, S, G>; K] {
    let mut there = [[T::simd_splat(context, &T::from_f64(0.0)); G]; K];
    for (t, vectors) in there.iter_mut().enumerate().take(v.ncols()) {
        let column = v.as_ref().col(t).as_slice();
        // Of a length that is known at compile time each vector is one load.
        if column.len() == G * lanes::<T, S>() {
            for (from, vector) in column.chunks_exact(lanes::<T, S>()).zip(vectors) {
                *vector = pod_read_unaligned(cast_slice(from));
            }
        } else {
            let entries: &mut [T] = cast_slice_mut(vectors);
            entries[..column.len()].copy_from_slice(column);
        }
    }
    there
}

/// One reflection, applied to the row `r` and to columns of V; what becomes of the row.
#[inline(always)]
pub(super) fn reflect<T: Scalar, S: Simd, const K: usize, const G: usize>(
    context: &Context<T, S>,
    coefficients: &[T],
    r: Vectors<T, S, G>,
    v: &mut [Vectors<T, S, G>; K],
) -> Vectors<T, S, G> {
    let (ends, w) = coefficients.split_at(FIXED);
    let [c, s, p, q] = [ends[0], ends[1], ends[2], ends[3]];
    let products = products::<T, S, K, G>(context, w, v);
    finish::<T, S, K, G>(context, Ends { c, s, p, q }, w, products, r, v)
}

/// `w'v` of each column.
#[inline(always)]
pub(super) fn products<T: Scalar, S: Simd, const K: usize, const G: usize>(
    context: &Context<T, S>,
    w: &[T],
    v: &[Vectors<T, S, G>; K],
) -> Vectors<T, S, G> {
    let of = |k: usize| T::simd_splat(context, &w[k]);
    // Two sums, since one would wait for itself.
    let mut sums = [v[0]; 2];
    let parts = if K > 2 { 2 } else { 1 };
    for k in 0..K {
        let (w, sum) = (of(k), &mut sums[k % parts]);
        for g in 0..G {
            sum[g] = if k < parts {
                T::simd_mul(context, w, v[k][g])
            } else {
                T::simd_mul_add(context, w, v[k][g], sum[g])
            };
        }
    }
    let [mut sum, other] = sums;
    if parts == 2 {
        for g in 0..G {
            sum[g] = T::simd_add(context, sum[g], other[g]);
        }
    }
    sum
}

/// The rest of a reflection.
#[inline(always)]
pub(super) fn finish<T: Scalar, S: Simd, const K: usize, const G: usize>(
    context: &Context<T, S>,
    ends: Ends<T>,
    w: &[T],
    products: Vectors<T, S, G>,
    r: Vectors<T, S, G>,
    v: &mut [Vectors<T, S, G>; K],
) -> Vectors<T, S, G> {
    let of = |x: T| T::simd_splat(context, &x);
    let [c, s, p, q] = [of(ends.c), of(ends.s), of(ends.p), of(ends.q)];
    let (mut new, mut both) = (r, r);
    for g in 0..G {
        let own = T::simd_mul(context, c, r[g]);
        new[g] = T::simd_mul_add(context, p, products[g], own);
        both[g] = T::simd_mul(context, q, T::simd_mul_add(context, s, r[g], new[g]));
    }
    for k in 0..K {
        let w = of(w[k]);
        for g in 0..G {
            v[k][g] = T::simd_mul_add(context, w, both[g], v[k][g]);
        }
    }
    new
}

#[inline(always)]
pub(super) fn entry<T: Scalar, S: Simd, const G: usize>(vectors: &Vectors<T, S, G>, i: usize) -> T {
    cast_slice::<_, T>(vectors)[i]
}
