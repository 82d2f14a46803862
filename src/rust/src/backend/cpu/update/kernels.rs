//! Makes the reflections of rows of a factor, and applies them: tile by tile, transposed, while
//! some columns of V at a time stay in registers.

use pulp::bytemuck::{bytes_of, cast_slice, cast_slice_mut, pod_read_unaligned};
use pulp::{Simd, WithSimd};

use super::reflections::{held_by, reflection, reflection_of_any, Ends, Part, Parts, FIXED};
use crate::backend::cpu::matrix::transposed_rows::{lanes, put, take, Tile, ROWS};
use crate::backend::cpu::matrix::views::ColumnsMut;
use crate::base::matrix::Change;
use crate::base::scalar::Scalar;

/// Applies reflections, of `each` coefficients for a row, to as many rows of R, and to V, in
/// columns right of where they were made.
pub(crate) fn follow<T: Scalar>(
    coefficients: &[T],
    each: usize,
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
) {
    dispatch::<T, _>(Follow {
        coefficients,
        each,
        r,
        v,
    });
}

/// Makes the reflections of the rows of a square block on the diagonal, and applies them within it.
/// The first row for which there is none is an error.
pub(super) fn lead<T: Scalar>(
    change: Change,
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    each: usize,
    coefficients: &mut [T],
) -> Result<(), usize> {
    dispatch::<T, _>(Lead {
        change,
        coefficients,
        each,
        r,
        v,
    })
}

fn dispatch<T: Scalar, W: WithSimd>(work: W) -> W::Output {
    let processor = <T as faer::traits::ComplexField>::Arch::default();
    faer::traits::SimdArch::dispatch(processor, work)
}

struct Follow<'a, T> {
    coefficients: &'a [T],
    each: usize,
    r: ColumnsMut<'a, T>,
    v: ColumnsMut<'a, T>,
}

impl<T: Scalar> WithSimd for Follow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if held_by(S::REGISTER_COUNT) == 8 {
            follow_all::<T, S, 8, 3>(simd, self);
        } else {
            follow_all::<T, S, 4, 2>(simd, self);
        }
    }
}

#[inline(always)]
fn follow_all<T: Scalar, S: Simd, const K: usize, const G: usize>(simd: S, work: Follow<'_, T>) {
    let Follow {
        coefficients,
        each,
        mut r,
        mut v,
    } = work;
    let wide = G * lanes::<T, S>();
    for first in (0..r.ncols()).step_by(wide) {
        let width = wide.min(r.ncols() - first);
        let r = r.as_mut().subcols_mut(first, width);
        let v = v.as_mut().subrows_mut(first, width);
        follow_tile::<T, S, K, G>(simd, coefficients, each, r, v);
    }
}

/// Columns that are no more than a tile has.
#[inline(always)]
fn follow_tile<T: Scalar, S: Simd, const K: usize, const G: usize>(
    simd: S,
    coefficients: &[T],
    each: usize,
    mut r: ColumnsMut<'_, T>,
    mut v: ColumnsMut<'_, T>,
) {
    let context = T::simd_ctx(simd);
    let mut tile: Tile<T, S, G> = [[T::simd_splat(&context, &T::from_f64(0.0)); G]; ROWS];
    for row in (0..r.nrows()).step_by(ROWS) {
        let rows = ROWS.min(r.nrows() - row);
        take(simd, &mut r, row, rows, &mut tile);
        let coefficients = &coefficients[row * each..];
        for part in Parts::new(v.ncols(), K) {
            let tile = &mut tile[..rows];
            let v = v.as_mut().subcols_mut(part.first, part.count);
            match part.padded {
                1 => turn::<T, S, 1, G>(&context, coefficients, each, part, tile, v),
                2 => turn::<T, S, 2, G>(&context, coefficients, each, part, tile, v),
                4 => turn::<T, S, 4, G>(&context, coefficients, each, part, tile, v),
                _ => turn::<T, S, K, G>(&context, coefficients, each, part, tile, v),
            }
        }
        put(simd, &mut r, row, rows, &mut tile);
    }
}

type Vectors<T, S, const G: usize> = [<T as faer::traits::ComplexField>::SimdVec<S>; G];
type Context<T, S> = <T as faer::traits::ComplexField>::SimdCtx<S>;

/// Some columns of V with all rows of a tile.
#[inline(always)]
fn turn<T: Scalar, S: Simd, const K: usize, const G: usize>(
    context: &Context<T, S>,
    coefficients: &[T],
    each: usize,
    part: Part,
    tile: &mut [Vectors<T, S, G>],
    mut v: ColumnsMut<'_, T>,
) {
    let mut there = fetch::<T, S, K, G>(context, v.as_mut());
    // A copy of its own, to which nothing points: it stays in registers.
    let mut held = there;
    for (row, coefficients) in tile.iter_mut().zip(coefficients.chunks_exact(each)) {
        let these = &coefficients[part.at..part.at + part.len()];
        *row = reflect::<T, S, K, G>(context, these, *row, &mut held);
    }
    there = held;
    for (t, vectors) in there.iter_mut().enumerate().take(v.ncols()) {
        let column = v.as_mut().col_mut(t).as_slice_mut();
        if column.len() == G * lanes::<T, S>() {
            for (to, vector) in column.chunks_exact_mut(lanes::<T, S>()).zip(vectors) {
                cast_slice_mut::<T, u8>(to).copy_from_slice(bytes_of(vector));
            }
        } else {
            let entries: &[T] = cast_slice_mut(vectors);
            column.copy_from_slice(&entries[..column.len()]);
        }
    }
}

/// The columns of V, and zeros where there are fewer columns or rows.
#[inline(always)]
fn fetch<T: Scalar, S: Simd, const K: usize, const G: usize>(
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
fn reflect<T: Scalar, S: Simd, const K: usize, const G: usize>(
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
fn products<T: Scalar, S: Simd, const K: usize, const G: usize>(
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
fn finish<T: Scalar, S: Simd, const K: usize, const G: usize>(
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

struct Lead<'a, T> {
    change: Change,
    coefficients: &'a mut [T],
    each: usize,
    r: ColumnsMut<'a, T>,
    v: ColumnsMut<'a, T>,
}

impl<T: Scalar> WithSimd for Lead<'_, T> {
    /// The first row without one is an error.
    type Output = Result<(), usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        if held_by(S::REGISTER_COUNT) == 8 {
            lead_all::<T, S, 8, 3>(simd, self)
        } else {
            lead_all::<T, S, 4, 2>(simd, self)
        }
    }
}

#[inline(always)]
fn lead_all<T: Scalar, S: Simd, const K: usize, const G: usize>(
    simd: S,
    work: Lead<'_, T>,
) -> Result<(), usize> {
    let Lead {
        change,
        coefficients,
        each,
        mut r,
        mut v,
    } = work;
    const { assert!(G * lanes::<T, S>() <= ROWS) };
    let wide = G * lanes::<T, S>();
    for first in (0..r.ncols()).step_by(wide) {
        let width = wide.min(r.ncols() - first);
        let (above, rest) = r.as_mut().subcols_mut(first, width).split_at_row_mut(first);
        let mut v = v.as_mut().subrows_mut(first, width);
        let (before, own) = coefficients.split_at_mut(first * each);
        follow_tile::<T, S, K, G>(simd, before, each, above, v.as_mut());
        let corner = rest.subrows_mut(0, width);
        lead_tile::<T, S, K, G>(simd, change, own, each, corner, v).map_err(|row| first + row)?;
    }
    Ok(())
}

/// A square on the diagonal that is no wider than a tile.
#[inline(always)]
fn lead_tile<T: Scalar, S: Simd, const K: usize, const G: usize>(
    simd: S,
    change: Change,
    coefficients: &mut [T],
    each: usize,
    mut r: ColumnsMut<'_, T>,
    mut v: ColumnsMut<'_, T>,
) -> Result<(), usize> {
    let context = T::simd_ctx(simd);
    let n = r.ncols();
    let mut tile: Tile<T, S, G> = [[T::simd_splat(&context, &T::from_f64(0.0)); G]; ROWS];
    take(simd, &mut r, 0, n, &mut tile);
    let was = tile;
    for part in Parts::new(v.ncols(), K) {
        let tile = &mut tile[..n];
        let v = v.as_mut().subcols_mut(part.first, part.count);
        match part.padded {
            1 => own::<T, S, 1, G>(&context, change, coefficients, each, part, tile, v),
            2 => own::<T, S, 2, G>(&context, change, coefficients, each, part, tile, v),
            4 => own::<T, S, 4, G>(&context, change, coefficients, each, part, tile, v),
            _ => own::<T, S, K, G>(&context, change, coefficients, each, part, tile, v),
        }?;
    }
    // What is below the diagonal stays.
    for (i, (row, was)) in tile[..n].iter_mut().zip(&was).enumerate() {
        let below: &[T] = cast_slice(was);
        cast_slice_mut(row)[..i].copy_from_slice(&below[..i]);
    }
    put(simd, &mut r, 0, n, &mut tile);
    Ok(())
}

/// The reflections of a square's own rows with some columns of V. What lies below the diagonal
/// meets them too, and is of no use.
#[inline(always)]
fn own<T: Scalar, S: Simd, const K: usize, const G: usize>(
    context: &Context<T, S>,
    change: Change,
    coefficients: &mut [T],
    each: usize,
    part: Part,
    tile: &mut [Vectors<T, S, G>],
    v: ColumnsMut<'_, T>,
) -> Result<(), usize> {
    let mut held = fetch::<T, S, K, G>(context, v);
    let rows = tile.iter_mut().zip(coefficients.chunks_exact_mut(each));
    for (i, (row, coefficients)) in rows.enumerate() {
        let these = &mut coefficients[part.at..part.at + part.len()];
        let (ends_out, w) = these.split_at_mut(FIXED);
        for k in 0..K {
            w[k] = entry::<T, S, G>(&held[k], i);
        }
        let r = *row;
        let diagonal = entry::<T, S, G>(&r, i);
        let mut sums = products::<T, S, K, G>(context, w, &held);
        let mut found = reflection(change, diagonal, entry::<T, S, G>(&sums, i));
        if found.is_none() {
            found = reflection_of_any(change, diagonal, w);
            sums = products::<T, S, K, G>(context, w, &held);
        }
        let Some((ends, h)) = found else {
            return Err(i);
        };
        ends.write(ends_out);
        *row = finish::<T, S, K, G>(context, ends, w, sums, r, &mut held);
        cast_slice_mut::<_, T>(row)[i] = h;
    }
    Ok(())
}

#[inline(always)]
fn entry<T: Scalar, S: Simd, const G: usize>(vectors: &Vectors<T, S, G>, i: usize) -> T {
    cast_slice::<_, T>(vectors)[i]
}

#[cfg(test)]
#[path = "kernels_tests.rs"]
mod tests;
