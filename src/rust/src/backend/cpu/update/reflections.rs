//! Reflections of rows of a triangular factor with columns of another matrix; see
//! `update/factor.rs` for the formulas.

use pulp::{Simd, WithSimd};

use crate::base::matrix::Change;
use crate::base::scalar::Scalar;
use crate::base::simd::dispatch;

/// How many coefficients a row has for so many columns of V. Those of so many columns as [`Parts`]
/// gives are one reflection: [`Ends`], and a number for each column.
pub(super) fn each_row<T: Scalar>(columns: usize) -> usize {
    Parts::new(columns, held::<T>()).map(|p| p.len()).sum()
}

/// Columns of V that are one reflection: from `first` on `count`, and as many coefficients as for
/// `padded`, from `at` on.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) padded: usize,
    pub(crate) at: usize,
}

impl Part {
    pub(crate) fn len(&self) -> usize {
        FIXED + self.padded
    }
}

/// All columns of V, as many at a time as fit registers, and the last ones as a power of two.
pub(crate) struct Parts {
    columns: usize,
    held: usize,
    next: Part,
}

impl Parts {
    pub(crate) fn new(columns: usize, held: usize) -> Self {
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
    dispatch::<T, _>(Held)
}

/// What a reflection is made of besides w: with these a row becomes `n = c r + p w'v`, and V
/// `v + q w (s r + n)`. The sign of the diagonal entry is s.
#[derive(Clone, Copy)]
pub(crate) struct Ends<T> {
    pub(crate) c: T,
    pub(crate) s: T,
    pub(crate) p: T,
    pub(crate) q: T,
}

impl<T: Scalar> Ends<T> {
    pub(crate) fn write(self, out: &mut [T]) {
        out[..FIXED].copy_from_slice(&[self.c, self.s, self.p, self.q]);
    }
}

/// Coefficients of a reflection besides w.
pub(crate) const FIXED: usize = 4;

/// Whether w is near enough to one for its products with columns of V to stay in the range where
/// these do; what is small beside h does not matter.
fn is_near_one<T: Scalar>(square: f64) -> bool {
    let end = if T::EPS < 1e-10 { 1e80 } else { 1e10 };
    square > 1.0 / end && square < end
}

/// The reflection for a diagonal entry and the square of w's length, and what becomes of the entry;
/// none where w should be scaled, or nothing positive is left.
#[inline(always)]
pub(super) fn reflection<T: Scalar>(change: Change, r: T, squares: T) -> Option<(Ends<T>, T)> {
    let (r, squares): (f64, f64) = (r.into(), squares.into());
    let by = if change == Change::Up { 1.0 } else { -1.0 };
    let square = r.fused(r, by * squares);
    if !is_near_one::<T>(square) {
        return None;
    }
    Some(ends(r, square.sqrt(), by, 1.0))
}

/// Of w that has been multiplied by `scale`: where p and q are out of range w does not matter
/// beside h.
#[inline(always)]
fn ends<T: Scalar>(r: f64, h: f64, by: f64, scale: f64) -> (Ends<T>, T) {
    let of = T::from_f64;
    let scaled = h * scale;
    let ends = Ends {
        c: of(r / h),
        s: of(1f64.copysign(r)),
        p: of(by / scaled),
        q: of(-1.0 / (r.abs() * scale + scaled)),
    };
    (ends, of(h))
}

/// The same of any numbers: w is scaled by a power of two to be near one. None where nothing
/// greater than zero, and in the range, becomes of the entry.
#[cold]
pub(super) fn reflection_of_any<T: Scalar>(
    change: Change,
    r: T,
    w: &mut [T],
) -> Option<(Ends<T>, T)> {
    let r: f64 = r.into();
    let sizes = w.iter().map(|w| Into::<f64>::into(*w).abs());
    let largest = sizes.fold(0.0, |m: f64, x| if x > m || x.is_nan() { x } else { m });
    let scale = if largest > 0.0 && largest.is_finite() {
        // With an inverse, and what is multiplied by it, in the range.
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
    let (d, size) = (r.abs(), squares.sqrt() / scale);
    let h = match change {
        Change::Up => d.hypot(size),
        Change::Down => {
            let (less, half) = (d - size, 0.5 * d + 0.5 * size);
            less.sqrt() * half.sqrt() * std::f64::consts::SQRT_2
        }
    };
    let made: f64 = T::from_f64(h).into();
    if !(made > 0.0 && made < f64::INFINITY) {
        return None;
    }
    let by = if change == Change::Up { 1.0 } else { -1.0 };
    Some(ends(r, h, by, scale))
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

    /// What a reflection does to its own column, in units of h: 1 becomes of the entry, 0 of w.
    fn own(change: Change, r: f64, w: f64) -> Option<(f64, f64, f64)> {
        let mut scaled = [w, 0.0];
        let (ends, h) = match reflection(change, r, w * w) {
            Some(found) => found,
            None => reflection_of_any(change, r, &mut scaled)?,
        };
        let Ends { c, s, p, q } = ends;
        let n = c * r + p * (scaled[0] * w);
        Some((h, n / h, (w + q * scaled[0] * (s * r + n)) / h))
    }

    #[test]
    fn reflections_of_any_size() {
        for scale in [1e-305, 1e-200, 1e-60, 1e-3, 1.0, 1e3, 1e60, 1e200, 1e305] {
            for change in [Change::Up, Change::Down] {
                let (h, n, left) = own(change, -5.0 * scale, 3.0 * scale).unwrap();
                let want = if change == Change::Up {
                    34f64.sqrt()
                } else {
                    4.0
                };
                assert!((h / scale / want - 1.0).abs() < 1e-14, "{scale}: {h}");
                assert!(
                    (n - 1.0).abs() < 1e-14 && left.abs() < 1e-14,
                    "{scale}: {n}, {left}"
                );
            }
        }
        assert!(reflection_of_any(Change::Down, 1.0, &mut [1.0]).is_none());
        assert!(reflection_of_any(Change::Up, f64::NAN, &mut [1.0]).is_none());
        assert!(reflection_of_any(Change::Up, 1.0, &mut [f64::NAN]).is_none());
        assert!(reflection_of_any(Change::Up, 0.0, &mut [0.0]).is_none());
        assert!(reflection_of_any(Change::Up, 2.0, &mut [0.0]).is_some());
    }

    #[test]
    fn reflections_of_numbers_far_apart() {
        for (r, w) in [
            (1e150, 1e-160),
            (1e-160, 1e150),
            (1e300, 1e-300),
            (1e-310, 1e-310),
            (1.0, 5e-324),
            (0.0, 1e-200),
        ] {
            let (h, n, left) = own(Change::Up, r, w).unwrap();
            assert!((h / r.hypot(w) - 1.0).abs() < 1e-14, "{r} {w}: {h}");
            // Numbers below the normal ones have few digits.
            let few = if h < 1e-300 { 1e-4 } else { 1e-14 };
            assert!(
                (n - 1.0).abs() < few && left.abs() < few,
                "{r} {w}: {n}, {left}"
            );
        }
        let (h, n, left) = own(Change::Down, 1.7e307, 1e307).unwrap();
        assert!((h / 1e307 / 1.89f64.sqrt() - 1.0).abs() < 1e-14, "{h}");
        assert!((n - 1.0).abs() < 1e-14 && left.abs() < 1e-14, "{n}, {left}");
        // The largest there are, of which twice as much is none.
        assert!(reflection_of_any(Change::Up, 3e38f32, &mut [3e38f32]).is_none());
        assert!(reflection_of_any(Change::Up, 2e38f32, &mut [1e38f32]).is_some());
    }
}
