//! Decides how many moduli operands need.
//!
//! **Bound.** Entry `a` of row i becomes the integer nearest to `a 2^s`, with an error of at most
//! `2^-s / 2 <= 2^-T |a_i|_2`, T the bits of the row; the same holds for columns of B. So
//!
//! `|C - AB| <= 2^-Ta |a_i|_2 |b_j|_1 + 2^-Tb |b_j|_2 |a_i|_1`.
//!
//! A sum of k products in double precision has the bound `k u |A||B|`, `u = 2^-53`. By the
//! inequality of the means, `(|A||B|)_ij >= k g(a_i) g(b_j)` with the geometric means g of the
//! magnitudes of a line. So the bound above is within that of double precision if
//!
//! `2^-Ta r2(a) r1(b) + 2^-Tb r2(b) r1(a) <= (k - 1) / sqrt(k) u`,
//!
//! where r1 and r2 are the mean magnitude and the root of the mean square over the geometric mean,
//! the largest of all lines. Lines that are exact contribute no error. One rounding of the k is
//! left for the result.
//!
//! In norms the error is at most `2 sqrt(k) 2^-T |a_i|_2 |b_j|_2`, with 54.5 bits T below
//! `k u |a_i|_2 |b_j|_2` from k = 1 on.

use super::lines::Facts;
use super::moduli;
use crate::backend::cuda::gemm::update::Bound;

/// Bits of a line that is not exact, at least. Fourteen moduli give two operands so many.
const LEAST_BITS: f64 = 54.5;

/// Integers have no more bits.
const MOST_BITS: f64 = 62.0;

/// The product of the moduli is above twice the largest entry.
const SIGN_BITS: f64 = 1.02;

/// With up to so many moduli the entries of the product of integers follow exactly, as
/// `restore.cuh` says. With more their error is small against that of rounded lines.
const EXACT: usize = 10;

/// Logarithms of norms, sums of a row's and a column's, beyond which scales or entries of C may
/// not be normal numbers.
const RANGE: (f32, f32) = (-800.0, 900.0);

/// How operands become integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Integers {
    pub moduli: usize,
    /// Logarithms to base 2 of the norms of scaled lines of A and B.
    pub bits: (f32, f32),
    /// Whether entries of the product of integers are rounded to integers, and are exact then.
    pub whole: bool,
}

impl Integers {
    /// The fewest moduli with which the bound holds; None if there are too few, or if entries are
    /// not finite or out of range.
    pub(super) fn choose(depth: usize, a: &Facts, b: &Facts, bound: Bound) -> Option<Integers> {
        let highest = a.longest + b.longest;
        let lowest = -(a.shortest + b.shortest);
        if !(a.finite && b.finite) || a.is_zero() || b.is_zero() {
            return None;
        }
        if highest > RANGE.1 || lowest < RANGE.0 {
            return None;
        }
        (2..=moduli::MOST).find_map(|moduli| Integers::with(moduli, depth, a, b, bound))
    }

    fn with(moduli: usize, depth: usize, a: &Facts, b: &Facts, bound: Bound) -> Option<Integers> {
        let all = moduli::bits(moduli) - SIGN_BITS;
        let (half, whole) = (all / 2.0, moduli <= EXACT);
        // Lines of integers need no more bits than their width.
        let (width_a, width_b) = (f64::from(a.width) + 0.01, f64::from(b.width) + 0.01);
        let rest = |width: f64| (all - width).min(MOST_BITS);
        let (bits_a, bits_b) = match (width_a <= half, width_b <= half) {
            (true, true) if whole => (width_a, width_b),
            (true, false) => (width_a, rest(width_a)),
            (false, true) => (rest(width_b), width_b),
            _ => (half, half),
        };
        let rounded = |width: f64, bits: f64| width > bits || (!whole && bits == half);
        let error = |width: f64, bits: f64, own: &Facts, other: &Facts| {
            if !rounded(width, bits) {
                return Some(0.0);
            }
            (bits >= LEAST_BITS).then(|| (f64::from(own.square + other.mean) - bits).exp2())
        };
        let error = error(width_a, bits_a, a, b)? + error(width_b, bits_b, b, a)?;
        // Chinese remainders are not exact then, and nothing is known of their error beside |A||B|.
        if !whole && error == 0.0 {
            return None;
        }
        // One of the k roundings is that of the result.
        let allowed = (depth as f64 - 1.0) / (depth as f64).sqrt() * 2f64.powi(-53);
        (bound == Bound::Norms || error <= allowed).then_some(Integers {
            moduli,
            bits: (bits_a as f32, bits_b as f32),
            whole,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is measured of lines of normal numbers.
    const NORMAL: Facts = Facts {
        longest: 6.5,
        shortest: -6.4,
        width: 77.0,
        mean: 0.7,
        square: 1.1,
        finite: true,
    };

    /// Integers to 2, with zeros.
    const COUNTS: Facts = Facts {
        longest: 7.0,
        shortest: -6.9,
        width: 7.0,
        mean: 1e9,
        square: 1e9,
        finite: true,
    };

    fn moduli(a: &Facts, b: &Facts, bound: Bound) -> Option<usize> {
        Integers::choose(8192, a, b, bound).map(|integers| integers.moduli)
    }

    #[test]
    fn operands_decide_the_moduli() {
        assert_eq!(moduli(&NORMAL, &NORMAL, Bound::Entries), Some(14));
        // Exact, and so are rows of counts with columns of rounded numbers in norms.
        assert_eq!(moduli(&COUNTS, &COUNTS, Bound::Entries), Some(2));
        assert_eq!(moduli(&COUNTS, &NORMAL, Bound::Norms), Some(8));
        // Zeros: nothing is known of the entries of |A||B|.
        assert_eq!(moduli(&COUNTS, &NORMAL, Bound::Entries), None);
        let wide = Facts {
            mean: 27.0,
            square: 29.0,
            ..NORMAL
        };
        assert_eq!(moduli(&wide, &wide, Bound::Entries), None);
        assert_eq!(moduli(&wide, &wide, Bound::Norms), Some(14));
        let some = Facts {
            mean: 5.0,
            square: 5.5,
            ..NORMAL
        };
        assert_eq!(moduli(&some, &some, Bound::Entries), Some(15));
    }

    #[test]
    fn integers_of_many_bits_are_rounded() {
        let long = Facts {
            width: 45.0,
            ..NORMAL
        };
        let integers = Integers::choose(8192, &long, &long, Bound::Entries).unwrap();
        assert_eq!((integers.moduli, integers.whole), (14, false));
    }

    #[test]
    fn what_is_not_finite_or_out_of_range_is_left_to_doubles() {
        for facts in [
            Facts {
                finite: false,
                ..NORMAL
            },
            Facts {
                longest: 895.0,
                ..NORMAL
            },
            Facts {
                shortest: 810.0,
                ..NORMAL
            },
            Facts {
                longest: -1e9,
                ..NORMAL
            },
        ] {
            assert_eq!(Integers::choose(100, &facts, &NORMAL, Bound::Norms), None);
        }
    }
}
