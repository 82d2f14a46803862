//! Functions of one and of two matrices, entry by entry.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use faer::{MatMut, MatRef};

use super::functions::{modulo, of_one, power, quotient};
use crate::backend::cpu::matrix::bands::in_bands;
use crate::backend::cpu::matrix::views::{
    columns, columns_mut, require, Columns, ColumnsMut, CpuMat,
};
use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::{join, share};
use crate::device::elementwise::Operand;
use crate::device::functions::{Map, Zip};

/// Entries of a column computed at a time.
pub(crate) const CHUNK: usize = 512;

/// Cost of an entry in multiplications: a function of the C library, or reading and writing memory.
const FUNCTION: f64 = 60.0;
pub(super) const ARITHMETIC: f64 = 16.0;

/// Calls `f` with each chunk of each column of `out`, its column and its first row, on up to
/// `threads` threads.
pub(super) fn each_chunk<T: Scalar>(
    out: MatMut<'_, T>,
    threads: usize,
    cost: f64,
    f: &(impl Fn(usize, usize, &mut [T]) + Sync),
) -> Result<()> {
    let mut out = columns_mut(out)?;
    let (rows, cols) = out.shape();
    in_bands(cols, rows, 1, |first, count| {
        let threads = share(threads, cost * rows as f64 * count as f64);
        let band = out.as_mut().subcols_mut(first, count);
        chunks(band, (0, first), threads, f);
    })
}

/// The same for a part that begins at row and column `at`.
fn chunks<T: Scalar>(
    mut out: ColumnsMut<'_, T>,
    at: (usize, usize),
    threads: usize,
    f: &(impl Fn(usize, usize, &mut [T]) + Sync),
) {
    let (rows, cols) = out.shape();
    if threads > 1 && cols > 1 {
        let half = cols * (threads / 2) / threads;
        let (left, right) = out.split_at_col_mut(half);
        join(
            threads,
            |t| chunks(left, at, t, f),
            |t| chunks(right, (at.0, at.1 + half), t, f),
        );
    } else if threads > 1 && rows > 2 * CHUNK {
        let half = rows * (threads / 2) / threads;
        let (top, bottom) = out.split_at_row_mut(half);
        join(
            threads,
            |t| chunks(top, at, t, f),
            |t| chunks(bottom, (at.0 + half, at.1), t, f),
        );
    } else {
        for j in 0..cols {
            let column = out.as_mut().col_mut(j).as_slice_mut();
            for (k, chunk) in column.chunks_mut(CHUNK).enumerate() {
                f(at.1 + j, at.0 + k * CHUNK, chunk);
            }
        }
    }
}

pub(crate) fn map<T: Scalar>(
    f: Map,
    a: MatRef<'_, T>,
    out: MatMut<'_, T>,
    threads: usize,
) -> Result<bool> {
    let a = columns(a)?;
    let (made, watched) = (AtomicBool::new(false), f.may_make_nan());
    macro_rules! with {
        ($cost:expr, $f:expr) => {{
            let function = $f;
            each_chunk(out, threads, $cost, &|j, i, out: &mut [T]| {
                let mut fresh = false;
                let from = &a.col(j).as_slice()[i..i + out.len()];
                for (x, out) in from.iter().zip(out) {
                    let x: f64 = (*x).into();
                    let y = function(x);
                    fresh |= y.is_nan() && !x.is_nan();
                    *out = T::from_f64(y);
                }
                if watched && fresh {
                    made.store(true, Ordering::Relaxed);
                }
            })
        }};
    }
    // Calling these would take longer than they do.
    match f {
        Map::Negate => with!(ARITHMETIC, |x: f64| -x),
        Map::Abs => with!(ARITHMETIC, |x: f64| x.abs()),
        Map::Sqrt => with!(ARITHMETIC, |x: f64| x.sqrt()),
        _ => with!(FUNCTION, of_one(f)),
    }?;
    Ok(made.into_inner())
}

/// The source of the entries of an operand.
pub(crate) enum Source<'s, T: Scalar> {
    Columns(Columns<'s, T>),
    Number(T),
    /// A vector, recycled down columns of this number of rows.
    Cycle(Cow<'s, [T]>, usize),
}

impl<'s, T: Scalar> Source<'s, T> {
    /// For a result of `shape`.
    pub(crate) fn new(operand: Operand<'s, CpuMat<'_, T>>, shape: (usize, usize)) -> Result<Self> {
        Ok(match operand {
            Operand::Matrix(a) => {
                require(a.view().shape() == shape, "non-conformable arrays")?;
                Source::Columns(columns(a.view())?)
            }
            Operand::Number(x) => Source::Number(T::from_f64(x)),
            Operand::Recycled(v) => {
                let v = columns(v.view())?;
                require(v.nrows() * v.ncols() > 0, "an empty vector is recycled")?;
                let values = if v.ncols() == 1 {
                    Cow::Borrowed(v.col(0).as_slice())
                } else {
                    let mut all = try_zeroed(v.nrows() * v.ncols())?;
                    for (j, to) in all.chunks_exact_mut(v.nrows()).enumerate() {
                        to.copy_from_slice(v.col(j).as_slice());
                    }
                    Cow::Owned(all)
                };
                Source::Cycle(values, shape.0)
            }
        })
    }

    /// `len` entries of column `j` from row `i` on, in `room` unless they are adjacent in memory.
    pub(crate) fn read<'c>(
        &'c self,
        j: usize,
        i: usize,
        len: usize,
        room: &'c mut [T; CHUNK],
    ) -> &'c [T] {
        match self {
            Source::Columns(a) => &a.col(j).as_slice()[i..i + len],
            Source::Number(x) => {
                room[..len].fill(*x);
                &room[..len]
            }
            Source::Cycle(v, rows) => {
                let mut at = (j * rows + i) % v.len();
                if at + len <= v.len() {
                    return &v[at..at + len];
                }
                for to in &mut room[..len] {
                    *to = v[at];
                    at = if at + 1 == v.len() { 0 } else { at + 1 };
                }
                &room[..len]
            }
        }
    }
}

pub(crate) fn zip<T: Scalar>(
    f: Zip,
    a: Operand<'_, CpuMat<'_, T>>,
    b: Operand<'_, CpuMat<'_, T>>,
    out: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (a, b) = (Source::new(a, out.shape())?, Source::new(b, out.shape())?);
    macro_rules! with {
        ($cost:expr, $f:expr) => {
            each_chunk(out, threads, $cost, &|j, i, out: &mut [T]| {
                let mut room = [[T::from_f64(0.0); CHUNK]; 2];
                let [first, second] = &mut room;
                let a = a.read(j, i, out.len(), first);
                let b = b.read(j, i, out.len(), second);
                for ((x, y), out) in a.iter().zip(b).zip(out) {
                    *out = T::from_f64($f((*x).into(), (*y).into()));
                }
            })
        };
    }
    match f {
        Zip::Add => with!(ARITHMETIC, |x: f64, y: f64| x + y),
        Zip::Subtract => with!(ARITHMETIC, |x: f64, y: f64| x - y),
        Zip::Multiply => with!(ARITHMETIC, |x: f64, y: f64| x * y),
        Zip::Divide => with!(ARITHMETIC, |x: f64, y: f64| x / y),
        Zip::Power => with!(FUNCTION, power),
        Zip::Modulo => with!(FUNCTION, modulo),
        Zip::Quotient => with!(FUNCTION, quotient),
    }
}
