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
//!
//! **Proof by magnitudes.** Where means prove nothing, as with zeros, the operands are multiplied
//! once more as magnitudes m of 7 bits, rounded down: `|y| >= 2^f m` for the integers y of a line.
//! The half by which y may exceed `|a 2^s|` is below 2^-32 of it where m is not 0. With norms of
//! lines of y of at most 2^T and sums S of products of magnitudes,
//!
//! `2^(sa + sb) |C - AB| <= sqrt(k) (2^Ta + 2^Tb) / 2` and `2^(sa + sb) |A||B| >= 2^(fa + fb) S`.
//!
//! An exact operand drops the term of the other's T. Entries for which that proves
//! `|C - AB| <= (k - 1) u |A||B|` are those with S at least [`Proof::least`].

use super::lines::{Facts, RANGE};
use super::moduli;
use crate::backend::cuda::gemm::update::Bound;
use crate::cost::integers::USUAL;

/// Bits of a line that is not exact, at least. Fourteen moduli give two operands so many.
const LEAST_BITS: f64 = 54.5;

/// Integers have no more bits.
const MOST_BITS: f64 = 62.0;

/// The product of the moduli is above twice the largest entry.
const SIGN_BITS: f64 = 1.02;

/// With up to so many moduli the entries of the product of integers follow exactly, as
/// `restore.cuh` says. With more their error is small against that of rounded lines.
const EXACT: usize = 10;

/// The error of [`Integers`] that a bound allows.
pub(super) fn allowed(depth: usize, bound: Bound) -> f64 {
    let depth = depth as f64;
    match bound {
        Bound::Norms => f64::INFINITY,
        // One of the k roundings is that of the result.
        Bound::Entries | Bound::DenseEntries => (depth - 1.0) / depth.sqrt() * 2f64.powi(-53),
    }
}

/// Bits of the magnitude of an entry of the mean square: 4 to 7, by the roundings of scales.
const MEAN_BITS: f64 = 5.0;

/// What magnitudes must add up to, so that they prove the bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proof {
    /// Magnitudes are in units of 2^shift: those of A and of B.
    pub shifts: [i32; 2],
    /// The least sum, as a byte (`logarithms` in `planes.cuh`).
    pub least: i32,
}

impl Proof {
    /// None where no sum is large enough.
    fn of(depth: usize, bits: [f64; 2], rounded: [bool; 2]) -> Option<Proof> {
        let depth = depth as f64;
        let shift = |bits: f64| (bits.floor() - MEAN_BITS - (depth.log2() / 2.0).ceil()).max(0.0);
        let shifts = bits.map(shift);
        let term = |rounded: bool, other: f64| if rounded { other.exp2() } else { 0.0 };
        // A hundredth more for Chinese remainders, for 64 bits of an entry, and for the half above.
        let terms = term(rounded[0], bits[1]) + term(rounded[1], bits[0]);
        let error = 1.01 * depth.sqrt() / 2.0 * terms;
        let unit = (depth - 1.0) * (shifts[0] + shifts[1] - 53.0).exp2();
        let least = error / unit;
        // Rounding to single precision loses less.
        let sum = (1.000_001 * least.max(1.0)) as f32;
        // The next byte, since this one stands for less.
        let byte = (sum.to_bits() >> 20) as i32 - ((127 << 3) - 1) + 1;
        (least.is_finite() && byte <= 255).then_some(Proof {
            shifts: shifts.map(|s| s as i32),
            least: byte,
        })
    }
}

/// How operands become integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Integers {
    pub moduli: usize,
    /// Logarithms to base 2 of the norms of scaled lines of A and B.
    pub bits: (f32, f32),
    /// Whether entries of the product of integers are rounded to integers, and are exact then.
    pub whole: bool,
    /// Whether entries of A, and those of B, may be rounded.
    rounded: [bool; 2],
    /// What entries need so that their bound holds; none if it holds for all.
    pub proof: Option<Proof>,
}

impl Integers {
    /// For ordinary numbers.
    pub(super) fn usual() -> Integers {
        let half = ((moduli::bits(USUAL) - SIGN_BITS) / 2.0) as f32;
        Integers {
            moduli: USUAL,
            bits: (half, half),
            whole: false,
            rounded: [true; 2],
            proof: None,
        }
    }

    /// The fewest moduli with which the bound holds, or holds where magnitudes prove it; None if
    /// there are too few, or if entries are not finite or out of range.
    pub(super) fn choose(depth: usize, a: &Facts, b: &Facts, bound: Bound) -> Option<Integers> {
        let highest = a.longest + b.longest;
        let lowest = -(a.shortest + b.shortest);
        if !(a.finite && b.finite) || a.is_zero() || b.is_zero() {
            return None;
        }
        if highest > RANGE.1 || lowest < RANGE.0 {
            return None;
        }
        let fewest = |bound| {
            (2..=moduli::MOST).find_map(|moduli| Integers::with(moduli, depth, a, b, bound))
        };
        if let Some(found) = fewest(bound) {
            return Some(found);
        }
        let by_norms = fewest(Bound::Norms)?;
        let bits = [by_norms.bits.0, by_norms.bits.1].map(f64::from);
        let proof = Proof::of(depth, bits, by_norms.rounded)?;
        Some(Integers {
            proof: Some(proof),
            ..by_norms
        })
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
        (error <= allowed(depth, bound)).then_some(Integers {
            moduli,
            bits: (bits_a as f32, bits_b as f32),
            whole,
            rounded: [rounded(width_a, bits_a), rounded(width_b, bits_b)],
            proof: None,
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
        // Zeros: nothing is known of the entries of |A||B| before magnitudes are multiplied.
        assert_eq!(moduli(&COUNTS, &NORMAL, Bound::Entries), Some(8));
        let proof = |a, b| Integers::choose(8192, a, b, Bound::Entries).unwrap().proof;
        assert_eq!(proof(&COUNTS, &COUNTS), None);
        assert_eq!(proof(&NORMAL, &NORMAL), None);
        assert!(proof(&COUNTS, &NORMAL).is_some());
        let wide = Facts {
            mean: 27.0,
            square: 29.0,
            ..NORMAL
        };
        assert!(Integers::choose(8192, &wide, &wide, Bound::Entries)
            .unwrap()
            .proof
            .is_some());
        assert_eq!(moduli(&wide, &wide, Bound::Norms), Some(14));
        let some = Facts {
            mean: 5.0,
            square: 5.5,
            ..NORMAL
        };
        assert_eq!(moduli(&some, &some, Bound::Entries), Some(15));
    }

    /// Sums that prove the bound are far below those of normal numbers, 26 squared for each step,
    /// and above those of a few entries.
    #[test]
    fn magnitudes_of_ordinary_numbers_prove_it() {
        let sum = |byte: i32| f32::from_bits(((byte + (127 << 3) - 1) as u32) << 20);
        for depth in [256, 8192, 1 << 20] {
            let proof = Proof::of(depth, [54.57; 2], [true; 2]).unwrap();
            let least = sum(proof.least);
            assert!(least < 0.2 * 26.0 * 26.0 * depth as f32, "{depth} {least}");
            assert!(
                least > 2.0 * 127.0 * 127.0 || depth < 8192,
                "{depth} {least}"
            );
        }
        assert_eq!(Proof::of(1, [54.57; 2], [true; 2]), None);
        // Counts times normal numbers: those of A are exact.
        let proof = Proof::of(8192, [7.01, 54.57], [false, true]).unwrap();
        assert_eq!(proof.shifts[0], 0);
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
