//! Decides how many moduli operands need, and whether a product from integers pays.
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
//! `2^-Ta r2(a) r1(b) + 2^-Tb r2(b) r1(a) <= sqrt(k) u`,
//!
//! where r1 and r2 are the mean magnitude and the root of the mean square over the geometric mean,
//! the largest of all lines. Lines that are exact contribute no error.

use super::lines::Facts;
use super::moduli;
use crate::backend::cuda::driver::properties::Properties;
use crate::backend::cuda::gemm::update::Bound;

/// Bits of a line that is not exact, at least. Fourteen moduli give two operands so many.
const LEAST_BITS: f64 = 54.5;

/// Integers have 62 bits.
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
        let allowed = (depth as f64).sqrt() * 2f64.powi(-53);
        (bound == Bound::Norms || error <= allowed).then_some(Integers {
            moduli,
            bits: (bits_a as f32, bits_b as f32),
            whole,
        })
    }
}

/// The size of a product: C has m x n entries, of which a triangle may be wanted only.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub triangle: bool,
}

impl Size {
    pub(super) fn operations(&self) -> f64 {
        let all = 2.0 * self.m as f64 * self.n as f64 * self.k as f64;
        if self.triangle {
            all / 2.0
        } else {
            all
        }
    }
}

/// Products reach this share of what the units for bytes could do.
const REACHED: f64 = 0.7;

/// Seconds for each byte that conversions read and write, on a GPU with 132 multiprocessors at
/// 1.98 GHz and 4.2 TB/s. An entry of an operand is read twice; it and one of C have a byte for
/// each modulus.
const CONVERT: f64 = 3.6e-13;
const RESTORE: f64 = 5.4e-13;
const MEASURED_ON: f64 = 132.0 * 1.98e9;

/// Seconds of launches, and of the wait for what operands need.
const START: f64 = 150e-6;

/// Products from integers must be faster by this factor.
const MARGIN: f64 = 1.1;

/// Operations on bytes per second.
pub(super) fn byte_rate(p: &Properties) -> f64 {
    let per_cycle = match p.capability {
        (7, 5) | (8, 6..) | (12, _) => 2048.0,
        (8, _) => 4096.0,
        (9, 0) => 8192.0,
        // Their tensor cores for bytes need instructions of their own.
        _ => 0.0,
    };
    per_cycle * p.clock * p.multiprocessors as f64
}

/// Seconds of a product with so many moduli.
fn seconds(p: &Properties, size: &Size, moduli: usize) -> f64 {
    let speed = p.multiprocessors as f64 * p.clock / MEASURED_ON;
    // Whole tiles are computed.
    let size = Size {
        m: size.m.next_multiple_of(128),
        n: size.n.next_multiple_of(256),
        k: size.k.next_multiple_of(128),
        ..*size
    };
    let operands = (size.m + size.n) as f64 * size.k as f64;
    let entries = size.operations() / (2.0 * size.k as f64);
    let planes = moduli as f64;
    let operands = CONVERT * (16.0 + planes) * operands;
    let conversions = (operands + RESTORE * (8.0 + planes) * entries) / speed;
    planes * size.operations() / (REACHED * byte_rate(p)) + conversions + START
}

/// How many of the longest launches take as long as a product with so many moduli.
pub(super) fn launches(p: &Properties, size: &Size, moduli: usize) -> f64 {
    let longest =
        p.launch_operations::<f64>() / (p.product_rate::<f64>() * p.multiprocessors as f64);
    moduli as f64 * size.operations() / (REACHED * byte_rate(p)).max(1.0) / longest
}

/// Whether a product with so many moduli is faster than one in double precision.
pub(super) fn pays(p: &Properties, size: &Size, moduli: usize) -> bool {
    let native = 0.83 * p.product_rate::<f64>() * p.multiprocessors as f64;
    byte_rate(p) > 0.0 && MARGIN * seconds(p, size, moduli) < size.operations() / native
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

    #[test]
    fn large_products_pay_where_bytes_are_fast() {
        let gpu = |multiprocessors, capability, clock| Properties {
            multiprocessors,
            capability,
            driver: 12040,
            clock,
            shared: 99 << 10,
            cooperative: true,
        };
        let of = |n| Size {
            m: n,
            n,
            k: n,
            triangle: false,
        };
        let h200 = gpu(132, (9, 0), 1.98e9);
        assert!(pays(&h200, &of(8192), 14) && !pays(&h200, &of(2048), 14));
        assert!(pays(&h200, &of(2048), 2));
        let thin = Size {
            k: 256,
            ..of(16384)
        };
        assert!(!pays(&h200, &thin, 14));
        // A graphics card gains from order 500 on, one that is not known never.
        let card = gpu(128, (8, 9), 2.5e9);
        assert!(pays(&card, &of(512), 14) && !pays(&card, &of(128), 14));
        assert!(!pays(&gpu(148, (10, 0), 1.97e9), &of(8192), 14));
    }
}
