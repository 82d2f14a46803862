//! Covariances of points.

use faer::MatMut;

use super::entries::{each_chunk, CHUNK};
use crate::backend::cpu::matrix::views::{columns, require};
use crate::base::error::Result;
use crate::base::matrix::Block;
use crate::base::scalar::Scalar;
use crate::device::covariance::{Covariance, Points};

pub(crate) fn evaluate<T: Scalar>(
    function: &Covariance,
    (x, y): (&Points<'_>, &Points<'_>),
    block: Block,
    out: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let counts = (x.coordinates.nrows(), y.coordinates.nrows());
    require(
        x.coordinates.ncols() == y.coordinates.ncols()
            && block.is_in(counts)
            && block.rows <= out.nrows()
            && block.cols <= out.ncols(),
        "covariance: shapes do not fit",
    )?;
    let scales = x.scales;
    let (x, y) = (columns(x.coordinates)?, y.coordinates);
    let cost = Covariance::operations(1.0, scales.len());
    each_chunk(out, threads, cost, &|j, i, out: &mut [T]| {
        let live = match j < block.cols {
            true => block.rows.saturating_sub(i).min(out.len()),
            false => 0,
        };
        let (out, rest) = out.split_at_mut(live);
        rest.fill(T::from_f64(0.0));
        let (row, col) = (block.row + i, block.col + j);
        let mut room = [0.0; CHUNK];
        let squared = &mut room[..live];
        for (k, scale) in scales.iter().enumerate().filter(|_| live > 0) {
            let other = y[(col, k)];
            for (s, x) in squared.iter_mut().zip(&x.col(k).as_slice()[row..]) {
                let difference = (x - other) * scale;
                *s += difference * difference;
            }
        }
        for (r, (out, s)) in out.iter_mut().zip(squared).enumerate() {
            let mut value = function.variance * function.correlation.at(*s);
            if row + r == col {
                value += function.nugget;
            }
            *out = T::from_f64(value);
        }
    })
}
