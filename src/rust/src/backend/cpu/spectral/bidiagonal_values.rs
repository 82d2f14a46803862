//! Singular values of a bidiagonal matrix by the differential quotient-difference algorithm with
//! shifts; Fernando and Parlett (1994).
//!
//! One sweep takes the squares q and e of the diagonal and the off-diagonal of B to those of a
//! matrix C with `C'C = B B' - s I`. While `s` stays below the least value, nothing cancels.

use super::largest;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::{room, try_zeroed};
use crate::base::simd::on_widest;

/// Sweeps per value. Four suffice on average.
const SWEEPS: usize = 30;

/// Overwrites the diagonal `d` by the values in descending order, and destroys the off-diagonal
/// `e`. False if the iteration does not converge.
///
/// Values are accurate to a small multiple of the rounding error of the largest.
pub(super) fn values(d: &mut [f64], e: &mut [f64]) -> Result<bool> {
    let n = d.len();
    let largest = largest(d, e);
    if largest == 0.0 {
        return Ok(true);
    }
    // A power of two, so that nothing is rounded. Products of squares need numbers near one.
    let scale = largest.log2().floor().exp2();
    d.iter_mut()
        .chain(e.iter_mut())
        .for_each(|x| *x = (*x / scale).powi(2));
    let mut state = Iteration {
        // An off-diagonal entry below this moves no value by more than the rounding error.
        negligible: (f64::EPSILON * largest / scale / 2.0).powi(2),
        left: SWEEPS.saturating_mul(n),
        next_q: try_zeroed(n)?,
        next_e: try_zeroed(n)?,
    };
    let mut blocks = room(n + 1)?;
    blocks.push((0, n, Shift::default()));
    while let Some((low, high, shift)) = blocks.pop() {
        let (q, e) = (&mut d[low..high], &mut e[low..(high - 1).max(low)]);
        // The block below a split is done first, and then the one above.
        match state.block(q, e, shift)? {
            Block::Split { at, end, shift } => {
                blocks.push((low, low + at, shift));
                blocks.push((low + at, low + end, shift));
            }
            Block::Done => {}
            Block::Stuck => return Ok(false),
        }
    }
    d.iter_mut().for_each(|d| *d = d.max(0.0).sqrt() * scale);
    d.sort_unstable_by(|a, b| b.total_cmp(a));
    Ok(largest.is_finite() && d.iter().all(|d| d.is_finite()))
}

/// A sum of shifts, with what its rounding has lost.
#[derive(Debug, Clone, Copy, Default)]
struct Shift {
    sum: f64,
    lost: f64,
}

impl Shift {
    /// Both are positive, but either may be the larger one.
    fn plus(self, s: f64) -> Self {
        let s = s + self.lost;
        let sum = self.sum + s;
        let back = sum - self.sum;
        let lost = (self.sum - (sum - back)) + (s - back);
        Shift { sum, lost }
    }

    fn of(self, q: f64) -> f64 {
        self.sum + (q + self.lost)
    }
}

enum Block {
    /// The diagonal holds the squares of the values.
    Done,
    /// Rows up to `end` are left, and fall apart before row `at`.
    Split {
        at: usize,
        end: usize,
        shift: Shift,
    },
    Stuck,
}

struct Iteration {
    negligible: f64,
    left: usize,
    next_q: Vec<f64>,
    next_e: Vec<f64>,
}

/// What a sweep has found: the least number on the way, and the last one.
#[derive(Debug, Clone, Copy)]
struct Swept {
    least: f64,
    last: f64,
}

impl Iteration {
    /// Reduces one block until it is done or falls apart.
    fn block(&mut self, q: &mut [f64], e: &mut [f64], mut shift: Shift) -> Result<Block> {
        let mut n = q.len();
        // Small values are found first if they are at the end.
        if n > 2 && q[0] < q[n - 1] {
            q.reverse();
            e.reverse();
        }
        let mut bound = 0.0;
        loop {
            let split = e[..n.max(1) - 1]
                .iter()
                .rposition(|e| *e <= self.negligible);
            match split {
                Some(last) if last + 2 < n => {
                    let (at, end) = (last + 1, n);
                    return Ok(Block::Split { at, end, shift });
                }
                Some(_) => {
                    n -= 1;
                    q[n] = shift.of(q[n]);
                    continue;
                }
                None => {}
            }
            if n <= 2 {
                if n == 2 {
                    (q[0], q[1]) = pair(q[0], e[0], q[1]);
                    q[1] = shift.of(q[1]);
                }
                if n > 0 {
                    q[0] = shift.of(q[0]);
                }
                return Ok(Block::Done);
            }
            // No shift beyond the bound can succeed.
            let mut s = guess(&q[..n], &e[..n - 1]);
            if s > bound {
                s = bound / 4.0;
            }
            let swept = loop {
                if self.left == 0 {
                    return Ok(Block::Stuck);
                }
                self.left -= 1;
                if self.left % 64 == 0 {
                    interrupt::poll()?;
                }
                let (next_q, next_e) = (&mut self.next_q[..n], &mut self.next_e[..n - 1]);
                let swept = on_widest(
                    #[inline(always)]
                    || sweep(&q[..n], &e[..n - 1], s, next_q, next_e),
                );
                if swept.least >= 0.0 && swept.last >= 0.0 {
                    break swept;
                }
                if s == 0.0 {
                    return Ok(Block::Stuck);
                }
                // If only the last number is negative, it says by how much the shift was too large.
                let late = swept.last + s > 0.0;
                s = if late {
                    (swept.last + s) * (1.0 - 4.0 * f64::EPSILON)
                } else {
                    s / 8.0
                };
                if s < f64::EPSILON * shift.sum || s < self.negligible {
                    s = 0.0;
                }
            };
            q[..n].copy_from_slice(&self.next_q[..n]);
            e[..n - 1].copy_from_slice(&self.next_e[..n - 1]);
            shift = shift.plus(s);
            bound = swept.least;
        }
    }
}

/// The values of a bidiagonal matrix of order two, squared, the larger one first.
fn pair(q0: f64, e: f64, q1: f64) -> (f64, f64) {
    let difference = q0 - q1 + e;
    let root = (difference * difference + 4.0 * (q1 * e)).sqrt();
    let big = ((q0 + q1 + e) + root) / 2.0;
    if big == 0.0 {
        return (0.0, 0.0);
    }
    (big, q0.max(q1) / big * q0.min(q1))
}

/// An estimate from below of the least value squared.
///
/// The last two rows of `B B'` have the least value `theta` and its vector x. The only entry that
/// joins them to the others gives the residual r of x, so that a value is near
/// `theta - r^2 / gap`, and one within r of `theta`.
fn guess(q: &[f64], e: &[f64]) -> f64 {
    let n = q.len();
    let (top, coupled) = (q[n - 2] + e[n - 2], q[n - 1] * e[n - 2]);
    let (big, theta) = pair(q[n - 2], e[n - 2], q[n - 1]);
    let distance = (top - theta) * (top - theta);
    let residual = q[n - 2] * e[n - 3] * (coupled / (coupled + distance));
    let gap = big.min(q[n - 3] + e[n - 3]) - theta;
    let root = residual.sqrt();
    let s = match root < gap / 4.0 {
        true => theta - 1.5 * residual / gap,
        false => theta - root,
    };
    // Not for NaN either.
    if s > 0.0 {
        s * (1.0 - 4.0 * f64::EPSILON)
    } else {
        0.0
    }
}

/// One sweep with the shift `s`, which ends at the first number below zero.
#[inline(always)]
fn sweep(q: &[f64], e: &[f64], s: f64, next_q: &mut [f64], next_e: &mut [f64]) -> Swept {
    let n = q.len();
    let (e, next_q, next_e) = (&e[..n - 1], &mut next_q[..n], &mut next_e[..n - 1]);
    let mut d = q[0] - s;
    let mut least = d;
    for i in 0..n - 1 {
        if d < 0.0 || d.is_nan() {
            return Swept {
                least: -1.0,
                last: f64::NEG_INFINITY,
            };
        }
        let sum = d + e[i];
        let ratio = q[i + 1] / sum;
        next_q[i] = sum;
        next_e[i] = e[i] * ratio;
        d = d.mul_add(ratio, -s);
        least = least.min(d);
    }
    next_q[n - 1] = d;
    Swept { least, last: d }
}
