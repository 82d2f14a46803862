//! Operations on columns.

use faer::MatMut;

use crate::base::scalar::Scalar;
use crate::base::simd::vectorized;

/// `x > limit`, with a name so that its negation visibly includes NaN.
#[inline(always)]
pub(crate) fn exceeds<T: PartialOrd>(x: T, limit: T) -> bool {
    x > limit
}

const LANES: usize = 16;

/// `x' y` over the common length.
#[inline(always)]
pub(crate) fn dot<T: Scalar>(x: &[T], y: &[T]) -> T {
    let zero = T::from_f64(0.0);
    let mut sums = [zero; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let mut tail = zero;
    for (a, b) in xs.remainder().iter().zip(ys.remainder()) {
        tail += *a * *b;
    }
    for (a, b) in xs.zip(ys) {
        for (s, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *s += *a * *b;
        }
    }
    sums.into_iter().fold(tail, |s, t| s + t)
}

/// `x' y` for four columns at a time: x is read once, and memory has four streams to fetch ahead.
#[inline(always)]
pub(crate) fn four_dots<T: Scalar>(x: &[T], y: [&[T]; 4]) -> [T; 4] {
    const LANES: usize = 8;
    let y = y.map(|y| &y[..x.len()]);
    let zero = T::from_f64(0.0);
    let mut sums = [[zero; LANES]; 4];
    let (blocks, rest) = pulp::as_arrays::<LANES, _>(x);
    let [y0, y1, y2, y3] = y.map(|y| pulp::as_arrays::<LANES, _>(y).0);
    for ((((x, y0), y1), y2), y3) in blocks.iter().zip(y0).zip(y1).zip(y2).zip(y3) {
        accumulate(&mut sums[0], x, y0);
        accumulate(&mut sums[1], x, y1);
        accumulate(&mut sums[2], x, y2);
        accumulate(&mut sums[3], x, y3);
    }
    // Without this the compiler vectorizes across the four sums, and transposes every block of y
    // for it.
    let sums = std::hint::black_box(sums);
    let mut out = sums.map(|s| s.into_iter().fold(zero, |s, t| s + t));
    for (out, y) in out.iter_mut().zip(y) {
        for (x, y) in rest.iter().zip(&y[x.len() - rest.len()..]) {
            *out += *x * *y;
        }
    }
    out
}

#[inline(always)]
fn accumulate<T: Scalar, const N: usize>(sums: &mut [T; N], x: &[T; N], y: &[T; N]) {
    for (s, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
        *s += *x * *y;
    }
}

/// `y += alpha x`.
#[inline(always)]
pub(crate) fn axpy<T: Scalar>(alpha: T, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += alpha * *x;
    }
}

vectorized! {
    /// `x *= alpha`.
    pub(crate) fn scale<'a, T>(alpha: T, x: &'a mut [T]) {
        for x in x {
            *x *= alpha;
        }
    }
}

vectorized! {
    /// The sum of absolute values.
    pub(crate) fn sum_of_magnitudes<'a, T>(x: &'a [T]) -> f64 {
        let mut sums = [0.0f64; LANES];
        let chunks = x.chunks_exact(LANES);
        let tail: f64 = chunks
            .remainder()
            .iter()
            .map(|v| Into::<f64>::into(*v).abs())
            .sum();
        for chunk in chunks {
            for (s, v) in sums.iter_mut().zip(chunk) {
                *s += Into::<f64>::into(*v).abs();
            }
        }
        sums.into_iter().fold(tail, |s, t| s + t)
    }
}

vectorized! {
    fn square<'a, T>(x: &'a [T]) -> T {
        dot(x, x)
    }
}

/// The Euclidean norm, without overflow or underflow on the way.
pub(crate) fn norm2<T: Scalar>(x: &[T]) -> f64 {
    let squares: f64 = square(x).into();
    // Squares that underflow are lost without harm while the sum is far above the smallest normal
    // number.
    let (low, high) = if T::EPS > 1e-10 {
        (1e-22, 1e38)
    } else {
        (1e-280, 1e308)
    };
    if squares >= low && squares <= high {
        return squares.sqrt();
    }
    let largest = x.iter().fold(0.0f64, |m, v| {
        let v: f64 = (*v).into();
        // `max` would drop a NaN
        if v.abs() > m || v.is_nan() {
            v.abs()
        } else {
            m
        }
    });
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let mut sum = 0.0;
    for v in x {
        let r = Into::<f64>::into(*v) / largest;
        sum += r * r;
    }
    largest * sum.sqrt()
}

/// Copies the upper triangle onto the lower one, in squares that fit the cache.
pub(crate) fn mirror_upper<T: Scalar>(mut c: MatMut<'_, T>) {
    const EDGE: usize = 32;
    let n = c.ncols();
    for right in (0..n).step_by(EDGE) {
        for top in (0..=right).step_by(EDGE) {
            for i in top..n.min(top + EDGE) {
                for j in right.max(i + 1)..n.min(right + EDGE) {
                    c[(j, i)] = c[(i, j)];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_survive_the_ends_of_the_range() {
        for s in [1e-320, 1e-300, 1e-160, 1.0, 1e160, 1e307] {
            let got = norm2(&[3.0 * s, -4.0 * s]);
            assert!((got / (5.0 * s) - 1.0).abs() < 1e-3, "{s}: {got}");
        }
        assert_eq!(norm2::<f64>(&[]), 0.0);
        assert_eq!(norm2(&[0.0f32; 20]), 0.0);
        assert!((norm2(&[3e30f32, 4e30]) / 5e30 - 1.0).abs() < 1e-6);
        assert_eq!(norm2(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert!(norm2(&[1.0, f64::NAN, 2.0]).is_nan());
        assert!(norm2(&[f64::NAN, f64::INFINITY]).is_nan());
    }

    #[test]
    fn dots_cover_every_length() {
        for n in [0, 1, 15, 16, 17, 40] {
            let x: Vec<f64> = (0..n).map(f64::from).collect();
            let want: f64 = x.iter().map(|v| v * v).sum();
            assert_eq!(dot(&x, &x), want);
        }
    }
}
