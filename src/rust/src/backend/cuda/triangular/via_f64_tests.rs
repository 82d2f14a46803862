//! Tests of systems in single precision that are solved in double precision.

use crate::backend::cuda::gemm::update::Bound;
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::triangular::trsm::divide;
use crate::backend::cuda::triangular::via_f64::*;
use crate::base::matrix::Part;
use faer::Mat;

/// Right-hand sides that do not fit at once, in both layouts, of systems that are halved in double
/// precision.
#[test]
fn systems_are_solved_in_panels() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    if !pays::<f32>(ctx) {
        return;
    }
    let (n, cols) = (1100, PANEL / 1100 + 100);
    let l = Mat::<f32>::from_fn(n, n, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => f32::NAN,
        std::cmp::Ordering::Equal => 2.0,
        std::cmp::Ordering::Greater => f32::from(u8::from(i == j + 1)),
    });
    // L times a vector of ones and twos, without rounding.
    let x = |i: usize, j: usize| 1.0 + ((i + j) % 2) as f32;
    let b = |i: usize, j: usize| 2.0 * x(i, j) + if i > 0 { x(i - 1, j) } else { 0.0 };
    let l = Matrix::from_host(ctx, l.as_ref(), Part::All).unwrap();
    let kind = TriangleKind {
        upper: false,
        unit: false,
        bound: Bound::Entries,
    };
    for turned in [false, true] {
        let right = if turned {
            Mat::from_fn(cols, n, |j, i| b(i, j))
        } else {
            Mat::from_fn(n, cols, b)
        };
        let right = Matrix::from_host(ctx, right.as_ref(), Part::All).unwrap();
        let view = right.view();
        let view = if turned { view.t() } else { view };
        assert!(solve(ctx, kind, l.view(), view, 0, divide::<f64>).unwrap());
        let (rows, cols) = right.shape();
        let mut got = Mat::<f32>::zeros(rows, cols);
        right.read(ctx, got.as_mut()).unwrap();
        for j in 0..cols {
            for i in 0..rows {
                let want = if turned { x(j, i) } else { x(i, j) };
                assert_eq!(got[(i, j)], want, "{turned} ({i}, {j})");
            }
        }
    }
}
