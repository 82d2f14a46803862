//! Tests of copies in the other precision, and of computations with them.

use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::precision::via_f64::*;
use crate::base::matrix::Part;
use faer::Mat;

/// Numbers of every kind, and their values in single precision.
const ROUNDED: [(f64, f32); 12] = [
    (1.0 + 1.0 / (1u64 << 24) as f64, 1.0),
    (1.0 + 3.0 / (1u64 << 24) as f64, 1.0 + 2.0 * f32::EPSILON),
    (1e38, 1e38),
    (3.5e38, f32::INFINITY),
    (-1e300, f32::NEG_INFINITY),
    (f64::NEG_INFINITY, f32::NEG_INFINITY),
    (f64::NAN, f32::NAN),
    (1e-40, 1e-40),
    (1.5e-45, 1e-45),
    (1e-46, 0.0),
    (-0.0, -0.0),
    (f64::MIN_POSITIVE, 0.0),
];

fn same(x: f32, y: f32) -> bool {
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
}

/// Through a part of a larger matrix, in both layouts: what is inside is exact, what is outside
/// untouched.
#[test]
fn parts_are_copied_both_ways() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let (r0, c0) = (3, 2);
    for (rows, cols) in [
        (1, 1),
        (1, 70),
        (63, 1),
        (64, 64),
        (65, 63),
        (257, 9),
        (300, 300),
        (513, 130),
    ] {
        let (all_rows, all_cols) = (rows + 7, cols + 5);
        let number = |i: usize, j: usize| ROUNDED[(i + 5 * j) % ROUNDED.len()];
        let from = Mat::from_fn(all_rows, all_cols, |i, j| number(i, j).1);
        let exact = Mat::from_fn(rows, cols, |i, j| number(i + r0, j + c0).0);
        for part in [UpdatedPart::Full, UpdatedPart::Lower, UpdatedPart::Upper] {
            let inside = |i: usize, j: usize| match part {
                UpdatedPart::Full => true,
                UpdatedPart::Lower => i >= j,
                UpdatedPart::Upper => i <= j,
            };
            for turned in [false, true] {
                let turn = |a: View<f32>| if turned { a.t() } else { a };
                let part = if turned { part.t() } else { part };
                let single = Matrix::from_host(ctx, from.as_ref(), Part::All).unwrap();
                let view = turn(single.view().sub(r0, c0, rows, cols));
                let copy = F64Copy::room(ctx, view).unwrap().unwrap();
                copy.buffer.fill(0xff, rows * cols * 8).unwrap();
                let wide = copy.widen(view, part, 0).unwrap();
                // Conversion and back keeps every bit, except those of NaN.
                let other = Matrix::<f32>::zeros(ctx, all_rows, all_cols).unwrap();
                let back = turn(other.view().sub(r0, c0, rows, cols));
                copy.narrow(back, part, 0).unwrap();
                let mut got = Mat::<f32>::from_fn(all_rows, all_cols, |_, _| f32::NAN);
                other.read(ctx, got.as_mut()).unwrap();
                for j in 0..all_cols {
                    for i in 0..all_rows {
                        let within = i >= r0 && i < r0 + rows && j >= c0 && j < c0 + cols;
                        let copied = within && inside(i - r0, j - c0);
                        let want = if copied { from[(i, j)] } else { 0.0 };
                        let x = got[(i, j)];
                        assert!(same(x, want), "{rows} {cols} {part:?} {turned}: {x} {want}");
                    }
                }
                // Also numbers that are rounded.
                let double = Matrix::from_host(ctx, exact.as_ref(), Part::All).unwrap();
                let unrounded = double.view();
                let unrounded = if turned { unrounded.t() } else { unrounded };
                convert(ctx, NARROW, unrounded, back, part, 0).unwrap();
                other.read(ctx, got.as_mut()).unwrap();
                for j in 0..cols {
                    for i in 0..rows {
                        let want = number(i + r0, j + c0).1;
                        let x = got[(i + r0, j + c0)];
                        assert!(!inside(i, j) || same(x, want), "{x} {want}");
                    }
                }
                assert_eq!((wide.rows, wide.cols), (view.rows, view.cols));
            }
        }
    }
}
