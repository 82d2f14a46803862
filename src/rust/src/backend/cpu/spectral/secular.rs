//! The secular equation `1 + sum_i w_i / (d_i - x) = 0`, and the eigenvectors of `D + rho z z'`.
//!
//! The weights are `w_i = rho z_i^2 > 0`. Deflation has separated the poles `d_0 < d_1 < ...`.
//!
//! A root is its nearest pole plus an offset: `d_i - x` is computed as `(d_i - pole) - offset`,
//! which is accurate however close root and pole are. The steps are those of the GPU's kernels
//! (`kernels/spectral/secular.cuh`).

use std::array::from_fn;

use crate::backend::cpu::vector::{dot, exceeds};
use crate::base::simd::on_widest;

/// Evaluations of the function for one root, at most.
const EVALUATIONS: usize = 120;

/// Numbers that loops treat together.
const LANES: usize = 8;

/// The sums over some poles, and their slopes.
#[derive(Clone, Copy)]
struct Sums {
    value: f64,
    slope: f64,
}

#[inline(always)]
fn sums(d: &[f64], weights: &[f64], pole: f64, offset: f64) -> Sums {
    let (mut values, mut slopes) = ([0.0; LANES], [0.0; LANES]);
    let (d, tail) = pulp::as_arrays::<LANES, _>(d);
    let (w, rest) = pulp::as_arrays::<LANES, _>(weights);
    for (d, w) in d.iter().zip(w) {
        for k in 0..LANES {
            let inverse = 1.0 / ((d[k] - pole) - offset);
            let term = w[k] * inverse;
            values[k] += term;
            slopes[k] = term.mul_add(inverse, slopes[k]);
        }
    }
    let (mut value, mut slope) = (0.0, 0.0);
    for k in 0..LANES {
        value += values[k];
        slope += slopes[k];
    }
    for (d, w) in tail.iter().zip(rest) {
        let inverse = 1.0 / ((d - pole) - offset);
        let term = w * inverse;
        value += term;
        slope = term.mul_add(inverse, slope);
    }
    Sums { value, slope }
}

/// The root of `c x^2 - a x + b` that lies between the poles of the rational function it comes
/// from, without cancellation.
#[inline(always)]
fn inner_root(a: f64, b: f64, c: f64) -> f64 {
    let square = (a * a - 4.0 * b * c).abs().sqrt();
    match a > 0.0 {
        true => 2.0 * b / (a + square),
        false => (a - square) / (2.0 * c),
    }
}

/// The root beyond both poles.
#[inline(always)]
fn outer_root(a: f64, b: f64, c: f64) -> f64 {
    let square = (a * a - 4.0 * b * c).abs().sqrt();
    match a >= 0.0 {
        true => (a + square) / (2.0 * c),
        false => 2.0 * b / (a - square),
    }
}

/// A point inside the bracket: the geometric mean where its ends differ much in size, since offsets
/// may be tiny against the distance of the poles.
#[inline(always)]
fn inside(low: f64, high: f64) -> f64 {
    let (a, b) = (low.abs(), high.abs());
    if (low > 0.0) == (high > 0.0) && (a > 4.0 * b || b > 4.0 * a) {
        return (a.sqrt() * b.sqrt()).copysign(high);
    }
    low + (high - low) / 2.0
}

/// The nearest pole of root j, and the offset from it.
///
/// The function increases between poles. Its middle says which pole is nearer; the terms at that
/// point bound the offset away from zero. A step interpolates the function by two poles: with the
/// nearer pole's own weight (fixed weight), or with weights that reproduce the slope of either side
/// (middle way), which takes over while the other gains little. A step that leaves the bracket is
/// replaced by a point inside it.
#[inline(always)]
fn root(d: &[f64], weights: &[f64], j: usize) -> (f64, f64) {
    let n = d.len();
    if n == 1 {
        return (d[0], weights[0]);
    }
    let last = j == n - 1;
    let left = if last { n - 2 } else { j };
    let right = left + 1;
    let (d_left, d_right) = (d[left], d[right]);
    let gap = d_right - d_left;
    let (w_left, w_right) = (weights[left], weights[right]);
    let (d1, d2) = d.split_at(right);
    let (w1, w2) = weights.split_at(right);
    let both = |pole: f64, offset: f64| [sums(d1, w1, pole, offset), sums(d2, w2, pole, offset)];
    let near_left;
    let (mut low, mut high, mut x);
    if last {
        // 1 is the sum of all weights over their distances: none exceeds it, and none is farther
        // than the sum of the weights.
        near_left = false;
        low = w_right / 2.0;
        high = weights.iter().sum::<f64>() * 1.01;
        x = inside(low, high);
    } else {
        let half = gap / 2.0;
        let [l, r] = both(d_left, half);
        let f = 1.0 + l.value + r.value;
        let rest = f + (w_left - w_right) / half;
        near_left = f >= 0.0;
        if near_left {
            low = 0.5 * w_left / (1.0 + r.value);
            high = half * 1.01;
            x = inner_root(rest * gap + w_left + w_right, w_left * gap, rest);
        } else {
            low = -half * 1.01;
            high = 0.5 * w_right / l.value;
            x = inner_root(w_left + w_right - rest * gap, -w_right * gap, rest);
        }
        if !(x > low && x < high) {
            x = inside(low, high);
        }
    }
    let origin = if near_left { d_left } else { d_right };
    let (mut fixed, mut before) = (!last, 0.0);
    for k in 0..EVALUATIONS {
        let [l, r] = both(origin, x);
        let (f, slope) = (1.0 + l.value + r.value, l.slope + r.slope);
        let size = 1.0 + l.value.abs() + r.value.abs();
        if !exceeds(f.abs(), f64::EPSILON * (4.0 * size + x.abs() * slope)) {
            break;
        }
        if f < 0.0 {
            low = x;
        } else {
            high = x;
        }
        if !exceeds(high - low, f64::EPSILON * low.abs().max(high.abs())) {
            break;
        }
        if k > 0 && f.abs() > 0.1 * before {
            fixed = !fixed && !last;
        }
        before = f.abs();
        let (to_left, to_right) = ((d_left - origin) - x, (d_right - origin) - x);
        let c = if !fixed {
            f - to_left * l.slope - to_right * r.slope
        } else if near_left {
            f - to_right * slope + gap * w_left / (to_left * to_left)
        } else {
            f - to_left * slope - gap * w_right / (to_right * to_right)
        };
        let a = (to_left + to_right) * f - to_left * to_right * slope;
        let b = to_left * to_right * f;
        let mut step = match last {
            true => outer_root(a, b, c.abs()),
            false => inner_root(a, b, c),
        };
        if !exceeds(0.0, f * step) {
            step = -f / slope;
        }
        let mut next = x + step;
        let slow = k > 20 && k % 3 == 0;
        if slow || !(next > low && next < high) {
            next = inside(low, high);
        }
        if next == x {
            break;
        }
        x = next;
    }
    (origin, x)
}

/// The nearest poles of the roots from `first` on, and the offsets from them.
pub(super) fn roots(
    d: &[f64],
    weights: &[f64],
    first: usize,
    origins: &mut [f64],
    offsets: &mut [f64],
) {
    on_widest(
        #[inline(always)]
        || {
            for j in 0..origins.len() {
                (origins[j], offsets[j]) = root(d, weights, first + j);
            }
        },
    );
}

/// Replaces z, from entry `first` on, by the one for which the computed roots are exact (Loewner's
/// formula), times the root of rho:
///
/// ```text
/// z_i^2 = -(d_i - x_i) prod_{j != i} (d_i - x_j) / (d_i - d_j)
/// ```
///
/// Vectors made from it are orthogonal to working accuracy. Factors before i are below 1 and those
/// after i above 1, and either product is of moderate size, so that no part of it under- or
/// overflows.
pub(super) fn restore(d: &[f64], origins: &[f64], offsets: &[f64], first: usize, z: &mut [f64]) {
    on_widest(
        #[inline(always)]
        || {
            for (strip, z) in z.chunks_mut(LANES).enumerate() {
                let at = first + strip * LANES;
                let mine: [f64; LANES] = from_fn(
                    #[inline(always)]
                    |k| d[(at + k).min(d.len() - 1)],
                );
                let mut product = [1.0; LANES];
                for ((pole, origin), offset) in d.iter().zip(origins).zip(offsets) {
                    for k in 0..LANES {
                        let gap = mine[k] - pole;
                        let gap = if gap == 0.0 { 1.0 } else { gap };
                        product[k] *= ((mine[k] - origin) - offset) / gap;
                    }
                }
                for (z, product) in z.iter_mut().zip(product) {
                    *z = product.abs().sqrt().copysign(*z);
                }
            }
        },
    );
}

/// The vector of a root, of norm 1.
pub(super) fn vector(d: &[f64], z: &[f64], (origin, offset): (f64, f64), y: &mut [f64]) {
    on_widest(
        #[inline(always)]
        || {
            let (d, z) = (&d[..y.len()], &z[..y.len()]);
            for i in 0..y.len() {
                y[i] = z[i] / ((d[i] - origin) - offset);
            }
            let scale = 1.0 / dot(y, y).sqrt();
            for y in y.iter_mut() {
                *y *= scale;
            }
        },
    );
}
