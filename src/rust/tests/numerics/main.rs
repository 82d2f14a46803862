//! How small the errors are where a matrix is hard: ill-conditioned, graded, nearly singular, at
//! the ends of the range.
//!
//! The measure is the textbook's algorithm in the same precision, written here without blocks, or,
//! where it has one, the theorem on what rounding may do. A factorization that multiplies by
//! inverses of diagonal blocks is written here too, and the tests ask that it be found out.

#[path = "../common/mod.rs"]
mod common;

mod cholesky;
mod exact;
mod lu;
mod minors;
mod pairs;
mod pivots;
mod positive;
mod product;
mod qr;
mod repeat;
mod special;
mod textbook;
mod triangles;
mod triangular;

/// Orders on both sides of blocks of 64 and 128, and beyond the recursion's first cuts.
fn orders() -> Vec<usize> {
    if common::few() {
        return vec![1, 65, 129];
    }
    vec![1, 2, 63, 64, 65, 127, 128, 129, 200, 257, 400, 513, 700]
}

/// What an error may be, in units of `terms eps`: half as much again as the textbook's own, or what
/// `terms` roundings that do not conspire add up to.
///
/// `terms` errors of up to eps / 2 each and of random sign add up to about `eps sqrt(terms) / 3`,
/// and the largest of some hundred thousand such sums is five times that. One matrix may be lucky
/// for the textbook and not for another order of summation, which is no fault; what this leaves out
/// is an error that grows with the condition.
fn allowed(textbook: f64, terms: usize) -> f64 {
    portable() * (1.5 * textbook).max(LUCK / (terms as f64).sqrt())
}

/// By how much residuals may be larger on a GPU that tests pretend to have, which takes portable
/// kernels: these multiply by the inverse of a pivot, and have sums of half the matrix.
fn portable() -> f64 {
    match std::env::var_os("CUDAFACTOR_BELIEVE") {
        Some(_) => 2.0,
        None => 1.0,
    }
}

const LUCK: f64 = 1.0;
