//! How long a double product takes that is computed from 8-bit integers, and whether that pays.

use crate::cost::flops::ProductSize;

/// Products reach this share of what the units for bytes could do.
const REACHED: f64 = 0.7;

/// Seconds for each byte that conversions read and write, on the GPU that was measured. An entry
/// of an operand is read twice; it and one of C have a byte for each modulus.
const CONVERT: f64 = 3.6e-13;
const RESTORE: f64 = 5.4e-13;

/// Seconds of launches, and of the wait for what operands need.
const START: f64 = 35e-6;
const WAIT: f64 = 30e-6;

/// Products from integers must be faster by this factor.
const MARGIN: f64 = 1.1;

/// Moduli for operands of ordinary numbers.
pub const USUAL: usize = 14;

/// What a GPU does in a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntegerRates {
    /// Operations in double precision, in products.
    pub doubles: f64,
    /// Operations on bytes, at most. 0: there are no kernels for it.
    pub bytes: f64,
    /// How fast conversions are, relative to the GPU that was measured: an H200.
    pub conversions: f64,
}

impl IntegerRates {
    /// Of a GPU without kernels for it.
    pub const NONE: IntegerRates = IntegerRates {
        doubles: 0.0,
        bytes: 0.0,
        conversions: 0.0,
    };

    /// Seconds of the products of residues.
    pub fn products(&self, size: &ProductSize, moduli: usize) -> f64 {
        moduli as f64 * size.operations() / (REACHED * self.bytes).max(1.0)
    }

    /// Seconds of a product with so many moduli. `waits`: for what operands need.
    pub fn seconds(&self, size: &ProductSize, moduli: usize, waits: bool) -> f64 {
        // Whole tiles are computed.
        let size = ProductSize {
            m: size.m.next_multiple_of(128),
            n: size.n.next_multiple_of(256),
            k: size.k.next_multiple_of(128),
            ..*size
        };
        let planes = moduli as f64;
        let operands = (size.m + size.n) as f64 * size.k as f64;
        let entries = size.operations() / (2.0 * size.k as f64);
        let bytes = CONVERT * (16.0 + planes) * operands + RESTORE * (8.0 + planes) * entries;
        let start = START + if waits { WAIT } else { 0.0 };
        self.products(&size, moduli) + bytes / self.conversions + start
    }

    /// Whether a product with so many moduli is faster than one in double precision.
    pub fn pays(&self, size: &ProductSize, moduli: usize, waits: bool) -> bool {
        let doubles = size.operations() / self.doubles;
        self.bytes > 0.0 && MARGIN * self.seconds(size, moduli, waits) < doubles
    }

    /// The order from which products of square matrices of ordinary numbers pay; infinite for
    /// never.
    pub fn from_order(&self) -> f64 {
        let pays = |n: &usize| {
            let size = ProductSize {
                m: *n,
                n: *n,
                k: *n,
                triangle: false,
            };
            self.pays(&size, USUAL, true)
        };
        (1..=512)
            .map(|i| 128 * i)
            .find(pays)
            .map_or(f64::INFINITY, |n| n as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: IntegerRates = IntegerRates {
        doubles: 55e12,
        bytes: 2.1e15,
        conversions: 1.0,
    };

    fn of(n: usize) -> ProductSize {
        ProductSize {
            m: n,
            n,
            k: n,
            triangle: false,
        }
    }

    #[test]
    fn large_products_pay_where_bytes_are_fast() {
        assert!(H200.pays(&of(8192), 14, true) && !H200.pays(&of(2048), 14, false));
        assert!(H200.pays(&of(2048), 2, true));
        let thin = ProductSize {
            k: 256,
            ..of(16384)
        };
        assert!(!H200.pays(&thin, 14, false));
        // A graphics card gains from small orders on, one without kernels never.
        let card = IntegerRates {
            doubles: 1.1e12,
            bytes: 6.6e14,
            conversions: 0.25,
        };
        assert!(card.pays(&of(1024), 14, true) && !card.pays(&of(256), 14, true));
        let none = IntegerRates { bytes: 0.0, ..card };
        assert!(!none.pays(&of(8192), 2, false) && none.from_order() == f64::INFINITY);
    }

    #[test]
    fn the_order_from_which_it_pays_is_one_of_whole_tiles() {
        let from = H200.from_order();
        assert!(
            (2048.0..5000.0).contains(&from) && from % 128.0 == 0.0,
            "{from}"
        );
    }
}
