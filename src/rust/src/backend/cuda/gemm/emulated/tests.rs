//! Products from integers beside products in double precision, and beside exact ones.

use std::cell::Cell;

use super::kernel::portable;
use super::product::multiply_as;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::Family;
use crate::backend::cuda::gemm::gemm_syrk::in_doubles;
use crate::backend::cuda::gemm::update::{Bound, Update};
use crate::backend::cuda::matrix::views::{Matrix, View};
use crate::base::emulation::Emulation;
use crate::base::error::Result;
use crate::base::matrix::Part;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Entries of C that the last product of [`multiply`] left to doubles.
pub(super) fn entries_left() -> usize {
    LEFT.get()
}

/// The product wherever the bound allows it.
pub(super) fn multiply(
    ctx: &'static Context,
    update: Update<f64>,
    a: View<f64>,
    b: View<f64>,
    c: View<f64>,
) -> Result<bool> {
    LEFT.set(0);
    let doubles = |ctx, update: Update<f64>, a, b, c: View<f64>| {
        LEFT.set(LEFT.get() + c.rows * c.cols);
        in_doubles(ctx, update, a, b, c)
    };
    multiply_as(Emulation::Always, ctx, update, (a, b, c), &doubles)
}

/// None without a GPU, or on one without kernels for it.
pub(super) fn context() -> Option<&'static Context> {
    Context::for_test().filter(|ctx| ctx.has(Family::Emulated) && ctx.has(Family::PlanesTensor))
}

pub(super) fn load(ctx: &'static Context, x: &faer::Mat<f64>) -> Matrix<'static, f64> {
    Matrix::from_host(ctx, x.as_ref(), Part::All).unwrap()
}

/// Numbers that look random, in (-1, 1).
pub(super) fn scattered(i: usize, j: usize, seed: u64) -> f64 {
    let mut z = (i as u64) << 32 ^ j as u64 ^ seed << 56;
    for _ in 0..3 {
        z = (z ^ z >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    (z >> 11) as f64 * 2f64.powi(-52) - 1.0
}

/// `sum x_k y_k` and `sum |x_k y_k|`, the first in twice the precision.
pub(super) fn dot(terms: impl Iterator<Item = (f64, f64)>) -> ((f64, f64), f64) {
    let (mut sum, mut rest, mut size) = (0.0, 0.0, 0.0);
    for (x, y) in terms {
        let p = x * y;
        let next: f64 = sum + p;
        let z = next - sum;
        rest += (sum - (next - z)) + (p - z) + x.mul_add(y, -p);
        sum = next;
        size += p.abs();
    }
    ((sum, rest), size)
}

/// The largest error of a product in units of `k u |A||B|`, over all entries.
pub(super) fn worst(a: &faer::Mat<f64>, b: &faer::Mat<f64>, c: &faer::Mat<f64>) -> f64 {
    let mut worst: f64 = 0.0;
    for j in 0..c.ncols() {
        for i in 0..c.nrows() {
            let terms = (0..a.ncols()).map(|k| (a[(i, k)], b[(k, j)]));
            let ((sum, rest), size) = dot(terms);
            let error = ((c[(i, j)] - sum) - rest).abs();
            let unit = a.ncols() as f64 * 2f64.powi(-53) * size;
            if error > 0.0 {
                worst = worst.max(error / unit);
            }
        }
    }
    worst
}

/// A B by integers; None where doubles must do.
pub(super) fn product(
    ctx: &'static Context,
    a: &faer::Mat<f64>,
    b: &faer::Mat<f64>,
    bound: Bound,
) -> Option<faer::Mat<f64>> {
    let (m, n) = (a.nrows(), b.ncols());
    let (da, db) = (load(ctx, a), load(ctx, b));
    let dc = load(ctx, &faer::Mat::from_fn(m, n, |_, _| f64::NAN));
    let update = Update {
        bound,
        ..Update::assign()
    };
    if !multiply(ctx, update, da.view(), db.view(), dc.view()).unwrap() {
        return None;
    }
    let mut c = faer::Mat::zeros(m, n);
    dc.read(ctx, c.as_mut()).unwrap();
    Some(c)
}

/// Entries, rows and columns of many magnitudes: the bound of double precision holds, or doubles
/// must compute.
#[test]
fn errors_are_within_the_bound_of_doubles() {
    let Some(ctx) = context() else { return };
    let (m, n, k) = (150, 140, 600);
    let power = |i: usize, most: f64| (most * scattered(i, 7, 9)).round().exp2();
    let mut taken = 0;
    for (name, spread, rows, cols) in [
        ("plain", 0.0, 0.0, 0.0),
        ("graded rows and columns", 0.0, 190.0, 190.0),
        ("somewhat graded entries", 4.0, 3.0, 100.0),
        ("graded entries", 40.0, 0.0, 0.0),
        ("entries that cover most of the range", 400.0, 0.0, 0.0),
    ] {
        let of = |i: usize, j: usize, seed: u64, line: f64| {
            let grade = (spread * scattered(i, j, seed + 20)).round().exp2();
            scattered(i, j, seed) * grade * line
        };
        let a = faer::Mat::from_fn(m, k, |i, j| of(i, j, 1, power(i, rows)));
        let b = faer::Mat::from_fn(k, n, |i, j| of(i, j, 2, power(j + 1000, cols)));
        if let Some(c) = product(ctx, &a, &b, Bound::Entries) {
            taken += 1;
            let worst = worst(&a, &b, &c);
            assert!(worst <= 1.0, "{name}: {worst}");
        } else {
            assert!(spread > 4.0, "{name}");
        }
    }
    assert!(taken >= 3);
}

/// Cancellation does not enlarge the error of a sum, and neither do denormal entries.
#[test]
fn cancelling_and_denormal_entries_keep_the_bound() {
    let Some(ctx) = context() else { return };
    let (m, n, k) = (40, 50, 512);
    let half = |i: usize, j: usize| {
        let sign = if j < k / 2 { 1.0 } else { -1.0 };
        sign * (1.5 + scattered(i, j % (k / 2), 3)) + 1e-9 * scattered(i, j, 4)
    };
    let a = faer::Mat::from_fn(m, k, half);
    let b = faer::Mat::from_fn(k, n, |i, j| 1.5 + scattered(i % (k / 2), j, 5));
    let c = product(ctx, &a, &b, Bound::Entries).unwrap();
    assert!(worst(&a, &b, &c) <= 1.0);
    // Denormal entries, and others that make the product a normal number.
    let tiny = faer::Mat::from_fn(m, k, |i, j| 1e-312 * scattered(i, j, 6));
    let huge = faer::Mat::from_fn(k, n, |i, j| 1e290 * scattered(i, j, 7));
    let c = product(ctx, &tiny, &huge, Bound::Entries).unwrap();
    assert!(worst(&tiny, &huge, &c) <= 1.0);
}

/// NaN, infinities and numbers whose product may overflow are left to doubles.
#[test]
fn what_integers_cannot_hold_is_left_to_doubles() {
    let Some(ctx) = context() else { return };
    let plain = faer::Mat::from_fn(30, 200, |i, j| scattered(i, j, 1));
    let other = faer::Mat::from_fn(200, 31, |i, j| scattered(i, j, 2));
    assert!(product(ctx, &plain, &other, Bound::Entries).is_some());
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        let mut a = plain.clone();
        a[(29, 199)] = wrong;
        let b = if wrong == 1e300 {
            &other * 1e20
        } else {
            other.clone()
        };
        assert!(product(ctx, &a, &b, Bound::Entries).is_none(), "{wrong}");
    }
    let zero = faer::Mat::zeros(30, 200);
    assert!(product(ctx, &zero, &other, Bound::Entries).is_none());
}

/// The same bits from the kernels of all generations.
#[test]
fn kernels_agree_bit_for_bit() {
    let Some(ctx) = context() else { return };
    if !ctx.has(Family::PlanesHopper) {
        return;
    }
    let a = faer::Mat::from_fn(700, 900, |i, j| scattered(i, j, 1));
    let b = faer::Mat::from_fn(900, 800, |i, j| scattered(i, j, 2));
    let first = product(ctx, &a, &b, Bound::Entries).unwrap();
    let again = product(ctx, &a, &b, Bound::Entries).unwrap();
    assert_eq!(first, again);
    let tensor = portable(|| product(ctx, &a, &b, Bound::Entries)).unwrap();
    assert_eq!(first, tensor);
}

/// Integers whose products need more moduli than those that give them exactly, zeros that cancel,
/// and a line of zeros beside numbers near the limits.
#[test]
fn long_integers_and_zeros_keep_the_bound() {
    let Some(ctx) = context() else { return };
    for (row, col) in [
        ([2f64.powi(45), 5.0, 0.0], [0.0, 7.0, 2f64.powi(58)]),
        ([2f64.powi(38), 1.0, 0.0], [0.0, 1.0, 2f64.powi(61) - 512.0]),
        ([2f64.powi(29), 1.0, 0.0], [0.0, 1.0, 2f64.powi(59)]),
    ] {
        let a = faer::Mat::from_fn(1, 3, |_, k| row[k]);
        let b = faer::Mat::from_fn(3, 1, |k, _| col[k]);
        if let Some(c) = product(ctx, &a, &b, Bound::Entries) {
            assert_eq!(c[(0, 0)], row[1] * col[1]);
        }
    }
    let a = faer::Mat::from_fn(
        40,
        300,
        |i, k| if k % 2 == 0 { i as f64 } else { -(i as f64) },
    );
    let b = faer::Mat::from_fn(300, 50, |_, j| j as f64 + 1.0);
    let c = product(ctx, &a, &b, Bound::Entries).unwrap();
    for j in 0..50 {
        for i in 0..40 {
            assert_eq!(c[(i, j)].to_bits(), 0, "({i}, {j})");
        }
    }
    let far = faer::Mat::from_fn(2, 1, |i, _| if i == 0 { 2f64.powi(1000) } else { 0.0 });
    let near = faer::Mat::from_fn(1, 1, |_, _| 2f64.powi(-1000) * (1.0 + 2f64.powi(-24)));
    let c = product(ctx, &far, &near, Bound::Entries).unwrap();
    assert_eq!((c[(0, 0)], c[(1, 0)]), (1.0 + 2f64.powi(-24), 0.0));
}
