//! Operands with zeros: magnitudes prove the bound, or doubles compute.

use super::kernel::portable;
use super::tests::{context, entries_left, load, multiply, product, scattered, worst};
use super::workspace::cut_into;
use crate::backend::cuda::driver::kernels::Family;
use crate::backend::cuda::gemm::update::{Bound, Update, UpdatedPart};
use faer::Mat;

/// Zeros here and there change nothing, and neither do lines of zeros.
#[test]
fn some_zeros_need_no_doubles() {
    let Some(ctx) = context() else { return };
    for (m, n, k) in [(300, 520, 700), (1, 1, 2), (257, 3, 9000), (40, 255, 40)] {
        let holed = |i: usize, j: usize, seed: u64| match (i * 31 + j * 17) % 10 {
            0 => 0.0,
            _ if i == 2 => 0.0,
            _ => scattered(i, j, seed),
        };
        let a = Mat::from_fn(m, k, |i, j| holed(i, j, 1));
        let b = Mat::from_fn(k, n, |i, j| holed(j, i, 2));
        let Some(c) = product(ctx, &a, &b, Bound::Entries) else {
            assert!(k == 2);
            continue;
        };
        assert_eq!(
            entries_left(),
            if k < 40 { m * n } else { 0 },
            "{m} {n} {k}"
        );
        assert!(worst(&a, &b, &c) <= 1.0, "{m} {n} {k}");
        if m > 2 {
            assert!((0..n).all(|j| c[(2, j)] == 0.0));
        }
    }
}

/// Columns of a design: a constant, groups of which each row has one, counts, numbers. Products of
/// groups without common rows are exactly zero.
#[test]
fn designs_have_exact_zeros() {
    let Some(ctx) = context() else { return };
    let (k, n) = (3000, 300);
    let x = Mat::from_fn(k, n, |i, j| match j {
        0 => 1.0,
        1..=20 => f64::from(u8::from(i % 20 + 1 == j)),
        21..=40 => ((i * j) % 7) as f64,
        _ => scattered(i, j, 3) * 1e3,
    });
    let t = x.transpose().to_owned();
    let c = product(ctx, &t, &x, Bound::Entries).unwrap();
    assert!(worst(&t, &x, &c) <= 1.0);
    assert_eq!((c[(1, 2)], c[(2, 1)], c[(1, 1)]), (0.0, 0.0, 150.0));
    // The square with the groups, and not those beyond.
    assert_eq!(entries_left(), 256 * 256);
}

/// Rows and columns that overlap nowhere, or in tiny entries alone.
#[test]
fn what_is_not_proven_is_in_doubles() {
    let Some(ctx) = context() else { return };
    let (m, n, k) = (700, 600, 512);
    let a = Mat::from_fn(m, k, |i, j| match (i < 256, j < k / 2) {
        (true, false) => 0.0,
        _ => scattered(i, j, 1),
    });
    let b = Mat::from_fn(k, n, |i, j| match (j < 256, i < k / 2) {
        (true, true) => 0.0,
        (true, false) => scattered(i, j, 2),
        _ if j == 599 && i < k / 2 => 1e-30 * scattered(i, j, 2),
        _ => scattered(i, j, 2),
    });
    let c = product(ctx, &a, &b, Bound::Entries).unwrap();
    assert!(worst(&a, &b, &c) <= 1.0);
    assert!((0..256).all(|i| (0..256).all(|j| c[(i, j)] == 0.0)));
    assert_eq!(entries_left(), 256 * 256 + 256 * 88);
}

/// Triangles, products that are subtracted, transposed operands: the same entries as of doubles in
/// another order.
#[test]
fn parts_keep_the_bound() {
    let Some(ctx) = context() else { return };
    let (n, k) = (600, 400);
    let a = Mat::from_fn(n, k, |i, j| match i / 100 == j % 6 {
        true => scattered(i, j, 5),
        false => 0.0,
    });
    let c0 = Mat::from_fn(n, n, |i, j| scattered(i, j, 6));
    let da = load(ctx, &a);
    for triangle in [UpdatedPart::Lower, UpdatedPart::Upper] {
        for transposed in [false, true] {
            let dc = load(ctx, &c0);
            let view = if transposed { dc.view().t() } else { dc.view() };
            let update = Update {
                triangle,
                ..Update::subtract()
            };
            assert!(multiply(ctx, update, da.view(), da.view().t(), view).unwrap());
            assert!(entries_left() > 0);
            let mut c = Mat::zeros(n, n);
            dc.read(ctx, c.as_mut()).unwrap();
            for j in 0..n {
                for i in 0..n {
                    let lower = (i >= j) != transposed || i == j;
                    let inside = lower == (triangle == UpdatedPart::Lower) || i == j;
                    let sum: f64 = (0..k).map(|l| a[(i, l)] * a[(j, l)]).sum();
                    let want = c0[(i, j)] - if inside { sum } else { 0.0 };
                    assert!((c[(i, j)] - want).abs() < 1e-13, "{triangle:?} ({i}, {j})");
                    assert!(inside || c[(i, j)] == c0[(i, j)]);
                }
            }
        }
    }
}

/// The same squares are left to doubles by the kernels of all generations, however the depth is
/// cut, and the bits of the others are the same.
#[test]
fn proofs_do_not_depend_on_kernels() {
    let Some(ctx) = context() else { return };
    let (m, n, k) = (520, 530, 20_000);
    let a = Mat::from_fn(m, k, |i, j| match i < 256 && j % 16 != i % 16 {
        true => 0.0,
        false => scattered(i, j, 7),
    });
    let b = Mat::from_fn(k, n, |i, j| match j < 256 && i % 16 != j % 16 {
        true => 0.0,
        false => scattered(i, j, 8),
    });
    let first = product(ctx, &a, &b, Bound::Entries).unwrap();
    let left = entries_left();
    assert_eq!(left, 256 * 256);
    // Magnitudes have fourteen times the depth of residues: with 128 they are cut, too.
    for depth in [1024, 128] {
        let cut = cut_into(512, depth, || product(ctx, &a, &b, Bound::Entries)).unwrap();
        assert_eq!((&cut, entries_left()), (&first, left), "{depth}");
    }
    if ctx.has(Family::PlanesHopper) {
        let tensor = portable(|| product(ctx, &a, &b, Bound::Entries)).unwrap();
        assert_eq!((&tensor, entries_left()), (&first, left));
    }
}
