//! Functions of one and of two numbers with R's values.

use std::f64::consts::PI;

use crate::device::functions::Map;

extern "C" {
    // Functions of the C library, which R also calls: Rust computes its functions of these names by
    // formulas.
    fn acosh(x: f64) -> f64;
    fn asinh(x: f64) -> f64;
    fn atanh(x: f64) -> f64;
}

pub(crate) fn of_one(f: Map) -> fn(f64) -> f64 {
    match f {
        Map::Copy => |x| x,
        Map::Negate => |x| -x,
        Map::Abs => f64::abs,
        Map::Sign => sign,
        Map::Sqrt => f64::sqrt,
        Map::Ceiling => f64::ceil,
        Map::Floor => f64::floor,
        Map::Trunc => f64::trunc,
        Map::Round => f64::round_ties_even,
        Map::Exp => f64::exp,
        Map::Expm1 => f64::exp_m1,
        Map::Log => f64::ln,
        Map::Log1p => f64::ln_1p,
        Map::Log10 => f64::log10,
        Map::Log2 => f64::log2,
        Map::Cos => f64::cos,
        Map::Sin => f64::sin,
        Map::Tan => f64::tan,
        Map::Cospi => cospi,
        Map::Sinpi => sinpi,
        Map::Tanpi => tanpi,
        Map::Acos => f64::acos,
        Map::Asin => f64::asin,
        Map::Atan => f64::atan,
        Map::Cosh => f64::cosh,
        Map::Sinh => f64::sinh,
        Map::Tanh => f64::tanh,
        // SAFETY: functions of the C library that take any number.
        Map::Acosh => |x| unsafe { acosh(x) },
        // SAFETY: as above.
        Map::Asinh => |x| unsafe { asinh(x) },
        // SAFETY: as above.
        Map::Atanh => |x| unsafe { atanh(x) },
    }
}

fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else if x == 0.0 {
        0.0
    } else {
        x
    }
}

/// Sine and cosine of `pi x` for a remainder in [-1/2, 1/2] after a whole number is taken off,
/// which decides the sign.
fn turn(x: f64) -> (f64, bool) {
    let whole = x.round_ties_even();
    (x - whole, (whole % 2.0) != 0.0)
}

fn sinpi(x: f64) -> f64 {
    let (r, odd) = turn(x);
    // Near a half the cosine of what is missing is the more accurate; a half itself gives 1.
    let s = if r.abs() <= 0.25 {
        (PI * r).sin()
    } else {
        (PI * (0.5 - r.abs())).cos().copysign(r)
    };
    // A zero without a sign, as R's.
    (if odd { -s } else { s }) + 0.0
}

fn cospi(x: f64) -> f64 {
    let (r, odd) = turn(x);
    let c = if r.abs() <= 0.25 {
        (PI * r).cos()
    } else {
        (PI * (0.5 - r.abs())).sin()
    };
    (if odd { -c } else { c }) + 0.0
}

/// NaN where it has no value.
fn tanpi(x: f64) -> f64 {
    let (r, _) = turn(x);
    let d = r.abs();
    if d == 0.5 {
        f64::NAN
    } else if d == 0.25 {
        1f64.copysign(r)
    } else if d < 0.25 {
        (PI * r).tan() + 0.0
    } else {
        (1.0 / (PI * (0.5 - d)).tan()).copysign(r)
    }
}

/// `x^y`. Differs from the C library's where an infinite number is raised to a fraction, a negative
/// one to an infinite power, and in the sign of zeros and infinities from a negative zero or
/// infinity.
#[inline]
pub(crate) fn power(x: f64, y: f64) -> f64 {
    if y == 2.0 {
        return x * x;
    }
    // R's NA is a signalling NaN, of which the C library makes nothing else.
    if x == 1.0 || y == 0.0 {
        return 1.0;
    }
    if x < 0.0 && (y.is_infinite() || x.is_infinite() && y != y.floor()) {
        return f64::NAN;
    }
    let p = x.powf(y);
    if x == 0.0 || x == f64::NEG_INFINITY && y < 0.0 {
        p.abs()
    } else {
        p
    }
}

/// `x - y floor(x / y)`, exact before the one rounding.
#[inline]
pub(crate) fn modulo(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) {
        r + y
    } else {
        // The remainder of a whole multiple is a zero without a sign.
        r + 0.0
    }
}

/// `floor(x / y)`, exact while it is a whole number in double precision, and `x / y` from there on.
#[inline]
pub(crate) fn quotient(x: f64, y: f64) -> f64 {
    let q = x / y;
    if y == 0.0 || !q.is_finite() || q.abs() > 1.0 / f64::EPSILON {
        q
    } else if q.abs() < 1.0 {
        if x != 0.0 && (x < 0.0) != (y < 0.0) {
            -1.0
        } else {
            0.0
        }
    } else {
        ((x - modulo(x, y)) / y).round_ties_even()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(x: f64, y: f64) -> bool {
        x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
    }

    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;

    #[test]
    fn turns_are_exact_at_halves_and_quarters() {
        for k in -9..9i32 {
            let x = f64::from(k) / 2.0;
            let (s, c) = ([0.0, 1.0, 0.0, -1.0], [1.0, 0.0, -1.0, 0.0]);
            let at = k.rem_euclid(4) as usize;
            assert!(same(sinpi(x), s[at]) && same(cospi(x), c[at]), "{x}");
            assert!(same(tanpi(x), if k % 2 == 0 { 0.0 } else { NAN }), "{x}");
            assert_eq!(tanpi(f64::from(k) + 0.25), 1.0);
            assert_eq!(tanpi(f64::from(k) - 0.25), -1.0);
        }
        for x in [0.1, 0.3, 0.49, 0.7, 1.2, -0.4, -1.9, 12.34] {
            let r = PI * (x % 2.0);
            for (got, want) in [
                (sinpi(x), r.sin()),
                (cospi(x), r.cos()),
                (tanpi(x), r.tan()),
            ] {
                assert!(
                    (got - want).abs() <= 1e-14 * (1.0 + want.abs()),
                    "{x}: {got} {want}"
                );
            }
        }
        for f in [sinpi, cospi, tanpi] {
            assert!(f(INF).is_nan() && f(-INF).is_nan() && f(NAN).is_nan());
        }
    }

    #[test]
    fn powers_are_those_of_r() {
        for (x, y, want) in [
            (1.0, NAN, 1.0),
            (NAN, 0.0, 1.0),
            (1.0, f64::from_bits(0x7ff0_0000_0000_07a2), 1.0),
            (f64::from_bits(0x7ff0_0000_0000_07a2), 0.0, 1.0),
            (NAN, 2.0, NAN),
            (2.0, NAN, NAN),
            (-0.0, 3.0, 0.0),
            (-0.0, -1.0, INF),
            (-INF, 3.0, -INF),
            (-INF, 2.0, INF),
            (-INF, -3.0, 0.0),
            (-INF, 0.5, NAN),
            (-INF, INF, NAN),
            (-2.0, INF, NAN),
            (-2.0, 0.5, NAN),
            (2.0, INF, INF),
            (0.5, INF, 0.0),
            (0.5, -INF, INF),
            (INF, -1.0, 0.0),
            (3.0, 4.0, 81.0),
            (1.1, 2.0, 1.1 * 1.1),
        ] {
            assert!(same(power(x, y), want), "{x}^{y}: {}", power(x, y));
        }
    }

    #[test]
    fn remainders_and_quotients_are_those_of_r() {
        for (x, y, m, q) in [
            (5.0, 3.0, 2.0, 1.0),
            (-5.0, 3.0, 1.0, -2.0),
            (5.0, -3.0, -1.0, -2.0),
            (-5.0, -3.0, -2.0, 1.0),
            (6.0, -3.0, 0.0, -2.0),
            (5.5, 0.0, NAN, INF),
            (0.0, 0.0, NAN, NAN),
            (5.0, INF, 5.0, 0.0),
            (-5.0, INF, INF, -1.0),
            (5.0, -INF, -INF, -1.0),
            (INF, 3.0, NAN, INF),
            (NAN, 3.0, NAN, NAN),
            (3.0, NAN, NAN, NAN),
            (1.0, 0.1, 0.09999999999999995, 9.0),
            (0.3, 0.1, 0.09999999999999998, 2.0),
            (1e300, 1e-10, modulo(1e300, 1e-10), 1e300 / 1e-10),
        ] {
            assert!(same(modulo(x, y), m), "{x} %% {y}: {}", modulo(x, y));
            assert!(same(quotient(x, y), q), "{x} %/% {y}: {}", quotient(x, y));
        }
        assert_eq!(sign(-3.0) + sign(0.0) + sign(7.5), 0.0);
        assert!(sign(NAN).is_nan());
    }
}
