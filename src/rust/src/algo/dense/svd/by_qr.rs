//! Left singular vectors from a product X V with nearly orthogonal columns.

use crate::base::error::Result;
use crate::base::matrix::{Block, Part};
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Elementwise, Scaling};

/// Parts of `X V = Q R`.
pub(super) struct Columns<M, T> {
    /// The magnitudes on the diagonal of R.
    pub d: Vec<T>,
    /// Q, if wanted. Its first `count` columns have the signs that make R's diagonal positive.
    pub left: Option<M>,
    /// R without its first `count` rows and columns, if there are more.
    pub rest: Option<M>,
}

/// Factors a square `product` X V, whose first `count` columns are orthogonal to all others up to
/// rounding: there R is diagonal.
pub(super) fn by_qr<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    mut product: D::Mat<'static>,
    count: usize,
    wanted: bool,
) -> Result<Columns<D::Mat<'static>, T>> {
    let (_, n) = dev.shape(&product);
    let tau = dev.geqrf(&mut product)?;
    let diagonal = dev.diagonal(&product)?;
    let rest = match n - count {
        0 => None,
        size => {
            let block = Block {
                row: count,
                col: count,
                rows: size,
                cols: size,
            };
            let mut rest = dev.blank(size, size)?;
            dev.copy_block(&product, block, &mut rest, (0, 0))?;
            dev.keep_part(Part::Upper, &mut rest)?;
            Some(rest)
        }
    };
    let mut left = None;
    if wanted {
        let mut q = dev.blank(n, n)?;
        dev.orgqr(&product, &tau, &mut q)?;
        let zero = T::from_f64(0.0);
        let is_turned = |(j, r): (usize, &T)| j < count && *r < zero;
        let sign = |at: (usize, &T)| if is_turned(at) { -1.0 } else { 1.0 };
        let signs: Vec<f64> = diagonal.iter().enumerate().map(sign).collect();
        dev.scale_columns(&q, &signs, Scaling::Replace, &mut product)?;
        left = Some(product);
    }
    let d = diagonal.into_iter().map(magnitude).collect();
    Ok(Columns { d, left, rest })
}

pub(super) fn magnitude<T: Scalar>(x: T) -> T {
    if x < T::from_f64(0.0) {
        -x
    } else {
        x
    }
}

/// Values whose order is exact but for rounding, in descending order.
pub(super) fn descending<T: Scalar>(mut d: Vec<T>) -> Vec<T> {
    for i in 1..d.len() {
        d[i] = if d[i] < d[i - 1] { d[i] } else { d[i - 1] };
    }
    d
}
