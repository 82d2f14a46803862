//! How a tridiagonal matrix is scaled, and torn into leaves.

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;

/// A scaled matrix: diagonal and off-diagonal, numbers of the element type, times `2^exponent`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scaled {
    pub d: Vec<f64>,
    /// One entry less than `d`.
    pub e: Vec<f64>,
    pub exponent: i32,
}

/// `x 2^e`, without overflow between.
pub(super) fn times_power(x: f64, e: i32) -> f64 {
    let half = e / 2;
    x * 2f64.powi(half) * 2f64.powi(e - half)
}

/// Rounds to the element type.
pub(super) fn rounded<T: Scalar>(x: f64) -> f64 {
    T::from_f64(x).to_f64()
}

/// Scales the largest entry to about 1, since tolerances compare entries of T with entries of unit
/// vectors. Off-diagonal entries that are negligible next to their neighbours, or next to the whole
/// matrix, become zero.
pub(super) fn scale<T: Scalar>(d: &[T], e: &[T]) -> Result<Scaled> {
    if e.len() + 1 != d.len().max(1) {
        return Err(Error::Dimension {
            what: "a tridiagonal matrix has one off-diagonal entry less than rows".to_string(),
        });
    }
    if i32::try_from(d.len()).is_err() {
        return Err(Error::Dimension {
            what: "a tridiagonal matrix has too many rows".to_string(),
        });
    }
    let all = d.iter().chain(e);
    let mut largest = 0f64;
    for x in all {
        let x = x.to_f64().abs();
        if !x.is_finite() {
            return Err(Error::NonFinite);
        }
        largest = largest.max(x);
    }
    let exponent = match largest > 0.0 {
        true => largest.log2().floor() as i32 + 1,
        false => 0,
    };
    let small = |x: &T| rounded::<T>(times_power(x.to_f64(), -exponent));
    let d: Vec<f64> = d.iter().map(small).collect();
    let mut e: Vec<f64> = e.iter().map(small).collect();
    for (i, x) in e.iter_mut().enumerate() {
        let near = (d[i].abs() * d[i + 1].abs()).sqrt();
        if x.abs() <= T::EPS * near.max(1.0 / 1024.0) {
            *x = 0.0;
        }
    }
    Ok(Scaled { d, e, exponent })
}

/// The first rows of `2^levels` leaves of nearly equal order, none above `most`, and the number of
/// rows; `levels` is the second result.
pub(super) fn leaves(n: usize, most: usize) -> (Vec<i32>, usize) {
    let mut levels = 0;
    while n.div_ceil(1 << levels) > most {
        levels += 1;
    }
    let count = 1usize << levels;
    let bounds = (0..=count).map(|i| (i * n / count) as i32).collect();
    (bounds, levels)
}

/// Takes `|e| [1 +-1; +-1 1]` off at each boundary of leaves, so that the blocks are independent.
pub(super) fn tear<T: Scalar>(scaled: &Scaled, bounds: &[i32]) -> Vec<f64> {
    let mut d = scaled.d.clone();
    for &b in bounds.iter().skip(1).take(bounds.len().saturating_sub(2)) {
        let b = b as usize;
        let rho = scaled.e[b - 1].abs();
        d[b - 1] = rounded::<T>(d[b - 1] - rho);
        d[b] = rounded::<T>(d[b] - rho);
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_is_exact_and_drops_what_is_negligible() {
        for p in [-1060, -600, 0, 500, 1020] {
            let d = [3.0, 4.0, 5.0].map(|x| times_power(x, p));
            let e = [1.0, 1e-17].map(|x| times_power(x, p));
            let s = scale(&d, &e).unwrap();
            assert_eq!(s.d, [0.375, 0.5, 0.625], "{p}");
            assert_eq!(s.e, [0.125, 0.0], "{p}");
            assert_eq!(times_power(s.d[2], s.exponent), d[2]);
        }
        assert_eq!(scale(&[0.0f32], &[]).unwrap().exponent, 0);
        assert_eq!(scale(&[f64::NAN], &[]), Err(Error::NonFinite));
        assert!(scale(&[1.0, 2.0], &[1.0, 1.0]).is_err());
        assert!(scale::<f64>(&[], &[]).is_ok());
    }

    #[test]
    fn leaves_cover_all_rows() {
        for n in 1..300 {
            let (bounds, levels) = leaves(n, 8);
            assert_eq!(bounds.len(), (1 << levels) + 1);
            assert_eq!((bounds[0], bounds[bounds.len() - 1]), (0, n as i32));
            for w in bounds.windows(2) {
                assert!(w[1] > w[0] && w[1] - w[0] <= 8, "{n}");
            }
        }
    }
}
