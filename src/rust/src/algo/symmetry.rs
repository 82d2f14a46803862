//! Whether a stored matrix is symmetric, entry by entry.

use faer::MatRef;
use rayon::prelude::*;

use super::lp_csc::Csc;
use crate::elementwise::{Elementwise, Fold, Lines, Operand, Zip};
use crate::error::Result;
use crate::interrupt;
use crate::matrix::Block;
use crate::scalar::Scalar;
use crate::threads::owns_pool;

/// Whether all entries of a square matrix of the host are their mirror images; NaN is not.
pub fn is_symmetric<T: Scalar>(a: MatRef<'_, T>) -> Result<bool> {
    const SIDE: usize = 256;
    let n = a.nrows();
    let blocks = n.div_ceil(SIDE);
    for i in 0..blocks {
        interrupt::poll()?;
        let same = |j: usize| {
            let (row, col) = (i * SIDE, j * SIDE);
            let (rows, cols) = (SIDE.min(n - row), SIDE.min(n - col));
            let (x, y) = (
                a.submatrix(row, col, rows, cols),
                a.submatrix(col, row, cols, rows),
            );
            (0..cols).all(|j| (0..rows).all(|i| x[(i, j)] == y[(j, i)]))
        };
        let all = if owns_pool() {
            (i..blocks).into_par_iter().all(same)
        } else {
            (i..blocks).all(same)
        };
        if !all {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Columns that are compared with rows at once.
const STRIP: usize = 512;

/// As [`is_symmetric`], of a matrix on a device, with room for three strips of it. Infinite entries are not their mirror images either.
pub fn is_symmetric_resident<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
) -> Result<bool> {
    let (n, cols) = dev.shape(a);
    if n != cols {
        return Ok(false);
    }
    for first in (0..n).step_by(STRIP) {
        interrupt::poll()?;
        let width = STRIP.min(n - first);
        // The rest of the square was looked at from the other side.
        let long = n - first;
        let (mut tall, mut wide) = (dev.blank(long, width)?, dev.blank(width, long)?);
        let block = |rows, cols| Block {
            row: first,
            col: first,
            rows,
            cols,
        };
        dev.copy_block(a, block(long, width), &mut tall, (0, 0))?;
        dev.copy_block(a, block(width, long), &mut wide, (0, 0))?;
        let mut turned = dev.blank(long, width)?;
        dev.transpose(&wide, &mut turned)?;
        drop(wide);
        let mut difference = dev.blank(long, width)?;
        let (x, y) = (Operand::Matrix(&tall), Operand::Matrix(&turned));
        dev.zip(Zip::Subtract, x, y, &mut difference)?;
        let largest = dev.fold(Fold::Largest, Lines::All, false, &difference)?;
        if largest.iter().any(|d| *d != 0.0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// As [`is_symmetric`], of a sparse matrix, in O(entries) operations. What is not stored is zero.
pub fn is_symmetric_sparse(a: &Csc) -> bool {
    let n = a.columns();
    if a.rows != n {
        return false;
    }
    // The first place of each column that is not compared yet: rows come up in order.
    let mut next: Vec<usize> = a.starts[..n].to_vec();
    for j in 0..n {
        while next[j] < a.starts[j + 1] {
            let p = next[j];
            let (i, value) = (a.index[p], a.values[p]);
            next[j] += 1;
            if i < j {
                // Its mirror image in column i, at row j, was not met.
                if value != 0.0 {
                    return false;
                }
                continue;
            }
            if i == j {
                if value.is_nan() {
                    return false;
                }
                continue;
            }
            // Rows before j of column i have had their turn.
            let mut mirrored = 0.0;
            while next[i] < a.starts[i + 1] && a.index[next[i]] <= j {
                let (row, image) = (a.index[next[i]], a.values[next[i]]);
                next[i] += 1;
                if row == j {
                    mirrored = image;
                } else if image != 0.0 {
                    return false;
                }
            }
            if value != mirrored {
                return false;
            }
        }
    }
    true
}
