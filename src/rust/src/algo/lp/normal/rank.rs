//! Dependent rows and free columns of a linear program, found once by QR with column exchanges.

use faer::MatMut;

use super::equations::or_one;
use super::layout::Dependent;
use crate::algo::lp::vectors::device::OnDevice;
use crate::base::error::Result;
use crate::base::matrix::{Block, Diag, Side, Trans, Uplo};
use crate::base::scalar::{try_zeroed, widened, Scalar};
use crate::device::elementwise::Elementwise;

/// What the columns before it leave of a column of norm 1, relative to the first of them, in units
/// of rounding and of the larger dimension. Up to this the column is dependent: a larger part
/// cannot be told from an angle that the numbers have, and that decides what the answer is.
const DEPENDENT: f64 = 8.0;

/// Columns of `a` that are combinations of the others, asked with its rows and columns multiplied
/// by `down` and `across`.
pub fn dependent_columns<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: D::Mat<'static>,
    down: &[f64],
    across: &[f64],
) -> Result<Dependent> {
    let (rows, cols) = dev.shape(&a);
    let all_dropped = || Dependent {
        kept: Vec::new(),
        dropped: (0..cols).collect(),
        weights: vec![Vec::new(); cols],
    };
    if rows == 0 || cols == 0 {
        return Ok(all_dropped());
    }
    let ops = OnDevice::new(dev)?;
    let a = ops.scaled(&a, down, across)?;
    let norms: Vec<f64> = dev.column_norms(&a)?;
    let by: Vec<f64> = norms.iter().map(|norm| 1.0 / or_one(*norm)).collect();
    let mut r = ops.scaled(&a, &vec![1.0; rows], &by)?;
    let scales: Vec<f64> = by.iter().zip(across).map(|(by, s)| by * s).collect();
    let factored = dev.geqp3(&mut r)?;
    let diagonal: Vec<f64> = dev.diagonal(&r)?.into_iter().map(Into::into).collect();
    let first = diagonal.first().map_or(0.0, |d| d.abs());
    let tolerance = first * DEPENDENT * rows.max(cols) as f64 * T::EPS;
    let rank = diagonal
        .iter()
        .take_while(|d| d.abs() > tolerance && first > 0.0)
        .count();
    if rank == 0 {
        return Ok(all_dropped());
    }
    // R12 becomes R11^-1 R12.
    let count = cols - rank;
    let mut weights = try_zeroed::<T>(rank * count)?;
    if count > 0 {
        let mut right = dev.blank(rank, count)?;
        let block = Block {
            row: 0,
            col: rank,
            rows: rank,
            cols: count,
        };
        dev.copy_block(&r, block, &mut right, (0, 0))?;
        let (left, upper) = (Side::Left, Uplo::Upper);
        dev.trsm(left, upper, Trans::No, Diag::NonUnit, rank, &r, &mut right)?;
        let home = MatMut::from_column_major_slice_mut(&mut weights, rank, count);
        dev.read(&right, home)?;
    }
    let weights = widened(&weights)?;
    // In the order of the columns, and of columns as they were given.
    let (front, back) = factored.jpvt.split_at(rank);
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_unstable_by_key(|i| front[*i]);
    let mut last: Vec<usize> = (0..count).collect();
    last.sort_unstable_by_key(|k| back[*k]);
    let weight = |k: usize, i: usize| weights[k * rank + i] * scales[front[i]] / scales[back[k]];
    Ok(Dependent {
        kept: order.iter().map(|i| front[*i]).collect(),
        dropped: last.iter().map(|k| back[*k]).collect(),
        weights: last
            .iter()
            .map(|k| order.iter().map(|i| weight(*k, *i)).collect())
            .collect(),
    })
}
