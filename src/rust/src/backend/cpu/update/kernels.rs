//! Makes the reflections of rows of a factor, and applies them: tile by tile, transposed, while
//! some columns of V at a time stay in registers.

use pulp::bytemuck::{bytes_of, cast_slice, cast_slice_mut};
use pulp::{Simd, WithSimd};

use super::reflections::{held_by, reflection, reflection_of_any, Part, Parts, FIXED};
use crate::backend::cpu::matrix::transposed_rows::{lanes, put, take, Tile, ROWS};
use crate::backend::cpu::matrix::views::ColumnsMut;
use crate::backend::cpu::update::registers::{
    entry, fetch, finish, products, reflect, Context, Vectors,
};
use crate::base::matrix::Change;
use crate::base::scalar::Scalar;
use crate::base::simd::dispatch;

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
    // A separate copy, to which nothing points: it stays in registers.
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

#[cfg(test)]
#[path = "kernels_tests.rs"]
mod tests;
