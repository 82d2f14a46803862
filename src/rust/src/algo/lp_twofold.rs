//! Numbers of twice the working precision, as unevaluated sums of two doubles.
//!
//! Dekker (1971), "A floating-point technique for extending the available precision". Relative errors are a few units of 2^-104, while no number leaves the range of doubles.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Twofold {
    high: f64,
    low: f64,
}

pub const ZERO: Twofold = Twofold {
    high: 0.0,
    low: 0.0,
};

/// The rounded sum and its error.
fn sum(a: f64, b: f64) -> Twofold {
    let high = a + b;
    let of_b = high - a;
    Twofold {
        high,
        low: (a - (high - of_b)) + (b - of_b),
    }
}

/// The same, where a is the larger one.
fn ordered_sum(a: f64, b: f64) -> Twofold {
    let high = a + b;
    Twofold {
        high,
        low: b - (high - a),
    }
}

impl Twofold {
    pub fn abs(self) -> Twofold {
        if self.high < 0.0 {
            -self
        } else {
            self
        }
    }

    /// To the working precision.
    pub fn rounded(self) -> f64 {
        self.high
    }

    pub fn is_finite(self) -> bool {
        self.high.is_finite()
    }
}

impl From<f64> for Twofold {
    fn from(high: f64) -> Twofold {
        Twofold { high, low: 0.0 }
    }
}

impl PartialOrd for Twofold {
    fn partial_cmp(&self, other: &Twofold) -> Option<Ordering> {
        match self.high.partial_cmp(&other.high) {
            Some(Ordering::Equal) => self.low.partial_cmp(&other.low),
            order => order,
        }
    }
}

impl Neg for Twofold {
    type Output = Twofold;

    fn neg(self) -> Twofold {
        Twofold {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl Add for Twofold {
    type Output = Twofold;

    fn add(self, other: Twofold) -> Twofold {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = ordered_sum(high.high, high.low + low.high);
        ordered_sum(first.high, first.low + low.low)
    }
}

impl Sub for Twofold {
    type Output = Twofold;

    fn sub(self, other: Twofold) -> Twofold {
        self + -other
    }
}

impl Mul for Twofold {
    type Output = Twofold;

    fn mul(self, other: Twofold) -> Twofold {
        let high = self.high * other.high;
        let error = self.high.mul_add(other.high, -high);
        ordered_sum(
            high,
            error + (self.high * other.low + self.low * other.high),
        )
    }
}

impl Div for Twofold {
    type Output = Twofold;

    fn div(self, other: Twofold) -> Twofold {
        let first = Twofold::from(self.high / other.high);
        let left = self - first * other;
        let second = Twofold::from(left.high / other.high);
        let left = left - second * other;
        first + second + Twofold::from(left.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_of_twice_the_precision() {
        let (one, three) = (Twofold::from(1.0), Twofold::from(3.0));
        let third = one / three;
        let left = (third * three - one).abs().rounded();
        assert!(left < 1e-31, "{left}");
        let tenth = one / Twofold::from(10.0);
        let off = (Twofold::from(0.1) - tenth).rounded();
        // What the nearest double is off from a tenth.
        assert!((off - 5.551_115_123_125_783e-18).abs() < 1e-31, "{off}");
        let tiny = Twofold::from(1e-25);
        assert_eq!((one + tiny - one).rounded(), 1e-25);
        assert!(one + tiny > one && one - tiny < one && -one < ZERO);
    }
}
