//! The moduli, and the numbers that depend on how many are used.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::{lock, Context};
use crate::base::error::Result;

/// Moduli at most: their product has 126 bits.
pub(super) const MOST: usize = 16;

/// The largest numbers up to 256 without common factors.
const MODULI: [u32; MOST] = [
    256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193,
];

/// Bytes of a fraction (`FRACTION` in `planes.cuh`).
const FRACTION: usize = 12;

/// The logarithm to base 2 of the product of the first `count` moduli.
pub(super) fn bits(count: usize) -> f64 {
    MODULI[..count].iter().map(|p| f64::from(*p).log2()).sum()
}

fn product(count: usize) -> u128 {
    MODULI[..count].iter().map(|p| u128::from(*p)).product()
}

/// The fraction of modulus `l`: `round(2^96 ((P / p)^-1 modulo p) / p)`, with P the product of
/// the first `count` moduli.
fn fraction(l: usize, count: usize) -> u128 {
    let p = u128::from(MODULI[l]);
    let rest = product(count) / p % p;
    let inverse = (1..=p).find(|i| rest * i % p == 1 % p).unwrap_or(1);
    ((inverse << 96) + p / 2) / p
}

/// The words of `planes::Tables` in `planes.cuh` for the first `count` moduli.
fn tables(count: usize) -> Vec<i32> {
    let mut words = Vec::with_capacity(160);
    let of = |l: usize| if l < count { MODULI[l] } else { 256 };
    words.extend((0..MOST).map(|l| of(l) as i32));
    words.extend((0..MOST).map(|l| ((1u64 << 38) / u64::from(of(l)) + 1) as i32));
    for l in 0..MOST {
        let p = i64::from(of(l));
        let mut power = 1;
        for _ in 0..3 {
            power = power * 65536 % p;
            let weight = if power > p / 2 { power - p } else { power };
            words.push((weight as f32).to_bits() as i32);
        }
        words.push((1.0 / p as f32).to_bits() as i32);
    }
    let fractions: Vec<u128> = (0..count).map(|l| fraction(l, count)).collect();
    for i in 0..FRACTION {
        for group in 0..MOST / 4 {
            let byte = |l: usize| fractions.get(l).map_or(0, |f| (f >> (8 * i) & 255) as u32);
            let word = (0..4).map(|v| byte(4 * group + v) << (8 * v)).sum::<u32>();
            words.push(word as i32);
        }
    }
    let whole = product(count);
    let exponent = 64 - whole.leading_zeros() as i32;
    // The first 64 bits.
    let mantissa = if exponent > 0 {
        (whole >> exponent) as u64
    } else {
        (whole as u64) << -exponent
    };
    words.extend([mantissa as i32, (mantissa >> 32) as i32, exponent]);
    words
}

/// The words of `planes::Tables` for a plane of magnitudes: its modulus is 0.
fn magnitudes() -> Vec<i32> {
    let mut words = tables(2);
    words[0] = 0;
    words
}

/// Words from one of the tables on a device to the next.
const STRIDE: usize = 160;

/// The tables on a device, which keeps them.
#[derive(Clone, Copy)]
pub(super) struct Tables(u64);

impl Tables {
    /// Copies them to the device if this is the first time. None if there is no room.
    pub(super) fn on(ctx: &'static Context) -> Result<Option<Tables>> {
        let kept = |kept: &Option<Buffer>| kept.as_ref().map(|tables| Tables(tables.ptr));
        if let Some(tables) = kept(&lock(&ctx.moduli)) {
            return Ok(Some(tables));
        }
        let mut words = magnitudes();
        for count in 2..=MOST {
            words.resize((count - 1) * STRIDE, 0);
            words.extend(tables(count));
        }
        // Not while the lock is held: memory may have to be waited for.
        let Some(made) = where_there_is_room(Buffer::from_slice(ctx, &words))? else {
            return Ok(None);
        };
        let mut all = lock(&ctx.moduli);
        all.get_or_insert(made);
        Ok(kept(&all))
    }

    /// The address of the table of the first `count` moduli.
    pub(super) fn of(self, count: usize) -> u64 {
        self.0 + ((count - 1) * STRIDE * size_of::<i32>()) as u64
    }

    /// The address of the table of a plane of magnitudes.
    pub(super) fn of_magnitudes(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moduli_have_no_common_factor() {
        let gcd = |mut a: u32, mut b: u32| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        for (i, p) in MODULI.iter().enumerate() {
            for q in &MODULI[..i] {
                assert_eq!(gcd(*p, *q), 1, "{p} {q}");
            }
        }
        assert!((bits(14) - 110.16).abs() < 0.01 && (bits(16) - 125.38).abs() < 0.01);
    }

    /// The sum of residues times fractions wraps around to the number over the product.
    #[test]
    fn fractions_give_the_number_back() {
        for count in 2..=MOST {
            let whole = product(count);
            let numbers = [0, 1, 2, 12345, whole / 3, whole / 2 - 1];
            for x in numbers.into_iter().flat_map(|x| [x, (whole - x) % whole]) {
                let sum = (0..count).fold(0u128, |sum, l| {
                    sum.wrapping_add(x % u128::from(MODULI[l]) * fraction(l, count))
                });
                let got = sum % (1 << 96);
                // x / whole in units of 2^-96, by long division.
                let (mut want, mut rest) = (0u128, x);
                for _ in 0..96 {
                    want = 2 * want + u128::from(2 * rest >= whole);
                    rest = 2 * rest % whole;
                }
                let error = got.wrapping_sub(want) % (1 << 96);
                let error = error.min((1 << 96) - error);
                assert!(error <= 128 * count as u128, "{count} {x}: {error}");
            }
        }
    }

    #[test]
    fn tables_have_the_size_of_the_kernels() {
        for count in 2..=MOST {
            let words = tables(count);
            assert_eq!(words.len(), 2 * MOST + 4 * MOST + FRACTION * MOST / 4 + 3);
            assert!(words.len() <= STRIDE);
            let [low, high, exponent] = words[words.len() - 3..] else {
                panic!("three words");
            };
            let mantissa = u128::from(low as u32) | u128::from(high as u32) << 32;
            assert!(mantissa >> 63 == 1);
            let log2 = (mantissa as f64).log2() + f64::from(exponent);
            assert!((log2 - bits(count)).abs() < 1e-9, "{count}");
        }
    }
}
