//! Eigenvectors of small symmetric tridiagonal matrices by the implicit QR iteration.

use crate::base::simd::on_widest;

/// The largest order.
pub(super) const LEAF: usize = 32;

/// Rows that a sweep of rotations holds in registers.
const STRIP: usize = 16;

/// Sweeps per value. Two suffice on average.
const SWEEPS: usize = 30;

/// Neighbours on the diagonal count as at least this part of the largest entry.
const SMALL: f64 = 1.0 / 1024.0;

/// Below this, a sum of two squares loses digits. Its numbers are far below rounding.
const TINY: f64 = 1e-280;

/// Columns of eigenvectors, each of [`LEAF`] rows.
pub(super) type Vectors = [[f64; LEAF]; LEAF];

/// Overwrites the diagonal `d` by the values, in no order, destroys the off-diagonal `e`, and
/// writes the vectors to the first columns of `q`. False if the iteration does not converge.
///
/// The largest entry of the matrix of which this is a part is near 1. An off-diagonal entry counts
/// as zero if it is below rounding, of relative size `eps`, next to its neighbours on the diagonal
/// or next to a small part of the whole matrix.
pub(super) fn diagonalize(d: &mut [f64], e: &mut [f64], eps: f64, q: &mut Vectors) -> bool {
    on_widest(
        #[inline(always)]
        || iterate(d, e, eps, q),
    )
}

#[inline(always)]
fn iterate(d: &mut [f64], e: &mut [f64], eps: f64, q: &mut Vectors) -> bool {
    let n = d.len();
    for (j, column) in q.iter_mut().enumerate().take(n) {
        column.fill(0.0);
        column[j] = 1.0;
    }
    let (square, least) = (eps * eps, SMALL * SMALL);
    let mut turns = [(1.0, 0.0); LEAF];
    let (mut left, mut high) = (SWEEPS * n, n);
    while high > 1 {
        let mut low = high - 1;
        while low > 0 && e[low - 1].powi(2) > square * (d[low - 1] * d[low]).abs().max(least) {
            low -= 1;
        }
        if low > 0 {
            e[low - 1] = 0.0;
        }
        if high - low == 1 {
            high -= 1;
            continue;
        }
        if left == 0 {
            return false;
        }
        left -= 1;
        let turns = &mut turns[..high - low - 1];
        sweep(&mut d[low..high], &mut e[low..high - 1], turns);
        for strip in 0..n.div_ceil(STRIP) {
            turn_columns(&mut q[low..high], turns, strip * STRIP);
        }
    }
    d.iter().all(|d| d.is_finite())
}

/// One sweep with the shift of Wilkinson, and the cosines and sines of its rotations.
#[inline(always)]
fn sweep(d: &mut [f64], e: &mut [f64], turns: &mut [(f64, f64)]) {
    let n = d.len();
    let (last, off) = (d[n - 1], e[n - 2]);
    let half = (d[n - 2] - last) / 2.0;
    let root = (half * half + off * off).sqrt();
    let shift = last - off * (off / (half + root.copysign(half)));
    let (mut x, mut z) = (d[0] - shift, e[0]);
    for k in 0..n - 1 {
        let square = x * x + z * z;
        let (c, s, length) = match square > TINY {
            true => {
                let inverse = 1.0 / square.sqrt();
                (x * inverse, z * inverse, square * inverse)
            }
            false => (1.0, 0.0, x),
        };
        turns[k] = (c, s);
        if k > 0 {
            e[k - 1] = length;
        }
        let (a, b, off) = (d[k], d[k + 1], e[k]);
        // The rotated block of order two.
        let mixed = 2.0 * c * off + s * (b - a);
        let moved = s * mixed;
        d[k] = a + moved;
        d[k + 1] = b - moved;
        x = c * mixed - off;
        e[k] = x;
        if k + 2 < n {
            z = s * e[k + 1];
            e[k + 1] *= c;
        }
    }
}

/// Applies the rotations of neighbouring columns to [`STRIP`] rows, one after the other.
#[inline(always)]
fn turn_columns(q: &mut [[f64; LEAF]], turns: &[(f64, f64)], first: usize) {
    let mut x: [f64; STRIP] = [0.0; STRIP];
    x.copy_from_slice(&q[0][first..first + STRIP]);
    for (k, (c, s)) in turns.iter().enumerate() {
        let mut y = [0.0; STRIP];
        y.copy_from_slice(&q[k + 1][first..first + STRIP]);
        let to = &mut q[k][first..first + STRIP];
        for i in 0..STRIP {
            to[i] = c.mul_add(x[i], s * y[i]);
            x[i] = c.mul_add(y[i], -(s * x[i]));
        }
    }
    q[turns.len()][first..first + STRIP].copy_from_slice(&x);
}
