//! Operations on columns.

use faer::traits::SimdArch;
use faer::MatMut;

use crate::scalar::Scalar;

/// Runs `f` compiled for the widest vectors this processor has.
#[inline]
pub(crate) fn simd<T: Scalar, R>(f: impl FnOnce() -> R) -> R {
    T::Arch::default().dispatch(f)
}

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

/// `y += alpha x`.
#[inline(always)]
pub(crate) fn axpy<T: Scalar>(alpha: T, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += alpha * *x;
    }
}

#[inline(always)]
pub(crate) fn scale<T: Scalar>(alpha: T, x: &mut [T]) {
    for x in x {
        *x *= alpha;
    }
}

/// The sum of absolute values.
#[inline(always)]
pub(crate) fn sum_of_magnitudes<T: Scalar>(x: &[T]) -> f64 {
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

/// The Euclidean norm, without overflow or underflow on the way.
pub(crate) fn norm2<T: Scalar>(x: &[T]) -> f64 {
    let squares: f64 = simd::<T, _>(|| dot(x, x)).into();
    // Squares that underflow are lost without harm while the sum is far above the smallest normal number.
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
