//! Eigenvalues of a symmetric tridiagonal matrix by the root-free QR iteration of Pal, Walker and
//! Kahan; Parlett, The Symmetric Eigenvalue Problem (1998), section 8.15.

use super::largest;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::simd::on_widest;

/// Sweeps per value. Two suffice on average.
const SWEEPS: usize = 30;

/// Overwrites the diagonal `d` by the values in ascending order, and destroys the off-diagonal `e`.
/// False if the iteration does not converge.
///
/// The largest entry must be far from the ends of the range, since squares are formed. Values are
/// accurate to a small multiple of the rounding error of the largest.
pub(super) fn values(d: &mut [f64], e: &mut [f64]) -> Result<bool> {
    let n = d.len();
    let largest = largest(d, e);
    if !largest.is_finite() {
        return Ok(false);
    }
    // An off-diagonal entry below this moves no value by more than the rounding error.
    let negligible = (f64::EPSILON * largest / 2.0)
        .powi(2)
        .max(f64::MIN_POSITIVE);
    e.iter_mut().for_each(|e| *e *= *e);
    let mut left = SWEEPS.saturating_mul(n);
    let (mut high, mut turned) = (n, None);
    while high > 1 {
        let low = start_of_block(d, e, high, negligible);
        match high - low {
            1 => high -= 1,
            2 => {
                (d[low], d[low + 1]) = pair(d[low], d[low + 1], e[low]);
                high -= 2;
            }
            _ => {
                if left == 0 {
                    return Ok(false);
                }
                left -= 1;
                if left % 64 == 0 {
                    interrupt::poll()?;
                }
                let (d, e) = (&mut d[low..high], &mut e[low..high - 1]);
                // Graded matrices converge at the end with the small entries. A block keeps its
                // direction, since each sweep changes the entries at its ends.
                if turned != Some(low) && d[0].abs() < d[d.len() - 1].abs() {
                    d.reverse();
                    e.reverse();
                }
                turned = Some(low);
                on_widest(
                    #[inline(always)]
                    || sweep(d, e),
                );
            }
        }
    }
    d.sort_unstable_by(f64::total_cmp);
    Ok(d.iter().all(|d| d.is_finite()))
}

/// The first row of the block that ends before row `high`. The square before it is made zero.
fn start_of_block(d: &[f64], e: &mut [f64], high: usize, negligible: f64) -> usize {
    const EPS2: f64 = f64::EPSILON * f64::EPSILON;
    for k in (0..high - 1).rev() {
        if e[k] <= negligible || e[k] <= EPS2 * (d[k] * d[k + 1]).abs() {
            e[k] = 0.0;
            return k + 1;
        }
    }
    0
}

/// The values of a matrix of order two with a square off the diagonal, the smaller one first.
fn pair(a: f64, b: f64, square: f64) -> (f64, f64) {
    let (middle, half) = ((a + b) / 2.0, (a - b) / 2.0);
    let root = (half * half + square).sqrt();
    // The value of larger magnitude has no cancellation; the product gives the other.
    let big = middle + root.copysign(middle);
    if big == 0.0 {
        return (0.0, 0.0);
    }
    let (larger, smaller) = (a.abs().max(b.abs()), a.abs().min(b.abs()));
    let sign = if (a < 0.0) == (b < 0.0) { 1.0 } else { -1.0 };
    let other = sign * (larger / big.abs()) * smaller * big.signum() - square / big;
    (big.min(other), big.max(other))
}

/// Below this, products of two squares lose digits.
const SMALL: f64 = 1e-140;

/// One sweep with the shift of Wilkinson, from the first row to the last.
#[inline(always)]
fn sweep(d: &mut [f64], e: &mut [f64]) {
    let n = d.len();
    let (last, root) = (d[n - 1], e[n - 2].sqrt());
    let ratio = (d[n - 2] - last) / (2.0 * root);
    let shift = last - root / (ratio + ratio.hypot(1.0).copysign(ratio));
    // Cosine and sine squared of the previous rotation, and the number which they turn.
    let (mut cos, mut sin) = (1.0, 0.0);
    let mut gamma = d[0] - shift;
    let mut p = gamma * gamma;
    for i in 0..n - 1 {
        let square = e[i];
        let r = p + square;
        if i > 0 {
            e[i - 1] = sin * r;
        }
        let (before, alpha) = (gamma, d[i + 1]);
        if p > SMALL && r < 1.0 / SMALL {
            // The textbook divides three times, one after the other. Here one reciprocal serves.
            let inverse = 1.0 / (r * p);
            let turned = p.mul_add(alpha - shift, -(square * before));
            cos = p * p * inverse;
            sin = square * p * inverse;
            gamma = turned * (p * inverse);
            p = turned * turned * inverse;
        } else {
            let old = cos;
            cos = p / r;
            sin = square / r;
            gamma = cos * (alpha - shift) - sin * before;
            p = match cos == 0.0 {
                true => old * square,
                false => gamma * gamma / cos,
            };
        }
        d[i] = before + (alpha - gamma);
    }
    e[n - 2] = sin * p;
    d[n - 1] = shift + gamma;
}
