//! Plane rotations of rows of a triangular factor with columns of another matrix; see `cholesky_update.rs` for the formulas.

use super::vector::vectorized;
use super::ColumnsMut;
use crate::error::{Error, Result};
use crate::matrix::Change;
use crate::scalar::Scalar;

/// Rows whose rotations go over all other columns at once: enough that little time goes into finding where the columns are, and what is transposed stays in the first
/// level of cache.
pub(super) const BLOCK: usize = 128;
/// So many columns of V are not few. The rotations of few go over columns of R as they are, so many beside one another: to transpose these takes longer.
pub(super) const FEW: usize = 3;
const ABREAST: usize = 8;
/// Columns of R that are transposed together.
const LANES: usize = 16;
/// Columns of V that are at once in registers.
const HELD: usize = 4;

/// A plane rotation: c and s, and 1 / c for a downdate.
#[derive(Clone, Copy)]
pub(super) struct Rotation<T> {
    c: T,
    s: T,
    by: T,
}

/// The rotations of some rows, each with those of all columns of V, and with rotations by nothing up to a multiple of [`HELD`].
pub(super) struct Rotations<T> {
    all: Vec<Rotation<T>>,
    /// Of each row.
    each: usize,
}

/// How many rotations a row has for so many columns of V.
pub(super) fn each_row(columns: usize) -> usize {
    columns.next_multiple_of(HELD)
}

impl<T: Scalar> Rotations<T> {
    pub(super) fn new(rows: usize, columns: usize) -> Result<Self> {
        let each = each_row(columns);
        let mut all = Vec::new();
        let room = rows * each;
        all.try_reserve_exact(room).map_err(|_| Error::HostMemory {
            needed: (room * size_of::<Rotation<T>>()) as u64,
        })?;
        Ok(Rotations { all, each })
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
    }

    pub(super) fn push(&mut self, rotation: Rotation<T>) {
        self.all.push(rotation);
    }

    /// Those of other rows after its own.
    pub(super) fn append(&mut self, others: &Self) {
        self.all.extend_from_slice(&others.all);
    }

    pub(super) fn rows(&self) -> usize {
        self.all.len() / self.each
    }

    /// The last row has no more.
    pub(super) fn end_row(&mut self) {
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        let none = Rotation {
            c: one,
            s: zero,
            by: one,
        };
        let end = self.all.len().next_multiple_of(self.each);
        self.all.resize(end, none);
    }

    /// Those of the rows from `row` on.
    pub(super) fn from(&self, row: usize) -> &[Rotation<T>] {
        &self.all[row * self.each..]
    }
}

/// Where nothing is lost of a sum of squares.
const NORMAL: std::ops::Range<f64> = 1e-280..1e300;

/// The rotation that takes v into r, and what becomes of r; none where nothing greater than zero does.
pub(super) fn rotation<T: Scalar>(change: Change, r: T, v: T) -> Option<(Rotation<T>, T)> {
    let (r, v): (f64, f64) = (r.into(), v.into());
    let h = match change {
        Change::Up => {
            let squares = r * r + v * v;
            if NORMAL.contains(&squares) {
                squares.sqrt()
            } else {
                r.hypot(v)
            }
        }
        Change::Down => {
            let (less, more) = (r.abs() - v.abs(), r.abs() + v.abs());
            if NORMAL.contains(&(less * more)) {
                (less * more).sqrt()
            } else {
                less.sqrt() * more.sqrt()
            }
        }
    };
    if !(h > 0.0 && h < f64::INFINITY) {
        return None;
    }
    let (c, s) = match change {
        Change::Up => (r / h, v / h),
        Change::Down => (h / r, v / r),
    };
    let of = T::from_f64;
    let rotation = Rotation {
        c: of(c),
        s: of(s),
        by: of(1.0 / c),
    };
    Some((rotation, of(h)))
}

/// What a rotation makes of an entry of the row and one of the column.
#[inline(always)]
pub(super) fn turned<T: Scalar, const DOWN: usize>(rotation: Rotation<T>, r: T, v: T) -> (T, T) {
    let Rotation { c, s, by } = rotation;
    if DOWN == 0 {
        (s.fused(v, c * r), (-s).fused(r, c * v))
    } else {
        let r = (-s).fused(v, r) * by;
        (r, (-s).fused(r, c * v))
    }
}

/// Turns rows, and the columns of V, beyond where the rotations were found.
pub(super) fn turn<T: Scalar>(
    change: Change,
    rotations: &[Rotation<T>],
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
) {
    match (change, v.ncols() < FEW) {
        (Change::Up, true) => turn_columns([], rotations, r, v),
        (Change::Down, true) => turn_columns([()], rotations, r, v),
        (Change::Up, false) => turn_rows([], rotations, r, v),
        (Change::Down, false) => turn_rows([()], rotations, r, v),
    }
}

vectorized! {
    /// Some columns beside one another, transposed. `down` has no elements or one.
    fn turn_rows<'a, T, const DOWN>(
        _down: [(); DOWN],
        rotations: &'a [Rotation<T>],
        r: ColumnsMut<'a, T>,
        v: ColumnsMut<'a, T>,
    ) {
        let (rows, columns) = r.shape();
        let k = v.ncols();
        let each = each_row(k);
        let (mut r, mut v) = (r, v);
        let zero = T::from_f64(0.0);
        let mut block = [[zero; LANES]; BLOCK];
        for first in (0..columns).step_by(LANES) {
            let width = LANES.min(columns - first);
            let mut r = r.as_mut().subcols_mut(first, width);
            for l in 0..width {
                for (row, x) in block.iter_mut().zip(r.as_ref().col(l).as_slice()) {
                    row[l] = *x;
                }
            }
            for t in (0..k).step_by(HELD) {
                let mut held = [[zero; LANES]; HELD];
                for (u, held) in held.iter_mut().enumerate().take(k - t) {
                    held[..width].copy_from_slice(&v.as_ref().col(t + u).as_slice()[first..first + width]);
                }
                let [mut a, mut b, mut c, mut d] = held;
                for (row, rotations) in block[..rows].iter_mut().zip(rotations.chunks_exact(each)) {
                    if let [p, q, s, u] = rotations[t..t + HELD] {
                        let mut x = *row;
                        for l in 0..LANES {
                            (x[l], a[l]) = turned::<T, DOWN>(p, x[l], a[l]);
                        }
                        for l in 0..LANES {
                            (x[l], b[l]) = turned::<T, DOWN>(q, x[l], b[l]);
                        }
                        for l in 0..LANES {
                            (x[l], c[l]) = turned::<T, DOWN>(s, x[l], c[l]);
                        }
                        for l in 0..LANES {
                            (x[l], d[l]) = turned::<T, DOWN>(u, x[l], d[l]);
                        }
                        *row = x;
                    }
                }
                for (u, held) in [a, b, c, d].iter().enumerate().take(k - t) {
                    v.as_mut().col_mut(t + u).as_slice_mut()[first..first + width].copy_from_slice(&held[..width]);
                }
            }
            for l in 0..width {
                for (row, x) in block.iter().zip(r.as_mut().col_mut(l).as_slice_mut()) {
                    *x = row[l];
                }
            }
        }
    }
}

/// Turns columns that are as long as one another, of which there are as many as `held` has entries.
#[inline(always)]
fn abreast<T: Scalar, const DOWN: usize>(
    rotations: &[Rotation<T>],
    each: usize,
    columns: &mut [&mut [T]; ABREAST],
    held: &mut [T],
) {
    if held.len() == ABREAST {
        let mut v = [T::from_f64(0.0); ABREAST];
        v.copy_from_slice(held);
        let [a, b, c, d, e, f, g, h] = columns;
        let rows = a
            .iter_mut()
            .zip(b.iter_mut())
            .zip(c.iter_mut())
            .zip(d.iter_mut());
        let others = e
            .iter_mut()
            .zip(f.iter_mut())
            .zip(g.iter_mut())
            .zip(h.iter_mut());
        let rotations = rotations.iter().step_by(each);
        for (((((a, b), c), d), (((e, f), g), h)), q) in rows.zip(others).zip(rotations) {
            for (x, v) in [a, b, c, d, e, f, g, h].into_iter().zip(&mut v) {
                (*x, *v) = turned::<T, DOWN>(*q, *x, *v);
            }
        }
        held.copy_from_slice(&v);
        return;
    }
    for (column, v) in columns.iter_mut().zip(held) {
        for (x, rotation) in column.iter_mut().zip(rotations.iter().step_by(each)) {
            (*x, *v) = turned::<T, DOWN>(*rotation, *x, *v);
        }
    }
}

vectorized! {
    /// As [`turn_rows`], some columns beside one another as they are: to transpose them takes longer than a few rotations.
    fn turn_columns<'a, T, const DOWN>(
        _down: [(); DOWN],
        rotations: &'a [Rotation<T>],
        r: ColumnsMut<'a, T>,
        v: ColumnsMut<'a, T>,
    ) {
        let (columns, k) = (r.ncols(), v.ncols());
        let each = each_row(k);
        let (mut r, mut v) = (r, v);
        for first in (0..columns).step_by(ABREAST) {
            let width = ABREAST.min(columns - first);
            let mut some = r.as_mut().subcols_mut(first, width).col_iter_mut();
            let mut slices: [&mut [T]; ABREAST] = std::array::from_fn(|_| match some.next() {
                Some(column) => column.as_slice_mut(),
                None => &mut [],
            });
            for t in 0..k {
                let held = &mut v.as_mut().col_mut(t).as_slice_mut()[first..first + width];
                abreast::<T, DOWN>(&rotations[t..], each, &mut slices, held);
            }
        }
    }
}
