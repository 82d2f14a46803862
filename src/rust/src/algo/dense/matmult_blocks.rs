//! Matrix products of which a device has room for a part at a time.
//!
//! A block of the result stays on the device while the rows and columns that make it pass by, in
//! chunks of the terms of its sums; a chunk is on its way while the one before is multiplied. With
//! blocks of `p` rows and `q` columns a product of m x k and k x n brings `m n k (1/p + 1/q)`
//! numbers to the device.

use std::collections::VecDeque;
use std::time::Duration;

use faer::{MatMut, MatRef};
use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;
use crate::base::threads::owns_pool;
use crate::cost::plan::call::{take_way, Way};
use crate::cost::plan::size::{self, GpuLimits};
use crate::device::async_copy::AsyncCopy;

/// How much of the room is for a block of the result; the rest is for two chunks of both operands.
const FOR_RESULT: f64 = 0.6;
/// Orders are multiples of it, where there is room for so many rows and columns: what the kernels'
/// tiles divide.
const STEP: usize = 128;

/// Rows and columns of a block of the result, and terms of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    rows: usize,
    cols: usize,
    terms: usize,
}

impl Parts {
    /// Adds them to the plan of this call.
    fn tell(self) {
        take_way(|| Way::Parts {
            rows: self.rows,
            columns: self.cols,
        });
    }
}

/// For a product m x k by k x n with room for so many numbers; `None` where that is not even enough
/// for a small one.
fn parts((m, n, k): (usize, usize, usize), room: f64) -> Option<Parts> {
    let round = |x: f64, most: usize| {
        let x = x as usize;
        let x = if x > STEP { x / STEP * STEP } else { x };
        x.min(most)
    };
    let block = FOR_RESULT * room;
    let side = round(block.sqrt(), usize::MAX).max(1);
    // What one side does not need the other one has.
    let rows = m.min(side);
    let cols = round(block / rows.max(1) as f64, n);
    let mut rows = round(block / cols.max(1) as f64, m);
    let mut cols = cols;
    let chunk = |rows: usize, cols: usize| {
        let left = room - (rows * cols) as f64;
        round(left / 2.0 / (rows + cols).max(1) as f64, k)
    };
    // Long thin blocks leave no room for what makes them.
    while k > 0 && chunk(rows, cols) == 0 && rows.max(cols) > 1 {
        *(if rows > cols { &mut rows } else { &mut cols }) /= 2;
    }
    let terms = chunk(rows, cols);
    let some = |part: usize, all: usize| part > 0 || all == 0;
    (some(rows, m) && some(cols, n) && some(terms, k)).then_some(Parts { rows, cols, terms })
}

/// How many numbers there is room for, where `memory` bytes are too few for so many.
pub fn room<T: Scalar, D: AsyncCopy<T>>(dev: &D, memory: f64, numbers: f64) -> Option<f64> {
    let limits = GpuLimits {
        own_memory: dev.has_own_memory(),
        memory,
        together: false,
    };
    size::product(numbers, size_of::<T>(), limits)
}

/// How many numbers there is room for on a device that had too little for all.
pub fn what_is_free<T: Scalar, D: AsyncCopy<T>>(dev: &D) -> Result<f64> {
    Ok(size::product_after_shortage(
        dev.free()? as f64,
        size_of::<T>(),
    ))
}

fn too_little<R>(room: f64) -> Result<R> {
    Err(Error::Argument {
        argument: "cudafactor.gpu_memory",
        what: format!("room for {room:.0} numbers in a GPU's memory is too little for a product"),
    })
}

/// `out = op(x) op(y)` with room for so many numbers on the device.
pub fn product<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    x: (Trans, MatRef<'_, T>),
    y: (Trans, MatRef<'_, T>),
    room: f64,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let (m, n) = out.shape();
    let k = x.0.shape(x.1.shape()).1;
    let Some(parts) = parts((m, n, k), room) else {
        return too_little(room);
    };
    parts.tell();
    for col in (0..n).step_by(parts.cols.max(1)) {
        for row in (0..m).step_by(parts.rows.max(1)) {
            let (rows, cols) = (parts.rows.min(m - row), parts.cols.min(n - col));
            let place = out.as_mut().submatrix_mut(row, col, rows, cols);
            block(dev, x, y, (row, col), parts.terms, place)?;
        }
    }
    Ok(())
}

/// `out = x'x` (`Trans::Yes`) or `xx'`, exactly symmetric, with room for so many numbers on the
/// device.
pub fn self_product<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    trans: Trans,
    x: MatRef<'_, T>,
    room: f64,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let (n, _) = out.shape();
    let other = match trans {
        Trans::Yes => Trans::No,
        Trans::No => Trans::Yes,
    };
    let k = trans.shape(x.shape()).1;
    let Some(parts) = parts((n, n, k), room) else {
        return too_little(room);
    };
    parts.tell();
    for col in (0..n).step_by(parts.cols.max(1)) {
        for row in (0..n).step_by(parts.rows.max(1)) {
            let (rows, cols) = (parts.rows.min(n - row), parts.cols.min(n - col));
            // What is wholly below the diagonal is mirrored.
            if row >= col + cols {
                continue;
            }
            let place = out.as_mut().submatrix_mut(row, col, rows, cols);
            block(dev, (trans, x), (other, x), (row, col), parts.terms, place)?;
        }
    }
    mirror(out)
}

/// One block of the result, whose first entry is at `at`.
fn block<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    (tx, x): (Trans, MatRef<'_, T>),
    (ty, y): (Trans, MatRef<'_, T>),
    at: (usize, usize),
    terms: usize,
    out: MatMut<'_, T>,
) -> Result<()> {
    let (rows, cols) = out.shape();
    let k = tx.shape(x.shape()).1;
    let mut c = dev.output(out)?;
    let mut under_way = VecDeque::new();
    let mut beta = T::from_f64(0.0);
    // Without terms there is a product of zeros.
    let mut from = 0;
    while from < k || from == 0 {
        let some = terms.min(k - from);
        // Room is for two chunks.
        while under_way.len() > 1 {
            match under_way.front() {
                Some(mark) if !dev.is_past(mark)? => {
                    interrupt::poll()?;
                    std::thread::sleep(Duration::from_micros(20));
                }
                _ => drop(under_way.pop_front()),
            }
        }
        let a = match tx {
            Trans::No => x.submatrix(at.0, from, rows, some),
            Trans::Yes => x.submatrix(from, at.0, some, rows),
        };
        let b = match ty {
            Trans::No => y.submatrix(from, at.1, some, cols),
            Trans::Yes => y.submatrix(at.1, from, cols, some),
        };
        let (a, b) = (dev.load(a)?, dev.load(b)?);
        dev.gemm(T::from_f64(1.0), tx, &a, ty, &b, beta, &mut c)?;
        under_way.push_back(dev.mark()?);
        beta = T::from_f64(1.0);
        from += some.max(1);
    }
    dev.store(c)
}

/// Copies what is above the diagonal below it.
fn mirror<T: Scalar>(mut out: MatMut<'_, T>) -> Result<()> {
    const ROWS: usize = 256;
    let n = out.nrows();
    for first in (0..n).step_by(ROWS) {
        interrupt::poll()?;
        let rows = ROWS.min(n - first);
        // A band of columns, of which all below the diagonal stands in a band of rows that is
        // finished.
        let (done, mut rest) = out.as_mut().split_at_row_mut(first + rows);
        let (mut corner, source) = done.split_at_col_mut(first + rows);
        let mut corner = corner.as_mut().submatrix_mut(first, first, rows, rows);
        for j in 0..rows {
            for i in 0..j {
                corner[(j, i)] = corner[(i, j)];
            }
        }
        let source = source.as_ref().subrows(first, rows);
        let mut band = rest.as_mut().subcols_mut(first, rows);
        let copy = |(j, mut to): (usize, MatMut<'_, T>)| {
            for i in 0..to.nrows() {
                to[(i, 0)] = source[(j, i)];
            }
        };
        if owns_pool() {
            band.par_col_chunks_mut(1).enumerate().for_each(copy);
        } else {
            for j in 0..rows {
                copy((j, band.as_mut().subcols_mut(j, 1)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fit_and_make_progress() {
        for shape in [
            (1, 1, 1),
            (1000, 1000, 1000),
            (1_000_000, 20, 30),
            (20, 30, 1_000_000),
            (5, 4000, 0),
            (0, 3, 3),
        ] {
            for room in [10.0, 1e3, 1e5, 1e6, 1e9] {
                let (m, n, k) = shape;
                let Some(p) = parts(shape, room) else {
                    assert!(room < 20.0, "{shape:?} {room}");
                    continue;
                };
                let used = p.rows * p.cols + 2 * p.terms * (p.rows + p.cols);
                assert!(used as f64 <= room, "{shape:?} {room} {p:?}");
                assert!(p.rows <= m && p.cols <= n && p.terms <= k);
            }
        }
        // What fits is one block.
        let all = parts((300, 400, 500), 1e6).unwrap();
        assert_eq!((all.rows, all.cols, all.terms), (300, 400, 500));
    }
}
