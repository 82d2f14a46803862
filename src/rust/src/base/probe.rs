//! Checks of an answer by its product with a vector of random signs.
//!
//! Such a vector w has the expected squared norm `||R w||^2 = ||R||_F^2`, so an error in any column
//! of a residual R shows.

use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};

/// The largest error that passes, relative to the norm, for a matrix of this order. Backward stable
/// methods stay far below: residuals of faer and LAPACK are at most about `n eps / 4`.
pub(crate) fn tolerance<T: Scalar>(order: usize) -> f64 {
    32.0 * T::EPS * (order as f64 + 8.0)
}

/// Random signs, the same every time (splitmix64).
pub(crate) fn signs<T: Scalar>(n: usize) -> Result<Vec<T>> {
    let mut w = try_zeroed(n)?;
    let mut state = 0_u64;
    for w in &mut w {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        *w = T::from_f64(if z >> 63 == 0 { 1.0 } else { -1.0 });
    }
    Ok(w)
}

/// `||x - y||`, NaN if an entry is.
pub(crate) fn distance<T: Scalar>(x: &[T], y: &[T]) -> f64 {
    let square = |(x, y): (&T, &T)| (x.to_f64() - y.to_f64()).powi(2);
    x.iter().zip(y).map(square).sum::<f64>().sqrt()
}

/// `x_i d_i`, where `d` may be shorter: then zeros follow.
pub(crate) fn scaled<T: Scalar>(x: &[T], d: &[T], len: usize) -> Result<Vec<T>> {
    let mut y = try_zeroed(len)?;
    for (y, (x, d)) in y.iter_mut().zip(x.iter().zip(d)) {
        *y = *x * *d;
    }
    Ok(y)
}

/// Whether values with this sum of products belong to a matrix with that one, up to rounding that
/// is relative to `size`; never for NaN.
pub(crate) fn is_near<T: Scalar>(found: f64, expected: f64, size: f64, order: usize) -> bool {
    (found - expected).abs() <= tolerance::<T>(order) * size
}

pub(crate) fn sum<T: Scalar>(x: &[T]) -> f64 {
    x.iter().map(|x| x.to_f64()).sum()
}

pub(crate) fn squares<T: Scalar>(x: &[T]) -> f64 {
    x.iter().map(|x| x.to_f64().powi(2)).sum()
}
