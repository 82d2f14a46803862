//! Steps on single columns, for reductions to condensed form.

use crate::backend::cpu::vector::{dot, norm2, scale};
use crate::base::scalar::Scalar;
use crate::base::simd::vectorized;

/// Turns `x` into the vector v, with first entry one, of the reflection `H = I - tau v v'` for
/// which `H x = beta e1`. Returns `(beta, tau)`.
///
/// A tail near the end of the range counts as zero. Reductions scale the matrix to norm one or
/// more, so that loss is far below rounding.
pub(super) fn reflector<T: Scalar>(x: &mut [T]) -> (T, T) {
    let (zero, one) = (T::from_f64(0.0), T::from_f64(1.0));
    let Some((head, tail)) = x.split_first_mut() else {
        return (zero, zero);
    };
    let (alpha, norm) = ((*head).to_f64(), norm2(tail));
    *head = one;
    let tiny = if T::EPS > 1e-10 { 1e-30 } else { 1e-290 };
    if norm <= tiny {
        tail.fill(zero);
        return (T::from_f64(alpha), zero);
    }
    let beta = -norm.hypot(alpha).copysign(alpha);
    scale(T::from_f64(1.0 / (alpha - beta)), tail);
    (T::from_f64(beta), T::from_f64((beta - alpha) / beta))
}

vectorized! {
    /// `y -= a v + b w`.
    pub(super) fn subtract_two<'a, T>(
        y: &'a mut [T], a: T, v: &'a [T], b: T, w: &'a [T],
    ) {
        let (v, w) = (&v[..y.len()], &w[..y.len()]);
        for i in 0..y.len() {
            y[i] = v[i].fused(-a, w[i].fused(-b, y[i]));
        }
    }
}

vectorized! {
    /// `x'y`
    pub(super) fn inner<'a, T>(x: &'a [T], y: &'a [T]) -> T {
        dot(x, y)
    }
}

vectorized! {
    /// `y += x`
    pub(super) fn add<'a, T>(y: &'a mut [T], x: &'a [T]) {
        let x = &x[..y.len()];
        for i in 0..y.len() {
            y[i] += x[i];
        }
    }
}

vectorized! {
    /// `z = scale z + a v + b w`
    pub(super) fn finish_product<'a, T>(
        z: &'a mut [T], scale: T, a: T, v: &'a [T], b: T, w: &'a [T],
    ) {
        let (v, w) = (&v[..z.len()], &w[..z.len()]);
        for i in 0..z.len() {
            z[i] = v[i].fused(a, w[i].fused(b, scale * z[i]));
        }
    }
}

vectorized! {
    /// For `y = A v` replaces y by `w = tau y - tau^2 (y'v) v / 2`, so that
    /// `H A H = A - v w' - w v'`.
    pub(super) fn finish_pair<'a, T>(tau: T, v: &'a [T], y: &'a mut [T]) {
        let inner = dot(v, y);
        let beta = T::from_f64(-0.5) * tau * tau * inner;
        let v = &v[..y.len()];
        for i in 0..y.len() {
            y[i] = v[i].fused(beta, tau * y[i]);
        }
    }
}
