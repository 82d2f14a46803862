//! Transposes rows of a few columns of a column-major matrix into a buffer, square by square, and
//! back.

use pulp::bytemuck::cast_slice_mut;
use pulp::Simd;

use super::views::ColumnsMut;
use crate::base::scalar::Scalar;

/// Rows of a tile, so few that it stays in the first level of cache, and no fewer than any tile has
/// columns.
pub(crate) const ROWS: usize = 48;

/// A row has G vectors; lane after lane they are columns.
pub(crate) type Tile<T, S, const G: usize> =
    [[<T as faer::traits::ComplexField>::SimdVec<S>; G]; ROWS];

/// Entries of a vector.
pub(crate) const fn lanes<T: Scalar, S: Simd>() -> usize {
    size_of::<T::SimdVec<S>>() / size_of::<T>()
}

/// Fills the tile from the rows from `row` on of all columns, which are at most as many as it has.
#[inline(always)]
pub(crate) fn take<T: Scalar, S: Simd, const G: usize>(
    simd: S,
    r: &mut ColumnsMut<'_, T>,
    row: usize,
    rows: usize,
    tile: &mut Tile<T, S, G>,
) {
    pass::<T, S, G, 1>(simd, r, row, rows, tile);
}

/// Writes the tile back in the same way.
#[inline(always)]
pub(crate) fn put<T: Scalar, S: Simd, const G: usize>(
    simd: S,
    r: &mut ColumnsMut<'_, T>,
    row: usize,
    rows: usize,
    tile: &mut Tile<T, S, G>,
) {
    pass::<T, S, G, 0>(simd, r, row, rows, tile);
}

#[inline(always)]
fn pass<T: Scalar, S: Simd, const G: usize, const IN: usize>(
    simd: S,
    r: &mut ColumnsMut<'_, T>,
    row: usize,
    rows: usize,
    tile: &mut Tile<T, S, G>,
) {
    let (lanes, width) = (lanes::<T, S>(), r.ncols());
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    {
        let whole = rows / lanes * lanes;
        while whole == rows && done + lanes <= width {
            let columns = r.as_mut().subcols_mut(done, lanes);
            let g = done / lanes;
            if !x86::pass::<T, S, G, IN>(simd, columns, row, rows, tile, g) {
                break;
            }
            done += lanes;
        }
    }
    let _ = simd;
    let flat: &mut [T] = cast_slice_mut(tile.as_flattened_mut());
    for l in done..width {
        let column = &mut r.as_mut().col_mut(l).as_slice_mut()[row..row + rows];
        for (entries, x) in flat.chunks_exact_mut(G * lanes).zip(column) {
            if IN == 1 {
                entries[l] = *x;
            } else {
                *x = entries[l];
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::any::TypeId;

    use pulp::bytemuck::{cast_slice_mut, Pod};
    use pulp::x86::V3;
    use pulp::{cast, f64x4};
    use std::arch::x86_64::__m256d;

    use super::*;

    /// What a square of so many rows and columns, of as many vectors, is turned by.
    trait Turn<const L: usize>: Simd {
        type Vector: Pod;
        fn read(from: &[f64; L]) -> Self::Vector;
        fn write(x: Self::Vector, to: &mut [f64; L]);
        fn turned(self, x: [Self::Vector; L]) -> [Self::Vector; L];
    }

    #[cfg(feature = "avx512")]
    mod wide {
        use pulp::x86::V4;
        use pulp::{cast, f64x8};
        use std::arch::x86_64::__m512d;

        use super::Turn;

        impl Turn<8> for V4 {
            type Vector = f64x8;

            #[inline(always)]
            fn read(from: &[f64; 8]) -> f64x8 {
                cast(*from)
            }

            #[inline(always)]
            fn write(x: f64x8, to: &mut [f64; 8]) {
                *to = cast(x);
            }

            #[inline(always)]
            fn turned(self, x: [f64x8; 8]) -> [f64x8; 8] {
                let x: [__m512d; 8] = x.map(cast);
                let f = self.avx512f;
                let pairs: [__m512d; 8] = std::array::from_fn(|i| {
                    let (a, b) = (x[i & !1], x[i | 1]);
                    if i % 2 == 0 {
                        f._mm512_unpacklo_pd(a, b)
                    } else {
                        f._mm512_unpackhi_pd(a, b)
                    }
                });
                // Quarters 0 and 2, or 1 and 3, of two vectors.
                let even = |a, b| f._mm512_shuffle_f64x2::<0b10_00_10_00>(a, b);
                let odd = |a, b| f._mm512_shuffle_f64x2::<0b11_01_11_01>(a, b);
                let mut out = pairs;
                for i in 0..2 {
                    let (a, b) = (pairs[i], pairs[2 + i]);
                    let (c, d) = (pairs[4 + i], pairs[6 + i]);
                    let (first, second) = (even(a, b), even(c, d));
                    out[i] = even(first, second);
                    out[4 + i] = odd(first, second);
                    let (first, second) = (odd(a, b), odd(c, d));
                    out[2 + i] = even(first, second);
                    out[6 + i] = odd(first, second);
                }
                out.map(cast)
            }
        }
    }

    impl Turn<4> for V3 {
        type Vector = f64x4;

        #[inline(always)]
        fn read(from: &[f64; 4]) -> f64x4 {
            cast(*from)
        }

        #[inline(always)]
        fn write(x: f64x4, to: &mut [f64; 4]) {
            *to = cast(x);
        }

        #[inline(always)]
        fn turned(self, x: [f64x4; 4]) -> [f64x4; 4] {
            let [a, b, c, d]: [__m256d; 4] = x.map(cast);
            let f = self.avx;
            let (p, q) = (f._mm256_unpacklo_pd(a, b), f._mm256_unpackhi_pd(a, b));
            let (r, s) = (f._mm256_unpacklo_pd(c, d), f._mm256_unpackhi_pd(c, d));
            [
                f._mm256_permute2f128_pd::<0x20>(p, r),
                f._mm256_permute2f128_pd::<0x20>(q, s),
                f._mm256_permute2f128_pd::<0x31>(p, r),
                f._mm256_permute2f128_pd::<0x31>(q, s),
            ]
            .map(cast)
        }
    }

    /// Where the processor has shuffles for it: as many columns as a vector has lanes, into or out
    /// of the vectors `g` of the tile's rows.
    #[inline(always)]
    pub(crate) fn pass<T: Scalar, S: Simd, const G: usize, const IN: usize>(
        simd: S,
        columns: ColumnsMut<'_, T>,
        row: usize,
        rows: usize,
        tile: &mut Tile<T, S, G>,
        g: usize,
    ) -> bool {
        if TypeId::of::<T>() != TypeId::of::<f64>() {
            return false;
        }
        #[cfg(feature = "avx512")]
        if TypeId::of::<S>() == TypeId::of::<pulp::x86::V4>() {
            // SAFETY: a type is itself.
            let simd: pulp::x86::V4 = unsafe { std::mem::transmute_copy(&simd) };
            squares::<T, S, pulp::x86::V4, G, 8, IN>(simd, columns, row, rows, tile, g);
            return true;
        }
        if TypeId::of::<S>() == TypeId::of::<V3>() {
            // SAFETY: a type is itself.
            let simd: V3 = unsafe { std::mem::transmute_copy(&simd) };
            squares::<T, S, V3, G, 4, IN>(simd, columns, row, rows, tile, g);
            return true;
        }
        false
    }

    #[inline(always)]
    fn squares<T, S, V, const G: usize, const L: usize, const IN: usize>(
        simd: V,
        mut columns: ColumnsMut<'_, T>,
        row: usize,
        rows: usize,
        tile: &mut Tile<T, S, G>,
        g: usize,
    ) where
        T: Scalar,
        S: Simd,
        V: Turn<L>,
    {
        let mut all = columns.as_mut().col_iter_mut();
        let slices: [&mut [[f64; L]]; L] = std::array::from_fn(|_| match all.next() {
            Some(column) => {
                let column: &mut [f64] = cast_slice_mut(column.as_slice_mut());
                pulp::as_arrays_mut(&mut column[row..row + rows]).0
            }
            None => &mut [],
        });
        for (i, rows) in tile[..rows].chunks_exact_mut(L).enumerate() {
            let mut x: [V::Vector; L] = if IN == 1 {
                std::array::from_fn(|y| V::read(&slices[y][i]))
            } else {
                std::array::from_fn(|y| cast_slice_mut::<_, V::Vector>(&mut rows[y])[g])
            };
            x = simd.turned(x);
            for y in 0..L {
                if IN == 1 {
                    cast_slice_mut::<_, V::Vector>(&mut rows[y])[g] = x[y];
                } else {
                    V::write(x[y], &mut slices[y][i]);
                }
            }
        }
    }
}
