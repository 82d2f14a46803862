//! Whether a preconditioner of a random walker's system knows all of it.
//!
//! Flat regions that weights of 1e-10 join to the rest have probabilities that hardly show in a
//! residual: a preconditioner that does not know such a region leaves an eigenvalue of `M^-1 A` of
//! 1e-10, and an iteration for labels ends without having met it, since their right-hand sides have
//! nothing there. One that is random has something everywhere. Iterated on until no region's share
//! of it is left, it has met the smallest eigenvalue, which the recurrence's coefficients tell.

use std::ops::Range;

use crate::algo::krylov::blocks::{Blocks, Operator, Preconditioner};
use crate::algo::krylov::outcome::Stopping;
use crate::algo::krylov::pcg::pcg;
use crate::algo::krylov::spectrum::smallest_ritz_value;
use crate::base::chunks::in_parts;
use crate::base::error::Result;

/// With a smaller one there would be hundreds of iterations, and errors hundreds of times what a
/// residual tells.
pub(super) const UNFIT: f64 = 1e-3;

/// Of n unknowns a region of a few has this part of `1 / sqrt(n)` of a random vector's norm, at
/// least.
const SHARE: f64 = 1e-2;

/// That many iterations are not met where a preconditioner is fit.
const MOST: usize = 60;

/// Multiplications that a number costs.
const COST: f64 = 8.0;

/// Numbers from 0 to 1 that look drawn at random, each by its place.
pub(super) fn draw(places: Range<usize>, out: &mut [f64]) -> Result<()> {
    let fill = |(places, out): (Range<usize>, &mut [f64])| {
        for (place, out) in places.zip(out) {
            // Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators: the
            // finalizer of SplitMix.
            let mut x = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *out = (x >> 11) as f64 / (1u64 << 53) as f64;
        }
        Ok(())
    };
    in_parts((places, out), COST, fill, |(), ()| Ok(()))
}

/// The smallest eigenvalue of `M^-1 A` that an iteration for `b` meets, a random column of
/// `unknowns` numbers, and else zeros; 0 where M or the matrix is not definite, to rounding.
pub(super) fn smallest_met<S: Blocks>(
    blocks: &S,
    a: &impl Operator<S>,
    m: &impl Preconditioner<S>,
    b: &S::Block,
    unknowns: usize,
) -> Result<f64> {
    let stop = Stopping {
        tol: SHARE / (unknowns.max(1) as f64).sqrt(),
        maxit: MOST,
    };
    let found = pcg(blocks, a, m, b, None, stop)?;
    if found.verdict().is_err() {
        return Ok(0.0);
    }
    let met = found.coefficients.iter();
    Ok(met.fold(1.0, |least, c| least.min(smallest_ritz_value(c))))
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn numbers_depend_on_their_place_alone_and_fill_the_interval() {
        let mut all = vec![0.0; 100_000];
        draw(0..all.len(), &mut all).unwrap();
        let mut some = vec![0.0; 1000];
        draw(77_000..78_000, &mut some).unwrap();
        assert_eq!(some, all[77_000..78_000]);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        let tenths = (0..10).map(|k| {
            let inside = |x: &&f64| (**x * 10.0) as usize == k;
            all.iter().filter(inside).count()
        });
        assert!(tenths.into_iter().all(|n| n.abs_diff(10_000) < 500));
    }
}
