//! Reflections of rows of a triangular factor with columns of another matrix; see `cholesky_update.rs` for the formulas.

use pulp::{Simd, WithSimd};

use crate::matrix::Change;
use crate::scalar::Scalar;

/// How many coefficients a row has for so many columns of V. Those of so many columns as [`Parts`] gives are one reflection: c, the sign of the diagonal entry, and a number for each
/// column.
pub(super) fn each_row<T: Scalar>(columns: usize) -> usize {
    Parts::new(columns, held::<T>()).map(|p| p.len()).sum()
}

/// Columns of V that are one reflection: from `first` on `count`, and as many coefficients as for `padded`, from `at` on.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) padded: usize,
    pub(super) at: usize,
}

impl Part {
    pub(super) fn len(&self) -> usize {
        FIXED + self.padded
    }
}

/// All columns of V, as many at a time as fit registers, and the last ones as a power of two.
pub(super) struct Parts {
    columns: usize,
    held: usize,
    next: Part,
}

impl Parts {
    pub(super) fn new(columns: usize, held: usize) -> Self {
        let next = Part {
            first: 0,
            count: 0,
            padded: 0,
            at: 0,
        };
        Parts {
            columns,
            held,
            next,
        }
    }
}

impl Iterator for Parts {
    type Item = Part;

    #[inline(always)]
    fn next(&mut self) -> Option<Part> {
        let first = self.next.first;
        if first >= self.columns {
            return None;
        }
        let count = self.held.min(self.columns - first);
        let part = Part {
            first,
            count,
            padded: count.next_power_of_two(),
            at: self.next.at,
        };
        self.next.first += count;
        self.next.at += part.len();
        Some(part)
    }
}

/// Columns of V that are at once in registers, of which the processor has so many.
pub(super) const fn held_by(registers: usize) -> usize {
    if registers >= 32 {
        8
    } else {
        4
    }
}

fn held<T: Scalar>() -> usize {
    struct Held;
    impl WithSimd for Held {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            held_by(S::REGISTER_COUNT)
        }
    }
    let processor = <T as faer::traits::ComplexField>::Arch::default();
    faer::traits::SimdArch::dispatch(processor, Held)
}

/// What a reflection is made of besides w: with these a row becomes `n = c r + p w'v`, and V `v + q w (s r + n)`. The sign of the diagonal entry is s.
#[derive(Clone, Copy)]
pub(super) struct Ends<T> {
    pub(super) c: T,
    pub(super) s: T,
    pub(super) p: T,
    pub(super) q: T,
}

impl<T: Scalar> Ends<T> {
    pub(super) fn write(self, out: &mut [T]) {
        out[..FIXED].copy_from_slice(&[self.c, self.s, self.p, self.q]);
    }
}

/// Coefficients of a reflection besides w.
pub(super) const FIXED: usize = 4;

/// Whether nothing is lost of h: what w has besides is then too small for its square to matter, or for its products to.
fn is_normal<T: Scalar>(square: f64) -> bool {
    let end = if T::EPS < 1e-10 { 1e200 } else { 1e20 };
    square > 1.0 / end && square < end
}

/// The reflection for a diagonal entry and the square of w's length, and what becomes of the entry; none where these are not far from the ends of the range, or nothing positive
/// is left.
#[inline(always)]
pub(super) fn reflection<T: Scalar>(change: Change, r: T, squares: T) -> Option<(Ends<T>, T)> {
    let (r, squares): (f64, f64) = (r.into(), squares.into());
    let by = if change == Change::Up { 1.0 } else { -1.0 };
    let (d, square) = (r.abs(), r.fused(r, by * squares));
    if !is_normal::<T>(square) {
        return None;
    }
    Some(ends(r, d, square.sqrt(), by, 1.0))
}

#[inline(always)]
fn ends<T: Scalar>(r: f64, d: f64, h: f64, by: f64, scale: f64) -> (Ends<T>, T) {
    let of = T::from_f64;
    let inverse = 1.0 / h;
    let ends = Ends {
        c: of(r * inverse),
        s: of(1f64.copysign(r)),
        p: of(by * inverse / scale),
        q: of(-1.0 / (d + h) / scale),
    };
    (ends, of(h))
}

/// The same of any numbers: w is scaled by a power of two so that squares stay in the range. None where nothing greater than zero becomes of the entry.
#[cold]
pub(super) fn reflection_of_any<T: Scalar>(
    change: Change,
    r: T,
    w: &mut [T],
) -> Option<(Ends<T>, T)> {
    let r: f64 = r.into();
    let sizes = w.iter().map(|w| Into::<f64>::into(*w).abs());
    let largest = sizes.fold(0.0, |m: f64, x| if x > m || x.is_nan() { x } else { m });
    let d = r.abs();
    // Nearly one when multiplied by the largest, and with its inverse in the range.
    let scale = if largest > 0.0 && largest.is_finite() {
        let (least, most) = if T::EPS < 1e-10 {
            (-1020.0, 1000.0)
        } else {
            (-124.0, 120.0)
        };
        (-largest.log2().floor()).clamp(least, most).exp2()
    } else {
        1.0
    };
    let mut squares = 0.0;
    for w in w.iter_mut() {
        let x = Into::<f64>::into(*w) * scale;
        squares += x * x;
        *w = T::from_f64(x);
    }
    let size = squares.sqrt();
    let h = match change {
        Change::Up => (d * scale).hypot(size) / scale,
        Change::Down => {
            let size = size / scale;
            (d - size).sqrt() * (d + size).sqrt()
        }
    };
    if !(h > 0.0 && h < f64::INFINITY) {
        return None;
    }
    let by = if change == Change::Up { 1.0 } else { -1.0 };
    Some(ends(r, d, h, by, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_all_columns_once() {
        for columns in 0..40 {
            for most in [4, 8] {
                let mut end = 0;
                let mut at = 0;
                for part in Parts::new(columns, most) {
                    assert_eq!((part.first, part.at), (end, at));
                    assert!(part.count <= part.padded && part.padded <= most);
                    end += part.count;
                    at += part.len();
                }
                assert_eq!(end, columns);
            }
        }
    }

    #[test]
    fn reflections_of_any_size() {
        for scale in [1e-305, 1e-200, 1e-3, 1.0, 1e3, 1e200, 1e305] {
            for change in [Change::Up, Change::Down] {
                let (r, w): (f64, [f64; 2]) = (-5.0 * scale, [3.0 * scale, 0.0]);
                let mut scaled = w;
                let (ends, h) = match reflection(change, r, w[0] * w[0]) {
                    Some(found) => found,
                    None => reflection_of_any(change, r, &mut scaled).unwrap(),
                };
                let Ends { c, s, p, q } = ends;
                // What it does to its own column: the entry and w become h and zero.
                let n = c * r + p * (scaled[0] * w[0]);
                let left = w[0] + q * scaled[0] * (s * r + n);
                assert!((n / h - 1.0).abs() < 1e-14, "{scale}: {n}, {h}");
                assert!((left / scale).abs() < 1e-14, "{scale}: {left}");
            }
        }
        assert!(reflection_of_any(Change::Down, 1.0, &mut [1.0]).is_none());
        assert!(reflection_of_any(Change::Up, f64::NAN, &mut [1.0]).is_none());
        assert!(reflection_of_any(Change::Up, 1.0, &mut [f64::NAN]).is_none());
        assert!(reflection_of_any(Change::Up, 0.0, &mut [0.0]).is_none());
        assert!(reflection_of_any(Change::Up, 2.0, &mut [0.0]).is_some());
    }
}
