//! Grade A, by the criteria of Demmel and others for products: `|dC| <= k u |A||B|` for every entry
//! of adversarial operands, whether integers compute or doubles.

use super::tests::{context, entries_left, product, scattered, worst};
use crate::backend::cuda::gemm::update::Bound;
use faer::Mat;

/// Numbers that look normal: sums of twelve uniform ones.
fn normal(i: usize, j: usize, seed: u64) -> f64 {
    (0..12).map(|l| scattered(i, j, seed + 16 * l)).sum::<f64>() / 2.0
}

/// Whether integers computed all of a product. Its error must be within the bound.
fn is_from_integers(name: &str, a: &Mat<f64>, b: &Mat<f64>) -> bool {
    let Some(ctx) = context() else { return false };
    let Some(c) = product(ctx, a, b, Bound::Entries) else {
        return false;
    };
    let worst = worst(a, b, &c);
    assert!(worst <= 1.0, "{name}: {worst}");
    entries_left() == 0
}

/// Entries spread by `exp(phi x)`, as papers on these products have them: from nearly alike to
/// thirty decimal digits.
#[test]
fn spread_entries_are_of_grade_a() {
    if context().is_none() {
        return;
    }
    for (m, n, k) in [(96, 80, 700), (1, 65, 300), (130, 3, 4100), (257, 255, 129)] {
        for phi in [0.0, 0.5, 1.0, 2.0, 4.0, 8.0] {
            let of = |i, j, seed| scattered(i, j, seed) * (phi * normal(i, j, seed + 1)).exp();
            let a = Mat::from_fn(m, k, |i, j| of(i, j, 1));
            let b = Mat::from_fn(k, n, |i, j| of(i, j, 3));
            let taken = is_from_integers(&format!("{m} {n} {k}, phi {phi}"), &a, &b);
            assert!(taken || phi > 0.5, "{m} {n} {k}, phi {phi}");
        }
    }
}

/// Lines with entries of 2^53 and 2^-53 that meet the small and the large ones of the other
/// operand: with scales for lines alone, half of the terms would be lost.
#[test]
fn terms_that_scales_would_lose_are_of_grade_a() {
    if context().is_none() {
        return;
    }
    for (m, n, k) in [(70, 90, 256), (300, 20, 1001)] {
        let wide = |i: usize, j: usize, up: bool, seed: u64| {
            let power = if (j % 2 == 0) == up { 53 } else { -53 };
            scattered(i, j, seed) * 2f64.powi(power)
        };
        let a = Mat::from_fn(m, k, |i, j| wide(i, j, true, 1));
        let opposite = Mat::from_fn(k, n, |i, j| wide(j, i, false, 2));
        let same = Mat::from_fn(k, n, |i, j| wide(j, i, true, 2));
        is_from_integers("opposite", &a, &opposite);
        is_from_integers("same", &a, &same);
        // One row and one column alone.
        let plain = |i: usize, j: usize, seed: u64| scattered(i, j, seed);
        let one = |i: usize, j: usize, up: bool, seed: u64| match i {
            7 => wide(i, j, up, seed),
            _ => plain(i, j, seed),
        };
        let a = Mat::from_fn(m, k, |i, j| one(i, j, true, 3));
        let b = Mat::from_fn(k, n, |i, j| one(j, i, false, 4));
        is_from_integers("one line", &a, &b);
    }
}

/// Blocks of which one is small: an algorithm that adds blocks before it multiplies them would lose
/// its digits.
#[test]
fn small_blocks_are_of_grade_a() {
    if context().is_none() {
        return;
    }
    let n = 320;
    for tiny in [2f64.powi(-30), 2f64.powi(-60), 2f64.powi(-200)] {
        let size = |i: usize, j: usize| match (i < n / 2, j < n / 2) {
            (true, true) => 1.0,
            (false, false) => tiny * tiny,
            _ => tiny,
        };
        let a = Mat::from_fn(n, n, |i, j| scattered(i, j, 5) * size(i, j));
        let b = Mat::from_fn(n, n, |i, j| scattered(i, j, 6) * size(i, j));
        is_from_integers(&format!("{tiny:e}"), &a, &b);
        let c = Mat::from_fn(n, n, |i, j| scattered(i, j, 7) * size(j, i).recip());
        is_from_integers(&format!("{tiny:e} and its reciprocal"), &a, &c);
    }
}
